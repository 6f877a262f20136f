//! Installs, upgrades, rolls back and uninstalls releases with Helm. While Helm runs, the release's objects are
//! inspected for problems, since Helm rolls back objects that do not become ready and their state is lost.
//! [`Ready::bring_release`] and [`HelmRunner::uninstall`] are the main entry points.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use helm::{ClusterAccess, Helm, HelmError, HelmHome, PostRenderer, Release, Upgrade};
use kubernetes::{
    Cluster, ConflictPolicy, Goal, MissedDeadline, Object, ObjectRef, ObjectStatus, PodProblem,
    Readiness, UnreadyObject, UnreadyObjects,
};
use manifests::is_definition;
use planner::{
    AdoptionPolicy, Holder, Recovery, ReleaseEntry, ReleaseStep, RollbackPlan, holder, intercepts,
    vocabulary as v,
};
use progress::Cancel;
use schemas::{Namespace, SolutionName};
use tokio::time::{Instant, sleep};

use crate::apply::helm_run::{self, Sending, revisions};
use crate::apply::leased::Leased;
use crate::apply::rollback::StatefulSetSelection;
use crate::decide::deployment::Deployment;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::{Event, ReleaseChange};
use crate::model::request::Deadline;
use crate::objects::losses;
use crate::objects::releases::stored::StoredRelease;
use crate::objects::releases::{PlannedRelease, is_hook, is_kept, sent};
use crate::plan::Ready;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::storage::read_all_if_allowed;
use crate::{limits, renderer};

/// The kinds whose objects can show that they wait for something.
const AWAITED: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"];

/// A runner of Helm for the releases of a Solution in an environment.
#[derive(Clone, Debug)]
pub(crate) struct HelmRunner {
    helm: Helm,
    /// The Solution whose releases are changed.
    solution: SolutionName,
    /// The ids of releases that are uninstalled in their current state.
    accepted: BTreeSet<String>,
}

impl HelmRunner {
    pub(crate) fn new(helm: &Helm, solution: &SolutionName) -> Self {
        Self {
            helm: helm.clone(),
            solution: solution.clone(),
            accepted: BTreeSet::new(),
        }
    }

    /// Returns the same runner with the ids of releases that are uninstalled in their current state.
    pub(crate) fn accepting(self, ids: &BTreeSet<String>) -> Self {
        let accepted = ids.clone();
        Self { accepted, ..self }
    }

