//! The values that a fleet's file has for its deployments in a cluster, compared with those that the cluster has recorded.

use std::collections::BTreeMap;

use fleet::{FleetFile, Members};
use importer::{EnvironmentNamespace, FleetChoices};
use schemas::{Digest, PlacedVersion, SiteSpec};

use super::super::compute::compute;
use super::super::member::Member;
use super::deployment::{DeploymentState, DeploymentStatus};
use crate::failure::Failure;
use crate::render;

/// The values of the file for a cluster.
pub(super) struct FileValues {
    /// The digest of no values: a deployment that no fleet made has them.
    none: Digest,
    /// The digests of the values, or why they cannot be computed.
    deployments: BTreeMap<PlacedVersion, Result<Digest, String>>,
}

impl FileValues {
    /// Asks a cluster for all that the values depend on, and computes them.
    pub(super) async fn compute(
        file: &FleetFile,
        members: &Members<'_>,
        at: usize,
        member: &Member,
    ) -> Result<Self, Failure> {
        let fleet = &file.document().metadata.name;
        let digest = |site: SiteSpec| FleetChoices::new(fleet.clone(), site).map(|it| it.digest());
        let computed = compute(file, members, at, member).await?;
        let deployments = computed.deployments.into_iter().map(|deployment| {
            let placed = PlacedVersion::from(&file.spec().solutions[deployment.solution]);
            let values = deployment.values.map_err(render::list);
            let values = values.and_then(|it| digest(it.site).map_err(|error| error.to_string()));
            (placed, values)
        });
        Ok(Self {
            none: digest(SiteSpec::default()).map_err(Failure::no)?,
            deployments: deployments.collect(),
        })
    }

    /// Judges a deployment by its values as well, if it is as the file says without them.
    pub(super) fn judge(
        &self,
        found: DeploymentStatus,
        spaces: &[EnvironmentNamespace],
    ) -> DeploymentStatus {
        let wanted = self.deployments.get(&found.wanted);
        let Some(wanted) = wanted.filter(|_| found.is_ready()) else {
            return found;
        };
        let (state, why, hint) = match wanted {
            Err(why) => (
                DeploymentState::Unseen,
                format!("cannot compute its values: {why}"),
                "see each value with `solution fleet values`, or compare only versions with `--quick`",
            ),
            Ok(wanted) => match self.difference(&found.wanted, wanted, spaces) {
                None => return found,
                Some(why) => (
                    DeploymentState::OtherValues,
                    why.to_owned(),
                    "see the differences with `solution fleet apply --dry-run --diff`",
                ),
            },
        };
        DeploymentStatus {
            state,
            why: Some(why),
            hint: Some(hint),
            ..found
        }
    }

    /// Why a deployment has other values than these, if it has.
    fn difference(
        &self,
        placed: &PlacedVersion,
        wanted: &Digest,
        spaces: &[EnvironmentNamespace],
    ) -> Option<&'static str> {
        let name = &placed.solution;
        let here = spaces.iter();
        let here = here.filter(|space| space.environment == placed.environment);
        let mut here = here.filter(|space| space.solutions.contains_key(name));
        here.find_map(|space| {
            let recorded = space.fleet_values.get(name);
            if recorded.unwrap_or(&self.none) != wanted {
                return Some("its deployed values differ from the file");
            }
            let is_chosen = recorded.is_some() && space.chosen_by_flags.contains(name);
            is_chosen.then_some("a later deployment set values with flags")
        })
    }
}

#[cfg(test)]
mod tests {
    use importer::Origin;

    use super::DeploymentState::{NotReady, OtherValues, Ready, Unseen};
    use super::*;

    #[test]
    fn a_deployment_with_other_values_than_the_file_is_not_as_the_file_says() {
        let wanted = PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: "1.1.0".parse().unwrap(),
            environment: "prod".parse().unwrap(),
        };
        let [none, one, other] = [0, 1, 2].map(|byte| Digest::new([byte; 32]));
        let space = |values: Option<Digest>, is_chosen: bool| EnvironmentNamespace {
            environment: wanted.environment.clone(),
            namespace: "prod".parse().unwrap(),
            description: String::new(),
            origin: Origin::Created,
            solutions: [(wanted.solution.clone(), wanted.version.clone())].into(),
            fleets: [].into(),
            fleet_clusters: [].into(),
            fleet_values: values
                .map(|it| (wanted.solution.clone(), it))
                .into_iter()
                .collect(),
            chosen_by_flags: is_chosen
                .then(|| wanted.solution.clone())
                .into_iter()
                .collect(),
            going: false,
        };
        let judged = |state, values: Result<Digest, String>, spaces: &[EnvironmentNamespace]| {
            let found = DeploymentStatus {
                wanted: wanted.clone(),
                state,
                runs: Some(wanted.version.clone()),
                why: None,
                hint: None,
                drift: None,
            };
            let deployments = [(wanted.clone(), values)].into();
            FileValues { none, deployments }.judge(found, spaces).state
        };
        for (values, recorded, is_chosen, expected) in [
            (one, Some(one), false, Ready),
            (one, Some(other), false, OtherValues),
            (one, Some(one), true, OtherValues),
            // No fleet has deployed it, and the file chooses nothing.
            (none, None, true, Ready),
            (one, None, false, OtherValues),
        ] {
            let space = [space(recorded, is_chosen)];
            assert_eq!(judged(Ready, Ok(values), &space), expected, "{recorded:?}");
            assert_eq!(judged(NotReady, Ok(values), &space), NotReady);
        }
        let unknown = Err("a fact is not known".to_owned());
        assert_eq!(judged(Ready, unknown, &[space(Some(one), false)]), Unseen);
    }
}
