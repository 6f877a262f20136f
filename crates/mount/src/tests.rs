//! Tests of the inodes, their attributes and the content of a mounted archive. They call the file system directly, so they
//! need neither FUSE nor the kernel.

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use archive::tree::derived;
use archive::{
    ArchiveFile, FileSource, ListedArchive, MANIFEST, OpenedArchive, Overwrite, README, ROLE,
    StatementInfo, UnsignedArchive, crd_path, readme,
};
use fuser::FileType;
use progress::{Cancel, Watch};
use schemas::{SolutionId, StatementTime};
use signing::{SecretKey, Trust};
use tempfile::TempDir;

use crate::filesystem::{FileOwner, MountedArchive};
use crate::tree::{Node, ROOT, Tree};

const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
-----END PRIVATE KEY-----
";

const OWNER: FileOwner = FileOwner {
    user: 1000,
    group: 100,
};

/// The additional files. In the list, `extra/dir-2` precedes `extra/dir/x`, because `-` sorts before `/`.
const FILES: [(&str, &str); 6] = [
    ("extra/empty", ""),
    ("extra/one", "the same content"),
    ("extra/two", "the same content"),
    ("extra/dir/x", "another content"),
    ("extra/dir/deeper/three", "the same content"),
    ("extra/dir-2/y", "the content of y"),
];

/// An archive with [`FILES`], in a directory that is deleted with this value.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let id: SolutionId = "example-1.0.0".parse().unwrap();
        let crd = crd_path("example").unwrap();
        let own = [
            (MANIFEST, b"kind: Solution\n".to_vec()),
            (README, readme(&id, &[], None)),
            (ROLE, b"kind: Role\n".to_vec()),
            (crd.as_str(), b"kind: CustomResourceDefinition\n".to_vec()),
        ];
        let extra = FILES.map(|(path, text)| (path, text.as_bytes().to_vec()));
        let no_blobs = |_: &_| -> FileSource { unreachable!("the archive has no images") };
        let mut files = derived(&id, &[], no_blobs).unwrap();
        files.extend(
            own.into_iter()
                .chain(extra)
                .map(|(path, bytes)| ArchiveFile::from_bytes(path.parse().unwrap(), bytes)),
        );
        let info = StatementInfo {
            id,
            time: StatementTime::DEFAULT,
            upgrade_from: None,
            expires: None,
            requires: Vec::new(),
            optional: vec!["extra".to_owned()],
        };
        let bench = Self { directory };
        let signed = UnsignedArchive::new(info, files).unwrap();
        let signed = signed.sign(&[SecretKey::from_pem(KEY).unwrap()]).unwrap();
        let watch = Watch::silent(Cancel::never());
        let one = NonZeroUsize::MIN;
        let draft = signed.write(&bench.path(), Overwrite::Refuse, one, &watch);
        draft.unwrap().publish(watch.cancel).unwrap();
        bench
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("example-1.0.0.iso")
    }

    fn listed(&self) -> ListedArchive {
        let key = SecretKey::from_pem(KEY).unwrap().public();
        let trust = Trust::new(vec![key], None).unwrap();
        let opened = OpenedArchive::open(&self.path()).unwrap();
        opened.verify(&trust).unwrap().list().unwrap()
    }

    fn mounted(&self) -> MountedArchive {
        MountedArchive::new(self.listed(), OWNER, Box::new(|_| {}))
    }

    /// Replaces a text in the archive's file without changing its size.
    fn replace(&self, text: &str, other: &str) {
        assert_eq!(text.len(), other.len());
        let bytes = fs::read(self.path()).unwrap();
        let mut windows = bytes.windows(text.len());
        let offset = windows.position(|window| window == text.as_bytes());
        let file = fs::File::options().write(true).open(self.path()).unwrap();
        let offset = offset.expect("the archive contains the text") as u64;
        file.write_all_at(other.as_bytes(), offset).unwrap();
    }
}

/// Returns the inode number of a path.
fn number(tree: &Tree, path: &str) -> Option<u64> {
    let mut names = path.split('/').filter(|name| !name.is_empty());
    names.try_fold(ROOT, |inode, name| tree.directory(inode)?.child(name))
}

#[test]
fn files_with_the_same_content_share_an_inode() {
    let tree = Tree::new(&Bench::new().listed());
    for (path, size, links) in [
        // Two files that describe the images are empty as well.
        ("extra/empty", 0, 3),
        ("extra/one", 16, 3),
        ("extra/two", 16, 3),
        ("extra/dir/deeper/three", 16, 3),
        ("extra/dir/x", 15, 1),
        ("extra/dir-2/y", 16, 1),
    ] {
        let content = number(&tree, path).and_then(|inode| tree.content(inode));
        let found = content.map(|content| (content.blob.size(), content.links));
        assert_eq!(found, Some((size, links)), "{path}");
    }
    let shared = ["extra/one", "extra/two", "extra/dir/deeper/three"];
    let inodes = shared.map(|path| number(&tree, path).unwrap());
    assert_eq!(inodes, [inodes[0]; 3]);
}

