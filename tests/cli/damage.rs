//! Bad archives given to `validate`: each is refused with the id of what is wrong.

use std::os::unix::fs::FileExt as _;

use crate::common::Desk;

/// Changes bytes of the archive in place.
fn change(desk: &Desk, offset: u64, change: impl FnOnce(&mut u8)) {
    let path = desk.path("example.iso");
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).unwrap();
    change(&mut byte[0]);
    file.write_all_at(&byte, offset).unwrap();
}

fn flip(desk: &Desk, offset: u64) {
    change(desk, offset, |byte| *byte ^= 0x10);
}

#[track_caller]
fn refused(desk: &Desk, words: &[&str]) {
    let text = desk
        .solution(&["validate", "example.iso", "--key", "publisher.pub"])
        .failure(1);
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// Where some bytes lie in the archive, at their first occurrence from an offset on.
fn find(desk: &Desk, what: &[u8], from: usize) -> u64 {
    let bytes = desk.read("example.iso");
    let found = bytes[from..]
        .windows(what.len())
        .position(|window| window == what);
    (from
        + found
            .unwrap_or_else(|| panic!("{} is not in the archive", String::from_utf8_lossy(what))))
        as u64
}

#[test]
fn not_an_archive() {
    let desk = Desk::with_archive();
    desk.write("example.iso", "hello");
    refused(&desk, &["container."]);
    desk.write("example.iso", "");
    refused(&desk, &["container."]);
    let text = desk
        .solution(&["validate", "nowhere.iso", "--key", "publisher.pub"])
        .failure(3);
    assert!(text.contains("nowhere.iso"), "{text}");
}

#[test]
fn truncated() {
    let desk = Desk::with_archive();
    let bytes = desk.read("example.iso");
    for length in [1000, 70_000, 200_000, bytes.len() / 2, bytes.len() - 1] {
        desk.write("example.iso", &bytes[..length]);
        refused(&desk, &["container.truncated"]);
    }
    let mut longer = bytes;
    longer.push(0);
    desk.write("example.iso", longer);
    refused(&desk, &["container."]);
}

#[test]
fn flipped_bits_in_what_is_not_data() {
    // System area, volume descriptor, reserved sectors, the last sector.
    let end = Desk::with_archive().read("example.iso").len() as u64 - 1;
    for offset in [0, 16 * 2048 + 200, 17 * 2048 + 100, 20 * 2048, end] {
        let desk = Desk::with_archive();
        flip(&desk, offset);
        refused(&desk, &["container."]);
    }
}

#[test]
fn flipped_bits_in_trees_and_tables() {
    let tables = 64 * 2048 + 2048;
    // `IMAGES` in the first path table, in the primary tree; `images` as Joliet spells it, in the Joliet tree only.
    for what in [&b"IMAGES"[..], b"MANIFEST.YAML;1", b"\0i\0m\0a\0g\0e\0s"] {
        let desk = Desk::with_archive();
        flip(&desk, find(&desk, what, tables) + 1);
        refused(&desk, &["container."]);
    }
}

#[test]
fn flipped_bits_in_data() {
    let desk = Desk::with_archive();
    flip(&desk, find(&desk, b"apiVersion", 64 * 2048) + 2);
    refused(
        &desk,
        &["integrity.", "damaged or altered", "treat it as tampering"],
    );
}

#[test]
fn flipped_bits_in_the_statement() {
    let desk = Desk::with_archive();
    flip(&desk, 65_536 + 30);
    refused(&desk, &["signature."]);
}

#[test]
fn contents_that_disagree() {
    let desk = Desk::with_archive();
    change(&desk, 64 * 2048 + 5, |byte| {
        *byte = if *byte == b'0' { b'1' } else { b'0' }
    });
    refused(&desk, &["CONTENTS"]);
}

#[test]
fn signatures_that_do_not_count() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let validate = |more: &[&str]| {
        let mut arguments = vec!["validate", "example.iso"];
        arguments.extend(more);
        desk.solution(&arguments)
    };
    let wrong = validate(&["--key", "other.pub"]).failure(1);
    assert!(wrong.contains("signature.untrusted"), "{wrong}");
    let few = validate(&[
        "--key",
        "other.pub",
        "--key",
        "publisher.pub",
        "--threshold",
        "2",
    ])
    .failure(1);
    assert!(
        few.contains("signature.threshold") && few.contains("1 of 2"),
        "{few}"
    );
    let twice = validate(&[
        "--key",
        "publisher.pub",
        "--key",
        "publisher.pub",
        "--threshold",
        "2",
    ])
    .failure(2);
    assert!(twice.contains("twice"), "{twice}");
    let open = validate(&["--key", "other.pub", "--key", "publisher.pub"]).failure(2);
    assert!(open.contains("threshold"), "{open}");
    let secret = validate(&["--key", "publisher.key"]).failure(1);
    assert!(secret.contains("publisher.key"), "{secret}");
}

#[test]
fn a_large_envelope_is_never_read_whole() {
    // A gigabyte where the statement should be: only 64 KiB of it are read.
    let desk = Desk::with_archive();
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(desk.path("example.iso"))
        .unwrap();
    file.set_len(1 << 30).unwrap();
    file.write_all_at(&[b' '; 100], 65_536).unwrap();
    refused(&desk, &["signature."]);
}
