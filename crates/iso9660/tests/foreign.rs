//! Tests with other programs and libraries, which read our images, and whose images our reader reads.
//!
//! Writer and plan share code, so these tests are the independent check of the layout. A missing program fails the
//! test.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::dump::Dump;
use common::{Random, body, head, image, mutated, non_zero};
use hadris_fs::sync::FileSystem;
use hadris_fs::{MountOptions, Resolve};
use hadris_iso::Namespace;
use hadris_iso::sync::IsoFs;
use hadris_storage::host::FileDevice;
use iso9660::limits::Limits;
use iso9660::reader::{EntryKind, NameSource, Tree, read_tree};
use iso9660::{ImagePlan, ReadAt};

/// A temporary directory with an image and the files that it contains.
struct Judged {
    folder: tempfile::TempDir,
    files: BTreeMap<String, Vec<u8>>,
    plan: ImagePlan,
}

impl Judged {
    fn new() -> Self {
        let (head, body) = (head(), body());
        let folder = tempfile::tempdir().unwrap();
        let (plan, image) = image(&head, &body);
        fs::write(folder.path().join("image.iso"), image.to_bytes()).unwrap();
        Self {
            folder,
            files: head.into_iter().chain(body).collect(),
            plan,
        }
    }

    fn image(&self) -> String {
        self.folder
            .path()
            .join("image.iso")
            .to_str()
            .unwrap()
            .to_owned()
    }

    fn out(&self) -> PathBuf {
        let out = self.folder.path().join("out");
        fs::create_dir_all(&out).unwrap();
        out
    }

    /// Checks that `out` contains every file with its bytes, and nothing else.
    fn assert_extracted(&self) {
        assert_eq!(
            files_below(&self.out()).keys().collect::<Vec<_>>(),
            self.files.keys().collect::<Vec<_>>()
        );
        assert!(
            files_below(&self.out()) == self.files,
            "a file has other bytes"
        );
    }

    /// Returns the sorted paths of files and directories, each with a leading slash.
    fn listing(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.files.keys().flat_map(|path| prefixes(path)).collect();
        paths.sort();
        paths.dedup();
        paths
    }
}

fn prefixes(path: &str) -> Vec<String> {
    let ends = path
        .match_indices('/')
        .map(|(end, _)| end)
        .chain([path.len()]);
    ends.map(|end| format!("/{}", &path[..end])).collect()
}

fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                pending.push(entry.path());
            } else {
                let path = entry
                    .path()
                    .strip_prefix(folder)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                files.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
    files
}

/// Runs a program that must succeed. Returns its output on stdout and stderr.
fn run(package: &str, program: &str, arguments: &[&str]) -> (String, String) {
    let output = Command::new(program)
        .args(arguments)
        .env("LC_ALL", "C")
        .output();
    let output = output.unwrap_or_else(|error| {
        panic!("cannot run {program}: {error} (install package {package})")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{stdout}\n{stderr}",
        output.status
    );
    (stdout, stderr)
}

fn isoinfo(arguments: &[&str]) -> String {
    run("genisoimage", "isoinfo", arguments).0
}

fn sorted_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect();
    lines.sort();
    lines
}

#[test]
fn xorriso_extracts_what_was_put_in() {
    let judged = Judged::new();
    let out = judged.out();
    let arguments = [
        "-osirrox",
        "on:auto_chmod_on",
        "-indev",
        &judged.image(),
        "-extract",
        "/",
        out.to_str().unwrap(),
    ];
    let (_, talk) = run("xorriso", "xorriso", &arguments);
    for word in ["WARNING", "SORRY", "FAILURE", "FATAL", "MISHAP"] {
        assert!(!talk.contains(word), "{talk}");
    }
    judged.assert_extracted();
}

#[test]
fn isoinfo_sees_modes_and_links() {
    let judged = Judged::new();
    let listing = isoinfo(&["-i", &judged.image(), "-R", "-l"]);
    let sees = |line: &str| listing.lines().any(|found| found.starts_with(line));
    assert!(
        sees("-r--r--r--   4    0    0             100 Nov 20 2026"),
        "{listing}"
    );
    assert!(
        sees("-r--r--r--   3    0    0           10000 Nov 20 2026"),
        "{listing}"
    );
    assert!(
        sees("-r--r--r--   1    0    0               0 Nov 20 2026"),
        "{listing}"
    );
    assert!(sees("dr-xr-xr-x   4    0    0"), "{listing}");
}

