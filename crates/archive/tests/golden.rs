//! Archives whose bytes are pinned. Format 1 never changes: if one of these fails, every archive ever signed would be
//! refused, or what is written now would be refused by the readers at sites. A change belongs into another format or
//! layout; these digests are not renewed.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::num::NonZeroUsize;

use archive::{Opened, Overwrite, Unsigned};
use common::cases::{Case, cases};
use common::digest;
use watch::{Cancel, Watch};

/// Writes the archive, and returns its id and the SHA-256 of the image.
fn write(case: &Case) -> [String; 2] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive.iso");
    let unsigned = Unsigned::new(case.info.clone(), case.files()).unwrap();
    let signed = match case.keys.as_slice() {
        [] => unsigned.leave_unsigned(),
        _ => unsigned.sign(&case.secret_keys()).unwrap(),
    };
    let (one, watch) = (NonZeroUsize::MIN, Watch::silent(Cancel::never()));
    let written = signed
        .write(&path, Overwrite::Refuse, one, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
    // What is pinned is an archive.
    let opened = Opened::open(&path).unwrap();
    let listed = opened.skip_signature().unwrap().list().unwrap();
    assert_eq!(listed.verify_data(one, &watch).unwrap(), []);
    let image = std::fs::read(&path).unwrap();
    [written.archive_id.hex(), digest(&image).hex()]
}

#[test]
fn archives_have_the_bytes_of_format_1() {
    let mut changed = Vec::new();
    for case in cases() {
        let found = write(&case);
        if found != [case.archive_id, case.sha256] {
            let id = &case.info.id;
            changed.push(format!("{id}, pinned for: {}; now {found:?}", case.reason));
        }
    }
    assert!(changed.is_empty(), "format 1 was changed: {changed:#?}");
}
