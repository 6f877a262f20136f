//! The objects of a deployment in a cluster, compared with what was deployed: what differs was changed by others since.

use deployer::Cluster;
use importer::{
    Allowed, Comparison, EnvironmentNamespace, HeldSite, PlannedObject, PullLogin, Since, Target,
};
use registry::{Client, RegistryAddress};
use schemas::Namespace;

use super::deployment::{DeploymentState, DeploymentStatus};
use crate::commands::import;
use crate::commands::kept::{self, Kept};
use crate::commands::meant::ImagesAt;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;
use crate::render;

/// Objects that a line names.
const NAMED: usize = 3;

/// The objects that differ, or why that cannot be told.
type Found = Result<Vec<PlannedObject>, String>;

/// Judges a deployment by its objects as well, if it is as the file says without them.
pub(super) async fn judge(
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

/// Whether a deployment is in a namespace.
fn is_of(space: &EnvironmentNamespace, deployment: &DeploymentStatus) -> bool {
    let wanted = &deployment.wanted;
    space.environment == wanted.environment && space.solutions.contains_key(&wanted.solution)
}

/// Compares a namespace with the deployment that was made in it, as `solution diff` does.
async fn compare(
    deployment: &DeploymentStatus,
    namespace: &Namespace,
    cluster: &Cluster,
    client: impl Fn(&RegistryAddress, &HeldSite) -> Result<Client, Failure>,
) -> Result<Found, Failure> {
    let wanted = &deployment.wanted;
    let judged = kept::judge(cluster, &wanted.solution, Some(&wanted.version), client).await?;
    let Kept {
        archive,
        registry,
        pull_registry,
        ..
    } = match judged {
        Ok(kept) => kept,
        Err(report) => {
            let why = InTheWay::of_report(&report).into_iter();
            let why = render::list(why.map(|it| it.message));
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
    let images = ImagesAt {
        registry,
        pull_registry: Some(pull_registry),
    };
    let request = import::of_reader(target, images, Allowed::NOTHING)?;
    let since = Since::Deployed(namespace.clone());
    let compared = Comparison::make(&archive.accepted, cluster, request, &since).await?;
    Ok(match compared.obstacles.first() {
        Some(obstacle) => Err(obstacle.to_string()),
        None => Ok(compared.objects),
    })
}

/// A deployment that is ready, with what its objects say.
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

/// Says which objects differ: the first of them, and how many more there are.
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
    use super::DeploymentState::{Drifted, Ready, Unseen};
    use super::*;

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
