//! The named limits of what is read of manifests, each with its reason.

/// Bytes of the files of one release: the largest in use have 5 MiB.
pub const FILES_SIZE: u64 = 64 * 1024 * 1024;
/// Values in all documents, keys of maps and expanded aliases included: some ten times those of the largest releases in
/// use, and up to 500 MB of memory, as maps of one key.
pub const VALUES: usize = 2_000_000;
/// Bytes of text in these values: an alias may stand for a long text, so the files' size alone bounds nothing.
pub const TEXT: usize = 64 * 1024 * 1024;
/// Values in all that a chart renders to, keys of maps and expanded aliases included: twice those of the largest charts
/// in use. What costs most, maps of one key each, takes 80 MB.
pub const RENDERED_VALUES: usize = 350_000;
/// Bytes of text in these values: as many as a rendering may have without aliases.
pub const RENDERED_TEXT: usize = 32 * 1024 * 1024;
/// Files: the largest directories of manifests in use have some five hundred.
pub const FILES: usize = 2_000;
/// Entries that are looked at in directories, so that a home directory given by mistake ends soon.
pub const ENTRIES: usize = 20_000;
/// Levels of directories: bundles have one.
pub const DEPTH: usize = 8;
/// Objects: the largest releases in use have some five hundred.
pub const OBJECTS: usize = 10_000;
/// Values in one object: the largest CRDs in use have a quarter of it, and the API server takes no more than 3 MiB.
pub const OBJECT_VALUES: usize = 500_000;
/// Bytes of text in one object: what the API server takes, three times over.
pub const OBJECT_TEXT: usize = 10 * 1024 * 1024;
/// Documents of one release that are told to be wrong: enough to see what is, whatever is given by mistake.
pub const ERRORS: usize = 100;
/// Remarks about one object: enough to see what is wrong, and an object of nothing but references fills no memory.
pub const REMARKS: usize = 1000;
/// Characters of a place within an object: the keys of an object may be as long as itself, and are part of each remark.
pub(crate) const POINTER: usize = 300;
/// Characters of a foreign text in a message: enough for every name of Kubernetes but the longest.
pub(crate) const SHOWN: usize = 120;
/// Bytes that a regular expression of a patch's target takes once it is compiled: a hundred alternatives of long names.
pub(crate) const EXPRESSION_SIZE: usize = 1 << 20;
