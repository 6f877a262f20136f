//! The plan of a rollout, as JSON and for people. Lines that clusters have in common are printed once, because fleets
//! can have hundreds of clusters.

use fleet::FleetChange;
use fleet::rollout::{FleetConsent, PlannedWave, planned_waves, waves_of_change};
use schemars::JsonSchema;
use schemas::PlacedVersion;
use serde::Serialize;

use super::request::{
    DeploymentPlan, MemberPlan, PlannedMember, PlannedRemoval, PlannedWork, RolloutRequest,
};
use crate::commands::blocked::ShownBlocker;
use crate::commands::fleet::check::WaveTerms;
use crate::commands::fleet::folded::{ClusterPlan, show_folded};
use crate::commands::fleet::journal::GoneCluster;
use crate::commands::import::plan::{self, Mark, Totals};
use crate::commands::import::{self, ShownPlan};
use crate::failure::Outcome;
use crate::render;

/// The plan for the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetPlan<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The clusters, in the order of the file.
    clusters: Vec<ShownMember<'a>>,
    /// The waves in which they are changed, in their order.
    waves: Vec<WaveTurn>,
    /// The id that accepts all that reaches beyond environments; null if there is nothing to accept.
    accept: Option<&'a str>,
    /// Clusters that are no longer in the file. Solutions that the fleet deployed there are kept.
    gone: &'a [GoneCluster],
    /// The context of the hub in which it would be shown; null without one.
    hub: Option<&'a str>,
}

/// The plan for a cluster.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedCluster")]
pub(crate) struct ShownMember<'a> {
    /// The cluster's name.
    name: &'a str,
    /// Whether the file says by `uid` which cluster it is.
    pinned: bool,
    /// The reason why it could not be planned; null if it was.
    problem: Option<ShownBlocker>,
    /// The planned deployments, in the order in which they are changed.
    deployments: Vec<ShownDeployment<'a>>,
}

/// The plan for a deployment.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedDeployment")]
pub(crate) struct ShownDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    deployment: String,
    /// A note on the plan where it does not follow from the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The plan; null if it could not be made, or nothing is to be done.
    plan: Option<ShownPlan<'a>>,
    /// The planned removals. They are missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    removal: Option<&'a PlannedRemoval>,
    /// The blockers.
    #[serde(rename = "obstacles")]
    blockers: &'a [ShownBlocker],
}

/// Returns the plan in the form for programs.
pub(super) fn shown_plan<'a>(
    request: &RolloutRequest<'a>,
    members: &'a [PlannedMember],
    consent: Option<&'a FleetConsent>,
    gone: &'a [GoneCluster],
) -> FleetPlan<'a> {
    let &RolloutRequest {
        file,
        choices,
        shown,
        ..
    } = request;
    let deployment = |deployment: &'a DeploymentPlan| ShownDeployment {
        deployment: deployment.placed.to_string(),
        note: deployment.note.as_deref(),
        plan: PlannedWork::deployment(deployment)
            .map(|work| import::shown_plan(&work.planned, shown)),
        removal: PlannedWork::removal(deployment).map(|work| &work.planned),
        blockers: &deployment.blockers,
    };
    let member = |member: &'a PlannedMember| ShownMember {
        name: &member.name,
        pinned: file.spec().clusters[member.at].uid.is_some(),
        problem: member.plan.as_ref().err().map(ShownBlocker::from),
        deployments: member.deployments().map(deployment).collect(),
    };
    FleetPlan {
        fleet: file.document().metadata.name.as_str(),
        clusters: members.iter().map(member).collect(),
        waves: turns(request, members),
        accept: consent.map(|consent| consent.id.as_str()),
        gone,
        hub: choices.hub.as_deref(),
    }
}