#[test]
fn every_directory_knows_its_parent_and_finds_all_its_entries_by_name() {
    let tree = Tree::new(&Bench::new().listed());
    for (path, parent, names, subdirectories) in [
        ("extra", "", &["dir", "dir-2", "empty", "one", "two"][..], 2),
        ("extra/dir", "extra", &["deeper", "x"], 1),
        ("extra/dir/deeper", "extra/dir", &["three"], 0),
        ("extra/dir-2", "extra", &["y"], 0),
    ] {
        let directory = tree.directory(number(&tree, path).unwrap()).unwrap();
        assert_eq!(Some(directory.parent), number(&tree, parent), "{path}");
        assert_eq!(directory.subdirectories, subdirectories, "{path}");
        let found: Vec<&str> = directory
            .children
            .iter()
            .map(|child| child.name.as_str())
            .collect();
        assert_eq!(found, names, "{path}");
        for child in &directory.children {
            assert_eq!(directory.child(&child.name), Some(child.number), "{path}");
        }
        assert_eq!(directory.child("dir-"), None, "{path}");
    }
    assert_eq!(tree.directory(ROOT).unwrap().parent, ROOT);
}

#[test]
fn no_inode_has_the_number_zero_or_one_after_the_last() {
    let tree = Tree::new(&Bench::new().listed());
    let last = tree.len() as u64;
    for (number, exists) in [
        (0, false),
        (ROOT, true),
        (last, true),
        (last + 1, false),
        (u64::MAX, false),
    ] {
        assert_eq!(tree.node(number).is_some(), exists, "{number}");
    }
    assert!(matches!(tree.node(ROOT), Some(Node::Directory(_))));
    // A file is not a directory, and the reverse.
    let file = number(&tree, "extra/one").unwrap();
    assert!(tree.directory(file).is_none() && tree.content(ROOT).is_none());
}

#[test]
fn attributes_are_read_only_and_those_of_the_statement() {
    let mounted = Bench::new().mounted();
    for (path, kind, mode, size, blocks, links) in [
        ("extra", FileType::Directory, 0o555, 0, 0, 4),
        ("extra/dir-2", FileType::Directory, 0o555, 0, 0, 2),
        ("extra/empty", FileType::RegularFile, 0o444, 0, 0, 3),
        ("extra/one", FileType::RegularFile, 0o444, 16, 1, 3),
    ] {
        let number = number(mounted.tree(), path).unwrap();
        let found = mounted.attributes(number).unwrap();
        assert_eq!(found.ino.0, number, "{path}");
        let described = (
            found.kind,
            found.perm,
            found.size,
            found.blocks,
            found.nlink,
        );
        assert_eq!(described, (kind, mode, size, blocks, links), "{path}");
        assert_eq!((found.uid, found.gid), (OWNER.user, OWNER.group));
        // 1980-01-01T00:00:00Z, the time in the statement.
        let time = UNIX_EPOCH + Duration::from_hours(87_648);
        assert_eq!([found.mtime, found.ctime, found.atime], [time; 3]);
    }
    assert!(mounted.attributes(0).is_none());
    assert!(
        mounted
            .attributes(mounted.tree().len() as u64 + 1)
            .is_none()
    );
}

#[test]
fn a_read_ends_with_the_file() {
    let mounted = Bench::new().mounted();
    let one = number(mounted.tree(), "extra/one").unwrap();
    for (offset, size, expected) in [
        (0, 16, "the same content"),
        (0, 3, "the"),
        (4, 4, "same"),
        (9, 100, "content"),
        (16, 1, ""),
    ] {
        let bytes = mounted.read_at(one, offset, size).unwrap().unwrap();
        assert_eq!(bytes, expected.as_bytes(), "{offset} {size}");
    }
    assert!(mounted.read_at(ROOT, 0, 1).is_none());
}

#[test]
fn a_content_that_differs_from_the_list_is_never_verified() {
    let bench = Bench::new();
    let listed = bench.listed();
    let tree = Tree::new(&listed);
    let [one, x] = ["extra/one", "extra/dir/x"].map(|path| {
        let number = number(&tree, path).unwrap();
        tree.content(number).unwrap()
    });
    one.verify(&listed).unwrap();
    bench.replace("the same content", "not that content");
    bench.replace("another content", "anything at all");
    // A verified content stays verified: the kernel may already have given its pages to programs.
    one.verify(&listed).unwrap();
    assert!(one.is_verified());
    for _ in 0..2 {
        let error = x.verify(&listed).unwrap_err();
        assert!(error.to_string().contains("extra/dir/x"), "{error}");
        assert!(!x.is_verified());
    }
}
