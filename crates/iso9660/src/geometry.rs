//! Where everything lies: the one walk that gives each structure and each content its sectors.

use std::collections::VecDeque;

use crate::entries::entries;
use crate::format::{Place, SECTOR_SIZE};
use crate::limits::MAX_SECTORS;
use crate::plan::{Plan, PlanError, number};
use crate::region::{ByteOrder, TreeKind};
use crate::tree::Child;

/// Sector of the primary volume descriptor (ECMA-119 6.7.1.1).
pub(crate) const DESCRIPTORS_LBA: u32 = 16;
/// Sector of the first head file.
pub(crate) const HEAD_LBA: u32 = 32;

/// Contents of at least this size start on a multiple of it, so that file systems can clone them.
const ALIGNMENT: u64 = 4096;
/// The image ends with at least so many zeros, for drives that read ahead of the end of the last track.
const TAIL: u64 = 1 << 20;
/// The image's size is a multiple of this: 16 sectors, the unit in which discs are written.
const GRANULE: u64 = 32 << 10;

/// The path tables in the order in which they lie.
pub(crate) const PATH_TABLES: [(TreeKind, ByteOrder); 4] = [
    (TreeKind::Primary, ByteOrder::Little),
    (TreeKind::Primary, ByteOrder::Big),
    (TreeKind::Joliet, ByteOrder::Little),
    (TreeKind::Joliet, ByteOrder::Big),
];

/// The places of the structures that are not directories.
#[derive(Debug, Default)]
pub(crate) struct Geometry {
    /// As in [`PATH_TABLES`].
    pub(crate) path_tables: [Place; 4],
    /// Directories in path table order.
    pub(crate) primary: Vec<u32>,
    pub(crate) joliet: Vec<u32>,
    pub(crate) continuation: u32,
    pub(crate) zero_block: u32,
    pub(crate) image_size: u64,
}

impl Geometry {
    /// The directories of a tree in path table order.
    pub(crate) fn directories(&self, tree: TreeKind) -> &[u32] {
        match tree {
            TreeKind::Primary => &self.primary,
            TreeKind::Joliet => &self.joliet,
        }
    }

    /// The place of a path table.
    pub(crate) fn path_table(&self, tree: TreeKind, order: ByteOrder) -> Place {
        let found = PATH_TABLES
            .iter()
            .zip(self.path_tables)
            .find(|(which, _)| **which == (tree, order));
        found.map_or(Place::default(), |(_, place)| place)
    }
}

/// Hands out sectors in ascending order.
struct Sectors {
    next: u64,
}

impl Sectors {
    /// The first of the sectors for `size` bytes.
    fn take(&mut self, size: u64) -> Result<u32, PlanError> {
        let lba = u32::try_from(self.next).map_err(|_| PlanError::ImageTooLarge)?;
        self.next += size.div_ceil(SECTOR_SIZE);
        Ok(lba)
    }

    fn place(&mut self, size: u32) -> Result<Place, PlanError> {
        Ok(Place {
            lba: self.take(u64::from(size))?,
            size,
        })
    }
}

impl Plan {
    /// Gives everything its place. `head_len` files come before the path tables.
    pub(crate) fn lay_out(&mut self, head_len: usize) -> Result<(), PlanError> {
        let mut sectors = Sectors {
            next: u64::from(HEAD_LBA),
        };
        let head_extents = self
            .extents
            .partition_point(|extent| extent.file < head_len);
        for extent in &mut self.extents[..head_extents] {
            extent.offset = u64::from(sectors.take(extent.size)?) * SECTOR_SIZE;
        }
        self.geometry.primary = self.number_directories(TreeKind::Primary)?;
        self.geometry.joliet = self.number_directories(TreeKind::Joliet)?;
        for (index, (tree, _)) in PATH_TABLES.into_iter().enumerate() {
            self.geometry.path_tables[index] = sectors.place(self.path_table_size(tree))?;
        }
        self.place_directories(TreeKind::Primary, &mut sectors)?;
        self.geometry.continuation = sectors.take(SECTOR_SIZE)?;
        self.place_directories(TreeKind::Joliet, &mut sectors)?;
        self.geometry.zero_block = sectors.take(SECTOR_SIZE)?;
        for extent in &mut self.extents[head_extents..] {
            if extent.size >= ALIGNMENT {
                sectors.next = sectors.next.next_multiple_of(ALIGNMENT / SECTOR_SIZE);
            }
            extent.offset = u64::from(sectors.take(extent.size)?) * SECTOR_SIZE;
        }
        self.geometry.image_size = (sectors.next * SECTOR_SIZE + TAIL).next_multiple_of(GRANULE);
        if self.geometry.image_size / SECTOR_SIZE > MAX_SECTORS {
            Err(PlanError::ImageTooLarge)
        } else {
            Ok(())
        }
    }

    /// Numbers the directories of a tree from the root outwards, level by level (ECMA-119 6.9.1), and measures them.
    fn number_directories(&mut self, tree: TreeKind) -> Result<Vec<u32>, PlanError> {
        let mut order = Vec::with_capacity(self.tree.dirs.len());
        let mut queue = VecDeque::from([0]);
        while let Some(dir) = queue.pop_front() {
            order.push(number(dir));
            let sequence = u16::try_from(order.len()).expect("directories are limited to 65,535");
            let size = self.directory_size(dir, tree)?;
            queue.extend(
                entries(&self.tree, &self.files, dir, tree)
                    .iter()
                    .filter_map(|entry| match entry.child {
                        Child::Directory(index) => Some(index),
                        Child::File(_) => None,
                    }),
            );
            self.tree.dirs[dir].set_number(tree, sequence);
            self.tree.dirs[dir].place_mut(tree).size = size;
        }
        Ok(order)
    }

    fn place_directories(
        &mut self,
        tree: TreeKind,
        sectors: &mut Sectors,
    ) -> Result<(), PlanError> {
        for index in 0..self.tree.dirs.len() {
            let dir = self.geometry.directories(tree)[index] as usize;
            let place = self.tree.dirs[dir].place_mut(tree);
            *place = sectors.place(place.size)?;
        }
        Ok(())
    }
}
