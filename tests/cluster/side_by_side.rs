//! Concurrent changes of environments: each one holds its own Lease, and that of the cluster is held only for moments.

use std::net::TcpListener;

use serde_json::json;

use crate::running::Running;
use crate::site::{Site, eventually};
use crate::waiting::{holder, waiting_import};

/// The environment in which an import waits for its operator.
const WAITING: &str = "waits";

/// The environments that are changed meanwhile, concurrently.
const OTHERS: [&str; 4] = ["one", "two", "three", "four"];

/// Returns the environment and the outcome of each change in the history, newest first.
fn outcomes(site: &Site) -> Vec<(String, String)> {
    let answer = site.solution(&["history", "example", "--output", "json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let history = answer.json();
    let broken = json!([&history["changed"], &history["missing"]]);
    assert!(
        ["[[],[]]", "[null,null]"].contains(&&*broken.to_string()),
        "{history}"
    );
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let changes = history["revisions"].as_array().unwrap().iter();
    changes
        .map(|change| {
            (
                text(&change["places"][0]["environment"]),
                text(&change["outcome"]),
            )
        })
        .collect()
}

#[test]
fn five_environments_are_changed_at_once_while_one_of_them_waits() {
    let site = Site::new("side-by-side");
    for name in OTHERS.iter().chain([&WAITING]) {
        site.create_environment(name);
    }
    // This server accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut waiting = waiting_import(&site, WAITING, &silent);
    let into = |name| site.import_command("1.0.0.iso", &["-e", name, "--pull-secret", "login"]);
    let all = OTHERS.map(|name| Running::start(into(name)));
    for import in all {
        import.wait_for_success();
    }
    for name in OTHERS {
        let ready = site.field(
            name,
            "deployment/example-operator",
            "{.status.readyReplicas}",
        );
        assert_eq!(ready, "1", "{name}");
    }

    // It still waits, and holds only its own Lease.
    let lease = format!("environment-{WAITING}");
    assert_ne!(holder(&site, &lease), "");
    assert_eq!(holder(&site, "solution"), "");
    let begun = (WAITING.to_owned(), "begun".to_owned());
    let known = outcomes(&site);
    assert!(
        known.contains(&begun),
        "nobody takes it for interrupted: {known:?}"
    );
    let done = known.iter().filter(|(_, outcome)| outcome == "done");
    assert_eq!(done.count(), OTHERS.len(), "{known:?}");
    // An earlier program, with only one Lease, finds a record that it cannot read.
    let record = format!("configmap/namespace-{WAITING}");
    assert_eq!(
        site.field("metalk8s-solutions", &record, "{.data.format}"),
        "4"
    );
    // Another version can be imported, but objects of the whole Solution are not removed.
    assert_eq!(site.import("1.1.0.iso", &[]).code, 0);
    let unimport = ["unimport", "--yes", "example", "1.1.0"];
    let text = site.solution(&unimport).failure(3);
    let words = format!("has been changing the environment {WAITING} since");
    assert!(text.contains(&words), "{text}");

    waiting.signal("KILL");
    waiting.end();
    let undeploy = ["undeploy", "--yes", "example", "-e", OTHERS[0]];
    site.solution(&undeploy).success();
    let interrupted = (WAITING.to_owned(), "interrupted".to_owned());
    let known = outcomes(&site);
    assert!(known.contains(&interrupted), "{known:?}");
    site.solution(&unimport).success();
    eventually("every Lease is free", || {
        let held = OTHERS.map(|name| holder(&site, &format!("environment-{name}")));
        held.iter().all(String::is_empty).then_some(())
    });
}

#[test]
fn an_import_that_has_waited_for_another_one_plans_anew() {
    let site = Site::new("waited");
    site.create_environment(WAITING);
    // This server accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut first = waiting_import(&site, WAITING, &silent);
    let upgrade = ["-e", WAITING, "--pull-secret", "login", "--wait"];
    let second = Running::start(site.import_command("1.1.0.iso", &upgrade));
    second.wait_for_message(&format!(
        "has been changing the environment {WAITING} since"
    ));
    // Its plan is no longer valid.
    let record = ["delete", "configmap", "solution-example-1.0.0"];
    site.kubectl("metalk8s-solutions", &record).success();
    first.signal("TERM");
    assert_eq!(first.end().0, Some(143), "{}", first.messages());
    second.wait_for_success();
    let version = "{.metadata.labels.app\\.kubernetes\\.io/version}";
    let running = site.field(WAITING, "deployment/example-operator", version);
    assert_eq!(running, "1.1.0");
}
