//! Archives that are built with the archive crate's own writing stages, from the content of another archive.

use std::num::NonZeroUsize;
use std::path::Path;

use archive::{
    ArchiveFile, ListedArchive, OpenedArchive, Overwrite, SignedArchive, StatementInfo,
    UnsignedArchive,
};
use progress::{Cancel, Watch};

/// Opens an archive and lists its files, without checking its signatures.
pub(crate) fn list(path: &Path) -> ListedArchive {
    let opened = OpenedArchive::open(path).unwrap();
    opened.skip_signature().unwrap().list().unwrap()
}

/// Returns every listed file.
pub(crate) fn files(listed: &ListedArchive) -> Vec<ArchiveFile> {
    let entries = listed.contents().entries().iter();
    let read = |path: &str| listed.read(path, 1 << 30).unwrap();
    entries
        .map(|entry| ArchiveFile::from_bytes(entry.path.clone(), read(entry.path.as_str())))
        .collect()
}

/// Returns the other fields of the statement.
pub(crate) fn statement_info(listed: &ListedArchive) -> StatementInfo {
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
pub(crate) fn unsigned(info: StatementInfo, files: Vec<ArchiveFile>) -> UnsignedArchive {
    UnsignedArchive::new(info, files).unwrap()
}

/// Writes the archive.
pub(crate) fn write(signed: SignedArchive, path: &Path) {
    let (one, watch) = (NonZeroUsize::MIN, Watch::silent(Cancel::never()));
    signed
        .write(path, Overwrite::Replace, one, &watch)
        .and_then(|draft| draft.publish(watch.cancel))
        .unwrap();
}
