//! The import of an archive whose plan was shown before ([`ShownImport`]), as one of several. All plans of a run are
//! created and shown first. Each is created again before it is applied, since the earlier ones have changed the cluster.

use kubernetes::Cluster;
use progress::ProgressSink;
use registry::Client;
use validator::{AcceptedArchive, Finding};

use crate::apply::Receipt;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::event::Event;
use crate::model::request::Request;
use crate::plan::summary::PlanSummary;
use crate::plan::{Plan, Ready};

/// A plan that was shown, with everything that is needed to create it again.
#[derive(Clone, Copy, Debug)]
pub struct ShownImport<'a> {
    /// The archive.
    pub accepted: &'a AcceptedArchive,
    /// Its findings.
    pub findings: &'a [Finding],
    /// The client of the registry.
    pub client: &'a Client,
    /// The request.
    pub request: &'a Request,
    /// The plan.
    pub plan: &'a PlanSummary,
}

impl<'a> ShownImport<'a> {
    /// Applies the plan after the `earlier` plans of the same run were applied.
    ///
    /// # Errors
    ///
    /// A blocker if the plan is blocked now, or if its effects differ from the shown ones.
    pub async fn apply(
        self,
        earlier: &[&PlanSummary],
        cluster: &Cluster,
        tell: ProgressSink<'_, Event>,
    ) -> Result<Receipt, Error> {
        loop {
            // The futures are boxed because their state is far larger than the plan itself.
            let ready = Box::pin(self.plan_again(earlier, cluster)).await?;
            let applied = Box::pin(ready.apply(self.client, cluster, tell));
            if let Some(receipt) = applied.await? {
                return Ok(receipt);
            }
        }
    }

    async fn plan_again(
        self,
        earlier: &[&PlanSummary],
        cluster: &Cluster,
    ) -> Result<Ready<'a>, Error> {
        let (findings, request) = (self.findings.to_vec(), self.request.clone());
        let plan = Plan::make(self.accepted, findings, self.client, cluster, request).await?;
        let blocker = in_the_way(&plan.blockers(), self.plan, plan.summary(), earlier);
        if let Some(blocker) = blocker {
            plan.give_up(self.client).await;
            return Err(blocker.into());
        }
        let Ok(ready) = plan.ready() else {
            unreachable!("a plan without blockers is ready")
        };
        Ok(ready)
    }
}

/// Returns the first blocker of the plan itself. If there is none, returns the blocker that the plan differs from the
/// shown one.
fn in_the_way(
    blockers: &[&Blocker],
    shown: &PlanSummary,
    anew: &PlanSummary,
    earlier: &[&PlanSummary],
) -> Option<Blocker> {
    let first = blockers.first().map(|&blocker| blocker.clone());
    first.or_else(|| {
        let differences = shown.differences(anew, earlier);
        (!differences.is_empty()).then(|| Blocker::changed(differences))
    })
}

#[cfg(test)]
mod tests {
    use kubernetes::Access;

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
        let denied = Blocker::denied(&Access::new("create", "", "pods"));
        let changed = || Blocker::changed(["the server's address"]);
        let both = [&denied, &changed()];
        for (blockers, anew, expected) in [
            (&[][..], &shown, None),
            (&[], &noted, None),
            (&[], &other, Some(changed())),
            (&both, &shown, Some(denied.clone())),
            (&both, &other, Some(denied.clone())),
        ] {
            assert_eq!(
                in_the_way(blockers, &shown, anew, &[]),
                expected,
                "{anew:?}"
            );
        }
    }
}
