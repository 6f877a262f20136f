//! Whole trees, mounted with each common set of options.

use std::collections::BTreeMap;

use crate::machine::{Mount, boot};
use crate::tools::{ARCHIVE, FileFacts, PackedArchive, run_tool_for_text};

/// 1980-01-01T00:00:00Z.
const TIME: i64 = 315_532_800;

/// Asserts that the kernel shows exactly these files with their content.
#[track_caller]
fn assert_files(mount: &Mount, files: &BTreeMap<&str, &FileFacts>) {
    let name = &mount.name;
    for (path, facts) in files {
        let found = mount.nodes.get(*path).zip(mount.sums.get(*path));
        let (node, sha256) = found.unwrap_or_else(|| panic!("{name} shows no file {path}"));
        assert_eq!(node.size, facts.size, "{name}: {path}");
        assert_eq!(*sha256, facts.sha256, "{name}: {path}");
    }
    let more: Vec<&String> = mount
        .sums
        .keys()
        .filter(|path| !files.contains_key(path.as_str()))
        .collect();
    assert!(more.is_empty(), "{name} shows more: {more:?}");
}

/// Asserts that the kernel shows every file and directory, and nothing else.
#[track_caller]
fn assert_tree(mount: &Mount, packed: &PackedArchive) {
    let files = packed.files.iter();
    assert_files(
        mount,
        &files.map(|(path, facts)| (path.as_str(), facts)).collect(),
    );
    let paths = packed.paths();
    let mut expected: Vec<&str> = paths.iter().map(|path| &path[1..]).collect();
    expected.insert(0, "");
    let found: Vec<&str> = mount.nodes.keys().map(String::as_str).collect();
    assert_eq!(found, expected, "{}", mount.name);
}

/// Asserts that modes, owner, links and times are those of Rock Ridge.
#[track_caller]
fn assert_attributes(mount: &Mount, packed: &PackedArchive) {
    let links = packed.links();
    for (path, node) in &mount.nodes {
        let (mode, links) = match links.get(path.as_str()) {
            Some(links) => (0o100_444, *links),
            None => (0o040_555, 2 + subdirectories(mount, path)),
        };
        let found = (node.mode, node.links, node.owner, node.modified);
        let expected = (mode, links, [0, 0], TIME);
        assert_eq!(found, expected, "{}: {path}", mount.name);
    }
}

fn subdirectories(mount: &Mount, directory: &str) -> u64 {
    let inside = |path: &str| {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        !path.is_empty() && parent == directory
    };
    let nodes = mount.nodes.iter();
    nodes
        .filter(|(path, node)| node.mode & 0o170_000 == 0o040_000 && inside(path))
        .count() as u64
}

/// Asserts the kernel's defaults for a mount without Rock Ridge: readable for all, one link.
#[track_caller]
fn assert_no_attributes(mount: &Mount) {
    for (path, node) in &mount.nodes {
        let is_file = mount.sums.contains_key(path);
        let mode = if is_file { 0o100_555 } else { 0o040_555 };
        assert_eq!((node.mode, node.links), (mode, 1), "{}: {path}", mount.name);
        assert_eq!(node.modified, TIME, "{}: {path}", mount.name);
    }
}

#[test]
fn the_kernel_shows_the_tree_with_its_attributes_from_a_disc_and_from_a_disk() {
    for packed in PackedArchive::all() {
        let mounts = boot(
            &packed.desk.path(ARCHIVE),
            &["mount=sr0:ro", "mount=vda:ro"],
        );
        for mount in &mounts {
            assert_tree(mount, &packed);
            assert_attributes(mount, &packed);
        }
    }
}

#[test]
fn without_rock_ridge_the_kernel_shows_the_same_tree() {
    for packed in PackedArchive::all() {
        let words = ["mount=sr0:ro,norock", "mount=vda:ro,norock"];
        for mount in boot(&packed.desk.path(ARCHIVE), &words) {
            assert_tree(&mount, &packed);
            assert_no_attributes(&mount);
        }
    }
}

/// Each plain name leads to the file with the Rock Ridge name in the same record, according to isoinfo.
#[test]
fn the_plain_names_lead_to_the_same_files() {
    for packed in PackedArchive::all() {
        let listing = |more: &[&str]| {
            let arguments = [&["-i", ARCHIVE, "-f"], more].concat();
            run_tool_for_text(&packed.directory(), "isoinfo", &arguments)
        };
        let (plain, names) = (listing(&[]), listing(&["-R"]));
        assert_eq!(plain.lines().count(), names.lines().count());
        let pairs = plain.lines().zip(names.lines());
        let path = |line: &'_ str| line.trim_end()[1..].to_owned();
        let pairs: Vec<(String, String)> = pairs.map(|(a, b)| (path(a), path(b))).collect();
        let files = pairs.iter().filter_map(|(plain, name)| {
            let facts = packed.files.get(name)?;
            Some((plain.as_str(), facts))
        });
        let files: BTreeMap<&str, &FileFacts> = files.collect();
        assert_eq!(files.len(), packed.files.len());
        // Upstream opens the manifest by this name.
        assert_eq!(files["MANIFEST.YAML;1"], &packed.files["manifest.yaml"]);
        let words = ["mount=vda:ro,norock,nojoliet,map=off"];
        for mount in boot(&packed.desk.path(ARCHIVE), &words) {
            assert_files(&mount, &files);
            assert_eq!(mount.nodes.len(), pairs.len() + 1);
            assert!(
                pairs
                    .iter()
                    .all(|(plain, _)| mount.nodes.contains_key(plain))
            );
            assert_no_attributes(&mount);
        }
    }
}
