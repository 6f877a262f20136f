//! Archives for independent tools, their expected content, and the tools.
//!
//! The expected content is read from the image at the two fixed positions, without the project's code.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fixtures::example::{Programs, Release};
use fixtures::image::{Format, Image, ImageBuilder, Index, Platform};
use fixtures::layer::Layer;
use fixtures::layout::{OciLayout, write_dir};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::common::Desk;

/// Every tool, with its Debian package.
const PACKAGES: [(&str, &str); 13] = [
    ("7z", "p7zip-full"),
    ("bsdtar", "libarchive-tools"),
    ("chmod", "coreutils"),
    ("file", "file"),
    ("genisoimage", "genisoimage"),
    ("isoinfo", "genisoimage"),
    ("openssl", "openssl"),
    ("promtool", "prometheus"),
    ("python3", "python3-yaml"),
    ("sh", "dash"),
    ("sha256sum", "coreutils"),
    ("skopeo", "skopeo"),
    ("xorriso", "xorriso"),
];

/// The format's documentation.
pub(crate) const FORMAT: &str = include_str!("../../docs/reference/format.md");

/// The guide to signing, whose commands the tests run.
pub(crate) const SIGNING: &str = include_str!("../../docs/how-to/publish/signing.md");

/// The range of the statement in bytes; the list follows.
pub(crate) const STATEMENT: std::ops::Range<usize> = 65_536..131_072;

/// The output of a tool.
pub(crate) struct ToolOutput {
    pub(crate) good: bool,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Runs a tool.
pub(crate) fn try_tool(directory: &Path, program: &str, arguments: &[&str]) -> ToolOutput {
    let package = PACKAGES.iter().find(|(name, _)| *name == program);
    let (_, package) = package.unwrap_or_else(|| panic!("`{program}` has no package here"));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("LC_ALL", "C")
        .env("TZ", "UTC")
        .output()
        .unwrap_or_else(|error| {
            panic!("cannot run `{program}`: {error}; install package `{package}`")
        });
    ToolOutput {
        good: output.status.success(),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs a tool that must succeed, and returns its output.
#[track_caller]
pub(crate) fn run_tool(directory: &Path, program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = try_tool(directory, program, arguments);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.good,
        "{program} {arguments:?}\n{stdout}\n{}",
        output.stderr
    );
    output.stdout
}

/// Runs a tool that must succeed, and returns its output as text.
#[track_caller]
pub(crate) fn run_tool_for_text(directory: &Path, program: &str, arguments: &[&str]) -> String {
    String::from_utf8(run_tool(directory, program, arguments)).unwrap()
}

/// The size and SHA-256 of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub(crate) size: u64,
    pub(crate) sha256: String,
}

impl FileFacts {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        Self {
            size: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = "0123456789abcdef".as_bytes();
    let hex =
        |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(digits[usize::from(digit)]));
    bytes.iter().flat_map(hex).collect()
}

/// Files by their paths, without a leading slash.
pub(crate) type Tree = BTreeMap<String, FileFacts>;

/// An archive on a desk.
pub(crate) struct PackedArchive {
    pub(crate) desk: Desk,
    /// Every file of the archive.
    pub(crate) files: Tree,
}

pub(crate) const ARCHIVE: &str = "archive.iso";

impl PackedArchive {
    /// Packs the example Solution.
    pub(crate) fn example() -> Self {
        let desk = Desk::with_key();
        desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
        Self::pack(desk)
    }

    /// Packs a Solution at the limits of the format: the longest id, names and tags, five components, an index of three
    /// platforms under two tags, shared layers, and an empty file.
    pub(crate) fn broad() -> Self {
        let desk = Desk::with_key();
        desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
        let crds = desk.path("source/operator/deploy/crds");
        fs::rename(
            crds.join("versionservers_crd.yaml"),
            crds.join(format!("{}.yaml", "c".repeat(94))),
        )
        .unwrap();
        desk.write("source/operator/deploy/role.yaml", "");
        desk.write("source/solution.yaml", broad_solution());
        write_broad_images(&desk.path("source/images"));
        Self::pack(desk)
    }

    /// Packs both.
    pub(crate) fn all() -> [Self; 2] {
        [Self::example(), Self::broad()]
    }

    fn pack(desk: Desk) -> Self {
        desk.solution(&["pack", "source", "-o", ARCHIVE, "--key", "publisher.key"])
            .success();
        let arguments = ["validate", ARCHIVE, "--key", "publisher.pub"];
        desk.solution(&arguments).success();
        let files = expected(&desk);
        Self { desk, files }
    }

    /// Returns the tools' working directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.desk.path("")
    }

    /// Returns the statement, which can be read without the project's code.
    pub(crate) fn statement(&self) -> Value {
        statement(&self.desk)
    }

    /// Returns `<name>-<version>`.
    pub(crate) fn solution_id(&self) -> String {
        let statement = self.statement();
        let field = |name: &str| statement["predicate"][name].as_str().unwrap().to_owned();
        format!("{}-{}", field("name"), field("version"))
    }

    /// Unpacks the tree with xorriso, with writable directories, and returns its path.
    pub(crate) fn unpacked(&self) -> PathBuf {
        let arguments = [
            "-osirrox", "on", "-indev", ARCHIVE, "-extract", "/", "mounted",
        ];
        run_tool(&self.directory(), "xorriso", &arguments);
        run_tool(&self.directory(), "chmod", &["-R", "u+w", "mounted"]);
        self.desk.path("mounted")
    }

