//! Tools for forging archives. They find records and entries by walking the image like any reader, and keep dependent
//! fields consistent. They do not use the archive's plan.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;

use iso9660::limits::Limits;
use iso9660::reader::{ImageReadError, Tree as Entries, read_tree};
use schemas::Envelope;
use tempfile::TempDir;
use validator::{ArchiveVerdict, CheckDepth, CheckOptions};

use crate::source::Source;
use crate::subject::{ENVELOPE, SECTOR, Subject, options, report};

/// The offsets of the primary volume descriptor, the Joliet one, and the terminator.
pub(crate) const PRIMARY: usize = 16 * SECTOR;
pub(crate) const JOLIET: usize = 17 * SECTOR;
pub(crate) const TERMINATOR: usize = 18 * SECTOR;

/// The offsets in a directory record of the extent's location, its length and the flags (ECMA-119 9.1).
pub(crate) const LOCATION: usize = 2;
pub(crate) const LENGTH: usize = 10;
pub(crate) const TIME: usize = 18;
pub(crate) const FLAGS: usize = 25;

/// One of the two directory trees of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Primary,
    Joliet,
}

impl Tree {
    pub(crate) const BOTH: [Self; 2] = [Self::Primary, Self::Joliet];
}

/// An archive under modification and its original.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) good: Vec<u8>,
}

impl Image {
    pub(crate) fn good() -> Self {
        Self::of(&Source::good())
    }

    pub(crate) fn of(source: &Source) -> Self {
        let good = Subject::pack(source).bytes;
        let bytes = good.clone();
        Self { bytes, good }
    }

    // Reading.

