//! Environments: labelled namespaces, made and removed, and what is noted in them.

use std::collections::BTreeMap;
use std::time::Duration;

use deployer::{Gvk, Object, ObjectRef, Scope, Selector};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use crate::apply::Session;
use crate::crd::Adopt;
use crate::error::Error;
use crate::lock::Change;
use crate::obstacle::Obstacle;
use crate::request::Target;
use crate::state::{EnvironmentNamespace, Origin, State};
use crate::vocabulary as v;

pub(crate) fn namespace_reference(namespace: &Namespace) -> ObjectRef {
    ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str())
}

/// The namespace of a target as it is applied. One that was there before is adopted: it stays when the environment goes.
pub(crate) fn namespace(target: &Target, live: Option<&Object>, state: &State) -> Value {
    let known = state
        .namespaces
        .iter()
        .find(|space| space.namespace == target.namespace);
    let origin = match known {
        Some(space) => space.origin,
        None if live.is_some() => Origin::Adopted,
        None => Origin::Created,
    };
    let description = known.map_or("", |space| &space.description);
    namespace_object(&target.environment, &target.namespace, description, origin)
}

fn namespace_object(
    environment: &EnvironmentName,
    namespace: &Namespace,
    description: &str,
    origin: Origin,
) -> Value {
    let mut annotations = BTreeMap::from([(v::ENVIRONMENT_DESCRIPTION, description)]);
    if origin == Origin::Created {
        annotations.insert(v::CREATED, "true");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace,
            "labels": { v::ENVIRONMENT: environment },
            "annotations": annotations,
        },
    })
}

/// Upstream's note of what a namespace runs.
pub(crate) fn config(namespace: &Namespace, solutions: &BTreeMap<SolutionName, Version>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": v::ENVIRONMENT_CONFIG, "namespace": namespace },
        "data": solutions,
    })
}

/// The namespaced kinds of an operator's objects.
pub(crate) fn namespaced_kinds() -> Vec<Gvk> {
    vec![
        Gvk::new("apps/v1", "Deployment"),
        Gvk::new("v1", "ConfigMap"),
        Gvk::new("rbac.authorization.k8s.io/v1", "RoleBinding"),
        Gvk::new("rbac.authorization.k8s.io/v1", "Role"),
        Gvk::new("v1", "ServiceAccount"),
    ]
}

/// The cluster-scoped kinds of an operator's objects.
pub(crate) fn cluster_kinds() -> Vec<Gvk> {
    vec![
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        Gvk::new("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ]
}

/// Everything of a Solution's operator in a namespace, and for it.
pub(crate) fn inventory(solution: &SolutionName, namespace: &Namespace) -> [Scope; 2] {
    let ours = || Selector::label(v::SOLUTION, solution.as_str());
    [
        Scope {
            kinds: namespaced_kinds(),
            namespace: Some(namespace.to_string()),
            selector: ours(),
        },
        Scope {
            kinds: cluster_kinds(),
            namespace: None,
            selector: ours().and(v::NAMESPACE, namespace.as_str()),
        },
    ]
}

/// Namespaces that can be no environment's: those of Kubernetes, and that of the records, whose ConfigMaps carry the
/// labels by which an operator's objects are removed.
pub(crate) fn check_reserved(namespace: &Namespace) -> Result<(), Obstacle> {
    let name = namespace.as_str();
    if name == v::RECORDS_NAMESPACE || name == "default" || name.starts_with("kube-") {
        return Err(Obstacle::no(
            format!("namespace `{name}` is not for environments"),
            "choose another namespace with `--namespace`",
        ));
    }
    Ok(())
}

/// Makes an environment, or another namespace of one. Doing it again changes nothing.
pub async fn create(
    change: &Change<'_>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    description: Option<&str>,
    adopt: Adopt,
) -> Result<(), Error> {
    check_reserved(namespace).map_err(Error::Refused)?;
    let decide = async |state: &State| {
        let live = change.cluster.get(&namespace_reference(namespace)).await?;
        let known = state
            .namespaces
            .iter()
            .find(|space| space.namespace == *namespace);
        let origin = origin(known, live.as_ref(), environment, namespace, adopt)?;
        let before = known.map(|space| space.description.as_str());
        let description = description.or(before).unwrap_or_default();
        let space = namespace_object(environment, namespace, description, origin);
        Ok((
            space,
            known
                .map(|space| space.solutions.clone())
                .unwrap_or_default(),
        ))
    };
    let act = async |session: &mut Session<'_>, (space, solutions)| {
        session.apply(Object::new(space)?).await?;
        session
            .apply(Object::new(config(namespace, &solutions))?)
            .await
    };
    change.locked(decide, act).await.map(drop)
}

/// Where the namespace comes from, or why it cannot be the environment's.
fn origin(
    known: Option<&EnvironmentNamespace>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: Adopt,
) -> Result<Origin, Error> {
    match (known, live) {
        (Some(space), _) if space.environment == *environment => Ok(space.origin),
        (Some(space), _) => Err(Error::Refused(Obstacle::no(
            format!(
                "namespace `{namespace}` belongs to the environment `{}`",
                space.environment
            ),
            "choose another namespace with `--namespace`",
        ))),
        (None, None) => Ok(Origin::Created),
        (None, Some(_)) if adopt == Adopt::Allow => Ok(Origin::Adopted),
        (None, Some(_)) => Err(Error::Refused(Obstacle::no(
            format!("namespace `{namespace}` exists and belongs to no environment"),
            "choose another with `--namespace`, or take it over with `--adopt`",
        ))),
    }
}

/// What deleting an environment did to a namespace.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Left {
    /// It is gone.
    Deleted(Namespace),
    /// It was there before the environment, and is still there.
    Released(Namespace),
}

