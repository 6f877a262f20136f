//! The signed list of an archive's files, `CONTENTS`, and the same list for `sha256sum -c`, `SHA256SUMS`. [`Contents`]
//! is the entry point.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{ArchivePath, Digest, limits};

/// One file of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContentsEntry {
    /// The path of the file.
    pub path: ArchivePath,
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
}

/// The list of files, sorted by path bytes, each path once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents(Vec<ContentsEntry>);

/// The error of bytes that are not a list of files. Lines count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentsError {
    /// The list has more files than [`limits::FILES`].
    #[error("CONTENTS lists more than {max} files", max = limits::FILES)]
    Files,
    /// A line is not `<64 hex> <size> <path>` in canonical form.
    #[error("CONTENTS line {0} is not `<sha256> <size> <path>`")]
    Line(usize),
    /// The lines are not in strictly ascending order of paths.
    #[error("CONTENTS line {0} is out of order or repeats a path")]
    Order(usize),
    /// A path occurs twice.
    #[error("file `{0}` is listed twice")]
    Duplicate(ArchivePath),
    /// A file has 8 TiB or more.
    #[error("file `{0}` is larger than an archive can be")]
    Size(ArchivePath),
}

impl Contents {
    /// Returns the sorted list of an archive's entries.
    ///
    /// # Errors
    ///
    /// Fails if there are too many files, a file is too large, or a path is repeated.
    pub fn new(mut entries: Vec<ContentsEntry>) -> Result<Self, ContentsError> {
        if entries.len() > limits::FILES {
            return Err(ContentsError::Files);
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        for pair in entries.windows(2) {
            if pair[0].path == pair[1].path {
                return Err(ContentsError::Duplicate(pair[0].path.clone()));
            }
        }
        match entries.iter().find(|entry| entry.size > limits::FILE_SIZE) {
            Some(entry) => Err(ContentsError::Size(entry.path.clone())),
            None => Ok(Self(entries)),
        }
    }

    /// Parses a list in canonical form.
    ///
    /// # Errors
    ///
    /// Fails if a line is not valid or in order, or a limit is exceeded.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ContentsError> {
        let mut entries: Vec<ContentsEntry> = Vec::new();
        let body = match bytes {
            [] => return Ok(Self::default()),
            [body @ .., b'\n'] => body,
            _ => return Err(ContentsError::Line(bytes.split(|b| *b == b'\n').count())),
        };
        for (index, line) in body.split(|byte| *byte == b'\n').enumerate() {
            if entries.len() == limits::FILES {
                return Err(ContentsError::Files);
            }
            let entry = parse_line(line).ok_or(ContentsError::Line(index + 1))?;
            if entries.last().is_some_and(|last| last.path >= entry.path) {
                return Err(ContentsError::Order(index + 1));
            }
            entries.push(entry);
        }
        entries.shrink_to_fit();
        Ok(Self(entries))
    }

    /// Returns the first file below a directory.
    #[must_use]
    pub fn below(&self, directory: &str) -> Option<&ArchivePath> {
        let below = format!("{}/", directory.trim_end_matches('/'));
        let mut paths = self.0.iter().map(|entry| &entry.path);
        paths.find(|path| path.as_str().starts_with(&below))
    }

    /// Returns the files with the same name in any directory, without regard to case.
    pub fn find_similar(&self, path: &str) -> impl Iterator<Item = &ArchivePath> {
        let name = |path: &str| path.rsplit('/').next().map(str::to_ascii_lowercase);
        let wanted = name(path);
        let paths = self.0.iter().map(|entry| &entry.path);
        paths.filter(move |path| name(path.as_str()) == wanted)
    }

    /// Returns the files in the order of their paths.
    #[must_use]
    pub fn entries(&self) -> &[ContentsEntry] {
        &self.0
    }

