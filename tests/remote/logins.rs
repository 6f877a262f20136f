//! `solution registry login`, and the programs that use the login: this program, skopeo and podman.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::common::{Answer, Desk};
use crate::registries::protected_desk as desk;
use crate::server::{PASSWORD, Server, USER};
use crate::setup::pack;
use crate::terminal::Terminal;

/// Logs in with a password from a pipe.
fn login(desk: &Desk, server: &Server, password: &str, more: &[&str]) -> Answer {
    let input = desk.path("password");
    fs::write(&input, format!("{password}\n")).unwrap();
    let mut command = desk.command();
    let command = command
        .env("XDG_RUNTIME_DIR", desk.path("run"))
        .args(["login", &server.host(), "--username", USER])
        .args(["--password-stdin", "--ca-file", "ca.pem"])
        .args(more)
        .stdin(fs::File::open(input).unwrap());
    Answer::from_command(command)
}

/// Runs the program in the session of the login.
fn run(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    let command = command.env("XDG_RUNTIME_DIR", desk.path("run"));
    Answer::from_command(command.args(arguments))
}

/// Runs a program that must find the login itself.
fn reader(desk: &Desk, program: &str, arguments: &[&str]) -> Answer {
    let mut command = Command::new(program);
    command.env("HOME", desk.path(""));
    command.env("XDG_RUNTIME_DIR", desk.path("run"));
    command.env_remove("REGISTRY_AUTH_FILE");
    command.env_remove("DOCKER_CONFIG");
    Answer::from_command(command.args(arguments))
}

#[test]
fn a_login_is_found_by_skopeo_and_podman_until_the_logout() {
    let (desk, server) = desk();
    let host = server.host();
    let answer = login(&desk, &server, PASSWORD, &["--output", "json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let path = desk.path("run/containers/auth.json");
    let expected = serde_json::json!({
        "schemaVersion": "1", "registry": host, "username": USER, "file": path, "checked": true,
    });
    assert_eq!(answer.json(), expected);
    let mode = |name: &str| fs::metadata(desk.path(name)).unwrap().permissions().mode();
    assert_eq!(mode("run/containers/auth.json") & 0o777, 0o600);
    assert_eq!(mode("run/containers") & 0o777, 0o700);
    for program in ["skopeo", "podman"] {
        let user = reader(&desk, program, &["login", "--get-login", &host]).success();
        assert_eq!(user.trim(), USER, "{program}");
    }
    fs::create_dir(desk.path("certs")).unwrap();
    fs::write(desk.path("certs/ca.crt"), server.ca()).unwrap();
    let certificates = format!("--cert-dir={}", desk.path("certs").display());
    let image = format!("docker://{host}/team/app:1");
    let inspect = ["inspect", "--raw", &certificates, &image];
    reader(&desk, "skopeo", &inspect).success();
    let check = [&pack("pull", "out.iso")[..], &["--ca-file", "ca.pem"]].concat();
    run(&desk, &check).success();

    run(&desk, &["logout", &host]).success();
    let words = reader(&desk, "skopeo", &inspect).failure(1);
    assert!(words.contains("authentication required"), "{words}");
    let again = [&check[..], &["--no-cache", "--force"]].concat();
    let words = run(&desk, &again).failure(1);
    assert!(words.contains("requires a login"), "{words}");
}

#[test]
fn a_person_types_the_login_and_nobody_sees_the_password() {
    let (desk, server) = desk();
    let host = server.host();
    let line = format!("solution registry login {host} --ca-file ca.pem");
    let session = desk.path("run").display().to_string();
    let shown = Terminal::run(&desk, &line, &[("XDG_RUNTIME_DIR", session)])
        .answer(&format!("User name for {host}: "), &format!("{USER}\n"))
        .answer(&format!("Password for {host}: "), &format!("{PASSWORD}\n"))
        .wait_for_exit(0);
    assert!(shown.contains(&format!("as {USER}")), "{shown}");
    assert!(!shown.contains(PASSWORD), "{shown}");
    let user = reader(&desk, "skopeo", &["login", "--get-login", &host]).success();
    assert_eq!(user.trim(), USER);
}

#[test]
fn a_wrong_password_is_refused_and_nothing_is_written() {
    let (desk, server) = desk();
    let words = login(&desk, &server, "hunter2", &[]).failure(1);
    assert!(words.contains("credentials were rejected"), "{words}");
    assert!(!words.contains("hunter2"), "{words}");
    assert!(!desk.path("run").exists());

    // The existing content is kept, to the byte.
    login(&desk, &server, PASSWORD, &["--authfile", "a.json"]).success();
    let before = desk.read("a.json");
    login(&desk, &server, "hunter2", &["--authfile", "a.json"]).failure(1);
    assert_eq!(desk.read("a.json"), before);
}

#[test]
fn dockers_file_is_taken_where_there_is_no_other_and_its_helper_keeps_the_login() {
    let (desk, server) = desk();
    let host = server.host();
    desk.write(".docker/config.json", r#"{"psFormat":"x"}"#);
    let text = login(&desk, &server, PASSWORD, &[]).success();
    assert!(text.contains(".docker/config.json"), "{text}");
    let written = String::from_utf8(desk.read(".docker/config.json")).unwrap();
    assert!(
        written.contains("psFormat") && written.contains(&host),
        "{written}"
    );
    for program in ["skopeo", "podman"] {
        let user = reader(&desk, program, &["login", "--get-login", &host]).success();
        assert_eq!(user.trim(), USER, "{program}");
    }

    let helper = "#!/bin/sh\necho \"$1 $(cat)\" >> said\n";
    desk.write_script("docker-credential-desk", helper);
    let with_helper = written.replace("\"psFormat\": \"x\"", "\"credsStore\": \"desk\"");
    desk.write(".docker/config.json", with_helper);
    let mut command = desk.command();
    let path = format!("{}:/usr/bin:/bin", desk.path("").display());
    let mut child = command
        .env("PATH", path)
        .args(["login", &host, "--username", USER, "--password-stdin"])
        .args(["--ca-file", "ca.pem", "--authfile", ".docker/config.json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(PASSWORD.as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said = String::from_utf8(desk.read("said")).unwrap();
    let expected = format!(
        "store {{\"ServerURL\":\"{host}\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}\n"
    );
    assert_eq!(said, expected);
    let left = String::from_utf8(desk.read(".docker/config.json")).unwrap();
    assert!(
        !left.contains(&host),
        "the password is no longer in the file: {left}"
    );
}
