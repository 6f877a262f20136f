//! The tree of an archive, read by other implementations of ISO 9660, Rock Ridge and Joliet.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use hadris_fs::sync::FileSystem;
use hadris_fs::{DirCursor, FileType, MountOptions};
use hadris_iso::Namespace;
use hadris_iso::sync::IsoFs;
use hadris_storage::host::FileDevice;

use crate::tools::{
    ARCHIVE, FileFacts, PackedArchive, Tree, run_tool, run_tool_for_text, tree_of, try_tool,
};

#[test]
fn xorriso_unpacks_the_tree_with_its_modes_and_times() {
    for packed in PackedArchive::all() {
        let arguments = ["-osirrox", "on", "-indev", ARCHIVE, "-extract", "/", "out"];
        let output = try_tool(&packed.directory(), "xorriso", &arguments);
        assert!(output.good, "{}", output.stderr);
        for word in ["WARNING", "SORRY", "FAILURE", "FATAL", "MISHAP"] {
            assert!(!output.stderr.contains(word), "{}", output.stderr);
        }
        let out = packed.desk.path("out");
        packed.assert_files("xorriso", &tree_of(&out));
        for path in packed.paths() {
            let metadata = fs::symlink_metadata(out.join(&path[1..])).unwrap();
            let mode = if metadata.is_dir() {
                0o40_555
            } else {
                0o100_444
            };
            assert_eq!(metadata.mode(), mode, "{path}");
            // 1980-01-01T00:00:00Z
            assert_eq!(metadata.mtime(), 315_532_800, "{path}");
        }
    }
}

#[test]
fn bsdtar_unpacks_the_tree_with_one_file_for_each_content() {
    for packed in PackedArchive::all() {
        fs::create_dir(packed.desk.path("out")).unwrap();
        let output = try_tool(
            &packed.directory(),
            "bsdtar",
            &["-xf", ARCHIVE, "-C", "out"],
        );
        assert!(output.good, "{}", output.stderr);
        assert_eq!(output.stderr, "");
        let out = packed.desk.path("out");
        packed.assert_files("bsdtar", &tree_of(&out));
        for (path, links) in packed.links() {
            assert_eq!(
                fs::metadata(out.join(path)).unwrap().nlink(),
                links,
                "{path}"
            );
        }
    }
}

#[test]
fn seven_zip_unpacks_the_tree() {
    for packed in PackedArchive::all() {
        let talk = run_tool_for_text(&packed.directory(), "7z", &["x", "-bd", "-oout", ARCHIVE]);
        assert!(talk.contains("Everything is Ok"), "{talk}");
        assert!(!talk.contains("arning"), "{talk}");
        packed.assert_files("7z", &tree_of(&packed.desk.path("out")));
    }
}

#[test]
fn sha256sum_accepts_the_tree() {
    for packed in PackedArchive::all() {
        let root = packed.unpacked();
        let said = run_tool_for_text(&root, "sha256sum", &["-c", "--strict", "SHA256SUMS"]);
        // Every file except the list itself and the statement.
        assert_eq!(said.lines().count(), packed.files.len() - 2);
        assert!(said.lines().all(|line| line.ends_with(": OK")), "{said}");
        fs::write(root.join("index.json"), "{}").unwrap();
        let output = try_tool(&root, "sha256sum", &["-c", "--strict", "SHA256SUMS"]);
        assert!(!output.good);
    }
}

