//! A signal while Helm changes a release: it is passed on, Helm has its time with the way to the cluster still open, and
//! the next import makes the release what it is to be, for good.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::charts::{
    HELM, VALUES, child_of, has_ended, import, pack, pack_within, solution, statuses,
};
use crate::common::Answer;
use crate::running::Running;
use crate::site::{Site, eventually};

/// How long the versions that do not come up have to.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An import of a version that never comes up, in which Helm waits.
struct Import {
    running: Running,
    helm: u32,
}

impl Import {
    fn start(site: &Site, version: &str) -> Self {
        let broken = VALUES.replace("command: []", "command: [/nowhere]");
        let timeout = format!("{}s", TIMEOUT.as_secs());
        let archive = pack_within(site, version, &broken, &timeout);
        let into = ["-e", "prod", "--pull-secret", "login"];
        let mut command = site.import_command(&archive, &into);
        command.env("HELM", &*HELM);
        let running = Running::start(command);
        running.until("s release prod/web");
        let child = running.id();
        let command = "{.spec.template.spec.containers[0].command}";
        let get = ["get", "deployment", "web", "--ignore-not-found"];
        let output = format!("--output=jsonpath={command}");
        eventually("helm waits", || {
            let found = site.kubectl("prod", &[&get[..], &[&output]].concat());
            found.success().contains("nowhere").then_some(())
        });
        let helm = child_of(child).expect("helm runs");
        Self { running, helm }
    }

    /// Its exit code and what it said, and nothing of it runs any more.
    fn end(&mut self) -> (Option<i32>, String) {
        let (code, _) = self.running.end();
        assert!(has_ended(self.helm), "helm goes on");
        (code, self.running.said())
    }
}

/// Imports a version that comes up. Helm [has ended](Import::end), so that nobody takes it back later.
fn next_holds(site: &Site, version: &str) {
    let next = pack(site, version, VALUES);
    import(site, &next, &[]).success();
    assert_eq!(statuses(site).pop().as_deref(), Some("deployed"));
    solution(site, &["status"]).success();
    let ready = site.field("prod", "deployment/web", "{.status.readyReplicas}");
    assert_eq!(ready, "1");
}

#[test]
fn helm_takes_an_upgrade_back_that_is_interrupted_and_the_next_one_stays() {
    let site = crate::charts::site("charts-term");
    let first = pack(&site, "1.0.0", VALUES);
    import(&site, &first, &[]).success();

    let mut second = Import::start(&site, "1.1.0");
    second.running.signal("TERM");
    let (code, said) = second.end();
    assert_eq!(code, Some(143), "{said}");
    for words in [
        "waiting 60 s for helm to roll back or finish; a second signal stops both immediately",
        "error: interrupted while helm was upgrading release prod/web; helm ended in time: ",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let told = statuses(&site);
    assert_eq!(told, ["superseded", "failed", "deployed"], "{said}");
    next_holds(&site, "1.2.0");
}

#[test]
fn helm_takes_an_installation_back_whose_terminal_is_closed() {
    let site = crate::charts::site("charts-hup");
    let mut first = Import::start(&site, "1.0.0");
    first.running.signal("HUP");
    let (code, said) = first.end();
    assert_eq!(code, Some(129), "{said}");
    let words = "interrupted while helm was installing release prod/web; helm ended in time: ";
    assert!(said.contains(words), "{said}");
    let listed = crate::charts::helm(&site, &["list", "--short"]);
    assert_eq!(listed.success(), "", "{said}");
    next_holds(&site, "1.1.0");
}

#[test]
fn a_second_signal_ends_helm_as_well_and_says_what_is_left() {
    let site = crate::charts::site("charts-twice");
    let mut first = Import::start(&site, "1.0.0");
    // It would end by itself before long.
    let stop = ["-s", "STOP", &first.helm.to_string()];
    Answer::of(Command::new("kill").args(stop)).success();
    first.running.signal("TERM");
    first
        .running
        .until("a second signal stops both immediately");
    let asked = Instant::now();
    first.running.signal("INT");
    let (code, said) = first.end();
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}: {said}");
    assert_eq!(code, Some(130), "{said}");
    let words =
        "interrupted while helm was installing release prod/web; that operation is incomplete: ";
    assert!(said.contains(words), "{said}");
    assert_eq!(statuses(&site), ["pending-install"]);
    next_holds(&site, "1.1.0");
}
