//! The sets that a Solution provides for its own removal. They are applied and awaited before anything is removed.

use std::time::Duration;

use change::{Inventory, disarmed, marked, vocabulary as v};
use deployer::{Object, ObjectRef, Settled, settled};
use schemas::SolutionName;

use crate::apply::leased::Leased;
use crate::apply::steps::settle;
use crate::model::cleanup::{Cleanup, CleanupStep, check_step};
use crate::model::error::Error;

impl Cleanup {
    pub(crate) async fn carry_out(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        recorded: &Inventory,
        wait: Duration,
    ) -> Result<(), Error> {
        for wave in self.steps.chunk_by(CleanupStep::is_in_one_wave) {
            let mut objects = Vec::new();
            for step in wave {
                let object = step.object()?;
                apply(&object, leased, solution, recorded, wait).await?;
                objects.push(object);
            }
            let settled = settle(leased, wave[0].recorded.stage, objects.iter(), wait);
            settled.await.map_err(|error| match error {
                Error::Cluster(source) => Error::Cleanup {
                    solution: solution.clone(),
                    source: Box::new(source),
                },
                other => other,
            })?;
        }
        Ok(())
    }
}

async fn apply(
    object: &Object,
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    recorded: &Inventory,
    wait: Duration,
) -> Result<(), Error> {
    let reference: &ObjectRef = object.reference();
    let may = |live: &Object| check_step(object, Some(live), solution, recorded, None);
    let live = leased.cluster.get(reference).await?;
    if live.is_some_and(|live| must_run_anew(object, &live)) {
        leased.make_room(reference, wait, may).await?;
    }
    let decide = |live: Option<&Object>| {
        live.map_or(Ok(()), may)?;
        Ok(Some(disarmed(&marked(object.clone(), live)?, live)?))
    };
    leased.put(reference, decide).await?;
    Ok(())
}

/// Checks whether a Job must run again because an earlier attempt failed or its inputs differ.
fn must_run_anew(object: &Object, live: &Object) -> bool {
    let inputs = |object: &Object| object.annotations().get(v::INPUTS).map(ToString::to_string);
    inputs(object).is_some_and(|made| {
        inputs(live) != Some(made) || matches!(settled(live), Settled::Failed(_))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_job_that_failed_runs_once_more_and_one_that_is_done_does_not() {
        let job = |inputs: &str, status: Value| {
            Object::new(json!({
                "apiVersion": "batch/v1", "kind": "Job",
                "metadata": { "name": "j", "annotations": { v::INPUTS: inputs } },
                "status": status,
            }))
            .unwrap()
        };
        let condition = |kind: &str| json!({ "conditions": [{ "type": kind, "status": "True" }] });
        let wanted = job("a", json!({}));
        for (live, anew) in [
            (job("a", json!({})), false),
            (job("a", condition("Complete")), false),
            (job("a", condition("Failed")), true),
            (job("b", condition("Complete")), true),
        ] {
            assert_eq!(must_run_anew(&wanted, &live), anew, "{live:?}");
        }
    }
}
