//! Lists of checksums for the files of a release, in the format of `sha256sum`. [`Checksums`] accepts only one form of
//! a list, and only names without directories.

use std::collections::BTreeMap;

use crate::path::is_component;
use crate::{Digest, limits};

/// The SHA-256 of each file in a directory, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums(BTreeMap<String, Digest>);

/// The error of bytes that are not a list of checksums.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChecksumsError {
    /// The list has no line.
    #[error("the list has no file")]
    Empty,
    /// The list has more files than [`limits::CHECKSUMS`].
    #[error("the list has more than {max} files", max = limits::CHECKSUMS)]
    TooMany,
    /// A line is not 64 hexadecimal characters, two spaces and the name of a file in the same folder.
    #[error(
        "line {0} of the list is not a SHA-256, two spaces and a name that matches [A-Za-z0-9_][A-Za-z0-9._-]{{0,102}}"
    )]
    Line(usize),
    /// A name occurs twice.
    #[error("line {0} of the list repeats the name of an earlier line")]
    Repeated(usize),
}

impl Checksums {
    /// Parses a list.
    ///
    /// # Errors
    ///
    /// Fails if a line is not valid, if a name is repeated, and if the list is empty or too long.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ChecksumsError> {
        let mut files = BTreeMap::new();
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let number = index + 1;
            if number > limits::CHECKSUMS {
                return Err(ChecksumsError::TooMany);
            }
            let (name, digest) = entry(line).ok_or(ChecksumsError::Line(number))?;
            if files.insert(name.to_owned(), digest).is_some() {
                return Err(ChecksumsError::Repeated(number));
            }
        }
        if files.is_empty() {
            return Err(ChecksumsError::Empty);
        }
        Ok(Self(files))
    }

    /// Returns the files in the order of their names.
    #[must_use = "this only makes an iterator"]
    pub fn files(&self) -> impl ExactSizeIterator<Item = (&str, Digest)> {
        self.0.iter().map(|(name, digest)| (name.as_str(), *digest))
    }
}

fn entry(line: &[u8]) -> Option<(&str, Digest)> {
    let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (hex, name) = line.split_once("  ")?;
    let digest = Digest::from_hex(hex).ok()?;
    is_component(name).then_some((name, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn read(lines: &[&str]) -> Result<Checksums, ChecksumsError> {
        let lines = lines.iter().map(|name| format!("{SUM}  {name}\n"));
        let list = lines.collect::<Vec<String>>().concat();
        Checksums::from_slice(list.as_bytes())
    }

    #[test]
    fn files_are_listed_by_name() {
        let list = read(&["b.deb", "a-1.0.0.tar.gz"]).unwrap();
        let names: Vec<&str> = list.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["a-1.0.0.tar.gz", "b.deb"]);
        assert!(list.files().all(|(_, digest)| digest.hex() == SUM));
    }

    #[test]
    fn no_name_leads_elsewhere_or_is_there_twice() {
        for name in [
            "../a",
            "/etc/passwd",
            "a/b",
            ".",
            "..",
            ".a",
            "",
            "a b",
            "a\u{1b}",
            "a\r",
        ] {
            assert_eq!(
                read(&["good", name]),
                Err(ChecksumsError::Line(2)),
                "{name:?}"
            );
        }
        assert_eq!(read(&["a", "b", "a"]), Err(ChecksumsError::Repeated(3)));
        assert_eq!(read(&[]), Err(ChecksumsError::Empty));
    }

    #[test]
    fn a_list_has_one_spelling_and_an_end() {
        let upper = SUM.to_uppercase();
        for text in [
            format!("{SUM} *a\n"),
            format!("{SUM}  a"),
            format!("{upper}  a\n"),
            format!("\\{SUM}  a\n"),
            format!("{SUM}  a\n\n"),
        ] {
            let refused = Checksums::from_slice(text.as_bytes());
            assert!(matches!(refused, Err(ChecksumsError::Line(_))), "{text:?}");
        }
        let names: Vec<String> = (0..=limits::CHECKSUMS).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(read(&names), Err(ChecksumsError::TooMany));
        assert!(read(&names[1..]).is_ok());
    }
}
