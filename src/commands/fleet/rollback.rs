//! `solution fleet rollback`: rolls back the changes of a fleet's revision in its clusters. Each cluster returns to the
//! versions and values that it had before that revision.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{ArgGroup, Args};
use fleet::{FleetChange, FleetFile, Members, check_solutions};
use importer::{ChangesOfFleet, Downgrade, Exceptions, SkipReason, Verb};
use schemas::{FleetSolution, PlacedVersion, SolutionName, StatementTime, WaveName};

use super::apply::request::RolloutRequest;
use super::arguments::{DeployingArguments, SelectionArguments};
use super::check::{read, refused};
use super::journal::JournalFile;
use super::removal::{Departure, RemovalPolicy, entries};
use super::source::{
    Deployable, DeployableEntry, DeployableSource, DeploymentPlace, RequestOptions, Unplannable,
};
use crate::args::Output;
use crate::commands::{deploy, import};
use crate::failure::{Failure, Outcome};
use crate::{cluster, events, render};

/// Roll back a revision of a fleet
#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("which").args(["wave", "cluster", "group"]).multiple(true).required(true)),
    mut_arg("wave", |argument| argument.conflicts_with_all(["cluster", "group"])),
    after_help = "\
Consecutive runs of `apply` with the same file are one revision. Each deployment returns to its version before \
the revision, with its pull secret and its parameter values, as with `solution rollback`. Values from the fleet \
file and CRDs are not changed.

A deployment is skipped, and the plan says why, if the revision did not change its version, if it had no version \
before, or if another version runs now. You can therefore run the command again to complete the rest.

The command plans all clusters first, one consent covers them, and waves keep their order, `parallel` and \
`maxFailures`. Pauses, soak times and approvals do not apply.

The next `apply` deploys the version in the file again: change the file, or run `solution fleet pause`.

Exit codes: 1 a cluster was refused or failed, else 3 a cluster was skipped.

Examples:
  solution fleet rollback fleet.yaml --wave prod --dry-run --diff
  solution fleet rollback fleet.yaml --wave prod --accept 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet rollback fleet.yaml --cluster '*' --solution shop
  solution fleet rollback fleet.yaml --cluster paris --revision 2026-11-28T09:30:00Z"
)]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Select clusters by wave; may be repeated
    #[arg(long, value_name = "NAME")]
    wave: Vec<WaveName>,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Roll back only this Solution; may be repeated [default: all Solutions]
    #[arg(long, value_name = "NAME")]
    solution: Vec<SolutionName>,

    /// The revision to roll back, from `solution fleet history` [default: the last one]
    #[arg(long, value_name = "TIME")]
    revision: Option<StatementTime>,

    #[command(flatten)]
    deploying: DeployingArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.deploying.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments
        .selection
        .resolve_or_waves(&arguments.wave, &file)?;
    check_solutions(&arguments.solution, file.spec())?;
    let revision = match arguments.revision {
        Some(revision) => revision,
        None => last_revision(&file, &arguments.file)?,
    };
    if output == Output::Human {
        render::line!("revision  {revision}");
    }
    let members = Members::of(file.spec());
    let choices = &arguments.deploying;
    let request = RolloutRequest {
        file: &file,
        path: &arguments.file,
        members: &members,
        choices: &choices.rollout,
        shown: choices.shown(),
        filing: choices.files.filing(output)?,
        change: FleetChange::Rollback,
        removals: RemovalPolicy::None,
        revision: None,
        output,
    };
    let asking = RequestOptions {
        file: &file,
        reach: choices.reach(),
        turn: &choices.rollout.turn,
        nodes: import::node_policy(&choices.rollout.arrival),
        allowed: choices.allowed(),
        accept: &choices.rollout.accept,
        writer: cluster::fleet_writer(&choices.rollout.turn, &file)?,
        output,
    };
    let source = RollbackSource {
        members: &members,
        solutions: &arguments.solution,
        revision,
        asking,
    };
    request.run(&places, &source)
}

/// Returns the last revision that changed clusters, from the journal.
fn last_revision(file: &FleetFile, path: &Path) -> Result<StatementTime, Failure> {
    let last = JournalFile::of(file, path)?.read()?.last_revision();
    last.ok_or_else(|| {
        let unknown = anyhow!("cannot roll back: the journal next to the fleet's file has no revision");
        Failure::no(unknown).hint("list revisions with `solution fleet history` and choose one with `--revision`, or use `solution rollback` in each cluster")
    })
}

/// The source of rollbacks for the deployments of a fleet's file.
pub(super) struct RollbackSource<'a> {
    pub(super) members: &'a Members<'a>,
    /// The selected Solutions; empty for all of them.
    pub(super) solutions: &'a [SolutionName],
    /// The revision of the fleet that is rolled back.
    pub(super) revision: StatementTime,
    pub(super) asking: RequestOptions<'a>,
}

impl DeployableSource for RollbackSource<'_> {
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<DeployableEntry>, Failure> {
        let mut all = Vec::new();
        for entry in entries(self.asking.file, self.members, place.at) {
            if self.solutions.is_empty() || self.solutions.contains(&entry.name) {
                let found = self.of(entry, place).await;
                let placed = PlacedVersion::from(entry);
                all.push(DeployableEntry { placed, found });
            }
        }
        Ok(all)
    }

    async fn departures(&self, _: &DeploymentPlace<'_>) -> Result<Vec<Departure>, Failure> {
        Ok(Vec::new())
    }
}

impl RollbackSource<'_> {
    /// Returns the source of the plan of a deployment.
    async fn of(
        &self,
        entry: &FleetSolution,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Unplannable> {
        let (name, environment) = (&entry.name, &entry.environment);
        let changes = ChangesOfFleet {
            fleet: &self.asking.file.document().metadata.name,
            revision: self.revision,
        };
        let back = importer::way_back_of_fleet(&place.reached.cluster, name, environment, changes);
        let back = back.await.map_err(Failure::from)?;
        let back = back.map_err(|skipped| Unplannable::Left(self.nothing(name, &skipped)))?;
        let note = deploy::in_words(name, &back);
        let version = back.version.clone();
        let goal = back.goal(environment);
        let mut found = self
            .asking
            .imported_version(entry, &version, place, goal)
            .await?;
        found.note = Some(note);
        found.request.verb = Verb::Rollback;
        found.request.allowed = Exceptions {
            downgrade: Downgrade::Allow,
            ..self.asking.allowed
        };
        Ok(found)
    }

    /// Returns the reason why a deployment is not rolled back.
    fn nothing(&self, name: &SolutionName, skipped: &SkipReason) -> String {
        let revision = self.revision;
        match skipped {
            SkipReason::NotChanged => format!("nothing: revision {revision} did not change {name}"),
            SkipReason::NotDeployed => format!("nothing: {name} is not deployed"),
            SkipReason::Other { running, deployed } => {
                format!(
                    "nothing: {name} {running} is deployed, but revision {revision} deployed {deployed}"
                )
            }
            SkipReason::First { deployed } => {
                format!("nothing: {deployed} is the first deployed version of {name}")
            }
            SkipReason::Values => {
                format!("nothing: revision {revision} changed only values of {name}")
            }
        }
    }
}
