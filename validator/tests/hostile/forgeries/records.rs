//! Forged fields of a directory record: flags, owners, modes, times, and numbers in both byte orders.

use super::{README, ROLE};
use crate::image::{FLAGS, Image, LENGTH, LOCATION, PRIMARY, TIME, Tree};

fn with_flag(flag: u8) -> Image {
    let mut image = Image::good();
    for tree in Tree::BOTH {
        let record = image.record(tree, ROLE).start;
        image.bytes[record + FLAGS] |= flag;
    }
    image
}

const BOTH: [&str; 2] = [
    "primary directory operator/deploy",
    "Joliet directory operator/deploy",
];

/// Some systems hide the file, but all can open it.
#[test]
fn a_hidden_flag_is_refused() {
    let image = with_flag(0x01);
    assert!(
        image
            .seen()
            .unwrap()
            .entries
            .iter()
            .any(|entry| entry.path == ROLE)
    );
    image.refused_at(&BOTH);
}

/// A part of another file (ECMA-119 6.5.4), which most readers ignore.
#[test]
fn an_associated_flag_is_refused() {
    let image = with_flag(0x04);
    let error = image.seen().unwrap_err().to_string();
    assert!(
        error.ends_with("associated files are not supported"),
        "{error}"
    );
    image.refused_at(&BOTH);
}

#[test]
fn other_flags_are_refused() {
    for flag in [0x08, 0x10, 0x20, 0x40] {
        with_flag(flag).refused_at(&BOTH);
    }
}

#[test]
fn an_interleaved_file_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, ROLE).start;
    image.put(record + FLAGS + 1, &[1, 1]);
    image.refused_at(&BOTH[..1]);
}

#[test]
fn an_extended_attribute_record_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, ROLE).start;
    image.bytes[record + 1] = 1;
    image.refused_at(&BOTH[..1]);
}

/// Little-endian and big-endian readers see different locations.
#[test]
fn byte_orders_that_disagree_are_refused() {
    let image = Image::good();
    let record = image.record(Tree::Primary, ROLE);
    let px = image.entry(&record, *b"PX").unwrap().start;
    let directory = BOTH[0];
    let descriptor = "primary volume descriptor";
    // The offset of the big-endian half, and whether the reader uses the number.
    for (big, part, is_used) in [
        (record.start + LOCATION + 4, directory, true),
        (record.start + LENGTH + 4, directory, true),
        (px + 8, directory, true),
        (PRIMARY + 84, descriptor, true),
        (PRIMARY + 136, descriptor, false),
        (PRIMARY + 156 + LOCATION + 4, descriptor, true),
    ] {
        let mut image = Image::good();
        // The most and the least significant byte.
        for at in [big, big + 3] {
            image.bytes[at] ^= 0x01;
            assert_eq!(image.seen().is_err(), is_used, "{at}");
            image.refused_at(&[part]);
            image.bytes[at] ^= 0x01;
        }
    }
}

#[test]
fn a_setuid_bit_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, README);
    let px = image.entry(&record, *b"PX").unwrap();
    image.put_both32(px.start + 4, 0o104_555);
    let seen = image.seen().unwrap();
    let entry = seen
        .entries
        .iter()
        .find(|entry| entry.path == README)
        .unwrap();
    assert_eq!(entry.mode, Some(0o104_555));
    image.refused_at(&["primary root directory"]);
}

#[test]
fn another_owner_is_refused() {
    // The fields for links, user, group and serial number.
    for field in [12, 20, 28, 36] {
        let mut image = Image::good();
        let record = image.record(Tree::Primary, README);
        let px = image.entry(&record, *b"PX").unwrap();
        image.put_both32(px.start + field, 1000);
        image.refused_at(&["primary root directory"]);
    }
}

#[test]
fn other_dates_are_refused() {
    let image = Image::good();
    let record = image.record(Tree::Primary, README);
    let tf = image.entry(&record, *b"TF").unwrap().start;
    let joliet = image.record(Tree::Joliet, README).start;
    let root = "primary root directory";
    let descriptor = "primary volume descriptor";
    for (name, at, value, part) in [
        ("recorded", record.start + TIME, 126, root),
        (
            "recorded in Joliet",
            joliet + TIME,
            126,
            "Joliet root directory",
        ),
        ("no month", record.start + TIME + 1, 13, root),
        ("another time zone", record.start + TIME + 6, 4, root),
        ("modified", tf + 5, 126, root),
        ("accessed", tf + 12, 126, root),
        ("attributes changed", tf + 19, 126, root),
        ("which times there are", tf + 4, 0x8E, root),
        ("created", PRIMARY + 813, b'2', descriptor),
        ("expires", PRIMARY + 847, b'2', descriptor),
        ("effective", PRIMARY + 864, b'2', descriptor),
    ] {
        let mut image = Image::good();
        assert_ne!(image.bytes[at], value, "{name}");
        image.bytes[at] = value;
        image.refused_at(&[part]);
    }
}
