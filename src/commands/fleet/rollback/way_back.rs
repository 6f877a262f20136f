//! What deployments of a fleet's file are planned from that go back to what ran before.

use std::collections::BTreeSet;

use deployer::Cluster;
use fleet::Members;
use importer::{Allowed, BackTo, Downgrade, EnvironmentNamespace, Verb};
use schemas::{FleetSolution, PlacedVersion, Version};

use super::super::apply::{
    Asking, Deployable, DeployableSource, DeploymentPlace, FoundDeparture, FoundDeployable,
    Unplannable,
};
use super::super::standing::entries;
use crate::commands::rollback;
use crate::failure::Failure;
use crate::render;

/// The ways back of the deployments of a fleet's file.
pub(super) struct WaysBack<'a> {
    pub(super) members: &'a Members<'a>,
    pub(super) asking: Asking<'a>,
}

impl DeployableSource for WaysBack<'_> {
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeployable>, Failure> {
        let spaces = importer::environments(place.cluster).await?;
        let mut all = Vec::new();
        for entry in entries(self.asking.file, self.members, place.at) {
            let found = match left(entry, &spaces) {
                Some(note) => Err(Unplannable::Left(note)),
                None => self.of(entry, place.cluster).await,
            };
            let placed = PlacedVersion::from(entry);
            all.push(FoundDeployable { placed, found });
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
        cluster: &Cluster,
    ) -> Result<Deployable, Unplannable> {
        let (name, environment) = (&entry.name, &entry.environment);
        let to = BackTo::BeforeVersion(entry.version.clone());
        let back = importer::way_back(cluster, name, environment, None, &to);
        let back = back.await.map_err(Failure::from)?;
        let note = rollback::in_words(name, &back);
        let version = back.version.clone();
        let goal = rollback::goal(environment, back);
        let mut found = self.asking.kept(entry, &version, cluster, goal).await?;
        found.note = Some(note);
        found.request.verb = Verb::Rollback;
        found.request.allowed = Allowed {
            downgrade: Downgrade::Allow,
            ..self.asking.allowed
        };
        Ok(found)
    }
}

/// Why a deployment stays as it is: the file has not brought what runs there, or it was taken back.
fn left(entry: &FleetSolution, spaces: &[EnvironmentNamespace]) -> Option<String> {
    let FleetSolution {
        name,
        version,
        environment,
        ..
    } = entry;
    let spaces = spaces.iter().filter(|it| it.environment == *environment);
    let running: BTreeSet<&Version> = spaces.filter_map(|it| it.solutions.get(name)).collect();
    if running.contains(version) {
        return None;
    }
    Some(if running.is_empty() {
        format!("nothing: no {name} is deployed")
    } else {
        let running = render::list(running);
        format!("nothing: {name} {running} is deployed, the file says {version}")
    })
}

#[cfg(test)]
mod tests {
    use importer::Origin;

    use super::*;

    #[test]
    fn only_what_runs_in_the_version_of_the_file_goes_back() {
        let entry = serde_json::json!({
            "name": "shop", "version": "1.1.0", "environment": "prod"
        });
        let entry: FleetSolution = serde_json::from_value(entry).unwrap();
        let space = |environment: &str, solution: &str, version: &str| EnvironmentNamespace {
            environment: environment.parse().unwrap(),
            namespace: environment.parse().unwrap(),
            description: String::new(),
            origin: Origin::Created,
            solutions: [(solution.parse().unwrap(), version.parse().unwrap())].into(),
            fleets: [].into(),
            fleet_clusters: [].into(),
            going: false,
        };
        let left = |spaces: &[EnvironmentNamespace]| left(&entry, spaces);
        assert_eq!(left(&[space("prod", "shop", "1.1.0")]), None);
        let other = "nothing: shop 1.0.0 is deployed, the file says 1.1.0";
        let spaces = [
            space("prod", "shop", "1.0.0"),
            space("test", "shop", "1.1.0"),
        ];
        assert_eq!(left(&spaces).as_deref(), Some(other));
        let none = Some("nothing: no shop is deployed");
        assert_eq!(left(&[space("prod", "cart", "1.1.0")]).as_deref(), none);
    }
}