/// Returns the output of `isoinfo -f`, in its order.
fn listing(packed: &PackedArchive, names: &[&str]) -> Vec<String> {
    let arguments = [&["-i", ARCHIVE, "-f"], names].concat();
    let listing = run_tool_for_text(&packed.directory(), "isoinfo", &arguments);
    listing
        .lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

#[test]
fn isoinfo_reads_every_file_by_each_of_its_names() {
    for packed in PackedArchive::all() {
        let rock_ridge = listing(&packed, &["-R"]);
        assert_eq!(sorted(rock_ridge.clone()), packed.paths());
        assert_eq!(sorted(listing(&packed, &["-J"])), packed.paths());
        // Rock Ridge names are in the records of the plain names, so both lists have the same order.
        let plain = listing(&packed, &[]);
        assert_eq!(plain.len(), rock_ridge.len());
        assert_eq!(plain.iter().collect::<BTreeSet<_>>().len(), plain.len());
        for (plain, path) in plain.iter().zip(&rock_ridge) {
            let Some(facts) = packed.files.get(&path[1..]) else {
                assert_plain_name(plain, "");
                continue;
            };
            assert_plain_name(plain, ";1");
            for (names, name) in [(&["-R"][..], path), (&["-J"], path), (&[], plain)] {
                let arguments = [&["-i", ARCHIVE], names, &["-x", name]].concat();
                let bytes = run_tool(&packed.directory(), "isoinfo", &arguments);
                assert_eq!(FileFacts::from_bytes(&bytes), *facts, "{names:?} {name}");
            }
        }
    }
}

/// Asserts a name of ECMA-119 7.5.1 and 7.6.1 at level 3, except for the dot that separates an extension.
#[track_caller]
fn assert_plain_name(path: &str, end: &str) {
    let name = path.rsplit('/').next().unwrap();
    let stem = name
        .strip_suffix(end)
        .unwrap_or_else(|| panic!("{path} does not end in {end}"));
    let is_d = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    assert!(
        stem.len() <= 31 && stem.matches('.').count() <= 1,
        "{path} is too long"
    );
    assert!(
        stem.chars().all(|c| is_d(c) || c == '.'),
        "{path} has other characters"
    );
}

/// A line of `isoinfo -R -l`.
pub(crate) struct Line {
    mode: String,
    links: u64,
    owner: [String; 2],
    size: u64,
    pub(crate) sector: u64,
}

/// Returns the lines of `isoinfo -R -l`, by path. A directory's line is that of its own `.`.
pub(crate) fn long_listing(packed: &PackedArchive) -> BTreeMap<String, Line> {
    let listing = run_tool_for_text(&packed.directory(), "isoinfo", &["-i", ARCHIVE, "-R", "-l"]);
    let mut lines = BTreeMap::new();
    let mut directory = String::new();
    for line in listing.lines() {
        if let Some(path) = line.strip_prefix("Directory listing of /") {
            path.trim_end().clone_into(&mut directory);
            continue;
        }
        let Some((facts, rest)) = line.split_once('[') else {
            continue;
        };
        let (place, name) = rest.split_once(']').unwrap();
        let facts: Vec<&str> = facts.split_whitespace().collect();
        let path = match name.trim() {
            "." => directory.trim_end_matches('/').to_owned(),
            ".." => continue,
            _ if line.starts_with('d') => continue,
            name => format!("{directory}{name}"),
        };
        let line = Line {
            mode: facts[0].to_owned(),
            links: facts[1].parse().unwrap(),
            owner: [facts[2].to_owned(), facts[3].to_owned()],
            size: facts[4].parse().unwrap(),
            sector: place.split_whitespace().next().unwrap().parse().unwrap(),
        };
        assert!(lines.insert(path.clone(), line).is_none(), "{path} twice");
    }
    lines
}

#[test]
fn isoinfo_sees_modes_links_and_one_place_for_each_content() {
    for packed in PackedArchive::all() {
        let lines = long_listing(&packed);
        assert_eq!(lines.len(), packed.paths().len() + 1);
        let mut places: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, count) in packed.links() {
            let (line, facts) = (&lines[path], &packed.files[path]);
            assert_eq!(
                (line.mode.as_str(), line.links),
                ("-r--r--r--", count),
                "{path}"
            );
            assert_eq!(
                (line.size, &line.owner),
                (facts.size, &["0", "0"].map(str::to_owned))
            );
            let place = *places.entry(&facts.sha256).or_insert(line.sector);
            assert_eq!(place, line.sector, "{path} lies apart from its equals");
        }
        assert_eq!(lines["statement.dsse.json"].sector, 32);
        assert_eq!(lines["CONTENTS"].sector, 64);
        let directories: Vec<_> = lines
            .iter()
            .filter(|(path, _)| !packed.files.contains_key(*path))
            .collect();
        for (path, line) in &directories {
            let inside = |other: &&str| {
                let parent = other.rsplit_once('/').map_or("", |(parent, _)| parent);
                !other.is_empty() && parent == path.as_str()
            };
            let below = directories
                .iter()
                .map(|(other, _)| other.as_str())
                .filter(inside)
                .count() as u64;
            assert_eq!(
                (line.mode.as_str(), line.links),
                ("dr-xr-xr-x", 2 + below),
                "{path}"
            );
        }
    }
}

