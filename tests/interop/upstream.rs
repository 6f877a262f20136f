//! Archives by upstream's own tools and flags are converted: the packed images equal the original ones, byte for byte.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::foreign::UPSTREAM;
use crate::tools::{ARCHIVE, PackedArchive, Tree, expected, run_tool, tree_of, try_tool};

/// The manifest as upstream's generator writes it, with the mistake in its example's Makefile.
const MANIFEST: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata:
  annotations:
    solutions.metalk8s.scality.com/display-name: Example Solution
    solutions.metalk8s.scality.com/development-release: '0'
  labels: {}
  name: example
spec:
  images: [':1.0.0', 'example-server:1.0.0', 'example-operator:1.0.0']
  operator: {image: {name: example-operator, tag: 1.0.0}}
  version: 1.0.0
";

/// Returns the example as upstream's build writes it: no statement, no lists, no OCI layout, equal blobs hard-linked.
fn upstream_tree(packed: &PackedArchive) -> PathBuf {
    let tree = packed.unpacked();
    for file in [
        "statement.dsse.json",
        "CONTENTS",
        "SHA256SUMS",
        "README.txt",
        "oci-layout",
        "index.json",
    ] {
        let _ = fs::remove_file(tree.join(file));
    }
    fs::remove_dir_all(tree.join("blobs")).unwrap();
    fs::write(tree.join("manifest.yaml"), MANIFEST).unwrap();
    fs::create_dir(tree.join("bin")).unwrap();
    fs::write(tree.join("bin/tool"), "#!/bin/sh\n").unwrap();
    link_equal_files(&tree);
    tree
}

/// Replaces equal files by hard links, as `hardlink -c` does.
fn link_equal_files(tree: &Path) {
    let mut first: HashMap<String, String> = HashMap::new();
    for (path, facts) in tree_of(tree) {
        let same = first.entry(facts.sha256).or_insert_with(|| path.clone());
        if *same != path {
            fs::remove_file(tree.join(&path)).unwrap();
            fs::hard_link(tree.join(same), tree.join(&path)).unwrap();
        }
    }
}

/// Returns the files of images in the layout of skopeo's `dir:`.
fn images(tree: &Tree) -> Tree {
    let files = tree.iter().filter(|(path, _)| path.starts_with("images/"));
    files
        .map(|(path, facts)| (path.clone(), facts.clone()))
        .collect()
}

#[test]
fn an_archive_by_upstreams_tools_is_packed_with_the_same_images() {
    let packed = PackedArchive::example();
    upstream_tree(&packed);
    let before = images(&packed.files);
    assert!(before.len() > 4, "{before:?}");
    for (tool, first) in [("genisoimage", &[][..]), ("xorriso", &["-as", "mkisofs"])] {
        let upstream = format!("{tool}.iso");
        let last = ["-input-charset", "iso8859-1", "-o", &upstream, "mounted"];
        let arguments = [first, &UPSTREAM[..], &last].concat();
        run_tool(&packed.directory(), tool, &arguments);
        let source = format!("from-{tool}");
        let said = packed
            .desk
            .solution(&["init", "--from", &upstream, &source])
            .success();
        assert!(said.contains("solution.yaml"), "{said}");
        let notes = fs::read_to_string(packed.desk.path(&source).join("NOTES.md")).unwrap();
        assert!(
            notes.contains("**:1.0.0**") && notes.contains("**bin/**"),
            "{notes}"
        );
        let pack = [
            "pack",
            &source,
            "-o",
            ARCHIVE,
            "--key",
            "publisher.key",
            "--force",
        ];
        packed.desk.solution(&pack).success();
        assert_eq!(images(&expected(&packed.desk)), before, "{tool}");
        packed
            .desk
            .solution(&["validate", ARCHIVE, "--key", "publisher.pub"])
            .success();
    }
}

#[test]
fn an_archive_that_was_cut_short_becomes_nothing() {
    let packed = PackedArchive::example();
    upstream_tree(&packed);
    // Without the padding, the image ends with its last file.
    let last = [
        "-no-pad",
        "-input-charset",
        "iso8859-1",
        "-o",
        "whole.iso",
        "mounted",
    ];
    run_tool(
        &packed.directory(),
        "genisoimage",
        &[&UPSTREAM[..], &last].concat(),
    );
    let whole = packed.desk.read("whole.iso");
    packed.desk.write("cut.iso", &whole[..whole.len() - 2048]);
    let said = packed
        .desk
        .solution(&["init", "--from", "cut.iso", "tree"])
        .failure(1);
    assert!(said.contains("the end of the image is missing"), "{said}");
    assert!(!packed.desk.path("tree").exists());
    // Upstream only runs `file` and reads the manifest before it mounts an archive. Both succeed.
    assert!(
        try_tool(
            &packed.directory(),
            "isoinfo",
            &["-i", "cut.iso", "-x", "/MANIFEST.YAML;1"]
        )
        .good
    );
}
