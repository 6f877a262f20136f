//! The content of an archive as a source for pushes. Each blob is read from the medium when it is pushed.

/// A blob or the head of an archive.
#[derive(Debug)]
pub(crate) struct ArchiveBlob(pub(crate) archive::Blob);

impl registry::BlobContent for ArchiveBlob {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<()> {
        self.0.read_exact_at(buf, offset)
    }
}
