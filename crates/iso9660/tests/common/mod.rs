//! Helpers of the tests: images in memory with known data.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub(crate) mod dump;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;

use iso9660::{
    ContentId, ImagePlan, Input, InputFile, Layout, ReadAt, Timestamp, Volume, WriteAt, plan,
    write_metadata,
};
use sha2::{Digest, Sha256};

const SECTOR: u64 = 2048;

/// A medium that only stores the sectors that were written, so that it can be larger than memory.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    pub(crate) size: u64,
    sectors: RefCell<BTreeMap<u64, [u8; 2048]>>,
}

impl Sparse {
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            sectors: RefCell::default(),
        }
    }

    fn check(&self, offset: u64, len: usize) -> io::Result<()> {
        let end = offset
            .checked_add(len as u64)
            .ok_or(io::ErrorKind::InvalidInput)?;
        if end > self.size {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(())
        }
    }

    /// Returns all bytes of a small image.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.size).unwrap()];
        self.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }
}

/// Splits a run of bytes into pieces: sector, start within the sector, range of the run.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let position = offset + done as u64;
        let start = usize::try_from(position % SECTOR).unwrap();
        let count = (2048 - start).min(len - done);
        let range = done..done + count;
        done += count;
        (count > 0).then_some((position / SECTOR, start, range))
    })
}

impl ReadAt for Sparse {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len())?;
        let sectors = self.sectors.borrow();
        for (sector, start, range) in pieces(offset, buf.len()) {
            let len = range.len();
            match sectors.get(&sector) {
                Some(bytes) => buf[range].copy_from_slice(&bytes[start..start + len]),
                None => buf[range].fill(0),
            }
        }
        Ok(())
    }
}

impl WriteAt for Sparse {
    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check(offset, buf.len())?;
        let mut sectors = self.sectors.borrow_mut();
        for (sector, start, range) in pieces(offset, buf.len()) {
            let bytes = sectors.entry(sector).or_insert([0; 2048]);
            bytes[start..start + range.len()].copy_from_slice(&buf[range]);
        }
        Ok(())
    }
}

/// A file of a test image.
pub(crate) type Content = (String, Vec<u8>);

/// Returns the SHA-256 of bytes.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|&byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// Returns pseudorandom bytes that are the same in every run.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random(seed);
    std::iter::repeat_with(|| random.next().to_le_bytes())
        .flatten()
        .take(len)
        .collect()
}

/// The `SplitMix64` generator: small, and with the same output on every platform.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// Returns the offsets of bytes that are not zero. Most mutations of zeros are detected at once and would test little.
pub(crate) fn non_zero(bytes: &[u8], places: impl Iterator<Item = usize>) -> Vec<usize> {
    places.filter(|&index| bytes[index] != 0).collect()
}

/// Returns the bytes with one to six changes: flipped bits, extreme bytes, and numbers in both byte orders.
pub(crate) fn mutated(bytes: &[u8], targets: &[usize], random: &mut Random) -> Vec<u8> {
    let extreme = [0x00, 0x01, 0x7F, 0x80, 0xFF];
    let mut bad = bytes.to_vec();
    for _ in 0..=random.below(6) {
        let index = targets[random.below(targets.len())];
        match random.below(4) {
            0 => bad[index] ^= 1 << random.below(8),
            1 => bad[index] = extreme[random.below(extreme.len())],
            2 => bad[index] = random.next().to_le_bytes()[0],
            _ => {
                let value = u32::try_from(random.below(1 << 32)).unwrap() >> random.below(32);
                put_both32(&mut bad, index, value);
            }
        }
    }
    bad
}

/// Writes a number in the encoding of ECMA-119 7.3.3.
pub(crate) fn put_both32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    bytes[at + 4..at + 8].copy_from_slice(&value.to_be_bytes());
}

pub(crate) fn volume() -> Volume {
    Volume {
        id: "EXAMPLE_SOLUTION_1_2_3".to_owned(),
        set_id: "example-solution-1.2.3".to_owned(),
        time: Timestamp::from_unix_seconds(1_795_181_701).unwrap(),
    }
}

