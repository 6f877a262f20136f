//! What deployments of a fleet's file are planned from that go back to what ran before a revision of the fleet.

use fleet::Members;
use importer::{Allowed, ChangesOfFleet, Downgrade, Skipped, Verb};
use schemas::{FleetSolution, PlacedVersion, SolutionName, StatementTime};

use super::super::apply::{
    Asking, Deployable, DeployableSource, DeploymentPlace, FoundDeparture, FoundDeployable,
    Unplannable,
};
use super::super::standing::entries;
use crate::commands::rollback;
use crate::failure::Failure;

/// The ways back of the deployments of a fleet's file.
pub(super) struct WaysBack<'a> {
    pub(super) members: &'a Members<'a>,
    /// The Solutions that were chosen; all if there are none.
    pub(super) solutions: &'a [SolutionName],
    /// The revision of the fleet that is rolled back.
    pub(super) revision: StatementTime,
    pub(super) asking: Asking<'a>,
}

impl DeployableSource for WaysBack<'_> {
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeployable>, Failure> {
        let mut all = Vec::new();
        for entry in entries(self.asking.file, self.members, place.at) {
            if self.solutions.is_empty() || self.solutions.contains(&entry.name) {
                let found = self.of(entry, place).await;
                let placed = PlacedVersion::from(entry);
                all.push(FoundDeployable { placed, found });
            }
        }
        Ok(all)
    }

    async fn departures(&self, _: &DeploymentPlace<'_>) -> Result<Vec<FoundDeparture>, Failure> {
        Ok(Vec::new())
    }
}

impl WaysBack<'_> {
    /// Returns what a deployment is planned from.
    async fn of(
        &self,
        entry: &FleetSolution,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Unplannable> {
        let (name, environment) = (&entry.name, &entry.environment);
        let changes = ChangesOfFleet {
            fleet: &self.asking.file.document().metadata.name,
            revision: self.revision,
        };
        let back = importer::way_back_of_fleet(&place.reached.cluster, name, environment, changes);
        let back = back.await.map_err(Failure::from)?;
        let back = back.map_err(|skipped| Unplannable::Left(self.nothing(name, &skipped)))?;
        let note = rollback::in_words(name, &back);
        let version = back.version.clone();
        let goal = rollback::goal(environment, back);
        let mut found = self.asking.kept(entry, &version, place, goal).await?;
        found.note = Some(note);
        found.request.verb = Verb::Rollback;
        found.request.allowed = Allowed {
            downgrade: Downgrade::Allow,
            ..self.asking.allowed
        };
        Ok(found)
    }

    /// Why a deployment stays as it is.
    fn nothing(&self, name: &SolutionName, skipped: &Skipped) -> String {
        let revision = self.revision;
        match skipped {
            Skipped::NotChanged => format!("nothing: revision {revision} did not change {name}"),
            Skipped::NotDeployed => format!("nothing: {name} is not deployed"),
            Skipped::Other { running, deployed } => {
                format!(
                    "nothing: {name} {running} is deployed, but revision {revision} deployed {deployed}"
                )
            }
            Skipped::First { deployed } => {
                format!("nothing: {deployed} is the first deployed version of {name}")
            }
            Skipped::Values => {
                format!("nothing: revision {revision} changed only values of {name}")
            }
        }
    }
}
