//! The archive of a plan, its images, and where they go.

use importer::PlanSummary;
use schemas::SolutionId;
use shelf::PushSummary;

use super::lines::{Detail, Lines};
use crate::render;

/// The images of an archive, and where they go.
pub(crate) struct PlannedPush<'a> {
    /// The registry that images are pushed to, and the one that nodes pull from.
    pub(crate) registries: [&'a str; 2],
    /// The numbers of images and of their referrers.
    pub(crate) counts: [usize; 2],
    /// The bytes to push, and those of all images.
    pub(crate) bytes: [u64; 2],
    /// The repositories that are created first.
    pub(crate) creates: &'a [String],
}

impl<'a> From<&'a PlanSummary> for PlannedPush<'a> {
    fn from(plan: &'a PlanSummary) -> Self {
        Self {
            registries: [&plan.registry, &plan.pull_registry],
            counts: [plan.images, plan.referrers],
            bytes: [plan.bytes_to_push, plan.bytes],
            creates: &plan.creates,
        }
    }
}

impl<'a> From<&'a PushSummary> for PlannedPush<'a> {
    fn from(plan: &'a PushSummary) -> Self {
        Self {
            registries: [&plan.registry, &plan.pull_registry],
            counts: [plan.images, plan.referrers],
            bytes: [plan.bytes_to_push, plan.bytes],
            creates: &plan.creates,
        }
    }
}

/// The lines about an archive and its images.
pub(crate) fn archive(solution: &str, archive_id: &str, push: &PlannedPush<'_>) -> Vec<String> {
    let mut lines = Lines::new(Detail::Full);
    lines.solution(solution, archive_id, "");
    lines.images(push);
    lines.repositories(push.creates);
    lines.lines
}

impl Lines {
    pub(super) fn solution(&mut self, solution: &str, archive_id: &str, state: &str) {
        let id = solution.parse::<SolutionId>();
        let name = id.map_or_else(
            |_| solution.to_owned(),
            |id| format!("{} {}", id.name(), id.version()),
        );
        self.row("solution", &format!("{name}, archive {archive_id}{state}"));
    }

    /// The number of images, the bytes to push, and where nodes pull from.
    pub(super) fn images(&mut self, push: &PlannedPush<'_>) {
        let [pushed, pulled] = push.registries;
        let [missing, all] = push.bytes.map(render::bytes);
        let images = render::images(push.counts[0], push.counts[1]);
        self.row(
            "images",
            &format!("{images}, {missing} of {all} to push to {pushed}"),
        );
        if pulled != pushed {
            self.also(&format!("nodes pull from {pulled}"));
        }
    }
}
