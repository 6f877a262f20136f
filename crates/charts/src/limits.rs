//! The limits for charts, each with its reason. They bound the memory and time that a hostile chart can use.

/// Bytes of a chart's archive: fifty times the largest known charts.
pub const ARCHIVE_SIZE: u64 = 16 * 1024 * 1024;
/// Bytes of the unpacked content of a chart's archive and its nested archives: four times the largest known charts, and
/// a third of Helm's own limit.
pub const UNPACKED: u64 = 32 * 1024 * 1024;
/// Bytes of one file, equal to Helm's limit.
pub const FILE_SIZE: u64 = 5 * 1024 * 1024;
/// Headers in the archive of a chart and its nested archives: ten times the largest known charts.
pub const ENTRIES: usize = 20_000;
/// Bytes of a path in a chart, equal to the maximum of a tar header without extensions.
pub const PATH: usize = 255;
/// Bytes of an extension of a tar header, which contains a path and data of other tools.
pub const EXTENSION: u64 = 16 * 1024;
/// Levels of nested charts. Known charts have three.
pub const DEPTH: usize = 8;
/// Bytes of `Chart.yaml`. Charts that list their changes and images in annotations have 30 kB.
pub const METADATA: usize = 256 * 1024;
/// Bytes of a provenance file, which contains `Chart.yaml`, a digest and a signature.
pub const PROVENANCE: usize = 2 * METADATA;
/// Dependencies of one chart. The largest known charts have thirty.
pub const DEPENDENCIES: usize = 256;
/// Bytes of `values.schema.json`. Schemas that include all kinds of Kubernetes have half of it.
pub const SCHEMA: usize = 1024 * 1024;
/// Patterns in a schema, because each one is compiled.
pub const PATTERNS: usize = 256;
/// References in a schema, because compiling a chain of them takes quadratic time. The schemas of all kinds of
/// Kubernetes have 3,000.
pub const SCHEMA_REFERENCES: usize = 4096;
/// Bytes of all patterns of a schema, because parsing a pattern takes about two hundred times its size before the limit
/// of its compiled size applies.
pub const PATTERNS_TEXT: usize = 64 * 1024;
/// Unicode classes in all patterns of a schema, counted by [`schemas::pattern_weight`]. Each takes some milliseconds.
pub const PATTERNS_WEIGHT: usize = 256;
/// Bytes of a compiled pattern: a tenth of the default of the regex engine, and enough for ten classes of all Unicode
/// letters.
pub const PATTERN: usize = 1024 * 1024;
/// Bytes of all compiled patterns of a schema, in equal shares.
pub const PATTERNS_COMPILED: usize = 16 * 1024 * 1024;
/// Characters of a message about a schema.
pub const WORDS: usize = 300;
/// Bytes that Helm can store for a release. It uses a single Secret, for which the API server allows 1 MiB.
pub const RELEASE: usize = 1024 * 1024;
/// Bytes of the index of a chart repository: three times the largest known index. All charts but one are skipped line
/// by line.
pub const INDEX: usize = 64 * 1024 * 1024;
/// Bytes of an index that are parsed as YAML: the entries of one chart, or the whole index if it is not written in
/// lines. The entries of the charts with the most versions have 4 MB.
pub const INDEX_READ: usize = 12 * 1024 * 1024;
/// Rules of a `.helmignore`, because each rule is matched with each file.
pub const IGNORE_RULES: usize = 256;
