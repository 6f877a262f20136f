//! The limits for documents, each with its reason. The limits for single documents are in `schemas::limits`.

/// Bytes of all files below `operator/`, and of all CRDs in charts: ten times the largest known
/// operators.
pub const OPERATOR_FILES: u64 = 64 * 1024 * 1024;
/// CRDs: fifty times the largest known operators, and equal to the limit for packing.
pub const OPERATOR_DEFINITIONS: usize = 10_000;
/// Values in all these files, including keys of maps and expanded aliases. This is about ten times the largest known
/// operators, and takes up to 500 MB of memory if each map has one key.
pub const OPERATOR_VALUES: usize = 2_000_000;
/// Bytes of text in these values. An alias can repeat a long text, so the size of the files is not sufficient as a
/// limit.
pub const OPERATOR_TEXT: usize = 64 * 1024 * 1024;
/// Parts of a definition's metadata that a finding lists. Known definitions have about six that are not applied.
pub const WITHHELD: usize = 10;
/// Problems of one kind that are reported for one definition.
pub const DEFINITION_FAULTS: usize = 20;
/// Rights of `role.yaml` and of any other roles, with each verb expanded for each resource. An import compares as many
/// with those of the administrator, and they take 30 MB of memory.
pub const RIGHTS: usize = 100_000;
/// Bytes of text in these rights, because a long text in one list is repeated for each element of the other lists.
pub const RIGHTS_TEXT: usize = 16 * 1024 * 1024;
/// Objects of all sets: twenty times the largest known releases, and equal to the limit for packing.
pub const OBJECTS: usize = manifests::limits::OBJECTS;
/// Bytes of these files: ten times the largest known releases.
pub const OBJECT_FILES: u64 = manifests::limits::FILES_SIZE;
/// Values in these files, including keys of maps and expanded aliases, with the same memory as for an operator.
pub const OBJECT_VALUES: usize = manifests::limits::VALUES;
/// Bytes of text in these values. An alias can repeat a long text, so the size of the files is not sufficient as a
/// limit.
pub const OBJECT_TEXT: usize = manifests::limits::TEXT;
/// Charts, because reading each may take a second. The largest known platforms consist of twenty.
pub const CHARTS: usize = 32;
/// Namespaces of a set, because each one is searched for in every text. The largest known releases have four.
pub const SET_NAMESPACES: usize = 16;
/// Problems with placeholders that are reported for one object.
pub const PLACEHOLDER_PROBLEMS: usize = 100;
/// Characters of a position within an object, since keys can be as long as the object.
pub const POINTER: usize = 300;
/// Parameters, more than an administrator would fill in.
pub const PARAMETERS: usize = 256;
/// Bytes of a parameter's pattern. A pattern for complete email addresses by RFC 5322 has half of it.
pub const PATTERN: usize = 1024;
/// Nested groups in a pattern.
pub const PATTERN_NESTING: u32 = 32;
/// Bytes of a compiled pattern. The class of all Unicode letters has a tenth of it.
pub const PATTERN_SIZE: usize = 1024 * 1024;
/// Bytes of a small compiled pattern. Patterns without Unicode classes have a fraction of it.
pub const PATTERN_SMALL: usize = 64 * 1024;
/// Patterns of all parameters that exceed [`PATTERN_SMALL`]. Compiling them takes less than a second.
pub const PATTERNS_LARGE: usize = 16;
/// Unicode classes in the patterns of all parameters, counted by [`schemas::pattern_weight`]. Each takes some
/// milliseconds.
pub const PATTERNS_WEIGHT: usize = 256;
