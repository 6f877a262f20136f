//! `solution apply -f`: makes the imported and active versions those of a `SolutionsConfiguration`.

mod archives;
mod carry_out;
mod plan;
mod show;

use std::path::PathBuf;

use clap::Args;
use importer::{Adopt, Change, Run};
use schemas::{SolutionsConfiguration, limits};

use self::plan::Plan;
use crate::args::{ClusterArguments, Output, WaitArguments, choose};
use crate::commands::change::change;
use crate::commands::import::{Registries, SignerArguments};
use crate::commands::question::agreed;
use crate::commands::refusal::{InTheWay, refuse};
use crate::failure::{Failure, Outcome};
use crate::render;

/// Import the archives that a `SolutionsConfiguration` lists, and activate the versions that it names
#[derive(Args, Debug)]
#[command(after_help = "\
Whatever is to be done is shown first, with all refusals. An archive that is refused does not stop
the others; the command then ends with 1, and running it again completes what is missing. What the
file does not list is reported and left alone. `latest` is the newest imported version, in the
order of semantic versioning. No operator is deployed or changed.

With --prune, versions that are neither listed nor named as active are forgotten unless they are
deployed, and Solutions that are not named as active are deactivated unless custom resources exist.

Examples:
  solution apply -f solutions.yaml --registry registry.site/apps --dry-run
  solution apply -f solutions.yaml --registry registry.site/apps --key publisher.pub
  solution apply -f solutions.yaml --registry registry.site/apps --prune --yes --output json")]
pub(crate) struct Arguments {
    /// The configuration (YAML, kind `SolutionsConfiguration`); paths in it begin at its folder
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,

    /// Show what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Unimport and deactivate what the file does not list and nothing uses
    #[arg(long)]
    prune: bool,

    /// Do not ask; needed where nobody can be asked
    #[arg(long)]
    yes: bool,

    /// Take over CRDs that belong to no Solution; they stay when the Solution is deactivated
    #[arg(long, value_name = "WHAT", value_parser = ["crds"])]
    adopt: Option<String>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    registries: Registries,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    turn: WaitArguments,
}

impl Arguments {
    fn adopt(&self) -> Adopt {
        choose(self.adopt.is_some(), Adopt::Allow, Adopt::Refuse)
    }
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let configuration = read(arguments)?;
    let archives = archives::open(arguments, &configuration, output)?;
    let run = choose(arguments.dry_run, Run::Dry, Run::Real);
    let place = (&arguments.cluster, &arguments.turn);
    change(place, run, output, async |change| {
        let plan = Plan::make(arguments, &configuration, archives, change, output).await?;
        apply(arguments, plan, change, output).await
    })
}

fn read(arguments: &Arguments) -> Result<SolutionsConfiguration, Failure> {
    let path = &arguments.file;
    let bytes = files::read(path, limits::CONFIGURATION_SIZE).map_err(Failure::unknown)?;
    let read = SolutionsConfiguration::from_slice(&bytes);
    read.map_err(|error| {
        let context = format!("cannot use `{}`", path.display());
        Failure::no(error).context(context).hint(
            "correct the file; schemas/solutions-configuration.schema.json says what it may hold",
        )
    })
}

/// Shows the plan, asks before anything goes, and carries it out.
async fn apply(
    arguments: &Arguments,
    plan: Plan,
    change: &Change<'_>,
    output: Output,
) -> Result<Outcome, Failure> {
    if output == Output::Human {
        show::plan(&plan.shown);
    }
    if change.run == Run::Dry {
        render::result(output, &plan.shown, |_| render::dry(change.run));
        return Ok(plan.shown.outcome());
    }
    let question = "unimport and deactivate what the file does not list?";
    if plan.shown.removes() && !arguments.yes && !agreed(question, output).await? {
        return Ok(refuse(output, &plan.shown, [unconfirmed()]));
    }
    let done = plan.carry_out(change, output).await;
    render::result(output, &done, show::done);
    Ok(done.outcome())
}

fn unconfirmed() -> InTheWay {
    InTheWay {
        message: "nobody confirmed that what the file does not list is to go".to_owned(),
        fix: "read the plan; `--yes` confirms it".to_owned(),
    }
}