/// Shows the plan to people. Lines that multiple clusters have in common are printed once.
pub(super) fn show_plan(request: &RolloutRequest<'_>, members: &[PlannedMember]) {
    for member in members {
        if let Some(about) = about(member) {
            render::line!("cluster   {}: {about}", member.name);
        }
    }
    if request.choices.skip_unreachable {
        let away = members
            .iter()
            .filter_map(|member| Some((&member.name, member.plan.as_ref().err()?)));
        for (name, failure) in away.filter(|(_, failure)| failure.outcome() == Outcome::Unknown) {
            render::line!("skipped   {name}: {}", failure.in_one_line());
        }
    }
    let clusters = &request.file.spec().clusters;
    let unpinned = members
        .iter()
        .filter(|member| clusters[member.at].uid.is_none());
    let unpinned: Vec<&str> = unpinned.map(|member| member.name.as_str()).collect();
    if !unpinned.is_empty() {
        let names = render::list(unpinned);
        render::line!(
            "note      not pinned: {names}; pin them to their clusters with `solution fleet check --pin`"
        );
    }
    for wave in turns(request, members) {
        render::lines("", wave.lines());
    }
    let all = members.iter();
    let all = all.flat_map(|member| {
        member
            .deployments()
            .map(|plan| (member.name.as_str(), plan))
    });
    let all = all.filter(|(_, plan)| plan.work.is_some() || plan.note.is_some());
    let all: Vec<(&str, &DeploymentPlan)> = all.collect();
    let mut told: Vec<&PlacedVersion> = Vec::new();
    for (_, DeploymentPlan { placed, .. }) in &all {
        if told.contains(&placed) {
            continue;
        }
        told.push(placed);
        let of_it = all.iter().filter(|(_, plan)| plan.placed == *placed);
        let of_it: Vec<_> = of_it.copied().collect();
        let count = render::count(of_it.len(), "cluster");
        render::line!("{placed}, {count}");
        deployments(&of_it, request);
    }
}

/// Describes the cluster, if anything is planned for it.
fn about(member: &PlannedMember) -> Option<String> {
    let plan = member.plan.as_ref().ok()?;
    if let Some(work) = member.deployments().find_map(PlannedWork::deployment) {
        return Some(import::cluster_line(&work.planned));
    }
    let context = plan.connection.context().unwrap_or("in-cluster");
    member
        .removes()
        .then(|| format!("{context} at {}", plan.connection.server()))
}

/// Shows one deployment in all clusters that have it.
fn deployments(planned: &[(&str, &DeploymentPlan)], request: &RolloutRequest<'_>) {
    let plans = planned.iter();
    let plans = plans.map(|(name, plan)| of_cluster(name, plan, request.change));
    show_folded(plans.collect(), request.shown);
}

/// Returns the plan of a deployment in a cluster.
fn of_cluster<'a>(name: &'a str, plan: &'a DeploymentPlan, change: FleetChange) -> ClusterPlan<'a> {
    let heading = match change {
        FleetChange::Rollback => "rollback",
        FleetChange::Apply | FleetChange::Delete => "note    ",
    };
    let mut shown = match &plan.work {
        Some(PlannedWork::Deploy(work)) => ClusterPlan::of(name, &work.planned),
        Some(PlannedWork::Remove(work)) => removal(name, &work.planned),
        None => ClusterPlan {
            name,
            lines: Vec::new(),
            objects: Vec::new(),
        },
    };
    let note = plan.note.iter().map(|note| format!("{heading}  {note}"));
    shown.lines.splice(0..0, note);
    shown
}

/// Returns the plan of a removal from a cluster.
fn removal<'a>(name: &'a str, removal: &PlannedRemoval) -> ClusterPlan<'a> {
    let PlannedRemoval { namespace, undone } = removal;
    let applied = undone.applied.iter();
    let applied = applied.map(|object| format!("{}first applies {object}", plan::INDENT));
    let removed = undone.removed.iter();
    let removed = removed.map(|object| Mark::Remove.line(object));
    let totals = Totals::removing(undone.removed.len()).to_string();
    let notes = undone.notes.iter().map(|note| format!("note      {note}"));
    let heading = std::iter::once(format!("undeploy  from namespace {namespace}"));
    ClusterPlan {
        name,
        lines: heading
            .chain(applied)
            .chain(removed)
            .chain(notes)
            .chain([totals])
            .collect(),
        objects: Vec::new(),
    }
}

