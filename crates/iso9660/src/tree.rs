//! The directory tree that the paths of the files imply: [`PathTree`].
//!
//! It needs only a few bytes per file. File indices are sorted by path, component by component, so every directory is a
//! range of that list, including its subdirectories. Directories are stored in the same depth-first order. No function
//! is recursive.

use std::cmp::Ordering;
use std::ops::Range;

use crate::InputFile;
use crate::error::PlanError;
use crate::format::SectorRun;
use crate::limits::{MAX_COMPONENTS, MAX_DIRECTORIES};
use crate::names::is_component;
use crate::region::TreeKind;

/// A directory.
#[derive(Debug)]
pub(crate) struct Dir {
    /// The index of its parent. The root is its own parent.
    pub(crate) parent: usize,
    /// The byte range of its name in the path of any file below it; empty for the root.
    name: Range<usize>,
    /// The positions in `PathTree::order` of all files below it.
    files: Range<usize>,
    /// The index after the last directory of its subtree.
    end: usize,
    /// The number of its direct subdirectories.
    pub(crate) subdirectories: u32,
    places: [SectorRun; 2],
    numbers: [u16; 2],
}

impl Dir {
    /// Returns the sectors of its records in a tree.
    pub(crate) fn place(&self, tree: TreeKind) -> SectorRun {
        self.places[tree.slot()]
    }

    pub(crate) fn place_mut(&mut self, tree: TreeKind) -> &mut SectorRun {
        &mut self.places[tree.slot()]
    }

    /// Returns its number in a tree's path table, counted from 1.
    pub(crate) fn number(&self, tree: TreeKind) -> u16 {
        self.numbers[tree.slot()]
    }

    pub(crate) fn set_number(&mut self, tree: TreeKind, number: u16) {
        self.numbers[tree.slot()] = number;
    }
}

/// An entry of a directory: an index into the files or into the directories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    File(usize),
    Directory(usize),
}

/// All directories, and the files sorted by path.
#[derive(Debug)]
pub(crate) struct PathTree {
    order: Vec<u32>,
    pub(crate) dirs: Vec<Dir>,
}

impl PathTree {
    /// Validates all paths and builds the directories. Sibling names are not compared here.
    pub(crate) fn build(files: &[InputFile]) -> Result<Self, PlanError> {
        files.iter().try_for_each(|file| check_path(&file.path))?;
        let mut order: Vec<u32> = (0..).take(files.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            compare_paths(&files[a as usize].path, &files[b as usize].path)
        });
        let mut tree = Self {
            order,
            dirs: vec![new_dir(0, 0..0, 0)],
        };
        tree.find_directories(files)?;
        Ok(tree)
    }

    fn find_directories(&mut self, files: &[InputFile]) -> Result<(), PlanError> {
        // The directories that contain the previous file, outermost first.
        let mut open = vec![0];
        let mut before = "";
        for position in 0..self.order.len() {
            let path = self.path(files, position);
            check_neighbours(before, path)?;
            let common = common_directories(before, path);
            while open.len() > common + 1 {
                self.close(open.pop(), position);
            }
            for name in directory_names(path).skip(common) {
                if self.dirs.len() == MAX_DIRECTORIES {
                    return Err(PlanError::TooManyDirectories(path.to_owned()));
                }
                let parent = open[open.len() - 1];
                self.dirs[parent].subdirectories += 1;
                open.push(self.dirs.len());
                self.dirs.push(new_dir(parent, name, position));
            }
            before = path;
        }
        while !open.is_empty() {
            self.close(open.pop(), self.order.len());
        }
        Ok(())
    }

    fn close(&mut self, dir: Option<usize>, position: usize) {
        let end = self.dirs.len();
        if let Some(dir) = dir.map(|index| &mut self.dirs[index]) {
            dir.files.end = position;
            dir.end = end;
        }
    }

    /// Returns the files and directories in a directory, sorted by name.
    pub(crate) fn children(&self, dir: usize) -> Vec<Child> {
        let mut children = Vec::new();
        let mut position = self.dirs[dir].files.start;
        let mut next = dir + 1;
        while next < self.dirs[dir].end {
            let child = &self.dirs[next];
            children.extend(self.files(position..child.files.start));
            children.push(Child::Directory(next));
            position = child.files.end;
            next = child.end;
        }
        children.extend(self.files(position..self.dirs[dir].files.end));
        children
    }

    fn files(&self, positions: Range<usize>) -> impl Iterator<Item = Child> {
        self.order[positions]
            .iter()
            .map(|&file| Child::File(file as usize))
    }

    /// Returns the name of a child within its directory.
    pub(crate) fn name<'a>(&self, files: &'a [InputFile], child: Child) -> &'a str {
        match child {
            Child::File(index) => {
                let path = &*files[index].path;
                path.rsplit_once('/').map_or(path, |(_, name)| name)
            }
            Child::Directory(index) => {
                let dir = &self.dirs[index];
                if dir.name.is_empty() {
                    ""
                } else {
                    &self.path(files, dir.files.start)[dir.name.clone()]
                }
            }
        }
    }

    /// Returns the path of a directory; empty for the root.
    pub(crate) fn directory_path<'a>(&self, files: &'a [InputFile], dir: usize) -> &'a str {
        let dir = &self.dirs[dir];
        if dir.name.is_empty() {
            ""
        } else {
            &self.path(files, dir.files.start)[..dir.name.end]
        }
    }

    /// Returns the index of the file with a path.
    pub(crate) fn find(&self, files: &[InputFile], path: &str) -> Option<usize> {
        let compare = |&index: &u32| compare_paths(&files[index as usize].path, path);
        self.order
            .binary_search_by(compare)
            .ok()
            .map(|position| self.order[position] as usize)
    }

    fn path<'a>(&self, files: &'a [InputFile], position: usize) -> &'a str {
        &files[self.order[position] as usize].path
    }
}

