//! The limits for reading manifests, each with its reason. They bound the memory that manifests of a publisher can
//! use.

/// Bytes in the files of one release. The largest known releases have 5 MiB.
pub const FILES_SIZE: u64 = 64 * 1024 * 1024;
/// Values in all documents, including keys of maps and expanded aliases. This is about ten times the largest known
/// releases, and takes up to 500 MB of memory if each map has one key.
pub const VALUES: usize = 2_000_000;
/// Bytes of text in these values. An alias can repeat a long text, so the size of the files is not sufficient as a
/// limit.
pub const TEXT: usize = 64 * 1024 * 1024;
/// Values in the rendered manifests of one chart, including keys of maps and expanded aliases. This is twice the
/// largest known charts, and takes up to 80 MB of memory if each map has one key.
pub const RENDERED_VALUES: usize = 350_000;
/// Bytes of text in the rendered values, equal to the maximal size of rendered text without aliases.
pub const RENDERED_TEXT: usize = 32 * 1024 * 1024;
/// Files. The largest known directories of manifests have about 500.
pub const FILES: usize = 2_000;
/// Directory entries that are inspected, so that reading a home directory by mistake ends soon.
pub const ENTRIES: usize = 20_000;
/// Levels of directories. Bundles of manifests have one.
pub const DEPTH: usize = 8;
/// Objects. The largest known releases have about 500.
pub const OBJECTS: usize = 10_000;
/// Values in one object. The largest known CRDs have a quarter of it, and the API server accepts
/// at most 3 MiB.
pub const OBJECT_VALUES: usize = 500_000;
/// Bytes of text in one object: three times the size that the API server accepts.
pub const OBJECT_TEXT: usize = 10 * 1024 * 1024;
/// Invalid documents that are reported for one release. More would not help the user, and the input may be the wrong
/// file.
pub const ERRORS: usize = 100;
/// Remarks about one object. More would not help the user, and an object full of references must not exhaust the
/// memory.
pub const REMARKS: usize = 1000;
/// Characters of a position within an object, since keys can be as long as the object and occur in each remark.
pub(crate) const POINTER: usize = 300;
/// Characters of text from a manifest in a message, enough for almost all names in Kubernetes.
pub(crate) const SHOWN: usize = 120;
/// Bytes of a compiled regular expression in a patch's target, enough for about a hundred alternatives of long names.
pub(crate) const EXPRESSION_SIZE: usize = 1 << 20;