    fn at<'a>(&'a self, home: &'a Namespace, recorded: &'a ReleaseEntry) -> helm_run::Release<'a> {
        helm_run::Release {
            recorded,
            home,
            solution: &self.solution,
        }
    }

    /// Uninstalls a release of the environment of a namespace. A release that was uninstalled or recreated by another
    /// program is skipped.
    pub(crate) async fn uninstall(
        &self,
        release: &ReleaseEntry,
        home: &Namespace,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        leased.lock.check()?;
        let known = revisions(release, leased);
        let (cluster, name) = (leased.cluster, &release.name);
        let stored = StoredRelease::find(cluster, &release.namespace, name).await?;
        let Some(stored) = stored.filter(|stored| stored.is_of(&self.solution, &known)) else {
            return Ok(());
        };
        let mut release = release.clone();
        release.revisions.clone_from(&known);
        if !stored.is_known(&known) {
            // Uninstalling a release that was changed since an import stored it needs consent.
            if !self.accepted.contains(&stored.id()) {
                return Err(stored.unknown(&release).into());
            }
            release.revisions = stored.as_it_is();
            leased.released(release.clone());
        }
        let release = &release;
        leased.begin().await?;
        disarm(leased, &self.solution, release).await?;
        (leased.tell)(Event::Release {
            release: release.to_string(),
            change: ReleaseChange::Uninstalling,
        });
        let (of, wait) = (release.clone(), limits::RELEASE_WAIT);
        let work = move |helm: &Helm, access: &ClusterAccess, cancel: Cancel<'_>| {
            helm.uninstall(of_helm(&of), wait, access, cancel)
        };
        let look = async |leased: &Leased<'_>| {
            sleep(limits::SERVED_POLL).await;
            leased.lock.check()?;
            Ok(ControlFlow::Continue(()))
        };
        let release_at = self.at(home, release);
        let run = helm_run::run(leased, &self.helm, &release_at, None, work, look);
        run.await?.map_err(|error| failed(release, error))?;
        leased.removed(release.to_string());
        Ok(())
    }

    /// Rolls a release back to an earlier revision. An unrecorded newest revision is an error, since Helm would act on
    /// the objects in it.
    async fn roll_back(
        &self,
        release: &ReleaseEntry,
        home: &Namespace,
        revision: u32,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        leased.lock.check()?;
        (leased.tell)(Event::Release {
            release: release.to_string(),
            change: ReleaseChange::RollingBack(revision),
        });
        let known = revisions(release, leased);
        let (cluster, name) = (leased.cluster, &release.name);
        let stored = StoredRelease::find(cluster, &release.namespace, name).await?;
        let objects = match &stored {
            Some(stored) if !stored.is_known(&known) => {
                return Err(stored.unknown(release).into());
            }
            Some(stored) => sent(cluster, &stored.newest, release).await?,
            None => Vec::new(),
        };
        let mut behind = StatefulSetSelection::new(objects.iter().map(Object::reference));
        // If Helm itself has started the rollback, pods may be left behind already.
        behind.look(leased).await;
        let mut done = self
            .roll_back_once(&self.at(home, release), revision, &mut behind, leased)
            .await?;
        if let Err(HelmError::Failed { .. }) = done {
            // Helm stops waiting if a pod has failed, even if that pod is about to be deleted. A second run succeeds
            // once such pods are deleted.
            if behind.has_found(leased).await? {
                let release = self.at(home, release);
                done = self
                    .roll_back_once(&release, revision, &mut behind, leased)
                    .await?;
            }
        }
        done.map_err(|error| failed(release, error))?;
        leased.changed(release.to_string());
        Ok(())
    }

    async fn roll_back_once(
        &self,
        release: &helm_run::Release<'_>,
        revision: u32,
        behind: &mut StatefulSetSelection,
        leased: &mut Leased<'_>,
    ) -> Result<Result<(), HelmError>, Error> {
        let (of, wait) = (release.recorded.clone(), limits::RELEASE_WAIT);
        let work = move |helm: &Helm, access: &ClusterAccess, cancel: Cancel<'_>| {
            helm.rollback(of_helm(&of), revision, wait, access, cancel)
        };
        let look = async |leased: &Leased<'_>| {
            leased.lock.check()?;
            behind.look(leased).await;
            sleep(limits::RELEASE_LOOK).await;
            Ok(ControlFlow::Continue(()))
        };
        let done = helm_run::run(leased, &self.helm, release, None, work, look).await;
        behind.end(leased).await;
        done
    }
}

