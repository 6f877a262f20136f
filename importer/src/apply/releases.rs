//! Makes Helm install, upgrade, roll back and uninstall releases; and sees meanwhile what keeps their objects, since
//! Helm takes those back that do not come up, and with them whatever they could tell.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use change::{
    Adopt, Holder, Inverse, Mend, ReleaseEntry, ReleaseStep, holder, intercepts, vocabulary as v,
};
use deployer::{
    Cluster, Conflicts, Goal, MissedDeadline, Object, ObjectRef, Settled, Standing, Stuck, Unready,
    Unsettled,
};
use helm::{ClusterAccess, Helm, HelmError, Home, PostRenderer, Release, Upgrade};
use manifests::is_definition;
use schemas::{Namespace, SolutionName};
use tokio::time::{Instant, sleep};
use watch::Cancel;

use crate::apply::behind::Behind;
use crate::apply::leased::Leased;
use crate::apply::through::{self, Sending, revisions};
use crate::limits;
use crate::model::deadline::Deadline;
use crate::model::error::Error;
use crate::model::event::{Event, ReleaseChange};
use crate::model::look::look_all;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::Obstacle;
use crate::plan::Ready;
use crate::plan::deployment::Deployment;
use crate::plan::losses;
use crate::plan::releases::{PlannedRelease, is_hook, is_kept, sent};
use crate::plan::standing::StandingRelease;
use crate::renderer;

/// Kinds whose objects can be seen to wait for something.
const AWAITED: [&str; 5] = ["Deployment", "StatefulSet", "DaemonSet", "Job", "Pod"];

/// A program that is run for the releases of a Solution in an environment.
#[derive(Clone, Debug)]
pub(crate) struct HelmHand {
    helm: Helm,
    /// The Solution whose releases it changes.
    solution: SolutionName,
    /// Ids of releases that are uninstalled as they stand.
    accepted: BTreeSet<String>,
}

impl HelmHand {
    pub(crate) fn new(helm: &Helm, solution: &SolutionName) -> Self {
        Self {
            helm: helm.clone(),
            solution: solution.clone(),
            accepted: BTreeSet::new(),
        }
    }

    /// Returns the same hand, with ids of releases that are uninstalled as they stand.
    pub(crate) fn accepting(self, ids: &BTreeSet<String>) -> Self {
        let accepted = ids.clone();
        Self { accepted, ..self }
    }

    fn at<'a>(&'a self, home: &'a Namespace, recorded: &'a ReleaseEntry) -> through::Release<'a> {
        through::Release {
            recorded,
            home,
            solution: &self.solution,
        }
    }

    /// Uninstalls a release of the environment of a namespace; one that is not there any more has been uninstalled by
    /// others, and one that they have made anew stays.
    pub(crate) async fn uninstall(
        &self,
        release: &ReleaseEntry,
        home: &Namespace,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        leased.lock.check()?;
        let known = revisions(release, leased);
        let (cluster, name) = (leased.cluster, &release.name);
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        let Some(standing) = standing.filter(|it| it.is_of(&self.solution, &known)) else {
            return Ok(());
        };
        let mut release = release.clone();
        release.revisions.clone_from(&known);
        if !standing.is_known(&known) {
            if !self.accepted.contains(&standing.id()) {
                return Err(standing.unknown(&release).into());
            }
            release.revisions = standing.as_it_is();
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
        let run = through::run(leased, &self.helm, &release_at, None, work, look);
        run.await?.map_err(|error| failed(release, error))?;
        leased.removed(release.to_string());
        Ok(())
    }

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
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        let objects = match &standing {
            Some(standing) if !standing.is_known(&known) => {
                return Err(standing.unknown(release).into());
            }
            Some(standing) => sent(cluster, &standing.newest, release).await?,
            None => Vec::new(),
        };
        let mut behind = Behind::of(objects.iter().map(Object::reference));
        // Where Helm itself has begun to take it back, pods are behind already.
        behind.look(leased).await;
        let mut done = self
            .roll_back_once(&self.at(home, release), revision, &mut behind, leased)
            .await?;
        if let Err(HelmError::Failed { .. }) = done {
            // Helm does not wait where a pod has failed, also where that one is about to go.
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
        release: &through::Release<'_>,
        revision: u32,
        behind: &mut Behind,
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
        let done = through::run(leased, &self.helm, release, None, work, look).await;
        behind.end(leased).await;
        done
    }
}

