//! The name and kind of an entry, taken from Rock Ridge if present, otherwise from the directory record. Other
//! programs may write either, so both are checked for contradictions.

use super::record::{RawRecord, joliet_name, primary_name};
use super::susp::RockRidge;
use super::{EntryKind, NameSource};

const TYPE_MASK: u32 = 0o170_000;
const TYPE_FILE: u32 = 0o100_000;
const TYPE_DIRECTORY: u32 = 0o040_000;
const TYPE_SYMLINK: u32 = 0o120_000;

/// Returns the name of an entry; none if it is not valid text.
pub(super) fn name(record: &RawRecord<'_>, found: &RockRidge, names: NameSource) -> Option<String> {
    match names {
        NameSource::RockRidge => match &found.name {
            Some(name) => String::from_utf8(name.clone()).ok(),
            None => primary_name(record.identifier),
        },
        NameSource::Joliet => joliet_name(record.identifier),
        NameSource::Primary => primary_name(record.identifier),
    }
}

/// Returns the kind of an entry. Rock Ridge and the directory record must agree, except for a child link (CL), whose
/// record is that of a file although the entry is a directory.
pub(super) fn kind(record: &RawRecord<'_>, found: &RockRidge) -> Result<EntryKind, &'static str> {
    let kind = match found.mode.map(|mode| mode & TYPE_MASK) {
        _ if found.child.is_some() => EntryKind::Directory,
        None if record.is_directory => EntryKind::Directory,
        None | Some(TYPE_FILE) => EntryKind::File,
        Some(TYPE_DIRECTORY) => EntryKind::Directory,
        Some(TYPE_SYMLINK) => {
            let target = found
                .target
                .clone()
                .ok_or("a symbolic link without a target")?;
            EntryKind::Symlink(
                String::from_utf8(target).map_err(|_| "a link target that is not UTF-8")?,
            )
        }
        Some(_) => EntryKind::Other,
    };
    if found.child.is_none() && record.is_directory != (kind == EntryKind::Directory) {
        return Err("the record and Rock Ridge disagree on whether this is a directory");
    }
    Ok(kind)
}
