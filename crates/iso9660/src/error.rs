//! The errors of the planner. They state which rule an input violates; the planner writes nothing in this case.

use crate::format::SECTION_SIZE;
use crate::limits::{MAX_COMPONENTS, MAX_DIRECTORIES, MAX_DIRECTORY_SIZE, MAX_FILES, MAX_SECTIONS};

/// The reason why no image can be laid out for an input.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The volume identifier is not 1 to 32 d-characters.
    #[error("volume identifier `{0}` is not 1 to 32 characters from A-Z, 0-9 and _")]
    VolumeId(String),
    /// The volume set identifier is not up to 128 printable ASCII characters without outer spaces.
    #[error("volume set identifier `{}` is not up to 128 printable ASCII characters without leading or trailing spaces", .0.escape_debug())]
    SetId(String),
    /// More files than [`MAX_FILES`].
    #[error("{0} files exceed the {MAX_FILES} that an image may have")]
    TooManyFiles(usize),
    /// A path component that does not match `[A-Za-z0-9_][A-Za-z0-9._-]{0,102}`.
    #[error("path `{}` has a component that is not allowed", .0.escape_debug())]
    Component(String),
    /// A path with more than [`MAX_COMPONENTS`] components.
    #[error("path `{0}` has more than {MAX_COMPONENTS} components")]
    TooDeep(String),
    /// A path that occurs twice.
    #[error("path `{0}` is given twice")]
    Duplicate(String),
    /// A path that uses a file as a directory.
    #[error("path `{path}` needs a directory where file `{file}` is")]
    FileIsDirectory {
        /// The file.
        file: String,
        /// The path that uses it as a directory.
        path: String,
    },
    /// More directories than [`MAX_DIRECTORIES`]. The path is the first, in path order, whose directory exceeds the
    /// limit.
    #[error(
        "path `{0}` needs one more directory than the {MAX_DIRECTORIES} that an image may have"
    )]
    TooManyDirectories(String),
    /// A directory whose records have more than [`MAX_DIRECTORY_SIZE`] bytes in one of the trees.
    #[error("the records of directory `{0}` have more than {MAX_DIRECTORY_SIZE} bytes")]
    DirectoryTooLarge(String),
    /// Two names in one directory that are equal for readers that ignore case.
    #[error("names `{first}` and `{second}` in directory `{directory}` differ only in case")]
    OnlyCaseDiffers {
        /// The path of the directory; empty for the root.
        directory: String,
        /// The first name.
        first: String,
        /// The second name.
        second: String,
    },
    /// A file with more than [`MAX_SECTIONS`] sections.
    #[error(
        "file `{path}` of {size} bytes is larger than {MAX_SECTIONS} sections of {SECTION_SIZE} bytes"
    )]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: u64,
    },
    /// Two files with the same content id and different sizes.
    #[error("files `{first}` and `{second}` have the same content identity and different sizes")]
    SizesDiffer {
        /// The first file.
        first: String,
        /// The second file.
        second: String,
    },
    /// An image of 8 TiB or more.
    #[error("the image would have 8 TiB or more")]
    ImageTooLarge,
}
