//! The program is killed between its requests to the API server. The state is always the old one, the new one, or one
//! that `status` reports as incomplete. The same command then completes the change, with the same result as without a
//! kill.
//!
//! Reads do not change the state. A kill after each write, before its answer is read, and one before the first write
//! therefore cover every state. `crates/planner` covers them all on a site in memory. These tests kill at every third
//! write of an operator's change, and at every write of an upgrade of manifests (`release_faults.rs`). They also kill
//! before random requests.

use std::process::Command;

use serde_json::Value;

use crate::common::Answer;
use crate::gate::{Gate, Stop};
use crate::site::{Site, variable};

/// The environment and its namespace.
const PLACE: &str = "faults";

const DEPLOY: [&str; 7] = [
    "deploy",
    "example",
    "1.0.0",
    "-e",
    PLACE,
    "--pull-secret",
    "login",
];
const UPGRADE: [&str; 5] = ["deploy", "example", "1.1.0", "-e", PLACE];
const DOWNGRADE: [&str; 6] = [
    "deploy",
    "example",
    "1.0.0",
    "-e",
    PLACE,
    "--allow-downgrade",
];
const UNDEPLOY: [&str; 5] = ["undeploy", "--yes", "example", "-e", PLACE];

/// The number of random kills.
const KILLS: usize = 50;
/// The number of kills after which the last change is completed.
const COMPLETED: usize = 5;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A change of the site, with the states before and after it.
struct Change<'a> {
    arguments: &'a [&'a str],
    old: &'a Content,
    new: &'a Content,
}

/// The objects that the program writes, without varying fields.
type Content = Vec<Value>;

fn content(site: &Site) -> Content {
    let snapshot = site.snapshot();
    let objects = snapshot
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
    let objects = objects.filter(|object: &Value| !name(object).starts_with("receipt-"));
    objects.map(without_identity).collect()
}

fn without_identity(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("uid");
    metadata.remove("creationTimestamp");
    if object["kind"] == "Job" {
        // The server adds a generated label to the selector of its pods.
        object["spec"]["selector"].take();
        object["spec"]["template"]["metadata"]["labels"].take();
    }
    // An inventory contains it too.
    if let Some(content) = object.pointer_mut("/data/content.json") {
        let mut record: Value = serde_json::from_str(content.as_str().unwrap()).unwrap();
        for entry in record["entries"].as_array_mut().into_iter().flatten() {
            let uid = entry.get_mut("uid").map(Value::take);
            assert!(uid.is_none_or(|uid| uid.is_string()), "{entry}");
        }
        *content = record.to_string().into();
    }
    object
}

#[track_caller]
fn assert_same(found: &Content, expected: &Content, when: &str) {
    let only = |all: &Content, others: &Content| -> Vec<String> {
        let only = all.iter().filter(|object| !others.contains(object));
        only.map(|object| format!("{object:#}")).collect()
    };
    let [more, less] = [only(found, expected), only(expected, found)].map(|lines| lines.join("\n"));
    assert!(found == expected, "{when}: found {more}, and not {less}");
}

fn command(site: &Site, arguments: &[&str]) -> Command {
    let mut command = site.command();
    command.args(arguments);
    if arguments[0] == "deploy" {
        command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
    }
    command
}

pub(crate) fn run(site: &Site, arguments: &[&str]) {
    Answer::from_command(&mut command(site, arguments)).success();
}

/// Returns a site with both versions imported, and an environment.
fn site(name: &str) -> Site {
    let site = Site::new(name);
    for archive in ["1.0.0.iso", "1.1.0.iso"] {
        site.import(archive, &[]).success();
    }
    site.create_environment(PLACE);
    site
}

/// Returns the states after each of two opposite changes, that of the second one first.
fn states(site: &Site, [there, back]: [&[&str]; 2]) -> [Content; 2] {
    let after = |arguments: &[&str]| {
        run(site, arguments);
        content(site)
    };
    let new = after(there);
    [after(back), new]
}

fn changes<'a>([old, new]: &'a [Content; 2], [there, back]: [&'a [&'a str]; 2]) -> [Change<'a>; 2] {
    let way = |arguments, [old, new]: [&'a Content; 2]| Change {
        arguments,
        old,
        new,
    };
    [way(there, [old, new]), way(back, [new, old])]
}

