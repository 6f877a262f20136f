//! The creation and deletion of environments, and the ConfigMaps in their namespaces that upstream's controllers read.
//! The entry points are [`create`] and [`delete`].
//!
//! A deletion also deletes the namespaces that were created for the environment, with everything in them, and the
//! environment's site configuration. Adopted namespaces are kept without the project's labels. Custom resources and
//! workloads that users may need are listed first, and deleted only with explicit consent.

use std::collections::BTreeMap;
use std::time::Duration;

use kubernetes::{Cluster, Gvk, Object, ObjectRef, Selector};
use planner::{AdoptionPolicy, OwnershipConflict, vocabulary as v};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde_json::{Value, json};

use crate::apply::change::Change;
use crate::apply::leased::Leased;
use crate::choices::destination;
use crate::decide::rights::{check_ending, of_change};
use crate::model::blocker::Blocker;
use crate::model::error::{Error, Use, check_free};
use crate::model::writer::Verb;
use crate::objects::pull_secret::DefaultAccount;
use crate::records::inventory::{self, left_over, served_kind, workloads};
use crate::records::namespace_record::{self, NamespaceRecord, namespace_reference};
use crate::records::receipt::{ChangeSubject, Revision};
use crate::records::state::ClusterState;

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
    /// Creates or labels the namespace if its identity still matches the record. A namespace that is created is
    /// recorded first, so that it can be removed after an interruption.
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
                Err(Blocker::changed([wanted.reference()]).into())
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
    adopt: AdoptionPolicy,
) -> Result<(), Error> {
    destination::check_reserved(namespace)?;
    let decide = async |state: &ClusterState| {
        let live = change.cluster.get(&namespace_reference(namespace)).await?;
        let known = state.namespace(namespace);
        let mut place = destination::record(known, live.as_ref(), environment, namespace, adopt)?;
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

/// The effect of the deletion of an environment on a namespace, done or planned.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Left")]
pub enum NamespaceOutcome {
    /// It was deleted.
    Deleted(Namespace),
    /// It existed before the environment and is kept.
    Released(Namespace),
    /// It was already deleted by another actor.
    Gone(Namespace),
}

/// The outcome of the deletion of an environment, done or planned.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedEnvironment {
    /// Each of its namespaces.
    pub namespaces: Vec<NamespaceOutcome>,
    /// Custom resources and workloads that were deleted, or would be, with them.
    pub resources: Vec<String>,
    /// The same resources as separate values.
    #[serde(skip)]
    pub uses: Vec<Use>,
    /// The site configuration of the environment, which was deleted, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site_file: Option<String>,
    /// The revision of the change in the cluster's history. It is missing if nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub revision: Option<Revision>,
}

/// Returns a blocker for each Solution that is deployed in the namespaces.
fn inhabited(spaces: &[NamespaceRecord]) -> Vec<Blocker> {
    let of = |space: &NamespaceRecord| {
        let (namespace, environment) = (space.namespace.clone(), space.environment.clone());
        let solutions = space.solutions.clone().into_iter();
        solutions.map(move |(solution, deployed)| {
            let (namespace, environment) = (namespace.clone(), environment.clone());
            Blocker::Inhabited {
                solution,
                version: deployed.version,
                namespace,
                environment,
            }
        })
    };
    spaces.iter().flat_map(of).collect()
}

/// Deletes an environment. It is refused while a Solution is deployed in it. It is also refused if its namespaces contain
/// custom resources or workloads, unless `delete_resources` is true.
pub async fn delete(
    change: &Change<'_>,
    environment: &EnvironmentName,
    delete_resources: bool,
) -> Result<DeletedEnvironment, Error> {
    let decide = async |state: &ClusterState| {
        let spaces: Vec<NamespaceRecord> = state.environment(environment).cloned().collect();
        let mut blockers = Vec::new();
        let definitions = inventory::crds(change.cluster, &Selector::has(v::SOLUTION)).await?;
        check_ending(change.cluster, &spaces, &definitions, &mut blockers).await?;
        // Without these rights, the resources that would be deleted cannot be listed.
        let may_look = blockers.is_empty();
        blockers.extend(inhabited(&spaces));
        if !may_look {
            check_free(blockers.clone(), &[])?;
        }
        let file = state.site.own_of(environment);
        let deleted =
            DeletedEnvironment::plan(change.cluster, environment, &spaces, file.as_ref()).await?;
        // A dry run lists the resources in any case.
        if !change.dry_run && !delete_resources {
            blockers.extend(deleted.refusal());
        }
        check_free(blockers, &deleted.uses)?;
        Ok((spaces, file, deleted))
    };
    let act = async |leased: &mut Leased<'_>, decided: &mut (Vec<_>, _, DeletedEnvironment)| {
        let (spaces, file, deleted) = decided;
        // The rest of the change concerns only this environment, so other writers need not wait for it.
        if let Some(space) = spaces.first() {
            leased.leave_cluster(space).await?;
        }
        for (space, left) in spaces.iter().zip(&deleted.namespaces) {
            remove(leased, space, left, change.deadline).await?;
        }
        if let Some(file) = file {
            leased.forget(file).await?;
        }
        for space in spaces.iter() {
            forget_inventories(leased, &space.namespace).await?;
        }
        // The records are deleted last: as long as one exists, running the command again finds the remaining objects.
        for space in spaces {
            let record = namespace_record::reference(&space.namespace);
            leased.forget(&record).await?;
        }
        Ok(())
    };
    let about = |state: &ClusterState| {
        ChangeSubject::of_spaces(Verb::DeleteEnvironment, state.environment(environment))
    };
    let mut needs = of_change();
    needs.forgetting();
    needs.found_everywhere();
    let ((.., deleted), done) = change.make(&needs, about, decide, act).await?;
    let revision = done.and_then(|done| done.revision);
    Ok(DeletedEnvironment {
        revision,
        ..deleted
    })
}

