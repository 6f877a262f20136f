//! Runs of Helm through the gate: what may pass, made of what was planned and of what is recorded; and revisions, noted
//! before Helm stores them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use change::{Holder, ReleaseEntry, RevisionEntry, holder};
use deployer::{Cluster, Object, ObjectRef};
use helm::{ClusterAccess, Helm, HelmError};
use schemas::{Namespace, SolutionName};
use tokio::sync::mpsc;
use tokio::time::sleep;
use watch::{Cancel, Tell};

use crate::apply::leased::Leased;
use crate::gate::{Course, Gate, GatePass, Lookups, Note, ObjectPath, Writing};
use crate::limits;
use crate::model::error::Error;
use crate::model::event::{Event, HelmEnd};
use crate::model::inventory;
use crate::model::look::look_all;
use crate::plan::releases::{holds, is_hook, sent};
use crate::plan::standing::StandingRelease;

/// A release that Helm is run for.
#[derive(Clone, Debug)]
pub(crate) struct Release<'a> {
    /// The release as it is recorded as long as this run has not come to its end.
    pub(crate) recorded: &'a ReleaseEntry,
    /// The namespace of the environment in whose record that stands.
    pub(crate) home: &'a Namespace,
    pub(crate) solution: &'a SolutionName,
}

/// The objects that a run sends of a chart.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    /// The objects that its plan showed.
    pub(crate) objects: &'a [Object],
    /// The objects that its hooks replace.
    pub(crate) replaced: Vec<&'a Object>,
    /// The answers that its templates were given for the plan.
    pub(crate) lookups: &'a Lookups,
    /// The file that says that Helm has done with rendering.
    pub(crate) rendered: PathBuf,
}

/// Runs Helm through a gate that is there until it ends, and looks at the release meanwhile. A look fails where nothing more
/// may be done, and breaks off where waiting longer does not help. Where it breaks off, or the user asks for an end, Helm is
/// asked to end, and has its time with the gate still open. Returns what became of the run.
pub(crate) async fn run(
    leased: &mut Leased<'_>,
    helm: &Helm,
    release: &Release<'_>,
    sending: Option<Sending<'_>>,
    work: impl FnOnce(&Helm, &ClusterAccess, Cancel<'_>) -> Result<(), HelmError> + Send + 'static,
    mut look: impl AsyncFnMut(&Leased<'_>) -> Result<ControlFlow<()>, Error>,
) -> Result<Result<(), HelmError>, Error> {
    let known = revisions(release.recorded, leased);
    let mut passage = passage(leased.cluster, release, &known, sending.as_ref()).await?;
    let (notes, mut coming) = mpsc::channel(1);
    let holds = leased.lock.holds();
    let writing = Writing { holds, notes };
    let (course, farewell) = match sending {
        None => (Course::TakeBack(writing), helm::limits::FAREWELL),
        Some(sending) => {
            passage.lookups.clone_from(sending.lookups);
            let course = Course::Send(sending.rendered, writing);
            (course, helm::limits::TAKING_BACK)
        }
    };
    let gate = Gate::open(leased.cluster, passage, course).await?;
    if let Err(cancelled) = leased.cancel.go_on() {
        return Ok(Err(cancelled.into()));
    }
    let mut running = HelmRunReport::begin(leased.tell, farewell);
    let (ends, cancel) = (Ends::default(), leased.cancel);
    let work = alone(helm, gate.access(), &ends, cancel, work);
    tokio::pin!(work);
    let done = loop {
        let note = tokio::select! {
            done = &mut work => break done,
            () = asked(cancel), if !ends.are_asked() => { ends.ask(); continue; }
            ended = look(leased) => {
                if ended?.is_break() {
                    ends.ask();
                }
                continue;
            }
            Some(note) = coming.recv() => note,
        };
        let Note { revision, done } = note;
        let mut all: Vec<RevisionEntry> = gate.revisions();
        all.retain(|it| it.revision != revision.revision);
        all.push(revision);
        write_down(leased, release, all).await?;
        // Whoever waited may have given up.
        let _ = done.send(());
    };
    running.end = match &done {
        Err(HelmError::Killed { .. } | HelmError::TooLong { .. }) => HelmEnd::Killed,
        Err(HelmError::Cancelled(_)) => HelmEnd::Asked,
        _ => HelmEnd::Itself,
    };
    let recorded = ReleaseEntry {
        revisions: gate.revisions(),
        ..as_now(release.recorded, leased)
    };
    leased.released(recorded);
    for why in gate.refused() {
        let release = release.recorded.to_string();
        (leased.tell)(Event::Refused { release, why });
    }
    Ok(done)
}

/// The request to a run of Helm to end, at the latest where nobody waits for it any more.
#[derive(Default)]
struct Ends(Arc<AtomicBool>);

impl Ends {
    fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn are_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.ask();
    }
}

/// Returns once an end is asked for.
async fn asked(cancel: Cancel<'_>) {
    while !cancel.is_asked() {
        sleep(limits::CANCEL_POLL).await;
    }
}

/// Tells of a run of Helm, and of its end when it goes.
struct HelmRunReport<'a> {
    tell: Tell<'a, Event>,
    end: HelmEnd,
}