impl Change<'_> {
    /// Kills the command there and completes it. Returns whether the command reached this point.
    fn kill_and_complete(&self, site: &Site, gate: &Gate, stop: Stop) -> bool {
        let program = command(site, self.arguments);
        let ended = gate.kill_at(stop, site, &program);
        if let Some(answer) = ended {
            answer.success();
            return false;
        }
        self.assert_state_reported(site, stop);
        let again = Answer::from_command(&mut command(site, self.arguments));
        // An undeploy that only had to finish its receipt is refused, because nothing is deployed.
        let nothing_left = again.code == 1 && content(site) == *self.new;
        assert!(again.code == 0 || nothing_left, "{stop:?}: {again:?}");
        assert_same(&content(site), self.new, &format!("{stop:?}"));
        true
    }

    /// Asserts that the state is the old one, the new one, or reported as incomplete.
    fn assert_state_reported(&self, site: &Site, stop: Stop) {
        let answer = site.solution(&["status", "--output", "json"]);
        let status = answer.json();
        let incomplete = status["incomplete"].as_array();
        let verbs = incomplete.map(|incomplete| incomplete.iter().map(|receipt| &receipt["verb"]));
        let state = content(site);
        if state != *self.old && state != *self.new {
            let last = verbs.and_then(Iterator::last);
            assert_eq!(last.unwrap(), self.arguments[0], "{stop:?}: {answer:?}");
        }
        for operator in status["operators"].as_array().unwrap() {
            let ready = operator["condition"] == "ready";
            assert_ne!(ready, operator["why"].is_string(), "{stop:?}: {answer:?}");
        }
    }
}

#[test]
fn an_upgrade_that_is_killed_is_told_and_completes() {
    let site = site("faults-upgrade");
    run(&site, &DEPLOY);
    kill_everywhere(&site, [&UPGRADE, &DOWNGRADE], Share { part: 1, of: 3 });
}

#[test]
fn a_deployment_and_its_end_that_are_killed_are_told_and_complete() {
    let site = site("faults-deploy");
    kill_everywhere(&site, [&DEPLOY, &UNDEPLOY], Share { part: 2, of: 3 });
}

/// A share of the kills, as every n-th one.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    pub(crate) part: usize,
    pub(crate) of: usize,
}

/// The minimum number of writes of a change: the start and end of its receipt, the namespace's record, and objects.
const WRITES: usize = 9;

/// Alternates between two changes, and kills each one after one more write, until no change has one more.
pub(crate) fn kill_everywhere(site: &Site, arguments: [&[&str]; 2], share: Share) {
    let states = states(site, arguments);
    let ways = changes(&states, arguments);
    let gate = Gate::open(site);
    let stops = std::iter::once(Stop::BeforeWrite(1)).chain((1..).map(Stop::AfterWrite));
    let mut kills = [0, 0];
    for stop in stops.skip(share.part).step_by(share.of) {
        let came = [&ways[0], &ways[1]].map(|way| way.kill_and_complete(site, &gate, stop));
        if came == [false, false] {
            break;
        }
        for (kills, came) in kills.iter_mut().zip(came) {
            *kills += usize::from(came);
        }
    }
    let least = WRITES / share.of;
    assert!(kills.iter().all(|kills| *kills >= least), "{kills:?}");
}

#[test]
fn changes_that_are_killed_at_random_are_told_and_complete() {
    let site = site("faults-random");
    run(&site, &DEPLOY);
    let arguments: [&[&str]; 2] = [&UPGRADE, &DOWNGRADE];
    let states = states(&site, arguments);
    let ways = changes(&states, arguments);
    let gate = Gate::open(&site);
    let requests = gate.count(&mut command(&site, &UPGRADE));
    let mut random = Random(SEED);
    for kill in 1..=KILLS {
        let way = &ways[random.below(2)];
        let stop = Stop::BeforeRequest(1 + random.below(requests));
        println!("kill {kill}, seed {SEED:#x}: {} {stop:?}", way.arguments[2]);
        // A change with fewer writes completes.
        let ended = gate.kill_at(stop, &site, &command(&site, way.arguments));
        if let Some(answer) = ended {
            answer.success();
        }
        way.assert_state_reported(&site, stop);
        if kill % COMPLETED == 0 {
            run(&site, way.arguments);
            assert_same(&content(&site), way.new, &format!("kill {kill}"));
        }
    }
}

/// Every write is sent twice, because the first answer is lost.
#[test]
fn answers_that_are_lost_change_nothing() {
    let site = site("faults-answers");
    let gate = Gate::open(&site);
    let [undeployed, deployed] = states(&site, [&DEPLOY, &UNDEPLOY]);
    for (arguments, state) in [(&DEPLOY[..], deployed), (&UNDEPLOY, undeployed)] {
        gate.run_losing_answers(&mut command(&site, arguments))
            .success();
        assert_same(&content(&site), &state, arguments[0]);
        let status = site.solution(&["status", "--output", "json"]).json();
        assert!(status["incomplete"].is_null(), "{arguments:?}: {status:#}");
    }
}

/// A random number generator with a fixed seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(end).unwrap()).unwrap()
    }
}
