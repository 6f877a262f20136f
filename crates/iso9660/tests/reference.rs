//! A comparison with a second implementation of layout 1, which was written from the specification: both must produce
//! the same bytes. Only this test can detect a difference between specification and code; other programs cannot.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{body, described, head, hex, volume};
use iso9660::{ContentId, Input, InputFile, Layout, Timestamp, Volume, compare, plan};

/// The input in the form that the script reads.
fn lines(input: &Input) -> String {
    let Volume { id, set_id, time } = &input.volume;
    let mut text = format!("volume {id}\nset {set_id}\ntime {}\n", time.unix_seconds());
    for (word, files) in [("head", &input.head), ("body", &input.body)] {
        for InputFile {
            path,
            size,
            content,
        } in files
        {
            let content = content.map_or("-".to_owned(), |ContentId(id)| hex(&id));
            writeln!(text, "{word} {size} {content} {path}").unwrap();
        }
    }
    text
}

fn assert_same_bytes(input: Input) {
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image.iso");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference.py");
    let child = Command::new("python3")
        .arg(script)
        .arg(&image)
        .stdin(Stdio::piped())
        .spawn();
    let mut child = child
        .unwrap_or_else(|error| panic!("cannot run python3: {error} (install package python3)"));
    child
        .stdin
        .take()
        .unwrap()
        .write_all(lines(&input).as_bytes())
        .unwrap();
    assert!(child.wait().unwrap().success());
    let plan = plan(Layout::V1, input).unwrap();
    assert_eq!(fs::metadata(&image).unwrap().len(), plan.image_size());
    let differences = compare(&plan, &fs::File::open(&image).unwrap(), 5).unwrap();
    let shown: Vec<_> = differences.iter().map(ToString::to_string).collect();
    assert_eq!(shown, Vec::<String>::new());
}

#[test]
fn an_image_with_every_kind_of_name_size_and_sharing() {
    assert_same_bytes(Input {
        volume: volume(),
        head: described(&head()),
        body: described(&body()),
    });
}

#[test]
fn an_empty_image_with_the_longest_identifiers() {
    let volume = Volume {
        id: "V".repeat(32),
        set_id: "s".repeat(128),
        time: Timestamp::LATEST,
    };
    assert_same_bytes(Input {
        volume,
        head: vec![],
        body: vec![],
    });
}

#[test]
fn files_in_sections_and_numbered_names() {
    let file = |path: &str, size, id: Option<u8>| InputFile {
        path: path.into(),
        size,
        content: id.map(|id| ContentId([id; 32])),
    };
    let body = vec![
        file("big", 0xFFFF_F800 * 2 + 1, Some(1)),
        file("d.1/same", 0xFFFF_F800 * 2 + 1, Some(1)),
        file("exact", 0xFFFF_F800, None),
        file("d_1/x0000001", 3, Some(2)),
        file("d_1/A-a", 3, Some(2)),
        file("d_1/A.a/f", 3, None),
        file("d_1/A_a/f", 3, None),
        file("d_1/A-A.", 0, Some(3)),
        file("d-1/e", 0, Some(3)),
    ];
    let head = vec![
        file("h/small", 1, Some(4)),
        file("h/empty", 0, None),
        file("h/more", 5000, Some(5)),
    ];
    let body = body.into_iter().chain([file("z", 1, Some(4))]).collect();
    assert_same_bytes(Input {
        volume: volume(),
        head,
        body,
    });
}
