//! Images of the same tree by other tools, and archives that other tools changed: all are refused, and the words say
//! what to do.

use crate::judged::{ARCHIVE, Judged, must};

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
fn refused(judged: &Judged, archive: &str, words: &[&str]) {
    let before = judged.desk.read(archive);
    let said = judged
        .desk
        .solution(&["validate", archive, "--key", "publisher.pub"])
        .failure(1);
    for word in words {
        assert!(said.contains(word), "`{word}` is not in: {said}");
    }
    judged
        .desk
        .solution(&["sign", archive, "--key", "publisher.key"])
        .failure(1);
    assert!(
        before == judged.desk.read(archive),
        "an image that was refused was written to"
    );
}

#[test]
fn the_same_tree_by_another_tool_is_refused_with_what_to_do() {
    let judged = Judged::example();
    judged.unpacked();
    for (tool, first) in [("xorriso", &["-as", "mkisofs"][..]), ("genisoimage", &[])] {
        let output = format!("{tool}.iso");
        let last = ["-input-charset", "iso8859-1", "-o", &output, "mounted"];
        must(
            &judged.directory(),
            tool,
            &[first, &UPSTREAM[..], &last].concat(),
        );
        let words = [
            "container.foreign",
            "by another tool",
            "ask the publisher for an archive created by `solution pack`",
        ];
        refused(&judged, &output, &words);
    }
}

#[test]
fn archives_to_which_another_tool_added_a_file_are_refused() {
    let judged = Judged::example();
    judged.desk.write("evil.yaml", "kind: Evil\n");
    let add = ["-map", "evil.yaml", "/images/evil.yaml", "-commit"];
    // A second session behind the archive, and a new image that holds both.
    std::fs::copy(judged.desk.path(ARCHIVE), judged.desk.path("grown.iso")).unwrap();
    must(
        &judged.directory(),
        "xorriso",
        &[&["-dev", "grown.iso"], &add[..]].concat(),
    );
    let devices = ["-indev", ARCHIVE, "-outdev", "made-anew.iso"];
    must(
        &judged.directory(),
        "xorriso",
        &[&devices, &add[..]].concat(),
    );
    refused(&judged, "grown.iso", &["container.", "hint:"]);
    refused(&judged, "made-anew.iso", &["container.foreign", "hint:"]);
}
