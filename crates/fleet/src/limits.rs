//! The named limits of expressions and of a journal, each with its reason. CEL has no budget of its own here: what is
//! computed is bounded before, and counted while it runs.

use schemas::limits::FLEET_CLUSTERS;

/// Clusters that a journal knows: those of the largest fleet, and as many that have left it.
pub(crate) const KNOWN_CLUSTERS: usize = 2 * FLEET_CLUSTERS;
/// Bytes of an expression: what is longer belongs into values.
pub(crate) const EXPRESSION_SIZE: usize = 1024;
/// Nesting of brackets in an expression. The parser calls itself for each.
pub(crate) const EXPRESSION_DEPTH: usize = 24;
/// Bytes of the stack that expressions are read and computed with: without optimisation the deepest take a fifth of it.
pub(crate) const EXPRESSION_STACK: usize = 32 * 1024 * 1024;
/// Nodes of an expression, its macros expanded. Each may be computed in each turn of its loops.
pub(crate) const EXPRESSION_NODES: usize = 200;
/// Loops (`map`, `filter`, `all`, `exists`) that run in, or over what comes of, each other.
pub(crate) const EXPRESSION_LOOPS: usize = 2;
/// Nodes that are computed in loops: a loop over 50 things in a loop over 50, with 20 nodes.
pub(crate) const EXPRESSION_WORK: usize = 50_000;
/// Bytes of one value, of a result too, and of all facts of a cluster together: what loops copy and compare in each turn.
pub(crate) const VALUE_SIZE: usize = 64 * 1024;
/// Bytes of all that one expression puts together on its way.
pub(crate) const EXPRESSION_MEMORY: usize = 1024 * 1024;
/// Characters of the parser's or the interpreter's words that are passed on: these may quote whole values.
pub(crate) const QUOTED: usize = 200;
/// Clusters that the object in a hub lists: with a message each they stay far below what an API server stores of one.
pub(crate) const LISTED_CLUSTERS: usize = 200;
/// Bytes of a message there.
pub(crate) const MESSAGE_SIZE: usize = 256;
/// Characters of the name of a person who decides: a user and a host, and what a hub stores of them.
pub(crate) const PERSON_LENGTH: usize = 512;
/// Characters of the id of a plan or a goal there: more than twice as many as ids have.
pub(crate) const PLAN_LENGTH: usize = 64;
