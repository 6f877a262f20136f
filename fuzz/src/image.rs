//! A small image with every kind of record, and changes to it. Random bytes almost never hit a directory record, so the
//! fuzzer decides where to write.

use std::sync::OnceLock;

use iso9660::{ContentId, Input, InputFile, Layout, Timestamp, Volume, plan, write_metadata};

use crate::{Choices, Sparse};

const SECTOR: usize = 2048;

/// An image, and its sectors that are not zero.
#[derive(Debug)]
pub struct Base {
    /// Its bytes.
    pub bytes: Vec<u8>,
    used: Vec<usize>,
}

/// Returns the image of a few files, without the trailing zeros: nested directories, shared content, an empty file,
/// clashing and long names.
pub fn small() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(build)
}

fn build() -> Base {
    let long = "n".repeat(103);
    let files = [
        ("CONTENTS", 100, 1),
        ("a-b", 1, 2),
        ("a_b", 1, 3),
        ("d/e/f/g/deep", 10, 4),
        ("d/empty", 0, 0),
        ("d/shared", 5000, 5),
        ("shared", 5000, 5),
        (long.as_str(), 1, 6),
        ("images/app/1.0.0/manifest.json", 20, 7),
    ];
    let file = |(path, size, content): (&str, u64, u8)| InputFile {
        path: path.into(),
        size,
        content: Some(ContentId([content; 32])),
    };
    let volume = Volume {
        id: "SMALL".to_owned(),
        set_id: "small-1.0.0".to_owned(),
        time: Timestamp::from_unix_seconds(315_532_800).expect("1980 can be written"),
    };
    let input = Input {
        volume,
        head: files[..1].iter().copied().map(file).collect(),
        body: files[1..].iter().copied().map(file).collect(),
    };
    let plan = plan(Layout::V1, input).expect("the files can be laid out");
    let medium = Sparse::new(plan.image_size());
    write_metadata(&plan, &medium).expect("memory can be written");
    let end = plan
        .extents()
        .iter()
        .map(|extent| extent.offset + extent.size)
        .max();
    let end = usize::try_from(end.unwrap_or_default().next_multiple_of(SECTOR as u64));
    let mut bytes = vec![0; end.expect("a small image")];
    iso9660::ReadAt::read_exact_at(&medium, &mut bytes, 0).expect("the image is larger");
    Base::new(bytes)
}

impl Base {
    /// Creates a base from any image.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let used = bytes.chunks(SECTOR).enumerate();
        let used = used.filter(|(_, sector)| sector.iter().any(|byte| *byte != 0));
        let used = used.map(|(number, _)| number * SECTOR).collect();
        Self { bytes, used }
    }

    /// Returns the image with the changes that the fuzzer chose.
    #[must_use]
    pub fn patched(&self, choices: &mut Choices<'_>) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        while !choices.is_empty() {
            let kind = choices.byte();
            let sector = self.used[usize::from(choices.byte()) % self.used.len()];
            let at = sector + choices.below(SECTOR);
            match kind % 6 {
                0 => put(&mut bytes, at, &[choices.byte()]),
                1 => {
                    let len = usize::from(choices.byte());
                    put(&mut bytes, at, choices.bytes(len));
                }
                // A number in the encoding of ECMA-119 7.3.3.
                2 => {
                    let number = choices.number() >> (choices.byte() % 32);
                    put(&mut bytes, at, &number.to_le_bytes());
                    put(&mut bytes, at + 4, &number.to_be_bytes());
                }
                // A copy of a sector or of a part of it, so that its records stay valid.
                3 => {
                    let from = self.used[usize::from(choices.byte()) % self.used.len()];
                    let from = from + choices.below(SECTOR);
                    let len = choices.below(SECTOR);
                    let piece = self.bytes[from..self.bytes.len().min(from + len)].to_vec();
                    put(&mut bytes, at, &piece);
                }
                4 => bytes.truncate(at),
                // An insertion, which moves the rest of the sector.
                _ => {
                    let piece = choices.bytes(16);
                    let end = bytes.len().min(sector + SECTOR);
                    if at + piece.len() <= end {
                        bytes.copy_within(at..end - piece.len(), at + piece.len());
                        put(&mut bytes, at, piece);
                    }
                }
            }
        }
        bytes
    }
}

/// Writes the bytes that fit.
fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(at..) {
        let len = what.len().min(place.len());
        place[..len].copy_from_slice(&what[..len]);
    }
}
