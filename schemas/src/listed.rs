//! Lists in messages.

use std::fmt::Display;

use crate::limits;

/// Values for a message, as `` `a`, `b` and 3 more ``: at most [`limits::LISTED`] of them.
#[must_use]
pub fn listed<T: Display>(values: &[T]) -> String {
    let shown: Vec<String> = values
        .iter()
        .take(limits::LISTED)
        .map(|value| format!("`{value}`"))
        .collect();
    match values.len().saturating_sub(limits::LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let numbers: Vec<usize> = (0..30).collect();
        assert!(listed(&numbers).ends_with("`19` and 10 more"));
    }
}
