//! The making of environments, and the notes in their namespaces.

use std::collections::BTreeMap;

use change::{Adopt, vocabulary as v};
use deployer::Object;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use crate::apply::change::Change;
use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::namespace_record::{NamespaceRecord, namespace_reference};
use crate::model::obstacle::Obstacle;
use crate::model::receipt::ChangeSubject;
use crate::model::state::ClusterState;
use crate::model::verb::Verb;
use crate::plan::default_account::DefaultAccount;
use crate::plan::place;
use crate::plan::rights::of_change;

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
    pub(crate) async fn write_space(&mut self, leased: &mut Leased<'_>) -> Result<(), Error> {
        self.write_space_as(self.space(), leased).await
    }

    /// Writes the same namespace, with further labels or annotations that it is to have.
    pub(crate) async fn write_space_as(
        &mut self,
        space: Value,
        leased: &mut Leased<'_>,
    ) -> Result<(), Error> {
        if self.uid.is_none() {
            leased.suppose_absent(Self::reference(&self.namespace));
            leased.keep(self.to_object()).await?;
        }
        let wanted = Object::new(space)?;
        let seen = self.uid.as_deref();
        let decide = |live: Option<&Object>| {
            if live.and_then(Object::uid) == seen {
                Ok(Some(wanted.clone()))
            } else {
                Err(Obstacle::changed([wanted.reference()]).into())
            }
        };
        let live = leased.put(wanted.reference(), decide).await?;
        if seen.is_none() {
            let config = Object::new(config(&self.namespace, &self.versions()))?;
            leased.suppose_absent(config.reference().clone());
            // Kubernetes makes it.
            leased.look_again(&DefaultAccount::reference(&self.namespace));
        }
        self.uid = live.as_ref().and_then(Object::uid).map(str::to_owned);
        Ok(())
    }

    /// Keeps the record, and says what it says as upstream does.
    pub(crate) async fn write(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        leased.keep(self.to_object()).await?;
        self.note(leased).await
    }

    /// Says what the record says as upstream does.
    pub(crate) async fn note(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        let config = config(&self.namespace, &self.versions());
        leased.keep(config).await
    }
}

/// Makes an environment, or another namespace of one. Doing it again changes nothing.
pub async fn create(
    change: &Change<'_>,
    environment: &EnvironmentName,
    namespace: &Namespace,
    description: Option<&str>,
    adopt: Adopt,
) -> Result<(), Error> {
    place::check_reserved(namespace)?;
    let decide = async |state: &ClusterState| {
        let live = change.cluster.get(&namespace_reference(namespace)).await?;
        let known = state.namespace(namespace);
        let mut place = place::record(known, live.as_ref(), environment, namespace, adopt)?;
        if let Some(description) = description {
            description.clone_into(&mut place.description);
        }
        Ok(place)
    };
    let act = async |leased: &mut Leased<'_>, place: &mut NamespaceRecord| {
        place.write_space(leased).await?;
        place.write(leased).await
    };
    let about = |_: &ClusterState| {
        let made = NamespaceRecord::new(environment.clone(), namespace.clone());
        ChangeSubject::of_spaces(Verb::CreateEnvironment, [&made])
    };
    change
        .make(&of_change(), about, decide, act)
        .await
        .map(drop)
}
