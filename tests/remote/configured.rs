//! `solution setup`: its questions at a terminal, with a real registry that checks each answer.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::common::Desk;
use crate::server::{PASSWORD, Protection, Server, USER};
use crate::terminal::Terminal;

const CONTEXT: &str = "Kubeconfig context [current]: ";
const REGISTRY: &str = "Registry to push images to (HOST[/PREFIX]): ";
const AUTHORITY: &str = "Certificate authority of the registry (PEM file)";
const FILE: &str = ".config/solution/config.yaml";

/// Returns a desk with a key and the certificate authority `ca.pem` of a registry, and the registry.
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
        "User name for {} that may only pull, for nodes, or the path of a login file: ",
        server.host()
    );
    let shown = run(&desk)
        .answer(CONTEXT, "-\n")
        .answer(&known, "no registry\n")
        .answer(&known, &format!("{registry}\n"))
        .answer(AUTHORITY, "other.pem\n")
        .answer(AUTHORITY, "ca.pem\n")
        .answer(&user, &format!("{USER}\n"))
        .answer(&password, "hunter2\n")
        .answer(&user, &format!("{USER}\n"))
        .answer(&password, &format!("{PASSWORD}\n"))
        .answer(
            "Registry as nodes know it (HOST[/PREFIX]) [the same]: ",
            "\n",
        )
        // The login for pushing differs from that for nodes.
        .answer(&nodes, &format!("{USER}\n"))
        .answer("Password for ", &format!("{PASSWORD}\n"))
        .answer(&nodes, "-\n")
        .answer(
            "Public key of a publisher to trust (PEM file): ",
            "publisher.pub\n",
        )
        .answer("Is it the same? [y/N] ", "n\n")
        .answer("Another public key: ", "publisher.pub\n")
        .answer("Is it the same? [y/N] ", "y\n")
        .answer(
            "Solutions that it signs (names, `PREFIX-*` or `*`) [*]: ",
            "shop acme-*\n",
        )
        .answer("Name of the policy [publisher]: ", "\n")
        .answer("Another public key: ", "\n")
        .answer("Environment that commands use by default: ", "demo\n")
        .answer("Write this? [Y/n] ", "\n")
        .wait_for_exit(0);
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

    assert_same_answers_change_nothing(&desk, &registry, &nodes);
    assert_eq!(String::from_utf8(desk.read(FILE)).unwrap(), expected);
}

/// Asserts that the same answers change nothing, and that a check finds everything except the cluster.
fn assert_same_answers_change_nothing(desk: &Desk, registry: &str, nodes: &str) {
    let known = REGISTRY.replace(": ", &format!(" [{registry}]: "));
    let shown = run(desk)
        .answer(CONTEXT, "-\n")
        .answer(&known, "\n")
        .answer("[the same]: ", "\n")
        .answer(nodes, "\n")
        .answer("Public key of a publisher to trust (PEM file): ", "\n")
        .answer("Environment that commands use by default [demo]: ", "\n")
        .wait_for_exit(0);
    assert!(shown.contains("nothing changes"), "{shown}");
    let mut check = desk.command();
    check.env("XDG_RUNTIME_DIR", desk.path("run"));
    let checked =
        crate::common::Answer::from_command(check.args(["setup", "--check", "-o", "json"]));
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

/// Variables hold only in one shell, so setup writes their values. Nodes can use the login in an existing file.
#[test]
fn values_of_variables_and_the_login_file_of_nodes_are_written() {
    let (desk, server) = desk();
    let login = BASE64_STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let file = serde_json::json!({"auths": {server.host(): {"auth": login}}});
    desk.write("nodes.json", file.to_string());
    let registry = format!("{}/apps", server.host());
    let [session, authority, nodes] =
        ["run", "ca.pem", "nodes.json"].map(|name| desk.path(name).display().to_string());
    let variables = [
        ("XDG_RUNTIME_DIR", session),
        ("SOLUTION_REGISTRY", registry.clone()),
        ("SOLUTION_CA_FILE", authority.clone()),
    ];
    Terminal::run(&desk, "solution setup", &variables)
        .answer(CONTEXT, "-\n")
        .answer(&format!(" [{registry}]: "), "\n")
        .answer("that may push: ", "-\n")
        .answer("[the same]: ", "\n")
        .answer("or the path of a login file: ", "nodes.json\n")
        .answer("Public key of a publisher to trust (PEM file): ", "\n")
        .answer("Environment that commands use by default: ", "\n")
        .answer("Write this? [Y/n] ", "\n")
        .wait_for_exit(0);
    let expected =
        format!("registry: \"{registry}\"\ncaFile: \"{authority}\"\npullLogin: \"{nodes}\"\n");
    assert_eq!(String::from_utf8(desk.read(FILE)).unwrap(), expected);
}

#[test]
fn ctrl_c_and_a_no_leave_everything_as_it_was() {
    let (desk, server) = desk();
    let registry = format!("{}/apps", server.host());
    let answered = || {
        run(&desk)
            .answer(CONTEXT, "-\n")
            .answer(REGISTRY, &format!("{registry}\n"))
            .answer(AUTHORITY, "ca.pem\n")
    };
    let user = format!("User name for {registry} that may push: ");
    answered()
        .answer(&user, &format!("{USER}\n"))
        .answer("Password for ", "\u{3}")
        .wait_for_exit(130);
    answered()
        .answer(&user, "-\n")
        .answer("[the same]: ", "\n")
        .answer(
            "that may only pull, for nodes, or the path of a login file: ",
            "\n",
        )
        .answer("Public key of a publisher to trust (PEM file): ", "\n")
        .answer("Environment that commands use by default: ", "\n")
        .answer("Write this? [Y/n] ", "n\n")
        .wait_for_exit(1);
    // The end of the input does not count as the default answer.
    run(&desk).answer(CONTEXT, "\u{4}").wait_for_exit(3);
    for path in [".config", "run", ".docker"] {
        assert!(!desk.path(path).exists(), "{path}");
    }
}
