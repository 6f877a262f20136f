//! What a change has written and removed in the cluster.

use std::fmt;

use crate::args::choose;
use crate::render;

/// Objects that are named; more are counted.
const NAMED: usize = 3;

/// The objects that were written, and how many were removed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) written: Vec<String>,
    pub(super) removed: usize,
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = |count| {
            let was = choose(count == 1, "was", "were");
            format!("{} {was}", render::count(count, "object"))
        };
        let mut changes = Vec::new();
        if !self.written.is_empty() {
            let count = self.written.len();
            let names = self.written[..count.min(NAMED)].join(", ");
            let more = match count.saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            changes.push(format!("{} written ({names}{more})", objects(count)));
        }
        if self.removed > 0 {
            changes.push(format!("{} removed", objects(self.removed)));
        }
        if changes.is_empty() {
            changes.push("the cluster was not changed".to_owned());
        }
        f.write_str(&changes.join(" and "))
    }
}
