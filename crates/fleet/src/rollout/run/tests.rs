//! Tests of the budget of a wave, and of whole rollouts with a backend that only records its calls.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use schemas::{ClusterName, PlacedVersion, StatementTime, WaveName};

use super::super::backend::{Health, MemberFailure};
use super::super::plan::{DeploymentPlan, MemberPlan, RequiredConsent};
use super::*;
use crate::{DecisionAuthor, FleetJournal};

fn rolled(parallel: usize, failures: usize, failing: &[usize]) -> (Vec<usize>, usize) {
    rolled_until(5, parallel, failures, failing)
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    { runtime }.build().unwrap().block_on(work)
}

/// Changes five clusters, of which these fail, until so many were started. Returns those that were, and how many
/// changed at once.
fn rolled_until(
    paused: usize,
    parallel: usize,
    failures: usize,
    failing: &[usize],
) -> (Vec<usize>, usize) {
    let (begun, now, most) = (RefCell::new(Vec::new()), Cell::new(0), Cell::new(0));
    let change = async |cluster| {
        begun.borrow_mut().push(cluster);
        now.set(now.get() + 1);
        most.set(most.get().max(now.get()));
        tokio::task::yield_now().await;
        now.set(now.get() - 1);
        !failing.contains(&cluster)
    };
    let budget = Budget { parallel, failures };
    let may_start = || begun.borrow().len() < paused;
    let ended = block_on(run_parallel(0..5, budget, change, may_start, |done| !done));
    let done = ended.iter().filter(|(_, done)| **done).map(|(at, _)| *at);
    let done: Vec<usize> = done.collect();
    let begun = begun.into_inner();
    let expected = begun.iter().copied().filter(|at| !failing.contains(at));
    assert_eq!(done, expected.collect::<Vec<_>>());
    (begun, most.get())
}

#[test]
fn clusters_are_changed_in_their_order_and_some_at_a_time() {
    assert_eq!(rolled(1, 0, &[]), (vec![0, 1, 2, 3, 4], 1));
    assert_eq!(rolled(2, 0, &[]), (vec![0, 1, 2, 3, 4], 2));
    assert_eq!(rolled(9, 0, &[]), (vec![0, 1, 2, 3, 4], 5));
}

#[test]
fn none_is_begun_once_more_have_failed_than_may() {
    assert_eq!(rolled(1, 0, &[1]), (vec![0, 1], 1));
    assert_eq!(rolled(1, 1, &[1]), (vec![0, 1, 2, 3, 4], 1));
    assert_eq!(rolled(1, 1, &[1, 3]), (vec![0, 1, 2, 3], 1));
    // Clusters that are already changing are completed.
    assert_eq!(rolled(2, 0, &[0, 1]), (vec![0, 1], 2));
}

#[test]
fn none_is_begun_once_none_may_be() {
    assert_eq!(rolled_until(2, 1, 0, &[]), (vec![0, 1], 1));
    assert_eq!(rolled_until(0, 1, 0, &[]), (vec![], 0));
}

#[derive(Debug)]
struct Deploy;

impl RolloutWork for Deploy {
    type Connection = ();
    type Blocker = String;
    type Error = String;

    fn is_done(&self) -> bool {
        false
    }

    fn is_deployment(&self) -> bool {
        true
    }

    fn essence(&self) -> String {
        "objects".to_owned()
    }

    fn goal(&self) -> Option<String> {
        Some("values".to_owned())
    }

    fn required_consent(&self) -> Option<&RequiredConsent> {
        None
    }

    fn grant_consent(&mut self) {}
}

/// A program whose time passes only while a rollout waits.
struct Recorder {
    journal: RefCell<FleetJournal>,
    seconds: Cell<i64>,
    failing: &'static [&'static str],
    /// The seconds from which the first cluster is not ready.
    unready_from: i64,
    /// The number of changes to the journal that still succeed.
    journal_writes: Cell<usize>,
    log: RefCell<Vec<String>>,
}

