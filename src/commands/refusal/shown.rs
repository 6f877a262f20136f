//! What is in the way, for people.

use std::collections::BTreeSet;

use super::InTheWay;
use crate::render;

/// All that is in the way, and of what: ` of a push`.
pub(in crate::commands) fn show(obstacles: &[InTheWay], what: &str) {
    let obstacles = each(obstacles);
    render::note!("{obstacles} found{what}");
}

/// All that is in the way of a change.
pub(in crate::commands) fn undone(obstacles: &[InTheWay]) {
    let obstacles = each(obstacles);
    render::note!("nothing was changed: {obstacles} found");
}

/// Shows each obstacle with its fix, and missing rights together. Returns their number in words.
fn each(obstacles: &[InTheWay]) -> String {
    let (rights, others): (Vec<_>, Vec<_>) =
        obstacles.iter().partition(|obstacle| obstacle.is_right());
    let (rights, others) = match rights.as_slice() {
        [_] => (Vec::new(), obstacles.iter().collect()),
        _ => (rights, others),
    };
    for obstacle in &others {
        render::note!("error: {}", obstacle.message);
        render::note!("hint: {}", obstacle.fix);
    }
    if !rights.is_empty() {
        render::note!("error: {} rights are missing", rights.len());
        for right in &rights {
            render::note!("  {}", right.message);
        }
        let fixes: BTreeSet<&str> = rights.iter().map(|right| right.fix.as_str()).collect();
        for fix in fixes {
            render::note!("hint: {fix}");
        }
    }
    render::count(others.len() + usize::from(!rights.is_empty()), "blocker")
}
