//! The named limits of checking, each with its reason. Those of single documents are in `schemas::limits`.

/// Findings with one id: enough to see the pattern, and a damaged disc does not fill the screen.
pub const FINDINGS_PER_ID: usize = 20;
/// Characters of a place or message: both can hold text out of the archive. A longer message keeps its beginning and its
/// end, since the last words of a chain of causes are the reason.
pub const TEXT: usize = 400;
/// Bytes of all image manifests, indexes and configurations together, which are kept in memory: a thousand images
/// with ten platforms each need a tenth of it.
pub const IMAGE_DOCUMENTS: u64 = 512 * 1024 * 1024;
/// Pairs of an image and a content of it: each is a file of the image's directory, so a valid archive cannot have
/// more than files.
pub const IMAGE_CONTENTS: usize = schemas::limits::FILES;
/// Pairs of an image and a content for each file of the archive. Each pair is a file, so that one for each is the most
/// that can be right, and with two for each half of what the images need is missing: which half, nobody wants to know.
pub const CONTENTS_PER_FILE: usize = 2;
/// Bytes of an image's configuration: as much as a manifest may have.
pub const IMAGE_CONFIG: u64 = schemas::limits::IMAGE_MANIFEST_SIZE;
/// Bytes of `index.json`: 400 bytes each for the 10 000 images that the limit on files allows, and as much again for
/// long references.
pub const INDEX_SIZE: u64 = 8 * 1024 * 1024;
/// Bytes of a layer that are read to see how it is compressed: one header of a tar.
pub(crate) const LAYER_START: u64 = 512;
