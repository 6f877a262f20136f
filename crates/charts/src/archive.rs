//! The archive of a chart: one gzip member that contains one tar, whose plain files are all below one directory.
//!
//! Known attacks, and their defences:
//!
//! - Decompression bombs, also in nested archives: one [`Budget`] for all of them, checked before more data is
//!   unpacked.
//! - A second gzip member or bytes after the end, which only some readers see: rejected.
//! - Links, devices and sparse files: rejected.
//! - Names that lead out of the directory, occur twice, or are interpreted differently by other systems: rejected.
//! - Wrong sizes: extensions that change a size are rejected, and the content must have the size in its header.

use std::collections::BTreeSet;
use std::io::Read as _;

use flate2::bufread::GzDecoder;

use crate::error::{ArchiveProblem, ChartProblem};
use crate::limits;

/// The data that may still be unpacked from a chart and its nested charts.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: u64,
    entries: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            bytes: limits::UNPACKED,
            entries: limits::ENTRIES,
        }
    }
}

impl Budget {
    fn entry(&mut self) -> Result<(), ChartProblem> {
        let left = self.entries.checked_sub(1);
        self.entries = left.ok_or_else(|| {
            ChartProblem::Budget(format!("has more than {} entries", limits::ENTRIES))
        })?;
        Ok(())
    }
}

/// A file of a chart, with its path below the directory of the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchivedFile {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

/// Unpacks an archive into the name of its directory and its files.
pub(crate) fn unpack(
    bytes: &[u8],
    budget: &mut Budget,
) -> Result<(String, Vec<ArchivedFile>), ChartProblem> {
    let tar = gunzip(bytes, budget)?;
    let mut reader = Reader {
        tar: &tar,
        at: 0,
        directory: None,
        files: Vec::new(),
        names: Names::default(),
    };
    let mut long = None;
    while let Some(header) = reader.header()? {
        budget.entry()?;
        long = reader.entry(&header, long)?;
    }
    // The entry that the extension names is missing.
    if long.is_some() {
        return Err(ArchiveProblem::Truncated.into());
    }
    Ok((reader.directory.unwrap_or_default(), reader.files))
}

/// Decompresses the only gzip member.
fn gunzip(bytes: &[u8], budget: &mut Budget) -> Result<Vec<u8>, ChartProblem> {
    let mut decoder = GzDecoder::new(bytes);
    let mut tar = Vec::new();
    let mut limited = (&mut decoder).take(budget.bytes + 1);
    // One byte more than the budget shows that the content exceeds it.
    let read = limited.read_to_end(&mut tar);
    read.map_err(|_| ArchiveProblem::Gzip)?;
    let left = budget.bytes.checked_sub(tar.len() as u64);
    budget.bytes = left.ok_or_else(|| {
        let most = limits::UNPACKED;
        ChartProblem::Budget(format!("unpacks to more than {most} bytes"))
    })?;
    if decoder.into_inner().is_empty() {
        Ok(tar)
    } else {
        Err(ArchiveProblem::Behind.into())
    }
}

const BLOCK: usize = 512;

/// A tar header with its content (POSIX.1-2024, pax, "ustar Interchange Format").
struct Header<'a> {
    block: &'a [u8],
    kind: u8,
    size: u64,
    content: &'a [u8],
}

struct Reader<'a> {
    tar: &'a [u8],
    at: usize,
    directory: Option<String>,
    files: Vec<ArchivedFile>,
    names: Names,
}

impl<'a> Reader<'a> {
    /// Returns the next header, or `None` at the end mark, after which only zeros may follow.
    fn header(&mut self) -> Result<Option<Header<'a>>, ArchiveProblem> {
        let start = self.at;
        let block = self
            .tar
            .get(start..start + BLOCK)
            .ok_or(ArchiveProblem::Truncated)?;
        if block.iter().all(|byte| *byte == 0) {
            return match &self.tar[start..] {
                rest if rest.len() < 2 * BLOCK => Err(ArchiveProblem::Truncated),
                rest if rest.iter().all(|byte| *byte == 0) => Ok(None),
                _ => Err(ArchiveProblem::BehindEnd),
            };
        }
        let damaged = ArchiveProblem::Header(start);
        if number(&block[148..156]) != Some(checksum(block)) || !is_known(block) {
            return Err(damaged);
        }
        let size = number(&block[124..136]).ok_or(damaged)?;
        let length = usize::try_from(size).map_err(|_| ArchiveProblem::Truncated)?;
        let begin = start + BLOCK;
        let end = begin.checked_add(length).ok_or(ArchiveProblem::Truncated)?;
        let content = self.tar.get(begin..end).ok_or(ArchiveProblem::Truncated)?;
        self.at = end.next_multiple_of(BLOCK);
        Ok(Some(Header {
            block,
            kind: block[156],
            size,
            content,
        }))
    }

    /// Processes an entry, and returns the long name that it defines for the next entry.
    fn entry(
        &mut self,
        header: &Header<'_>,
        long: Option<String>,
    ) -> Result<Option<String>, ArchiveProblem> {
        match header.kind {
            // A global extension applies to all following entries. It must not define names or sizes.
            b'g' if long.is_none() => match extension(header)? {
                None => Ok(None),
                Some(_) => Err(ArchiveProblem::Extension("path".to_owned())),
            },
            b'x' if long.is_none() => extension(header),
            // A GNU long name, which some tools write in place of a pax path.
            b'L' if long.is_none() => {
                let name = text(header.content.strip_suffix(&[0]).unwrap_or(header.content))?;
                Ok(Some(name))
            }
            b'0' | 0 | b'5' => {
                let name = long.map_or_else(|| name(header.block), Ok)?;
                self.take(&name, header)?;
                Ok(None)
            }
            _ => {
                let name = long.map_or_else(|| name(header.block), Ok)?;
                Err(ArchiveProblem::Kind(name))
            }
        }
    }

    fn take(&mut self, name: &str, header: &Header<'_>) -> Result<(), ArchiveProblem> {
        let is_directory = header.kind == b'5';
        let closed = name.strip_suffix('/').filter(|_| is_directory);
        let path = closed.unwrap_or(name);
        let wrong = || ArchiveProblem::Path(name.to_owned());
        if !is_plain(path) || (is_directory && header.size != 0) {
            return Err(wrong());
        }
        let (directory, below) = path.split_once('/').unwrap_or((path, ""));
        if below.is_empty() && !is_directory {
            return Err(wrong());
        }
        let expected = self.directory.get_or_insert_with(|| directory.to_owned());
        if directory != expected {
            return Err(wrong());
        }
        if is_directory {
            return self.names.directory(path);
        }
        if header.size > limits::FILE_SIZE {
            return Err(ArchiveProblem::FileSize(name.to_owned(), header.size));
        }
        self.names.file(path)?;
        // Helm removes the byte order mark from each file.
        let bytes = header.content;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        self.files.push(ArchivedFile {
            path: below.to_owned(),
            bytes: bytes.to_vec(),
        });
        Ok(())
    }
}

