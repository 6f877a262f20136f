//! Images whose bytes are pinned. A layout never changes. If one of these tests fails, this version would refuse every
//! existing archive: such a change needs a new layout.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::dump::Dump;
use common::{Content, body, digest, head, hex, image, volume};
use iso9660::limits::Limits;
use iso9660::reader::read_tree;
use iso9660::{ImagePlan, Input, Layout, RegionBytes, Timestamp, plan};

fn image_digest(head: &[Content], body: &[Content]) -> String {
    hex(&digest(&image(head, body).1.to_bytes()))
}

/// Returns the digest of all metadata in the order of the visit.
fn metadata_digest(plan: &ImagePlan) -> String {
    let mut all = Vec::new();
    plan.visit_metadata(&mut |region| {
        all.extend_from_slice(&region.offset.to_le_bytes());
        match region.bytes {
            RegionBytes::Bytes(bytes) => all.extend_from_slice(bytes),
            RegionBytes::Zeros(len) => all.extend_from_slice(&len.to_le_bytes()),
        }
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap();
    hex(&digest(&all))
}

#[test]
fn the_smallest_image() {
    // Without files: descriptors, four path tables with the root, two root directories.
    assert_eq!(
        image_digest(&[], &[]),
        "67b0b985a332e0850c17d37ce36741cc9b551b3fe0965017ebc1de456525202b"
    );
}

#[test]
fn an_image_with_every_kind_of_name_size_and_sharing() {
    // All of `common::body`: clashes, names of 103 bytes, seven directories, shared and empty files, 200 siblings.
    assert_eq!(
        image_digest(&head(), &body()),
        "8e30719f66dff59d130a499a95b58bf7325c32ae60c75bf297a034a1f8c491a6"
    );
}

#[test]
fn a_file_in_two_sections() {
    // A file of one section and one byte (0xFFFFF800 + 1). Only its metadata is hashed.
    let file = iso9660::InputFile {
        path: "big".into(),
        size: 0xFFFF_F801,
        content: None,
    };
    let input = Input {
        volume: volume(),
        head: vec![],
        body: vec![file],
    };
    assert_eq!(
        metadata_digest(&plan(Layout::V1, input).unwrap()),
        "1f6688df5774bfdbbcc3dc217f6ae95e198497f2e929661e4b7e2ddf1c10d0a5"
    );
}

#[test]
fn the_earliest_time_and_the_longest_identifiers() {
    let mut volume = volume();
    volume.id = "V".repeat(32);
    volume.set_id = "s".repeat(128);
    volume.time = Timestamp::EARLIEST;
    let input = Input {
        volume,
        head: vec![],
        body: vec![],
    };
    assert_eq!(
        metadata_digest(&plan(Layout::V1, input).unwrap()),
        "b7f9e0a82dab4b968d7a928f41e553921ce0bccf8c2182e7781993176fb17439"
    );
}

#[test]
fn what_a_small_image_looks_like() {
    let file = |path: &str, bytes: &[u8]| (path.to_owned(), bytes.to_vec());
    let head = [
        file("statement.dsse.json", &b" ".repeat(65_536)),
        file("CONTENTS", b"list"),
    ];
    let body = [
        file("manifest.yaml", b"m"),
        file("empty", b""),
        file("a/b/big", &b"x".repeat(5000)),
        file("a/same", &b"x".repeat(5000)),
    ];
    let (_, image) = image(&head, &body);
    let tree = read_tree(&image, image.size, &Limits::default()).unwrap();
    // Sectors: 64 CONTENTS, 65 to 68 path tables, 69 to 71 primary directories, 72 continuation area, 73 to 75 Joliet
    // directories, 76 zero block, 77 manifest.yaml, 78 the big content on a 4 KiB boundary.
    let expected = "\
volume `EXAMPLE_SOLUTION_1_2_3` set `example-solution-1.2.3` size 1245184 names RockRidge
-0444 1 4 131072+4 CONTENTS
d0555 3 0 a
d0555 2 0 a/b
-0444 2 5000 159744+5000 a/b/big
-0444 2 5000 159744+5000 a/same
-0444 1 0 empty
-0444 1 1 157696+1 manifest.yaml
-0444 1 65536 65536+65536 statement.dsse.json
";
    assert_eq!(Dump(&tree).to_string(), expected);
}
