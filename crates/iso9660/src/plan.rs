//! The plan: a pure function from files, names and time to every byte of metadata and the place of every content.
//!
//! Equal inputs give equal plans on every machine. Memory is a few hundred bytes per file, since records are made when
//! [`Plan::visit_metadata`] comes to them and never kept.

use crate::entries::check_siblings;
use crate::format::SECTION_SIZE;
use crate::geometry::Geometry;
use crate::limits::{MAX_COMPONENTS, MAX_DIRECTORIES, MAX_DIRECTORY_SIZE, MAX_FILES, MAX_SECTIONS};
use crate::names::is_d_characters;
use crate::tree::Tree;
use crate::{ContentId, File, Input, Layout, Volume};

/// Why there is no image with this input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The volume identifier is not 1 to 32 d-characters.
    #[error("volume identifier `{id}` is not 1 to 32 characters out of A-Z, 0-9 and _")]
    VolumeId {
        /// As given.
        id: String,
    },
    /// The volume set identifier is not up to 128 printable ASCII characters without outer spaces.
    #[error("volume set identifier `{}` is not up to 128 printable ASCII characters without outer spaces", .set_id.escape_debug())]
    SetId {
        /// As given.
        set_id: String,
    },
    /// More than [`MAX_FILES`].
    #[error("{count} files are more than the {MAX_FILES} that an image may have")]
    TooManyFiles {
        /// Files given.
        count: usize,
    },
    /// A component that does not match `[A-Za-z0-9_][A-Za-z0-9._-]{0,102}`.
    #[error("path `{}` has a component that is not allowed", .path.escape_debug())]
    Component {
        /// As given.
        path: String,
    },
    /// More components than [`MAX_COMPONENTS`].
    #[error("path `{path}` has more than {MAX_COMPONENTS} components")]
    TooDeep {
        /// As given.
        path: String,
    },
    /// The same path twice.
    #[error("path `{path}` is given twice")]
    Duplicate {
        /// As given.
        path: String,
    },
    /// A path goes through a file.
    #[error("path `{path}` needs a directory where file `{file}` is")]
    FileIsDirectory {
        /// The file.
        file: String,
        /// The path that goes through it.
        path: String,
    },
    /// More directories than [`MAX_DIRECTORIES`].
    #[error(
        "path `{path}` needs one more directory than the {MAX_DIRECTORIES} that an image may have"
    )]
    TooManyDirectories {
        /// The first path in path order that is too much.
        path: String,
    },
    /// A directory whose records have more than [`MAX_DIRECTORY_SIZE`] bytes in one of the trees.
    #[error("the records of directory `{path}` have more than {MAX_DIRECTORY_SIZE} bytes")]
    DirectoryTooLarge {
        /// The directory; empty for the root.
        path: String,
    },
    /// Two names in one directory that are the same to readers that ignore case.
    #[error("names `{first}` and `{second}` in directory `{directory}` differ only in case")]
    OnlyCaseDiffers {
        /// Where; empty for the root.
        directory: String,
        /// One name.
        first: String,
        /// The other.
        second: String,
    },
    /// A file with more than [`MAX_SECTIONS`] sections.
    #[error(
        "file `{path}` of {size} bytes is larger than {MAX_SECTIONS} sections of {SECTION_SIZE} bytes"
    )]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its bytes.
        size: u64,
    },
    /// Two files with the same content id and different sizes.
    #[error("files `{first}` and `{second}` have the same content identity and different sizes")]
    SizesDiffer {
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// 8 TiB or more.
    #[error("the image would have 8 TiB or more")]
    ImageTooLarge,
}

/// A content and its place in the image. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Bytes from the start of the image; a multiple of the sector size.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// The identity of the content, if it was given one.
    pub content: Option<ContentId>,
    /// The first file in data order with this content, as an index into [`Plan::files`].
    pub file: usize,
}

/// What Rock Ridge calls a file: one per content, and one per empty file.
#[derive(Debug)]
pub(crate) struct Inode {
    /// The paths that name it.
    pub(crate) links: u32,
    /// Index into the extents; none for empty files.
    pub(crate) extent: Option<u32>,
}

/// An image, laid out.
#[derive(Debug)]
pub struct Plan {
    pub(crate) layout: Layout,
    pub(crate) volume: Volume,
    /// Head, then body.
    pub(crate) files: Vec<File>,
    /// The inode of each file.
    pub(crate) inode_of: Vec<u32>,
    pub(crate) inodes: Vec<Inode>,
    pub(crate) extents: Vec<Extent>,
    pub(crate) tree: Tree,
    pub(crate) geometry: Geometry,
}

