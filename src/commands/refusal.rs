//! What is in the way, all of it at once.

mod shown;

use fleet::FleetProblem;
use importer::Obstacle;
use rules::catalogue::Severity;
use schemars::JsonSchema;
use serde::Serialize;
use shelf::Unprunable;
use validator::{Finding, Report};

pub(super) use self::shown::{show, undone};
use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::render;

/// The plan and its blockers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Refused<P> {
    /// The plan.
    plan: P,
    /// The blockers.
    #[schemars(length(min = 1))]
    obstacles: Vec<InTheWay>,
}

impl<P> Refused<P> {
    fn new(plan: P, obstacles: impl IntoIterator<Item = impl Into<InTheWay>>) -> Self {
        let obstacles = obstacles.into_iter().map(Into::into).collect();
        Self { plan, obstacles }
    }
}

/// A blocker.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Obstacle")]
pub(crate) struct InTheWay {
    /// The problem and its place.
    pub(super) message: String,
    /// How to resolve it.
    pub(super) fix: String,
    /// The same as data. It is missing if the blocker has no id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) obstacle: Option<Box<Obstacle>>,
}

impl From<&Obstacle> for InTheWay {
    fn from(obstacle: &Obstacle) -> Self {
        Self {
            message: obstacle.to_string(),
            fix: failure::fix(obstacle),
            obstacle: Some(Box::new(obstacle.clone())),
        }
    }
}

impl From<&shelf::RegistryObstacle> for InTheWay {
    fn from(obstacle: &shelf::RegistryObstacle) -> Self {
        Self::from(&Obstacle::from(obstacle.clone()))
    }
}

impl From<&Unprunable> for InTheWay {
    fn from(why: &Unprunable) -> Self {
        Self::new(why.to_string(), failure::unprunable(why))
    }
}

impl From<&FleetProblem> for InTheWay {
    fn from(problem: &FleetProblem) -> Self {
        Self::new(problem.to_string(), failure::fleet_fix(&problem.fault))
    }
}

impl InTheWay {
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fix: fix.into(),
            obstacle: None,
        }
    }

    /// Whether it is that this user lacks a right.
    fn is_right(&self) -> bool {
        let obstacle = self.obstacle.as_deref();
        obstacle.is_some_and(|obstacle| obstacle.missing_right().is_some())
    }

    /// The errors that were found of an archive.
    pub(super) fn of_report(report: &Report) -> Vec<Self> {
        let findings = report.findings().iter();
        let errors = findings.filter(|finding| finding.severity == Severity::Error);
        let in_the_way = |it: &Finding| {
            let message = format!("[{}] {} {}", it.id, it.place, it.message);
            Self::new(message, it.fix)
        };
        errors.map(in_the_way).collect()
    }

    /// The same, with which flag it is no obstacle, if it can be forced.
    pub(super) fn of(obstacle: &Obstacle, can_be_forced: bool, forced: &str) -> Self {
        let mut in_the_way = Self::from(obstacle);
        if can_be_forced {
            in_the_way.fix = format!("{}; {forced}", in_the_way.fix);
        }
        in_the_way
    }
}

impl From<&Failure> for InTheWay {
    fn from(failure: &Failure) -> Self {
        Self {
            obstacle: failure.obstacle().map(Box::new),
            ..Self::new(failure.in_one_line(), failure.next_step())
        }
    }
}

/// Says what is in the way of a plan.
pub(super) fn refuse<P: Serialize>(
    output: Output,
    plan: P,
    obstacles: impl IntoIterator<Item = impl Into<InTheWay>>,
) -> Outcome {
    let refused = Refused::new(plan, obstacles);
    render::result(output, &refused, |refused| undone(&refused.obstacles));
    Outcome::No
}

/// Says what a check has found in the way. It would have changed nothing anyway.
pub(super) fn found<P: Serialize>(
    output: Output,
    checked: P,
    obstacles: impl IntoIterator<Item = impl Into<InTheWay>>,
) -> Outcome {
    let refused = Refused::new(checked, obstacles);
    render::result(output, &refused, |refused| show(&refused.obstacles, ""));
    Outcome::No
}
