//! The records of one directory and of one path table, made when they are needed.
//!
//! The same code runs twice: first to measure, while all places are still zero, then to write.

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

/// Returns where a record of `len` bytes goes after `used` bytes: records do not cross sectors (ECMA-119 6.8.1.1).
pub(crate) fn record_start(used: usize, len: usize) -> usize {
    if used % SECTOR_LEN + len > SECTOR_LEN {
        used.next_multiple_of(SECTOR_LEN)
    } else {
        used
    }
}

impl ImagePlan {
    /// Bytes of a directory: whole sectors (ECMA-119 6.8.1.3). Measuring ends at the limit, however many records
    /// would still come.
    pub(crate) fn directory_size(&self, dir: usize, tree: TreeKind) -> Result<u32, PlanError> {
        let mut used = 0;
        let measure = &mut |record: &[u8]| {
            used = record_start(used, record.len()) + record.len();
            if used > MAX_DIRECTORY_SIZE {
                return Err(PlanError::DirectoryTooLarge {
                    path: self.tree.directory_path(&self.files, dir).to_owned(),
                });
            }
            Ok(())
        };
        self.directory_records(dir, tree, measure)?;
        Ok(number(used.next_multiple_of(SECTOR_LEN)))
    }

    /// Makes the records of a directory, one after the other.
    pub(crate) fn directory_records<E>(
        &self,
        dir: usize,
        tree: TreeKind,
        emit: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut record = Vec::with_capacity(256);
        let parent = self.tree.dirs[dir].parent;
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

    /// The sections of a file with the flags of their records; an empty file has one, at the zero block.
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
                // Directories have the numbers below: no two things of an image have one number.
                let serial = number(self.tree.dirs.len() + 1) + self.inode_of[index];
                format::append_px(&mut out, MODE_FILE, self.inode(index).links, serial);
            }
        }
        format::append_nm(&mut out, entry.name);
        format::append_tf(&mut out, self.volume.time.short());
        out
    }

    fn append_directory_use(&self, out: &mut Vec<u8>, dir: usize, first_of_root: bool) {
        // SP stands in the first record of the root and nowhere else (SUSP 5.3).
        if first_of_root {
            format::append_sp(out);
        }
        self.append_directory_px(out, dir);
        format::append_tf(out, self.volume.time.short());
        if first_of_root {
            // With ER, the record would have more than its 255 bytes: it stands where CE points to.
            format::append_ce(out, self.geometry.continuation, number(format::er().len()));
        }
    }

    fn append_directory_px(&self, out: &mut Vec<u8>, dir: usize) {
        let dir = &self.tree.dirs[dir];
        format::append_px(
            out,
            MODE_DIRECTORY,
            // As Unix counts: its entry, its own `.`, and the `..` of each directory in it.
            dir.subdirectories + 2,
            u32::from(dir.number(TreeKind::Primary)),
        );
    }

    /// Bytes of a tree's path table.
    pub(crate) fn path_table_size(&self, tree: TreeKind) -> u32 {
        let mut size = 0;
        let measure = &mut |record: &[u8]| -> Result<(), std::convert::Infallible> {
            size += record.len();
            Ok(())
        };
        let Ok(()) = self.path_table_records(tree, ByteOrder::Little, measure);
        number(size)
    }

    /// Makes the records of a path table, one after the other.
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
        // Directories are numbered parent by parent, so their children come out in path table order.
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

/// A sector number or a section's length, both of which the layout keeps in range.
fn low32(value: u64) -> u32 {
    u32::try_from(value)
        .expect("images have fewer than 2^32 sectors, and sections fewer than 2^32 bytes")
}
