//! Images of the same tree by other tools, and archives that other tools changed: all are refused with a hint.

use crate::tools::{ARCHIVE, PackedArchive, run_tool};

/// The flags of upstream's Makefiles.
pub(crate) const UPSTREAM: [&str; 13] = [
    "-quiet",
    "-rock",
    "-joliet",
    "-joliet-long",
    "-full-iso9660-filenames",
    "-volid",
    "EXAMPLE 1.0.0",
    "-iso-level",
    "3",
    "-gid",
    "0",
    "-uid",
    "0",
];

#[track_caller]
fn refused(packed: &PackedArchive, archive: &str, words: &[&str]) {
    let before = packed.desk.read(archive);
    let said = packed
        .desk
        .solution(&["validate", archive, "--key", "publisher.pub"])
        .failure(1);
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    packed
        .desk
        .solution(&["sign", archive, "--key", "publisher.key"])
        .failure(1);
    assert!(
        before == packed.desk.read(archive),
        "an image that was refused was written to"
    );
}

#[test]
fn the_same_tree_by_another_tool_is_refused_with_what_to_do() {
    let packed = PackedArchive::example();
    packed.unpacked();
    for (tool, first) in [("xorriso", &["-as", "mkisofs"][..]), ("genisoimage", &[])] {
        let output = format!("{tool}.iso");
        let last = ["-input-charset", "iso8859-1", "-o", &output, "mounted"];
        run_tool(
            &packed.directory(),
            tool,
            &[first, &UPSTREAM[..], &last].concat(),
        );
        let words = [
            "container.foreign",
            "by another tool",
            "ask the publisher for an archive created by `solution pack`",
        ];
        refused(&packed, &output, &words);
    }
}

#[test]
fn archives_to_which_another_tool_added_a_file_are_refused() {
    let packed = PackedArchive::example();
    packed.desk.write("evil.yaml", "kind: Evil\n");
    let add = ["-map", "evil.yaml", "/images/evil.yaml", "-commit"];
    // A second session after the archive, and a new image with both.
    std::fs::copy(packed.desk.path(ARCHIVE), packed.desk.path("grown.iso")).unwrap();
    run_tool(
        &packed.directory(),
        "xorriso",
        &[&["-dev", "grown.iso"], &add[..]].concat(),
    );
    let devices = ["-indev", ARCHIVE, "-outdev", "made-anew.iso"];
    run_tool(
        &packed.directory(),
        "xorriso",
        &[&devices, &add[..]].concat(),
    );
    refused(&packed, "grown.iso", &["container.", "hint:"]);
    refused(&packed, "made-anew.iso", &["container.foreign", "hint:"]);
}