impl Ready<'_> {
    /// Installs or upgrades a release if the plan changes it, and records its revision at once.
    pub(crate) async fn bring_release(
        &self,
        deployment: &Deployment,
        planned: &PlannedRelease,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (ReleaseStep::Change(mend), Some(helm)) = (planned.step, &deployment.releases.helm)
        else {
            return Ok(());
        };
        let hand = self.hand(helm);
        let (release, home) = (&planned.recorded, &deployment.place.namespace);
        let before = before(deployment, release);
        leased.lock.check()?;
        leased.begin().await?;
        if release.revisions != before.revisions {
            // The user has accepted the current state of the release.
            leased.released(ReleaseEntry {
                revisions: release.revisions.clone(),
                ..before.clone()
            });
        }
        if mend != Recovery::Nothing {
            // Requests of an interrupted run of Helm have ended by then, so they cannot interfere.
            leased.lock.settled(leased.cluster.timeout()).await;
        }
        match mend {
            Recovery::Nothing => {}
            Recovery::Uninstall => hand.uninstall(before, home, leased).await?,
            Recovery::RollBack(revision) => hand.roll_back(before, home, revision, leased).await?,
        }
        self.upgrade(&hand, deployment, planned, leased).await?;
        leased.changed(release.to_string());
        self.know_revision(release, leased).await?;
        self.record_progress(deployment, leased).await
    }

    fn hand(&self, helm: &Helm) -> HelmRunner {
        HelmRunner::new(helm, self.asked.id.name())
    }

    /// Records the current revision of a release.
    async fn know_revision(
        &self,
        release: &ReleaseEntry,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (cluster, name) = (leased.cluster, &release.name);
        let stored = StoredRelease::find(cluster, &release.namespace, name).await?;
        let revision = stored.as_ref().map(StoredRelease::revision);
        leased.released(ReleaseEntry {
            revision,
            revisions: revisions(release, leased),
            ..release.clone()
        });
        Ok(())
    }

    /// Returns the record of the namespace while this change is in progress.
    pub(crate) fn progress(&self, deployment: &Deployment, leased: &Leased<'_>) -> NamespaceRecord {
        let solution = self.asked.id.name();
        let mut place = deployment.place.clone().seen(leased.uids());
        let current = deployment.current.as_ref();
        let mut coming = current.unwrap_or(&deployment.deployed).clone();
        coming.labels = deployment.labels();
        place.solutions.insert(solution.clone(), coming);
        let version = self.asked.id.version().clone();
        place.coming.insert(solution.clone(), version);
        place
    }

    /// Installs or upgrades a release with Helm, and inspects its objects meanwhile.
    async fn upgrade(
        &self,
        hand: &HelmRunner,
        deployment: &Deployment,
        planned: &PlannedRelease,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let release = &planned.recorded;
        let change = match planned.revision {
            None => ReleaseChange::Installing,
            Some(_) => ReleaseChange::Upgrading,
        };
        (leased.tell)(Event::Release {
            release: release.to_string(),
            change,
        });
        let home = hand.helm.home().map_err(|error| failed(release, error))?;
        let home = Arc::new(home);
        let run = self.run_of(planned, &home)?;
        let kept = Arc::clone(&home);
        let work = move |helm: &Helm, access: &ClusterAccess, cancel: Cancel<'_>| {
            let done = run.go(helm, access, cancel);
            // The directory must exist as long as Helm may read from it.
            drop(kept);
            done
        };
        let awaited = planned
            .objects
            .iter()
            .map(Object::reference)
            .filter(|object| AWAITED.contains(&object.gvk.kind.as_str()));
        let mut watching = Watching::watch(awaited.cloned().collect(), &self.deadline);
        let sending = Sending {
            objects: &planned.objects,
            replaced: planned.replaced.iter().map(|object| &object.live).collect(),
            lookups: &planned.lookups,
            rendered: renderer::rendered(&home.path("")),
        };
        let release_at = hand.at(&deployment.place.namespace, before(deployment, release));
        let look = async |leased: &Leased<'_>| watching.look(leased).await;
        let run = helm_run::run(leased, &hand.helm, &release_at, Some(sending), work, look);
        let done = run.await?;
        let Err(said) = done else {
            watching.tell_ready(leased).await;
            return Ok(());
        };
        let said = watching.ended.take().unwrap_or(said);
        let seen = watching.seen.take();
        Err(match (seen, said) {
            (Some(seen), said @ (HelmError::Failed { .. } | HelmError::TooLong { .. })) => {
                Error::Unready {
                    release: release.to_string(),
                    said,
                    source: Box::new(kubernetes::Error::UnreadyObjects(Box::new(seen))),
                }
            }
            (_, said) => failed(release, said),
        })
    }

    /// Returns the inputs of an upgrade, after writing the planned objects into its directory.
    fn run_of(&self, planned: &PlannedRelease, home: &HelmHome) -> Result<UpgradeRun, Error> {
        let (id, release) = (&self.asked.id, &planned.recorded);
        let mut charts = self.asked.accepted.charts().iter();
        let chart = charts.find(|chart| chart.release.name == release.name);
        let (name, stream) = renderer::planned(&planned.objects);
        let written = home.write(name, stream.as_bytes());
        written.map_err(|source| {
            let program = self.asked.request.context.helm.renderer.0.clone();
            failed(release, HelmError::Run(program, source))
        })?;
        let (renderer, mut arguments) = self.asked.request.context.helm.renderer.clone();
        arguments.push(home.path("").into());
        Ok(UpgradeRun {
            release: release.clone(),
            chart: chart.map(|chart| chart.archive.clone()).unwrap_or_default(),
            skip_schema: chart.is_some_and(|chart| chart.skip_schema),
            values: planned.values.clone(),
            timeout: self.deadline.within(planned.timeout),
            renderer,
            arguments,
            take_ownership: self.asked.request.allowed.adopt.objects == AdoptionPolicy::Allow,
            force_conflicts: self.asked.request.allowed.conflicts == ConflictPolicy::Force,
            solution: id.name().clone(),
            description: format!("by solution: {id}"),
        })
    }
}

