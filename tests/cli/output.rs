//! Foreign text at a terminal: no line of it can look like a message of the program, and no control character of it
//! reaches the terminal. JSON output keeps the original text.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;

use archive::ArchiveFile;
use fixtures::example::{Programs, Release};
use serde_json::Value;
use signing::SecretKey;

use crate::common::{Answer, Desk};
use crate::stages;

/// A hostile name or message: a forged message line, an escape sequence, and a direction override.
const HOSTILE: &str = "x\nerror: forged\u{1b}[2J\u{202e}";
/// The same text as a double-quoted string in YAML and JSON.
const YAML: &str = r#""x\nerror: forged\e[2J\u202e""#;
const JSON: &str = r#""x\nerror: forged\u001b[2J\u202e""#;
/// The escaped text at a terminal.
const SHOWN: &str = r"x\nerror: forged\u{1b}[2J\u{202e}";

/// Asserts that the answer shows the whole hostile text, in a line of the program.
#[track_caller]
fn assert_shown(answer: &Answer) {
    let text = format!("{}{}", answer.stdout, answer.stderr);
    assert!(text.contains(SHOWN), "{answer:?}");
    assert_harmless(answer);
}

/// Asserts that foreign text begins no line of the answer, and that it contains no control sequences.
#[track_caller]
fn assert_harmless(answer: &Answer) {
    let text = format!("{}{}", answer.stdout, answer.stderr);
    assert!(text.contains("forged"), "the text never came: {answer:?}");
    for line in text.lines() {
        assert!(
            !line.trim_start().starts_with("error: forged"),
            "{answer:?}"
        );
        assert!(!line.contains(schemas::is_unprintable), "{line:?}");
    }
}

/// Signs the example's archive with other files.
fn repack(desk: &Desk, change: impl Fn(&str, String) -> String) {
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let edit = |path: &str, bytes: Vec<u8>| match String::from_utf8(bytes) {
        Ok(text) => change(path, text).into_bytes(),
        Err(binary) => binary.into_bytes(),
    };
    let entries = listed.contents().entries().iter();
    let files = entries.map(|entry| {
        let bytes = listed.read(entry.path.as_str(), 1 << 30).unwrap();
        ArchiveFile::from_bytes(entry.path.clone(), edit(entry.path.as_str(), bytes))
    });
    let unsigned = stages::unsigned(stages::statement_info(&listed), files.collect());
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    let key = SecretKey::from_pem(&pem).unwrap();
    stages::write(unsigned.sign(&[key]).unwrap(), &path);
}

/// Starts a server that gives this answer to every request, and returns its port.
fn server(status: &'static str, body: &str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let length = body.len();
    let answer =
        format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            std::thread::spawn(move || {
                let request = BufReader::new(&stream).lines();
                let mut head = request.map_while(Result::ok);
                if head.any(|line| line.is_empty()) {
                    // A client that has disconnected needs no answer.
                    let _ = (&stream).write_all(answer.as_bytes());
                }
            });
        }
    });
    port
}

#[test]
fn a_manifest_forges_no_line() {
    let desk = Desk::with_archive();
    repack(&desk, |path, text| match path {
        "manifest.yaml" => format!("{text}{YAML}: 1\n{YAML}: 2\n"),
        _ => text,
    });
    assert_shown(&desk.solution(&["inspect", "example.iso"]));
    assert_shown(&desk.solution(&["validate", "example.iso", "--key", "publisher.pub"]));
    assert_shown(&desk.solution(&["validate", "example.iso", "--skip-signature"]));
}

#[test]
fn what_an_image_says_of_itself_forges_no_line() {
    let desk = Desk::with_archive();
    let typed = format!(r#"{{"artifactType":{JSON},"#);
    repack(&desk, |path, text| {
        if path.starts_with("images/") && path.ends_with("/manifest.json") {
            let text = text.replacen('{', &typed, 1);
            return text.replace("vnd.oci.image.config.v1", "vnd.oci.empty.v1");
        }
        text
    });
    assert_shown(&desk.solution(&["inspect", "example.iso"]));
    // JSON contains the same text, and is as harmless.
    let answer = desk.solution(&["inspect", "example.iso", "--output", "json"]);
    assert_harmless(&answer);
    assert_eq!(answer.json()["images"][0]["artifactType"], HOSTILE);
}

#[test]
fn a_source_forges_no_line() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let solution = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    for (from, to) in [
        ("metadata:\n", format!("metadata:\n  {YAML}: 1\n")),
        ("ref: registry", format!("ref: {YAML} #")),
        ("name: example\n", format!("name: {YAML}\n")),
    ] {
        assert!(solution.contains(from), "{solution}");
        desk.write("source/solution.yaml", solution.replacen(from, &to, 1));
        for output in ["human", "json"] {
            let check = ["pack", "source", "--check", "--output", output];
            let answer = desk.solution(&check);
            assert_eq!(answer.code, 1, "{answer:?}");
            assert_harmless(&answer);
        }
    }
}

