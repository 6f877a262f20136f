//! Unpacking: a compressed tar is unpacked into the cache, and a compressed layer only for comparison with its
//! configuration.
//!
//! Known attacks and faults, and how they are handled:
//!
//! - Small files that unpack to very much: all output of one pack counts towards one limit, and unpacking stops before
//!   the disk of the cache is full.
//! - A file or layer that is used very many times: it is unpacked once.
//! - Endless empty members: the user can cancel between two reads of the file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use progress::Cancel;
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use super::{FilePart, failed};
use crate::blob::LocalBlob;
use crate::context::{Compression, SourceContext};
use crate::error::{SourceError, check_digest};
use crate::tar::{Span, Tar};
use crate::unpacking::PackedFile;
use crate::{Event, limits};

/// Returns the compression of a file in a tar, by its first bytes.
pub(crate) fn stored(tar: &Tar, extent: Span) -> Result<Compression, SourceError> {
    let mut magic = [0; 4];
    if extent.size >= magic.len() as u64 {
        tar.read_at(&mut magic, extent.offset)?;
    }
    Ok(coding(&magic))
}

impl LocalBlob {
    /// Returns a reader of a layer that may be compressed. The content is not verified and does not count towards the
    /// limit.
    pub fn unpacked(&self) -> Result<Box<dyn Read>, SourceError> {
        let failed = |source| failed(&self.path, source);
        let mut magic = Vec::new();
        let mut begin = FilePart::open_blob(self)?.take(4);
        begin.read_to_end(&mut magic).map_err(failed)?;
        let part = FilePart::open_blob(self)?;
        Ok(match coding(&magic) {
            Compression::None => Box::new(part),
            Compression::Gzip => Box::new(MultiGzDecoder::new(part)),
            Compression::Zstd => Box::new(zstd::Decoder::new(part).map_err(failed)?),
        })
    }
}

/// Returns the compression of content with these first bytes.
fn coding(magic: &[u8]) -> Compression {
    match magic {
        [0x1f, 0x8b, 8, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

/// Verifies a compressed layer and returns it as it is stored. `plain` is its location, with the digest of its
/// uncompressed content.
pub(crate) fn verified(
    plain: &LocalBlob,
    compression: Compression,
    means: &SourceContext<'_>,
) -> Result<LocalBlob, SourceError> {
    let digest = means.unpacking.once(
        |unpacking| &unpacking.layers,
        plain.clone(),
        &plain.path,
        plain.size,
        |packed| verify(plain, compression, packed, means),
    )?;
    Ok(LocalBlob {
        digest,
        ..plain.clone()
    })
}

/// Returns the digest of a compressed layer, after verifying its uncompressed content.
fn verify(
    plain: &LocalBlob,
    compression: Compression,
    packed: &mut PackedFile<'_>,
    means: &SourceContext<'_>,
) -> Result<Digest, SourceError> {
    let mut hashing = HashReader {
        from: CancellableReader::new(FilePart::open_blob(plain)?, means),
        hasher: Sha256::new(),
    };
    let mut unpacked = Sha256::new();
    {
        let mut decoder: Box<dyn Read + '_> = match compression {
            Compression::None => Box::new(&mut hashing),
            Compression::Gzip => Box::new(MultiGzDecoder::new(&mut hashing)),
            Compression::Zstd => Box::new(
                zstd::Decoder::new(&mut hashing).map_err(|source| failed(&plain.path, source))?,
            ),
        };
        pump(&mut decoder, &plain.path, means, |bytes| {
            unpacked.update(bytes);
            means.unpacking.count(packed, bytes.len() as u64)
        })?;
    }
    let found = Digest::new(unpacked.finalize().into());
    check_digest(&plain.path, plain.digest, found)?;
    // Reads the bytes after the last member, so that they are hashed too.
    pump(&mut hashing, &plain.path, means, |_| Ok(()))?;
    Ok(Digest::new(hashing.hasher.finalize().into()))
}

/// A reader that hashes all bytes.
struct HashReader<'a> {
    from: CancellableReader<'a, FilePart>,
    hasher: Sha256,
}

impl Read for HashReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buf)?;
        self.hasher.update(&buf[..read]);
        Ok(read)
    }
}

/// A reader that fails after a cancellation. It is required because a decoder can read very much without any output.
struct CancellableReader<'a, R> {
    from: R,
    cancel: Cancel<'a>,
}

impl<'a, R> CancellableReader<'a, R> {
    fn new(from: R, means: &SourceContext<'a>) -> Self {
        let cancel = means.watch.cancel;
        Self { from, cancel }
    }
}

impl<R: Read> Read for CancellableReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.cancel.go_on().map_err(io::Error::other)?;
        self.from.read(buf)
    }
}

