//! The plan of a fleet, for people and for programs.

use fleet::FleetFile;
use importer::PlannedObject;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::fold::fold;
use super::PlannedMember;
use super::consent::FleetConsent;
use super::planned::DeploymentPlan;
use crate::commands::import::{self, Planned, Shown};
use crate::commands::refusal::InTheWay;
use crate::render;

/// The words before the line of a plan with its cluster, which is told once for all deployments.
const CLUSTER: &str = "cluster ";

/// What changing the clusters of a fleet would do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetPlan<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The clusters, in the order of the file.
    clusters: Vec<ShownMember<'a>>,
    /// The id that accepts all that reaches beyond environments; null if there is nothing to accept.
    accept: Option<&'a str>,
}

/// What would be done to a cluster.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedCluster")]
pub(crate) struct ShownMember<'a> {
    /// The cluster's name.
    name: &'a str,
    /// What kept it from being planned; null if it was.
    problem: Option<InTheWay>,
    /// What would run there, in the order in which it is changed.
    deployments: Vec<ShownDeployment<'a>>,
}

/// What a deployment would do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PlannedDeployment")]
pub(crate) struct ShownDeployment<'a> {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    deployment: String,
    /// What is planned for it in a word, where the file does not say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// The plan; null if it could not be made, or nothing is to be done.
    plan: Option<Planned<'a>>,
    /// What is in the way.
    obstacles: &'a [InTheWay],
}

/// The plan, for programs.
pub(super) fn of<'a>(
    file: &'a FleetFile,
    members: &'a [PlannedMember],
    consent: Option<&'a FleetConsent>,
    shown: Shown,
) -> FleetPlan<'a> {
    let deployment = |it: &'a DeploymentPlan| ShownDeployment {
        deployment: file.spec().solutions[it.solution].to_string(),
        note: it.note.as_deref(),
        plan: it
            .work
            .as_ref()
            .map(|it| import::planned(&it.planned, shown)),
        obstacles: &it.why,
    };
    let member = |it: &'a PlannedMember| ShownMember {
        name: &it.name,
        problem: it.plan.as_ref().err().map(InTheWay::from),
        deployments: it.deployments().map(deployment).collect(),
    };
    FleetPlan {
        fleet: file.document().metadata.name.as_str(),
        clusters: members.iter().map(member).collect(),
        accept: consent.map(|it| it.id.as_str()),
    }
}

/// The plan, for people: what several clusters have in common stands once.
pub(super) fn people(file: &FleetFile, members: &[PlannedMember], shown: Shown) {
    for member in members {
        if let Some(planned) = member.deployments().find_map(|it| it.work.as_ref()) {
            let lines = import::lines(&planned.planned);
            let about = lines.iter().find_map(|it| it.strip_prefix(CLUSTER));
            render::line!(
                "cluster   {}: {}",
                member.name,
                about.unwrap_or_default().trim()
            );
        }
    }
    for (at, solution) in file.spec().solutions.iter().enumerate() {
        let planned: Vec<(&str, &DeploymentPlan)> = members
            .iter()
            .flat_map(|it| it.deployments().map(|plan| (it.name.as_str(), plan)))
            .filter(|(_, it)| it.solution == at && (it.work.is_some() || it.note.is_some()))
            .collect();
        if !planned.is_empty() {
            let count = render::count(planned.len(), "cluster");
            render::line!("{solution}, {count}");
            deployments(&planned, shown);
        }
    }
}

/// One deployment in all clusters that have it.
fn deployments(planned: &[(&str, &DeploymentPlan)], shown: Shown) {
    let names: Vec<&str> = planned.iter().map(|(name, _)| *name).collect();
    for folded in fold(planned.iter().map(|(_, it)| lines(it)).collect()) {
        render::line!("  {}{}", folded.text, folded.whose(&names));
    }
    if shown == Shown::Plain {
        return;
    }
    let diffs = planned.iter().map(|(_, it)| {
        let works = it.work.iter();
        let objects = works.flat_map(|it| it.planned.objects());
        let objects = objects.filter(|it| !it.diff.is_empty());
        objects.map(FoldedDiff).collect()
    });
    for folded in fold::<FoldedDiff<'_>>(diffs.collect()) {
        let whose = folded.whose(&names);
        if !whose.is_empty() {
            render::line!("differs  {whose}");
        }
        import::diff_of(folded.text.0);
    }
}

/// The lines of a deployment, but for that of its cluster.
fn lines(plan: &DeploymentPlan) -> Vec<String> {
    let note = plan.note.iter().map(|note| format!("rollback  {note}"));
    let lines = plan.work.iter().flat_map(|it| import::lines(&it.planned));
    let lines = lines.filter(|line| !line.starts_with(CLUSTER));
    note.chain(lines).collect()
}

/// What changes in an object, which is the same where the object and the diff are.
struct FoldedDiff<'a>(&'a PlannedObject);

impl PartialEq for FoldedDiff<'_> {
    fn eq(&self, other: &Self) -> bool {
        let of = |it: &Self| (&it.0.object, &it.0.action, &it.0.diff);
        of(self) == of(other)
    }
}