impl Ready<'_> {
    /// Brings a release, if there is anything to do, and writes its revision down at once.
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
            // It was accepted as it stands.
            leased.released(ReleaseEntry {
                revisions: release.revisions.clone(),
                ..before.clone()
            });
        }
        if mend != Mend::Nothing {
            // What a run that was cut off had sent has come by then, or never will.
            leased.lock.settled(leased.cluster.timeout()).await;
        }
        match mend {
            Mend::Nothing => {}
            Mend::Uninstall => hand.uninstall(before, home, leased).await?,
            Mend::RollBack(revision) => hand.roll_back(before, home, revision, leased).await?,
        }
        self.upgrade(&hand, deployment, planned, leased).await?;
        leased.changed(release.to_string());
        self.know_revision(release, leased).await?;
        self.record_progress(deployment, leased).await
    }

    fn hand(&self, helm: &Helm) -> HelmHand {
        HelmHand::new(helm, self.asked.id.name())
    }

    /// Notes the revision that a release has now.
    async fn know_revision(
        &self,
        release: &ReleaseEntry,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        let (cluster, name) = (leased.cluster, &release.name);
        let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
        let revision = standing.as_ref().map(StandingRelease::revision);
        leased.released(ReleaseEntry {
            revision,
            revisions: revisions(release, leased),
            ..release.clone()
        });
        Ok(())
    }

    /// The record of the namespace while this change is under way.
    pub(crate) fn progress(&self, deployment: &Deployment, leased: &Leased<'_>) -> NamespaceRecord {
        let solution = self.asked.id.name();
        let mut place = deployment.place.clone().seen(leased.uids());
        let standing = deployment.standing.as_ref();
        let mut coming = standing.unwrap_or(&deployment.deployed).clone();
        coming.labels = deployment.labels();
        place.solutions.insert(solution.clone(), coming);
        let version = self.asked.id.version().clone();
        place.coming.insert(solution.clone(), version);
        place
    }

    /// Makes Helm install or upgrade a release, and looks meanwhile at its objects.
    async fn upgrade(
        &self,
        hand: &HelmHand,
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
            // It is there as long as Helm may look into it.
            drop(kept);
            done
        };
        let awaited = planned.objects.iter().map(Object::reference);
        let awaited = awaited.filter(|it| AWAITED.contains(&it.gvk.kind.as_str()));
        let mut watching = Watching::of(awaited.cloned().collect(), &self.deadline);
        let sending = Sending {
            objects: &planned.objects,
            replaced: planned.replaced.iter().map(|it| &it.live).collect(),
            lookups: &planned.lookups,
            rendered: renderer::rendered(&home.path("")),
        };
        let release_at = hand.at(&deployment.place.namespace, before(deployment, release));
        let look = async |leased: &Leased<'_>| watching.look(leased).await;
        let run = through::run(leased, &hand.helm, &release_at, Some(sending), work, look);
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
                    source: Box::new(deployer::Error::Unsettled(Box::new(seen))),
                }
            }
            (_, said) => failed(release, said),
        })
    }

    /// Returns all that a run needs, with what it sends written into its directory.
    fn run_of(&self, planned: &PlannedRelease, home: &Home) -> Result<UpgradeRun, Error> {
        let (id, release) = (&self.asked.id, &planned.recorded);
        let mut charts = self.asked.accepted.charts().iter();
        let chart = charts.find(|it| it.release.name == release.name);
        let (name, stream) = renderer::planned(&planned.objects);
        let written = home.write(name, stream.as_bytes());
        written.map_err(|source| {
            let program = self.asked.request.helm.renderer.0.clone();
            failed(release, HelmError::Run { program, source })
        })?;
        let (renderer, mut arguments) = self.asked.request.helm.renderer.clone();
        arguments.push(home.path("").into());
        Ok(UpgradeRun {
            release: release.clone(),
            chart: chart.map(|it| it.archive.clone()).unwrap_or_default(),
            skip_schema: chart.is_some_and(|it| it.skip_schema),
            values: planned.values.clone(),
            timeout: self.deadline.within(planned.timeout),
            renderer,
            arguments,
            take_ownership: self.asked.request.allowed.adopt.objects == Adopt::Allow,
            force_conflicts: self.asked.request.allowed.conflicts == Conflicts::Force,
            solution: id.name().clone(),
            description: format!("by solution: {id}"),
        })
    }
}

