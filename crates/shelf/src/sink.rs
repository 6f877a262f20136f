//! A blob on its way into a part of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use registry::{BlobSink, SinkRefusal};
use schemas::Digest;
use sha2::{Digest as _, Sha256};

pub(crate) struct Sink {
    file: Arc<File>,
    /// The offset of the blob in the file.
    from: u64,
    digest: Digest,
    position: u64,
    hash: Sha256,
}

impl Sink {
    pub(crate) fn new(file: Arc<File>, from: u64, digest: Digest) -> Self {
        Self {
            file,
            from,
            digest,
            position: 0,
            hash: Sha256::new(),
        }
    }
}

impl BlobSink for Sink {
    fn position(&self) -> u64 {
        self.position
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, self.from + self.position)?;
        self.hash.update(bytes);
        self.position += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.position = 0;
        self.hash = Sha256::new();
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
