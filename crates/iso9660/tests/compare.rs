//! Tests that the comparison finds every byte of metadata that differs from the plan, and no other byte.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::Cell;
use std::io;

use common::{Content, Sparse, assert_covered, body, head, image};
use iso9660::{ImagePlan, ReadAt, RegionBytes, compare};

fn small() -> (ImagePlan, Vec<u8>) {
    let file = |path: &str, len: usize| -> Content { (path.to_owned(), vec![b'x'; len]) };
    let head = [file("statement", 3000), file("CONTENTS", 10)];
    let body = [
        file("manifest.yaml", 2048),
        file("empty", 0),
        file("a/b", 4097),
        file("a/c", 1),
        file("d/e", 10_000),
    ];
    let (plan, image) = image(&head, &body);
    (plan, image.to_bytes())
}

/// Returns for each byte of the image whether it belongs to a file.
fn data_map(plan: &ImagePlan) -> Vec<bool> {
    let index = |offset| usize::try_from(offset).unwrap();
    let mut map = vec![false; index(plan.image_size())];
    for extent in plan.extents() {
        map[index(extent.offset)..index(extent.offset + extent.size)].fill(true);
    }
    map
}

#[test]
fn regions_and_extents_cover_the_image_exactly_once() {
    assert_covered(&small().0);
    assert_covered(&image(&head(), &body()).0);
    // The first content starts on a 4 KiB boundary. The number of sectors before it is odd, which leaves a gap.
    let one = [("h".to_owned(), b"x".to_vec())];
    let large = [("f".to_owned(), b"x".repeat(4096))];
    assert_covered(&image(&[], &large).0);
    assert_covered(&image(&one, &large).0);
    assert_covered(&image(&one, &[]).0);
}

#[test]
fn every_flipped_byte_of_metadata_is_found_at_its_place() {
    let (plan, mut image) = small();
    assert_eq!(compare(&plan, &image, 10).unwrap(), []);
    let mut places = Vec::new();
    plan.visit_metadata(&mut |region| {
        let (start, end) = (region.offset, region.offset + region.bytes.size());
        // In long runs of zeros, a sample that includes both ends suffices.
        let step = if matches!(region.bytes, RegionBytes::Zeros(4096..)) {
            509
        } else {
            1
        };
        places.extend((start..end).step_by(step).chain([end - 1]));
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap();
    for place in places {
        let index = usize::try_from(place).unwrap();
        image[index] ^= 0x01;
        let found = compare(&plan, &image, 10).unwrap();
        assert_eq!(
            found
                .iter()
                .map(|difference| difference.offset)
                .collect::<Vec<_>>(),
            [place]
        );
        assert_eq!(
            (found[0].expected, found[0].found),
            (image[index] ^ 0x01, image[index])
        );
        image[index] ^= 0x01;
    }
}

#[test]
fn file_data_is_not_looked_at() {
    let (plan, mut image) = small();
    for (index, _) in data_map(&plan)
        .iter()
        .enumerate()
        .filter(|(_, is_data)| **is_data)
    {
        image[index] ^= 0xFF;
    }
    assert_eq!(compare(&plan, &image, 10).unwrap(), []);
}

#[test]
fn differences_say_where_they_are() {
    let (plan, image) = small();
    let extent = |path| usize::try_from(plan.extent_of(path).unwrap().offset).unwrap();
    let tables = extent("CONTENTS") + 2048;
    for (index, words) in [
        (0, "system area"),
        (32_768, "primary volume descriptor"),
        (34_816, "Joliet volume descriptor"),
        (36_864, "volume descriptor set terminator"),
        (38_912, "reserved sectors before the first file"),
        (extent("CONTENTS") + 10, "padding after CONTENTS"),
        (tables, "primary path table L"),
        (tables + 2048, "primary path table M"),
        (tables + 3 * 2048, "Joliet path table M"),
        (tables + 4 * 2048, "primary root directory"),
        (tables + 5 * 2048, "primary directory a"),
        (tables + 7 * 2048, "continuation area of the root directory"),
        (tables + 10 * 2048, "Joliet directory d"),
        (tables + 11 * 2048, "zero block"),
        (extent("a/b") + 4097, "padding after a/b"),
        (image.len() - 1, "zeros at the end"),
    ] {
        let mut bad = image.clone();
        bad[index] ^= 0x80;
        let found = compare(&plan, &bad, 1).unwrap();
        let (expected, now) = (image[index], bad[index]);
        assert_eq!(
            found[0].to_string(),
            format!("{words} at byte {index}: 0x{now:02x} instead of 0x{expected:02x}")
        );
    }
}

#[test]
fn differences_are_limited() {
    let (plan, image) = small();
    let bad: Vec<u8> = image.iter().map(|byte| byte ^ 0xFF).collect();
    assert_eq!(compare(&plan, &bad, 3).unwrap().len(), 3);
    assert!(compare(&plan, &bad, usize::MAX).unwrap().len() > 20);
}

#[test]
fn a_short_medium_is_an_error_that_says_where() {
    let (plan, mut image) = small();
    image.truncate(image.len() - 1);
    let error = compare(&plan, &image, 1).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    assert!(
        error
            .to_string()
            .starts_with("cannot read zeros at the end at byte "),
        "{error}"
    );
}

/// A medium that counts the bytes that are read.
struct Counting(Sparse, Cell<u64>);

impl ReadAt for Counting {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.1.set(self.1.get() + buf.len() as u64);
        self.0.read_exact_at(buf, offset)
    }
}

#[test]
fn only_metadata_is_read_each_byte_once() {
    let (plan, image) = image(&head(), &body());
    let data: u64 = plan.extents().iter().map(|extent| extent.size).sum();
    let medium = Counting(image, Cell::new(0));
    assert_eq!(compare(&plan, &medium, 1).unwrap(), []);
    assert_eq!(medium.1.get(), plan.image_size() - data);
}
