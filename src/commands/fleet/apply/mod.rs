//! `solution fleet apply`: makes every cluster of a fleet as its file says. All of them are planned and shown before
//! anything is written.

mod applied;
mod archives;
mod arguments;
mod carry_out;
mod change;
mod consent;
mod deployable;
mod gate;
mod hindrance;
mod live;
mod member_push;
mod place;
mod plan;
mod planned;
pub(in crate::commands) mod result;
mod roll;
mod secrets;
pub(in crate::commands) mod show;
mod soak;
mod wave;

use fleet::Members;

pub(crate) use self::arguments::Arguments;
use self::deployable::Deployables;
use self::planned::{DeploymentPlan, MemberPlan};
use super::check::{read, refused};
use super::reach::Reaching;
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
    let deployables = Deployables {
        arguments,
        file: &file,
        archives,
        writer: cluster::writer(&arguments.turn)?,
        output,
    };
    cluster::block_on(async {
        let (hub, longest) = (&arguments.hub, arguments.turn.timeout());
        let reaching = Reaching::new(&file, &arguments.file, hub, longest);
        let plans = reaching.each(&places, async |at, member| {
            Box::pin(plan::plan(&deployables, &members, at, member)).await
        });
        let plans = places.iter().zip(plans.await);
        let planned = plans.map(|(at, plan)| PlannedMember {
            at: *at,
            name: file.spec().clusters[*at].name.to_string(),
            plan,
        });
        let planned: Vec<PlannedMember> = planned.collect();
        Box::pin(carry_out::carry_out(
            arguments, &file, &members, planned, output,
        ))
        .await
    })
}