impl<'a> HelmRunReport<'a> {
    fn begin(tell: Tell<'a, Event>, farewell: Duration) -> Self {
        tell(Event::HelmRuns(farewell));
        let end = HelmEnd::Killed;
        Self { tell, end }
    }
}

impl Drop for HelmRunReport<'_> {
    fn drop(&mut self) {
        (self.tell)(Event::HelmEnded(self.end));
    }
}

/// Runs Helm in a thread of its own, until it is asked to end.
async fn alone(
    helm: &Helm,
    access: ClusterAccess,
    ends: &Ends,
    cancel: Cancel<'static>,
    work: impl FnOnce(&Helm, &ClusterAccess, Cancel<'_>) -> Result<(), HelmError> + Send + 'static,
) -> Result<(), HelmError> {
    let (flag, helm) = (Arc::clone(&ends.0), helm.clone());
    let run = move || work(&helm, &access, Cancel::when(&flag).as_urgent_as(cancel));
    let done = tokio::task::spawn_blocking(run).await;
    done.expect("a run of Helm does not panic")
}

/// A release as this change has left it so far.
fn as_now(release: &ReleaseEntry, leased: &Leased<'_>) -> ReleaseEntry {
    let mut changed = leased.releases().iter();
    let changed = changed.find(|it| it.is(&release.namespace, &release.name));
    changed.unwrap_or(release).clone()
}

/// The revisions of a release, with those that this change has stored.
pub(crate) fn revisions(release: &ReleaseEntry, leased: &Leased<'_>) -> Vec<RevisionEntry> {
    as_now(release, leased).revisions
}

/// Writes revisions of a release down: here, for all that this change records later, and in the inventory.
async fn write_down(
    leased: &mut Leased<'_>,
    release: &Release<'_>,
    revisions: Vec<RevisionEntry>,
) -> Result<(), Error> {
    let now = ReleaseEntry {
        revisions,
        ..as_now(release.recorded, leased)
    };
    let (solution, home) = (release.solution, release.home);
    let reference = inventory::reference(solution, home);
    let decide = |live: Option<&Object>| {
        let Some(live) = live else {
            return Ok(None);
        };
        let mut recorded = inventory::parse(live)?;
        let known = recorded.releases.iter_mut();
        for known in known.filter(|it| it.is(&now.namespace, &now.name)) {
            known.revisions.clone_from(&now.revisions);
        }
        let recorded = inventory::to_object(&recorded, solution, home);
        Ok(Some(Object::new(recorded)?))
    };
    leased.rewrite(&reference, decide).await?;
    leased.released(now);
    Ok(())
}

/// Returns the passage of a release: the objects that its recorded revisions sent, and those that are sent now.
async fn passage(
    cluster: &Cluster,
    release: &Release<'_>,
    known: &[RevisionEntry],
    sending: Option<&Sending<'_>>,
) -> Result<GatePass, Error> {
    let recorded = release.recorded;
    let mut passage = GatePass::new(&recorded.namespace, &recorded.name);
    passage.revisions = known.iter().map(|it| (it.revision, it.clone())).collect();
    let standing = StandingRelease::read(cluster, &recorded.namespace, &recorded.name).await?;
    let mut objects = sending.map_or_else(Vec::new, |it| it.objects.to_vec());
    if let Some(standing) = standing {
        for stored in standing.stored(known)? {
            objects.extend(sent(cluster, &stored, recorded).await?);
        }
    }
    let mut places = Vec::new();
    for object in &objects {
        if let Some(place) = place(cluster, object).await? {
            passage.plan(place.clone(), object.as_value());
            places.push((place, object));
        }
    }
    let references: Vec<&ObjectRef> = places.iter().map(|(_, it)| it.reference()).collect();
    let live = look_all(cluster, &references).await?;
    let replaced = sending.map_or_else(Vec::new, |it| it.replaced.clone());
    let replaced: Vec<&str> = replaced.iter().filter_map(|it| it.uid()).collect();
    for ((place, object), live) in places.iter().zip(live) {
        let Some(live) = live else {
            continue;
        };
        let is_replaced = live.uid().is_some_and(|it| replaced.contains(&it));
        if is_replaced || is_own(object, &live, recorded) {
            passage.may_delete(place, live.uid());
        }
    }
    Ok(passage)
}

/// Whether what stands in the place of an object is the release's, so that Helm may delete it. Helm itself marks no hooks, and
/// what holds data or other objects goes with none.
fn is_own(object: &Object, live: &Object, release: &ReleaseEntry) -> bool {
    let own = Holder::Release(release.namespace.as_str(), release.name.as_str());
    if is_hook(object) {
        let is_free = holder(live) == Holder::Nobody && is_hook(live);
        !holds(live) && (holder(live) == own || is_free)
    } else {
        holder(live) == own
    }
}

/// Returns the place that the cluster has an object at; none where it has no such kind.
async fn place(cluster: &Cluster, object: &Object) -> Result<Option<ObjectPath>, Error> {
    let served = cluster.served(object.gvk()).await?;
    Ok(served.map(|it| ObjectPath {
        group: object.gvk().group.clone(),
        plural: it.plural,
        namespace: object.namespace().map(str::to_owned),
        name: object.name().to_owned(),
    }))
}
