//! What a waiting program says of a release, of another administrator, and of itself when it is ended: by what the
//! cluster says of this release and of no other.

use std::time::{Duration, Instant};

use crate::common::Answer;
use crate::site::Site;

/// Packs 1.1.0 as another version, with another command of its operator if one is given.
fn release(site: &Site, version: &str, command: Option<&str>) {
    let source = "1.1.0/solution.yaml";
    let before = String::from_utf8(site.desk.read(source)).unwrap();
    let mut text = before.replacen("  version: 1.1.0\n", &format!("  version: {version}\n"), 1);
    assert_ne!(text, before);
    if let Some(command) = command {
        text = text.replace(
            "  operator:\n",
            &format!("  operator:\n    command: [{command}]\n"),
        );
    }
    site.desk.write(source, text);
    let archive = format!("{version}.iso");
    site.desk
        .solution(&["pack", "1.1.0", "-o", &archive, "--key", "publisher.key"])
        .success();
    site.desk.write(source, before);
}

fn deploy(site: &Site, version: &str, environment: &str) -> Answer {
    site.import(
        &format!("{version}.iso"),
        &[
            "-e",
            environment,
            "--pull-secret",
            "login",
            "--allow-downgrade",
        ],
    )
}

/// A broken release leaves a crashing pod (if nothing ran before it) or is taken back (if something did); the good one
/// follows at once, while the controller still works on the broken one.
#[test]
fn a_good_release_that_follows_a_broken_one_at_once_is_taken_ten_times_in_a_row() {
    let site = Site::new("judgement");
    site.environment("judgement");
    release(&site, "1.2.0", Some("/nowhere"));
    release(&site, "1.3.0", None);
    for round in 0..10 {
        if round % 2 == 0 {
            // Nothing runs, so that the broken one stays as it is.
            let undeploy = ["undeploy", "example", "-e", "judgement"];
            assert_eq!(site.solution(&undeploy).code, i32::from(round == 0));
        }
        let broken = deploy(&site, "1.2.0", "judgement");
        assert_ne!(broken.code, 0, "round {round}: {broken:?}");
        assert!(
            broken.stderr.contains("/nowhere"),
            "round {round}: {broken:?}"
        );
        let version = if round % 4 < 2 { "1.3.0" } else { "1.1.0" };
        let good = deploy(&site, version, "judgement");
        assert_eq!(good.code, 0, "round {round}: {good:?}");
        site.solution(&["status"]).success();
    }
}

/// The pod exists already, without the secret or with a wrong one, and its node would try again in minutes.
#[test]
fn a_pull_secret_that_comes_late_or_is_corrected_is_used_at_once() {
    let site = Site::new("late-secret");
    site.environment("late");
    let text = site.import("1.0.0.iso", &["-e", "late"]).failure(1);
    assert!(
        text.contains("does not accept the credentials") && text.contains("--pull-secret"),
        "{text}"
    );
    let wrong = r#"{"auths":{"registry.nodes.test:5443":{"auth":"bm9kZTp3cm9uZw=="}}}"#;
    site.desk.write("wrong.json", wrong);
    let create = [
        "create",
        "secret",
        "generic",
        "other",
        "--type=kubernetes.io/dockerconfigjson",
        "--from-file=.dockerconfigjson=wrong.json",
    ];
    site.kubectl("late", &create).success();
    let with = |secret: &str| site.import("1.0.0.iso", &["-e", "late", "--pull-secret", secret]);
    let text = with("other").failure(1);
    assert!(text.contains("does not accept the credentials"), "{text}");
    assert!(
        text.contains("started anew: it waited for its image"),
        "{text}"
    );
    unready(&site);

    let login = site.field("late", "secret/login", "{.data.\\.dockerconfigjson}");
    let patch = format!(r#"{{"data":{{".dockerconfigjson":"{login}"}}}}"#);
    site.kubectl("late", &["patch", "secret", "other", "--patch", &patch])
        .success();
    let began = Instant::now();
    with("other").success();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    ready_and_nothing_else(&site);
}

/// An operator whose image cannot be pulled.
fn unready(site: &Site) {
    let text = site.solution(&["status"]).failure(1);
    assert!(
        text.contains("example 1.0.0  0/1 ready: the image cannot be pulled, the registry does not accept the credentials")
            && text.contains("hint: name a Secret"),
        "{text}"
    );
    let answer = site.solution(&["status", "--output", "json"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let operator = &answer.json()["operators"][0];
    assert_eq!(operator["condition"], "notReady", "{operator}");
    assert_eq!(operator["ready"], serde_json::json!([0, 1]), "{operator}");
    site.solution(&["environment", "list"]).success();
}

/// An operator that is ready, and what is not said of another version.
fn ready_and_nothing_else(site: &Site) {
    let text = site.solution(&["status"]).success();
    assert!(text.contains("example 1.0.0  1/1 ready\n"), "{text}");
    let kubectl = |arguments: &[&str]| site.kubectl("late", arguments).success();
    let version = |version: &str| {
        let label = format!("app.kubernetes.io/version={version}");
        kubectl(&[
            "label",
            "deployment/example-operator",
            &label,
            "--overwrite",
        ]);
    };
    version("9.9.9");
    let text = site.solution(&["status"]).failure(1);
    assert!(
        text.contains("example 1.0.0  0/1 ready: its Deployment is of version 9.9.9"),
        "{text}"
    );
    version("1.0.0");
    site.solution(&["status"]).success();
    let image = "deployment/example-operator";
    let container = "example-operator=solution.invalid/pause:1";
    kubectl(&["set", "image", image, container]);
    let text = site.solution(&["status"]).failure(1);
    assert!(
        text.contains("solution.invalid/pause:1, which is not the image of version 1.0.0"),
        "{text}"
    );
}
