//! Access to the listed files for all checks. [`ListedFiles`] reads a file within a size limit and only returns bytes
//! that match the listed digest. It remembers damaged files, so that the pass over the data reports each of them once.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use archive::OpenError;
use progress::Cancel;
use rules::catalogue::FindingInfo;
use schemas::{ArchivePath, Contents, ContentsEntry, Digest};

use crate::finding::Findings;

/// The reason why the bytes of a file are not available.
#[derive(Debug)]
pub(crate) enum ReadProblem {
    /// The bytes do not match the listed digest.
    Damaged,
    /// The file could not be read, so its state is unknown.
    Failed(OpenError),
}

/// A function that reads a whole file of at most the given number of bytes and compares it with its listed digest.
pub(crate) type FileReader<'a> = dyn Fn(&str, u64) -> Result<Vec<u8>, ReadProblem> + 'a;

/// The damaged blobs by expected digest, each with the path at which it was read.
pub(crate) type DamagedFiles = BTreeMap<Digest, ArchivePath>;

/// The files of the signed list.
pub(crate) struct ListedFiles<'a> {
    contents: &'a Contents,
    /// The index of one file for each distinct digest, sorted by digest.
    by_digest: Vec<usize>,
    read: &'a FileReader<'a>,
    damaged: RefCell<DamagedFiles>,
    cancel: Cancel<'a>,
}

impl<'a> ListedFiles<'a> {
    /// Creates the access to the files. Reads fail after `cancel` requests a stop.
    pub(crate) fn new(
        contents: &'a Contents,
        read: &'a FileReader<'a>,
        cancel: Cancel<'a>,
    ) -> Self {
        let digest = |number: usize| contents.entries()[number].digest;
        let mut by_digest: Vec<usize> = (0..contents.entries().len()).collect();
        // Of the files with the same content, `dedup_by_key` keeps the one with the highest number.
        by_digest.sort_unstable_by_key(|&number| (digest(number), Reverse(number)));
        by_digest.dedup_by_key(|number| digest(*number));
        Self {
            contents,
            by_digest,
            read,
            damaged: RefCell::default(),
            cancel,
        }
    }

    /// Returns an error if the caller requested a stop. Long work between two reads calls it.
    pub(crate) fn go_on(&self) -> Result<(), OpenError> {
        Ok(self.cancel.go_on()?)
    }

    /// Returns the files whose path begins with `prefix`. The list is sorted by path, so they are adjacent.
    pub(crate) fn below(&self, prefix: &'static str) -> impl Iterator<Item = &'a ContentsEntry> {
        let entries = self.contents.entries();
        let start = entries.partition_point(|entry| entry.path.as_str() < prefix);
        entries[start..]
            .iter()
            .take_while(move |entry| entry.path.as_str().starts_with(prefix))
    }

    pub(crate) fn get(&self, path: &str) -> Option<&'a ContentsEntry> {
        self.contents.get(path)
    }

    /// Returns a file with this content.
    pub(crate) fn with_digest(&self, digest: &Digest) -> Option<&'a ContentsEntry> {
        self.number_of(digest).map(|number| self.numbered(number))
    }

    /// Returns a number for a content of the archive. It is the same for all files with this content, and less than the
    /// number of files.
    pub(crate) fn number_of(&self, digest: &Digest) -> Option<usize> {
        let compare = |&number: &usize| self.numbered(number).digest.cmp(digest);
        let found = self.by_digest.binary_search_by(compare).ok()?;
        Some(self.by_digest[found])
    }

    /// Returns the file with this number.
    pub(crate) fn numbered(&self, number: usize) -> &'a ContentsEntry {
        &self.contents.entries()[number]
    }

    /// Returns the number of the file with this path.
    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.contents.position(path)
    }

    /// Returns the number of files.
    pub(crate) fn count(&self) -> usize {
        self.contents.entries().len()
    }

    /// Reads a file of at most `limit` bytes. A larger file is a `too_large` finding. A damaged file returns `None`
    /// without a finding; the pass over the data reports it.
    pub(crate) fn read(
        &self,
        entry: &ContentsEntry,
        limit: u64,
        too_large: &FindingInfo,
        findings: &mut Findings,
    ) -> Result<Option<Vec<u8>>, OpenError> {
        if entry.size > limit {
            let size = entry.size;
            let message = format_args!("has {size} bytes; at most {limit} are read");
            findings.add(too_large, &entry.path, message);
            return Ok(None);
        }
        if self.damaged.borrow().contains_key(&entry.digest) {
            return Ok(None);
        }
        // There may be many documents on slow media, so each read can be interrupted.
        self.go_on()?;
        match (self.read)(entry.path.as_str(), limit) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(ReadProblem::Damaged) => {
                let path = entry.path.clone();
                self.damaged.borrow_mut().insert(entry.digest, path);
                Ok(None)
            }
            Err(ReadProblem::Failed(error)) => Err(error),
        }
    }

    /// Returns the contents that were found damaged by reads.
    pub(crate) fn into_damaged(self) -> DamagedFiles {
        self.damaged.into_inner()
    }
}