impl Recorder {
    fn new(failing: &'static [&'static str]) -> Self {
        Self {
            journal: RefCell::new(FleetJournal::new("shops".parse().unwrap())),
            seconds: Cell::new(0),
            failing,
            unready_from: i64::MAX,
            journal_writes: Cell::new(usize::MAX),
            log: RefCell::default(),
        }
    }
}

impl Backend for &Recorder {
    type Work = Deploy;
    type Report = ();

    async fn change(&self, plan: &MemberPlan<Deploy>) -> MemberResult<(), String> {
        let has_failed = self.failing.contains(&plan.name.as_str());
        MemberResult {
            report: (),
            objects: 1,
            has_changed: true,
            failure: has_failed.then(|| MemberFailure {
                at_deployment: true,
                error: "it broke".to_owned(),
            }),
        }
    }

    async fn observe(&self, _: &MemberPlan<Deploy>) -> Health {
        if self.seconds.get() >= self.unready_from {
            return Health::NotReady("shop: not ready".to_owned());
        }
        Health::Ready
    }

    async fn ask_approval(&self, _: &WaveName, _: &str) -> Result<bool, String> {
        Ok(false)
    }

    fn journal(&self) -> Result<FleetJournal, String> {
        Ok(self.journal.borrow().clone())
    }

    fn change_journal(&self, change: impl FnOnce(&mut FleetJournal)) -> Result<(), String> {
        let left = self.journal_writes.get().checked_sub(1);
        self.journal_writes.set(left.ok_or("no space left")?);
        change(&mut self.journal.borrow_mut());
        Ok(())
    }

    fn decided(&self) -> Result<DecisionAuthor, String> {
        let seconds = 1_700_000_000 + self.seconds.get();
        Ok(DecisionAuthor {
            by: "me".to_owned(),
            at: StatementTime::from_unix(seconds).unwrap(),
        })
    }

    async fn sleep(&self, time: Duration) {
        let seconds = i64::try_from(time.as_secs()).unwrap();
        self.seconds.set(self.seconds.get() + seconds);
    }

    fn is_interrupted(&self) -> bool {
        false
    }

    fn tell(&self, event: FleetEvent) {
        let words = match event {
            FleetEvent::WaveBegun { wave, .. } => format!("wave {wave}"),
            FleetEvent::ClusterBegun { .. } => return,
            FleetEvent::ClusterEnded { cluster, state, .. } => format!("{cluster} {state:?}"),
            FleetEvent::Soaking { seconds_left, .. } => format!("soaking {seconds_left}"),
            FleetEvent::Soaked => "soaked".to_owned(),
            FleetEvent::Stopped { why, .. } => why,
            FleetEvent::Ended => "ended".to_owned(),
        };
        self.log.borrow_mut().push(words);
    }
}

/// Rolls out to the clusters `lab`, `paris` and `rome` in two waves. Returns the events.
fn roll_out(recorder: &Recorder, first: &str, change: FleetChange) -> Vec<String> {
    roll_out_members(recorder, first, change).1
}

/// Rolls out like [`roll_out`]. Returns also the clusters that were started.
fn roll_out_members(
    recorder: &Recorder,
    first: &str,
    change: FleetChange,
) -> (Vec<usize>, Vec<String>) {
    let spec = format!(
        r#"{{"clusters": [{{"name": "lab"}}, {{"name": "paris"}}, {{"name": "rome"}}],
            "waves": [{{"name": "first", "clusters": ["lab"]{first}}},
                      {{"name": "rest", "clusters": ["paris", "rome"]}}]}}"#
    );
    let spec: FleetSpec = serde_json::from_str(&spec).unwrap();
    let planned = ["lab", "paris", "rome"].into_iter().enumerate();
    let planned: Vec<PlannedMember<Deploy>> = planned.map(|(at, name)| member(at, name)).collect();
    let rollout = Rollout {
        spec: &spec,
        members: &Members::of(&spec),
        change,
        revision: None,
        backend: recorder,
    };
    let result = block_on(rollout.run(&planned));
    let events = recorder.log.take();
    let is_stopped = events.iter().any(|event| {
        let stopped = result.stopped.as_ref();
        stopped.is_some_and(|stopped| stopped.to_string() == *event)
    });
    assert_eq!(result.stopped.is_some(), is_stopped, "{events:?}");
    (result.members.into_keys().collect(), events)
}

