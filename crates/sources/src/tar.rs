//! Reading of tar files in place: the entries are located, but not unpacked.
//!
//! Known attacks, and how they are handled:
//!
//! - Endless entries, names, extended headers, or chains of them: their numbers and sizes are limited.
//! - Sizes beyond the end of the file: they are compared with its size.
//! - A name that occurs twice, which readers resolve differently: it is refused when it is requested.
//! - Links that lead outside or in circles: they are resolved by name among the entries only, up to a limit.
//! - Sparse files, whose content differs from the stored bytes: they are refused.
//! - Two sizes, or data in entries without data: they are refused.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use schemas::Digest;
use tar::{EntryType, Header};

use crate::blob::LocalBlob;
use crate::error::SourceError;
pub use crate::error::TarError;
use crate::limits;

/// The location of a file in a tar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset in bytes.
    pub offset: u64,
    /// The size in bytes.
    pub size: u64,
}

#[derive(Debug, PartialEq, Eq)]
enum TarEntry {
    File(Span),
    /// The name of the target, if it is inside the tar.
    Link(Option<String>),
    Twice,
}

/// The entries of a tar by name.
#[derive(Debug, Default)]
pub struct Entries {
    by_name: BTreeMap<String, TarEntry>,
}

/// A tar file with its entries.
#[derive(Debug)]
pub(crate) struct Tar {
    path: PathBuf,
    file: File,
    entries: Entries,
}

impl Tar {
    /// Reads the headers of a tar file.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let size = files::size(path)?;
        let file = File::open(path).map_err(|source| files::failed(path, source))?;
        let entries = Entries::scan(size, &|buf, at| file.read_exact_at(buf, at));
        let entries = entries.map_err(|error| refused(path, error))?;
        let path = path.to_owned();
        Ok(Self {
            path,
            file,
            entries,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the location of a file, or `None` if it does not exist.
    pub(crate) fn find(&self, name: &str) -> Result<Option<Span>, SourceError> {
        self.entries
            .find(name)
            .map_err(|error| refused(&self.path, error))
    }

    /// Returns this range of the tar as content that must have this digest.
    pub(crate) fn part(&self, digest: Digest, Span { offset, size }: Span) -> LocalBlob {
        LocalBlob {
            digest,
            size,
            path: self.path.clone(),
            offset,
        }
    }

    /// Reads a file of at most `limit` bytes. Returns `None` if it does not exist.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>, SourceError> {
        let Some(Span { offset, size }) = self.find(name)? else {
            return Ok(None);
        };
        if size > limit {
            let name = name.to_owned();
            return Err(refused(&self.path, TarError::Size { name, size, limit }));
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
        self.read_at(&mut bytes, offset)?;
        Ok(Some(bytes))
    }

    /// Fills `buf` with the bytes at an offset in the tar.
    pub(crate) fn read_at(&self, buf: &mut [u8], at: u64) -> Result<(), SourceError> {
        let read = self.file.read_exact_at(buf, at);
        read.map_err(|source| refused(&self.path, TarError::Io(at, source)))
    }
}

fn refused(path: &Path, source: TarError) -> SourceError {
    SourceError::Tar(path.to_owned(), source)
}

type TarReadAt<'a> = dyn Fn(&mut [u8], u64) -> io::Result<()> + 'a;

impl Entries {
    /// Reads the entries of a tar in memory.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self, TarError> {
        Self::scan(bytes.len() as u64, &|buf, at| {
            let start = usize::try_from(at).unwrap_or(usize::MAX);
            let end = start.saturating_add(buf.len());
            let from = bytes.get(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
            buf.copy_from_slice(from);
            Ok(())
        })
    }

    /// Returns the location of a file, or `None` if it does not exist.
    pub fn find(&self, name: &str) -> Result<Option<Span>, TarError> {
        let mut current = normal("", name.as_bytes());
        for _ in 0..limits::TAR_LINKS {
            let Some(entry) = current.as_deref().and_then(|name| self.by_name.get(name)) else {
                break;
            };
            match entry {
                TarEntry::File(extent) => return Ok(Some(*extent)),
                TarEntry::Twice => return Err(TarError::Twice(name.to_owned())),
                TarEntry::Link(target) => current.clone_from(target),
            }
        }
        // The name exists, but its links lead to no file, outside of the tar, or in a circle.
        let here = normal("", name.as_bytes());
        if here.is_some_and(|name| self.by_name.contains_key(&name)) {
            return Err(TarError::Link(name.to_owned()));
        }
        Ok(None)
    }

    fn scan(size: u64, read: &TarReadAt<'_>) -> Result<Self, TarError> {
        let mut scan = TarScan {
            read,
            size,
            at: 0,
            headers: 0,
            names: 0,
            said: ExtendedHeader::default(),
            entries: Self::default(),
        };
        while scan.step()? {}
        Ok(scan.entries)
    }
}

/// The fields of extended headers, which apply to the next entry.
#[derive(Default)]
struct ExtendedHeader {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

struct TarScan<'a> {
    read: &'a TarReadAt<'a>,
    size: u64,
    at: u64,
    headers: u64,
    names: usize,
    said: ExtendedHeader,
    entries: Entries,
}

const BLOCK: usize = 512;

impl TarScan<'_> {
    /// Reads the next header. Returns whether there may be more.
    fn step(&mut self) -> Result<bool, TarError> {
        // Some writers omit the blocks of zeros at the end.
        if self.at >= self.size {
            return Ok(false);
        }
        let begin = self.at;
        let mut block = [0; BLOCK];
        self.fill(&mut block, begin)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(false);
        }
        self.headers += 1;
        if self.headers > limits::TAR_ENTRIES {
            return Err(limit("entries", limits::TAR_ENTRIES));
        }
        let broken = |problem| TarError::Header { at: begin, problem };
        let header = Header::from_byte_slice(&block);
        let sum = header.cksum().map_err(|_| broken("no checksum"))?;
        if sum != checksum(&block) {
            return Err(broken("a wrong checksum"));
        }
        let size = header.entry_size().map_err(|_| broken("no size"))?;
        self.at += BLOCK as u64;
        match header.entry_type() {
            EntryType::XHeader => {
                let data = self.data(begin, size)?;
                self.pax(&data).map_err(broken)?;
            }
            EntryType::GNULongName => self.said.name = Some(self.text(begin, size)?),
            EntryType::GNULongLink => self.said.link = Some(self.text(begin, size)?),
            // Global headers apply to all further entries, but readers of images ignore them.
            EntryType::XGlobalHeader => self.skip(begin, size)?,
            kind => self.entry(begin, kind, header, size)?,
        }
        Ok(true)
    }

