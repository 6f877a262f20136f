//! The paths of pages.

use schemas::{EnvironmentName, SolutionName, Version};

/// Returns the path of an environment.
pub(super) fn environment(environment: &EnvironmentName) -> String {
    format!("/environments/{environment}")
}

/// Returns the path of a form for a Solution in an environment.
pub(super) fn form(environment: &EnvironmentName, solution: &SolutionName, verb: &str) -> String {
    format!("/environments/{environment}/solutions/{solution}/{verb}")
}

/// Returns the path of an imported version.
pub(super) fn version(solution: &SolutionName, version: &Version) -> String {
    format!("/solutions/{solution}/{version}")
}

/// Returns the path of the rights of an imported version.
pub(super) fn rights(solution: &SolutionName, version: &Version) -> String {
    format!("/solutions/{solution}/{version}/rights")
}

/// Returns the path of a plan.
pub(super) fn plan(id: &str) -> String {
    format!("/plans/{id}")
}

/// Returns the path of a plan that is left for a second person.
pub(super) fn proposal(id: &str) -> String {
    format!("/proposals/{id}")
}

/// Returns the path of a run.
pub(super) fn run(id: &str) -> String {
    format!("/runs/{id}")
}

/// Returns the path of a change in the history.
pub(super) fn revision(revision: u32) -> String {
    format!("/history/{revision}")
}
