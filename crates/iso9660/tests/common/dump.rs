//! Dumps of images for people: one line for each entry, and always the same text for the same tree.

use std::fmt;

use iso9660::reader::{EntryKind, Tree, TreeEntry};

/// Returns a tree as text with one line for each entry: type and permissions, links, size, extents, path.
///
/// Extents are `offset+size` in bytes. Names are escaped so that they cannot control a terminal.
#[derive(Debug)]
pub(crate) struct Dump<'a>(pub(crate) &'a Tree);

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tree {
            volume,
            names,
            entries,
        } = self.0;
        writeln!(
            f,
            "volume `{}` set `{}` size {} names {names:?}",
            volume.id, volume.set_id, volume.size
        )?;
        entries.iter().try_for_each(|entry| write_entry(f, entry))
    }
}

fn write_entry(f: &mut fmt::Formatter<'_>, entry: &TreeEntry) -> fmt::Result {
    let kind = match entry.kind {
        EntryKind::File => '-',
        EntryKind::Directory => 'd',
        EntryKind::Symlink(_) => 'l',
        EntryKind::Other => '?',
    };
    write!(
        f,
        "{kind}{:04o} {} {}",
        entry.mode.unwrap_or(0) & 0o7777,
        entry.links.unwrap_or(0),
        entry.size
    )?;
    for extent in &entry.extents {
        write!(f, " {}+{}", extent.offset, extent.size)?;
    }
    write!(f, " {}", entry.path.escape_debug())?;
    if let EntryKind::Symlink(target) = &entry.kind {
        write!(f, " -> {}", target.escape_debug())?;
    }
    writeln!(f)
}