    /// Asserts that a tool found exactly the files of the archive.
    #[track_caller]
    pub(crate) fn assert_files(&self, judge: &str, found: &Tree) {
        for (path, facts) in &self.files {
            assert_eq!(found.get(path), Some(facts), "{judge}: {path}");
        }
        let more: Vec<_> = found
            .keys()
            .filter(|path| !self.files.contains_key(*path))
            .collect();
        assert!(more.is_empty(), "{judge} sees more: {more:?}");
    }

    /// Returns the number of files with the content of each file.
    pub(crate) fn links(&self) -> BTreeMap<&str, u64> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for facts in self.files.values() {
            *counts.entry(&facts.sha256).or_default() += 1;
        }
        let of = |facts: &FileFacts| match facts.size {
            0 => 1,
            _ => counts[facts.sha256.as_str()],
        };
        let files = self.files.iter();
        files
            .map(|(path, facts)| (path.as_str(), of(facts)))
            .collect()
    }

    /// Returns every file and directory, with a leading slash, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self
            .files
            .keys()
            .flat_map(|path| {
                let ends = path
                    .match_indices('/')
                    .map(|(end, _)| end)
                    .chain([path.len()]);
                ends.map(|end| format!("/{}", &path[..end]))
            })
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

impl Drop for PackedArchive {
    /// The unpacked directories have the archive's modes, and read-only directories cannot be removed.
    fn drop(&mut self) {
        try_tool(&self.directory(), "chmod", &["-R", "u+w", "."]);
    }
}

/// Returns the files below a directory.
pub(crate) fn tree_of(directory: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
                continue;
            }
            let mut bytes = Vec::new();
            fs::File::open(&path)
                .unwrap()
                .read_to_end(&mut bytes)
                .unwrap();
            let name = path
                .strip_prefix(directory)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            tree.insert(name, FileFacts::from_bytes(&bytes));
        }
    }
    tree
}

fn statement(desk: &Desk) -> Value {
    let script = format!(
        "dd if={ARCHIVE} bs=65536 skip=1 count=1 status=none | cut -d '\"' -f 4 | base64 -d"
    );
    serde_json::from_slice(&run_tool(&desk.path(""), "sh", &["-c", &script])).unwrap()
}

/// Returns every file of a desk's archive, from the archive's own list.
pub(crate) fn expected(desk: &Desk) -> Tree {
    let statement = statement(desk);
    let image = desk.read(ARCHIVE);
    let listed = &statement["predicate"]["contents"];
    let size = usize::try_from(listed["size"].as_u64().unwrap()).unwrap();
    let contents = &image[STATEMENT.end..STATEMENT.end + size];
    let mut tree = Tree::new();
    for line in std::str::from_utf8(contents).unwrap().lines() {
        let fields: Vec<&str> = line.splitn(3, ' ').collect();
        let facts = FileFacts {
            size: fields[1].parse().unwrap(),
            sha256: fields[0].to_owned(),
        };
        tree.insert(fields[2].to_owned(), facts);
    }
    tree.insert("CONTENTS".to_owned(), FileFacts::from_bytes(contents));
    assert_eq!(listed["sha256"], tree["CONTENTS"].sha256);
    let lines = tree
        .iter()
        .map(|(path, facts)| format!("{}  {path}\n", facts.sha256));
    let sums = FileFacts::from_bytes(lines.collect::<String>().as_bytes());
    assert_eq!(
        statement["subject"][0]["digest"]["sha256"], sums.sha256,
        "SHA256SUMS does not follow from CONTENTS"
    );
    tree.insert("SHA256SUMS".to_owned(), sums);
    tree.insert(
        "statement.dsse.json".to_owned(),
        FileFacts::from_bytes(&image[STATEMENT]),
    );
    tree
}

/// Returns the longest tag or name that fits into a path component.
fn longest(letter: &str) -> String {
    letter.repeat(103)
}

fn broad_solution() -> String {
    let (name, tag, long) = (
        format!("broad-{}", "x".repeat(37)),
        longest("T"),
        longest("n"),
    );
    format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: {name}}}
spec:
  version: 1.0.0-rc.1
  upgradeFrom: '>=0.9.0, <1.0.0'
  images:
  - {{name: multi, tag: '2.0', source: 'oci:images/layout:multi'}}
  - {{name: multi, tag: '2.0.1', source: 'oci:images/layout:multi', ref: registry.example.test/multi:2}}
  - {{name: org/team/group/app/part, tag: {tag}, source: 'dir:images/part'}}
  - {{name: {long}, tag: '1', source: 'oci:images/layout:long'}}
  operator: {{image: {{name: multi, tag: '2.0'}}}}
"
    )
}

fn write_broad_images(directory: &Path) {
    let shared = Layer::random(1, 1 << 20);
    let image = |architecture: &str, seed: u64, size: u64| {
        ImageBuilder::new()
            .platform(Platform::linux(architecture))
            .layer(shared.clone())
            .layer(Layer::random(seed, size))
            .build()
    };
    let children = vec![
        image("amd64", 2, 1_500_000),
        image("arm64", 3, 4096),
        image("arm", 4, 4095),
    ];
    let index = Index::new(Format::Oci, children);
    let part = ImageBuilder::new()
        .format(Format::Docker)
        .layer(shared.clone());
    let long = Image::random(5, &[2048, 2049, 300_000]);
    OciLayout::create(directory.join("layout"))
        .unwrap()
        .add(&index.into(), Some("multi"))
        .unwrap()
        .add(&long.into(), Some("long"))
        .unwrap()
        .finish()
        .unwrap();
    write_dir(&directory.join("part"), &part.build().into()).unwrap();
}
