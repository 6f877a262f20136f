//! The plan of a rollout: the effect on each cluster, and the waves in which the clusters change.
//!
//! The content of a plan belongs to the program that created it. This module only uses the trait [`Work`]: it reports
//! whether there is work to do, and returns the texts from which the ids of plans, goals and consents are computed.

use std::collections::BTreeMap;
use std::fmt;

use schemas::{ClusterName, ClusterUid, FleetSpec, FleetWave, PlacedVersion};

use super::progress::{FleetChange, FleetProgress, MemberProgress, MemberState, WaveProgress};
use crate::{
    ClustersOfWave, DecisionAuthor, FleetJournal, IdPart, IdentityConflict, KnownCluster, Members,
    fleet_id, waves,
};

/// The planned work of a deployment: a version is deployed, or a deployment is removed.
pub trait RolloutWork: fmt::Debug {
    /// A connection to a cluster.
    type Connection: fmt::Debug;
    /// A reason why the work cannot be done.
    type Blocker: fmt::Debug;
    /// An error of the program. Its text is one line with all causes.
    type Error: fmt::Debug + fmt::Display;

    /// Returns whether the cluster already is as planned.
    fn is_done(&self) -> bool;

    /// Returns whether a version is deployed. Otherwise, a deployment is removed.
    fn is_deployment(&self) -> bool;

    /// Returns the content that an approval covers.
    fn essence(&self) -> String;

    /// Returns the values that the file sets for a deployed version. A wave soaks again when they change.
    fn goal(&self) -> Option<String>;

    /// Returns the consent that the work still requires.
    fn required_consent(&self) -> Option<&RequiredConsent>;

    /// Records that the required consent is given.
    fn grant_consent(&mut self);
}

/// The consent that a deployment requires for its effects outside the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredConsent {
    /// The id in the plan of the deployment.
    pub id: String,
    /// The number of effects that were not accepted before.
    pub things: usize,
}

/// The plan for a Solution in an environment of a cluster.
#[derive(Debug)]
pub struct DeploymentPlan<W: RolloutWork> {
    /// The deployment as in the file, or as deployed if the file does not have it.
    pub placed: PlacedVersion,
    /// A remark on the plan if it does not follow from the file.
    pub note: Option<String>,
    /// The work; `None` if nothing is to be done or the work could not be planned.
    pub work: Option<W>,
    /// The reasons why the work cannot be done, apart from missing consent.
    pub blockers: Vec<W::Blocker>,
}

/// The plan for a cluster.
#[derive(Debug)]
pub struct MemberPlan<W: RolloutWork> {
    /// The index of the cluster in the file.
    pub at: usize,
    /// The name of the cluster.
    pub name: ClusterName,
    /// The connection to the cluster.
    pub connection: W::Connection,
    /// The UID that pins the cluster in the file.
    pub uid: ClusterUid,
    /// The UID of the namespace kube-system.
    pub system: ClusterUid,
    /// The deployments, in the order in which they change.
    pub deployments: Vec<DeploymentPlan<W>>,
}

/// A selected cluster with its plan, or with the reason why it could not be planned.
#[derive(Debug)]
pub struct PlannedMember<W: RolloutWork> {
    /// The index of the cluster in the file.
    pub at: usize,
    /// The name of the cluster.
    pub name: String,
    /// The plan.
    pub plan: Result<MemberPlan<W>, W::Error>,
}

/// A wave with its planned clusters.
#[derive(Debug)]
pub struct PlannedWave<'a, W: RolloutWork> {
    /// The wave.
    pub wave: &'a FleetWave,
    /// The clusters that were planned.
    pub members: Vec<&'a MemberPlan<W>>,
    /// The number of selected clusters that could not be planned.
    pub left_out: usize,
}

