//! Limits of expressions and journals, each with its reason. The CEL interpreter itself has no limits, so an expression
//! is checked before it runs and metered while it runs.

use schemas::limits::FLEET_CLUSTERS;

/// Maximum number of clusters in a journal: those of the largest fleet, and as many that have left it.
pub(crate) const KNOWN_CLUSTERS: usize = 2 * FLEET_CLUSTERS;
/// Maximum size of an expression in bytes. Longer texts belong in values.
pub(crate) const EXPRESSION_SIZE: usize = 1024;
/// Maximum nesting of brackets in an expression. The parser recurses for each level.
pub(crate) const EXPRESSION_DEPTH: usize = 24;
/// Stack size for parsing and evaluation, in bytes. Without compiler optimization, the deepest expressions use a fifth
/// of it.
pub(crate) const EXPRESSION_STACK: usize = 32 * 1024 * 1024;
/// Maximum number of nodes in an expression with expanded macros. Each node can be evaluated in every iteration of its
/// loops.
pub(crate) const EXPRESSION_NODES: usize = 200;
/// Maximum depth of loops (`map`, `filter`, `all`, `exists`) that run inside each other or over each other's results.
pub(crate) const EXPRESSION_LOOPS: usize = 2;
/// Maximum number of node evaluations in loops: 20 nodes in a loop over 50 items inside a loop over 50 items.
pub(crate) const EXPRESSION_WORK: usize = 50_000;
/// Maximum size of a value or result, and of all facts of a cluster together, in bytes. Loops copy and compare values
/// in each iteration.
pub(crate) const VALUE_SIZE: usize = 64 * 1024;
/// Maximum size of all values that one expression builds, in bytes.
pub(crate) const EXPRESSION_MEMORY: usize = 1024 * 1024;
/// Maximum length of a message from the parser or interpreter, in characters. Such a message can quote a whole value.
pub(crate) const QUOTED: usize = 200;
/// Maximum number of clusters listed in the status of a fleet's object in a hub. With a message each, they stay far
/// below the size limit of an API server for one object.
pub(crate) const LISTED_CLUSTERS: usize = 200;
/// Maximum size of a message in this status, in bytes.
pub(crate) const MESSAGE_SIZE: usize = 256;
/// Maximum length of the user and host behind a decision, in characters. The hub's schema has the same limit.
pub(crate) const PERSON_LENGTH: usize = 512;
/// Maximum length of the id of a plan or goal in a journal, in characters: more than twice that of real ids.
pub(crate) const PLAN_LENGTH: usize = 64;
