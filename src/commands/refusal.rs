//! What is in the way of a plan, all of it at once.

use importer::Obstacle;
use serde::Serialize;

use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::render;

#[derive(Serialize)]
struct Refused<P> {
    plan: P,
    obstacles: Vec<InTheWay>,
}

/// An obstacle, and how to get it out of the way.
#[derive(Clone, Debug, Serialize)]
pub(super) struct InTheWay {
    pub(super) message: String,
    pub(super) fix: String,
}

impl From<&Obstacle> for InTheWay {
    fn from(obstacle: &Obstacle) -> Self {
        Self {
            message: obstacle.to_string(),
            fix: failure::fix(obstacle),
        }
    }
}

impl From<&Failure> for InTheWay {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.in_one_line(),
            fix: failure.next_step(),
        }
    }
}

/// Says what is in the way of a plan.
pub(super) fn refuse<P: Serialize>(
    output: Output,
    plan: P,
    obstacles: impl IntoIterator<Item = impl Into<InTheWay>>,
) -> Outcome {
    let obstacles = obstacles.into_iter().map(Into::into).collect();
    let refused = Refused { plan, obstacles };
    render::result(output, &refused, |refused| {
        for obstacle in &refused.obstacles {
            render::note!("error: {}", obstacle.message);
            render::note!("hint: {}", obstacle.fix);
        }
        let obstacles = render::count(refused.obstacles.len(), "obstacle");
        render::note!("nothing was changed: {obstacles} in the way");
    });
    Outcome::No
}
