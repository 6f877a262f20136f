//! The named limits of what is read from sources and kept of it, beside those of the documents themselves
//! ([`schemas::limits`]), each with its reason.

use std::time::Duration;

/// Bytes of an OCI layout's `index.json`: a layout of a thousand images has some 300 KiB.
pub(crate) const LAYOUT_INDEX_SIZE: u64 = 16 * 1024 * 1024;
/// Bytes of `oci-layout` and of a `dir:` directory's `version`: both are one short line.
pub(crate) const MARKER_SIZE: u64 = 4096;
/// Bytes of an image's configuration, which is read only to find its platform: registries take at most 4 MiB.
pub(crate) const CONFIG_SIZE: u64 = 4 * 1024 * 1024;
/// Manifests and indexes below one tag: the largest indexes in use have some fifty.
pub(crate) const DOCUMENTS: usize = 1000;
/// Bytes of all manifests and indexes of a Solution, since they are kept in memory: 10 000 images have some 50 MiB.
pub(crate) const DOCUMENT_BYTES: u64 = 512 * 1024 * 1024;
/// The distance from an image at which referrers are looked for: its own, and theirs. A signature of a list of parts is
/// the second, and nothing in use goes further.
pub(crate) const REFERRER_DEPTH: usize = 2;
/// Bytes of all that stands under one tag of referrers: the largest lists of parts have some hundred MB.
pub(crate) const REFERRER_BYTES: u64 = 1024 * 1024 * 1024;
/// Documents that registries are asked for at a time: as many as a client has blobs under way.
pub(crate) const DOCUMENTS_ASKED: usize = 6;
/// Bytes of documents that are asked for before the walk through their images, of tags and of what indexes list each:
/// what all of the largest Solutions have.
pub(crate) const AHEAD_BYTES: usize = 64 * 1024 * 1024;
/// Registries, or logins of one, that are downloaded from at a time, each over all connections of its client.
pub(crate) const REGISTRIES: usize = 4;
/// Bytes of an image that an engine saves: far more than registries take, and less than a disk that should not be filled.
pub(crate) const ENGINE_SAVE: u64 = 512 * 1024 * 1024 * 1024;
/// The time in which a wait for something outside ends when the user does not want to wait: people notice more.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(100);
/// Bytes that the cache keeps when nobody uses it: the images of a large Solution, and some versions of what changes.
pub(crate) const CACHE_SIZE: u64 = 20 * 1024 * 1024 * 1024;
/// Processes and threads that may write one content, or make contents, at the same time: far more than a machine has
/// cores for.
pub(crate) const CACHE_SLOTS: usize = 256;
/// Bytes that are read at once of what a killed process left.
pub(crate) const CACHE_BUFFER: usize = 1024 * 1024;
/// Bytes of a note of what follows from what: two digests and some words.
pub(crate) const CACHE_NOTE: u64 = 4096;
/// Entries of a tar with images: a hundred layers are three hundred, and an engine's whole store some thousands.
pub(crate) const TAR_ENTRIES: u64 = 100_000;
/// Bytes of all names in a tar, since they are kept in memory: a hundred for each entry.
pub(crate) const TAR_NAMES: usize = 16 * 1024 * 1024;
/// Bytes of an extended header: a name of the longest that Linux has, and more than it has attributes.
pub(crate) const TAR_EXTENDED: usize = 64 * 1024;
/// Links in a tar that lead to links: engines write one.
pub(crate) const TAR_LINKS: usize = 8;
/// Bytes that all sources of one pack may unpack to, where nothing else is asked for: three times what the cache keeps of
/// a large Solution and its versions. Gzip makes up to 1,032 bytes of one, so that a file of 67 MB can come to this.
pub const UNPACK_LIMIT: u64 = 64 * 1024 * 1024 * 1024;
/// Bytes that unpacking leaves free on the cache's file system: what a machine's logs and databases need to go on until
/// somebody looks.
pub(crate) const FREE_RESERVE: u64 = 256 * 1024 * 1024;
/// Archives that are unpacked side by side: as many as a disk with heads can be asked for before it only seeks.
pub(crate) const ARCHIVES: usize = 4;
/// Blocks that are compressed at once, since they are in memory: half a gigabyte with their results.
pub(crate) const COMPRESS_THREADS: usize = 64;
/// Files in a directory with the certificates of one registry: some authorities, and a client certificate with its key.
pub(crate) const CERTIFICATE_FILES: usize = 64;
/// Bytes of one of them: a bundle of all public authorities has a quarter of it.
pub(crate) const CERTIFICATE_SIZE: u64 = 1024 * 1024;
