//! Archives whose bytes are pinned. Format 1 never changes. If one of these tests fails, this version would refuse
//! every existing archive, or the readers at sites would refuse new ones. Such a change needs another format or layout:
//! never update these digests.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that fails"
)]

mod common;

use std::num::NonZeroUsize;

use archive::{OpenedArchive, Overwrite, UnsignedArchive};
use common::cases::{Case, cases};
use common::digest;
use progress::{Cancel, Watch};

/// Writes the archive. Returns its id and the SHA-256 of the image.
fn write(case: &Case) -> [String; 2] {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("archive.iso");
    let unsigned = UnsignedArchive::new(case.info.clone(), case.files()).unwrap();
    let signed = match case.keys.as_slice() {
        [] => unsigned.leave_unsigned(),
        _ => unsigned.sign(&case.secret_keys()).unwrap(),
    };
    let (one, watch) = (NonZeroUsize::MIN, Watch::silent(Cancel::never()));
    let written = signed
        .write(&path, Overwrite::Refuse, one, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
    // The pinned bytes must be a valid archive.
    let opened = OpenedArchive::open(&path).unwrap();
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