fn new_dir(parent: usize, name: Range<usize>, first_file: usize) -> Dir {
    Dir {
        parent,
        name,
        files: first_file..first_file,
        end: 0,
        subdirectories: 0,
        places: [SectorRun::default(); 2],
        numbers: [0; 2],
    }
}

fn check_path(path: &str) -> Result<(), PlanError> {
    if !path.split('/').all(is_component) {
        return Err(PlanError::Component(path.to_owned()));
    }
    if path.split('/').count() > MAX_COMPONENTS {
        return Err(PlanError::TooDeep(path.to_owned()));
    }
    Ok(())
}

/// Compares neighbours in path order. A repeated path, or a file that is also used as a directory, is always a
/// neighbour.
fn check_neighbours(before: &str, path: &str) -> Result<(), PlanError> {
    match path.strip_prefix(before) {
        Some("") => Err(PlanError::Duplicate(path.to_owned())),
        Some(rest) if rest.starts_with('/') => Err(PlanError::FileIsDirectory {
            file: before.to_owned(),
            path: path.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Compares two paths component by component: the separator sorts before every character of a name.
fn compare_paths(a: &str, b: &str) -> Ordering {
    let key = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(key).cmp(b.bytes().map(key))
}

/// Returns the byte range of each directory's name in a path.
fn directory_names(path: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    path.match_indices('/')
        .map(move |(end, _)| std::mem::replace(&mut start, end + 1)..end)
}

/// Returns the number of leading directories that two paths share.
fn common_directories(a: &str, b: &str) -> usize {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y);
    same.filter(|&(byte, _)| byte == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> Vec<InputFile> {
        paths
            .iter()
            .map(|path| InputFile {
                path: (*path).into(),
                size: 1,
                content: None,
            })
            .collect()
    }

    fn listing(paths: &[&str]) -> Vec<String> {
        let files = files(paths);
        let tree = PathTree::build(&files).unwrap();
        let line = |dir: usize| {
            let names = tree.children(dir).into_iter().map(|child| match child {
                Child::File(_) => tree.name(&files, child).to_owned(),
                Child::Directory(_) => format!("{}/", tree.name(&files, child)),
            });
            format!(
                "{}: {}",
                tree.directory_path(&files, dir),
                names.collect::<Vec<_>>().join(" ")
            )
        };
        (0..tree.dirs.len()).map(line).collect()
    }

    #[test]
    fn finds_directories_and_their_children_in_name_order() {
        assert_eq!(
            listing(&[
                "z", "a/b/c", "a.x", "a/b.c", "a-b", "a/b/a", "b/q/r/s", "a/0"
            ]),
            ["", "a", "a/b", "b", "b/q", "b/q/r"]
                .iter()
                .zip(["a/ a-b a.x b/ z", "0 b/ b.c", "a c", "q/", "r/", "s",])
                .map(|(path, names)| format!("{path}: {names}"))
                .collect::<Vec<_>>()
        );
        assert_eq!(listing(&[]), [": "]);
    }

    #[test]
    fn finds_files_by_path() {
        let files = files(&["b/a", "a", "b.a"]);
        let tree = PathTree::build(&files).unwrap();
        for (index, file) in files.iter().enumerate() {
            assert_eq!(tree.find(&files, &file.path), Some(index));
        }
        assert_eq!(tree.find(&files, "b"), None);
    }

    #[test]
    fn counts_subdirectories() {
        let tree = PathTree::build(&files(&["a/b/x", "a/c/x", "d/x"])).unwrap();
        let counts: Vec<_> = tree.dirs.iter().map(|dir| dir.subdirectories).collect();
        assert_eq!(counts, [2, 2, 0, 0, 0]);
    }

    #[test]
    fn refuses_bad_paths_by_name() {
        let message = |paths: &[&str]| PathTree::build(&files(paths)).unwrap_err().to_string();
        assert_eq!(
            message(&["a", "b/../c"]),
            "path `b/../c` has a component that is not allowed"
        );
        assert_eq!(
            message(&["/a"]),
            "path `/a` has a component that is not allowed"
        );
        assert_eq!(
            message(&[""]),
            "path `` has a component that is not allowed"
        );
        assert_eq!(
            message(&["1/2/3/4/5/6/7/8/9"]),
            "path `1/2/3/4/5/6/7/8/9` has more than 8 components"
        );
        assert_eq!(message(&["a", "b", "a"]), "path `a` is given twice");
        assert_eq!(
            message(&["a-b", "a", "a/b"]),
            "path `a/b` needs a directory where file `a` is"
        );
    }

    #[test]
    fn refuses_more_directories_than_a_path_table_can_number() {
        let files: Vec<_> = (0..MAX_DIRECTORIES)
            .map(|n| InputFile {
                path: format!("{n}/f").into(),
                size: 0,
                content: None,
            })
            .collect();
        assert!(matches!(
            PathTree::build(&files),
            Err(PlanError::TooManyDirectories(..))
        ));
        assert_eq!(
            PathTree::build(&files[1..]).unwrap().dirs.len(),
            MAX_DIRECTORIES
        );
    }
}
