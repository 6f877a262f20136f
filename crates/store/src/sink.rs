//! A sink that writes a blob to a range of a file. Several sinks can write to one file at the same time.

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

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use sha2::{Digest as _, Sha256};

    use super::*;

    #[test]
    fn a_blob_is_written_to_its_range_and_verified() {
        let content = b"the content";
        let digest = Digest::new(Sha256::digest(content).into());
        for (pieces, is_whole) in [
            (&[&content[..]][..], true),
            (&[&content[..4], &content[4..]], true),
            (&[&content[..4]], false),
            (&[b"the context"], false),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.set_len(20).unwrap();
            let mut sink = Sink::new(Arc::new(file.try_clone().unwrap()), 5, digest);
            // The first attempt is interrupted and leaves other bytes.
            sink.write(b"something else").unwrap();
            sink.restart().unwrap();
            assert_eq!(sink.position(), 0);
            for piece in pieces {
                sink.write(piece).unwrap();
            }
            assert_eq!(sink.finish().is_ok(), is_whole);
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).unwrap();
            assert_eq!(bytes[..5], [0; 5]);
            assert_eq!(bytes[5..][..pieces.concat().len()], pieces.concat());
        }
    }
}
