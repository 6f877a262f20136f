//! `solution fleet pause`, `resume` and `approve`: decisions about a fleet, in its journal and in its hub. A running
//! rollout notices them before it starts the next cluster.

use std::path::{Path, PathBuf};

use clap::Args;
use fleet::{DecisionAuthor, FleetFile, FleetJournal, Selection};
use schemars::JsonSchema;
use schemas::WaveName;
use serde::Serialize;

use super::check::{read, refused};
use super::hub::FleetHub;
use super::journal::{JournalFile, decided};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Pause the rollout of a fleet
#[derive(Args, Debug)]
#[command(after_help = "\
A running `solution fleet apply` completes the clusters that it is changing and starts no others. The pause is \
stored in `NAME.journal.json` next to the fleet file `NAME.yaml`, and with --hub also in the hub. `paused: true` \
in the fleet file has the same effect on the next `apply`.

Examples:
  solution fleet pause fleet.yaml
  solution fleet pause fleet.yaml --hub management
  solution fleet resume fleet.yaml")]
pub(crate) struct PauseArguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    #[command(flatten)]
    hub: HubArguments,
}

/// Resume the rollout of a fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command changes no cluster. Run `solution fleet apply` to continue.

Examples:
  solution fleet resume fleet.yaml")]
pub(crate) struct ResumeArguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    #[command(flatten)]
    hub: HubArguments,
}

/// Approve the plan of a wave
#[derive(Args, Debug)]
#[command(after_help = "\
A wave with `approve: true` needs an approval, and `solution fleet apply` shows the id of its plan. If the plan \
changes, the wave needs a new approval.

Examples:
  solution fleet approve fleet.yaml prod 5c1f2ab94be2c1d8b8f2e3aa
  solution fleet approve fleet.yaml prod 5c1f2ab94be2c1d8b8f2e3aa --hub management")]
pub(crate) struct ApproveArguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// The name of the wave
    wave: WaveName,

    /// The id of the plan
    #[arg(value_parser = plan_id)]
    plan: String,

    #[command(flatten)]
    hub: HubArguments,
}

/// Parses a full id. A shortened one could match another plan.
fn plan_id(text: &str) -> Result<String, String> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == fleet::ID_DIGITS && text.bytes().all(is_digit) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected the {} hex digits of a plan id",
        fleet::ID_DIGITS
    ))
}

/// The decision on a fleet.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetDecision<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// Whether no further cluster is begun.
    paused: bool,
    /// The wave that was approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<&'a str>,
}

pub(super) fn pause(arguments: &PauseArguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    let hub = &arguments.hub;
    hub.decide(&file, &arguments.file, FleetJournal::pause)?;
    Ok(give(output, &of(&file, true, None), |_| {
        render::line("paused: no further cluster is changed");
    }))
}

pub(super) fn resume(arguments: &ResumeArguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    let hub = &arguments.hub;
    hub.decide(&file, &arguments.file, FleetJournal::resume)?;
    let is_paused = file.spec().paused;
    Ok(give(output, &of(&file, is_paused, None), |decision| {
        render::line("resumed: the next `solution fleet apply` continues");
        if decision.paused {
            render::note("note: the file still has `paused: true`");
        }
    }))
}

pub(super) fn approve(arguments: &ApproveArguments, output: Output) -> Result<Outcome, Failure> {
    let ApproveArguments {
        file: path,
        wave,
        plan,
        hub,
    } = arguments;
    let file = read(path)?;
    if let Some(outcome) = refused(&file, path, output) {
        return Ok(outcome);
    }
    let selection = Selection {
        clusters: &[],
        groups: &[],
        waves: std::slice::from_ref(wave),
    };
    selection.resolve(file.spec())?;
    let mut waves = file.spec().waves.iter();
    let asks = waves.any(|known| known.name == *wave && known.approve);
    let approve = |journal: &mut FleetJournal, by| journal.approve(wave.clone(), plan.clone(), by);
    let paused = hub.decide(&file, path, approve)?.paused().is_some();
    Ok(give(output, &of(&file, paused, Some(wave)), |_| {
        render::line!("wave {wave}: plan {plan} is approved");
        if !asks {
            render::note("note: this wave does not require approval");
        }
    }))
}

fn of<'a>(file: &'a FleetFile, paused: bool, approved: Option<&'a WaveName>) -> FleetDecision<'a> {
    FleetDecision {
        fleet: file.document().metadata.name.as_str(),
        paused: paused || file.spec().paused,
        approved: approved.map(WaveName::as_str),
    }
}

/// Which cluster is the hub.
#[derive(Args, Debug)]
pub(super) struct HubArguments {
    /// Also share the decision through the hub of this kubeconfig context
    #[arg(long, value_name = "CONTEXT")]
    hub: Option<String>,

    /// The kubeconfig file of the hub [default: the files in `KUBECONFIG`, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "hub")]
    kubeconfig: Option<PathBuf>,
}

impl HubArguments {
    /// Changes the journal of a fleet, and then the object in the hub, if there is one. The decision applies to runs of
    /// this file even if the hub fails.
    pub(super) fn decide(
        &self,
        file: &FleetFile,
        path: &Path,
        change: impl Fn(&mut FleetJournal, DecisionAuthor),
    ) -> Result<FleetJournal, Failure> {
        let (journal, decided) = (JournalFile::of(file, path)?, decided()?);
        let change = |journal: &mut FleetJournal| change(journal, decided.clone());
        let written = journal.change(change)?;
        let hub = FleetHub::of(self.hub.as_ref(), self.kubeconfig.as_ref(), file, path)?;
        let Some(hub) = hub else {
            return Ok(written);
        };
        cluster::block_on(async {
            hub.exchange(None, &change).await.map_err(|failure| {
                let next = failure.next_step();
                let context = "cannot update the hub: the decision is stored only in the journal next to the fleet's file";
                let hint = format!(
                    "{next}; then run the same command again, or run `solution fleet apply` with `--hub`"
                );
                failure.context(context).hint(hint)
            })?;
            journal.read()
        })
    }
}
