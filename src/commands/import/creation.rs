//! Asks a person at the terminal whether an environment that does not exist is created.

use anyhow::anyhow;
use importer::{CreateEnvironment, Obstacle, Plan, Request};

use super::then::Then;
use crate::args::Output;
use crate::commands::question::{agreed, can_ask};
use crate::failure::Failure;

/// The question whether to create an environment. It is asked after the plan that creates it was shown.
#[derive(Debug)]
pub(super) struct Creation {
    question: String,
}

impl Creation {
    /// Allows to create the environment of a plan if it does not exist, the plan would be applied, and a person can answer.
    pub(super) fn allow(
        plan: &Plan<'_>,
        request: &mut Request,
        then: Then<'_>,
        output: Output,
    ) -> Option<Self> {
        if !matches!(then, Then::Apply) || !can_ask(output) {
            return None;
        }
        let mut obstacles = plan.obstacles().into_iter();
        let (environment, near) = obstacles.find_map(|obstacle| match obstacle {
            Obstacle::UnknownEnvironment { environment, near } => Some((environment, near)),
            _ => None,
        })?;
        let near = near
            .as_ref()
            .map(|near| format!(" (did you mean `{near}`?)"));
        let near = near.unwrap_or_default();
        let question = format!("environment `{environment}` does not exist{near}; create it?");
        request.allowed.create = CreateEnvironment::Allow;
        Some(Self { question })
    }

    /// Asks the question.
    pub(super) async fn confirm(self, output: Output) -> Result<(), Failure> {
        if agreed(&self.question, output).await? {
            return Ok(());
        }
        Err(Failure::no(anyhow!(
            "nothing was changed: the environment does not exist"
        )))
    }
}
