//! The signed files of an archive as a tree of directories. [`ListedArchive::files`] returns all files; [`SignedFiles::at`]
//! and [`SignedDirectory::children`] navigate them.

use schemas::{ArchivePath, ContentsEntry};

use crate::ListedArchive;
use crate::layout::{CONTENTS, SHA256SUMS};

/// Every file that the signed statement vouches for, sorted by path: the listed files, the list itself and
/// `SHA256SUMS`. The statement is not included, because signatures are added to it later.
#[derive(Clone, Debug)]
pub struct SignedFiles(Vec<ContentsEntry>);

/// A file or a directory of an archive.
#[derive(Clone, Copy, Debug)]
pub enum SignedNode<'a> {
    /// A file.
    File(&'a ContentsEntry),
    /// A directory. It is never empty.
    Directory(SignedDirectory<'a>),
}

/// A directory of an archive with all files below it.
#[derive(Clone, Copy, Debug)]
pub struct SignedDirectory<'a> {
    /// Its path from the root of the archive; empty for the root itself.
    path: &'a str,
    files: &'a [ContentsEntry],
}

impl ListedArchive {
    /// Returns every file that the statement vouches for.
    #[must_use]
    pub fn files(&self) -> SignedFiles {
        let own = [CONTENTS, SHA256SUMS].into_iter().filter_map(|name| {
            let (size, digest) = self.size_and_digest(name).ok()?;
            let path: ArchivePath = name.parse().ok()?;
            Some(ContentsEntry { path, size, digest })
        });
        let mut files = self.contents().entries().to_vec();
        files.extend(own);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        SignedFiles(files)
    }
}

impl SignedFiles {
    /// The root directory.
    #[must_use]
    pub fn root(&self) -> SignedDirectory<'_> {
        SignedDirectory {
            path: "",
            files: &self.0,
        }
    }

    /// Returns the file or directory at a path. A directory's path may end in `/`; the root's path is empty.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<SignedNode<'_>> {
        if path.is_empty() {
            return Some(SignedNode::Directory(self.root()));
        }
        let place = |entry: &ContentsEntry| entry.path.as_str().cmp(path);
        if let Ok(index) = self.0.binary_search_by(place) {
            return Some(SignedNode::File(&self.0[index]));
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        let prefix = format!("{path}/");
        let begin = self
            .0
            .partition_point(|entry| entry.path.as_str() < &*prefix);
        let below = self.0[begin..]
            .iter()
            .take_while(|entry| entry.path.as_str().starts_with(&prefix));
        let files = &self.0[begin..begin + below.count()];
        let path = files.first()?.path.as_str().get(..path.len())?;
        Some(SignedNode::Directory(SignedDirectory { path, files }))
    }
}

impl<'a> SignedNode<'a> {
    /// The path from the root of the archive.
    #[must_use]
    pub fn path(&self) -> &'a str {
        match self {
            Self::File(entry) => entry.path.as_str(),
            Self::Directory(directory) => directory.path,
        }
    }

    /// The file itself, or every file below the directory.
    #[must_use]
    pub fn files(&self) -> &'a [ContentsEntry] {
        match self {
            Self::File(entry) => std::slice::from_ref(entry),
            Self::Directory(directory) => directory.files,
        }
    }
}

impl<'a> SignedDirectory<'a> {
    /// Every file below it.
    #[must_use]
    pub fn files(&self) -> &'a [ContentsEntry] {
        self.files
    }

    /// Returns the files and directories directly in it, sorted by path.
    #[must_use]
    pub fn children(&self) -> Vec<SignedNode<'a>> {
        let begin = match self.path.len() {
            0 => 0,
            length => length + 1,
        };
        let mut children = Vec::new();
        let mut rest = self.files;
        while let Some(first) = rest.first() {
            let path = first.path.as_str();
            let Some(length) = path[begin..].find('/') else {
                children.push(SignedNode::File(first));
                rest = &rest[1..];
                continue;
            };
            let (path, prefix) = (&path[..begin + length], &path[..=begin + length]);
            let below = rest
                .iter()
                .take_while(|entry| entry.path.as_str().starts_with(prefix));
            let (files, behind) = rest.split_at(below.count());
            children.push(SignedNode::Directory(SignedDirectory { path, files }));
            rest = behind;
        }
        children
    }
}

#[cfg(test)]
mod tests {
    use schemas::Digest;

    use super::*;

    fn files(paths: &[&str]) -> SignedFiles {
        let entry = |path: &&str| ContentsEntry {
            path: path.parse().unwrap(),
            size: 1,
            digest: Digest::new([0; 32]),
        };
        let mut files: Vec<ContentsEntry> = paths.iter().map(entry).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        SignedFiles(files)
    }

    fn shown(node: SignedNode<'_>) -> String {
        match node {
            SignedNode::File(entry) => entry.path.to_string(),
            SignedNode::Directory(directory) => format!("{}/", directory.path),
        }
    }

    fn within(files: &SignedFiles, path: &str) -> Vec<String> {
        match files.at(path) {
            Some(SignedNode::Directory(directory)) => {
                directory.children().into_iter().map(shown).collect()
            }
            Some(file) => vec![shown(file)],
            None => Vec::new(),
        }
    }

    #[test]
    fn directories_hold_what_begins_with_their_names_and_a_slash() {
        let files = files(&["a-b", "a/b", "a/c/d", "a/c/e", "a/c.d", "ab", "b/c"]);
        assert_eq!(within(&files, ""), ["a-b", "a/", "ab", "b/"]);
        for spelled in ["a", "a/"] {
            assert_eq!(within(&files, spelled), ["a/b", "a/c.d", "a/c/"]);
        }
        assert_eq!(within(&files, "a/c"), ["a/c/d", "a/c/e"]);
        assert_eq!(within(&files, "ab"), ["ab"]);
        for nowhere in ["/", "ab/", "a//", "/a", "A", "a/c/", "../a"] {
            let found = within(&files, nowhere);
            assert_eq!(found.is_empty(), nowhere != "a/c/", "{nowhere}: {found:?}");
        }
        assert_eq!(files.at("a").unwrap().files().len(), 4);
    }
}
