//! Nodes that run no pods yet.

use std::fmt;

use crate::limits;

/// A node that runs no pods yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadyNode {
    /// The name of the node.
    pub name: String,
    /// The reason, in the node's own words.
    pub why: String,
}

/// The nodes that run no pods yet; none where no node has joined the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadyNodes(pub Vec<UnreadyNode>);

impl fmt::Display for UnreadyNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("no node has joined that takes pods");
        }
        for (at, UnreadyNode { name, why }) in self.0.iter().take(limits::MAX_NAMED).enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{name}: {why}")?;
        }
        match self.0.len().saturating_sub(limits::MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}
