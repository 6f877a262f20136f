//! What leaves a cluster when a fleet is deleted there: all that it brought, and nothing that others did.

use std::sync::Arc;

use fleet::{FleetFile, Members};
use importer::EnvironmentNamespace;

use super::super::apply::{
    DeployableSource, DeploymentPlace, FoundDeparture, FoundDeployable, Removing,
};
use super::super::standing::{StandingVersion, entries, standing};
use crate::failure::Failure;

/// Everything that a fleet brought to clusters.
pub(super) struct Departures<'a> {
    pub(super) file: &'a FleetFile,
    pub(super) members: &'a Members<'a>,
    pub(super) removing: Arc<Removing>,
}

impl DeployableSource for Departures<'_> {
    async fn deployables(&self, _: &DeploymentPlace<'_>) -> Result<Vec<FoundDeployable>, Failure> {
        Ok(Vec::new())
    }

    async fn departures(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeparture>, Failure> {
        let spaces = importer::environments(&place.reached.cluster).await?;
        Ok(self.of(place.at, &spaces))
    }
}

impl Departures<'_> {
    /// What leaves these namespaces of a cluster, and what stays there though the file has it.
    fn of(&self, cluster: usize, spaces: &[EnvironmentNamespace]) -> Vec<FoundDeparture> {
        let entries = entries(self.file, self.members, cluster);
        let departure = |standing: StandingVersion| {
            let is_listed = standing.is_listed(&entries);
            let (note, removing) = match (standing.is_of(self.file), is_listed) {
                (true, true) => (None, Some(&self.removing)),
                (true, false) => (Some("no longer in the file"), Some(&self.removing)),
                (false, true) => (Some("kept: it was not deployed by this fleet"), None),
                (false, false) => return None,
            };
            Some(FoundDeparture {
                standing,
                note: note.map(str::to_owned),
                removing: removing.map(Arc::clone),
            })
        };
        standing(spaces).into_iter().filter_map(departure).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::apply::tests::removing;
    use super::super::super::standing::tests::{file, space};
    use super::*;

    #[test]
    fn all_that_the_fleet_brought_goes_and_nothing_else() {
        let file = file(
            "{clusters: [{name: paris}],
              solutions: [{name: shop, version: 1.1.0, environment: prod},
                          {name: db, version: 1.0.0, environment: prod}],
              waves: [{name: all, clusters: [paris]}]}",
        );
        let departures = Departures {
            file: &file,
            members: &Members::of(file.spec()),
            removing: removing(),
        };
        let spaces = [
            space(
                "prod",
                &[
                    "shop-1.0.0 shops",
                    "db-1.0.0",
                    "web-1.0.0",
                    "log-1.0.0 others",
                ],
            ),
            space("test", &["shop-1.1.0 shops"]),
        ];
        let found = departures.of(0, &spaces).into_iter().map(|it| {
            let goes = if it.removing.is_some() {
                "goes"
            } else {
                "stays"
            };
            format!(
                "{} {goes}: {}",
                it.standing.placed,
                it.note.unwrap_or_default()
            )
        });
        let expected = [
            "db 1.0.0 in prod stays: kept: it was not deployed by this fleet",
            // In whatever version it runs.
            "shop 1.0.0 in prod goes: ",
            "shop 1.1.0 in test goes: no longer in the file",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
