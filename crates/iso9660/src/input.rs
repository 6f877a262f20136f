//! What the caller hands to the plan: the files, the volume's names and its one time.

use std::sync::Arc;

use crate::Timestamp;

/// A version of the on-disc layout. A layout never changes: a corrected one gets the next number, and readers keep
/// every layout there ever was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout {
    /// Layout 1, as docs/reference/format-image.md describes it.
    V1,
}

/// A layout number that this version of the crate does not know.
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

/// Says which files have the same bytes: equal ids share one extent. The crate never looks inside (callers use the
/// SHA-256 of the content).
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

/// A regular file to be placed in the image. Directories are implied by paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// The path from the root, without a leading slash: `images/a/1/manifest.json`.
    pub path: Arc<str>,
    /// The length in bytes.
    pub size: u64,
    /// The identity of the bytes; `None` is shared with nothing.
    pub content: Option<ContentId>,
}

/// The names and the time of the volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// The volume identifier: 1 to 32 d-characters (`A`–`Z`, `0`–`9`, `_`; ECMA-119 8.4.6).
    pub id: String,
    /// The volume set identifier in full: up to 128 printable ASCII characters, no space at either end.
    pub set_id: String,
    /// The one time that stands everywhere in the image.
    pub time: Timestamp,
}

/// Everything that determines an image's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Names and time.
    pub volume: Volume,
    /// Files laid sector after sector from LBA 32, before the path tables, in this order.
    pub head: Vec<InputFile>,
    /// All other files in data order: the first file with a content decides that content's place.
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
