//! The named limits of charts, each with its reason.

/// Bytes of a chart's archive: fifty times the largest charts in use.
pub const ARCHIVE_SIZE: u64 = 16 * 1024 * 1024;
/// Bytes of what a chart's archive unpacks to, with those of the charts in it: four times the largest charts in use, and a
/// third of what Helm itself takes.
pub const UNPACKED: u64 = 32 * 1024 * 1024;
/// Bytes of one file: what Helm takes.
pub const FILE_SIZE: u64 = 5 * 1024 * 1024;
/// Headers in a chart's archive and in those of the charts in it: ten times those of the largest charts in use.
pub const ENTRIES: usize = 20_000;
/// Bytes of a path in a chart: what tar itself can say without extensions.
pub const PATH: usize = 255;
/// Bytes of an extension of a tar header: a path, and what else tools write there.
pub const EXTENSION: u64 = 16 * 1024;
/// Charts within charts: real ones have three levels.
pub const DEPTH: usize = 8;
/// Bytes of `Chart.yaml`: charts that list their changes and images in annotations have 30 kB.
pub const METADATA: usize = 256 * 1024;
/// Bytes of a provenance file: `Chart.yaml`, a digest and a signature.
pub const PROVENANCE: usize = 2 * METADATA;
/// Dependencies of one chart: the largest charts in use have thirty.
pub const DEPENDENCIES: usize = 256;
/// Bytes of `values.schema.json`: those that hold all of Kubernetes' own have half of it.
pub const SCHEMA: usize = 1024 * 1024;
/// Patterns in a schema: each is compiled.
pub const PATTERNS: usize = 256;
/// References in a schema: compiling a chain of them takes the square of its length. Those of all of Kubernetes' own kinds
/// are 3000.
pub const SCHEMA_REFERENCES: usize = 4096;
/// Bytes of all patterns of a schema: what is read of one takes two hundred times that, before it is compiled.
pub const PATTERNS_TEXT: usize = 64 * 1024;
/// Classes of Unicode in all patterns of a schema, as [`schemas::pattern_weight`] counts them: some milliseconds each.
pub const PATTERNS_WEIGHT: usize = 256;
/// Bytes that a pattern compiles to: a tenth of what the engine itself takes, and ten classes of all letters of Unicode.
pub const PATTERN: usize = 1024 * 1024;
/// Bytes that all patterns of a schema compile to, each of which has the same share.
pub const PATTERNS_COMPILED: usize = 16 * 1024 * 1024;
/// Characters of what is said of a schema.
pub const WORDS: usize = 300;
/// Bytes that Helm can store of a release: it keeps all of it in one Secret, for which the API server allows 1 MiB.
pub const RELEASE: usize = 1024 * 1024;
/// Bytes of the index of a repository of charts: three times the largest in use. All but one chart is passed over line by
/// line.
pub const INDEX: usize = 64 * 1024 * 1024;
/// Bytes of an index that are read as YAML: what it lists of one chart, or all of one that is not written in lines. The
/// charts with most versions in use have 4 MB.
pub const INDEX_READ: usize = 12 * 1024 * 1024;
/// Rules of a `.helmignore`: each is tried on each file.
pub const IGNORE_RULES: usize = 256;
