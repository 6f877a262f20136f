//! The rules for namespaces of environments: which ones are permitted, and the origin of the namespace in its record.
//! The entry points are [`record`] and [`default_namespace`].

use std::collections::BTreeSet;

use change::{Adopt, vocabulary as v};
use deployer::Object;
use schemas::{EnvironmentName, Namespace};

use crate::model::namespace_record::{NamespaceRecord, Origin};
use crate::model::obstacle::Obstacle;
use crate::model::state::ClusterState;

/// Refuses the namespaces of Kubernetes, and the namespace of our records. ConfigMaps there have the labels that select
/// an operator's objects for removal.
pub(crate) fn check_reserved(namespace: &Namespace) -> Result<(), Obstacle> {
    let name = namespace.as_str();
    if name == v::RECORDS_NAMESPACE || name == "default" || name.starts_with("kube-") {
        return Err(Obstacle::NamespaceReserved {
            namespace: namespace.clone(),
        });
    }
    Ok(())
}

/// Returns a blocker for each namespace of another environment that contains one of these objects or is one of them.
/// Consent can allow objects in other namespaces, but not in these.
pub(crate) fn check_neighbours<'o>(
    state: &ClusterState,
    environment: &EnvironmentName,
    objects: impl IntoIterator<Item = &'o Object>,
) -> Vec<Obstacle> {
    let place = |object: &'o Object| match (object.gvk().group.as_str(), object.gvk().kind.as_str())
    {
        ("", "Namespace") => Some(object.name()),
        _ => object.namespace(),
    };
    let places: BTreeSet<&str> = objects.into_iter().filter_map(place).collect();
    let others = state.namespaces.iter().filter(|space| {
        space.environment != *environment && places.contains(space.namespace.as_str())
    });
    others
        .map(|space| Obstacle::NamespaceTaken {
            namespace: space.namespace.clone(),
            environment: space.environment.clone(),
        })
        .collect()
}

/// Returns the future record of a namespace, or the reason why it cannot belong to the environment.
pub(crate) fn record(
    known: Option<&NamespaceRecord>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: Adopt,
) -> Result<NamespaceRecord, Obstacle> {
    let origin = origin(known, live, environment, namespace, adopt)?;
    let new = || NamespaceRecord::new(environment.clone(), namespace.clone());
    Ok(NamespaceRecord {
        uid: live.and_then(Object::uid).map(str::to_owned),
        origin,
        ..known.cloned().unwrap_or_else(new)
    })
}

/// Returns the origin of the namespace, or the reason why it cannot belong to the environment.
fn origin(
    known: Option<&NamespaceRecord>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: Adopt,
) -> Result<Origin, Obstacle> {
    let namespace = namespace.clone();
    if live.is_some_and(Object::is_being_deleted) {
        return Err(Obstacle::NamespaceGoing { namespace });
    }
    if let Some(space) = known
        && space.environment != *environment
    {
        return Err(Obstacle::NamespaceTaken {
            namespace,
            environment: space.environment.clone(),
        });
    }
    match (known, live) {
        (_, None) => Ok(Origin::Created),
        (Some(space), Some(live)) if space.is_of(live) => Ok(space.origin),
        (Some(space), Some(live)) if space.made(live) => Ok(Origin::Created),
        // Another user created the namespace after the record was written. It is used, but never deleted with the
        // environment.
        (Some(space), Some(_)) if space.uid.is_none() => Ok(Origin::Adopted),
        (_, Some(_)) if adopt == Adopt::Allow => Ok(Origin::Adopted),
        (Some(_), Some(_)) => Err(Obstacle::NamespaceReplaced { namespace }),
        (None, Some(live)) => {
            let label = live.labels().get(v::ENVIRONMENT).map(ToString::to_string);
            Err(Obstacle::NamespaceUnowned { namespace, label })
        }
    }
}

/// Returns the default namespace of an environment, which has its name.
///
/// # Panics
///
/// Never: both names are DNS labels.
#[must_use]
pub fn default_namespace(environment: &schemas::EnvironmentName) -> Namespace {
    environment
        .as_str()
        .parse()
        .expect("an environment's name is a DNS label, as a namespace's is")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::namespace_record::tests::namespace_record;

    #[test]
    fn nothing_lies_in_a_namespace_of_another_environment_or_is_one() {
        let state = ClusterState {
            namespaces: vec![
                namespace_record("prod", "shop"),
                namespace_record("test", "shop-test"),
            ],
            ..ClusterState::default()
        };
        let found = |api_version: &str, kind: &str, namespace: Option<&str>, name: &str| {
            let metadata = json!({ "name": name, "namespace": namespace });
            let object = json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata });
            let object = Object::new(object).unwrap();
            check_neighbours(&state, &"prod".parse().unwrap(), [&object])
        };
        let taken = || {
            vec![Obstacle::NamespaceTaken {
                namespace: "shop-test".parse().unwrap(),
                environment: "test".parse().unwrap(),
            }]
        };
        assert_eq!(found("v1", "Secret", Some("shop-test"), "a"), taken());
        assert_eq!(found("v1", "Namespace", None, "shop-test"), taken());
        assert_eq!(found("v1", "Secret", Some("shop"), "shop-test"), []);
        assert_eq!(found("v1", "Namespace", None, "shop"), []);
        assert_eq!(found("a.test/v1", "Namespace", None, "shop-test"), []);
    }

    #[test]
    fn a_namespace_that_an_interrupted_change_made_is_still_the_environments_own() {
        let origin_of = |annotations: serde_json::Value| {
            let live = Object::new(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                    "name": "prod", "uid": "a", "annotations": annotations,
                    "labels": {v::ENVIRONMENT: "prod"},
                }}),
            )
            .unwrap();
            let known = NamespaceRecord {
                origin: Origin::Created,
                ..namespace_record("prod", "prod")
            };
            let (environment, namespace) = (&known.environment, &known.namespace);
            let record = record(
                Some(&known),
                Some(&live),
                environment,
                namespace,
                Adopt::Refuse,
            );
            record.map(|record| (record.origin, record.uid)).unwrap()
        };
        let uid = Some("a".to_owned());
        let ours = origin_of(json!({v::CREATED: "true"}));
        assert_eq!(ours, (Origin::Created, uid.clone()));
        assert_eq!(
            origin_of(json!({})),
            (Origin::Adopted, uid),
            "others were quicker"
        );
    }
}
