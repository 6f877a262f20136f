//! What is in the way of a change to a cluster.

use serde::Serialize;

/// Something in the way, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// What is in the way, and where.
    pub message: String,
    /// What to do next.
    pub fix: String,
}

impl Obstacle {
    pub(crate) fn no(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fix: fix.into(),
        }
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}