pub(crate) fn described(files: &[Content]) -> Vec<InputFile> {
    let describe = |(path, bytes): &Content| InputFile {
        path: path.as_str().into(),
        size: bytes.len() as u64,
        content: Some(ContentId(digest(bytes))),
    };
    files.iter().map(describe).collect()
}

/// Plans and writes an image including its data.
pub(crate) fn image(head: &[Content], body: &[Content]) -> (ImagePlan, Sparse) {
    let input = Input {
        volume: volume(),
        head: described(head),
        body: described(body),
    };
    let plan = plan(Layout::V1, input).unwrap();
    let image = Sparse::new(plan.image_size());
    write_metadata(&plan, &image).unwrap();
    for extent in plan.extents() {
        let index = extent.file;
        let (_, bytes) = head.get(index).unwrap_or_else(|| &body[index - head.len()]);
        image.write_all_at(bytes, extent.offset).unwrap();
    }
    (plan, image)
}

fn content(path: &str, bytes: impl Into<Vec<u8>>) -> Content {
    (path.to_owned(), bytes.into())
}

/// Returns the head of an archive: a statement of 64 KiB and a list.
pub(crate) fn head() -> Vec<Content> {
    let mut statement = b"{\"payload\":\"\"}".to_vec();
    statement.resize(65_535, b' ');
    statement.push(b'\n');
    vec![
        content("statement.dsse.json", statement),
        content("CONTENTS", "a list\n".repeat(500)),
    ]
}

/// Returns a body with every kind of name, size and sharing in the layout.
pub(crate) fn body() -> Vec<Content> {
    let layer = noise(1, 10_000);
    let config = noise(2, 4096);
    let small = noise(3, 100);
    let name = |bytes: &[u8]| hex(&digest(bytes));
    let mut files = vec![
        content("SHA256SUMS", "sums\n"),
        content("manifest.yaml", "kind: Solution\n"),
        content("README.txt", noise(4, 2048)),
        content("empty", ""),
        content("operator/deploy/empty.d/also-empty", ""),
        content("operator/deploy/role.yaml", "kind: Role\n"),
        content("clash/a-b", "1"),
        content("clash/a_b", "2"),
        content("clash/a.b", "3"),
        content(&format!("clash/{}1", "x".repeat(102)), "4"),
        content(&format!("clash/{}2", "x".repeat(102)), "5"),
        content(
            &format!("clash/{}/{}", "d".repeat(103), "f".repeat(103)),
            "6",
        ),
        content("images/1/2/3/4/5/6/deep", "seven directories"),
        content(
            &format!("images/app/1.0.0/{}.manifest.json", name(&small)),
            small.clone(),
        ),
        content("images/app/1.0.0/manifest.json", "{}"),
    ];
    files.extend((0..200).map(|n| content(&format!("many/file-{n:03}.txt"), format!("{n}"))));
    for place in ["images/app/1.0.0", "images/app/1.0.1", "blobs/sha256"] {
        for bytes in [&layer, &config, &small] {
            files.push(content(&format!("{place}/{}", name(bytes)), bytes.clone()));
        }
    }
    files
}

/// Checks that regions ascend and, together with the extents, cover the image exactly once.
pub(crate) fn assert_covered(plan: &ImagePlan) {
    let extents = plan
        .extents()
        .iter()
        .map(|extent| (extent.offset, extent.size));
    let mut runs: Vec<(u64, u64)> = extents.collect();
    let mut before = 0;
    plan.visit_metadata(&mut |region| {
        assert!(
            region.offset >= before && region.bytes.size() > 0,
            "{region:?}"
        );
        before = region.offset + region.bytes.size();
        runs.push((region.offset, region.bytes.size()));
        Ok::<_, std::convert::Infallible>(())
    })
    .unwrap();
    runs.sort_unstable();
    let mut end = 0;
    for (offset, len) in runs {
        assert_eq!(offset, end, "a gap or an overlap");
        end += len;
    }
    assert_eq!(end, plan.image_size());
}
