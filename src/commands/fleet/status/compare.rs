//! The values and objects of a deployment, compared with the fleet's file and with the deployed version. They are
//! compared only if the version is right and ready, because other differences would follow from that.

use std::collections::BTreeMap;

use fleet::{FleetFile, Members};
use importer::{
    Comparison, ComparisonBase, EnvironmentNamespace, Exceptions, FleetChoices, HeldSite,
    ImportedVersion, PlannedObject, PullLogin, Target,
};
use kubernetes::Cluster;
use registry::{Client, RegistryAddress};
use schemas::{Digest, Namespace, PlacedVersion, SiteSpec};

use super::super::connection::Member;
use super::super::file_source::compute;
use super::deployment::{DeploymentState, DeploymentStatus};
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{self, ResolvedRegistry};
use crate::commands::imported_version::{self};
use crate::failure::Failure;
use crate::render;

/// The values of the file for a cluster.
pub(super) struct FileValues {
    /// The digest of empty values, which is compared if no fleet made a deployment.
    none: Digest,
    /// The digests of the values, or the reason why they cannot be computed.
    deployments: BTreeMap<PlacedVersion, Result<Digest, String>>,
}

impl FileValues {
    /// Queries the facts of a cluster, and computes the values.
    pub(super) async fn compute(
        file: &FleetFile,
        members: &Members<'_>,
        at: usize,
        member: &Member,
    ) -> Result<Self, Failure> {
        let fleet = &file.document().metadata.name;
        let digest =
            |site: SiteSpec| FleetChoices::new(fleet.clone(), site).map(|choices| choices.digest());
        let computed = compute(file, members, at, member).await?;
        let deployments = computed.deployments.into_iter().map(|deployment| {
            let placed = PlacedVersion::from(&file.spec().solutions[deployment.solution]);
            let values = deployment.values.map_err(render::list);
            let values = values
                .and_then(|computed| digest(computed.site).map_err(|error| error.to_string()));
            (placed, values)
        });
        Ok(Self {
            none: digest(SiteSpec::default()).map_err(Failure::no)?,
            deployments: deployments.collect(),
        })
    }

    /// Adds the comparison of the values to the status of a deployment that is ready otherwise.
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

