//! The file of a fleet's plan: written for others to read and sign, or followed once they have.

use std::path::{Path, PathBuf};

use clap::Args;
use importer::{AnewCluster, FiledCluster, FiledDeployment, FleetMoved, FleetPlanFile};
use schemars::JsonSchema;
use schemas::{Digest, PayloadType};
use serde::Serialize;

use super::planned::{DeploymentPlan, MemberPlan};
use super::show::FleetPlan;
use super::{PlannedMember, Rollout};
use crate::approval::{ApprovalArguments, check_approval};
use crate::args::Output;
use crate::commands::refusal::InTheWay;
use crate::failure::{self, Failure, Outcome};
use crate::{environment, plans, render};

/// The file of a fleet's plan.
#[derive(Args, Debug)]
#[command(next_help_heading = "Plan files")]
pub(in crate::commands::fleet) struct FilingArguments {
    /// Write the plan to this file and stop, for `solution sign` and `--plan`
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    plan_out: Option<PathBuf>,

    /// Carry out the plan in this file: only if everything comes out as it shows, and without further consent
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,

    #[command(flatten)]
    approval: ApprovalArguments,
}

/// What becomes of a plan, but for being carried out.
#[derive(Debug)]
pub(in crate::commands::fleet) enum Filing<'a> {
    /// There is no file of it.
    None,
    /// It is written to this file, which must not exist.
    Write(&'a Path),
    /// It has to be the one that this file holds.
    Follow(Box<FleetPlanFile>),
}

/// With `--plan-out`: what changing the clusters would do, and where that was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FleetPlanWritten<'a> {
    #[serde(flatten)]
    plan: FleetPlan<'a>,
    /// The path of the file.
    plan_file: &'a Path,
    /// SHA-256 of the plan.
    plan_id: Digest,
}

impl FilingArguments {
    /// Reads the plan that is followed, if one is, once those have signed it who must.
    pub(in crate::commands::fleet) fn filing(&self, output: Output) -> Result<Filing<'_>, Failure> {
        if let Some(path) = &self.plan {
            let plan = plans::read_of_fleet(path)?;
            check_approval(path, &plan.envelope, &self.approval, output)?;
            return Ok(Filing::Follow(Box::new(plan.file)));
        }
        Ok(self.plan_out.as_deref().map_or(Filing::None, Filing::Write))
    }
}

impl Filing<'_> {
    /// Whether the plans of deployments are made for a file.
    pub(super) fn is_any(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// What is no longer as the followed file shows it; none if no file is followed.
    pub(super) fn moved(
        &self,
        rollout: &Rollout<'_>,
        planned: &[PlannedMember],
    ) -> Option<Vec<InTheWay>> {
        let Self::Follow(file) = self else {
            return None;
        };
        let fleet = &rollout.file.document().metadata.name;
        let mut moved = file.moved_as_a_whole(fleet, &rollout.file.spec().waves);
        let plans = planned.iter().filter_map(|it| it.plan.as_ref().ok());
        moved.extend(plans.flat_map(|it| file.moved(&anew(it))));
        Some(moved.iter().map(InTheWay::from).collect())
    }
}

/// Writes a plan of which nothing is in the way.
pub(super) fn write<'a>(
    rollout: &Rollout<'_>,
    planned: &[PlannedMember],
    path: &'a Path,
    plan: FleetPlan<'a>,
) -> Result<Outcome, Failure> {
    let plans = planned.iter().filter_map(|it| it.plan.as_ref().ok());
    let file = FleetPlanFile::new(
        environment::person(),
        environment::now().map_err(Failure::unknown)?,
        rollout.file.document().metadata.name.clone(),
        rollout.file.spec().waves.clone(),
        plans.map(|it| anew(it).open).collect(),
    );
    plans::write_new(path, PayloadType::FleetPlan, file.to_bytes())?;
    let written = FleetPlanWritten {
        plan,
        plan_file: path,
        plan_id: file.id(),
    };
    render::result(rollout.output, &written, |written| {
        render::line!("plan      {}", written.plan_id);
        let path = written.plan_file.display();
        render::line!("nothing was changed; the plan is written to `{path}`");
    });
    Ok(Outcome::Yes)
}

/// What a file says of a cluster.
fn anew(plan: &MemberPlan) -> AnewCluster {
    let (open, done): (Vec<_>, Vec<_>) = { plan.deployments.iter() }.partition(|it| it.changes());
    let filed = |it: &DeploymentPlan| {
        let plan = it.deploys()?.filed.as_deref()?;
        Some(FiledDeployment {
            deployment: it.placed.clone(),
            plan: plan.clone(),
        })
    };
    AnewCluster {
        open: FiledCluster {
            name: plan.name.clone(),
            uid: plan.uid.clone(),
            deployments: open.into_iter().filter_map(filed).collect(),
        },
        done: done.into_iter().map(|it| it.placed.clone()).collect(),
    }
}

impl From<&FleetMoved> for InTheWay {
    fn from(moved: &FleetMoved) -> Self {
        Self::new(moved.to_string(), failure::replan_fleet(moved))
    }
}