#[test]
fn isoinfo_lists_all_three_trees() {
    let judged = Judged::new();
    let image = judged.image();
    assert_eq!(
        sorted_lines(&isoinfo(&["-i", &image, "-R", "-f"])),
        judged.listing()
    );
    assert_eq!(
        sorted_lines(&isoinfo(&["-i", &image, "-J", "-f"])),
        judged.listing()
    );
    let plain = sorted_lines(&isoinfo(&["-i", &image, "-f"]));
    assert_eq!(plain.len(), judged.listing().len());
    assert!(plain.contains(&"/MANIFEST.YAML;1".to_owned()), "{plain:?}");
    assert!(
        plain.contains(&"/CLASH/X0000000.;1".to_owned()),
        "{plain:?}"
    );
}

#[test]
fn isoinfo_reads_the_manifest_before_mounting() {
    let judged = Judged::new();
    let text = isoinfo(&["-i", &judged.image(), "-x", "/MANIFEST.YAML;1"]);
    assert_eq!(text.as_bytes(), judged.files["manifest.yaml"]);
}

#[test]
fn isoinfo_finds_the_extensions() {
    let text = isoinfo(&["-i", &Judged::new().image(), "-d"]);
    for line in [
        "Volume id: EXAMPLE_SOLUTION_1_2_3",
        "Volume set id: example-solution-1.2.3",
        "Joliet with UCS level 3 found",
        "Rock Ridge signatures version 1 found",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[test]
fn bsdtar_extracts_what_was_put_in() {
    let judged = Judged::new();
    let (_, talk) = run(
        "libarchive-tools",
        "bsdtar",
        &["-xf", &judged.image(), "-C", judged.out().to_str().unwrap()],
    );
    assert_eq!(talk, "");
    judged.assert_extracted();
}

#[test]
fn seven_zip_extracts_what_was_put_in() {
    let judged = Judged::new();
    let to = format!("-o{}", judged.out().to_str().unwrap());
    let (talk, _) = run("p7zip-full", "7z", &["x", "-bd", &judged.image(), &to]);
    assert!(
        talk.contains("Everything is Ok") && !talk.contains("arning"),
        "{talk}"
    );
    judged.assert_extracted();
}

#[test]
fn hadris_finds_every_file_at_its_place_in_both_trees() {
    let judged = Judged::new();
    for namespace in [
        Namespace::Preferred,
        Namespace::RockRidge,
        Namespace::Joliet,
    ] {
        let device = FileDevice::open(judged.image()).unwrap();
        let mut iso = IsoFs::mount_namespace(device, MountOptions::new(), namespace).unwrap();
        for (path, bytes) in &judged.files {
            let node = iso.resolve(path.as_bytes(), Resolve::Lexical).unwrap();
            assert_eq!(iso.stat(node).unwrap().len(), bytes.len() as u64, "{path}");
            let mut extents = [hadris_fs::Extent::new(0, 0); 2];
            let count = iso.extents(node, 0, &mut extents).unwrap();
            let found = extents[..count]
                .iter()
                .map(|extent| (extent.offset(), extent.len()))
                .next();
            let planned = judged
                .plan
                .extent_of(path)
                .map(|extent| (extent.offset, extent.size));
            assert_eq!(
                found.filter(|(_, len)| *len > 0),
                planned,
                "{path} in {namespace:?}"
            );
        }
    }
}

/// A directory with the kinds of files that upstream's builders put into images, and kinds that they should not.
fn source() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        ("manifest.yaml", "kind: Solution\n".to_owned()),
        ("empty", String::new()),
        ("images/app/1.0.0/manifest.json", "{}".to_owned()),
        (
            &format!("images/app/1.0.0/{}", "a".repeat(64)),
            "layer".repeat(1000),
        ),
        (
            &format!("images/app/1.0.0/{}.manifest.json", "a".repeat(64)),
            "{ }".to_owned(),
        ),
        ("1/2/3/4/5/6/7/8/9/10/deep", "deep".to_owned()),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::hard_link(
        folder.path().join("manifest.yaml"),
        folder.path().join("same.yaml"),
    )
    .unwrap();
    folder
}

/// Reads an image with another program and compares the files with their source.
fn assert_reads(image: &Path, source: &Path, names: NameSource) -> Tree {
    let medium = fs::File::open(image).unwrap();
    let tree = read_tree(
        &medium,
        medium.metadata().unwrap().len(),
        &Limits::default(),
    )
    .unwrap();
    assert_eq!(tree.names, names);
    let files = tree
        .entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::File)
        .map(|entry| {
            let mut bytes = Vec::new();
            for extent in &entry.extents {
                let start = bytes.len();
                bytes.resize(start + usize::try_from(extent.size).unwrap(), 0);
                ReadAt::read_exact_at(&medium, &mut bytes[start..], extent.offset).unwrap();
            }
            (entry.path.clone(), bytes)
        });
    assert!(
        files.collect::<BTreeMap<_, _>>() == files_below(source),
        "{}",
        Dump(&tree)
    );
    tree
}

