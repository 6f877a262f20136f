//! The messages of a waiting program about a release, another administrator, and its own interruption. They describe
//! the state of this release and of no other one.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::Answer;
use crate::outages::Paused;
use crate::running::Running;
use crate::site::{Site, eventually, has_row, variable};
use crate::terminal::Terminal;

/// Packs 1.1.0 as another version, optionally with another command of its operator.
fn pack_release(site: &Site, version: &str, command: Option<&str>) {
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

/// A broken release leaves a crashing pod if no version ran before, and is rolled back otherwise. The good release
/// follows immediately, while the controller still handles the broken one.
#[test]
fn a_good_release_that_follows_a_broken_one_at_once_is_taken_ten_times_in_a_row() {
    let site = Site::new("judgement");
    site.create_environment("judgement");
    pack_release(&site, "1.2.0", Some("/nowhere"));
    pack_release(&site, "1.3.0", None);
    for round in 0..10 {
        if round % 2 == 0 {
            // No version runs, so the broken one is kept.
            let undeploy = ["undeploy", "--yes", "example", "-e", "judgement"];
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

/// The pod already exists, without the secret or with a wrong one, and its node would retry only after minutes.
#[test]
fn a_pull_secret_that_comes_late_or_is_corrected_is_used_at_once() {
    let site = Site::new("late-secret");
    site.create_environment("late");
    // The pod that pulls first would fail before a Deployment exists.
    let into = ["-e", "late", "--no-pull-proof"];
    let text = site.import("1.0.0.iso", &into).failure(1);
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
        text.contains("restarted: it was waiting for its image"),
        "{text}"
    );
    assert_unready_messages(&site);

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
    assert_ready_messages(&site);
}

/// Asserts the messages for an operator whose image cannot be pulled.
fn assert_unready_messages(site: &Site) {
    let text = site.solution(&["status"]).failure(1);
    let row = ["late", "example", "1.0.0", "0/1", "not ready"];
    assert!(has_row(&text, &row), "{text}");
    let words =
        "\n  reason: the image cannot be pulled: the registry does not accept the credentials";
    assert!(text.contains(words), "{text}");
    assert!(text.contains("\n  hint: name a Secret"), "{text}");
    let answer = site.solution(&["status", "--output", "json"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let operator = &answer.json()["operators"][0];
    assert_eq!(operator["condition"], "notReady", "{operator}");
    assert_eq!(operator["ready"], serde_json::json!([0, 1]), "{operator}");
    site.solution(&["environment", "list"]).success();
}

/// Asserts the messages for an operator that is ready, without messages for another version.
fn assert_ready_messages(site: &Site) {
    let text = site.solution(&["status"]).success();
    let row = ["late", "example", "1.0.0", "1/1", "ready"];
    assert!(has_row(&text, &row) && !text.contains("reason:"), "{text}");
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
    let row = ["late", "example", "1.0.0", "1/1", "other version (9.9.9)"];
    assert!(has_row(&text, &row), "{text}");
    let words = "\n  reason: its Deployment belongs to version 9.9.9\n";
    assert!(text.contains(words), "{text}");
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

/// Returns an import into an environment that waits for an image that the registry never sends.
pub(crate) fn waiting_import(site: &Site, environment: &str, silent: &TcpListener) -> Running {
    let pull = format!("{}/nothing", silent.local_addr().unwrap());
    let mut command = site.command();
    command
        .args(["import", "1.0.0.iso", "--key", "publisher.pub"])
        .args(["--registry", &site.registry()])
        .args(["-e", environment, "--namespace", environment])
        .args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")])
        .args(["--pull-registry", &pull, "--no-pull-proof"]);
    let running = Running::start(command);
    running.wait_for_message(&format!(
        "waiting for Deployment {environment}/example-operator: 0 of 1 pods ready: "
    ));
    running.wait_for_message(&format!("pulling image {pull}/"));
    running
}

/// Returns the holder of a Lease.
pub(crate) fn holder(site: &Site, lease: &str) -> String {
    let lease = format!("lease/{lease}");
    site.field("metalk8s-solutions", &lease, "{.spec.holderIdentity}")
}

/// The Lease of the environment that all of these tests change.
const LEASE: &str = "environment-signals";

/// Returns another command that changes that environment.
fn create(site: &Site, more: &[&str]) -> Command {
    let mut command = site.command();
    let create = ["environment", "create", "signals", "--namespace", "second"];
    command.args(create).args(more);
    command
}

#[test]
fn whoever_is_ended_gives_the_lease_back_and_others_are_told_who_holds_it() {
    let site = Site::new("signals");
    site.create_environment("signals");
    // This server accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut import = waiting_import(&site, "signals", &silent);

    let text = Answer::from_command(&mut create(&site, &[])).failure(3);
    assert!(
        text.contains(" has been changing the environment signals since ")
            && text.contains("`--wait`"),
        "{text}"
    );
    assert!(
        text.contains(&format!("(process {})", import.id())),
        "{text}"
    );
    // The message uses the cluster's name of the user.
    assert!(text.contains("system:serviceaccount:default:"), "{text}");
    let waits = Answer::from_command(&mut create(&site, &["--wait=1"])).failure(3);
    assert!(waits.starts_with("waiting: "), "{waits}");

    let mut second = Running::start(create(&site, &["--wait"]));
    second.wait_for_message("has been changing the environment signals since");
    import.signal("TERM");
    let (code, took) = import.end();
    let said = import.messages();
    assert_eq!(code, Some(143), "{said}");
    assert!(took < Duration::from_secs(1), "{took:?}: {said}");
    assert!(
        said.contains("interrupted while waiting for the operator: ")
            && said.contains("objects were written (")
            && said.contains("; run the same command again to complete it"),
        "{said}"
    );
    assert_eq!(second.end().0, Some(0), "{}", second.messages());

    let mut import = waiting_import(&site, "signals", &silent);
    assert_ne!(holder(&site, LEASE), "");
    import.signal("INT");
    let (code, took) = import.end();
    assert_eq!(code, Some(130), "{}", import.messages());
    assert!(took < Duration::from_secs(1), "{took:?}");
    assert_eq!(holder(&site, LEASE), "", "the Lease is free");

    let mut import = waiting_import(&site, "signals", &silent);
    import.signal("KILL");
    import.end();
    assert_ne!(holder(&site, LEASE), "", "nobody has given it back");
    let began = Instant::now();
    Answer::from_command(&mut create(&site, &[])).success();
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_cluster_that_answers_no_more_delays_no_end() {
    let site = Site::new("frozen");
    site.create_environment("signals");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut import = waiting_import(&site, "signals", &silent);
    let frozen = Paused::new("kube-apiserver");
    import.signal("TERM");
    let (code, took) = import.end();
    drop(frozen);
    assert_eq!(code, Some(143), "{}", import.messages());
    assert!(took < Duration::from_secs(1), "{took:?}");
    // The Lease could not be released, and its holder has ended.
    eventually("the cluster answers again", || {
        let answer = Answer::from_command(&mut create(&site, &[]));
        assert!(!answer.stderr.contains("has been changing"), "{answer:?}");
        (answer.code == 0).then_some(())
    });
}

#[test]
fn ctrl_c_at_a_terminal_takes_the_spinner_away_and_says_what_is_done() {
    let site = Site::new("spinner");
    site.create_environment("spinner");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!(
        "solution import 1.0.0.iso --key publisher.pub -e spinner --registry {} --ca-file {} --pull-registry {}/nothing --no-pull-proof",
        site.registry(),
        variable("SOLUTION_TEST_REGISTRY_CA"),
        silent.local_addr().unwrap(),
    );
    let config = ("KUBECONFIG", site.kubeconfig().to_owned());
    let login = ("REGISTRY_AUTH_FILE", variable("REGISTRY_AUTH_FILE"));
    let variables = [config, login, ("TERM", "xterm".to_owned())];
    let shown = Terminal::run(&site.desk, &line, &variables)
        .answer(
            "waiting for Deployment spinner/example-operator: 0 of 1",
            "\u{3}",
        )
        .wait_for_exit(130);
    let clear = "\u{1b}[2K";
    let end = shown.rsplit(clear).next().unwrap();
    assert!(
        end.starts_with("error: interrupted while waiting for the operator: "),
        "{shown:?}"
    );
}
