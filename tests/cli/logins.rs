//! The login files of docker and podman: which file is changed, which content is kept, and which files are refused.
//! Logging in needs a registry and is tested with one (`tests/remote`).

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use crate::common::{Answer, Desk};

const FILE: &str = "{\n\t\"auths\": {\n\t\t\"b.example\": {\n\t\t\t\"auth\": \"eDp5\"\n\t\t},\n\t\t\"a.example\": {\n\t\t\t\"auth\": \"eDp5\"\n\t\t}\n\t},\n\t\"psFormat\": \"x\"\n}";

fn mode(desk: &Desk, name: &str) -> u32 {
    let metadata = fs::metadata(desk.path(name)).unwrap();
    metadata.permissions().mode() & 0o7777
}

fn logout(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    command.env("XDG_RUNTIME_DIR", desk.path("run"));
    Answer::from_command(command.arg("logout").args(arguments))
}

#[test]
fn a_logout_takes_one_entry_out_of_the_first_file_that_has_it() {
    let desk = Desk::new();
    desk.write("run/containers/auth.json", r#"{"auths":{}}"#);
    desk.write(".docker/config.json", FILE);
    desk.write(".config/containers/auth.json", FILE);
    let answer = logout(&desk, &["b.example", "--output", "json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let json = answer.json();
    assert_eq!(json["registries"][0], "b.example");
    let path = |name: &str| desk.path(name).display().to_string();
    assert_eq!(json["file"], path(".config/containers/auth.json"));
    assert_eq!(json["alsoIn"][0], path(".docker/config.json"));
    let entry = "\n\t\t\"b.example\": {\n\t\t\t\"auth\": \"eDp5\"\n\t\t},";
    let left = String::from_utf8(desk.read(".config/containers/auth.json")).unwrap();
    assert_eq!(left, FILE.replace(entry, ""));
    assert_eq!(mode(&desk, ".config/containers/auth.json"), 0o600);
    assert_eq!(desk.read(".docker/config.json"), FILE.as_bytes());
    logout(&desk, &["b.example"]).success();
    let text = logout(&desk, &["b.example"]).failure(1);
    assert!(text.contains("there is no login for `b.example`"), "{text}");
    assert!(text.contains(&path("run/containers/auth.json")), "{text}");
    assert!(text.contains("`--authfile`"), "{text}");
}

#[test]
fn all_logins_of_the_named_file_go_at_once() {
    let desk = Desk::new();
    desk.write("logins.json", FILE);
    let text = logout(&desk, &["--all", "--authfile", "logins.json"]).success();
    assert!(
        text.contains("a.example") && text.contains("b.example"),
        "{text}"
    );
    let left = String::from_utf8(desk.read("logins.json")).unwrap();
    assert_eq!(left, "{\n\t\"auths\": {},\n\t\"psFormat\": \"x\"\n}");
    logout(&desk, &["--all", "--authfile", "logins.json"]).success();
}

#[test]
fn files_that_others_could_have_written_are_refused_and_stay() {
    let desk = Desk::new();
    let refused = |name: &str, words: &str| {
        let text = logout(&desk, &["b.example", "--authfile", name]).failure(1);
        assert!(text.contains(words) && text.contains("hint: "), "{text}");
    };
    desk.write("logins.json", FILE);
    symlink("logins.json", desk.path("link.json")).unwrap();
    refused("link.json", "is a link, and only files are read");
    fs::set_permissions(desk.path("logins.json"), Permissions::from_mode(0o666)).unwrap();
    refused("logins.json", "is writable by other users (mode 0666)");
    desk.write("open/logins.json", FILE);
    fs::set_permissions(desk.path("open"), Permissions::from_mode(0o777)).unwrap();
    refused("open/logins.json", "is writable by other users (mode 0777)");
    for name in ["logins.json", "open/logins.json"] {
        assert_eq!(desk.read(name), FILE.as_bytes(), "{name}");
    }
}

#[test]
fn a_file_that_is_not_understood_is_not_overwritten() {
    let desk = Desk::new();
    for text in ["", "{\"auths\":{\"b.example\":\"hunter2\"}}", "{} {}"] {
        desk.write("logins.json", text);
        let file = ["b.example", "--authfile", "logins.json"];
        let login = [&file[..], &["--username", "me", "--password-stdin"]].concat();
        for answer in [
            logout(&desk, &file),
            Answer::from_command(desk.command().arg("login").args(login)),
        ] {
            let said = answer.failure(1);
            assert!(said.contains("login file is not valid: line "), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        assert_eq!(desk.read("logins.json"), text.as_bytes());
    }
}

#[test]
fn a_helper_forgets_what_it_keeps() {
    let desk = Desk::new();
    let helper = "#!/bin/sh\necho \"$1 $(cat)\" >> said\n";
    desk.write_script("bin/docker-credential-desk", helper);
    let file = r#"{"credHelpers":{"h.example":"desk"}}"#;
    desk.write("logins.json", file);
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let mut command = desk.command();
    let command = command.env("PATH", path).arg("logout");
    let text =
        Answer::from_command(command.args(["h.example", "--authfile", "logins.json"])).success();
    assert!(text.contains("docker-credential-desk"), "{text}");
    assert_eq!(desk.read("said"), b"erase h.example\n");
}

#[test]
fn a_login_that_cannot_be_asked_for_or_tried_is_not_written() {
    let desk = Desk::new();
    // There is no terminal, and no password on standard input.
    let login = |arguments: &[&str]| {
        let mut command = Command::new("setsid");
        let command = command.args(["--wait", env!("CARGO_BIN_EXE_solution"), "login"]);
        let command = command.env("HOME", desk.path("")).stdin(Stdio::null());
        Answer::from_command(command.args(arguments).current_dir(desk.path("")))
    };
    let text = login(&["localhost:1"]).failure(2);
    assert!(text.contains("--password-stdin"), "{text}");
    let text = login(&["localhost:1", "--password-stdin"]).failure(2);
    assert!(text.contains("--username"), "{text}");
    login(&["localhost:1", "--username", "a:b", "--password-stdin"]).failure(2);
    let text = login(&["localhost:1", "--username", "me", "--password-stdin"]).failure(1);
    assert!(text.contains("a password must have 1 to "), "{text}");
    assert!(desk.names().is_empty(), "{:?}", desk.names());
}
