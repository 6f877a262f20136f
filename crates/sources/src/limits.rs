//! The limits for content that is read from sources or cached, with the reason for each. [`schemas::limits`] has those
//! of the documents.

use std::time::Duration;

/// The size of an OCI layout's `index.json` in bytes. A layout of a thousand images has about 300 KiB.
pub(crate) const LAYOUT_INDEX_SIZE: u64 = 16 * 1024 * 1024;
/// The size of `oci-layout` and of the `version` of a `dir:` directory in bytes. Both contain one short line.
pub(crate) const MARKER_SIZE: u64 = 4096;
/// The size in bytes of an image's configuration that is read for its platform. Registries accept at most 4 MiB.
pub(crate) const CONFIG_SIZE: u64 = 4 * 1024 * 1024;
/// The number of manifests and indexes below one tag. The largest indexes in use have about fifty.
pub(crate) const DOCUMENTS: usize = 1000;
/// The size of all manifests and indexes of a Solution in bytes, because they are kept in memory. 10,000 images have
/// about 50 MiB.
pub(crate) const DOCUMENT_BYTES: u64 = 512 * 1024 * 1024;
/// The depth of the search for referrers: those of an image, and their referrers. A signature of an SBOM is at depth
/// two, and nothing in use is deeper.
pub(crate) const REFERRER_DEPTH: usize = 2;
/// The size of all content under one tag of referrers in bytes. The largest SBOMs have some hundred MB.
pub(crate) const REFERRER_BYTES: u64 = 1024 * 1024 * 1024;
/// The number of documents requested from registries at a time: the same as the number of concurrent blobs of a client.
pub(crate) const DOCUMENTS_ASKED: usize = 6;
/// The total size in bytes of prefetched documents, separately for tags and for the children of indexes. It is
/// sufficient for the largest Solutions.
pub(crate) const AHEAD_BYTES: usize = 64 * 1024 * 1024;
/// The number of registries, or logins to a registry, from which content is downloaded at a time, each over all
/// connections of its client.
pub(crate) const REGISTRIES: usize = 4;
/// The size of an image saved by an engine in bytes: far more than registries accept, and small enough not to fill a
/// disk.
pub(crate) const ENGINE_SAVE: u64 = 512 * 1024 * 1024 * 1024;
/// The interval in which a wait checks for a cancellation. It is too short to be noticed.
pub(crate) const CANCEL_POLL: Duration = Duration::from_millis(100);
/// The size of the cache in bytes when no process uses it: the images of a large Solution, and the changed layers of
/// some versions.
pub(crate) const CACHE_SIZE: u64 = 20 * 1024 * 1024 * 1024;
/// The number of processes and threads that may write the same content, or new content, at a time: far more than a
/// machine has cores.
pub(crate) const CACHE_SLOTS: usize = 256;
/// The number of bytes read at a time.
pub(crate) const CACHE_BUFFER: usize = 1024 * 1024;
/// The size of a note about derived content in bytes: two digests and some words.
pub(crate) const CACHE_NOTE: u64 = 4096;
/// The number of entries in a tar with images. An image with a hundred layers has three hundred entries, and the store
/// of an engine some thousands.
pub(crate) const TAR_ENTRIES: u64 = 100_000;
/// The total size of the names in a tar in bytes, because they are kept in memory: a hundred per entry.
pub(crate) const TAR_NAMES: usize = 16 * 1024 * 1024;
/// The size of an extended header in bytes: more than the longest name on Linux with its attributes.
pub(crate) const TAR_EXTENDED: usize = 64 * 1024;
/// The length of a chain of links in a tar. Engines write one link.
pub(crate) const TAR_LINKS: usize = 8;
/// The default number of bytes to which all sources of one pack may unpack: three times the size of the cache. Gzip
/// expands a byte to up to 1,032 bytes, so a file of 67 MB can reach it.
pub const UNPACK_LIMIT: u64 = 64 * 1024 * 1024 * 1024;
/// The number of bytes that stay free on the file system of the cache, so that the machine's logs and databases
/// continue to work until an administrator intervenes.
pub(crate) const FREE_RESERVE: u64 = 256 * 1024 * 1024;
/// The number of archives unpacked at a time. More would slow down disks with heads by seeking.
pub(crate) const ARCHIVES: usize = 4;
/// The number of blocks compressed at a time. They are in memory: half a gigabyte with their results.
pub(crate) const COMPRESS_THREADS: usize = 64;
/// The number of files in the certificate directory of a registry: some authorities, and a client certificate with its
/// key.
pub(crate) const CERTIFICATE_FILES: usize = 64;
/// The size of each of these files in bytes. A bundle of all public authorities is a quarter of it.
pub(crate) const CERTIFICATE_SIZE: u64 = 1024 * 1024;