    pub(crate) fn le32(&self, at: usize) -> usize {
        let number = u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap());
        usize::try_from(number).unwrap()
    }

    /// Returns the sectors of a directory; the root has an empty path.
    pub(crate) fn directory(&self, tree: Tree, path: &str) -> Range<usize> {
        let root = match tree {
            Tree::Primary => PRIMARY,
            Tree::Joliet => JOLIET,
        };
        let mut record = root + 156;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            record = self.named(tree, self.extent(record), name).start;
        }
        self.extent(record)
    }

    /// Returns the bytes that a record points to.
    pub(crate) fn extent(&self, record: usize) -> Range<usize> {
        let start = self.le32(record + LOCATION) * SECTOR;
        start..start + self.le32(record + LENGTH)
    }

    /// Returns the record of a file or directory.
    pub(crate) fn record(&self, tree: Tree, path: &str) -> Range<usize> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.named(tree, self.directory(tree, directory), name)
    }

    fn named(&self, tree: Tree, directory: Range<usize>, name: &str) -> Range<usize> {
        let found = self.records(directory).find(|record| match tree {
            Tree::Primary => self
                .entry(record, *b"NM")
                .is_some_and(|nm| &self.bytes[nm.start + 5..nm.end] == name.as_bytes()),
            Tree::Joliet => self.identifier(record) == ucs2(name),
        });
        found.unwrap_or_else(|| panic!("{tree:?} has no {name}"))
    }

    pub(crate) fn records(&self, directory: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut at = directory.start;
        std::iter::from_fn(move || {
            while at < directory.end {
                let len = usize::from(self.bytes[at]);
                if len > 0 {
                    at += len;
                    return Some(at - len..at);
                }
                at = (at + 1).next_multiple_of(SECTOR);
            }
            None
        })
    }

    pub(crate) fn identifier(&self, record: &Range<usize>) -> &[u8] {
        let len = usize::from(self.bytes[record.start + 32]);
        &self.bytes[record.start + 33..record.start + 33 + len]
    }

    /// Returns a System Use entry of a record in the primary tree.
    pub(crate) fn entry(&self, record: &Range<usize>, signature: [u8; 2]) -> Option<Range<usize>> {
        let len = usize::from(self.bytes[record.start + 32]);
        let mut at = record.start + 33 + len + usize::from(len.is_multiple_of(2));
        while at + 4 <= record.end {
            let len = usize::from(self.bytes[at + 2]);
            if self.bytes[at..at + 2] == signature {
                return Some(at..at + len);
            }
            at += len;
        }
        None
    }

    /// Returns the start of the zeros at the end, from the first multiple of 32 KiB: space for a forger.
    pub(crate) fn tail(&self) -> usize {
        let used = self.good.iter().rposition(|byte| *byte != 0).unwrap();
        used.next_multiple_of(32 << 10)
    }

    /// Returns the entries for a standard reader with Rock Ridge.
    pub(crate) fn seen(&self) -> Result<Entries, ImageReadError> {
        read_tree(&self.bytes, self.bytes.len() as u64, &Limits::default())
    }

    /// Returns the entries for a reader that only supports Joliet.
    pub(crate) fn seen_by_joliet(&self) -> Entries {
        let mut bytes = self.bytes.clone();
        let root = self.directory(Tree::Primary, "");
        let first = self.records(root).next().unwrap();
        let sp = self.entry(&first, *b"SP").unwrap();
        bytes[sp.start..sp.start + 2].copy_from_slice(b"XX");
        read_tree(&bytes, bytes.len() as u64, &Limits::default()).unwrap()
    }

    /// Returns the bytes of a file as a reader sees them.
    pub(crate) fn file(&self, entries: &Entries, path: &str) -> Vec<u8> {
        let entry = entries.entries.iter().find(|entry| entry.path == path);
        let index = |number: u64| usize::try_from(number).unwrap();
        let extents = entry.unwrap_or_else(|| panic!("nobody sees {path}"));
        let pieces = extents.extents.iter();
        let pieces = pieces
            .map(|extent| &self.bytes[index(extent.offset)..index(extent.offset + extent.size)]);
        pieces.collect::<Vec<_>>().concat()
    }

    // Forging.

    pub(crate) fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes a number in both byte orders (ECMA-119 7.3.3).
    pub(crate) fn put_both32(&mut self, at: usize, number: usize) {
        self.put(at, &both32(number));
    }

    pub(crate) fn swap(&mut self, a: usize, b: usize, len: usize) {
        let first = self.bytes[a..a + len].to_vec();
        self.bytes.copy_within(b..b + len, a);
        self.put(b, &first);
    }

    /// Inserts a record into a directory of one sector, before the record at `at` or after the last one.
    pub(crate) fn insert_record(&mut self, directory: Range<usize>, at: usize, record: &[u8]) {
        let end = self.records(directory.clone()).last().unwrap().end;
        assert!(
            end + record.len() <= directory.end && directory.len() == SECTOR,
            "the directory has no room for one more record"
        );
        self.bytes.copy_within(at..end, at + record.len());
        self.put(at, record);
    }

    /// Replaces the text of the envelope, with padding to the same length.
    pub(crate) fn put_envelope_text(&mut self, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(ENVELOPE.len() - 1, b' ');
        bytes.push(b'\n');
        self.put(ENVELOPE.start, &bytes);
    }

    pub(crate) fn envelope(&self) -> Envelope {
        Envelope::from_slice(&self.bytes[ENVELOPE]).unwrap()
    }

    // Checking.

    /// Checks that the image is refused for exactly the modified metadata, with one finding per part at its first
    /// difference.
    pub(crate) fn refused_at(&self, parts: &[&str]) {
        let differs = |at: &usize| self.bytes[*at] != self.good[*at];
        let expected = self.refused_with(&options());
        let mut last = None;
        let mut found = Vec::new();
        for (id, place, message) in &expected {
            assert_eq!(id, "container.metadata", "{expected:#?}");
            let at: usize = place.strip_prefix("byte ").unwrap().parse().unwrap();
            let (is, was) = (self.bytes[at], self.good[at]);
            assert!(differs(&at), "{place} is as it was");
            let (part, words) = message.split_once(" at byte ").unwrap();
            assert_eq!(words, format!("{at}: 0x{is:02x} instead of 0x{was:02x}"));
            assert!(Some(at) > last, "{expected:#?}");
            last = Some(at);
            found.push(part);
        }
        assert_eq!(found, parts, "{expected:#?}");
        let first = (0..self.good.len()).find(differs).unwrap();
        assert_eq!(expected[0].1, format!("byte {first}"), "the first of them");
        // An import reads no layers, but refuses the image too.
        let documents = CheckOptions {
            depth: CheckDepth::Documents,
            ..options()
        };
        assert_eq!(self.refused_with(&documents), expected);
    }

    /// Checks that the image is refused with exactly one finding.
    pub(crate) fn refused(&self, id: &str, place: &str, message: &str) {
        let (id, place, message) = (id.to_owned(), place.to_owned(), message.to_owned());
        assert_eq!(self.refused_with(&options()), [(id, place, message)]);
    }

    /// Returns id, place and message of every finding of a refused image.
    pub(crate) fn refused_with(&self, options: &CheckOptions) -> Vec<(String, String, String)> {
        let (_directory, path) = self.written();
        let options = CheckOptions {
            threads: NonZeroUsize::new(2).unwrap(),
            ..options.clone()
        };
        let report = report(&path, &options);
        assert_eq!(report.verdict(), ArchiveVerdict::Refused);
        let findings = report.findings().iter();
        let told = findings.map(|finding| {
            assert!(finding.fix.contains(' '), "{} says what to do", finding.id);
            (
                finding.id.to_owned(),
                finding.place.clone(),
                finding.message.clone(),
            )
        });
        told.collect()
    }

    pub(crate) fn accepted(&self) {
        let (_directory, path) = self.written();
        let report = report(&path, &options());
        let findings = report.findings();
        assert_eq!(report.verdict(), ArchiveVerdict::Accepted, "{findings:#?}");
    }

    fn written(&self) -> (TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("example.iso");
        std::fs::write(&path, &self.bytes).unwrap();
        (directory, path)
    }
}

pub(crate) fn both32(number: usize) -> [u8; 8] {
    let number = u32::try_from(number).unwrap();
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

pub(crate) fn ucs2(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// Returns a directory record of a file with a System Use area.
pub(crate) fn file_record(place: &Range<usize>, identifier: &[u8], system_use: &[u8]) -> Vec<u8> {
    let mut record = vec![0, 0];
    record.extend(both32(place.start / SECTOR));
    record.extend(both32(place.len()));
    record.extend([80, 1, 1, 0, 0, 0, 0]);
    record.extend([0, 0, 0, 1, 0, 0, 1, u8::try_from(identifier.len()).unwrap()]);
    record.extend(identifier);
    for part in [&[][..], system_use] {
        record.extend(part);
        if !record.len().is_multiple_of(2) {
            record.push(0);
        }
    }
    record[0] = u8::try_from(record.len()).unwrap();
    record
}

/// Returns the entries PX and NM for a file with one link.
pub(crate) fn system_use(name: &str, mode: usize, serial: usize) -> Vec<u8> {
    let mut entries = b"PX\x2c\x01".to_vec();
    for number in [mode, 1, 0, 0, serial] {
        entries.extend(both32(number));
    }
    entries.extend([b'N', b'M', u8::try_from(name.len() + 5).unwrap(), 1, 0]);
    entries.extend(name.as_bytes());
    entries
}
