//! Environments: labelled namespaces, how they are made, and what is noted in them.

use std::collections::BTreeMap;

use deployer::{Object, ObjectRef};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use crate::change::Change;
use crate::crd::Adopt;
use crate::error::Error;
use crate::namespace_record::{NamespaceRecord, Origin};
use crate::obstacle::Obstacle;
use crate::session::Session;
use crate::state::State;
use crate::vocabulary as v;

pub(crate) fn namespace_reference(namespace: &Namespace) -> ObjectRef {
    ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str())
}

/// The namespace of a record as it is applied.
pub(crate) fn namespace_object(place: &NamespaceRecord) -> Value {
    let description = place.description.as_str();
    let mut annotations = BTreeMap::from([(v::ENVIRONMENT_DESCRIPTION, description)]);
    if place.origin == Origin::Created {
        annotations.insert(v::CREATED, "true");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": place.namespace,
            "labels": { v::ENVIRONMENT: place.environment },
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

impl NamespaceRecord {
    /// Makes or marks the namespace, if it is still there or not as the record says. One that is to be made is recorded
    /// before it is there, so that there is an undo whatever happens.
    pub(crate) async fn write_space(&mut self, session: &mut Session<'_>) -> Result<(), Error> {
        if self.uid.is_none() {
            session.keep(Object::new(self.to_object())?).await?;
        }
        let wanted = Object::new(namespace_object(self))?;
        let seen = self.uid.as_deref();
        let decide = |live: Option<&Object>| {
            if live.and_then(Object::uid) == seen {
                Ok(Some(wanted.clone()))
            } else {
                Err(Obstacle::Changed.into())
            }
        };
        let live = session.put(wanted.reference(), decide).await?;
        self.uid = live.as_ref().and_then(Object::uid).map(str::to_owned);
        Ok(())
    }

    /// Keeps the record, and says what it says as upstream does.
    pub(crate) async fn write(&self, session: &mut Session<'_>) -> Result<(), Error> {
        session.keep(Object::new(self.to_object())?).await?;
        let config = config(&self.namespace, &self.versions());
        session.keep(Object::new(config)?).await
    }
}

/// Namespaces that can be no environment's: those of Kubernetes, and that of the records, whose ConfigMaps carry the
/// labels by which an operator's objects are removed.
pub(crate) fn check_reserved(namespace: &Namespace) -> Result<(), Obstacle> {
    let name = namespace.as_str();
    if name == v::RECORDS_NAMESPACE || name == "default" || name.starts_with("kube-") {
        return Err(Obstacle::NamespaceReserved(namespace.clone()));
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
    check_reserved(namespace)?;
    let decide = async |state: &State| {
        let live = change.cluster.get(&namespace_reference(namespace)).await?;
        let known = state.namespace(namespace);
        let origin = origin(known, live.as_ref(), environment, namespace, adopt)?;
        let before = known.map(|space| space.description.as_str());
        let description = description.or(before).unwrap_or_default().to_owned();
        let place = match known {
            Some(known) => known.clone(),
            None => NamespaceRecord::new(environment.clone(), namespace.clone(), "", origin),
        };
        Ok(NamespaceRecord {
            description,
            ..place.of_space(live.as_ref(), origin)
        })
    };
    let act = async |session: &mut Session<'_>, mut place: NamespaceRecord| {
        place.write_space(session).await?;
        place.write(session).await
    };
    change.locked(decide, act).await.map(drop)
}

/// Where the namespace comes from, or why it cannot be the environment's.
pub(crate) fn origin(
    known: Option<&NamespaceRecord>,
    live: Option<&Object>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    adopt: Adopt,
) -> Result<Origin, Obstacle> {
    let namespace = namespace.clone();
    if live.is_some_and(Object::is_being_deleted) {
        return Err(Obstacle::NamespaceGoing(namespace));
    }
    if let Some(space) = known
        && space.environment != *environment
    {
        return Err(Obstacle::NamespaceTaken(
            namespace,
            space.environment.clone(),
        ));
    }
    match (known, live) {
        (_, None) => Ok(Origin::Created),
        (Some(space), Some(live)) if space.is_of(live) => Ok(space.origin),
        // Its making was cut off, or somebody else was quicker: it is used, and never deleted.
        (Some(space), Some(_)) if space.uid.is_none() => Ok(Origin::Adopted),
        (_, Some(_)) if adopt == Adopt::Allow => Ok(Origin::Adopted),
        (Some(_), Some(_)) => Err(Obstacle::NamespaceOther(namespace)),
        (None, Some(live)) => {
            let label = live.labels().get(v::ENVIRONMENT).map(ToString::to_string);
            Err(Obstacle::NamespaceUnowned(namespace, label))
        }
    }
}
