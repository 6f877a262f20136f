//! Forgeries in the space around the files: slack, the system area, the end, and second sessions.

use super::README;
use crate::image::{Image, JOLIET, PRIMARY, TERMINATOR, Tree};
use crate::subject::{ENVELOPE, SECTOR};

/// Returns the message about a file that is longer than its image.
fn too_large(found: usize, size: usize) -> String {
    format!("has {found} bytes, the image {size}; `truncate -s {size} FILE` removes the rest")
}

#[test]
fn data_behind_the_end_is_refused() {
    let mut image = Image::good();
    let size = image.good.len();
    for more in [1, SECTOR, 1 << 20] {
        image.bytes.resize(size + more, 0);
        let message = too_large(size + more, size);
        image.refused("container.too-large", &format!("byte {size}"), &message);
    }
}

/// The descriptors include the additional data in the volume.
#[test]
fn data_behind_the_end_that_the_descriptors_count_is_refused() {
    let mut image = Image::good();
    let size = image.good.len();
    image.bytes.extend(vec![b'x'; 16 * SECTOR]);
    for descriptor in [PRIMARY, JOLIET] {
        image.put_both32(descriptor + 80, size / SECTOR + 16);
    }
    assert_eq!(image.seen().unwrap().volume.size, image.bytes.len() as u64);
    let message = too_large(image.bytes.len(), size);
    image.refused("container.too-large", &format!("byte {size}"), &message);
}

#[test]
fn slack_behind_a_file_is_refused() {
    let mut image = Image::good();
    let end = image.extent(image.record(Tree::Primary, README).start).end;
    image.put(end, b"hidden");
    image.refused_at(&["padding after README.txt"]);
}

/// The space after the list, whose end the statement defines.
#[test]
fn slack_behind_the_list_is_refused() {
    let mut image = Image::good();
    let end = image
        .extent(image.record(Tree::Primary, "CONTENTS").start)
        .end;
    image.put(end, b"0");
    image.refused_at(&["padding after CONTENTS"]);
}

#[test]
fn slack_in_a_directory_is_refused() {
    for (tree, part) in [
        (Tree::Primary, "primary directory operator/deploy"),
        (Tree::Joliet, "Joliet directory operator/deploy"),
    ] {
        let mut image = Image::good();
        let directory = image.directory(tree, "operator/deploy");
        // A record length of zero ends the records, regardless of the following bytes.
        image.put(directory.end - 6, b"hidden");
        image.seen().unwrap();
        image.refused_at(&[part]);
    }
}

/// The byte that pads an identifier to an even length.
#[test]
fn slack_in_a_record_is_refused() {
    let mut image = Image::good();
    let directory = image.directory(Tree::Primary, "");
    let even = image.records(directory).find_map(|record| {
        let len = image.identifier(&record).len();
        len.is_multiple_of(2).then_some(record.start + 33 + len)
    });
    image.bytes[even.unwrap()] = 1;
    image.seen().unwrap();
    image.refused_at(&["primary root directory"]);
}

#[test]
fn slack_in_a_descriptor_is_refused() {
    for (at, part) in [
        (PRIMARY + 7, "primary volume descriptor"),
        (PRIMARY + 72, "primary volume descriptor"),
        (PRIMARY + 883, "primary volume descriptor"),
        (PRIMARY + 2047, "primary volume descriptor"),
        (JOLIET + 882, "Joliet volume descriptor"),
        (TERMINATOR + 7, "volume descriptor set terminator"),
        (TERMINATOR + 2047, "volume descriptor set terminator"),
        (19 * SECTOR, "reserved sectors before the first file"),
        (32 * SECTOR - 1, "reserved sectors before the first file"),
    ] {
        let mut image = Image::good();
        image.bytes[at] ^= 0xFF;
        image.seen().unwrap();
        image.refused_at(&[part]);
    }
}

#[test]
fn slack_in_the_continuation_area_is_refused() {
    let mut image = Image::good();
    let root = image.directory(Tree::Primary, "");
    let first = image.records(root).next().unwrap();
    let ce = image.entry(&first, *b"CE").unwrap().start;
    let area = image.le32(ce + 4) * SECTOR;
    image.bytes[area + SECTOR - 1] = 1;
    image.refused_at(&["continuation area of the root directory"]);
}

#[test]
fn slack_in_the_tail_is_refused() {
    let mut image = Image::good();
    *image.bytes.last_mut().unwrap() = 1;
    image.refused_at(&["zeros at the end"]);
}

/// Boot code, and a partition table that other systems mount instead of the image.
#[test]
fn a_system_area_that_starts_a_computer_is_refused() {
    let mut image = Image::good();
    image.put(0, &[0xFA, 0xEB, 0xFE]);
    image.put(446, &[0x80, 0, 1, 0, 0x17, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0]);
    image.put(510, &[0x55, 0xAA]);
    image.seen().unwrap();
    image.refused_at(&["system area"]);
}

/// A hybrid image: Apple's partition map starts in the second block of 512 bytes.
#[test]
fn a_system_area_with_a_partition_map_is_refused() {
    let mut image = Image::good();
    image.put(512, b"PM\0\0");
    image.refused_at(&["system area"]);
}

/// The descriptors of a session start at its sixteenth sector; drives show the last session.
#[test]
fn a_second_session_behind_the_end_is_refused() {
    let mut image = Image::good();
    let size = image.good.len();
    let session = image.good[..ENVELOPE.start].to_vec();
    image.bytes.extend(session);
    let message = too_large(image.bytes.len(), size);
    image.refused("container.too-large", &format!("byte {size}"), &message);
}

/// The session is in the zeros at the end, so the size is correct.
#[test]
fn a_second_session_in_the_tail_is_refused() {
    let mut image = Image::good();
    let (tail, descriptors) = (image.tail(), PRIMARY..TERMINATOR + SECTOR);
    let copy = image.good[descriptors].to_vec();
    image.put(tail + PRIMARY, &copy);
    image.refused_at(&["zeros at the end"]);
}

/// The image is extended as on rewritable discs: the first descriptors lead to the directories of the second session.
#[test]
fn a_second_session_that_the_first_descriptors_name_is_refused() {
    let mut image = Image::good();
    let (tail, root) = (image.tail(), image.directory(Tree::Primary, ""));
    let records = image.good[root].to_vec();
    image.put(tail, &records);
    for record in [PRIMARY + 156, tail] {
        image.put_both32(record + 2, tail / SECTOR);
    }
    let path_table = image.le32(PRIMARY + 140) * SECTOR;
    image.put(
        path_table + 2,
        &u32::try_from(tail / SECTOR).unwrap().to_le_bytes(),
    );
    let seen = image.seen().unwrap();
    assert!(seen.entries.iter().any(|entry| entry.path == README));
    image.refused_at(&[
        "primary volume descriptor",
        "primary path table L",
        "zeros at the end",
    ]);
}