/// Lays out an image.
pub fn plan(layout: Layout, input: Input) -> Result<Plan, PlanError> {
    let Input { volume, head, body } = input;
    check_volume(&volume)?;
    let head_len = head.len();
    let mut files = head;
    files.extend(body);
    check_files(&files)?;
    let tree = Tree::build(&files)?;
    (0..tree.dirs.len()).try_for_each(|dir| check_siblings(&tree, &files, dir))?;
    let first_with_content = group_by_content(&files)?;
    let mut plan = Plan {
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

impl Plan {
    /// The layout it follows.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The names and the time of the volume.
    #[must_use]
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    /// The size of the image in bytes: a multiple of 32 KiB.
    #[must_use]
    pub fn image_size(&self) -> u64 {
        self.geometry.image_size
    }

    /// All files as given: head, then body.
    #[must_use]
    pub fn files(&self) -> &[File] {
        &self.files
    }

    /// All distinct contents that are not empty, ascending by offset.
    #[must_use]
    pub fn extents(&self) -> &[Extent] {
        &self.extents
    }

    /// The path of the first file with a content of this plan.
    #[must_use]
    pub fn path_of(&self, extent: &Extent) -> &str {
        &self.files[extent.file].path
    }

    /// The file at a path.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        self.tree
            .find(&self.files, path)
            .map(|index| &self.files[index])
    }

    /// Where the content of the file at a path lies; `None` when there is no such file or it is empty.
    #[must_use]
    pub fn extent_of(&self, path: &str) -> Option<&Extent> {
        self.extent_of_file(self.tree.find(&self.files, path)?)
    }

    /// Where the content of a file lies, by its index in [`Plan::files`]; `None` when it is empty.
    #[must_use]
    pub fn extent_of_file(&self, index: usize) -> Option<&Extent> {
        self.inode(index)
            .extent
            .map(|extent| &self.extents[extent as usize])
    }

    pub(crate) fn inode(&self, file: usize) -> &Inode {
        &self.inodes[self.inode_of[file] as usize]
    }

    /// Turns `inode_of` from "the first file with this content" into inode numbers, in data order.
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
        let File { size, content, .. } = self.files[index];
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
}

/// An index as the 32-bit number that is kept of it.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).expect("files and directories are limited far below 2^32")
}

fn check_volume(volume: &Volume) -> Result<(), PlanError> {
    if volume.id.is_empty() || volume.id.len() > 32 || !is_d_characters(&volume.id) {
        return Err(PlanError::VolumeId {
            id: volume.id.clone(),
        });
    }
    let set_id = volume.set_id.as_str();
    let printable = set_id
        .bytes()
        .all(|byte| byte == b' ' || byte.is_ascii_graphic());
    if set_id.len() > 128 || !printable || set_id.trim_matches(' ').len() != set_id.len() {
        return Err(PlanError::SetId {
            set_id: volume.set_id.clone(),
        });
    }
    Ok(())
}

fn check_files(files: &[File]) -> Result<(), PlanError> {
    if files.len() > MAX_FILES {
        return Err(PlanError::TooManyFiles { count: files.len() });
    }
    match files
        .iter()
        .find(|file| file.size > MAX_SECTIONS * SECTION_SIZE)
    {
        None => Ok(()),
        Some(file) => Err(PlanError::FileTooLarge {
            path: file.path.clone(),
            size: file.size,
        }),
    }
}

/// For each file the index of the first file with the same content. Sorting instead of hashing keeps the memory small
/// and the time independent of what the ids are.
fn group_by_content(files: &[File]) -> Result<Vec<u32>, PlanError> {
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
                    first: leader.path.clone(),
                    second: file.path.clone(),
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
    use crate::Timestamp;

    fn file(path: &str, size: u64, id: u8) -> File {
        File {
            path: path.to_owned(),
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

    fn planned(head: Vec<File>, body: Vec<File>) -> Result<Plan, PlanError> {
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
        // After the head: 4 path tables, one directory in each tree, continuation area, zero block.
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
        let anonymous = |path: &str| File {
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
                PlanError::VolumeId { id: id.to_owned() }
            );
        }
        for set_id in [" a", "a ", "a\n", "é", &"s".repeat(129)] {
            assert_eq!(
                check("V", set_id).unwrap_err(),
                PlanError::SetId {
                    set_id: set_id.to_owned()
                }
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
            PlanError::TooManyFiles {
                count: MAX_FILES + 1
            }
        );
    }

    #[test]
    fn the_same_input_gives_the_same_plan() {
        let body = vec![file("b/x", 3, 1), file("a/y", 3, 1), file("c", 5000, 2)];
        let shown = |plan: &Plan| {
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
        let paths = |plan: &Plan| {
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