/// The flags in upstream's Makefiles.
const UPSTREAM: [&str; 14] = [
    "-quiet",
    "-rock",
    "-joliet",
    "-joliet-long",
    "-full-iso9660-filenames",
    "-volid",
    "Example 1.0.0",
    "-iso-level",
    "3",
    "-gid",
    "0",
    "-uid",
    "0",
    "-input-charset",
];

#[test]
fn we_read_images_by_genisoimage() {
    let source = source();
    let image = source.path().with_extension("iso");
    let arguments = [
        &UPSTREAM[..],
        &[
            "iso8859-1",
            "-o",
            image.to_str().unwrap(),
            source.path().to_str().unwrap(),
        ],
    ];
    run("genisoimage", "genisoimage", &arguments.concat());
    let tree = assert_reads(&image, source.path(), NameSource::RockRidge);
    assert_eq!(tree.volume.id, "Example 1.0.0");
    fs::remove_file(image).unwrap();
}

#[test]
fn we_read_images_by_xorriso_with_links() {
    let source = source();
    let long = "target/".repeat(60);
    std::os::unix::fs::symlink(&long, source.path().join("images/link")).unwrap();
    std::os::unix::fs::symlink("/abs/../x", source.path().join("images/other")).unwrap();
    let image = source.path().with_extension("iso");
    let output = image.to_str().unwrap();
    let path = source.path().to_str().unwrap();
    run(
        "xorriso",
        "xorriso",
        &[
            "-as",
            "mkisofs",
            "-R",
            "-J",
            "-joliet-long",
            "-iso-level",
            "3",
            "-o",
            output,
            path,
        ],
    );
    for name in ["link", "other"] {
        fs::remove_file(source.path().join("images").join(name)).unwrap();
    }
    let tree = assert_reads(&image, source.path(), NameSource::RockRidge);
    let target = |path: &str| {
        tree.entries
            .iter()
            .find(|entry| entry.path == path)
            .unwrap()
            .kind
            .clone()
    };
    assert_eq!(
        target("images/link"),
        EntryKind::Symlink(long.trim_end_matches('/').to_owned())
    );
    assert_eq!(
        target("images/other"),
        EntryKind::Symlink("/abs/../x".to_owned())
    );
    fs::remove_file(image).unwrap();
}

#[test]
fn we_read_joliet_where_there_is_no_rock_ridge() {
    let source = source();
    fs::remove_dir_all(source.path().join("1")).unwrap();
    let image = source.path().with_extension("iso");
    let output = image.to_str().unwrap();
    let path = source.path().to_str().unwrap();
    run(
        "genisoimage",
        "genisoimage",
        &["-quiet", "-J", "-joliet-long", "-l", "-o", output, path],
    );
    assert_reads(&image, source.path(), NameSource::Joliet);
    fs::remove_file(image).unwrap();
}

#[test]
fn damaged_images_by_others_neither_panic_nor_run_away() {
    let source = source();
    std::os::unix::fs::symlink("target/".repeat(60), source.path().join("images/link")).unwrap();
    let image = source.path().with_extension("iso");
    let output = image.to_str().unwrap();
    let path = source.path().to_str().unwrap();
    run(
        "xorriso",
        "xorriso",
        &[
            "-as",
            "mkisofs",
            "-R",
            "-J",
            "-joliet-long",
            "-iso-level",
            "3",
            "-o",
            output,
            path,
        ],
    );
    let by_xorriso = fs::read(&image).unwrap();
    // genisoimage writes link targets of this length incorrectly, and the reader refuses such records.
    fs::remove_file(source.path().join("images/link")).unwrap();
    let arguments = [&UPSTREAM[..], &["iso8859-1", "-o", output, path]];
    run("genisoimage", "genisoimage", &arguments.concat());
    let by_genisoimage = fs::read(&image).unwrap();
    fs::remove_file(image).unwrap();
    let limits = Limits {
        entries: 2000,
        metadata_bytes: 1 << 20,
        ..Limits::default()
    };
    for bytes in [by_xorriso, by_genisoimage] {
        let targets = non_zero(&bytes, 16 * 2048..80 * 2048);
        let mut random = Random(21);
        let read = |bytes: &Vec<u8>| read_tree(bytes, bytes.len() as u64, &limits);
        read(&bytes).unwrap();
        let refused = (0..3000)
            .filter(|_| read(&mutated(&bytes, &targets, &mut random)).is_err())
            .count();
        assert!(
            (500..2900).contains(&refused),
            "the mutations do not reach the reader: {refused}"
        );
    }
}
