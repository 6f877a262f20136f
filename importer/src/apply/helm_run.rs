//! Runs of Helm behind the proxy to the API server. [`run`] computes the permitted requests from the plan and the
//! inventory, and records each revision before Helm stores it.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use helm::{ClusterAccess, Helm, HelmError};
use kubernetes::{Cluster, Object, ObjectRef};
use planner::{Holder, ReleaseEntry, RevisionEntry, holder};
use progress::{Cancel, ProgressSink};
use schemas::{Namespace, SolutionName};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::apply::leased::Leased;
use crate::helm_proxy::{HelmProxy, Lookups, Note, ObjectPath, ProxyPolicy, RunState, Writing};
use crate::limits;
use crate::model::error::Error;
use crate::model::event::{Event, HelmEnd};
use crate::objects::releases::stored::StoredRelease;
use crate::objects::releases::{holds, is_hook, sent};
use crate::records::inventory;
use crate::records::storage::read_all_if_allowed;

/// A release for which Helm runs.
#[derive(Clone, Debug)]
pub(crate) struct Release<'a> {
    /// The recorded state of the release until this run has ended.
    pub(crate) recorded: &'a ReleaseEntry,
    /// The namespace of the environment whose inventory has this record.
    pub(crate) home: &'a Namespace,
    pub(crate) solution: &'a SolutionName,
}

/// The objects that a run sends for a chart.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    /// The planned objects.
    pub(crate) objects: &'a [Object],
    /// The objects that its hooks replace.
    pub(crate) replaced: Vec<&'a Object>,
    /// The `lookup` responses that its templates received for the plan.
    pub(crate) lookups: &'a Lookups,
    /// The file that signals that Helm has finished rendering.
    pub(crate) rendered: PathBuf,
}

/// Runs Helm with a proxy that is open until the run ends, and inspects the release meanwhile. `look` fails if no
/// further write is allowed, and breaks if waiting longer does not help. If it breaks or the user cancels, Helm is
/// asked to end and has time for that while the proxy is still open. Returns the outcome of the run.
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
        None => (RunState::TakeBack(writing), helm::limits::FAREWELL),
        Some(sending) => {
            passage.lookups.clone_from(sending.lookups);
            let course = RunState::Send(sending.rendered, writing);
            (course, helm::limits::TAKING_BACK)
        }
    };
    let gate = HelmProxy::open(leased.cluster, passage, course).await?;
    // The user may have cancelled while the permissions were computed, and Helm has not started yet.
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
        // A revision that Helm stores again replaces its former entry.
        all.retain(|entry| entry.revision != revision.revision);
        all.push(revision);
        write_down(leased, release, all).await?;
        // The receiver is gone if the request that waited for the record was cancelled.
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

/// The signal that asks a run of Helm to end. It is sent at the latest when the future of the run is dropped.
#[derive(Default)]
struct Ends(Arc<AtomicBool>);

impl Ends {
    fn ask(&self) {
        // The flag guards no other data, so a relaxed order suffices.
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

/// Returns once cancellation is requested.
async fn asked(cancel: Cancel<'_>) {
    while !cancel.is_asked() {
        sleep(limits::CANCEL_POLL).await;
    }
}

/// Reports the start of a run of Helm, and its end when dropped.
struct HelmRunReport<'a> {
    tell: ProgressSink<'a, Event>,
    end: HelmEnd,
}

impl<'a> HelmRunReport<'a> {
    fn begin(tell: ProgressSink<'a, Event>, farewell: Duration) -> Self {
        tell(Event::HelmRuns(farewell));
        // A report that is dropped before the run has returned must say that the release is incomplete.
        let end = HelmEnd::Killed;
        Self { tell, end }
    }
}

impl Drop for HelmRunReport<'_> {
    fn drop(&mut self) {
        (self.tell)(Event::HelmEnded(self.end));
    }
}

