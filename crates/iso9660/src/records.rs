//! The records of a directory and of a path table, encoded on demand.
//!
//! The planner runs this code twice: first to compute sizes, while all offsets are still zero, then to encode the
//! records with their final offsets.

use crate::entries::{NamedChild, entries};
use crate::error::PlanError;
use crate::format::{
    self, DirectoryRecord, FLAG_DIRECTORY, FLAG_MORE_SECTIONS, MODE_DIRECTORY, MODE_FILE, PARENT,
    SECTION_SIZE, SECTOR_LEN, SECTOR_SIZE, SELF, SectorRun,
};
use crate::geometry::{ImagePlan, number};
use crate::limits::MAX_DIRECTORY_SIZE;
use crate::region::{ByteOrder, TreeKind};
use crate::tree::Child;

/// Returns the offset of a record of `len` bytes after `used` bytes. Records do not cross sectors (ECMA-119 6.8.1.1).
pub(crate) fn record_start(used: usize, len: usize) -> usize {
    if used % SECTOR_LEN + len > SECTOR_LEN {
        used.next_multiple_of(SECTOR_LEN)
    } else {
        used
    }
}

impl ImagePlan {
    /// Computes the size of a directory in bytes, in whole sectors (ECMA-119 6.8.1.3). It stops when the limit is
    /// exceeded, regardless of the number of remaining records.
    pub(crate) fn directory_size(&self, dir: usize, tree: TreeKind) -> Result<u32, PlanError> {
        let mut used = 0;
        let measure = &mut |record: &[u8]| {
            used = record_start(used, record.len()) + record.len();
            if used > MAX_DIRECTORY_SIZE {
                return Err(PlanError::DirectoryTooLarge(
                    self.tree.directory_path(&self.files, dir).to_owned(),
                ));
            }
            Ok(())
        };
        self.directory_records(dir, tree, measure)?;
        Ok(number(used.next_multiple_of(SECTOR_LEN)))
    }

    /// Passes the records of a directory to `emit`, one after the other.
    pub(crate) fn directory_records<E>(
        &self,
        dir: usize,
        tree: TreeKind,
        emit: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut record = Vec::with_capacity(256);
        let parent = self.tree.dirs[dir].parent;
        // Each directory starts with the records of itself and of its parent.
        for (index, identifier) in [(dir, SELF), (parent, PARENT)] {
            let mut system_use = Vec::new();
            if tree == TreeKind::Primary {
                self.append_directory_use(&mut system_use, index, identifier == SELF && dir == 0);
            }
            record.clear();
            self.directory_record(index, tree, identifier, &system_use)
                .append_to(&mut record);
            emit(&record)?;
        }
        for entry in entries(&self.tree, &self.files, dir, tree) {
            self.entry_records(&entry, tree, &mut record, emit)?;
        }
        Ok(())
    }