impl<W: RolloutWork> DeploymentPlan<W> {
    /// Returns whether anything is to be done.
    pub fn changes(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !work.is_done())
    }

    /// Returns whether a version is deployed.
    pub fn deploys(&self) -> bool {
        self.work.as_ref().is_some_and(RolloutWork::is_deployment)
    }

    /// Returns whether a deployment is removed.
    pub fn removes(&self) -> bool {
        self.work.as_ref().is_some_and(|work| !work.is_deployment())
    }

    /// Returns whether nothing is to be done, without any remark on that.
    pub fn is_idle(&self) -> bool {
        !self.changes() && self.note.is_none() && self.blockers.is_empty()
    }
}

impl<W: RolloutWork> PlannedMember<W> {
    /// Returns the planned deployments; none if the cluster could not be planned.
    pub fn deployments(&self) -> impl Iterator<Item = &DeploymentPlan<W>> {
        let plan = self.plan.as_ref().ok();
        plan.into_iter().flat_map(|plan| &plan.deployments)
    }

    /// Returns whether any deployment is removed.
    pub fn removes(&self) -> bool {
        self.deployments().any(DeploymentPlan::removes)
    }

    /// Returns whether a deployment is blocked by something other than missing consent.
    pub fn is_blocked(&self) -> bool {
        self.deployments().any(|plan| !plan.blockers.is_empty())
    }
}

impl<W: RolloutWork> PlannedWave<'_, W> {
    /// Returns whether anything is to be done.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.deployments().any(DeploymentPlan::changes)
    }

    /// Returns whether any version is to be deployed.
    pub(super) fn deploys(&self) -> bool {
        self.deployments()
            .any(|plan| plan.changes() && plan.deploys())
    }

    fn deployments(&self) -> impl Iterator<Item = &DeploymentPlan<W>> {
        self.members.iter().flat_map(|plan| &plan.deployments)
    }
}

/// Returns the waves in the order in which they change. A deletion begins with the last cluster of the last wave.
#[must_use]
pub fn waves_of_change<'a>(
    spec: &'a FleetSpec,
    members: &Members<'_>,
    change: FleetChange,
) -> Vec<ClustersOfWave<'a>> {
    let mut waves = waves(spec, members);
    if change == FleetChange::Delete {
        waves.reverse();
        for wave in &mut waves {
            wave.clusters.reverse();
        }
    }
    waves
}

/// Returns the waves that have selected clusters.
#[must_use]
pub fn planned_waves<'a, W: RolloutWork>(
    waves: Vec<ClustersOfWave<'a>>,
    planned: &'a [PlannedMember<W>],
) -> Vec<PlannedWave<'a, W>> {
    let all = waves.into_iter().map(|ClustersOfWave { wave, clusters }| {
        let selected = clusters
            .iter()
            .filter_map(|at| planned.iter().find(|member| member.at == *at));
        let mut members = Vec::new();
        let mut left_out = 0;
        for member in selected {
            match &member.plan {
                Ok(plan) => members.push(plan),
                Err(_) => left_out += 1,
            }
        }
        PlannedWave {
            wave,
            members,
            left_out,
        }
    });
    all.filter(|wave| !wave.members.is_empty() || wave.left_out > 0)
        .collect()
}

/// Returns the id of a text that the planned work of these clusters has.
pub(super) fn id_of<W: RolloutWork>(
    members: &[&MemberPlan<W>],
    text: impl Fn(&W) -> Option<String>,
) -> String {
    let mut texts = Vec::new();
    for member in members {
        for deployment in &member.deployments {
            let text = deployment.work.as_ref().and_then(&text);
            texts.extend(text.map(|text| (member, &deployment.placed, text)));
        }
    }
    fleet_id(texts.iter().map(|(member, deployment, text)| IdPart {
        cluster: &member.name,
        uid: &member.uid,
        deployment,
        text,
    }))
}

/// Returns the id of the plan of these clusters, which an approval covers.
pub(super) fn plan_id<W: RolloutWork>(members: &[&MemberPlan<W>]) -> String {
    id_of(members, |work| Some(work.essence()))
}

