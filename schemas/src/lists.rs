//! Lists for messages. Long lists are cut, so that a message stays readable.

use std::fmt::Display;

use crate::limits;

/// Returns values for a message, as `` `a`, `b` and 3 more ``: at most [`limits::LISTED`] of them.
#[must_use]
pub fn list_quoted<T: Display>(values: &[T]) -> String {
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

/// Returns names for a message without quotes: at most [`limits::LISTED`] of them.
#[must_use]
pub fn list_names(mut names: Vec<String>) -> String {
    let count = names.len();
    names.truncate(limits::LISTED);
    if count > limits::LISTED {
        names.push(format!("and {} more", count - limits::LISTED));
    }
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_are_cut() {
        let numbers: Vec<usize> = (0..30).collect();
        assert!(list_quoted(&numbers).ends_with("`19` and 10 more"));
    }

    #[test]
    fn of_many_names_the_first_are_named_and_the_others_counted() {
        let names = |count: usize| list_names((1..=count).map(|n| n.to_string()).collect());
        assert_eq!(names(2), "1, 2");
        assert!(names(20).ends_with(", 20"));
        assert!(names(23).ends_with(", 20, and 3 more"));
    }
}
