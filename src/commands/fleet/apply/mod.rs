//! `solution fleet apply`: makes every cluster of a fleet as its file says, by parts with which they also go back. All of
//! them are planned and shown before anything is written.

pub(in crate::commands) mod applied;
mod archives;
mod arguments;
mod arriving;
mod asking;
mod carry_out;
mod change;
mod changed;
mod choices;
mod confirmation;
mod consent;
pub(in crate::commands) mod filing;
mod foresee;
mod from_file;
mod gate;
mod hindrance;
mod known;
mod last_first;
mod live;
mod look;
mod member_push;
mod opening;
mod people;
mod place;
mod plan;
mod plan_file;
mod planned;
mod planned_member;
mod planned_wave;
mod progress;
mod recorded;
mod removal;
pub(in crate::commands) mod result;
mod roll;
mod rolled;
mod rollout;
mod run;
mod secrets;
pub(in crate::commands) mod show;
mod soak;
pub(in crate::commands) mod told;
mod turns;
mod under_way;
mod wave;
mod within;

use fleet::Members;

pub(super) use self::archives::accept_all;
pub(crate) use self::arguments::Arguments;
pub(super) use self::asking::Asking;
pub(super) use self::choices::{DeployingArguments, RemovingArguments, RolloutArguments};
pub(super) use self::from_file::FileSource;
pub(super) use self::hindrance::{Hindrances, KnownClusters};
pub(super) use self::place::{DeploymentPlace, client};
pub(super) use self::plan::{DeployableSource, FoundDeployable, in_order};
pub(super) use self::plan_file::Filing;
pub(super) use self::planned::{Deployable, Unplannable};
use self::planned_member::PlannedMember;
#[cfg(test)]
pub(super) use self::removal::tests;
pub(super) use self::removal::{FoundDeparture, Removals, Removing};
pub(super) use self::rollout::{Rollout, Towards};
use super::check::{read, refused};
use super::journal::JournalFile;
use crate::args::Output;
use crate::commands::import;
use crate::failure::{Failure, Outcome};
use crate::{cluster, events};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    events::begin(&arguments.deploying.rollout.progress)?;
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.of(&file)?;
    let members = Members::of(file.spec());
    let (path, signers) = (&arguments.file, &arguments.signers);
    let Some(archives) = accept_all(&file, path, &places, signers, output)? else {
        return Ok(Outcome::No);
    };
    let choices = &arguments.deploying;
    let writer = cluster::fleet_writer(&choices.rollout.turn, &file)?;
    let removing = arguments.removing(&file, &writer);
    let rollout = Rollout {
        file: &file,
        path,
        members: &members,
        choices: &choices.rollout,
        shown: choices.shown(),
        filing: choices.files.filing(output)?,
        towards: Towards::File,
        removals: arguments.removals(),
        revision: Some(JournalFile::of(&file, path)?.revision()?),
        output,
    };
    let asking = Asking {
        file: &file,
        reach: choices.reach(),
        turn: &choices.rollout.turn,
        nodes: import::nodes(&choices.rollout.arrival),
        allowed: arguments.allowed(),
        accept: &choices.rollout.accept,
        writer,
        output,
    };
    let source = FileSource {
        path,
        members: &members,
        archives,
        asking,
        removing,
    };
    rollout.run(&places, &source)
}
