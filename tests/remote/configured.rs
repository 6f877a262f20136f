//! `solution setup`: its questions at a terminal, each answer checked by a real registry.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::Desk;
use crate::server::{PASSWORD, Protection, Server, USER};
use crate::terminal::Terminal;

const CONTEXT: &str = "Kubeconfig context [current]: ";
const REGISTRY: &str = "Registry to push images to (HOST[/PREFIX]): ";
const AUTHORITY: &str = "Certificate authority of the registry (PEM file)";
const FILE: &str = ".config/solution/config.yaml";

/// A desk with a key and the certificate authority `ca.pem` of a registry, and the registry.
fn desk() -> (Desk, Server) {
    let (desk, server) = (Desk::with_key(), Server::start(&Protection::TlsAndLogin));
    desk.write("ca.pem", server.ca());
    (desk, server)
}

fn run(desk: &Desk) -> Terminal {
    let session = desk.path("run").display().to_string();
    Terminal::run(desk, "solution setup", &[("XDG_RUNTIME_DIR", session)])
}

#[test]
fn a_person_answers_until_each_check_passes_and_then_everything_is_written() {
    let (desk, server) = desk();
    let other = Server::start(&Protection::TlsAndLogin);
    desk.write("other.pem", other.ca());
    fs::create_dir_all(desk.path(".config/solution")).unwrap();
    desk.write(FILE, "# mine\ntimeout: 60\nregistry:\n  gone.test\n");
    let registry = format!("{}/apps", server.host());
    let known = REGISTRY.replace(": ", " [gone.test]: ");
    let user = format!("User name for {registry} that may push: ");
    let password = format!("Password for {registry}: ");
    let nodes = format!(
        "User name for {} that may only pull, for nodes: ",
        server.host()
    );
    let shown = run(&desk)
        .at(CONTEXT, "-\n")
        .at(&known, "no registry\n")
        .at(&known, &format!("{registry}\n"))
        .at(AUTHORITY, "other.pem\n")
        .at(AUTHORITY, "ca.pem\n")
        .at(&user, &format!("{USER}\n"))
        .at(&password, "hunter2\n")
        .at(&user, &format!("{USER}\n"))
        .at(&password, &format!("{PASSWORD}\n"))
        .at(
            "Registry as nodes know it (HOST[/PREFIX]) [the same]: ",
            "\n",
        )
        // The login that pushes is not one for nodes.
        .at(&nodes, &format!("{USER}\n"))
        .at("Password for ", &format!("{PASSWORD}\n"))
        .at(&nodes, "-\n")
        .at(
            "Public key of a publisher to trust (PEM file): ",
            "publisher.pub\n",
        )
        .at("Is it the same? [y/N] ", "n\n")
        .at("Another public key: ", "publisher.pub\n")
        .at("Is it the same? [y/N] ", "y\n")
        .at(
            "Solutions that it signs (names, `PREFIX-*` or `*`) [*]: ",
            "shop acme-*\n",
        )
        .at("Name of the policy [publisher]: ", "\n")
        .at("Another public key: ", "\n")
        .at("Environment that commands use by default: ", "demo\n")
        .at("Write this? [Y/n] ", "\n")
        .ended(0);
    assert!(shown.contains("credentials were rejected"), "{shown}");
    for secret in [PASSWORD, "hunter2"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let authority = desk.path("ca.pem").display().to_string();
    let expected = format!(
        "# mine\ntimeout: 60\nregistry: \"{registry}\"\ncaFile: \"{authority}\"\nenvironment: \"demo\"\n"
    );
    assert_eq!(String::from_utf8(desk.read(FILE)).unwrap(), expected);
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(FILE), 0o600);
    assert_eq!(mode("run/containers/auth.json"), 0o600);
    let trusted = desk.solution(&["trust", "list", "--output", "json"]).json();
    let policies = trusted["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 1, "{trusted}");
    assert_eq!(
        policies[0]["solutions"],
        serde_json::json!(["shop", "acme-*"])
    );

    nothing_changes_by_the_same_answers(&desk, &registry, &nodes);
    assert_eq!(String::from_utf8(desk.read(FILE)).unwrap(), expected);
}

/// The same answers again change nothing, and a check finds all but the cluster.
fn nothing_changes_by_the_same_answers(desk: &Desk, registry: &str, nodes: &str) {
    let known = REGISTRY.replace(": ", &format!(" [{registry}]: "));
    let shown = run(desk)
        .at(CONTEXT, "-\n")
        .at(&known, "\n")
        .at("[the same]: ", "\n")
        .at(nodes, "\n")
        .at("Public key of a publisher to trust (PEM file): ", "\n")
        .at("Environment that commands use by default [demo]: ", "\n")
        .ended(0);
    assert!(shown.contains("nothing changes"), "{shown}");
    let mut check = desk.command();
    check.env("XDG_RUNTIME_DIR", desk.path("run"));
    let checked = crate::common::Answer::of(check.args(["setup", "--check", "-o", "json"]));
    assert_eq!(checked.code, 1, "{checked:?}");
    let checked = checked.json();
    let passed = |part: &str| {
        let mut checks = checked["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["part"] == part).unwrap();
        check["passed"] == true
    };
    assert!(!passed("cluster"), "{checked}");
    for part in ["registry", "pullLogin", "trust"] {
        assert!(passed(part), "{part}: {checked}");
    }
}

#[test]
fn ctrl_c_and_a_no_leave_everything_as_it_was() {
    let (desk, server) = desk();
    let registry = format!("{}/apps", server.host());
    let answered = || {
        run(&desk)
            .at(CONTEXT, "-\n")
            .at(REGISTRY, &format!("{registry}\n"))
            .at(AUTHORITY, "ca.pem\n")
    };
    let user = format!("User name for {registry} that may push: ");
    answered()
        .at(&user, &format!("{USER}\n"))
        .at("Password for ", "\u{3}")
        .ended(130);
    answered()
        .at(&user, "-\n")
        .at("[the same]: ", "\n")
        .at("that may only pull, for nodes: ", "\n")
        .at("Public key of a publisher to trust (PEM file): ", "\n")
        .at("Environment that commands use by default: ", "\n")
        .at("Write this? [Y/n] ", "n\n")
        .ended(1);
    // The end of the input does not stand for the answer that Enter gives.
    run(&desk).at(CONTEXT, "\u{4}").ended(3);
    for path in [".config", "run", ".docker"] {
        assert!(!desk.path(path).exists(), "{path}");
    }
}
