//! `solution fleet apply`: makes every cluster of a fleet as its file says, by parts with which they also go back. All of
//! them are planned and shown before anything is written.

mod applied;
mod archives;
mod arguments;
mod asking;
mod carry_out;
mod change;
mod choices;
mod consent;
mod from_file;
mod gate;
mod hindrance;
mod live;
mod look;
mod member_push;
mod people;
mod place;
mod plan;
mod planned;
mod planned_wave;
pub(in crate::commands) mod result;
mod roll;
mod rollout;
mod secrets;
pub(in crate::commands) mod show;
mod soak;
mod told;
mod wave;
mod within;

use fleet::Members;

pub(crate) use self::arguments::Arguments;
pub(super) use self::asking::Asking;
pub(super) use self::choices::RolloutArguments;
use self::from_file::FileSource;
pub(super) use self::place::DeploymentPlace;
pub(super) use self::plan::{DeployableSource, FoundDeployable};
pub(super) use self::planned::{Deployable, Unplannable};
use self::planned::{DeploymentPlan, MemberPlan};
pub(super) use self::rollout::{Rollout, Towards};
use super::check::{read, refused};
use crate::args::Output;
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// A cluster, and what is planned for it.
struct PlannedMember {
    /// Its place in the file.
    at: usize,
    name: String,
    plan: Result<MemberPlan, Failure>,
}

impl PlannedMember {
    fn deployments(&self) -> impl Iterator<Item = &DeploymentPlan> {
        let plan = self.plan.as_ref().ok();
        plan.into_iter().flat_map(|it| &it.deployments)
    }

    /// Whether something other than consent is in the way of a deployment.
    fn is_refused(&self) -> bool {
        self.deployments().any(|it| !it.why.is_empty())
    }
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.of(&file)?;
    let members = Members::of(file.spec());
    let runs = |entry: &usize| {
        let clusters = members.of_solution(&file.spec().solutions[*entry]);
        places.iter().any(|at| clusters.contains(at))
    };
    let entries = (0..file.spec().solutions.len()).filter(runs);
    let Some(archives) = archives::accept_all(arguments, &file, entries, output)? else {
        return Ok(Outcome::No);
    };
    let choices = &arguments.rollout;
    let rollout = Rollout {
        file: &file,
        path: &arguments.file,
        members: &members,
        choices,
        towards: Towards::File,
        output,
    };
    let asking = Asking {
        file: &file,
        choices,
        writer: cluster::writer(&choices.turn)?,
        output,
    };
    let source = FileSource {
        arguments,
        members: &members,
        archives,
        asking,
    };
    rollout.run(&places, &source)
}
