//! Sequential reading of one file in pieces, for files that do not fit in memory: [`ListedArchive::pieces`]. The digest is
//! known only at the end, so all earlier pieces are unverified when they are returned.

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::list::check_digest;
use crate::{ListedArchive, OpenError, limits};

/// A listed file that is read from start to end. Its bytes are verified only when the end is reached.
#[derive(Debug)]
pub struct PieceReader<'a> {
    listed: &'a ListedArchive,
    path: String,
    /// The offset of the unread rest on the medium, and its size, in bytes.
    rest: (u64, u64),
    expected: Digest,
    hasher: Sha256,
    buffer: Vec<u8>,
}

impl ListedArchive {
    /// Starts to read a file that the statement vouches for, at most [`limits::BUFFER`] bytes at a time.
    pub fn pieces(&self, path: &str) -> Result<PieceReader<'_>, OpenError> {
        let (size, expected) = self.size_and_digest(path)?;
        let offset = self.plan.extent_of(path).map_or(0, |extent| extent.offset);
        Ok(PieceReader {
            listed: self,
            path: path.to_owned(),
            rest: (offset, size),
            expected,
            hasher: Sha256::new(),
            buffer: vec![0; limits::BUFFER],
        })
    }
}

impl PieceReader<'_> {
    /// The number of bytes that are still unread.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.rest.1
    }

    /// Returns the next piece; `None` at the end, if all pieces together are the signed file. If they are not, the call
    /// at the end fails with [`OpenError::FileDigest`].
    pub fn piece(&mut self) -> Result<Option<&[u8]>, OpenError> {
        let (offset, left) = self.rest;
        if left == 0 {
            let found = Digest::new(self.hasher.clone().finalize().into());
            return check_digest(&self.path, self.expected, found).map(|()| None);
        }
        let len = usize::try_from(left).map_or(limits::BUFFER, |left| left.min(limits::BUFFER));
        let piece = &mut self.buffer[..len];
        self.listed.medium.read(piece, offset)?;
        self.hasher.update(&*piece);
        self.rest = (offset + len as u64, left - len as u64);
        Ok(Some(piece))
    }
}