impl Ready<'_> {
    /// Takes the releases back that this change has brought or begun to bring, the last one first.
    pub(crate) async fn take_back_releases(
        &self,
        inverse: &Inverse,
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
            let standing = StandingRelease::read(cluster, &release.namespace, name).await?;
            if !standing.is_some_and(|it| it.is_back_at(back)) {
                check_definitions(release, deployment, cluster).await?;
                hand.roll_back(release, home, back, leased).await?;
            }
            self.know_revision(release, leased).await?;
        }
        Ok(())
    }

    /// Uninstalls the releases that this version does not have any more.
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

/// Finds what a release has that is asked whenever objects are written, as it stands: it could refuse the rest, and even
/// Helm its own records. A release that is not as it was stored from here has none to remove.
pub(crate) async fn interceptors(
    cluster: &Cluster,
    solution: &SolutionName,
    release: &ReleaseEntry,
) -> Result<Vec<Object>, Error> {
    let (namespace, name, known) = (&release.namespace, &release.name, &release.revisions);
    let standing = StandingRelease::look(cluster, namespace, name).await?;
    let standing = standing.filter(|it| it.is_of(solution, known) && it.is_known(known));
    let Some(standing) = standing else {
        return Ok(Vec::new());
    };
    let sent = sent(cluster, &standing.newest, release).await?;
    let asked = sent.iter().filter(|it| intercepts(it.reference()));
    let asked = asked.filter(|it| !is_hook(it) && !is_kept(it));
    let references: Vec<&ObjectRef> = asked.map(Object::reference).collect();
    let live = look_all(cluster, &references).await?.into_iter().flatten();
    let own = Holder::Release(namespace.as_str(), name.as_str());
    Ok(live.filter(|live| holder(live) == own).collect())
}

/// Removes these of a release before Helm is run, each as it was seen.
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
                .ok_or_else(|| Obstacle::changed([live.reference()]))
        };
        leased.remove(seen.reference(), may).await?;
    }
    Ok(())
}

/// Refuses to have Helm take a release back if one of its definitions then takes something from objects.
async fn check_definitions(
    release: &ReleaseEntry,
    deployment: &Deployment,
    cluster: &Cluster,
) -> Result<(), Error> {
    let Some(standing) = &deployment.standing else {
        return Ok(());
    };
    let planned = deployment.releases.named(release.name.as_str());
    let before = planned.into_iter().flat_map(|it| &it.before);
    for definition in before.filter(|it| is_definition(it.as_value())) {
        if let Some(live) = cluster.get(definition.reference()).await? {
            let (wanted, version) = (definition.as_value(), &standing.version);
            losses::check_replaced(cluster, &live, wanted, version).await?;
        }
    }
    Ok(())
}

/// The inputs of an upgrade, as it goes to another thread.
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
    Error::Helm {
        release: release.to_string(),
        source,
    }
}

/// A release as it was recorded before this change, if it was.
fn before<'a>(deployment: &'a Deployment, release: &'a ReleaseEntry) -> &'a ReleaseEntry {
    let before = &deployment.change.before;
    let before = before.release(&release.namespace, &release.name);
    before.unwrap_or(release)
}

/// Objects that are looked at while Helm waits for them: for what keeps them, and for what they leave behind when Helm takes
/// them back.
struct Watching<'a> {
    objects: Vec<ObjectRef>,
    behind: Behind,
    told: Mutex<BTreeMap<ObjectRef, String>>,
    began: Instant,
    /// The state that kept them from being ready last.
    seen: Option<Unsettled>,
    deadline: &'a Deadline,
    /// The states of the objects when the run began: what is said of them is about an earlier run.
    former: Option<BTreeMap<ObjectRef, ObservedState>>,
    /// Looks in a row that saw something which no wait brings.
    hopeless: u32,
    /// Why Helm was asked to end, if it was.
    ended: Option<HelmError>,
}

