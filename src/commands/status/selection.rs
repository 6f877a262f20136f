//! The part of a status that was asked for.

use anyhow::anyhow;
use importer::Status;
use schemas::{EnvironmentName, SolutionName};

use super::Arguments;
use crate::failure::Failure;

impl Arguments {
    /// Whether only some Solutions or environments are asked for.
    pub(super) fn is_selection(&self) -> bool {
        self.solution.is_some() || self.environment.is_some() || self.namespace.is_some()
    }

    /// Removes the Solutions and environments that were not asked for.
    ///
    /// # Errors
    ///
    /// Fails if the Solution that was asked for is not imported.
    pub(super) fn select(&self, status: &mut Status) -> Result<(), Failure> {
        let solution = |name: &SolutionName| self.solution.as_ref().is_none_or(|it| it == name);
        let environment =
            |name: &EnvironmentName| self.environment.as_ref().is_none_or(|it| it == name);
        status.versions.retain(|version| {
            let is_in = self.environment.is_none() || version.environments.iter().any(environment);
            solution(&version.record.name) && is_in
        });
        status
            .operators
            .retain(|operator| solution(&operator.solution) && environment(&operator.environment));
        let operators = &status.operators;
        status.environments.retain(|space| {
            let mut operators = operators.iter();
            let has_one = operators.any(|operator| operator.namespace == space.namespace);
            environment(&space.environment) && (self.solution.is_none() || has_one)
        });
        status.incomplete.retain(|receipt| {
            let mut places = receipt.subject.places.iter();
            let is_in =
                self.environment.is_none() || places.any(|place| environment(&place.environment));
            receipt.subject.solution.as_ref().is_none_or(solution) && is_in
        });
        match &self.solution {
            Some(name)
                if self.environment.is_none()
                    && status.versions.is_empty()
                    && status.operators.is_empty()
                    && status.unseen.is_empty() =>
            {
                let failure = Failure::no(anyhow!("no version of `{name}` is imported"));
                Err(failure.hint("`solution status` lists the imported versions"))
            }
            _ => Ok(()),
        }
    }
}