/// A wave of a plan.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WaveTurn {
    #[serde(flatten)]
    terms: WaveTerms,
    /// The clusters that were planned, in the order in which they are changed.
    clusters: Vec<ClusterTurn>,
}

/// A cluster in a wave of a plan.
#[derive(PartialEq, Serialize, JsonSchema)]
pub(crate) struct ClusterTurn {
    /// The cluster's name.
    name: String,
    /// The deployments that would change, in that order, as `NAME VERSION in ENVIRONMENT`.
    changes: Vec<String>,
}

/// Returns the waves of a plan, in the order in which they are changed.
fn turns(request: &RolloutRequest<'_>, planned: &[PlannedMember]) -> Vec<WaveTurn> {
    let waves = waves_of_change(request.file.spec(), request.members, request.change);
    let turns = planned_waves(waves, planned).into_iter();
    turns.map(WaveTurn::of).collect()
}

impl WaveTurn {
    fn of(PlannedWave { wave, members, .. }: PlannedWave<'_, PlannedWork>) -> Self {
        Self {
            terms: WaveTerms::of(wave),
            clusters: members.into_iter().map(ClusterTurn::of).collect(),
        }
    }

    /// Returns the lines of a plan for people. Clusters that change in the same way share a line.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut groups: Vec<(&Vec<String>, Vec<&str>)> = Vec::new();
        for ClusterTurn { name, changes } in &self.clusters {
            match groups.iter_mut().find(|(same, _)| *same == changes) {
                Some((_, names)) => names.push(name),
                None => groups.push((changes, vec![name])),
            }
        }
        let lines = groups.into_iter().map(|(changes, names)| {
            let names = render::list(names);
            match changes.as_slice() {
                [] => format!("          {names}: nothing to do"),
                changes => format!("          {names}: {}", changes.join(", then ")),
            }
        });
        let heading = self.terms.heading(self.clusters.len());
        let heading = std::iter::once(format!("wave      {heading}"));
        heading.chain(lines).collect()
    }
}

impl ClusterTurn {
    fn of(plan: &MemberPlan) -> Self {
        let deployments = plan.deployments.iter().filter(|plan| plan.changes());
        let changes = deployments.map(|plan: &DeploymentPlan| {
            let remove = if plan.removes() { "remove " } else { "" };
            format!("{remove}{}", plan.placed)
        });
        Self {
            name: plan.name.to_string(),
            changes: changes.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_shown_with_the_order_in_each_of_its_clusters() {
        let turn = |name: &str, changes: &[&str]| ClusterTurn {
            name: name.to_owned(),
            changes: changes.iter().map(ToString::to_string).collect(),
        };
        let wave =
            serde_json::json!({"name": "rest", "parallel": 2, "maxFailures": 1, "soak": "30m"});
        let wave = WaveTurn {
            terms: WaveTerms::of(&serde_json::from_value(wave).unwrap()),
            clusters: vec![
                turn("paris", &["db 1.0.0 in prod", "shop 1.1.0 in prod"]),
                turn("oslo", &[]),
                turn("rome", &["db 1.0.0 in prod", "shop 1.1.0 in prod"]),
            ],
        };
        let expected = [
            "wave      rest: 3 clusters, 2 at a time, 1 may fail, soak time 30m",
            "          paris, rome: db 1.0.0 in prod, then shop 1.1.0 in prod",
            "          oslo: nothing to do",
        ];
        assert_eq!(wave.lines(), expected);
        let shown = serde_json::to_value(&wave).unwrap();
        let order = ["paris", "oslo", "rome"];
        for (at, name) in order.into_iter().enumerate() {
            assert_eq!(shown["clusters"][at]["name"], name, "{shown:#}");
        }
        assert_eq!(shown["maxFailures"], 1);
    }
}
