//! `solution fleet delete`: undeploys everything that a fleet deployed in its clusters, in the reverse of the order of
//! deployment. Deployments by other fleets or by users are kept.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgGroup, Args};
use fleet::{FleetChange, FleetFile, Members};
use importer::EnvironmentNamespace;
use schemas::WaveName;

use super::apply::request::RolloutRequest;
use super::arguments::{PlanFileMode, RemovingArguments, RolloutArguments, SelectionArguments};
use super::check::{read, refused};
use super::removal::{Departure, DeployedVersion, RemovalOptions, deployed_versions, entries};
use super::source::{DeployableEntry, DeployableSource, DeploymentPlace};
use crate::args::Output;
use crate::commands::import::PlanDetail;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

/// Undeploy the Solutions of a fleet
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["all", "wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("all", |argument| argument.conflicts_with_all(["wave", "cluster", "group"])),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    mut_arg("dry_run", |argument| argument.help("Show what would change, and change nothing")),
    mut_arg("accept", |argument| {
        argument.help("Consent to uninstalling a chart release that others have changed, by the id in the refusal; may be repeated")
    }),
    after_help = "\
The command undeploys each deployment that this fleet made, in any version, even if the file no longer lists it. \
Deployments by others, custom resources, imported versions and CRDs are kept. `solution delete` removes a \
Solution from one cluster.

The command plans all clusters and shows the plan first. If one cluster is refused, no cluster changes. The last \
wave changes first, and Solutions are undeployed before those that they need. Each removal is planned again and \
must match the plan. `parallel`, `maxFailures` and `solution fleet pause` apply; soak times and approvals do \
not. Run the command again to complete the rest.

The next `apply` deploys everything in the file again: remove clusters or Solutions from the file.

Exit codes: 1 a cluster was refused or failed, else 3 a cluster was skipped or not started.

Examples:
  solution fleet delete fleet.yaml --all --dry-run
  solution fleet delete fleet.yaml --wave canary
  solution fleet delete fleet.yaml --cluster paris --yes --output json"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Select all clusters of the fleet
    #[arg(long)]
    all: bool,

    /// Select clusters by wave; may be repeated
    #[arg(long, value_name = "NAME")]
    wave: Vec<WaveName>,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    leaving: RemovingArguments,

    #[command(flatten)]
    rollout: RolloutArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments
        .selection
        .resolve_or_waves(&arguments.wave, &file)?;
    let members = Members::of(file.spec());
    let choices = &arguments.rollout;
    let request = RolloutRequest {
        file: &file,
        path: &arguments.file,
        members: &members,
        choices,
        shown: PlanDetail::Plain,
        filing: PlanFileMode::None,
        change: FleetChange::Delete,
        removals: arguments.leaving.removals(),
        revision: None,
        output,
    };
    let source = DeletionSource {
        file: &file,
        members: &members,
        removing: arguments.leaving.removing(
            choices,
            &file,
            cluster::fleet_writer(&choices.turn, &file)?,
        ),
    };
    request.run(&places, &source)
}

/// The deployments that a fleet made in clusters.
pub(super) struct DeletionSource<'a> {
    pub(super) file: &'a FleetFile,
    pub(super) members: &'a Members<'a>,
    pub(super) removing: Arc<RemovalOptions>,
}

impl DeployableSource for DeletionSource<'_> {
    async fn deployables(&self, _: &DeploymentPlace<'_>) -> Result<Vec<DeployableEntry>, Failure> {
        Ok(Vec::new())
    }

    async fn departures(&self, place: &DeploymentPlace<'_>) -> Result<Vec<Departure>, Failure> {
        let spaces = importer::environments(&place.reached.cluster).await?;
        Ok(self.of(place.at, &spaces))
    }
}

impl DeletionSource<'_> {
    /// Returns the deployments to remove from these namespaces of a cluster, and those in the file that are kept.
    fn of(&self, cluster: usize, spaces: &[EnvironmentNamespace]) -> Vec<Departure> {
        let entries = entries(self.file, self.members, cluster);
        let departure = |version: DeployedVersion| {
            let is_listed = version.is_listed(&entries);
            let (note, removing) = match (version.is_of(self.file), is_listed) {
                (true, true) => (None, Some(&self.removing)),
                (true, false) => (Some("no longer in the file"), Some(&self.removing)),
                (false, true) => (Some("kept: it was not deployed by this fleet"), None),
                (false, false) => return None,
            };
            Some(Departure {
                version,
                note: note.map(str::to_owned),
                removing: removing.map(Arc::clone),
            })
        };
        deployed_versions(spaces)
            .into_iter()
            .filter_map(departure)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::fleet::removal::tests::{file, removing, space};

    #[test]
    fn all_that_the_fleet_brought_goes_and_nothing_else() {
        let file = file(
            "{clusters: [{name: paris}],
              solutions: [{name: shop, version: 1.1.0, environment: prod},
                          {name: db, version: 1.0.0, environment: prod}],
              waves: [{name: all, clusters: [paris]}]}",
        );
        let departures = DeletionSource {
            file: &file,
            members: &Members::of(file.spec()),
            removing: removing(),
        };
        let spaces = [
            space(
                "prod",
                &[
                    "shop-1.0.0 shops",
                    "db-1.0.0",
                    "web-1.0.0",
                    "log-1.0.0 others",
                ],
            ),
            space("test", &["shop-1.1.0 shops"]),
        ];
        let found = departures.of(0, &spaces).into_iter().map(|departure| {
            let goes = if departure.removing.is_some() {
                "goes"
            } else {
                "stays"
            };
            format!(
                "{} {goes}: {}",
                departure.version.placed,
                departure.note.unwrap_or_default()
            )
        });
        let expected = [
            "db 1.0.0 in prod stays: kept: it was not deployed by this fleet",
            // The file's version does not matter: the deployed version is removed.
            "shop 1.0.0 in prod goes: ",
            "shop 1.1.0 in test goes: no longer in the file",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
