//! The file of a fleet's plan: written for others to read and sign, or followed once they have.

use std::path::Path;

use importer::{AnewCluster, FiledCluster, FiledDeployment, FleetMoved, FleetPlanFile};
use schemars::JsonSchema;
use schemas::{Digest, PayloadType, WaveName};
use serde::Serialize;

use super::plan_file::Filing;
use super::planned::{DeploymentPlan, MemberPlan};
use super::show::FleetPlan;
use super::{PlannedMember, Rollout};
use crate::commands::refusal::InTheWay;
use crate::failure::{self, Failure};
use crate::{environment, plans, render};

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

/// What is no longer as the followed file shows it; none if no file is followed.
pub(super) fn moved(rollout: &Rollout<'_>, planned: &[PlannedMember]) -> Option<Vec<InTheWay>> {
    let Filing::Follow(file) = &rollout.filing else {
        return None;
    };
    let fleet = &rollout.file.document().metadata.name;
    let (change, waves) = (rollout.towards.change(), &rollout.file.spec().waves);
    let mut moved = file.moved_as_a_whole(fleet, change, waves);
    moved.extend(anew(rollout, planned).flat_map(|it| file.moved(&it)));
    Some(moved.iter().map(InTheWay::from).collect())
}

/// Writes a plan of which nothing is in the way.
pub(super) fn write<'a>(
    rollout: &Rollout<'_>,
    planned: &[PlannedMember],
    path: &'a Path,
    plan: FleetPlan<'a>,
) -> Result<(), Failure> {
    let file = FleetPlanFile::new(
        environment::person(),
        environment::now().map_err(Failure::unknown)?,
        rollout.file.document().metadata.name.clone(),
        rollout.towards.change(),
        rollout.file.spec().waves.clone(),
        anew(rollout, planned).map(|it| it.open).collect(),
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
    Ok(())
}

/// What a file says of each cluster.
fn anew(rollout: &Rollout<'_>, planned: &[PlannedMember]) -> impl Iterator<Item = AnewCluster> {
    let waves = fleet::waves(rollout.file.spec(), rollout.members);
    let plans = planned.iter().filter_map(|it| it.plan.as_ref().ok());
    plans.filter_map(move |plan| {
        let wave = waves.iter().find(|it| it.clusters.contains(&plan.at))?;
        Some(of_cluster(plan, &wave.wave.name))
    })
}

fn of_cluster(plan: &MemberPlan, wave: &WaveName) -> AnewCluster {
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
            wave: wave.clone(),
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