/// Returns the progress of a rollout that has not started.
pub fn initial_progress<W: RolloutWork>(
    spec: &FleetSpec,
    members: &Members<'_>,
    change: FleetChange,
    planned: &[PlannedMember<W>],
    started: DecisionAuthor,
) -> FleetProgress {
    let waves = waves_of_change(spec, members, change);
    let plans: Vec<&MemberPlan<W>> = planned.iter().flat_map(|member| &member.plan).collect();
    let waves = waves.into_iter().map(|ClustersOfWave { wave, clusters }| {
        let selected = planned
            .iter()
            .filter(|member| clusters.contains(&member.at));
        let clusters = selected.map(|member| {
            let (state, message) = match &member.plan {
                Ok(_) => (MemberState::Untouched, String::new()),
                Err(error) => (MemberState::LeftOut, error.to_string()),
            };
            MemberProgress {
                name: spec.clusters[member.at].name.clone(),
                state,
                message,
            }
        });
        WaveProgress {
            name: wave.name.clone(),
            clusters: clusters.collect(),
        }
    });
    FleetProgress::new(
        change,
        plan_id(&plans),
        started.by,
        started.at,
        waves.filter(|wave| !wave.clusters.is_empty()).collect(),
        spec.clusters.len() - planned.len(),
    )
}

/// Records the identities of clusters that get a deployment, before any of them changes.
pub fn record_members<W: RolloutWork>(
    journal: &mut FleetJournal,
    spec: &FleetSpec,
    planned: &[PlannedMember<W>],
) -> Result<(), IdentityConflict> {
    for plan in planned.iter().flat_map(|member| &member.plan) {
        if !plan.deployments.iter().any(DeploymentPlan::deploys) {
            continue;
        }
        let (name, uid) = (&plan.name, &plan.uid);
        let cluster = KnownCluster { name, uid };
        match &spec.clusters[plan.at].uid {
            Some(_) => journal.pin(cluster),
            None => journal.know(cluster)?,
        }
    }
    Ok(())
}

/// The clusters to which the entries of a fleet's file lead, by the UID of their namespace kube-system.
#[derive(Debug, Default)]
pub struct ClusterIndex(BTreeMap<ClusterUid, String>);

/// The error of an entry that leads to the cluster of another entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is the cluster of `{other}` (UID {uid})")]
pub struct SameCluster {
    /// The name of the other entry.
    pub other: String,
    /// The UID of the cluster.
    pub uid: ClusterUid,
}

impl ClusterIndex {
    /// Adds the cluster of an entry.
    pub fn add(&mut self, name: &str, uid: &ClusterUid) -> Result<(), SameCluster> {
        if let Some(other) = self.0.get(uid) {
            return Err(SameCluster {
                other: other.clone(),
                uid: uid.clone(),
            });
        }
        self.0.insert(uid.clone(), name.to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FleetFile;

    #[test]
    fn on_the_way_out_the_last_cluster_of_the_last_wave_goes_first() {
        let text = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
spec: {clusters: [{name: a}, {name: b}, {name: c}],
  waves: [{name: first, clusters: [b]}, {name: rest, clusters: [a, c]}]}";
        let file = FleetFile::read("fleet.yaml", text.as_bytes()).unwrap();
        let members = Members::of(file.spec());
        let order = |change| {
            let waves = waves_of_change(file.spec(), &members, change).into_iter();
            waves
                .map(|wave| format!("{} {:?}", wave.wave.name, wave.clusters))
                .collect::<Vec<_>>()
        };
        for change in [FleetChange::Apply, FleetChange::Rollback] {
            assert_eq!(order(change), ["first [1]", "rest [0, 2]"]);
        }
        assert_eq!(order(FleetChange::Delete), ["rest [2, 0]", "first [1]"]);
    }
}