fn member(at: usize, name: &str) -> PlannedMember<Deploy> {
    let uid = format!("00000000-0000-4000-8000-{at:012}");
    let name: ClusterName = name.parse().unwrap();
    let deployment = DeploymentPlan {
        placed: PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        },
        note: None,
        work: Some(Deploy),
        blockers: Vec::new(),
    };
    PlannedMember {
        at,
        name: name.to_string(),
        plan: Ok(MemberPlan {
            at,
            name,
            connection: (),
            uid: uid.parse().unwrap(),
            system: uid.parse().unwrap(),
            deployments: vec![deployment],
        }),
    }
}

#[test]
fn the_next_wave_begins_after_the_one_before_has_ended_well() {
    let recorder = Recorder::new(&[]);
    let events = roll_out(&recorder, "", FleetChange::Apply);
    let all = [
        "wave first",
        "lab Done",
        "wave rest",
        "paris Done",
        "rome Done",
        "ended",
    ];
    assert_eq!(events, all);
    let failing = Recorder::new(&["lab"]);
    let events = roll_out(&failing, "", FleetChange::Apply);
    let stopped = "1 cluster of wave first failed, but only 0 may fail";
    assert_eq!(events, ["wave first", "lab Failed", stopped, "ended"]);
    let tolerated = Recorder::new(&["lab"]);
    let events = roll_out(&tolerated, r#", "maxFailures": 1"#, FleetChange::Apply);
    assert_eq!(events.len(), all.len(), "{events:?}");
}

#[test]
fn a_wave_soaks_before_the_next_one_and_only_on_the_way_out() {
    let soak = r#", "soak": "90s""#;
    let soaking = [
        "wave first",
        "lab Done",
        "soaking 90",
        "soaking 51",
        "soaked",
    ];
    let recorder = Recorder::new(&[]);
    let events = roll_out(&recorder, soak, FleetChange::Apply);
    assert_eq!(events[..5], soaking);
    assert_eq!(events[5], "wave rest");
    let mut lost = Recorder::new(&[]);
    lost.unready_from = 20;
    let events = roll_out(&lost, soak, FleetChange::Apply);
    let stopped = "wave first did not stay ready during its soak time: lab: shop: not ready";
    assert_eq!(events[3..], [stopped, "ended"]);
    let events = roll_out(&recorder, soak, FleetChange::Rollback);
    assert_eq!(events[2], "wave rest");
}

#[test]
fn a_wave_waits_for_its_approval_and_a_pause_stops_all_but_a_rollback() {
    let approve = r#", "approve": true"#;
    let recorder = Recorder::new(&[]);
    let events = roll_out(&recorder, approve, FleetChange::Apply);
    let words = "wave first waits for the approval of its plan ";
    let plan = events[0].strip_prefix(words).unwrap().to_owned();
    assert_eq!(events.len(), 2, "{events:?}");
    let decided = (&recorder).decided().unwrap();
    let wave = "first".parse().unwrap();
    { recorder.journal.borrow_mut() }.approve(wave, plan, decided.clone());
    assert_eq!(roll_out(&recorder, approve, FleetChange::Apply).len(), 6);
    { recorder.journal.borrow_mut() }.pause(decided);
    for change in [FleetChange::Apply, FleetChange::Delete] {
        let events = roll_out(&recorder, "", change);
        let paused = "the fleet is paused (by me), so no further cluster was changed";
        assert_eq!(events, [paused, "ended"]);
    }
    assert_eq!(roll_out(&recorder, "", FleetChange::Rollback).len(), 6);
}

#[test]
fn clusters_that_were_removed_are_reported_even_if_the_journal_cannot_be_written() {
    let recorder = Recorder::new(&[]);
    recorder.journal_writes.set(1);
    let (members, events) = roll_out_members(&recorder, "", FleetChange::Delete);
    assert_eq!(events[3..], ["no space left", "ended"]);
    assert_eq!(members, [1, 2]);
}
