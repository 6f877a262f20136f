//! A signal while Helm changes a release. It is forwarded to Helm, which has time to end with access to the cluster.
//! The next import then applies the intended release permanently.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::charts::{
    HELM, VALUES, child_of, has_ended, import, pack, pack_with_timeout, solution, statuses,
};
use crate::common::Answer;
use crate::running::Running;
use crate::site::{Site, eventually};

/// The timeout of versions that never become ready.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An import of a version that never becomes ready, during which Helm waits.
struct Import {
    running: Running,
    helm: u32,
}

impl Import {
    fn start(site: &Site, version: &str) -> Self {
        let broken = VALUES.replace("command: []", "command: [/nowhere]");
        let timeout = format!("{}s", TIMEOUT.as_secs());
        let archive = pack_with_timeout(site, version, &broken, &timeout);
        let into = ["-e", "prod", "--pull-secret", "login"];
        let mut command = site.import_command(&archive, &into);
        command.env("HELM", &*HELM);
        let running = Running::start(command);
        running.wait_for_message("s release prod/web");
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

    /// Returns its exit code and output, and asserts that no process of it runs any more.
    fn end(&mut self) -> (Option<i32>, String) {
        let (code, _) = self.running.end();
        assert!(has_ended(self.helm), "helm goes on");
        (code, self.running.messages())
    }
}

/// Imports a version that becomes ready. Helm [has ended](Import::end), so that no later rollback happens.
fn assert_next_import_lasts(site: &Site, version: &str) {
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
    assert_second_signal_ends_helm(&site);
    assert_next_import_lasts(&site, "1.1.0");

    let mut second = Import::start(&site, "1.2.0");
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
    assert_next_import_lasts(&site, "1.3.0");
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
    assert_next_import_lasts(&site, "1.1.0");
}

/// A second signal ends Helm too, and the message says what is left.
fn assert_second_signal_ends_helm(site: &Site) {
    let mut first = Import::start(site, "1.0.0");
    // It would otherwise end by itself.
    let stop = ["-s", "STOP", &first.helm.to_string()];
    Answer::from_command(Command::new("kill").args(stop)).success();
    first.running.signal("TERM");
    first
        .running
        .wait_for_message("a second signal stops both immediately");
    let asked = Instant::now();
    first.running.signal("INT");
    let (code, said) = first.end();
    let took = asked.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}: {said}");
    assert_eq!(code, Some(130), "{said}");
    let words =
        "interrupted while helm was installing release prod/web; that operation is incomplete: ";
    assert!(said.contains(words), "{said}");
    assert_eq!(statuses(site), ["pending-install"]);
}