/// Runs Helm in its own thread until it ends or is asked to end.
async fn alone(
    helm: &Helm,
    access: ClusterAccess,
    ends: &Ends,
    cancel: Cancel<'static>,
    work: impl FnOnce(&Helm, &ClusterAccess, Cancel<'_>) -> Result<(), HelmError> + Send + 'static,
) -> Result<(), HelmError> {
    let (flag, helm) = (Arc::clone(&ends.0), helm.clone());
    let run = move || {
        work(
            &helm,
            &access,
            Cancel::from_flag(&flag).as_urgent_as(cancel),
        )
    };
    let done = tokio::task::spawn_blocking(run).await;
    done.expect("a run of Helm does not panic")
}

/// Returns the current record of a release as far as this change has updated it.
fn as_now(release: &ReleaseEntry, leased: &Leased<'_>) -> ReleaseEntry {
    let changed = leased
        .releases()
        .iter()
        .find(|entry| entry.is(&release.namespace, &release.name));
    changed.unwrap_or(release).clone()
}

/// Returns the revisions of a release, including those that this change has stored.
pub(crate) fn revisions(release: &ReleaseEntry, leased: &Leased<'_>) -> Vec<RevisionEntry> {
    as_now(release, leased).revisions
}

/// Records revisions of a release: in this change for its later records, and in the stored inventory.
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
        for known in known.filter(|entry| entry.is(&now.namespace, &now.name)) {
            known.revisions.clone_from(&now.revisions);
        }
        let recorded = inventory::to_object(&recorded, solution, home);
        Ok(Some(Object::new(recorded)?))
    };
    leased.rewrite(&reference, decide).await?;
    leased.released(now);
    Ok(())
}

/// Returns the requests that a run of a release may send: for the objects of its recorded revisions, and for those that
/// are sent now.
async fn passage(
    cluster: &Cluster,
    release: &Release<'_>,
    known: &[RevisionEntry],
    sending: Option<&Sending<'_>>,
) -> Result<ProxyPolicy, Error> {
    let recorded = release.recorded;
    let mut passage = ProxyPolicy::new(&recorded.namespace, &recorded.name);
    passage.revisions = known
        .iter()
        .map(|entry| (entry.revision, entry.clone()))
        .collect();
    let stored = StoredRelease::find(cluster, &recorded.namespace, &recorded.name).await?;
    let mut objects = sending.map_or_else(Vec::new, |sending| sending.objects.to_vec());
    if let Some(stored) = stored {
        for revision in stored.stored(known)? {
            objects.extend(sent(cluster, &revision, recorded).await?);
        }
    }
    let mut places = Vec::new();
    for object in &objects {
        if let Some(place) = place(cluster, object).await? {
            passage.plan(place.clone(), object.as_value());
            places.push((place, object));
        }
    }
    let references: Vec<&ObjectRef> = places
        .iter()
        .map(|(_, object)| object.reference())
        .collect();
    let live = read_all_if_allowed(cluster, &references).await?;
    let replaced = sending.map_or_else(Vec::new, |sending| sending.replaced.clone());
    let replaced: Vec<&str> = replaced.iter().filter_map(|object| object.uid()).collect();
    for ((place, object), live) in places.iter().zip(live) {
        let Some(live) = live else {
            continue;
        };
        let is_replaced = live.uid().is_some_and(|uid| replaced.contains(&uid));
        if is_replaced || is_own(object, &live, recorded) {
            passage.may_delete(place, live.uid());
        }
    }
    Ok(passage)
}

/// Checks whether the live object belongs to the release, so that Helm may delete it. Helm puts no ownership labels on
/// hooks, and a hook never owns an object that holds data or other objects.
fn is_own(object: &Object, live: &Object, release: &ReleaseEntry) -> bool {
    let own = Holder::Release(release.namespace.as_str(), release.name.as_str());
    if is_hook(object) {
        let is_free = holder(live) == Holder::Nobody && is_hook(live);
        !holds(live) && (holder(live) == own || is_free)
    } else {
        holder(live) == own
    }
}

/// Returns the path at which the cluster serves an object, or `None` if it does not serve the kind.
async fn place(cluster: &Cluster, object: &Object) -> Result<Option<ObjectPath>, Error> {
    let served = cluster.served(object.gvk()).await?;
    Ok(served.map(|resource| ObjectPath {
        group: object.gvk().group.clone(),
        plural: resource.plural,
        namespace: object.namespace().map(str::to_owned),
        name: object.name().to_owned(),
    }))
}