/// Reads to the end.
fn pump(
    from: &mut dyn Read,
    path: &Path,
    means: &SourceContext<'_>,
    mut take: impl FnMut(&[u8]) -> Result<(), SourceError>,
) -> Result<(), SourceError> {
    let mut buffer = vec![0; limits::CACHE_BUFFER];
    let mut done = 0;
    loop {
        let read = from.read(&mut buffer);
        // The cancellation is checked before the result, because it also makes the read fail.
        means.step(done, 0)?;
        let read = read.map_err(|source| failed(path, source))?;
        if read == 0 {
            return Ok(());
        }
        take(&buffer[..read])?;
        done += read as u64;
    }
}

/// Opens a tar. A tar that is compressed with gzip, which engines also accept, is unpacked into the cache.
pub(crate) fn open_tar(path: &Path, means: &SourceContext<'_>) -> Result<Tar, SourceError> {
    let size = files::size(path)?;
    let mut part = FilePart::open(path, Span { offset: 0, size })?;
    let mut magic = Vec::new();
    let begin = Read::by_ref(&mut part).take(6).read_to_end(&mut magic);
    begin.map_err(|source| failed(path, source))?;
    let other = match magic.as_slice() {
        [0x1f, 0x8b, 8, ..] => {
            let (unpacking, key) = (&means.unpacking, path.to_owned());
            let content = unpacking.once(
                |unpacking| &unpacking.tars,
                key,
                path,
                size,
                |packed| unpack(packed, means),
            );
            return Tar::open(&content?);
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0xfd, b'7', b'z', b'X', b'Z', 0] => "xz",
        [b'B', b'Z', b'h', ..] => "bzip2",
        _ => return Tar::open(path),
    };
    let problem = format!("is compressed with {other}; unpack it first with `{other} -dk`");
    Err(SourceError::Invalid(path.to_owned(), problem))
}

/// Returns the path of the unpacked content of a gzip file.
fn unpack(packed: &mut PackedFile<'_>, means: &SourceContext<'_>) -> Result<PathBuf, SourceError> {
    let (path, size) = (packed.path, packed.size);
    let cache = means.cache.get()?;
    // The recipe uses the content, because the file at a path can change.
    let recipe = format!("unpacked {}", hash(path, size, means)?);
    if let Some(made) = cache.find_derived(&recipe) {
        // Unlike copied content, this content is used without a later verification.
        if hash(&made.path, made.size, means)? == made.digest {
            return Ok(made.path);
        }
        cache.discard(made.digest);
        (means.watch.tell)(Event::Damaged(made.digest));
    }
    let mut new = cache.create()?;
    let part = FilePart::open(path, Span { offset: 0, size })?;
    let from =
        io::BufReader::with_capacity(limits::CACHE_BUFFER, CancellableReader::new(part, means));
    pump(&mut MultiGzDecoder::new(from), path, means, |bytes| {
        let unpacking = &means.unpacking;
        unpacking.leave_room(packed, &new, means.cache)?;
        unpacking.count(packed, bytes.len() as u64)?;
        let kept = new.write_all(bytes);
        kept.map_err(|source| failed(&means.cache.directory(), source))
    })?;
    let made = new.finish()?;
    cache.remember(&recipe, &made)?;
    Ok(made.path)
}

fn hash(path: &Path, size: u64, means: &SourceContext<'_>) -> Result<Digest, SourceError> {
    let mut part = FilePart::open(path, Span { offset: 0, size })?;
    let mut hasher = Sha256::new();
    pump(&mut part, path, means, |bytes| {
        hasher.update(bytes);
        Ok(())
    })?;
    Ok(Digest::new(hasher.finalize().into()))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Endless empty members. The user cancels after the tenth.
    struct Members<'a> {
        reads: &'a Cell<usize>,
        cancel: &'a AtomicBool,
    }

    impl Read for Members<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            self.reads.set(self.reads.get() + 1);
            match self.reads.get() {
                10 => self.cancel.store(true, Ordering::Relaxed),
                11 => return Err(io::Error::other("it reads on")),
                _ => {}
            }
            let empty = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            let member = empty.finish()?;
            buf[..member.len()].copy_from_slice(&member);
            Ok(member.len())
        }
    }

    #[test]
    fn a_decoder_of_which_nothing_comes_out_ends_when_the_user_wants_it() {
        let (reads, cancel) = (Cell::new(0), AtomicBool::new(false));
        let members = Members {
            reads: &reads,
            cancel: &cancel,
        };
        let from = CancellableReader {
            from: members,
            cancel: Cancel::from_flag(&cancel),
        };
        let read = MultiGzDecoder::new(from).read(&mut [0; 100]);
        assert_eq!(read.unwrap_err().to_string(), "interrupted");
        assert_eq!(reads.get(), 10);
    }
}