impl<'a> Watching<'a> {
    fn of(objects: Vec<ObjectRef>, deadline: &'a Deadline) -> Self {
        Self {
            behind: Behind::of(&objects),
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

    /// Looks once. That the Lease is lost ends it. It breaks off where the change has had its time, and where no wait helps:
    /// the API server refuses pods by the level that their namespace is held to, or a Deployment misses its deadline.
    async fn look(&mut self, leased: &Leased<'_>) -> Result<ControlFlow<()>, Error> {
        leased.lock.check()?;
        self.behind.look(leased).await;
        let there = existing(leased, &self.objects).await;
        let states = there.iter().map(ObservedState::of);
        let states: BTreeMap<ObjectRef, ObservedState> = states.collect();
        let former = self.former.get_or_insert_with(|| states.clone()).clone();
        let is_hopeless = |one: &Unready| {
            let (now, former) = (states.get(&one.object), former.get(&one.object));
            now.is_some_and(|now| {
                now.is_late(former) || is_refused(one) && now.is_current(former, &one.object)
            })
        };
        let tell = |standing: Standing| self.tell(leased, standing);
        let there = there
            .iter()
            .map(|live| Goal::Settled(live.reference().clone()));
        let there: Vec<Goal> = there.collect();
        let settled = leased
            .cluster
            .wait(&there, limits::RELEASE_LOOK, &tell)
            .await;
        let mut is_still_hopeless = false;
        if let Err(deployer::Error::Unsettled(mut found)) = settled
            && (found.cause().is_some() || found.has_failed())
        {
            // Not only since this look.
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

    /// Tells which objects are ready once Helm has succeeded: it may see that before a look does, and then ends the looks.
    async fn tell_ready(&self, leased: &Leased<'_>) {
        for live in existing(leased, &self.objects).await {
            let state = deployer::settled(&live);
            if state == Settled::Ready {
                let object = live.reference().clone();
                let standing = Standing {
                    object,
                    state,
                    awaited: None,
                };
                self.tell(leased, standing);
            }
        }
    }

    /// Tells the state of an object, unless it was told last.
    fn tell(&self, leased: &Leased<'_>, standing: Standing) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let text = standing.to_string();
        if told.insert(standing.object.clone(), text.clone()) != Some(text) {
            (leased.tell)(Event::Standing(standing));
        }
    }
}

/// The identity and the generation of an object, and the progress deadline that it has missed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ObservedState {
    uid: Option<String>,
    generation: Option<u64>,
    missed: Option<MissedDeadline>,
}

impl ObservedState {
    fn of(live: &Object) -> (ObjectRef, Self) {
        let state = Self {
            uid: live.uid().map(str::to_owned),
            generation: live.as_value()["metadata"]["generation"].as_u64(),
            missed: MissedDeadline::of(live),
        };
        (live.reference().clone(), state)
    }

    /// Whether what is said of an object's pods is about this run of Helm, at whose beginning the object had the former
    /// state. A Deployment's conditions follow its changes. Of other kinds events tell it, which outlive their cause, but
    /// not the object.
    fn is_current(&self, former: Option<&Self>, object: &ObjectRef) -> bool {
        former.is_none_or(|former| {
            let is_changed = self.generation != former.generation;
            self.uid != former.uid || object.gvk.kind == "Deployment" && is_changed
        })
    }

    /// Whether the object has missed its progress deadline since this run of Helm began.
    fn is_late(&self, former: Option<&Self>) -> bool {
        self.missed.is_some() && former.is_none_or(|former| self.missed != former.missed)
    }
}

/// Whether the API server refuses an object's pods by the level that their namespace is held to.
fn is_refused(one: &Unready) -> bool {
    let cause = one.cause.as_ref();
    cause.is_some_and(|cause| cause.stuck == Stuck::PodSecurity)
}

/// Returns the objects that are there by now: hooks come and go.
async fn existing(leased: &Leased<'_>, objects: &[ObjectRef]) -> Vec<Object> {
    let wanted: Vec<&ObjectRef> = objects.iter().collect();
    // Whatever cannot be seen is left to Helm.
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
            ObservedState::of(&Object::new(deployment).unwrap()).1
        };
        let (missed, other) = ("ProgressDeadlineExceeded", "ReplicaSetUpdated");
        let late = state(2, missed, "later");
        assert!(late.is_late(None));
        assert!(late.is_late(Some(&state(2, other, "before"))));
        assert!(late.is_late(Some(&state(2, missed, "before"))));
        // Said of a run before, of a version before, or of something else.
        assert!(!late.is_late(Some(&late.clone())));
        assert!(!state(1, missed, "later").is_late(None));
        assert!(!state(2, other, "later").is_late(None));
    }
}
