//! The planner: [`plan`], a pure function from files, names and time to every byte of metadata and the offset of every
//! content.
//!
//! Equal inputs give equal plans on every machine. Memory use is a few hundred bytes per file, because records are
//! encoded on demand by [`ImagePlan::visit_metadata`] and never stored.

use std::collections::VecDeque;

use crate::entries::{check_siblings, entries};
use crate::error::PlanError;
use crate::format::{SECTION_SIZE, SECTOR_SIZE, SectorRun, byte_offset};
use crate::geometry::{Extent, Geometry, HEAD_LBA, ImagePlan, Inode, PATH_TABLES, number};
use crate::limits::{MAX_FILES, MAX_SECTIONS, MAX_SECTORS};
use crate::names::is_d_characters;
use crate::region::TreeKind;
use crate::tree::{Child, PathTree};
use crate::{Input, InputFile, Layout, Volume};

/// The alignment of contents that have at least this size, which allows file systems to clone their blocks.
const ALIGNMENT: u64 = 4096;
/// The minimum number of zeros at the end of the image, for drives that read ahead past the end of the last track.
const TAIL: u64 = 1 << 20;
/// The granularity of the image's size: 16 sectors, the unit in which discs are written.
const GRANULE: u64 = 32 << 10;

/// Lays out an image.
pub fn plan(layout: Layout, input: Input) -> Result<ImagePlan, PlanError> {
    let Input { volume, head, body } = input;
    check_volume(&volume)?;
    let head_len = head.len();
    let mut files = head;
    files.extend(body);
    check_files(&files)?;
    let tree = PathTree::build(&files)?;
    (0..tree.dirs.len()).try_for_each(|dir| check_siblings(&tree, &files, dir))?;
    let first_with_content = group_by_content(&files)?;
    let mut plan = ImagePlan {
        layout,
        volume,
        files,
        inode_of: first_with_content,
        inodes: Vec::new(),
        extents: Vec::new(),
        tree,
        geometry: Geometry::default(),
    };
    plan.number_inodes();
    plan.lay_out(head_len)?;
    Ok(plan)
}

impl ImagePlan {
    /// Replaces the entries of `inode_of`, each the first file with the same content, by inode numbers in data order.
    fn number_inodes(&mut self) {
        for index in 0..self.files.len() {
            let first = self.inode_of[index] as usize;
            if first == index {
                self.inode_of[index] = number(self.inodes.len());
                let inode = self.new_inode(index);
                self.inodes.push(inode);
            } else {
                self.inode_of[index] = self.inode_of[first];
                self.inodes[self.inode_of[first] as usize].links += 1;
            }
        }
    }

    fn new_inode(&mut self, index: usize) -> Inode {
        let InputFile { size, content, .. } = self.files[index];
        if size == 0 {
            return Inode {
                links: 1,
                extent: None,
            };
        }
        let extent = number(self.extents.len());
        self.extents.push(Extent {
            offset: 0,
            size,
            content,
            file: index,
        });
        Inode {
            links: 1,
            extent: Some(extent),
        }
    }

