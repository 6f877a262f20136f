//! A cluster of a fleet that was asked for, planned or not.

use super::planned::{DeploymentPlan, MemberPlan};
use crate::failure::Failure;

/// A cluster, and what is planned for it.
pub(super) struct PlannedMember {
    /// Its place in the file.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) plan: Result<MemberPlan, Failure>,
}

impl PlannedMember {
    pub(super) fn deployments(&self) -> impl Iterator<Item = &DeploymentPlan> {
        let plan = self.plan.as_ref().ok();
        plan.into_iter().flat_map(|it| &it.deployments)
    }

    /// Whether anything is to be removed.
    pub(super) fn removes(&self) -> bool {
        self.deployments().any(|it| it.removes().is_some())
    }

    /// Whether something other than consent is in the way of a deployment.
    pub(super) fn is_refused(&self) -> bool {
        self.deployments().any(|it| !it.why.is_empty())
    }
}
