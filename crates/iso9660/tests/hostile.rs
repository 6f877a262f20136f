//! Tests of the reader with damaged and malicious images. Errors are expected; panics, hangs and excessive reads are
//! bugs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::cell::Cell;
use std::io;
use std::time::{Duration, Instant};

use common::{Random, body, head, image, mutated, non_zero, put_both32};
use iso9660::limits::Limits;
use iso9660::reader::{ImageReadError, read_tree};
use iso9660::{ImagePart, ImagePlan, ReadAt, TreeKind};

/// A medium that fails the test if a reader requests too much.
struct Watched {
    bytes: Vec<u8>,
    left: Cell<u64>,
}

impl ReadAt for Watched {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let left = self.left.get().checked_sub(buf.len() as u64);
        self.left.set(left.expect("the reader reads without end"));
        self.bytes.read_exact_at(buf, offset)
    }
}

const LIMITS: Limits = Limits {
    descriptors: 64,
    entries: 2000,
    directories: 100,
    depth: 16,
    path_len: 1024,
    name_bytes: 1 << 20,
    metadata_bytes: 1 << 20,
    continuations: 8,
    sections: 100,
};

fn sample() -> (ImagePlan, Vec<u8>) {
    let (plan, image) = image(&head(), &body());
    (plan, image.to_bytes())
}

fn read(bytes: Vec<u8>) -> Result<usize, ImageReadError> {
    let size = bytes.len() as u64;
    let medium = Watched {
        bytes,
        left: Cell::new(LIMITS.metadata_bytes + 64 * 2048),
    };
    read_tree(&medium, size, &LIMITS).map(|tree| tree.entries.len())
}