/// Removes an environment: namespaces that were made for it, and the marks on those that were not. Refused while a
/// Solution is deployed in it.
pub async fn delete(
    change: &Change<'_>,
    environment: &EnvironmentName,
) -> Result<Vec<Left>, Error> {
    let decide = async |state: &State| {
        let spaces: Vec<EnvironmentNamespace> = state.environment(environment).cloned().collect();
        if spaces.is_empty() {
            return Err(Error::Refused(Obstacle::no(
                format!("there is no environment `{environment}`"),
                "`solution status` lists the environments",
            )));
        }
        match spaces
            .iter()
            .find_map(|space| Some((space, space.solutions.iter().next()?)))
        {
            None => Ok(spaces),
            Some((space, (solution, version))) => Err(Error::Refused(Obstacle::no(
                format!("{solution} {version} is deployed in `{}`", space.namespace),
                format!("`solution undeploy {solution} --environment {environment}` first"),
            ))),
        }
    };
    let act = async |session: &mut Session<'_>, spaces: Vec<EnvironmentNamespace>| {
        let mut left = Vec::new();
        for space in &spaces {
            left.push(remove(session, space, change.deadline).await?);
        }
        Ok(left)
    };
    Ok(change.locked(decide, act).await?.0)
}

async fn remove(
    session: &mut Session<'_>,
    space: &EnvironmentNamespace,
    deadline: Duration,
) -> Result<Left, Error> {
    // An interrupted undeploy may have left some; whoever gets the namespace's name next must not inherit them.
    let selector = Selector::label(v::NAMESPACE, space.namespace.as_str());
    let scope = Scope {
        kinds: cluster_kinds(),
        namespace: None,
        selector,
    };
    for object in session.cluster.stale(&scope, &[]).await? {
        session.remove(object.reference()).await?;
    }
    let reference = namespace_reference(&space.namespace);
    match space.origin {
        Origin::Created => {
            session.remove(&reference).await?;
            session.cluster.wait_gone(&[reference], deadline).await?;
            Ok(Left::Deleted(space.namespace.clone()))
        }
        Origin::Adopted => {
            let config = ObjectRef::namespaced(
                "v1",
                "ConfigMap",
                space.namespace.as_str(),
                v::ENVIRONMENT_CONFIG,
            );
            session.remove(&config).await?;
            // Applying a namespace without our label and annotations takes them away.
            let bare = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": space.namespace } });
            session.apply(Object::new(bare)?).await?;
            Ok(Left::Released(space.namespace.clone()))
        }
    }
}
