//! The archive under attack, a similar archive that differs in a few bytes, and helpers that check modified archives.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;

use archive::{ListedArchive, OpenedArchive, Overwrite, STATEMENT_OFFSET};
use iso9660::RegionBytes;
use progress::{Cancel, Watch};
use signing::{SecretKey, Trust};
use validator::{CheckDepth, CheckOptions, Report, SignaturePolicy, check};

use crate::source::{ROLE, Source};

pub(crate) const SECTOR: usize = 2048;
/// The range of the envelope.
pub(crate) const ENVELOPE: Range<usize> = 32 * SECTOR..64 * SECTOR;

/// The publisher's key, whose 32 bytes are all 7 so that every run has the same bytes.
pub(crate) fn key() -> SecretKey {
    let pem = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
-----END PRIVATE KEY-----
";
    SecretKey::from_pem(pem).unwrap()
}

pub(crate) fn options() -> CheckOptions {
    CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(trust().into()),
            allow_unsigned: None,
        },
        detached: Vec::new(),
        depth: CheckDepth::Everything,
        threads: NonZeroUsize::MIN,
        now: None,
    }
}

pub(crate) fn trust() -> Trust {
    Trust::new(vec![key().public()], None).unwrap()
}

/// A signed archive in memory, with facts from its plan.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) bytes: Vec<u8>,
    /// The offsets of every byte of data, and of every other byte that is not zero.
    pub(crate) said: Vec<usize>,
    /// The offsets of the starts of regions and contents.
    pub(crate) edges: Vec<usize>,
}

/// Returns the good archive of the tests of findings.
pub(crate) fn good() -> Subject {
    Subject::pack(&Source::good())
}

/// Returns another archive by the same publisher with the same name, version, files and sizes, in which one word of a
/// role differs.
pub(crate) fn sibling() -> Subject {
    let mut source = Source::good();
    source.edit(ROLE, "verbs: [get, list]", "verbs: [put, list]");
    Subject::pack(&source)
}

impl Subject {
    pub(crate) fn pack(source: &Source) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("example.iso");
        let signed = source.unsigned().sign(&[key()]).unwrap();
        let watch = Watch::silent(Cancel::never());
        signed
            .write(&path, Overwrite::Refuse, NonZeroUsize::MIN, &watch)
            .and_then(|draft| draft.publish(watch.cancel))
            .unwrap();
        Self::new(fs::read(&path).unwrap(), &list(&path))
    }

    fn new(bytes: Vec<u8>, listed: &ListedArchive) -> Self {
        let index = |offset: u64| usize::try_from(offset).unwrap();
        let extents = listed.plan().extents();
        let mut said: Vec<usize> = Vec::new();
        let mut edges: Vec<usize> = extents.iter().map(|extent| index(extent.offset)).collect();
        for extent in extents {
            said.extend(index(extent.offset)..index(extent.offset + extent.size));
        }
        let visited: Result<(), ()> = listed.plan().visit_metadata(&mut |region| {
            let start = index(region.offset);
            edges.push(start);
            if let RegionBytes::Bytes(planned) = region.bytes {
                said.extend((start..start + planned.len()).filter(|at| bytes[*at] != 0));
            }
            Ok(())
        });
        visited.unwrap();
        // The padding of the envelope is data too, but consists of spaces.
        said.retain(|at| !ENVELOPE.contains(at) || bytes[*at] != b' ');
        Self { bytes, said, edges }
    }
}

/// Returns the archive after verification and comparison.
pub(crate) fn list(path: &Path) -> ListedArchive {
    let opened = OpenedArchive::open(path).unwrap();
    opened.verify(&trust()).unwrap().list().unwrap()
}

/// Checks a file. A failure to read a file of this machine fails the test.
pub(crate) fn report(path: &Path, options: &CheckOptions) -> Report {
    check(path, options, &Watch::silent(Cancel::never())).unwrap()
}

/// Returns the envelope as text without its padding.
pub(crate) fn envelope_text(bytes: &[u8]) -> &str {
    let text = std::str::from_utf8(bytes.get(ENVELOPE).unwrap_or_default());
    text.unwrap_or_default().trim_end_matches([' ', '\n'])
}

/// Returns true if two archives only differ in the list of signatures and the padding after it. The comparison works on
/// bytes and shares no code with the reader of envelopes.
pub(crate) fn same_but_for_signatures(a: &[u8], b: &[u8]) -> bool {
    const LIST: &str = ",\"signatures\":[";
    assert_eq!(STATEMENT_OFFSET, ENVELOPE.start as u64);
    let head = |bytes: &[u8]| {
        let text = envelope_text(bytes);
        text.find(LIST).map(|at| text[..at].to_owned())
    };
    let closed = |bytes: &[u8]| envelope_text(bytes).ends_with("]}");
    a.len() == b.len()
        && a[..ENVELOPE.start] == b[..ENVELOPE.start]
        && a[ENVELOPE.end..] == b[ENVELOPE.end..]
        && head(a).is_some()
        && head(a) == head(b)
        && closed(a)
        && closed(b)
}
