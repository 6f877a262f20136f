//! Nodes that are not ready.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::limits;

/// A node that is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadyNode {
    /// The name of the node.
    pub name: String,
    /// The reason that the node reports.
    pub why: String,
}

/// The nodes that are not ready; empty if no node has joined the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct UnreadyNodes {
    /// The first of them; empty if no schedulable node has joined.
    pub nodes: Vec<UnreadyNode>,
    /// The number of further nodes.
    pub more: usize,
}

impl UnreadyNodes {
    /// Keeps the first [`limits::MAX_NAMED`] nodes.
    pub(crate) fn of(mut nodes: Vec<UnreadyNode>) -> Self {
        let more = nodes.len().saturating_sub(limits::MAX_NAMED);
        nodes.truncate(limits::MAX_NAMED);
        Self { nodes, more }
    }
}

impl fmt::Display for UnreadyNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nodes.is_empty() {
            return f.write_str("no schedulable node has joined");
        }
        for (at, UnreadyNode { name, why }) in self.nodes.iter().enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{name}: {why}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
