//! A sink that writes a blob to a range of a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use registry::{BlobSink, HashSink, SinkRefusal};
use schemas::Digest;

pub(crate) struct Sink {
    file: Arc<File>,
    /// The offset of the blob in the file.
    from: u64,
    hash: HashSink,
}

impl Sink {
    pub(crate) fn new(file: Arc<File>, from: u64, digest: Digest) -> Self {
        Self {
            file,
            from,
            hash: HashSink::new(digest),
        }
    }
}

impl BlobSink for Sink {
    fn position(&self) -> u64 {
        self.hash.position()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let at = self.from + self.position();
        self.file.write_all_at(bytes, at)?;
        self.hash.write(bytes)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.hash.restart()
    }

    fn finish(&mut self) -> Result<(), SinkRefusal> {
        self.hash.finish()
    }
}
