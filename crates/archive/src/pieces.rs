//! One file of an archive in pieces, for files that are larger than memory should be.

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::list::check_digest;
use crate::{Listed, OpenError, limits};

/// A listed file that is read from its start to its end. What came is verified once the end was reached.
#[derive(Debug)]
pub struct Pieces<'a> {
    listed: &'a Listed,
    path: String,
    /// The place where the rest begins on the medium, and its size, in bytes.
    rest: (u64, u64),
    expected: Digest,
    hasher: Sha256,
    buffer: Vec<u8>,
}

impl Listed {
    /// Begins to read a file that the statement vouches for, at most [`limits::BUFFER`] bytes at a time.
    pub fn pieces(&self, path: &str) -> Result<Pieces<'_>, OpenError> {
        let (size, expected) = self.size_and_digest(path)?;
        let offset = self.plan.extent_of(path).map_or(0, |extent| extent.offset);
        Ok(Pieces {
            listed: self,
            path: path.to_owned(),
            rest: (offset, size),
            expected,
            hasher: Sha256::new(),
            buffer: vec![0; limits::BUFFER],
        })
    }
}

impl Pieces<'_> {
    /// The bytes that are still to come.
    #[must_use]
    pub fn left(&self) -> u64 {
        self.rest.1
    }

    /// The next piece; `None` at the end, when all that came is what was signed. Otherwise [`OpenError::FileDigest`].
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
