//! Archives made by the archive's own writing stages, from what another archive holds.

use std::num::NonZeroUsize;
use std::path::Path;

use archive::{ArchiveFile, Listed, Opened, Overwrite, Signed, StatementInfo, Unsigned};
use watch::{Cancel, Watch};

/// An archive's list, whoever signed it.
pub(crate) fn list(path: &Path) -> Listed {
    let opened = Opened::open(path).unwrap();
    opened.skip_signature().unwrap().list().unwrap()
}

/// Every listed file.
pub(crate) fn files(listed: &Listed) -> Vec<ArchiveFile> {
    let entries = listed.contents().entries().iter();
    let read = |path: &str| listed.read(path, 1 << 30).unwrap();
    entries
        .map(|entry| ArchiveFile::from_bytes(entry.path.clone(), read(entry.path.as_str())))
        .collect()
}

/// What the statement says besides.
pub(crate) fn info(listed: &Listed) -> StatementInfo {
    let predicate = listed.statement().predicate.clone();
    StatementInfo {
        id: predicate.id,
        time: predicate.time,
        upgrade_from: predicate.upgrade_from,
        expires: predicate.expires,
        requires: predicate.requires,
        optional: predicate.optional,
    }
}

/// Lists and lays out the files.
pub(crate) fn unsigned(info: StatementInfo, files: Vec<ArchiveFile>) -> Unsigned {
    Unsigned::new(info, files).unwrap()
}

/// Writes the archive.
pub(crate) fn write(signed: Signed, path: &Path) {
    let (one, watch) = (NonZeroUsize::MIN, Watch::silent(Cancel::never()));
    signed
        .write(path, Overwrite::Replace, one, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
}
