//! Blocked plans and removals. The program reports all blockers at once, each with its fix.

use std::collections::BTreeSet;

use fleet::FleetProblem;
use importer::{Blocker, RemovalBlocked, Use};
use rules::catalogue::Severity;
use schemars::JsonSchema;
use serde::Serialize;
use store::PruneObstacle;
use validator::{Finding, Report};

use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::render;

/// The plan and its blockers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlockedPlan<P> {
    /// The plan.
    plan: P,
    /// The blockers.
    #[schemars(length(min = 1))]
    obstacles: Vec<ShownBlocker>,
}

impl<P> BlockedPlan<P> {
    fn new(plan: P, obstacles: impl IntoIterator<Item = impl Into<ShownBlocker>>) -> Self {
        let obstacles = obstacles.into_iter().map(Into::into).collect();
        Self { plan, obstacles }
    }
}

/// A blocker.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Obstacle")]
pub(crate) struct ShownBlocker {
    /// The problem and its place.
    pub(super) message: String,
    /// How to resolve it.
    pub(super) fix: String,
    /// The same as data. It is missing if the blocker has no id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) obstacle: Option<Box<Blocker>>,
}

impl From<&Blocker> for ShownBlocker {
    fn from(obstacle: &Blocker) -> Self {
        Self {
            message: obstacle.to_string(),
            fix: failure::fix(obstacle),
            obstacle: Some(Box::new(obstacle.clone())),
        }
    }
}

impl From<&store::RegistryObstacle> for ShownBlocker {
    fn from(obstacle: &store::RegistryObstacle) -> Self {
        Self::from(&Blocker::from(obstacle.clone()))
    }
}

impl From<&PruneObstacle> for ShownBlocker {
    fn from(why: &PruneObstacle) -> Self {
        Self::new(why.to_string(), failure::unprunable(why))
    }
}

impl From<&FleetProblem> for ShownBlocker {
    fn from(problem: &FleetProblem) -> Self {
        Self::new(problem.to_string(), failure::fleet_fix(&problem.fault))
    }
}

impl ShownBlocker {
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            fix: fix.into(),
            obstacle: None,
        }
    }

    /// Returns true if the blocker is a missing permission of this user.
    fn is_right(&self) -> bool {
        let obstacle = self.obstacle.as_deref();
        obstacle.is_some_and(|obstacle| obstacle.missing_right().is_some())
    }

    /// Returns the errors in the report of an archive as blockers.
    pub(super) fn of_report(report: &Report) -> Vec<Self> {
        let findings = report.findings().iter();
        let errors = findings.filter(|finding| finding.severity == Severity::Error);
        let in_the_way = |finding: &Finding| {
            let message = format!("[{}] {} {}", finding.id, finding.place, finding.message);
            Self::new(message, finding.fix)
        };
        errors.map(in_the_way).collect()
    }

    /// Returns the blocker, with the flag that overrides it if there is one.
    pub(super) fn of(obstacle: &Blocker, can_be_forced: bool, forced: &str) -> Self {
        let mut in_the_way = Self::from(obstacle);
        if can_be_forced {
            in_the_way.fix = format!("{}; {forced}", in_the_way.fix);
        }
        in_the_way
    }
}

impl From<&Failure> for ShownBlocker {
    fn from(failure: &Failure) -> Self {
        Self {
            obstacle: failure.obstacle().map(Box::new),
            ..Self::new(failure.in_one_line(), failure.next_step())
        }
    }
}

/// Reports the blockers of a plan that was to be applied.
pub(super) fn refuse_plan<P: Serialize>(
    output: Output,
    plan: P,
    obstacles: impl IntoIterator<Item = impl Into<ShownBlocker>>,
) -> Outcome {
    let refused = BlockedPlan::new(plan, obstacles);
    render::result(output, &refused, |refused| {
        show_unchanged(&refused.obstacles);
    });
    Outcome::No
}

/// Reports the blockers that a check has found. The check would have changed nothing in any case.
pub(super) fn report_blockers<P: Serialize>(
    output: Output,
    checked: P,
    obstacles: impl IntoIterator<Item = impl Into<ShownBlocker>>,
) -> Outcome {
    let refused = BlockedPlan::new(checked, obstacles);
    render::result(output, &refused, |refused| {
        show_blockers(&refused.obstacles, "");
    });
    Outcome::No
}

/// Shows all blockers, and the blocked operation, such as ` of a push`.
pub(super) fn show_blockers(obstacles: &[ShownBlocker], what: &str) {
    let obstacles = show_each(obstacles);
    render::note!("{obstacles} found{what}");
}

/// Shows all blockers of a change that was not made.
fn show_unchanged(obstacles: &[ShownBlocker]) {
    let obstacles = show_each(obstacles);
    render::note!("nothing was changed: {obstacles} found");
}

/// Shows each obstacle with its fix, and missing rights together. Returns their number in words.
fn show_each(obstacles: &[ShownBlocker]) -> String {
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

/// The blockers of a removal. Nothing was removed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BlockedRemoval<'a> {
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
    obstacles: &'a [ShownBlocker],
    /// Every object that uses what the command would remove.
    uses: &'a [Use],
}

/// Separates the blockers of a removal from its other errors.
pub(super) fn separate_blocked<T>(
    removed: Result<T, importer::Error>,
) -> Result<Result<T, Box<RemovalBlocked>>, importer::Error> {
    match removed {
        Err(importer::Error::Hindered(hindered)) => Ok(Err(hindered)),
        removed => removed.map(Ok),
    }
}

/// Reports why a removal is blocked, with the flag that overrides it.
pub(super) fn refuse_removal(output: Output, hindered: &RemovalBlocked, forced: &str) -> Outcome {
    let obstacles = hindered.obstacles.iter();
    let in_the_way = |obstacle: &Blocker| ShownBlocker::of(obstacle, obstacle.is_use(), forced);
    let obstacles: Vec<ShownBlocker> = obstacles.map(in_the_way).collect();
    let kept = BlockedRemoval {
        error: hindered.to_string(),
        causes: [],
        hints: obstacles
            .iter()
            .map(|obstacle| obstacle.fix.as_str())
            .collect(),
        answer: "no",
        obstacles: &obstacles,
        uses: &hindered.uses,
    };
    render::result(output, &kept, |kept| show_unchanged(kept.obstacles));
    Outcome::No
}
