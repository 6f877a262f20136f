//! What keeps something from being removed, all of it at once.

use importer::{Hindered, Obstacle, Use};
use schemars::JsonSchema;
use serde::Serialize;

use super::refusal::{InTheWay, undone};
use crate::args::Output;
use crate::failure::Outcome;
use crate::render;

/// The blockers of a removal. Nothing was removed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RefusedRemoval<'a> {
    /// The error in one line.
    error: String,
    /// Always empty: the blockers are the causes.
    causes: [&'a str; 0],
    /// The fix of each obstacle.
    #[schemars(length(min = 1))]
    hints: Vec<&'a str>,
    /// Always `no`.
    #[schemars(extend("const" = "no"))]
    answer: &'static str,
    /// The blockers.
    #[schemars(length(min = 1))]
    obstacles: &'a [InTheWay],
    /// Every object that uses what the command would remove.
    uses: &'a [Use],
}

/// What came of a removal, with what is in its way as a result of its own.
pub(super) fn free<T>(
    removed: Result<T, importer::Error>,
) -> Result<Result<T, Box<Hindered>>, importer::Error> {
    match removed {
        Err(importer::Error::Hindered(hindered)) => Ok(Err(hindered)),
        removed => removed.map(Ok),
    }
}

/// Says what keeps something from being removed, and with which flag it goes all the same.
pub(super) fn hindered(output: Output, hindered: &Hindered, forced: &str) -> Outcome {
    let obstacles = hindered.obstacles.iter();
    let in_the_way = |obstacle: &Obstacle| InTheWay::of(obstacle, obstacle.is_use(), forced);
    let obstacles: Vec<InTheWay> = obstacles.map(in_the_way).collect();
    let kept = RefusedRemoval {
        error: hindered.to_string(),
        causes: [],
        hints: obstacles.iter().map(|it| it.fix.as_str()).collect(),
        answer: "no",
        obstacles: &obstacles,
        uses: &hindered.uses,
    };
    render::result(output, &kept, |kept| undone(kept.obstacles));
    Outcome::No
}