    fn directory_record<'a>(
        &self,
        dir: usize,
        tree: TreeKind,
        identifier: &'a [u8],
        system_use: &'a [u8],
    ) -> DirectoryRecord<'a> {
        let place = self.tree.dirs[dir].place(tree);
        DirectoryRecord {
            place,
            flags: FLAG_DIRECTORY,
            time: self.volume.time.short(),
            identifier,
            system_use,
        }
    }

    fn entry_records<E>(
        &self,
        entry: &NamedChild<'_>,
        tree: TreeKind,
        record: &mut Vec<u8>,
        emit: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut identifier = Vec::with_capacity(256);
        entry.append_identifier(&mut identifier, tree);
        let system_use = match tree {
            TreeKind::Primary => self.entry_use(entry),
            TreeKind::Joliet => Vec::new(),
        };
        let mut put = |filled: &DirectoryRecord<'_>| {
            record.clear();
            filled.append_to(record);
            emit(record)
        };
        match entry.child {
            Child::Directory(index) => {
                put(&self.directory_record(index, tree, &identifier, &system_use))
            }
            Child::File(index) => self.sections(index).try_for_each(|(place, flags)| {
                let time = self.volume.time.short();
                put(&DirectoryRecord {
                    place,
                    flags,
                    time,
                    identifier: &identifier,
                    system_use: &system_use,
                })
            }),
        }
    }

    /// Returns the sections of a file with the flags of their records. An empty file has one section, at the zero
    /// block.
    fn sections(&self, file: usize) -> impl Iterator<Item = (SectorRun, u8)> {
        let (offset, size) = match self.extent_of_file(file) {
            Some(extent) => (extent.offset, extent.size),
            None => (format::byte_offset(self.geometry.zero_block), 0),
        };
        let count = size.div_ceil(SECTION_SIZE).max(1);
        (0..count).map(move |section| {
            let start = section * SECTION_SIZE;
            let place = SectorRun {
                lba: low32((offset + start) / SECTOR_SIZE),
                size: low32((size - start).min(SECTION_SIZE)),
            };
            (
                place,
                if section + 1 < count {
                    FLAG_MORE_SECTIONS
                } else {
                    0
                },
            )
        })
    }

    fn entry_use(&self, entry: &NamedChild<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        match entry.child {
            Child::Directory(index) => self.append_directory_px(&mut out, index),
            Child::File(index) => {
                // Lower serial numbers belong to directories, so that every serial number in an image is unique.
                let serial = number(self.tree.dirs.len() + 1) + self.inode_of[index];
                format::append_px(&mut out, MODE_FILE, self.inode(index).links, serial);
            }
        }
        format::append_nm(&mut out, entry.name);
        format::append_tf(&mut out, self.volume.time.short());
        out
    }

    fn append_directory_use(&self, out: &mut Vec<u8>, dir: usize, first_of_root: bool) {
        // SP is only allowed in the first record of the root (SUSP 5.3).
        if first_of_root {
            format::append_sp(out);
        }
        self.append_directory_px(out, dir);
        format::append_tf(out, self.volume.time.short());
        if first_of_root {
            // ER does not fit into the record's 255 bytes, so it is stored in the continuation area.
            format::append_ce(out, self.geometry.continuation, number(format::er().len()));
        }
    }

    fn append_directory_px(&self, out: &mut Vec<u8>, dir: usize) {
        let dir = &self.tree.dirs[dir];
        format::append_px(
            out,
            MODE_DIRECTORY,
            // The Unix convention: its entry, its own `.`, and the `..` of each subdirectory.
            dir.subdirectories + 2,
            u32::from(dir.number(TreeKind::Primary)),
        );
    }

    /// Computes the size of a tree's path table in bytes.
    pub(crate) fn path_table_size(&self, tree: TreeKind) -> u32 {
        let mut size = 0;
        let measure = &mut |record: &[u8]| -> Result<(), std::convert::Infallible> {
            size += record.len();
            Ok(())
        };
        let Ok(()) = self.path_table_records(tree, ByteOrder::Little, measure);
        number(size)
    }

    /// Passes the records of a path table to `emit`, one after the other.
    pub(crate) fn path_table_records<E>(
        &self,
        tree: TreeKind,
        order: ByteOrder,
        emit: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut record = Vec::with_capacity(256);
        let mut put = |dir: usize, identifier: &[u8]| {
            let this = &self.tree.dirs[dir];
            let parent = self.tree.dirs[this.parent].number(tree);
            record.clear();
            format::append_path_table_record(
                &mut record,
                order,
                this.place(tree).lba,
                parent,
                identifier,
            );
            emit(&record)
        };
        put(0, SELF)?;
        // Directories are numbered parent by parent, so their children appear in path table order.
        for &dir in self.geometry.directories(tree) {
            if self.tree.dirs[dir as usize].subdirectories == 0 {
                continue;
            }
            for entry in entries(&self.tree, &self.files, dir as usize, tree) {
                if let Child::Directory(child) = entry.child {
                    let mut identifier = Vec::with_capacity(256);
                    entry.append_identifier(&mut identifier, tree);
                    put(child, &identifier)?;
                }
            }
        }
        Ok(())
    }
}

/// Converts a sector number or the length of a section. The layout keeps both in range.
fn low32(value: u64) -> u32 {
    u32::try_from(value)
        .expect("images have fewer than 2^32 sectors, and sections fewer than 2^32 bytes")
}
