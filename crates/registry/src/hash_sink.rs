//! A sink that verifies the digest of a blob without storing it. Verification reads a registry's content into it, and
//! sinks that store bytes use it to verify them.

use std::io;

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::pull::{BlobSink, SinkRefusal};

/// A sink that only computes and verifies the digest of a blob. Sinks that store bytes use it for verification.
#[derive(Debug)]
pub struct HashSink {
    digest: Digest,
    position: u64,
    hash: Sha256,
}

impl HashSink {
    /// Creates a sink for the blob with this digest.
    #[must_use]
    pub fn new(digest: Digest) -> Self {
        Self {
            digest,
            position: 0,
            hash: Sha256::new(),
        }
    }
}

impl BlobSink for HashSink {
    fn position(&self) -> u64 {
        self.position
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        *self = Self::new(self.digest);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkRefusal> {
        let found = Digest::new(self.hash.clone().finalize().into());
        if found == self.digest {
            return Ok(());
        }
        self.restart().map_err(SinkRefusal::Io)?;
        Err(SinkRefusal::Digest(found))
    }
}
