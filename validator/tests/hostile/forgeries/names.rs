//! Forged file names: the directory trees contain different names.

use super::README;
use crate::image::{Image, Tree, file_record, system_use, ucs2};

#[test]
fn a_name_that_only_joliet_has_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Joliet, README);
    image.put(record.start + 33, &ucs2("README.exe"));
    let seen = image.seen_by_joliet();
    assert!(seen.entries.iter().any(|entry| entry.path == "README.exe"));
    let seen = image.seen().unwrap();
    assert!(seen.entries.iter().all(|entry| entry.path != "README.exe"));
    image.refused_at(&["Joliet root directory"]);
}

#[test]
fn a_name_that_only_rock_ridge_has_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, README);
    let nm = image.entry(&record, *b"NM").unwrap();
    image.put(nm.start + 5, b"README.exe");
    let seen = image.seen().unwrap();
    assert!(seen.entries.iter().any(|entry| entry.path == "README.exe"));
    let seen = image.seen_by_joliet();
    assert!(seen.entries.iter().all(|entry| entry.path != "README.exe"));
    image.refused_at(&["primary root directory"]);
}

/// The name for systems that support neither Rock Ridge nor Joliet.
#[test]
fn a_name_that_only_the_plain_tree_has_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, README);
    assert_eq!(image.identifier(&record), b"README.TXT;1");
    image.put(record.start + 33, b"README.EXE;1");
    image.refused_at(&["primary root directory"]);
}

#[test]
fn a_file_that_only_joliet_has_is_refused() {
    let mut image = Image::good();
    let content = image.extent(image.record(Tree::Joliet, README).start);
    let directory = image.directory(Tree::Joliet, "operator/deploy");
    let end = image.records(directory.clone()).last().unwrap().end;
    let record = file_record(&content, &ucs2("setup.exe"), &[]);
    image.insert_record(directory, end, &record);
    let path = "operator/deploy/setup.exe";
    let seen = image.seen_by_joliet();
    assert_eq!(image.file(&seen, path), b"how to check this archive\n");
    let seen = image.seen().unwrap();
    assert!(seen.entries.iter().all(|entry| entry.path != path));
    image.refused_at(&["Joliet directory operator/deploy"]);
}

#[test]
fn a_file_that_only_rock_ridge_has_is_refused() {
    let mut image = Image::good();
    let content = image.extent(image.record(Tree::Primary, README).start);
    let directory = image.directory(Tree::Primary, "operator/deploy");
    let end = image.records(directory.clone()).last().unwrap().end;
    let entries = system_use("setup.sh", 0o100_555, 1000);
    let record = file_record(&content, b"SETUP.SH;1", &entries);
    image.insert_record(directory, end, &record);
    let path = "operator/deploy/setup.sh";
    let seen = image.seen().unwrap();
    assert_eq!(image.file(&seen, path), b"how to check this archive\n");
    let seen = image.seen_by_joliet();
    assert!(seen.entries.iter().all(|entry| entry.path != path));
    image.refused_at(&["primary directory operator/deploy"]);
}

/// A link in place of a file: it points to a file of the reader's system.
#[test]
fn a_symbolic_link_is_refused() {
    let mut image = Image::good();
    let record = image.record(Tree::Primary, README);
    let px = image.entry(&record, *b"PX").unwrap();
    image.put_both32(px.start + 4, 0o120_777);
    let tf = image.entry(&record, *b"TF").unwrap();
    let mut link = b"SL\x1a\x01\x00\x08\x00\x00\x03etc\x00".to_vec();
    link.resize(tf.len(), 0);
    // The last component fills the rest of the entry.
    let left = u8::try_from(tf.len() - 14).unwrap();
    link[13] = left;
    link[14..].fill(b'x');
    image.put(tf.start, &link);
    let seen = image.seen().unwrap();
    let entry = seen
        .entries
        .iter()
        .find(|entry| entry.path == README)
        .unwrap();
    let target = format!("/etc/{}", "x".repeat(usize::from(left)));
    assert_eq!(entry.kind, iso9660::reader::EntryKind::Symlink(target));
    image.refused_at(&["primary root directory"]);
}
