//! Whole trees, mounted in each way in which people mount them.

use std::collections::BTreeMap;

use crate::judged::{ARCHIVE, Facts, Judged, text};
use crate::machine::{Mount, boot};

/// 1980-01-01T00:00:00Z.
const TIME: i64 = 315_532_800;

/// The kernel shows these files with their content, and no others.
#[track_caller]
fn assert_files(mount: &Mount, files: &BTreeMap<&str, &Facts>) {
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

/// Every file and every directory is there, and nothing else.
#[track_caller]
fn assert_tree(mount: &Mount, judged: &Judged) {
    let files = judged.files.iter();
    assert_files(
        mount,
        &files.map(|(path, facts)| (path.as_str(), facts)).collect(),
    );
    let paths = judged.paths();
    let mut expected: Vec<&str> = paths.iter().map(|path| &path[1..]).collect();
    expected.insert(0, "");
    let found: Vec<&str> = mount.nodes.keys().map(String::as_str).collect();
    assert_eq!(found, expected, "{}", mount.name);
}

/// Modes, owner, links and times are those of Rock Ridge.
#[track_caller]
fn assert_attributes(mount: &Mount, judged: &Judged) {
    let links = judged.links();
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

/// Without Rock Ridge the kernel knows no attributes, and gives what it gives everything: read for all, one link.
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
    for judged in Judged::all() {
        let mounts = boot(
            &judged.desk.path(ARCHIVE),
            &["mount=sr0:ro", "mount=vda:ro"],
        );
        for mount in &mounts {
            assert_tree(mount, &judged);
            assert_attributes(mount, &judged);
        }
    }
}

#[test]
fn without_rock_ridge_the_kernel_shows_the_same_tree() {
    for judged in Judged::all() {
        let words = ["mount=sr0:ro,norock", "mount=vda:ro,norock"];
        for mount in boot(&judged.desk.path(ARCHIVE), &words) {
            assert_tree(&mount, &judged);
            assert_no_attributes(&mount);
        }
    }
}

/// Each plain name leads to the file whose Rock Ridge name stands in the same record. isoinfo says which these are.
#[test]
fn the_plain_names_lead_to_the_same_files() {
    for judged in Judged::all() {
        let listing = |more: &[&str]| {
            let arguments = [&["-i", ARCHIVE, "-f"], more].concat();
            text(&judged.directory(), "isoinfo", &arguments)
        };
        let (plain, names) = (listing(&[]), listing(&["-R"]));
        assert_eq!(plain.lines().count(), names.lines().count());
        let pairs = plain.lines().zip(names.lines());
        let path = |line: &'_ str| line.trim_end()[1..].to_owned();
        let pairs: Vec<(String, String)> = pairs.map(|(a, b)| (path(a), path(b))).collect();
        let files = pairs.iter().filter_map(|(plain, name)| {
            let facts = judged.files.get(name)?;
            Some((plain.as_str(), facts))
        });
        let files: BTreeMap<&str, &Facts> = files.collect();
        assert_eq!(files.len(), judged.files.len());
        // The name by which upstream asks.
        assert_eq!(files["MANIFEST.YAML;1"], &judged.files["manifest.yaml"]);
        let words = ["mount=vda:ro,norock,nojoliet,map=off"];
        for mount in boot(&judged.desk.path(ARCHIVE), &words) {
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