impl Ready<'_> {
    /// Rolls back or uninstalls the releases that this change has changed or started to change, in reverse order.
    pub(crate) async fn take_back_releases(
        &self,
        inverse: &RollbackPlan,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(helm) = &deployment.releases.helm else {
            return Ok(());
        };
        let hand = self.hand(helm);
        let home = &deployment.place.namespace;
        for returning in &inverse.releases {
            let release = &returning.entry;
            let Some(back) = returning.revision else {
                hand.uninstall(release, home, leased).await?;
                continue;
            };
            let (cluster, name) = (leased.cluster, &release.name);
            let stored = StoredRelease::find(cluster, &release.namespace, name).await?;
            if !stored.is_some_and(|stored| stored.is_back_at(back)) {
                check_definitions(release, deployment, cluster).await?;
                hand.roll_back(release, home, back, leased).await?;
            }
            self.know_revision(release, leased).await?;
        }
        Ok(())
    }

    /// Uninstalls the releases that this version no longer has.
    pub(crate) async fn remove_releases(
        &self,
        deployment: &Deployment,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let Some(helm) = &deployment.releases.helm else {
            return Ok(());
        };
        let hand = self.hand(helm);
        for release in &deployment.change.departing {
            let home = &deployment.place.namespace;
            hand.uninstall(release, home, leased).await?;
        }
        Ok(())
    }
}

/// Returns the current webhooks of a release. They could refuse later writes, and even those of Helm's own records. A
/// release that was changed since an import stored it has none to remove.
pub(crate) async fn interceptors(
    cluster: &Cluster,
    solution: &SolutionName,
    release: &ReleaseEntry,
) -> Result<Vec<Object>, Error> {
    let (namespace, name, known) = (&release.namespace, &release.name, &release.revisions);
    let stored = StoredRelease::find(cluster, namespace, name).await?;
    let stored = stored.filter(|stored| stored.is_of(solution, known) && stored.is_known(known));
    let Some(stored) = stored else {
        return Ok(Vec::new());
    };
    let sent = sent(cluster, &stored.newest, release).await?;
    let asked = sent
        .iter()
        .filter(|object| intercepts(object.reference()) && !is_hook(object) && !is_kept(object));
    let references: Vec<&ObjectRef> = asked.map(Object::reference).collect();
    let live = read_all_if_allowed(cluster, &references)
        .await?
        .into_iter()
        .flatten();
    let own = Holder::Release(namespace.as_str(), name.as_str());
    Ok(live.filter(|live| holder(live) == own).collect())
}

/// Removes the webhooks of a release in the seen state before Helm runs.
pub(crate) async fn disarm(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    release: &ReleaseEntry,
) -> Result<(), Error> {
    for seen in interceptors(leased.cluster, solution, release).await? {
        let is_same = |live: &Object| live.uid() == seen.uid();
        let may = |live: &Object| {
            is_same(live)
                .then_some(())
                .ok_or_else(|| Blocker::changed([live.reference()]))
        };
        leased.remove(seen.reference(), may).await?;
    }
    Ok(())
}

/// Refuses a rollback by Helm if one of the former CRDs would remove fields that objects use.
async fn check_definitions(
    release: &ReleaseEntry,
    deployment: &Deployment,
    cluster: &Cluster,
) -> Result<(), Error> {
    let Some(current) = &deployment.current else {
        return Ok(());
    };
    let planned = deployment.releases.named(release.name.as_str());
    let before = planned.into_iter().flat_map(|planned| &planned.before);
    for definition in before.filter(|object| is_definition(object.as_value())) {
        if let Some(live) = cluster.get(definition.reference()).await? {
            let (wanted, version) = (definition.as_value(), &current.version);
            losses::check_replaced(cluster, &live, wanted, version).await?;
        }
    }
    Ok(())
}

/// The inputs of an upgrade, which are moved to another thread.
struct UpgradeRun {
    release: ReleaseEntry,
    chart: Vec<u8>,
    values: String,
    timeout: Duration,
    renderer: PathBuf,
    arguments: Vec<OsString>,
    skip_schema: bool,
    take_ownership: bool,
    force_conflicts: bool,
    solution: SolutionName,
    description: String,
}

impl UpgradeRun {
    fn go(&self, helm: &Helm, access: &ClusterAccess, cancel: Cancel<'_>) -> Result<(), HelmError> {
        let upgrade = Upgrade {
            release: of_helm(&self.release),
            chart: &self.chart,
            skip_schema: self.skip_schema,
            values: self.values.as_bytes(),
            timeout: self.timeout,
            renderer: Some(PostRenderer {
                program: &self.renderer,
                arguments: self.arguments.clone(),
            }),
            take_ownership: self.take_ownership,
            force_conflicts: self.force_conflicts,
            label: (v::RELEASE_OF, self.solution.as_str()),
            description: &self.description,
        };
        helm.upgrade(&upgrade, access, cancel)
    }
}