    /// Returns the file with this path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&ContentsEntry> {
        self.position(path).map(|index| &self.0[index])
    }

    /// Returns the index of the file with this path.
    #[must_use]
    pub fn position(&self, path: &str) -> Option<usize> {
        let found = self
            .0
            .binary_search_by(|entry| entry.path.as_str().cmp(path));
        found.ok()
    }

    /// Returns the bytes of `CONTENTS`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        for ContentsEntry { path, size, digest } in &self.0 {
            writeln!(text, "{} {size} {path}", digest.hex())
                .expect("writing to a string cannot fail");
        }
        text.into_bytes()
    }

    /// Returns the bytes of `SHA256SUMS`: this list and the line of `CONTENTS`, in the order of their paths.
    #[must_use]
    pub fn to_sha256sums(&self, contents: &Digest) -> Vec<u8> {
        let own = std::iter::once(("CONTENTS", contents));
        let mut lines: Vec<(&str, &Digest)> = self
            .0
            .iter()
            .map(|entry| (entry.path.as_str(), &entry.digest))
            .chain(own)
            .collect();
        lines.sort_unstable();
        let mut text = String::new();
        for (path, digest) in lines {
            writeln!(text, "{}  {path}", digest.hex()).expect("writing to a string cannot fail");
        }
        text.into_bytes()
    }
}

fn parse_line(line: &[u8]) -> Option<ContentsEntry> {
    let line = std::str::from_utf8(line).ok()?;
    let mut fields = line.splitn(3, ' ');
    let digest = Digest::from_hex(fields.next()?).ok()?;
    let digits = fields.next()?;
    let size: u64 = digits.parse().ok()?;
    // `+1` and `01` also parse, but are not canonical.
    if size > limits::FILE_SIZE || size.to_string() != digits {
        return None;
    }
    let path = fields.next()?.parse().ok()?;
    Some(ContentsEntry { path, size, digest })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn entry(path: &str, size: u64) -> ContentsEntry {
        let digest = Digest::from_hex(HEX).unwrap();
        ContentsEntry {
            path: path.parse().unwrap(),
            size,
            digest,
        }
    }

    #[test]
    fn lists_round_trip_in_the_order_of_path_bytes() {
        let contents = Contents::new(vec![
            entry("b", 0),
            entry("a/b", 7),
            entry("a-b", 1),
            entry("B", 2),
        ])
        .unwrap();
        let bytes = contents.to_bytes();
        assert_eq!(
            String::from_utf8(bytes.clone()).unwrap(),
            format!("{HEX} 2 B\n{HEX} 1 a-b\n{HEX} 7 a/b\n{HEX} 0 b\n")
        );
        assert_eq!(Contents::from_slice(&bytes).unwrap(), contents);
        assert_eq!(contents.get("a/b").unwrap().size, 7);
        assert!(contents.get("a").is_none());
    }

    #[test]
    fn sums_hold_the_list_itself() {
        let contents = Contents::new(vec![entry("b", 0), entry("A", 7)]).unwrap();
        let own = Digest::new([0; 32]);
        let sums = String::from_utf8(contents.to_sha256sums(&own)).unwrap();
        assert_eq!(
            sums,
            format!("{HEX}  A\n{}  CONTENTS\n{HEX}  b\n", own.hex())
        );
    }

    #[test]
    fn other_spellings_are_refused() {
        for line in [
            "",
            " ",
            &format!("{HEX} 1"),
            &format!("{HEX} 01 a"),
            &format!("{HEX} +1 a"),
            &format!("{HEX} -1 a"),
            &format!("{HEX}  1 a"),
            &format!("{HEX} 1  a"),
            &format!("{HEX} 1 a "),
            &format!("{HEX} 1 a\r"),
            &format!("{HEX} 1 ../a"),
            &format!("{HEX} 1 /a"),
            &format!("{HEX} 99999999999999 a"),
            &HEX.to_uppercase(),
        ] {
            let text = format!("{line}\n");
            assert_eq!(
                Contents::from_slice(text.as_bytes()),
                Err(ContentsError::Line(1)),
                "{line:?}"
            );
        }
        assert_eq!(
            Contents::from_slice(format!("{HEX} 1 a").as_bytes()),
            Err(ContentsError::Line(1))
        );
    }

    #[test]
    fn order_and_repetition_are_refused() {
        for pair in [["b", "a"], ["a", "a"]] {
            let text = format!("{HEX} 1 {}\n{HEX} 1 {}\n", pair[0], pair[1]);
            assert_eq!(
                Contents::from_slice(text.as_bytes()),
                Err(ContentsError::Order(2))
            );
        }
        let twice = vec![entry("a", 1), entry("a", 1)];
        assert!(matches!(
            Contents::new(twice),
            Err(ContentsError::Duplicate(_))
        ));
    }
}
