//! A plan within a sequence of plans. All of them are made and shown first. [`Ready::as_shown`] makes each again when
//! its turn comes, since the earlier ones have changed the cluster.

use deployer::Cluster;
use registry::Client;
use validator::{Accepted, Finding};

use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::request::Request;
use crate::plan::summary::PlanSummary;
use crate::plan::{Plan, Ready};

impl<'a> Ready<'a> {
    /// Makes a plan again after the `earlier` plans of the same run were applied.
    ///
    /// # Errors
    ///
    /// An obstacle if the plan is blocked now, or if its effects differ from the shown ones.
    pub async fn as_shown(
        accepted: &'a Accepted,
        findings: Vec<Finding>,
        client: &Client,
        cluster: &Cluster,
        request: Request,
        shown: &PlanSummary,
        earlier: &[&PlanSummary],
    ) -> Result<Self, Error> {
        let plan = Plan::make(accepted, findings, client, cluster, request).await?;
        if let Some(obstacle) = in_the_way(&plan.obstacles(), shown, plan.summary(), earlier) {
            plan.give_up(client).await;
            return Err(obstacle.into());
        }
        let Ok(ready) = plan.ready() else {
            unreachable!("a plan without obstacles is ready")
        };
        Ok(ready)
    }
}

/// Returns the first obstacle of the plan itself. If there is none, returns the obstacle that the plan differs from the
/// shown one.
fn in_the_way(
    obstacles: &[&Obstacle],
    shown: &PlanSummary,
    anew: &PlanSummary,
    earlier: &[&PlanSummary],
) -> Option<Obstacle> {
    let first = obstacles.first().map(|&obstacle| obstacle.clone());
    first.or_else(|| {
        let differences = shown.differences(anew, earlier);
        (!differences.is_empty()).then(|| Obstacle::changed(differences))
    })
}

#[cfg(test)]
mod tests {
    use deployer::Access;

    use super::*;

    #[test]
    fn what_is_in_the_way_of_a_plan_comes_before_that_it_is_another_one() {
        let shown = PlanSummary {
            server: "https://site.test".to_owned(),
            ..PlanSummary::default()
        };
        let noted = PlanSummary {
            notes: vec!["another one was imported before".to_owned()],
            recorded: true,
            ..shown.clone()
        };
        let other = PlanSummary {
            server: "https://other.test".to_owned(),
            ..shown.clone()
        };
        let denied = Obstacle::denied(&Access::new("create", "", "pods"));
        let changed = || Obstacle::changed(["the server's address"]);
        let both = [&denied, &changed()];
        for (obstacles, anew, expected) in [
            (&[][..], &shown, None),
            (&[], &noted, None),
            (&[], &other, Some(changed())),
            (&both, &shown, Some(denied.clone())),
            (&both, &other, Some(denied.clone())),
        ] {
            assert_eq!(
                in_the_way(obstacles, &shown, anew, &[]),
                expected,
                "{anew:?}"
            );
        }
    }
}
