//! `solution fleet pause`, `resume` and `approve`: whether clusters of a fleet are begun.

use std::path::PathBuf;

use clap::Args;
use fleet::{FleetFile, FleetJournal};
use schemars::JsonSchema;
use schemas::WaveName;
use serde::Serialize;

use super::check::{read, refused};
use super::hub::decide::HubArguments;
use super::selection::of_waves;
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::render;

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

/// An id is whole, so that no part of one is taken for it.
fn plan_id(text: &str) -> Result<String, String> {
    let is_digit = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
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
    Ok(give(output, &of(&file, is_paused, None), |it| {
        render::line("resumed: the next `solution fleet apply` continues");
        if it.paused {
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
    of_waves(std::slice::from_ref(wave), &file)?;
    let mut waves = file.spec().waves.iter();
    let asks = waves.any(|it| it.name == *wave && it.approve);
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
