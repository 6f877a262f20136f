//! The listed files as the checks see them: each is read once, within a limit, and only as the bytes that were listed.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use archive::OpenError;
use rules::catalogue::FindingInfo;
use schemas::{ArchivePath, Contents, ContentsEntry, Digest};
use watch::Cancel;

use crate::finding::Findings;

/// The reason why a file has no bytes.
#[derive(Debug)]
pub(crate) enum ReadProblem {
    /// The bytes are not those that were listed.
    Damaged,
    /// The state of its bytes could not be found out.
    Failed(OpenError),
}

/// Reads a file of at most so many bytes whole, and compares it with its listed digest.
pub(crate) type FileReader<'a> = dyn Fn(&str, u64) -> Result<Vec<u8>, ReadProblem> + 'a;

/// Contents that are not what was listed, each with the first file that was read with it.
pub(crate) type DamagedFiles = BTreeMap<Digest, ArchivePath>;

/// The listed files.
pub(crate) struct ListedFiles<'a> {
    contents: &'a Contents,
    /// The numbers of files, one of each content, by digest.
    by_digest: Vec<usize>,
    read: &'a FileReader<'a>,
    damaged: RefCell<DamagedFiles>,
    cancel: Cancel<'a>,
}

impl<'a> ListedFiles<'a> {
    /// Makes the files readable. Reading ends with an error once `cancel` says so.
    pub(crate) fn new(
        contents: &'a Contents,
        read: &'a FileReader<'a>,
        cancel: Cancel<'a>,
    ) -> Self {
        let digest = |number: usize| contents.entries()[number].digest;
        let mut by_digest: Vec<usize> = (0..contents.entries().len()).collect();
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

    /// Fails when the caller asked to stop: for whatever takes long between two reads.
    pub(crate) fn go_on(&self) -> Result<(), OpenError> {
        Ok(self.cancel.go_on()?)
    }

    /// The files whose path begins with `prefix`.
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

    /// A file with this content.
    pub(crate) fn with_digest(&self, digest: &Digest) -> Option<&'a ContentsEntry> {
        self.number_of(digest).map(|number| self.numbered(number))
    }

    /// The number of a content that the archive has, the same for all its files: below the number of files.
    pub(crate) fn number_of(&self, digest: &Digest) -> Option<usize> {
        let compare = |&number: &usize| self.numbered(number).digest.cmp(digest);
        let found = self.by_digest.binary_search_by(compare).ok()?;
        Some(self.by_digest[found])
    }

    /// A file with the content of a number.
    pub(crate) fn numbered(&self, number: usize) -> &'a ContentsEntry {
        &self.contents.entries()[number]
    }

    /// The number of the file with this path.
    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.contents.position(path)
    }

    /// Returns the number of files.
    pub(crate) fn count(&self) -> usize {
        self.contents.entries().len()
    }

    /// The bytes of a file of at most `limit` bytes. A larger file is a finding of the kind `too_large`; a damaged one
    /// is remembered, and reported with all others by the pass over the data.
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
        // There may be very many documents, on a slow medium.
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

    /// The contents that turned out damaged when they were read.
    pub(crate) fn into_damaged(self) -> DamagedFiles {
        self.damaged.into_inner()
    }
}
