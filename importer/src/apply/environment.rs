//! The creation of environments ([`create`]), and the ConfigMaps in their namespaces that upstream's controllers read.

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

/// Returns the ConfigMap that names the Solutions and versions of a namespace, in upstream's format.
pub(crate) fn config(namespace: &Namespace, solutions: &BTreeMap<SolutionName, Version>) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": v::ENVIRONMENT_CONFIG, "namespace": namespace },
        "data": solutions,
    })
}

impl NamespaceRecord {
    /// Creates or labels the namespace if it still is as the record says. A namespace that is created is recorded
    /// first, so that it can be removed after an interruption.
    pub(crate) async fn write_space(&mut self, leased: &mut Leased<'_>) -> Result<(), Error> {
        self.write_space_as(self.space(), leased).await
    }

    /// Writes the namespace with further labels or annotations.
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
            // The UID ensures that a namespace that was recreated by another user is not labelled.
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
            // Kubernetes creates the default service account.
            leased.look_again(&DefaultAccount::reference(&self.namespace));
        }
        self.uid = live.as_ref().and_then(Object::uid).map(str::to_owned);
        Ok(())
    }

    /// Writes the record and the ConfigMap for upstream's controllers.
    pub(crate) async fn write(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        leased.keep(self.to_object()).await?;
        self.note(leased).await
    }

    /// Writes the ConfigMap for upstream's controllers.
    pub(crate) async fn note(&self, leased: &mut Leased<'_>) -> Result<(), Error> {
        let config = config(&self.namespace, &self.versions());
        leased.keep(config).await
    }
}

/// Creates an environment or another namespace of one. Repeating it changes nothing.
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
