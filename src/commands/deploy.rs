//! `solution deploy`: runs an imported version in an environment, without its medium.

use clap::Args;
use importer::{Error, Record};
use registry::Client;
use schemas::{SolutionName, Version};
use validator::{Accepted, AcceptedBefore, Finding};

use super::import::{self, Place, PlanArguments};
use super::validate::words;
use crate::args::{ClusterArguments, Output, RegistryArguments, WaitArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, environment, interrupt, render};

/// Run an imported version in an environment, without its medium
#[derive(Args, Debug)]
#[command(
    mut_arg("environment", |argument| argument.required(true)),
    after_help = "\
The archive is read from the registry that it was pushed to, and must be the one that was accepted
when it was imported. The plan, the consent and the way back are those of `solution import`.

Examples:
  solution deploy example --environment test
  solution deploy example 1.0.0 --environment prod --dry-run
  solution deploy example 1.0.0 -e prod --allow-downgrade"
)]
pub(crate) struct Arguments {
    /// The Solution's name
    solution: SolutionName,

    /// The version [default: the newest that is imported]
    version: Option<Version>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    place: Place,

    #[command(flatten)]
    planning: PlanArguments,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: WaitArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let choices = arguments.planning.choices();
    cluster::block_on(async {
        let cluster = cluster::connect(&arguments.cluster).await?;
        let (solution, version) = (&arguments.solution, arguments.version.as_ref());
        let record = importer::imported(&cluster, solution, version).await?;
        let registry = record.registry()?;
        let client = import::client(&registry, &arguments.reach)?;
        let Some(accepted) = accept(&client, &record, output).await? else {
            return Ok(Outcome::No);
        };
        let pull_registry = Some(record.pull_registry()?);
        let place = &arguments.place;
        let request = import::of_place(place, &registry, pull_registry, &arguments.turn)?;
        import::carry_out(&accepted, request, (&client, &cluster), choices, output).await
    })
}

/// Checks the archive that the site keeps as the medium was checked.
async fn accept(
    client: &Client,
    record: &Record,
    output: Output,
) -> Result<Option<(Accepted, Vec<Finding>)>, Failure> {
    let medium = importer::open_kept(client, record, &environment::scratch()).await?;
    let before = AcceptedBefore {
        archive_id: record.archive_id,
        signers: record.signers.clone(),
    };
    let check = move || validator::check_accepted(medium, before, interrupt::cancel());
    let report = tokio::task::spawn_blocking(check).await;
    let report = report.map_err(Failure::unknown)?.map_err(Error::from)?;
    words::talk_of(&report, output);
    let findings = report.findings().to_vec();
    Ok(match report.accept() {
        Ok(accepted) => Some((accepted, findings)),
        Err(report) => {
            render::result(output, &report, |_| {
                render::note!("error: the archive of {} is not accepted", record.id());
            });
            None
        }
    })
}
