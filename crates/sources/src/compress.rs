//! Compression of layers ([`layer`]); [`unpack`] reads compressed content.
//!
//! The result depends only on the bytes, the kind and the version of the encoder. The layer is split into blocks of a
//! fixed size, and each block becomes a separate member (RFC 1952, section 2.2; RFC 8878, section 3). Readers of both
//! formats accept concatenated members. The result is therefore independent of the number of threads.

mod unpack;

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::Ordering;

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::blob::LocalBlob;
use crate::context::{Compression, SourceContext};
use crate::error::{SourceError, check_digest};
use crate::limits;
use crate::tar::Span;
pub(crate) use unpack::{open_tar, stored, verified};

/// The number of bytes per member. The result depends on it.
const BLOCK: usize = 4 * 1024 * 1024;
/// The compression levels: the defaults of the command-line tools of both formats.
const GZIP_LEVEL: u8 = 6;
const ZSTD_LEVEL: i32 = 3;
/// The version of the gzip encoder, because other versions may produce different bytes. A test compares it with the
/// built-in version.
const MINIZ_OXIDE: &str = "0.9.1";

impl Compression {
    /// Describes everything that the result depends on.
    fn encoder(self) -> String {
        match self {
            Self::None => "as it is".to_owned(),
            Self::Gzip => {
                format!("gzip level {GZIP_LEVEL} block {BLOCK} miniz_oxide {MINIZ_OXIDE}")
            }
            Self::Zstd => {
                let version = zstd::zstd_safe::version_string();
                format!("zstd level {ZSTD_LEVEL} block {BLOCK} libzstd {version}")
            }
        }
    }

    fn member(self, block: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::None => Ok(block.to_vec()),
            Self::Gzip => Ok(gzip(block)),
            Self::Zstd => zstd::bulk::compress(block, ZSTD_LEVEL),
        }
    }
}

/// Compresses a block into a gzip member without name and time, so that its bytes depend only on the content.
fn gzip(block: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    member.extend(miniz_oxide::deflate::compress_to_vec(block, GZIP_LEVEL));
    member.extend(crc32fast::hash(block).to_le_bytes());
    // Blocks are smaller than the maximum of the field.
    let size = u32::try_from(block.len()).unwrap_or(u32::MAX);
    member.extend(size.to_le_bytes());
    member
}

/// A reader of a range of a file.
struct FilePart {
    file: File,
    at: u64,
    left: u64,
}

impl FilePart {
    fn open(path: &Path, extent: Span) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(|source| files::failed(path, source))?;
        Ok(Self {
            file,
            at: extent.offset,
            left: extent.size,
        })
    }

    fn open_blob(blob: &LocalBlob) -> Result<Self, SourceError> {
        let (offset, size) = (blob.offset, blob.size);
        Self::open(&blob.path, Span { offset, size })
    }
}

impl Read for FilePart {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.left).map_or(buf.len(), |left| left.min(buf.len()));
        let read = self.file.read_at(&mut buf[..len], self.at)?;
        if read == 0 && len != 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += read as u64;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Compresses a layer into the cache, or finds the result there. Returns `None` if the layer is kept uncompressed or
/// the compression is postponed.
pub(crate) fn layer(
    blob: &LocalBlob,
    compression: Compression,
    means: &SourceContext<'_>,
) -> Result<Option<LocalBlob>, SourceError> {
    if compression == Compression::None {
        return Ok(None);
    }
    let cache = means.cache.get()?;
    let recipe = format!("{} of {}", compression.encoder(), blob.digest);
    if let Some(made) = cache.find_derived(&recipe) {
        return Ok(Some(made));
    }
    if let Some(postponed) = means.postponed {
        postponed.fetch_add(blob.size, Ordering::Relaxed);
        return Ok(None);
    }
    let read = |source| failed(&blob.path, source);
    let mut part = FilePart::open_blob(blob)?;
    let mut new = cache.create()?;
    let mut hasher = Sha256::new();
    let mut done = 0;
    loop {
        let blocks = read_blocks(&mut part, means.threads.get()).map_err(read)?;
        // An empty layer results in one empty member.
        if blocks.is_empty() && done != 0 {
            break;
        }
        let blocks = if blocks.is_empty() {
            vec![Vec::new()]
        } else {
            blocks
        };
        for member in members(&blocks, compression) {
            let written = member.and_then(|member| new.write_all(&member));
            written.map_err(|source| failed(&means.cache.directory(), source))?;
        }
        for block in &blocks {
            hasher.update(block);
            done += block.len() as u64;
        }
        means.step(done, blob.size)?;
        if part.left == 0 {
            break;
        }
    }
    let found = Digest::new(hasher.finalize().into());
    check_digest(&blob.path, blob.digest, found)?;
    let made = new.finish()?;
    cache.remember(&recipe, &made)?;
    Ok(Some(made))
}

fn read_blocks(part: &mut FilePart, number: usize) -> io::Result<Vec<Vec<u8>>> {
    let mut blocks = Vec::new();
    while blocks.len() < number.min(limits::COMPRESS_THREADS) && part.left != 0 {
        let mut block = Vec::new();
        part.take(BLOCK as u64).read_to_end(&mut block)?;
        blocks.push(block);
    }
    Ok(blocks)
}

/// Compresses blocks concurrently, and returns the members in order.
fn members(blocks: &[Vec<u8>], compression: Compression) -> Vec<io::Result<Vec<u8>>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = blocks
            .iter()
            .map(|block| scope.spawn(move || compression.member(block)))
            .collect();
        let results = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err(io::Error::other("the encoder ended early")))
        });
        results.collect()
    })
}

fn failed(path: &Path, source: io::Error) -> SourceError {
    files::failed(path, source).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recipe contains the version of the encoder, so that the cache never returns the result of another version.
    #[test]
    fn the_version_of_the_encoder_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../Cargo.lock");
        let package = format!("name = \"miniz_oxide\"\nversion = \"{MINIZ_OXIDE}\"\n");
        assert!(lock.contains(&package), "{package}");
        assert_eq!(lock.matches("name = \"miniz_oxide\"").count(), 1);
        let version = zstd::zstd_safe::version_string();
        assert!(lock.contains(&format!("+zstd.{version}\"")), "{version}");
        let encoder = Compression::Zstd.encoder();
        assert!(encoder.ends_with(&format!("libzstd {version}")));
    }
}