/// The location of a directory's records.
fn directory(plan: &ImagePlan, wanted: &str) -> usize {
    let mut found = None;
    plan.visit_metadata(&mut |region| {
        if matches!(&region.part, ImagePart::Directory { tree: TreeKind::Primary, path } if path == wanted) {
            found.get_or_insert(usize::try_from(region.offset).unwrap());
        }
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap();
    found.unwrap()
}

/// Returns the start of the record in a directory whose Rock Ridge name is `name`.
fn record(bytes: &[u8], directory: usize, name: &str) -> usize {
    let entry = [
        b"NM",
        [u8::try_from(name.len() + 5).unwrap(), 1, 0].as_slice(),
        name.as_bytes(),
    ]
    .concat();
    let mut start = directory;
    loop {
        let len = usize::from(bytes[start]);
        assert!(len > 0, "{name} is not in the first sector");
        if bytes[start..start + len]
            .windows(entry.len())
            .any(|window| window == entry)
        {
            return start;
        }
        start += len;
    }
}

#[test]
fn thousands_of_mutations_neither_panic_nor_run_away() {
    let (_, bytes) = sample();
    let mut random = Random(20);
    // From sector 16 up to the data, without the statement in between.
    let targets = non_zero(&bytes, (16 * 2048..19 * 2048).chain(64 * 2048..110 * 2048));
    let (mut accepted, mut refused) = (0, 0);
    let started = Instant::now();
    for _ in 0..4000 {
        match read(mutated(&bytes, &targets, &mut random)) {
            Ok(_) => accepted += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(
        accepted > 100 && refused > 1000,
        "the mutations do not reach the reader: {accepted}, {refused}"
    );
    assert!(
        started.elapsed() < Duration::from_mins(2),
        "4000 small images take seconds"
    );
}

#[test]
fn every_truncation_is_refused() {
    let (plan, bytes) = sample();
    let end = plan
        .extents()
        .last()
        .map(|extent| usize::try_from(extent.offset + extent.size).unwrap())
        .unwrap();
    for len in (0..end).step_by(1999) {
        assert!(read(bytes[..len].to_vec()).is_err(), "{len}");
    }
    assert!(
        read(bytes[..end].to_vec()).is_ok(),
        "the tail is not needed"
    );
}

#[test]
fn a_directory_inside_itself_is_refused() {
    let (plan, mut bytes) = sample();
    let (root, images) = (directory(&plan, ""), directory(&plan, "images"));
    let at = record(&bytes, images, "app");
    put_both32(&mut bytes, at + 2, u32::try_from(root / 2048).unwrap());
    let error = read(bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("directory `images/app` at byte {root} occurs twice")
    );
}

#[test]
fn a_name_that_leaves_its_directory_is_refused() {
    let (plan, mut bytes) = sample();
    let images = directory(&plan, "images");
    let at = record(&bytes, images, "app");
    let name = bytes[at..]
        .windows(3)
        .position(|window| window == b"app")
        .unwrap();
    bytes[at + name..at + name + 3].copy_from_slice(b"../");
    let error = read(bytes).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "record at byte {at} in directory `images`: the name is empty, too long, not text or not safe"
        )
    );
}

#[test]
fn two_entries_with_one_name_are_refused() {
    let (plan, mut bytes) = sample();
    let at = record(&bytes, directory(&plan, "clash"), "a-b");
    let name = bytes[at..]
        .windows(3)
        .position(|window| window == b"a-b")
        .unwrap();
    bytes[at + name + 1] = b'.';
    assert_eq!(
        read(bytes).unwrap_err().to_string(),
        "`clash/a.b` occurs twice"
    );
}

#[test]
fn a_file_outside_the_image_is_refused() {
    let (plan, mut bytes) = sample();
    let at = record(&bytes, directory(&plan, "clash"), "a-b");
    put_both32(&mut bytes, at + 2, u32::MAX);
    let end = bytes.len();
    let offset = u64::from(u32::MAX) * 2048;
    assert_eq!(
        read(bytes).unwrap_err().to_string(),
        format!(
            "`clash/a-b` at byte {offset} with 1 bytes extends past the end of the image at byte {end}"
        )
    );
}

#[test]
fn a_huge_directory_of_nothing_is_refused() {
    let (plan, mut bytes) = sample();
    let at = record(&bytes, directory(&plan, ""), "images");
    put_both32(&mut bytes, at + 10, 0xFFFF_FFFF);
    assert!(matches!(
        read(bytes).unwrap_err(),
        ImageReadError::OutOfImage { .. }
    ));
}

#[test]
fn a_missing_last_section_is_refused() {
    let (plan, bytes) = sample();
    let clash = directory(&plan, "clash");
    for (name, problem) in [
        ("a-b", "the next section of a file is missing"),
        (&"d".repeat(103), "a directory in several sections"),
    ] {
        let mut bad = bytes.clone();
        let at = record(&bad, clash, name);
        bad[at + 25] |= 0x80;
        let error = read(bad).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{error}");
    }
}

#[test]
fn each_limit_is_kept() {
    let (_, bytes) = sample();
    let with = |limits: Limits| {
        read_tree(&bytes, bytes.len() as u64, &limits)
            .unwrap_err()
            .to_string()
    };
    for (limits, words) in [
        (
            Limits {
                descriptors: 2,
                ..LIMITS
            },
            "more than 2 volume descriptors",
        ),
        (
            Limits {
                entries: 10,
                ..LIMITS
            },
            "more than 10 entries",
        ),
        (
            Limits {
                directories: 5,
                ..LIMITS
            },
            "more than 5 directories",
        ),
        (
            Limits { depth: 6, ..LIMITS },
            "more than 6 levels of directories",
        ),
        (
            Limits {
                path_len: 60,
                ..LIMITS
            },
            "more than 60 bytes of a path",
        ),
        (
            Limits {
                name_bytes: 500,
                ..LIMITS
            },
            "more than 500 bytes of names",
        ),
        (
            Limits {
                metadata_bytes: 30_000,
                ..LIMITS
            },
            "more than 30000 bytes of directories",
        ),
        (
            Limits {
                continuations: 0,
                ..LIMITS
            },
            "too many continuation areas",
        ),
    ] {
        let message = with(limits);
        assert!(message.ends_with(words), "{message}");
    }
}

#[test]
fn what_is_not_an_image_is_said_to_be_none() {
    let error = read(vec![0; 100_000]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not an ISO 9660 image: no volume descriptor at byte 32768"
    );
    let error = read(Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot read a volume descriptor at byte 32768"
    );
}