fn of_helm(release: &ReleaseEntry) -> Release<'_> {
    Release {
        name: &release.name,
        namespace: &release.namespace,
    }
}

fn failed(release: &ReleaseEntry, source: HelmError) -> Error {
    Error::Helm(release.to_string(), source)
}

/// Returns the record of a release in the inventory before this change, or the release itself if it is not recorded
/// there.
fn before<'a>(deployment: &'a Deployment, release: &'a ReleaseEntry) -> &'a ReleaseEntry {
    let before = &deployment.change.before;
    let before = before.release(&release.namespace, &release.name);
    before.unwrap_or(release)
}

/// The inspection of a release's objects while Helm waits for them. It finds the reasons why they are not ready, and
/// the pods that a rollback by Helm leaves behind.
struct Watching<'a> {
    objects: Vec<ObjectRef>,
    behind: StatefulSetSelection,
    told: Mutex<BTreeMap<ObjectRef, String>>,
    began: Instant,
    /// The last reason why they were not ready.
    seen: Option<UnreadyObjects>,
    deadline: &'a Deadline,
    /// The states of the objects when the run began. Events and conditions that belong to these states concern an
    /// earlier run.
    former: Option<BTreeMap<ObjectRef, ObservedState>>,
    /// The number of consecutive inspections that saw a problem which waiting does not resolve.
    hopeless: u32,
    /// The reason why Helm was cancelled, if it was.
    ended: Option<HelmError>,
}

impl<'a> Watching<'a> {
    fn watch(objects: Vec<ObjectRef>, deadline: &'a Deadline) -> Self {
        Self {
            behind: StatefulSetSelection::new(&objects),
            objects,
            told: Mutex::default(),
            began: Instant::now(),
            seen: None,
            deadline,
            former: None,
            hopeless: 0,
            ended: None,
        }
    }

    /// Inspects the objects once. Losing the Lease ends the run with an error. The run is cancelled if the change has
    /// exceeded its time or if waiting does not help: the API server refuses pods because of the namespace's Pod
    /// Security level, or a Deployment misses its progress deadline.
    async fn look(&mut self, leased: &Leased<'_>) -> Result<ControlFlow<()>, Error> {
        leased.lock.check()?;
        self.behind.look(leased).await;
        let there = existing(leased, &self.objects).await;
        let states: BTreeMap<ObjectRef, ObservedState> =
            there.iter().map(ObservedState::observe).collect();
        let former = self.former.get_or_insert_with(|| states.clone()).clone();
        let is_hopeless = |one: &UnreadyObject| {
            let (now, former) = (states.get(&one.object), former.get(&one.object));
            now.is_some_and(|now| {
                now.is_late(former) || is_refused(one) && now.is_current(former, &one.object)
            })
        };
        let tell = |status: ObjectStatus| self.tell(leased, status);
        let there = there
            .iter()
            .map(|live| Goal::Ready(live.reference().clone()));
        let there: Vec<Goal> = there.collect();
        let settled = leased
            .cluster
            .wait(&there, limits::RELEASE_LOOK, &tell)
            .await;
        let mut is_still_hopeless = false;
        if let Err(kubernetes::Error::UnreadyObjects(mut found)) = settled
            && (found.cause().is_some() || found.has_failed())
        {
            // The duration counts from the start of the run, not of this inspection.
            found.after = self.began.elapsed();
            let mut objects = found.objects.iter();
            is_still_hopeless = objects.any(is_hopeless);
            self.seen = Some(*found);
        }
        self.hopeless = if is_still_hopeless {
            self.hopeless + 1
        } else {
            0
        };
        if self.hopeless >= limits::HOPELESS_LOOKS {
            self.ended = Some(HelmError::Failed {
                program: "helm",
                verb: "upgrade",
                said: "ended early, because waiting longer does not help".to_owned(),
            });
        }
        if let Some(limit) = self.deadline.over() {
            self.ended.get_or_insert(HelmError::TooLong {
                program: "helm",
                verb: "upgrade",
                limit,
            });
        }
        if self.ended.is_some() {
            return Ok(ControlFlow::Break(()));
        }
        sleep(limits::SERVED_POLL).await;
        Ok(ControlFlow::Continue(()))
    }

