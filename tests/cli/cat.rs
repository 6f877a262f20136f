//! `solution archive cat`, which prints one file of an archive.

use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::process::Stdio;

use archive::ArchiveFile;
use signing::SecretKey;

use crate::common::Desk;
use crate::stages;

/// The size of the large file: more than the program buffers, in many chunks.
const LARGE: usize = 40 << 20;

/// Returns the output of a command, its errors, and its exit code.
fn run_for_bytes(desk: &Desk, arguments: &[&str]) -> (Vec<u8>, String, Option<i32>) {
    let output = desk.command().args(arguments).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    (output.stdout, stderr, output.status.code())
}

/// Returns the bytes of a large file, and adds it to an archive under a name that the statement declares.
fn write_large_archive(desk: &Desk) -> Vec<u8> {
    let path = desk.path("example.iso");
    let listed = stages::list(&path);
    let content: Vec<u8> = (0..LARGE).map(|at| (at % 251).to_le_bytes()[0]).collect();
    let mut info = stages::statement_info(&listed);
    info.optional.push("extra".to_owned());
    let file = ArchiveFile::from_bytes("extra/large".parse().unwrap(), content.clone());
    let files = stages::files(&listed).into_iter().chain([file]).collect();
    let pem = String::from_utf8(desk.read("publisher.key")).unwrap();
    let key = SecretKey::from_pem(&pem).unwrap();
    stages::write(stages::unsigned(info, files).sign(&[key]).unwrap(), &path);
    content
}

/// Changes the first byte of a file of the archive.
fn damage(desk: &Desk, path: &str) {
    let archive = desk.path("example.iso");
    let offset = stages::list(&archive)
        .plan()
        .extent_of(path)
        .unwrap()
        .offset;
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(archive);
    let (file, mut byte) = (file.unwrap(), [0]);
    file.read_exact_at(&mut byte, offset).unwrap();
    file.write_all_at(&[byte[0] ^ 1], offset).unwrap();
}

#[test]
fn every_file_comes_as_it_is() {
    let desk = Desk::with_archive();
    let listed = stages::list(&desk.path("example.iso"));
    let paths = listed.contents().entries().iter();
    let paths: Vec<&str> = paths.map(|entry| entry.path.as_str()).collect();
    assert!(paths.contains(&"operator/deploy/role.yaml"), "{paths:?}");
    for path in paths.into_iter().chain(["CONTENTS", "SHA256SUMS"]) {
        let (stdout, stderr, code) = run_for_bytes(&desk, &["cat", "example.iso", path]);
        assert_eq!(code, Some(0), "{path}: {stderr}");
        assert!(stdout == listed.read(path, 1 << 30).unwrap(), "{path}");
        assert_eq!(
            stderr,
            "not verified: run `solution validate` to check its signatures and content\n"
        );
    }
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let desk = Desk::with_archive();
    for (path, words) in [
        (
            "nowhere",
            &[
                "has no file `nowhere`",
                "hint: list the files with `solution archive ls -R`",
            ][..],
        ),
        (
            "role.yaml",
            &[
                "has no file `role.yaml`",
                "hint: did you mean `operator/deploy/role.yaml`",
            ],
        ),
        (
            "operator/deploy",
            &["is a directory", "such as `operator/deploy/"],
        ),
        ("images/", &["is a directory", "such as `images/"]),
        (
            "/manifest.yaml",
            &["has no file", "hint: did you mean `manifest.yaml`?"],
        ),
        (
            "../manifest.yaml",
            &["has no file", "hint: did you mean `manifest.yaml`?"],
        ),
        ("", &["has no file ``", "solution archive ls -R"]),
    ] {
        let answer = desk.solution(&["cat", "example.iso", path]);
        assert_eq!(answer.stdout, "", "{answer:?}");
        let text = answer.failure(1);
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
    }
    let json = desk.solution(&["cat", "example.iso", "manifest.yaml", "--output", "json"]);
    assert_eq!((json.code, &json.json()["answer"]), (2, &"usage".into()));
}

#[test]
fn nothing_of_a_damaged_document_is_written() {
    let desk = Desk::with_archive();
    damage(&desk, "manifest.yaml");
    let (stdout, stderr, code) = run_for_bytes(&desk, &["cat", "example.iso", "manifest.yaml"]);
    assert_eq!((code, stdout), (Some(1), Vec::new()), "{stderr}");
    assert!(stderr.contains("is not what was signed"), "{stderr}");
    desk.solution(&["cat", "example.iso", "README.txt"])
        .success();
}

#[test]
fn damage_of_a_large_file_is_said_at_its_end() {
    let desk = Desk::with_archive();
    let content = write_large_archive(&desk);
    let (stdout, stderr, code) = run_for_bytes(&desk, &["cat", "example.iso", "extra/large"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout == content);
    damage(&desk, "extra/large");
    let (stdout, stderr, code) = run_for_bytes(&desk, &["cat", "example.iso", "extra/large"]);
    assert_eq!((code, stdout.len()), (Some(1), LARGE), "{stderr}");
    assert!(stdout[1..] == content[1..]);
    for words in ["is not what was signed", "hint: do not use the output"] {
        assert!(stderr.contains(words), "{stderr}");
    }
}

#[test]
fn a_large_file_is_never_whole_in_memory() {
    let desk = Desk::with_archive();
    write_large_archive(&desk);
    let mut command = desk.command();
    command.args(["cat", "example.iso", "extra/large"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // All but the last chunk is read, so that the program waits with full buffers.
    let mut screen = child.stdout.take().unwrap();
    let most = (LARGE - (1 << 20)) as u64;
    std::io::copy(&mut (&mut screen).take(most), &mut std::io::sink()).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let kilobytes = |field: &str| -> usize {
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        let value = value.unwrap().trim().trim_end_matches(" kB");
        value.parse().unwrap()
    };
    // The pages of the program's own file are not the content's. How many are resident depends on the page cache.
    let peak = kilobytes("VmHWM:") - kilobytes("RssFile:");
    assert!(peak * 1024 < LARGE / 2, "{peak} kB");
    drop(screen);
    assert!(child.wait().unwrap().code().is_some());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let desk = Desk::with_archive();
    write_large_archive(&desk);
    let mut command = desk.command();
    command.args(["cat", "example.iso", "extra/large"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(!stderr.contains("error"), "{stderr}");
}