    fn entry(
        &mut self,
        begin: u64,
        kind: EntryType,
        header: &Header,
        size: u64,
    ) -> Result<(), TarError> {
        let ExtendedHeader {
            name,
            link,
            size: other_size,
        } = std::mem::take(&mut self.said);
        // The octal size field of the header is limited to 8 GiB.
        let size = other_size.unwrap_or(size);
        let broken = |problem| TarError::Header { at: begin, problem };
        let given = name.unwrap_or_else(|| header.path_bytes().into_owned());
        let name = normal("", &given);
        let target = || link.or_else(|| header.link_name_bytes().map(Into::into));
        let entry = match kind {
            // A directory in the format of old tar versions.
            EntryType::Regular if given.ends_with(b"/") && size == 0 => None,
            EntryType::Regular | EntryType::Continuous => {
                let offset = self.at;
                Some(TarEntry::File(Span { offset, size }))
            }
            EntryType::GNUSparse => return Err(broken("a sparse file")),
            _ if size != 0 => return Err(broken("data where there must be none")),
            EntryType::Link => Some(TarEntry::Link(
                target().and_then(|target| normal("", &target)),
            )),
            EntryType::Symlink => Some(TarEntry::Link(target().and_then(|target| {
                let name = name.as_deref()?;
                let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
                (!target.starts_with(b"/")).then(|| normal(directory, &target))?
            }))),
            EntryType::Directory | EntryType::Char | EntryType::Block | EntryType::Fifo => None,
            _ => return Err(broken("an entry of an unknown kind")),
        };
        self.skip(begin, size)?;
        if let (Some(name), Some(entry)) = (name, entry) {
            self.insert(name, entry)?;
        }
        Ok(())
    }

    fn insert(&mut self, name: String, entry: TarEntry) -> Result<(), TarError> {
        let link = match &entry {
            TarEntry::Link(Some(target)) => target.len(),
            _ => 0,
        };
        self.names += name.len() + link;
        if self.names > limits::TAR_NAMES {
            return Err(limit("bytes of names", limits::TAR_NAMES as u64));
        }
        let by_name = &mut self.entries.by_name;
        by_name
            .entry(name)
            .and_modify(|known| *known = TarEntry::Twice)
            .or_insert(entry);
        Ok(())
    }

    fn fill(&self, buf: &mut [u8], begin: u64) -> Result<(), TarError> {
        if self.size - self.at < buf.len() as u64 {
            return Err(TarError::CutOff(begin));
        }
        let at = self.at;
        (self.read)(buf, at).map_err(|source| TarError::Io(at, source))
    }

