//! The plan file of a fleet, for people: what several clusters have in common stands once.

use std::collections::BTreeSet;

use importer::{FiledCluster, FiledDeployment, FleetPlanFile, PlanFile};
use schemas::{FleetWave, PlacedVersion};

use crate::args::choose;
use crate::commands::fleet::{self, ClusterPlan};
use crate::commands::import::Shown;
use crate::{plans, render};

/// How clusters of a wave are changed.
fn show_wave(wave: &FleetWave) {
    let (name, parallel, may) = (&wave.name, wave.parallel, wave.max_failures);
    let soak = wave.soak.as_ref().map(|it| format!(", soak time {it}"));
    let approved = choose(wave.approve, ", needs approval", "");
    render::line!(
        "wave      {name}: {parallel} at a time, {may} may fail{approved}{}",
        soak.unwrap_or_default()
    );
}

/// The user that planned a deployment, as its cluster authenticated it.
fn planner(deployment: &FiledDeployment) -> &str {
    deployment.plan.user.as_deref().unwrap_or("unknown user")
}

/// A plan, with what was allowed beyond the ordinary.
fn of_cluster<'a>(cluster: &'a FiledCluster, plan: &'a PlanFile) -> ClusterPlan<'a> {
    let mut shown = ClusterPlan::of(cluster.name.as_str(), &plan.summary);
    let allowed = plans::allowed(plan.allowed());
    if !allowed.is_empty() {
        let allows = format!("allows    {}", render::list(allowed));
        shown.lines.insert(0, allows);
    }
    shown
}

/// What it does.
pub(super) fn summarize(file: &FleetPlanFile, shown: Shown) {
    render::line!("plan      {}", file.id());
    // Each cluster authenticates the user by itself.
    render::line!("planned   {} by {}", file.planned_at, file.planned_by);
    render::line!("fleet     {}, {}", file.fleet, file.change);
    for FiledCluster {
        name,
        uid,
        wave,
        deployments,
    } in &file.clusters
    {
        let users: BTreeSet<&str> = deployments.iter().map(planner).collect();
        let users = render::list(users);
        render::line!("cluster   {name}: UID {uid}, in wave {wave}; planned by {users}");
    }
    file.waves.iter().for_each(show_wave);
    let all = file.clusters.iter();
    let all = all.flat_map(|cluster| cluster.deployments.iter().map(move |it| (cluster, it)));
    let mut told: Vec<&PlacedVersion> = Vec::new();
    for (_, FiledDeployment { deployment, .. }) in all.clone() {
        if told.contains(&deployment) {
            continue;
        }
        told.push(deployment);
        let of_it = all.clone().filter(|(_, it)| it.deployment == *deployment);
        let of_it = of_it.map(|(cluster, it)| of_cluster(cluster, &it.plan));
        let plans: Vec<ClusterPlan<'_>> = of_it.collect();
        let count = render::count(plans.len(), "cluster");
        render::line!("{deployment}, {count}");
        fleet::show_folded(plans, shown);
    }
}