#[test]
fn a_release_forges_no_line() {
    let desk = Desk::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases/ingress-gate.yaml");
    let release = std::fs::read_to_string(path).unwrap();
    let mut hostile = release.clone();
    for field in ["spec:\n", "      containers:\n"] {
        assert!(release.contains(field), "{release}");
        let indent = &field[..field.len() - field.trim_start().len()];
        // An unclosed placeholder is a decision, and the note shows its field.
        let more = format!("{indent}{YAML}: {{a: '$(image:'}}\n{field}");
        hostile = hostile.replacen(field, &more, 1);
    }
    desk.write("release.yaml", hostile);
    let answer = desk.solution(&["init", "--from", "release.yaml", "made"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let notes = String::from_utf8(desk.read("made/NOTES.md")).unwrap();
    assert!(notes.contains(SHOWN), "{notes}");
    let source = String::from_utf8(desk.read("made/solution.yaml")).unwrap();
    assert!(!source.contains(HOSTILE), "{source}");
    desk.write(
        "release.yaml",
        format!("{release}---\na: &a {{{YAML}: 1}}\nb: {{{YAML}: 2, <<: *a}}\n"),
    );
    assert_shown(&desk.solution(&["init", "--from", "release.yaml", "other"]));
}

#[test]
fn a_name_of_a_file_forges_no_line() {
    let desk = Desk::with_archive();
    let name = format!("{HOSTILE}.iso");
    for arguments in [
        &["validate", &name, "--skip-signature"][..],
        &["inspect", &name],
        &["sign", &name, "--key", "publisher.key"],
        &["pack", &name, "--check"],
        &[
            "pack",
            "--unsigned",
            "--out",
            "x.iso",
            "--compression",
            &name,
        ],
        &["init", "--from", &name],
        &["init", "--version", &name],
        &[&name],
    ] {
        assert_shown(&desk.solution(arguments));
        let answer = desk.solution(&[arguments, &["--output", "json"]].concat());
        assert_harmless(&answer);
        assert!(answer.json()["error"].is_string(), "{answer:?}");
    }
    assert_shown(&desk.solution(&["cat", &name, "manifest.yaml"]));
    assert_shown(&desk.solution(&["cat", "example.iso", &name]));
    let made = desk.solution(&["keygen", HOSTILE]);
    assert_eq!(made.code, 0, "{made:?}");
    assert_shown(&made);
    let json = desk
        .solution(&["inspect", &name, "--output", "json"])
        .json();
    let hostile = |text: &Value| text.as_str().unwrap().contains(HOSTILE);
    assert!(hostile(&json["error"]), "{json:#}");
}

#[test]
fn a_registry_forges_no_line() {
    let desk = Desk::new();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let error = format!(r#"{{"errors":[{{"code":"DENIED","message":{JSON}}}]}}"#);
    for body in [&error, HOSTILE] {
        let registry = server("400 Bad Request", body);
        let solution = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
        let from = "source: oci:images/example-operator:1.0.0";
        let to = format!("source: docker://127.0.0.1:{registry}/app:1");
        desk.write("source/solution.yaml", solution.replacen(from, &to, 1));
        let answer = desk.solution(&["pack", "source", "--check", "--no-cache", "--plain-http"]);
        assert_ne!(answer.code, 0, "{answer:?}");
        assert_harmless(&answer);
        desk.write("source/solution.yaml", solution);
    }
}

#[test]
fn a_cluster_forges_no_line() {
    let desk = Desk::with_archive();
    let body = format!(
        r#"{{"kind":"Status","apiVersion":"v1","status":"Failure","message":{JSON},"reason":"Forbidden","code":403}}"#
    );
    let port = server("403 Forbidden", &body);
    desk.write(
        "config",
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: c}}}}]\nusers: [{{name: c, user: {{}}}}]\n"
        ),
    );
    let import = [
        "import",
        "example.iso",
        "--key",
        "publisher.pub",
        "--registry",
        "127.0.0.1:9",
        "--kubeconfig",
        "config",
    ];
    assert_harmless(&desk.solution(&import));
    let answer = desk.solution(&[&import[..], &["--output", "json"]].concat());
    assert_harmless(&answer);
    let json = answer.json();
    assert!(json.to_string().contains("error: forged"), "{json:#}");
}

