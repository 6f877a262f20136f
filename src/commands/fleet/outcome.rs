//! How a command ends that asks several clusters.

use crate::failure::Outcome;

/// The outcome of several clusters: a no of one is a no, and what is not known of one is not known.
pub(super) fn worst(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let weight = |it: &Outcome| match it {
        Outcome::Yes => 0,
        Outcome::Unknown => 1,
        Outcome::No | Outcome::Usage | Outcome::Ended(_) => 2,
    };
    let worst = outcomes.into_iter().max_by_key(weight);
    worst.unwrap_or(Outcome::Yes)
}