    /// Reports the ready objects after Helm has succeeded. Helm may see that they are ready before an inspection does,
    /// and its end stops the inspections.
    async fn tell_ready(&self, leased: &Leased<'_>) {
        for live in existing(leased, &self.objects).await {
            let state = kubernetes::readiness(&live);
            if state == Readiness::Ready {
                let object = live.reference().clone();
                let status = ObjectStatus {
                    object,
                    state,
                    awaited: None,
                };
                self.tell(leased, status);
            }
        }
    }

    /// Reports the state of an object unless it was the last one reported.
    fn tell(&self, leased: &Leased<'_>, status: ObjectStatus) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let text = status.to_string();
        if told.insert(status.object.clone(), text.clone()) != Some(text) {
            (leased.tell)(Event::ObjectStatus(status));
        }
    }
}

/// The identity and generation of an object, and its missed progress deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ObservedState {
    uid: Option<String>,
    generation: Option<u64>,
    missed: Option<MissedDeadline>,
}

impl ObservedState {
    fn observe(live: &Object) -> (ObjectRef, Self) {
        let state = Self {
            uid: live.uid().map(str::to_owned),
            generation: live.as_value()["metadata"]["generation"].as_u64(),
            missed: MissedDeadline::find(live),
        };
        (live.reference().clone(), state)
    }

    /// Checks whether a statement about an object's pods concerns this run of Helm, at whose start the object had the
    /// former state. The conditions of a Deployment follow its changes. For other kinds, the statement is from Events,
    /// which outlive their cause but not the object.
    fn is_current(&self, former: Option<&Self>, object: &ObjectRef) -> bool {
        former.is_none_or(|former| {
            let is_changed = self.generation != former.generation;
            self.uid != former.uid || object.gvk.kind == "Deployment" && is_changed
        })
    }

    /// Checks whether the object has missed its progress deadline since this run of Helm began.
    fn is_late(&self, former: Option<&Self>) -> bool {
        self.missed.is_some() && former.is_none_or(|former| self.missed != former.missed)
    }
}

/// Checks whether the API server refuses an object's pods because of the namespace's Pod Security level.
fn is_refused(one: &UnreadyObject) -> bool {
    let cause = one.cause.as_ref();
    cause.is_some_and(|cause| cause.stuck == PodProblem::PodSecurity)
}

/// Returns the objects that exist by now. Those of hooks are created and deleted during the run.
async fn existing(leased: &Leased<'_>, objects: &[ObjectRef]) -> Vec<Object> {
    let wanted: Vec<&ObjectRef> = objects.iter().collect();
    // Objects that cannot be read are left to Helm.
    let found = leased.cluster.get_all(&wanted).await.unwrap_or_default();
    found.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_said_of_an_object_before_a_run_of_helm_ends_no_wait() {
        let state = |uid: &str, generation| ObservedState {
            uid: Some(uid.to_owned()),
            generation: Some(generation),
            missed: None,
        };
        let object = |kind| ObjectRef::namespaced("apps/v1", kind, "prod", "web");
        let former = state("a", 1);
        for (kind, now, former, expected) in [
            ("Deployment", state("a", 1), Some(&former), false),
            ("Deployment", state("a", 2), Some(&former), true),
            ("StatefulSet", state("a", 2), Some(&former), false),
            ("Job", state("b", 1), Some(&former), true),
            ("StatefulSet", state("a", 1), None, true),
        ] {
            let is_current = now.is_current(former, &object(kind));
            assert_eq!(is_current, expected, "{kind}: {now:?}");
        }
    }

    #[test]
    fn a_deployment_that_misses_its_deadline_in_a_run_of_helm_ends_the_wait() {
        let state = |observed: u64, reason: &str, said_at: &str| {
            let condition = json!({"type": "Progressing", "status": "False", "reason": reason, "lastUpdateTime": said_at});
            let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "prod", "uid": "a", "generation": 2},
                "status": {"observedGeneration": observed, "conditions": [condition]}});
            ObservedState::observe(&Object::new(deployment).unwrap()).1
        };
        let (missed, other) = ("ProgressDeadlineExceeded", "ReplicaSetUpdated");
        let late = state(2, missed, "later");
        assert!(late.is_late(None));
        assert!(late.is_late(Some(&state(2, other, "before"))));
        assert!(late.is_late(Some(&state(2, missed, "before"))));
        // The condition belongs to an earlier run, an earlier version or another object.
        assert!(!late.is_late(Some(&late.clone())));
        assert!(!state(1, missed, "later").is_late(None));
        assert!(!state(2, other, "later").is_late(None));
    }
}