impl DeletedEnvironment {
    /// Predicts the effect of the deletion on each namespace and on the objects in it. Nothing is written.
    async fn plan(
        cluster: &Cluster,
        environment: &EnvironmentName,
        spaces: &[NamespaceRecord],
        file: Option<&ObjectRef>,
    ) -> Result<Self, Error> {
        let (mut namespaces, mut uses) = (Vec::new(), Vec::new());
        for space in spaces {
            let namespace = space.namespace.clone();
            let live = cluster.get(&namespace_reference(&namespace)).await?;
            namespaces.push(match &live {
                None => NamespaceOutcome::Gone(namespace),
                // A namespace of the same name that was created since belongs to another actor and is kept.
                Some(live) if space.made(live) => {
                    uses.extend(used(cluster, space).await?);
                    NamespaceOutcome::Deleted(namespace)
                }
                Some(_) => NamespaceOutcome::Released(namespace),
            });
        }
        if namespaces.is_empty() {
            return Err(Blocker::NoEnvironment {
                environment: environment.clone(),
            }
            .into());
        }
        Ok(Self {
            namespaces,
            resources: uses.iter().map(ToString::to_string).collect(),
            uses,
            site_file: file.map(ToString::to_string),
            revision: None,
        })
    }

    /// Returns the blocker that resources would be deleted that users may still need.
    fn refusal(&self) -> Option<Blocker> {
        (!self.resources.is_empty()).then(|| Blocker::WouldDelete {
            objects: self.resources.clone(),
        })
    }
}

/// Returns the custom resources of Solutions in a namespace, and its other workloads and volumes that no object
/// controls. Deployed operators are reported separately.
async fn used(cluster: &Cluster, space: &NamespaceRecord) -> Result<Vec<Use>, Error> {
    let mut kinds: Vec<Gvk> = Vec::new();
    for crd in inventory::crds(cluster, &Selector::has(v::SOLUTION)).await? {
        if crd.as_value()["spec"]["scope"] == "Namespaced" {
            kinds.extend(served_kind(&crd));
        }
    }
    kinds.extend(workloads());
    let mut used = Vec::new();
    for kind in &kinds {
        let namespace = Some(space.namespace.as_str());
        let found = match cluster.list(kind, namespace, None).await {
            Err(kubernetes::Error::NoSuchKind(_)) => continue,
            other => other?,
        };
        let own = found.iter().filter(|object| {
            let kept = is_controlled(object) || is_operators(object, space);
            !kept && !object.is_being_deleted()
        });
        used.extend(own.map(Use::new));
    }
    Ok(used)
}

/// Checks whether an object belongs to an operator that is deployed in the namespace.
fn is_operators(object: &Object, space: &NamespaceRecord) -> bool {
    let labels = object.labels();
    let owner = labels.get(v::SOLUTION).and_then(|owner| owner.parse().ok());
    owner.is_some_and(|owner| space.solutions.contains_key::<SolutionName>(&owner))
}

/// Checks whether another object controls this one and is reported in its place.
fn is_controlled(object: &Object) -> bool {
    let owners = object.as_value()["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["controller"] == true)
}

/// Deletes the remaining inventories of Solutions in the namespace, which are empty because a user without the right to
/// delete them left them.
async fn forget_inventories(leased: &mut Leased<'_>, namespace: &Namespace) -> Result<(), Error> {
    let maps = Gvk::new("v1", "ConfigMap");
    let of = Selector::label(v::CARRIED, namespace.as_str());
    let left = leased
        .cluster
        .list(&maps, Some(v::RECORDS_NAMESPACE), Some(&of));
    for map in left.await? {
        leased.forget(map.reference()).await?;
    }
    Ok(())
}

async fn remove(
    leased: &mut Leased<'_>,
    space: &NamespaceRecord,
    left: &NamespaceOutcome,
    deadline: Duration,
) -> Result<(), Error> {
    leased
        .prune_scope(&left_over(&space.namespace), &[])
        .await?;
    let reference = namespace_reference(&space.namespace);
    match left {
        NamespaceOutcome::Gone(_) => {}
        NamespaceOutcome::Deleted(_) => {
            let is_it = |live: &Object| {
                let same = space.made(live).then_some(());
                let object = reference.to_string();
                same.ok_or(OwnershipConflict::MadeAnew { object })
            };
            leased.remove(&reference, is_it).await?;
            leased.wait_gone([reference], deadline).await?;
        }
        NamespaceOutcome::Released(_) => release(leased, space, &reference).await?,
    }
    Ok(())
}

/// Removes the project's labels from a namespace by applying it without them.
async fn release(
    leased: &mut Leased<'_>,
    space: &NamespaceRecord,
    reference: &ObjectRef,
) -> Result<(), Error> {
    let namespace = space.namespace.as_str();
    let config = ObjectRef::namespaced("v1", "ConfigMap", namespace, v::ENVIRONMENT_CONFIG);
    leased.forget(&config).await?;
    let bare =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
    let bare = Object::new(bare)?;
    let decide = |live: Option<&Object>| Ok(live.map(|_| bare.clone()));
    leased.put(reference, decide).await?;
    Ok(())
}