    /// Returns the reason why a deployment has other values than these, if it has.
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

/// The number of objects that a line names.
const NAMED: usize = 3;

/// The objects that differ, or the reason why they cannot be compared.
type Found = Result<Vec<PlannedObject>, String>;

/// Adds the comparison of the objects to the status of a deployment that is ready otherwise.
pub(super) async fn compare_objects(
    found: DeploymentStatus,
    spaces: &[EnvironmentNamespace],
    cluster: &Cluster,
    client: &impl Fn(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> DeploymentStatus {
    if !found.is_ready() {
        return found;
    }
    let mut drift = Vec::new();
    for space in spaces.iter().filter(|space| is_of(space, &found)) {
        let compared = Box::pin(compare(&found, &space.namespace, cluster, client)).await;
        match compared.unwrap_or_else(|failure| Err(failure.in_one_line())) {
            Ok(objects) => drift.extend(objects),
            Err(why) => return of(found, Err(why)),
        }
    }
    of(found, Ok(drift))
}

/// Returns whether a deployment is in a namespace.
fn is_of(space: &EnvironmentNamespace, deployment: &DeploymentStatus) -> bool {
    let wanted = &deployment.wanted;
    space.environment == wanted.environment && space.solutions.contains_key(&wanted.solution)
}

/// Compares the objects in a namespace with the deployed version, as `solution diff` does.
async fn compare(
    deployment: &DeploymentStatus,
    namespace: &Namespace,
    cluster: &Cluster,
    client: impl Fn(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Found, Failure> {
    let wanted = &deployment.wanted;
    let judged = imported_version::check_imported_version(
        cluster,
        &wanted.solution,
        Some(&wanted.version),
        client,
    )
    .await?;
    let ImportedVersion {
        archive,
        registry,
        pull_registry,
        ..
    } = match judged {
        Ok(imported_version) => imported_version,
        Err(report) => {
            let why = ShownBlocker::of_report(&report).into_iter();
            let why = render::list(why.map(|blocker| blocker.message));
            return Ok(Err(format!("its archive is not accepted: {why}")));
        }
    };
    let target = Target {
        environment: wanted.environment.clone(),
        namespace: Some(namespace.clone()),
        pull_login: PullLogin::Keep,
        parameters: Box::default(),
        fleet: None,
    };
    let images = ResolvedRegistry {
        registry,
        pull_registry: Some(pull_registry),
    };
    let request = import::reader_request(target, images, Exceptions::default())?;
    let since = ComparisonBase::Deployed(namespace.clone());
    let compared = Comparison::make(&archive.accepted, cluster, request, &since).await?;
    Ok(match compared.blockers.first() {
        Some(blocker) => Err(blocker.to_string()),
        None => Ok(compared.objects),
    })
}

/// Returns the status of a ready deployment, with the result of comparing its objects.
fn of(deployment: DeploymentStatus, found: Found) -> DeploymentStatus {
    match found {
        Err(why) => DeploymentStatus {
            state: DeploymentState::Unseen,
            why: Some(format!("cannot compare its objects: {why}")),
            hint: Some("skip the comparison of objects with `--live=false`"),
            ..deployment
        },
        Ok(drift) if drift.is_empty() => DeploymentStatus {
            drift: Some(drift),
            ..deployment
        },
        Ok(drift) => DeploymentStatus {
            state: DeploymentState::Drifted,
            why: Some(in_words(&drift)),
            hint: Some(
                "see the differences with `solution diff`, then restore the deployed objects with `solution fleet apply`",
            ),
            drift: Some(drift),
            ..deployment
        },
    }
}

/// Returns the names of the first objects that differ, and the number of further ones.
fn in_words(drift: &[PlannedObject]) -> String {
    let named = drift.iter().take(NAMED).map(|object| &object.object);
    let named = render::list(named);
    match (drift.len(), drift.len().saturating_sub(NAMED)) {
        (1, _) => format!("{named} differs from the deployed version"),
        (_, 0) => format!("{named} differ from the deployed version"),
        (_, more) => format!("{named} and {more} more differ from the deployed version"),
    }
}

#[cfg(test)]
mod tests {
    use importer::Origin;

    use super::DeploymentState::{Drifted, NotReady, OtherValues, Ready, Unseen};
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
                .map(|digest| (wanted.solution.clone(), digest))
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
            // No fleet has deployed it, and the file sets no values.
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

    #[test]
    fn a_deployment_is_as_the_file_says_only_if_no_object_differs_and_all_could_be_compared() {
        let ready = || DeploymentStatus {
            wanted: schemas::PlacedVersion {
                solution: "shop".parse().unwrap(),
                version: "1.1.0".parse().unwrap(),
                environment: "prod".parse().unwrap(),
            },
            state: Ready,
            runs: Some("1.1.0".parse().unwrap()),
            why: None,
            hint: None,
            drift: None,
        };
        let objects = |count: usize| {
            let object = |at: usize| {
                let mut object = PlannedObject::default();
                object.object = format!("ConfigMap prod/c{at}");
                object
            };
            Ok((0..count).map(object).collect())
        };
        let denied = Err("no right".to_owned());
        for (found, state, shown) in [
            (objects(0), Ready, "shop 1.1.0 in prod: ready"),
            (
                objects(1),
                Drifted,
                "shop 1.1.0 in prod: drifted: ConfigMap prod/c0 differs from the deployed version",
            ),
            (
                objects(5),
                Drifted,
                "shop 1.1.0 in prod: drifted: ConfigMap prod/c0, ConfigMap prod/c1, ConfigMap prod/c2 and 2 more differ from the deployed version",
            ),
            (
                denied,
                Unseen,
                "shop 1.1.0 in prod: unknown: cannot compare its objects: no right",
            ),
        ] {
            let judged = of(ready(), found);
            assert_eq!(judged.state, state);
            assert_eq!(judged.to_string(), shown);
        }
    }
}