/// Parses an octal number as Go's tar reader does. Encodings that only some readers understand are invalid.
fn number(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let text = text.trim_matches([' ', '\0']);
    let octal = text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    if !octal {
        return None;
    }
    match text {
        "" => Some(0),
        text => u64::from_str_radix(text, 8).ok(),
    }
}

/// Returns the sum of a header's bytes, with its checksum field read as spaces.
fn checksum(block: &[u8]) -> u64 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    sum(&block[..148]) + 8 * u64::from(b' ') + sum(&block[156..])
}

/// Checks whether a header has the format of POSIX, of GNU, or the older format without a magic.
fn is_known(block: &[u8]) -> bool {
    matches!(&block[257..265], b"ustar\x0000" | b"ustar  \0") || block[257..265] == [0; 8]
}

/// Returns the name in the header itself, without extensions.
fn name(block: &[u8]) -> Result<String, ArchiveProblem> {
    let field = |bytes: &[u8]| {
        let end = bytes.iter().position(|byte| *byte == 0);
        text(&bytes[..end.unwrap_or(bytes.len())])
    };
    let name = field(&block[..100])?;
    let posix = &block[257..263] == b"ustar\0";
    let prefix = if posix {
        field(&block[345..500])?
    } else {
        String::new()
    };
    Ok(match prefix.as_str() {
        "" => name,
        prefix => format!("{prefix}/{name}"),
    })
}

fn text(bytes: &[u8]) -> Result<String, ArchiveProblem> {
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ArchiveProblem::Path(String::from_utf8_lossy(bytes).into_owned()));
    Ok(text?.to_owned())
}

/// Returns the path in a pax extension, if there is one.
fn extension(header: &Header<'_>) -> Result<Option<String>, ArchiveProblem> {
    let unreadable = || ArchiveProblem::Extension("?".to_owned());
    if header.size > limits::EXTENSION {
        return Err(unreadable());
    }
    let mut rest = std::str::from_utf8(header.content).map_err(|_| unreadable())?;
    let mut path = None;
    while !rest.is_empty() {
        // A record is `LENGTH KEY=VALUE` with a line feed, and its length includes itself.
        let (length, _) = rest.split_once(' ').ok_or_else(unreadable)?;
        let digits = length.len();
        let whole: usize = length.parse().map_err(|_| unreadable())?;
        let record = rest.get(digits + 1..whole).ok_or_else(unreadable)?;
        let record = record.strip_suffix('\n').ok_or_else(unreadable)?;
        let (key, value) = record.split_once('=').ok_or_else(unreadable)?;
        match key {
            "path" if path.is_none() && !value.is_empty() => path = Some(value.to_owned()),
            "path" | "size" | "linkpath" => {
                return Err(ArchiveProblem::Extension(key.to_owned()));
            }
            key if key.starts_with("GNU.sparse") => {
                return Err(ArchiveProblem::Extension(key.to_owned()));
            }
            // Times, owners and comments have no effect.
            _ => {}
        }
        rest = &rest[whole..];
    }
    Ok(path)
}

/// Checks whether a path has the same meaning on all systems and stays below its directory.
pub(crate) fn is_plain(path: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    path.len() <= limits::PATH
        && path.split('/').all(part)
        && !path.chars().any(schemas::is_unprintable)
}

/// The paths of the previous entries. Each directory is stored once, so that deep paths do not cost more than long
/// ones.
#[derive(Default)]
struct Names {
    files: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl Names {
    fn file(&mut self, path: &str) -> Result<(), ArchiveProblem> {
        if let Some((directory, _)) = path.rsplit_once('/') {
            self.directory(directory)?;
        }
        if self.directories.contains(path) {
            return Err(ArchiveProblem::Both(path.to_owned()));
        }
        if !self.files.insert(path.to_owned()) {
            return Err(ArchiveProblem::Twice(path.to_owned()));
        }
        Ok(())
    }

    fn directory(&mut self, path: &str) -> Result<(), ArchiveProblem> {
        let mut rest = Some(path);
        while let Some(path) = rest {
            if self.files.contains(path) {
                return Err(ArchiveProblem::Both(path.to_owned()));
            }
            // The parents of a known directory are known too.
            if !self.directories.insert(path.to_owned()) {
                break;
            }
            rest = path.rsplit_once('/').map(|(around, _)| around);
        }
        Ok(())
    }
}