    /// Reads the data of an extended header.
    fn data(&mut self, begin: u64, size: u64) -> Result<Vec<u8>, TarError> {
        let len = usize::try_from(size).unwrap_or(usize::MAX);
        if len > limits::TAR_EXTENDED {
            let max = limits::TAR_EXTENDED as u64;
            return Err(limit("bytes in an extended header", max));
        }
        let mut data = vec![0; len];
        self.fill(&mut data, begin)?;
        self.skip(begin, size)?;
        Ok(data)
    }

    /// Reads the data of an extended header that is a text with an optional terminating zero.
    fn text(&mut self, begin: u64, size: u64) -> Result<Vec<u8>, TarError> {
        let mut data = self.data(begin, size)?;
        if let Some(end) = data.iter().position(|byte| *byte == 0) {
            data.truncate(end);
        }
        Ok(data)
    }

    /// Skips the data of an entry. Only the last entry may lack its padding.
    fn skip(&mut self, begin: u64, size: u64) -> Result<(), TarError> {
        let left = self.size - self.at;
        if size > left {
            return Err(TarError::CutOff(begin));
        }
        let filled = size.next_multiple_of(BLOCK as u64);
        self.at += filled.min(left);
        Ok(())
    }

    /// Reads lines of `<length> <key>=<value>` (POSIX.1-2001, "pax Extended Header").
    fn pax(&mut self, mut data: &[u8]) -> Result<(), &'static str> {
        const BROKEN: &str = "a broken extended header";
        while !data.is_empty() {
            let space = data.iter().position(|byte| *byte == b' ').ok_or(BROKEN)?;
            let len: usize = number(&data[..space]).ok_or(BROKEN)?;
            if len <= space || len > data.len() || data[len - 1] != b'\n' {
                return Err(BROKEN);
            }
            let line = &data[space + 1..len - 1];
            let equals = line.iter().position(|byte| *byte == b'=').ok_or(BROKEN)?;
            let (key, value) = (&line[..equals], &line[equals + 1..]);
            match key {
                b"path" => self.said.name = Some(value.to_owned()),
                b"linkpath" => self.said.link = Some(value.to_owned()),
                b"size" => self.said.size = Some(number(value).ok_or(BROKEN)?),
                _ if key.starts_with(b"GNU.sparse.") => return Err("a sparse file"),
                _ => {}
            }
            data = &data[len..];
        }
        Ok(())
    }
}

fn limit(what: &'static str, max: u64) -> TarError {
    TarError::Limit { what, max }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Returns the sum of all bytes, in which the checksum field counts as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let (before, rest) = block.split_at(148);
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    sum(before) + sum(&rest[8..]) + 8 * u32::from(b' ')
}