/// All output uses one file. clippy refuses the print macros, and this test covers the rest.
#[test]
fn only_one_file_of_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut open = vec![root.clone()];
    let mut read = 0;
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            // The progress bar is drawn there; its texts are escaped.
            let bar = name == "progress.rs" && line.contains("ProgressDrawTarget::stderr()");
            let prints = [
                "io::stdout",
                "io::stderr",
                "print!(",
                "println!(",
                ".print()",
                "terminal).write",
            ];
            let prints = prints.iter().any(|word| line.contains(word));
            assert!(
                !prints || bar || name == "render.rs",
                "{name}:{number}: {line}"
            );
        }
        read += 1;
    }
    assert!(read > 20, "{read} files");
}

/// Returns the alternatives of a schema, including those of the common schema. A reference to a whole other file is
/// checked there.
fn alternatives(schema: &Value, common: &Value) -> Vec<Value> {
    match (schema["anyOf"].as_array(), schema["$ref"].as_str()) {
        (Some(all), _) => all
            .iter()
            .flat_map(|alternative| alternatives(alternative, common))
            .collect(),
        (None, Some(reference)) => match reference.split_once('#') {
            Some((_, path)) => alternatives(common.pointer(path).unwrap(), common),
            None => Vec::new(),
        },
        (None, None) => vec![schema.clone()],
    }
}

#[test]
fn every_result_says_of_which_version_it_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas/results");
    let read =
        |path: &Path| -> Value { serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap() };
    let common = read(&folder.join("common.schema.json"));
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        if path.ends_with("common.schema.json") {
            continue;
        }
        for alternative in alternatives(&read(&path), &common) {
            let required = alternative["required"].as_array();
            let is_required =
                required.is_some_and(|fields| fields.contains(&"schemaVersion".into()));
            assert!(is_required, "{}: {alternative:#}", path.display());
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}

/// One entry for each command line that writes a result without a cluster. They run in this order, on one desk.
const WRITERS: &[&[&str]] = &[
    &["--help"],
    &["--version"],
    &["help", "pack"],
    &["version"],
    &["schema"],
    &["schema", "site"],
    &["completion", "bash"],
    &["completion", "zsh"],
    &["completion", "fish"],
    &["completion", "kubectl"],
    &["man", "pages"],
    &["keygen", "another"],
    &["init", "tree"],
    &["site", "init"],
    &["site", "check", "site.yaml"],
    &["fleet", "init"],
    &["fleet", "check", "fleet.yaml"],
    &["pack", "source", "--check"],
    &["validate", "example.iso", "--key", "publisher.pub"],
    &["inspect", "example.iso"],
    &["ls", "example.iso"],
    &["cat", "example.iso", "README.txt"],
    &["compare", "example.iso", "example.iso"],
    &["values", "example.iso"],
    &["extract", "example.iso", "--to", "out"],
    &["sign", "example.iso", "--key", "another.key"],
    &["checksums", "sign", "SUMS", "--key", "publisher.key"],
    &["checksums", "verify", "SUMS", "--key", "publisher.pub"],
    &["trust", "list"],
    &["rbac"],
];

#[test]
fn a_result_that_cannot_be_written_was_not_given() {
    let desk = Desk::with_archive();
    let sums = desk.run("sha256sum", &["publisher.pub"]).success();
    desk.write("SUMS", sums);
    for arguments in WRITERS {
        run_with_full_output(&desk, arguments);
    }
    for arguments in [
        &["version"][..],
        &["validate", "example.iso", "--key", "publisher.pub"],
        &["inspect", "example.iso"],
        &["ls", "example.iso"],
        &["compare", "example.iso", "example.iso"],
        &["values", "example.iso"],
        &["fleet", "check", "fleet.yaml"],
        &["rbac"],
    ] {
        run_with_full_output(&desk, &[arguments, &["--output", "json"]].concat());
    }
}

/// Runs the program with a full device as standard output.
#[track_caller]
fn run_with_full_output(desk: &Desk, arguments: &[&str]) {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut command = desk.command();
    let ended = command.args(arguments).stdout(full.unwrap()).output();
    let ended = ended.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{arguments:?}: {said}");
    let words = "error: cannot write to standard output";
    assert_eq!(said.matches(words).count(), 1, "{arguments:?}: {said}");
}

#[test]
fn results_are_yaml_if_that_is_asked_for() {
    let desk = Desk::with_archive();
    let text = |words: &[&str]| desk.solution(&[&["inspect", "example.iso"], words].concat());
    let json = text(&["-o", "json"]).json();
    let yaml = text(&["-o", "yaml"]).success();
    let read: serde_json::Value = schemas::yaml::from_slice(yaml.as_bytes()).unwrap();
    assert_eq!(read, json);
    assert_eq!(
        text(&["-o", "table"]).success(),
        text(&["--output", "human"]).success()
    );
    let wrong = desk.solution(&["frobnicate", "-o", "yaml"]);
    assert!(
        wrong.stdout.starts_with("schemaVersion: \"1\"\n"),
        "{wrong:?}"
    );
}