#[test]
fn the_volume_is_known_by_its_names() {
    for packed in PackedArchive::all() {
        let id = packed.solution_id();
        let upper = id.to_uppercase().replace(['-', '.'], "_");
        let volume = &upper[..upper.len().min(32)];
        let described = run_tool_for_text(&packed.directory(), "isoinfo", &["-i", ARCHIVE, "-d"]);
        for line in [
            format!("Volume id: {volume}"),
            format!("Volume set id: {id}"),
            format!("Volume size is: {}", packed.desk.read(ARCHIVE).len() / 2048),
            "Joliet with UCS level 3 found".to_owned(),
            "Rock Ridge signatures version 1 found".to_owned(),
        ] {
            assert!(
                described.lines().any(|found| found == line),
                "{line}: {described}"
            );
        }
        // Upstream's import checks this first.
        let kind = run_tool_for_text(&packed.directory(), "file", &[ARCHIVE]);
        assert!(
            kind.contains("ISO 9660") && kind.contains(&format!("'{volume}'")),
            "{kind}"
        );
    }
}

#[test]
fn upstream_reads_the_manifest_before_mounting() {
    for packed in PackedArchive::all() {
        let arguments = ["-x", "/MANIFEST.YAML;1", "-i", ARCHIVE];
        let manifest = run_tool(&packed.directory(), "isoinfo", &arguments);
        assert_eq!(
            FileFacts::from_bytes(&manifest),
            packed.files["manifest.yaml"]
        );
        let id = packed.statement()["predicate"]["name"].clone();
        let line = format!("  name: '{}'", id.as_str().unwrap());
        let manifest = String::from_utf8(manifest).unwrap();
        assert!(manifest.lines().any(|found| found == line), "{manifest}");
    }
}

#[test]
fn hadris_reads_the_tree_in_both_namespaces() {
    for packed in PackedArchive::all() {
        for namespace in [
            Namespace::Preferred,
            Namespace::RockRidge,
            Namespace::Joliet,
        ] {
            let found = read_by_hadris(&packed.desk.path(ARCHIVE), namespace);
            packed.assert_files(&format!("hadris {namespace:?}"), &found);
        }
    }
}

fn read_by_hadris(image: &Path, namespace: Namespace) -> Tree {
    let device = FileDevice::open(image).unwrap();
    let mut iso = IsoFs::mount_namespace(device, MountOptions::new(), namespace).unwrap();
    let mut tree = Tree::new();
    let mut pending = vec![(String::new(), iso.root())];
    while let Some((prefix, directory)) = pending.pop() {
        let mut cursor = DirCursor::START;
        while let Some(entry) = iso.readdir(directory, cursor).unwrap() {
            cursor = entry.next_cursor();
            let path = format!("{prefix}{}", entry.name().to_str().unwrap());
            if entry.file_type() == FileType::Dir {
                pending.push((format!("{path}/"), entry.node()));
                continue;
            }
            let length = usize::try_from(entry.metadata().len()).unwrap();
            // Read one byte too many, to check that the file ends.
            let mut bytes = vec![0; length + 1];
            let mut done = 0;
            loop {
                let read = iso
                    .read(entry.node(), done as u64, &mut bytes[done..])
                    .unwrap();
                done += read;
                if read == 0 {
                    break;
                }
            }
            assert!(
                tree.insert(path.clone(), FileFacts::from_bytes(&bytes[..done]))
                    .is_none(),
                "{path} twice"
            );
        }
    }
    tree
}