/// Returns the normalized name, or `None` if it leads out of the tar or is not valid UTF-8.
fn normal(directory: &str, name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let mut parts: Vec<&str> = directory
        .split('/')
        .filter(|part| !part.is_empty())
        .collect();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        header
    }

    /// Returns an entry with its data, padded to whole blocks.
    fn entry(header: &Header, data: &[u8]) -> Vec<u8> {
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes
    }

    fn file(name: &str, data: &[u8]) -> Vec<u8> {
        entry(&header(name, EntryType::Regular, data.len() as u64), data)
    }

    fn link(name: &str, kind: EntryType, target: &str) -> Vec<u8> {
        let mut header = header(name, kind, 0);
        header.set_link_name_literal(target).unwrap();
        header.set_cksum();
        entry(&header, &[])
    }

    fn extended(kind: EntryType, data: &[u8]) -> Vec<u8> {
        entry(&header("extended", kind, data.len() as u64), data)
    }

    fn refused(parts: &[Vec<u8>]) -> String {
        Entries::of_bytes(&parts.concat()).unwrap_err().to_string()
    }

    fn found(parts: &[Vec<u8>], name: &str) -> Option<String> {
        let bytes = parts.concat();
        let extent = Entries::of_bytes(&bytes).unwrap().find(name).unwrap()?;
        let start = usize::try_from(extent.offset).unwrap();
        let end = start + usize::try_from(extent.size).unwrap();
        Some(String::from_utf8(bytes[start..end].to_vec()).unwrap())
    }

    #[test]
    fn files_are_found_by_any_spelling_of_their_name() {
        let parts = [
            file("./a//b", b"one"),
            entry(&header("a/", EntryType::Directory, 0), &[]),
            file("c", b"two"),
            vec![0; 1024],
            b"whatever lies behind".to_vec(),
        ];
        assert_eq!(found(&parts, "a/b").as_deref(), Some("one"));
        assert_eq!(found(&parts, "./c").as_deref(), Some("two"));
        assert_eq!(found(&parts, "a"), None);
        assert_eq!(found(&parts, "../c"), None);
        // Without the end marker and the padding of the last block.
        let mut short = parts[..3].concat();
        short.truncate(short.len() - 509);
        assert_eq!(found(&[short], "c").as_deref(), Some("two"));
    }

    #[test]
    fn extended_headers_are_about_the_entry_after_them() {
        let long = "x/".repeat(100) + "y";
        let pax = b"12 path=p/q\n15 size=000004\n19 comment=a=b\nc d\n";
        let parts = [
            extended(EntryType::GNULongName, format!("{long}\0").as_bytes()),
            file("short", b"long"),
            extended(EntryType::XHeader, pax),
            entry(&header("r", EntryType::Regular, 0), b"data"),
            extended(EntryType::XGlobalHeader, b"not even read"),
            file("s", b"own"),
        ];
        assert_eq!(found(&parts, &long).as_deref(), Some("long"));
        assert_eq!(found(&parts, "p/q").as_deref(), Some("data"));
        assert_eq!(found(&parts, "s").as_deref(), Some("own"));
        assert_eq!(found(&parts, "r"), None);
    }

    #[test]
    fn links_lead_to_files_inside() {
        let parts = [
            file("a/b", b"one"),
            link("c/d", EntryType::Symlink, "../a/b"),
            link("e", EntryType::Link, "c/d"),
            link("out", EntryType::Symlink, "../a/b"),
            link("root", EntryType::Symlink, "/a/b"),
            link("x", EntryType::Symlink, "y"),
            link("y", EntryType::Symlink, "x"),
            link("none", EntryType::Symlink, "nothing"),
        ];
        assert_eq!(found(&parts, "c/d").as_deref(), Some("one"));
        assert_eq!(found(&parts, "e").as_deref(), Some("one"));
        let entries = Entries::of_bytes(&parts.concat()).unwrap();
        for name in ["out", "root", "x", "none"] {
            let message = entries.find(name).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("`{name}` in it is a link that does not lead to a file inside it")
            );
        }
    }

    #[test]
    fn a_name_that_occurs_twice_is_refused_where_it_matters() {
        let parts = [file("a", b"1"), file("./a", b"2"), file("b", b"3")];
        assert_eq!(found(&parts, "b").as_deref(), Some("3"));
        let entries = Entries::of_bytes(&parts.concat()).unwrap();
        assert!(matches!(entries.find("a"), Err(TarError::Twice(_))));
    }

    #[test]
    fn broken_headers_are_refused() {
        let good = file("a", b"1");
        let mut flipped = good.clone();
        flipped[0] = b'b';
        assert!(refused(&[flipped]).contains("a wrong checksum at byte 0"));
        assert!(refused(&[good.clone(), vec![b'x'; 512]]).contains("at byte 1024"));
        assert!(refused(&[good[..100].to_vec()]).contains("truncated"));
        let huge = entry(&header("a", EntryType::Regular, 1 << 60), &[]);
        assert!(refused(&[huge]).contains("truncated: the entry at byte 0"));
        assert!(
            refused(&[entry(&header("a", EntryType::GNUSparse, 0), &[])]).contains("a sparse file")
        );
        let sparse = extended(EntryType::XHeader, b"22 GNU.sparse.major=1\n");
        assert!(refused(&[sparse]).contains("a sparse file"));
        let data = entry(&header("a", EntryType::Symlink, 3), b"abc");
        assert!(refused(&[data]).contains("data where there must be none"));
        assert!(
            refused(&[entry(&header("a", EntryType::new(b'Q'), 0), &[])])
                .contains("an unknown kind")
        );
        for pax in [
            "5 a=b\n",
            "x a=b\n",
            "99 path=a\n",
            "6 ab\n\n",
            "0 \n",
            "-1 a=b\n",
            "11 size=9x\n",
            "9 path=\n",
        ] {
            assert!(
                refused(&[extended(EntryType::XHeader, pax.as_bytes())])
                    .contains("a broken extended header"),
                "{pax}"
            );
        }
        let wrap = format!("29 size={}\n", u64::MAX);
        assert!(
            refused(&[extended(EntryType::XHeader, wrap[..].as_bytes()), good])
                .contains("truncated")
        );
    }

    #[test]
    fn what_an_attacker_chooses_is_bounded() {
        let long = extended(
            EntryType::GNULongName,
            &vec![b'a'; limits::TAR_EXTENDED + 1],
        );
        assert!(refused(&[long]).contains("bytes in an extended header"));
        let one = entry(&header("a", EntryType::Directory, 0), &[]);
        let many = one.repeat(usize::try_from(limits::TAR_ENTRIES).unwrap() + 1);
        assert!(refused(&[many]).contains("more than 100000 entries"));
        let mut names = Vec::new();
        for number in 0..300 {
            names.extend(extended(
                EntryType::GNULongName,
                format!("{number}/{}", "a".repeat(60_000)).as_bytes(),
            ));
            names.extend(file("x", b""));
        }
        assert!(refused(&[names]).contains("bytes of names"));
    }
}
