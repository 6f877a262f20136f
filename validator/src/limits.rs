//! The limits of validation, each with its reason. The limits of single documents are in `schemas::limits`.

/// The maximum number of findings with one id. It is enough to show the pattern, and a damaged disc does not flood the
/// screen.
pub const FINDINGS_PER_ID: usize = 20;
/// The maximum number of characters in a place or message, which may contain text from the archive. A longer message
/// keeps its beginning and its end, because the end of a chain of causes is the reason.
pub const TEXT: usize = 400;
/// The maximum size in bytes of all image manifests, indexes and configurations, which are kept in memory. A thousand
/// images with ten platforms each need a tenth of it.
pub const IMAGE_DOCUMENTS: u64 = 512 * 1024 * 1024;
/// The maximum number of pairs of an image and one of its contents. Each pair is a file in the image's directory, so a
/// valid archive cannot have more pairs than files.
pub const IMAGE_CONTENTS: usize = schemas::limits::FILES;
/// The maximum number of pairs of an image and a content per file of the archive. Each pair is a file, so a valid
/// archive has at most one pair per file. With two, half of the contents are missing, and a list of them would not
/// help.
pub const CONTENTS_PER_FILE: usize = 2;
/// The maximum size of an image configuration in bytes. It equals the limit for manifests.
pub const IMAGE_CONFIG: u64 = schemas::limits::IMAGE_MANIFEST_SIZE;
/// The maximum size of `index.json` in bytes. The 10,000 images that the limit on files allows need 400 bytes each; the
/// rest is for long references.
pub const INDEX_SIZE: u64 = 8 * 1024 * 1024;
/// The number of bytes at the start of a layer that show its compression: one header of a tar archive.
pub(crate) const LAYER_START: u64 = 512;
