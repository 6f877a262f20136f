//! The visible files and directories by inode number: [`Tree`]. As in the archive, files with the same content are one
//! file with multiple names. A content that was verified under one name is therefore verified under all of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use archive::{Blob, ListedArchive, OpenError, SignedDirectory, SignedNode};
use schemas::{ContentsEntry, Digest};

/// The inode number of the root.
pub(crate) const ROOT: u64 = 1;

/// Every file and directory. The index of each is its inode number minus one.
#[derive(Debug)]
pub(crate) struct Tree(Vec<Node>);

#[derive(Debug)]
pub(crate) enum Node {
    Directory(Directory),
    File(Content),
}

#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) parent: u64,
    /// Names and inode numbers, sorted by name.
    pub(crate) children: Vec<Child>,
    pub(crate) subdirectories: u32,
}

#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) name: String,
    pub(crate) number: u64,
}

/// A content of the archive.
#[derive(Debug)]
pub(crate) struct Content {
    /// The first of its paths.
    pub(crate) path: String,
    /// The number of its paths.
    pub(crate) links: u32,
    pub(crate) blob: Blob,
    /// True once the content was verified against the signed list.
    verified: AtomicBool,
    /// Held during verification, so that concurrent opens do not verify the same content twice.
    verifying: Mutex<()>,
}

impl Content {
    /// Returns whether the content was verified against the signed list.
    pub(crate) fn is_verified(&self) -> bool {
        self.verified.load(Ordering::Acquire)
    }

    /// Reads and hashes the content, unless it is already verified.
    pub(crate) fn verify(&self, listed: &ListedArchive) -> Result<(), OpenError> {
        let _verifying = self
            .verifying
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !self.is_verified() {
            let mut pieces = listed.pieces(&self.path)?;
            while pieces.piece()?.is_some() {}
            self.verified.store(true, Ordering::Release);
        }
        Ok(())
    }
}

impl Tree {
    pub(crate) fn new(listed: &ListedArchive) -> Self {
        let files = listed.files();
        let mut tree = Self(vec![Node::Directory(Directory::new(ROOT))]);
        let mut contents: BTreeMap<Digest, u64> = BTreeMap::new();
        let mut open = vec![(ROOT, files.root())];
        while let Some((number, directory)) = open.pop() {
            let mut children = Vec::new();
            for node in SignedDirectory::children(&directory) {
                let child = match node {
                    SignedNode::Directory(directory) => {
                        let child = tree.add(Node::Directory(Directory::new(number)));
                        open.push((child, directory));
                        Some(child)
                    }
                    SignedNode::File(entry) => tree.file(listed, entry, &mut contents),
                };
                let name = node.path().rsplit('/').next().unwrap_or_default();
                children.extend(child.map(|number| Child {
                    name: name.to_owned(),
                    number,
                }));
            }
            // `SignedDirectory` sorts by path, in which the name of a directory is followed by `/`. Lookups need the
            // order of names.
            children.sort_by(|a, b| a.name.cmp(&b.name));
            tree.fill(number, children);
        }
        tree
    }

    /// Returns the inode number of a file, which files with the same content share. None if the file has no location;
    /// this does not happen for listed files.
    fn file(
        &mut self,
        listed: &ListedArchive,
        entry: &ContentsEntry,
        contents: &mut BTreeMap<Digest, u64>,
    ) -> Option<u64> {
        if let Some(number) = contents.get(&entry.digest) {
            if let Some(Node::File(content)) = self.0.get_mut(index(*number)) {
                content.links += 1;
            }
            return Some(*number);
        }
        let number = self.add(Node::File(Content {
            path: entry.path.to_string(),
            links: 1,
            blob: listed.file(entry.path.as_str())?,
            verified: AtomicBool::new(false),
            verifying: Mutex::new(()),
        }));
        contents.insert(entry.digest, number);
        Some(number)
    }

    fn add(&mut self, node: Node) -> u64 {
        self.0.push(node);
        self.0.len() as u64
    }

    fn fill(&mut self, number: u64, children: Vec<Child>) {
        let is_directory =
            |child: &&Child| matches!(self.node(child.number), Some(Node::Directory(_)));
        let subdirectories = children.iter().filter(is_directory).count();
        if let Some(Node::Directory(directory)) = self.0.get_mut(index(number)) {
            directory.subdirectories = u32::try_from(subdirectories).unwrap_or(u32::MAX);
            directory.children = children;
        }
    }

    pub(crate) fn node(&self, number: u64) -> Option<&Node> {
        self.0.get(index(number))
    }

    /// Returns the number of files and directories.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn directory(&self, number: u64) -> Option<&Directory> {
        match self.node(number)? {
            Node::Directory(directory) => Some(directory),
            Node::File(_) => None,
        }
    }

    pub(crate) fn content(&self, number: u64) -> Option<&Content> {
        match self.node(number)? {
            Node::File(content) => Some(content),
            Node::Directory(_) => None,
        }
    }
}

impl Directory {
    fn new(parent: u64) -> Self {
        Self {
            parent,
            children: Vec::new(),
            subdirectories: 0,
        }
    }

    pub(crate) fn child(&self, name: &str) -> Option<u64> {
        let place = |child: &Child| child.name.as_str().cmp(name);
        let found = self.children.binary_search_by(place).ok()?;
        Some(self.children[found].number)
    }
}

/// Converts an inode number to an index. There is no inode number zero.
fn index(number: u64) -> usize {
    let before = number.checked_sub(1);
    before.map_or(usize::MAX, |index| {
        usize::try_from(index).unwrap_or(usize::MAX)
    })
}
