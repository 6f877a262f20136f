//! The input of the planner: the files, the names of the volume and its timestamp. Callers describe files by path,
//! size and content id, and the planner never reads their bytes.

use std::sync::Arc;

use crate::Timestamp;

/// A version of the image layout. A published layout never changes: corrections get a new number, and readers support
/// every earlier layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Layout 1 (docs/reference/format-image.md).
    V1,
}

/// A layout number that this version of the crate does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown image layout {0}: this version knows layout 1")]
pub struct UnknownLayout(pub u64);

impl TryFrom<u64> for Layout {
    type Error = UnknownLayout;

    fn try_from(number: u64) -> Result<Self, Self::Error> {
        match number {
            1 => Ok(Self::V1),
            other => Err(UnknownLayout(other)),
        }
    }
}

impl From<Layout> for u64 {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::V1 => 1,
        }
    }
}

/// An identifier of a file's bytes: files with equal ids share one extent. This crate does not interpret it; callers
/// use the SHA-256 of the content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub [u8; 32]);

impl std::fmt::Debug for ContentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ContentId(")?;
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

/// A regular file of the image. Directories are implied by the paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The path from the root, without a leading slash: `images/a/1/manifest.json`.
    pub path: Arc<str>,
    /// The size in bytes.
    pub size: u64,
    /// The identifier of its bytes. With `None`, the file shares its extent with no other file.
    pub content: Option<ContentId>,
}

/// The names and the time of the volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The volume identifier: 1 to 32 d-characters (`A`–`Z`, `0`–`9`, `_`; ECMA-119 8.4.6).
    pub id: String,
    /// The complete volume set identifier: up to 128 printable ASCII characters without leading or trailing spaces.
    pub set_id: String,
    /// The timestamp of the volume and of every file and directory.
    pub time: Timestamp,
}

/// Everything that determines an image's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Names and time.
    pub volume: Volume,
    /// The files before the path tables, stored contiguously from LBA 32 in this order.
    pub head: Vec<InputFile>,
    /// All other files in data order. A content is stored at the position of the first file that has it.
    pub body: Vec<InputFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_numbers_outside() {
        assert_eq!(Layout::try_from(1), Ok(Layout::V1));
        assert_eq!(u64::from(Layout::V1), 1);
        for number in [0, 2, u64::MAX] {
            assert_eq!(Layout::try_from(number), Err(UnknownLayout(number)));
        }
    }

    #[test]
    fn content_ids_show_as_digits() {
        assert_eq!(
            format!("{:?}", ContentId([0x0A; 32])),
            format!("ContentId({})", "0a".repeat(32))
        );
    }
}
