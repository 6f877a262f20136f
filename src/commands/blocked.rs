//! Blocked plans and removals. The program reports all blockers at once, each with its fix.

use std::collections::BTreeSet;

use fleet::FleetProblem;
use importer::{Blocker, RemovalBlocked, Use};
use rules::catalogue::Severity;
use schemars::JsonSchema;
use serde::Serialize;
use store::PruneBlocker;
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
    #[serde(rename = "obstacles")]
    blockers: Vec<ShownBlocker>,
}

impl<P> BlockedPlan<P> {
    pub(super) fn new(
        plan: P,
        blockers: impl IntoIterator<Item = impl Into<ShownBlocker>>,
    ) -> Self {
        let blockers = blockers.into_iter().map(Into::into).collect();
        Self { plan, blockers }
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
    #[serde(rename = "obstacle", skip_serializing_if = "Option::is_none")]
    pub(super) blocker: Option<Box<Blocker>>,
}

impl From<&Blocker> for ShownBlocker {
    fn from(blocker: &Blocker) -> Self {
        Self {
            message: blocker.to_string(),
            fix: failure::fix(blocker),
            blocker: Some(Box::new(blocker.clone())),
        }
    }
}

impl From<&store::RegistryBlocker> for ShownBlocker {
    fn from(blocker: &store::RegistryBlocker) -> Self {
        Self::from(&Blocker::from(blocker.clone()))
    }
}

impl From<&PruneBlocker> for ShownBlocker {
    fn from(why: &PruneBlocker) -> Self {
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
            blocker: None,
        }
    }

    /// Returns true if the blocker is a missing permission of this user.
    fn is_right(&self) -> bool {
        let blocker = self.blocker.as_deref();
        blocker.is_some_and(|blocker| blocker.missing_right().is_some())
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
    pub(super) fn of(blocker: &Blocker, can_be_forced: bool, forced: &str) -> Self {
        let mut in_the_way = Self::from(blocker);
        if can_be_forced {
            in_the_way.fix = format!("{}; {forced}", in_the_way.fix);
        }
        in_the_way
    }
}

impl From<&Failure> for ShownBlocker {
    fn from(failure: &Failure) -> Self {
        Self {
            blocker: failure.blocker().map(Box::new),
            ..Self::new(failure.in_one_line(), failure.next_step())
        }
    }
}

/// Reports the blockers of a plan that was to be applied.
pub(super) fn refuse_plan<P: Serialize>(
    output: Output,
    plan: P,
    blockers: impl IntoIterator<Item = impl Into<ShownBlocker>>,
) -> Outcome {
    let refused = BlockedPlan::new(plan, blockers);
    render::result(output, &refused, |refused| {
        show_unchanged(&refused.blockers);
    });
    Outcome::No
}

/// Reports the blockers that a check has found. The check would have changed nothing in any case.
pub(super) fn report_blockers<P: Serialize>(
    output: Output,
    checked: P,
    blockers: impl IntoIterator<Item = impl Into<ShownBlocker>>,
) -> Outcome {
    let refused = BlockedPlan::new(checked, blockers);
    render::result(output, &refused, |refused| {
        show_blockers(&refused.blockers, "");
    });
    Outcome::No
}

/// Shows all blockers, and the blocked operation, such as ` of a push`.
pub(super) fn show_blockers(blockers: &[ShownBlocker], what: &str) {
    let blockers = show_each(blockers);
    render::note!("{blockers} found{what}");
}

/// Shows all blockers of a change that was not made.
fn show_unchanged(blockers: &[ShownBlocker]) {
    let blockers = show_each(blockers);
    render::note!("nothing was changed: {blockers} found");
}

/// Shows each blocker with its fix, and missing rights together. Returns their number in words.
fn show_each(blockers: &[ShownBlocker]) -> String {
    let (rights, others): (Vec<_>, Vec<_>) =
        blockers.iter().partition(|blocker| blocker.is_right());
    let (rights, others) = match rights.as_slice() {
        [_] => (Vec::new(), blockers.iter().collect()),
        _ => (rights, others),
    };
    for blocker in &others {
        render::note!("error: {}", blocker.message);
        render::note!("hint: {}", blocker.fix);
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
    /// The fix of each blocker.
    #[schemars(length(min = 1))]
    hints: Vec<&'a str>,
    /// Always `no`.
    #[schemars(extend("const" = "no"))]
    answer: &'static str,
    /// The blockers.
    #[schemars(length(min = 1))]
    #[serde(rename = "obstacles")]
    blockers: &'a [ShownBlocker],
    /// Every object that uses what the command would remove.
    uses: &'a [Use],
}

/// Separates the blockers of a removal from its other errors.
pub(super) fn separate_blocked<T>(
    removed: Result<T, importer::Error>,
) -> Result<Result<T, Box<RemovalBlocked>>, importer::Error> {
    match removed {
        Err(importer::Error::Blocked(blocked)) => Ok(Err(blocked)),
        removed => removed.map(Ok),
    }
}

/// Reports why a removal is blocked, with the flag that overrides it.
pub(super) fn refuse_removal(output: Output, blocked: &RemovalBlocked, forced: &str) -> Outcome {
    let blockers = blocked.blockers.iter();
    let in_the_way = |blocker: &Blocker| ShownBlocker::of(blocker, blocker.is_use(), forced);
    let blockers: Vec<ShownBlocker> = blockers.map(in_the_way).collect();
    let kept = BlockedRemoval {
        error: blocked.to_string(),
        causes: [],
        hints: blockers
            .iter()
            .map(|blocker| blocker.fix.as_str())
            .collect(),
        answer: "no",
        blockers: &blockers,
        uses: &blocked.uses,
    };
    render::result(output, &kept, |kept| show_unchanged(kept.blockers));
    Outcome::No
}
