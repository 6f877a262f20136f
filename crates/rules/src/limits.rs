//! The named limits of what documents may be, each with its reason. Those of single documents are in `schemas::limits`.

/// Bytes of all files below `operator/` and of the definitions in charts together: ten times those of the largest in use.
pub const OPERATOR_FILES: u64 = 64 * 1024 * 1024;
/// Definitions: fifty times as many as the largest operators in use have, and as many as are packed.
pub const OPERATOR_DEFINITIONS: usize = 10_000;
/// Values in all these files together, keys of maps and expanded aliases included: some ten times those of the largest
/// operators in use, and up to 500 MB of memory, as maps of one key.
pub const OPERATOR_VALUES: usize = 2_000_000;
/// Bytes of text in these values: an alias may stand for a long text, so the files' size alone bounds nothing.
pub const OPERATOR_TEXT: usize = 64 * 1024 * 1024;
/// Parts of a definition's metadata that a finding names: real ones have half a dozen that are not applied.
pub const WITHHELD: usize = 10;
/// Problems of one kind that are told of one definition: the rest are of the same kind.
pub const DEFINITION_FAULTS: usize = 20;
/// Steps for which the defaults of one schema are judged, each a value, a choice or some text: a hundred times those of the
/// largest definitions in use, and less than a second.
pub const DEFAULT_STEPS: usize = 1_000_000;
/// Bytes that a pattern of a default may compile to: what is larger can take its size for each character, and is not judged.
pub const DEFAULT_PATTERN: usize = 64 * 1024;
/// Rights that the rules of `role.yaml`, and those of any role, come to when each verb is written out for each resource:
/// as many as an import compares with those of the administrator, and 30 MB of memory.
pub const RIGHTS: usize = 100_000;
/// Bytes of text in these rights: a long text may stand in a list beside many others.
pub const RIGHTS_TEXT: usize = 16 * 1024 * 1024;
/// Objects of all sets: twenty times as many as the largest releases in use have, and as many as are packed.
pub const OBJECTS: usize = manifests::limits::OBJECTS;
/// Bytes of their files together: ten times the largest releases in use.
pub const OBJECT_FILES: u64 = manifests::limits::FILES_SIZE;
/// Values in these files together, keys of maps and expanded aliases included: as much memory as those of an operator.
pub const OBJECT_VALUES: usize = manifests::limits::VALUES;
/// Bytes of text in these values: an alias may stand for a long text, so the files' size alone bounds nothing.
pub const OBJECT_TEXT: usize = manifests::limits::TEXT;
/// Charts: each may take a second to look through. The largest platforms in use are made of twenty.
pub const CHARTS: usize = 32;
/// Namespaces of a set: each is looked for in every text. The largest releases in use have four.
pub const SET_NAMESPACES: usize = 16;
/// Problems with placeholders that are told of one object: the rest are of the same kind.
pub const PLACEHOLDER_PROBLEMS: usize = 100;
/// Characters of a place within an object: the keys of an object may be as long as itself.
pub const POINTER: usize = 300;
/// Parameters: more than anybody fills in.
pub const PARAMETERS: usize = 256;
/// Bytes of a parameter's pattern: that of a whole e-mail address by RFC 5322 has half of it.
pub const PATTERN: usize = 1024;
/// Groups of a pattern within one another.
pub const PATTERN_NESTING: u32 = 32;
/// Bytes of a pattern when it is compiled: a class of all letters of Unicode has a tenth of it.
pub const PATTERN_SIZE: usize = 1024 * 1024;
/// Bytes of a small pattern when it is compiled: those without classes of Unicode have a fraction of it.
pub const PATTERN_SMALL: usize = 64 * 1024;
/// Patterns that are larger than that, of all parameters: together they take less than a second.
pub const PATTERNS_LARGE: usize = 16;
/// Classes of Unicode in the patterns of all parameters, as [`schemas::pattern_weight`] counts them: some milliseconds each.
pub const PATTERNS_WEIGHT: usize = 256;