    /// Assigns an offset to every structure and content. The first `head_len` files come before the path tables.
    fn lay_out(&mut self, head_len: usize) -> Result<(), PlanError> {
        let mut sectors = Sectors {
            next: u64::from(HEAD_LBA),
        };
        let head_extents = self
            .extents
            .partition_point(|extent| extent.file < head_len);
        // The head has the same offset in every image, so that readers find it without parsing. It therefore precedes
        // every structure whose size depends on the files.
        for extent in &mut self.extents[..head_extents] {
            extent.offset = byte_offset(sectors.take(extent.size)?);
        }
        // The sizes of directories and path tables do not depend on offsets, so they are computed before these are
        // placed.
        for tree in [TreeKind::Primary, TreeKind::Joliet] {
            self.geometry.directories[tree.slot()] = self.number_directories(tree)?;
        }
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
            extent.offset = byte_offset(sectors.take(extent.size)?);
        }
        self.geometry.image_size = (sectors.next * SECTOR_SIZE + TAIL).next_multiple_of(GRANULE);
        if self.geometry.image_size / SECTOR_SIZE > MAX_SECTORS {
            Err(PlanError::ImageTooLarge)
        } else {
            Ok(())
        }
    }

    /// Numbers the directories of a tree level by level from the root (ECMA-119 6.9.1) and computes their sizes.
    fn number_directories(&mut self, tree: TreeKind) -> Result<Vec<u32>, PlanError> {
        let mut order = Vec::with_capacity(self.tree.dirs.len());
        let mut queue = VecDeque::from([0]);
        // Path tables list directories by level, then by the number of the parent, then by identifier.
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

/// An allocator of sectors in ascending order.
struct Sectors {
    next: u64,
}

impl Sectors {
    /// Allocates sectors for `size` bytes and returns the first.
    fn take(&mut self, size: u64) -> Result<u32, PlanError> {
        let lba = u32::try_from(self.next).map_err(|_| PlanError::ImageTooLarge)?;
        self.next += size.div_ceil(SECTOR_SIZE);
        Ok(lba)
    }

    fn place(&mut self, size: u32) -> Result<SectorRun, PlanError> {
        Ok(SectorRun {
            lba: self.take(u64::from(size))?,
            size,
        })
    }
}

fn check_volume(volume: &Volume) -> Result<(), PlanError> {
    if volume.id.is_empty() || volume.id.len() > 32 || !is_d_characters(&volume.id) {
        return Err(PlanError::VolumeId(volume.id.clone()));
    }
    let set_id = volume.set_id.as_str();
    let printable = set_id
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if set_id.len() > 128 || !printable || set_id.trim_matches(' ').len() != set_id.len() {
        return Err(PlanError::SetId(volume.set_id.clone()));
    }
    Ok(())
}

fn check_files(files: &[InputFile]) -> Result<(), PlanError> {
    if files.len() > MAX_FILES {
        return Err(PlanError::TooManyFiles(files.len()));
    }
    match files
        .iter()
        .find(|file| file.size > MAX_SECTIONS * SECTION_SIZE)
    {
        None => Ok(()),
        Some(file) => Err(PlanError::FileTooLarge {
            path: file.path.to_string(),
            size: file.size,
        }),
    }
}

/// Returns for each file the index of the first file with the same content. It sorts instead of hashing, to use little
/// memory and to take the same time for any ids.
fn group_by_content(files: &[InputFile]) -> Result<Vec<u32>, PlanError> {
    let mut first: Vec<u32> = (0..).take(files.len()).collect();
    let mut order: Vec<u32> = first
        .iter()
        .copied()
        .filter(|&i| files[i as usize].content.is_some())
        .collect();
    order.sort_unstable_by_key(|&i| (files[i as usize].content, i));
    for group in order.chunk_by(|&a, &b| files[a as usize].content == files[b as usize].content) {
        let leader = &files[group[0] as usize];
        for &index in &group[1..] {
            let file = &files[index as usize];
            if file.size != leader.size {
                return Err(PlanError::SizesDiffer {
                    first: leader.path.to_string(),
                    second: file.path.to_string(),
                });
            }
            if file.size > 0 {
                first[index as usize] = group[0];
            }
        }
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContentId, Timestamp};

    fn file(path: &str, size: u64, id: u8) -> InputFile {
        InputFile {
            path: path.into(),
            size,
            content: Some(ContentId([id; 32])),
        }
    }

    fn volume(id: &str, set_id: &str) -> Volume {
        Volume {
            id: id.to_owned(),
            set_id: set_id.to_owned(),
            time: Timestamp::EARLIEST,
        }
    }

    fn planned(head: Vec<InputFile>, body: Vec<InputFile>) -> Result<ImagePlan, PlanError> {
        plan(
            Layout::V1,
            Input {
                volume: volume("V", ""),
                head,
                body,
            },
        )
    }

    #[test]
    fn the_head_is_contiguous_from_sector_32() {
        let head = vec![
            file("s", 65_536, 1),
            file("c", 5000, 2),
            file("e", 0, 3),
            file("d", 1, 4),
        ];
        let plan = planned(head, vec![file("b", 5000, 5)]).unwrap();
        let offsets: Vec<_> = plan
            .extents()
            .iter()
            .map(|extent| extent.offset / 2048)
            .collect();
        // The head is followed by 4 path tables, one directory in each tree, the continuation area and the zero block.
        assert_eq!(offsets, [32, 64, 67, 76]);
        assert_eq!(plan.extent_of("e"), None);
    }

    #[test]
    fn the_first_file_in_data_order_decides_the_place() {
        let body = vec![
            file("z", 9, 1),
            file("m", 7, 2),
            file("a", 9, 1),
            file("h", 9, 3),
        ];
        let plan = planned(vec![file("x/head", 9, 3)], body).unwrap();
        let firsts: Vec<_> = plan
            .extents()
            .iter()
            .map(|extent| plan.path_of(extent))
            .collect();
        assert_eq!(firsts, ["x/head", "z", "m"]);
        assert_eq!(plan.extent_of("a"), plan.extent_of("z"));
        assert_eq!(plan.extent_of("h"), plan.extent_of("x/head"));
        assert_eq!(plan.extent_of("x"), None, "a directory");
        assert_eq!(plan.file("a").map(|file| file.size), Some(9));
        assert_eq!(
            (0..5)
                .map(|index| plan.inode(index).links)
                .collect::<Vec<_>>(),
            [2, 2, 1, 2, 2]
        );
    }

    #[test]
    fn files_without_identity_share_nothing() {
        let anonymous = |path: &str| InputFile {
            content: None,
            ..file(path, 3, 0)
        };
        let plan = planned(vec![], vec![anonymous("a"), anonymous("b")]).unwrap();
        assert_eq!(plan.extents().len(), 2);
    }

    #[test]
    fn contents_of_4_kib_start_on_a_boundary() {
        let plan = planned(
            vec![],
            vec![
                file("a", 1, 1),
                file("b", 4096, 2),
                file("c", 4095, 3),
                file("d", 1, 4),
            ],
        )
        .unwrap();
        let offsets: Vec<_> = plan
            .extents()
            .iter()
            .map(|extent| extent.offset / 2048)
            .collect();
        // Sector 40 is the first after the zero block.
        assert_eq!(offsets, [40, 42, 44, 46]);
        let odd = planned(
            vec![],
            vec![file("a", 4096, 1), file("b", 1, 2), file("c", 4096, 3)],
        )
        .unwrap();
        let offsets: Vec<_> = odd
            .extents()
            .iter()
            .map(|extent| extent.offset / 2048)
            .collect();
        assert_eq!(offsets, [40, 42, 44]);
    }

    #[test]
    fn volume_names_are_checked() {
        let check = |id: &str, set_id: &str| {
            plan(
                Layout::V1,
                Input {
                    volume: volume(id, set_id),
                    head: vec![],
                    body: vec![],
                },
            )
        };
        assert!(check(&"V".repeat(32), &"s".repeat(128)).is_ok());
        for id in ["", "lower", "A B", "A-1", &"V".repeat(33)] {
            assert_eq!(
                check(id, "").unwrap_err(),
                PlanError::VolumeId(id.to_owned())
            );
        }
        for set_id in [" a", "a ", "a\n", "é", &"s".repeat(129)] {
            assert_eq!(
                check("V", set_id).unwrap_err(),
                PlanError::SetId(set_id.to_owned())
            );
        }
    }

    #[test]
    fn one_identity_has_one_size() {
        let error = planned(vec![file("a", 1, 1)], vec![file("b", 2, 1)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "files `a` and `b` have the same content identity and different sizes"
        );
    }

    #[test]
    fn files_are_limited() {
        let many = |count| (0..count).map(|n| file(&format!("{n}"), 0, 0)).collect();
        assert_eq!(
            planned(vec![], many(MAX_FILES + 1)).unwrap_err(),
            PlanError::TooManyFiles(MAX_FILES + 1)
        );
    }

    #[test]
    fn the_same_input_gives_the_same_plan() {
        let body = vec![file("b/x", 3, 1), file("a/y", 3, 1), file("c", 5000, 2)];
        let shown = |plan: &ImagePlan| {
            let mut all = Vec::new();
            let walked = plan.visit_metadata(&mut |region| {
                all.push(format!("{region:?}"));
                Ok::<_, std::convert::Infallible>(())
            });
            walked.map(|()| all).unwrap()
        };
        let first = planned(vec![], body.clone()).unwrap();
        assert_eq!(
            shown(&first),
            shown(&planned(vec![], body.clone()).unwrap())
        );
        let swapped = planned(
            vec![],
            vec![body[1].clone(), body[0].clone(), body[2].clone()],
        )
        .unwrap();
        let paths = |plan: &ImagePlan| {
            plan.extents()
                .iter()
                .map(|extent| plan.path_of(extent).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (paths(&first), paths(&swapped)),
            (
                vec!["b/x".into(), "c".into()],
                vec!["a/y".into(), "c".into()]
            )
        );
    }
}
