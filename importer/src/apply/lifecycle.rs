//! The undo of each step of an import: undeploy, deactivate, unimport.

use std::time::Duration;

use deployer::{Cluster, Object, ObjectRef, Selector};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use serde_json::Value;

use crate::apply::change::Change;
use crate::apply::leased::Leased;
use crate::model::applied::without_server_fields;
use crate::model::error::Error;
use crate::model::inventory::{self, custom_resources, inventory};
use crate::model::namespace_record::{NamespaceRecord, namespace_reference};
use crate::model::obstacle::Obstacle;
use crate::model::owner::owner_of;
use crate::model::record::{self, Record};
use crate::model::state::ClusterState;
use crate::model::vocabulary as v;
use crate::plan::default_account::DefaultAccount;

/// What an undo removed and what it left, for people and programs. Of a dry run: what it would.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Undone {
    /// Every object that was removed.
    pub removed: Vec<String>,
    /// What stays behind, and how to remove it.
    pub notes: Vec<String>,
}

impl Undone {
    /// What was removed, or what would be.
    fn of<'a>(
        removed: Option<Vec<String>>,
        would: impl IntoIterator<Item = &'a ObjectRef>,
        notes: Vec<String>,
    ) -> Self {
        let would = || would.into_iter().map(ToString::to_string).collect();
        Self {
            removed: removed.unwrap_or_else(would),
            notes,
        }
    }
}

/// The namespaces that an operator leaves, each with its objects there.
type Spaces = Vec<(NamespaceRecord, Vec<ObjectRef>)>;

/// Stops a Solution's operator in an environment, or in one namespace of it, and removes its objects. What the
/// operator made for its users (custom resources and what belongs to them) stays.
pub async fn undeploy(
    change: &Change<'_>,
    solution: &SolutionName,
    environment: &EnvironmentName,
    namespace: Option<&Namespace>,
) -> Result<Undone, Error> {
    let decide = async |state: &ClusterState| {
        let wanted = |space: &&NamespaceRecord| {
            space.solutions.contains_key(solution)
                && namespace.is_none_or(|namespace| space.namespace == *namespace)
        };
        let mut spaces = Spaces::new();
        for space in state.environment(environment).filter(wanted) {
            let objects = operator(change.cluster, solution, &space.namespace).await?;
            spaces.push((space.clone(), objects));
        }
        if spaces.is_empty() {
            let (solution, environment) = (solution.clone(), environment.clone());
            return Err(Obstacle::NotDeployed(solution, environment).into());
        }
        Ok(spaces)
    };
    let act = async |leased: &mut Leased<'_>, spaces: &mut Spaces| {
        for (space, objects) in spaces {
            remove_operator(leased, solution, space, objects, change.deadline).await?;
        }
        Ok(())
    };
    let (spaces, removed) = change.make(decide, act).await?;
    let objects = spaces.iter().flat_map(|(_, objects)| objects);
    let note =
        format!("custom resources of {solution} stay, and so does everything that belongs to them");
    Ok(Undone::of(removed, objects, vec![note]))
}

/// The objects of a Solution's operator in a namespace.
async fn operator(
    cluster: &Cluster,
    solution: &SolutionName,
    namespace: &Namespace,
) -> Result<Vec<ObjectRef>, Error> {
    let mut objects = Vec::new();
    for scope in inventory(solution, namespace) {
        let found = cluster.stale(&scope, &[]).await?;
        objects.extend(found.iter().map(|object| object.reference().clone()));
    }
    Ok(objects)
}

async fn remove_operator(
    leased: &mut Leased<'_>,
    solution: &SolutionName,
    space: &mut NamespaceRecord,
    objects: &[ObjectRef],
    deadline: Duration,
) -> Result<(), Error> {
    let namespace = space.namespace.clone();
    leased.prune(solution, &namespace, &[]).await?;
    leased.cluster.wait_gone(objects, deadline).await?;
    let deployed = space.solutions.remove(solution);
    if let Some(secret) = deployed.and_then(|deployed| deployed.pull_secret) {
        leased.remove_login(solution, &namespace, &secret).await?;
    }
    if space.solutions.is_empty() {
        release_default_account(leased, &namespace).await?;
    }
    // A namespace that somebody deleted has nothing left to be noted in.
    let live = namespace_reference(&namespace);
    if leased.cluster.get(&live).await?.is_some() {
        space.write(leased).await
    } else {
        leased.keep(space.to_object()).await
    }
}

/// Takes away the pull secret that was added to the default account.
async fn release_default_account(
    leased: &mut Leased<'_>,
    namespace: &Namespace,
) -> Result<(), Error> {
    let reference = DefaultAccount::reference(namespace);
    let decide = |live: Option<&Object>| {
        let Some(account) = live.map(DefaultAccount::of) else {
            return Ok(None);
        };
        let without = account.clone().without_added();
        let object = Object::new(without.object(namespace))?;
        Ok((without != account).then_some(object))
    };
    leased.put(&reference, decide).await?;
    Ok(())
}

/// Removes the CRDs of a Solution, and gives back those that were there before it. Refused while it is deployed, or
/// while custom resources exist: they would go too.
pub async fn deactivate(change: &Change<'_>, solution: &SolutionName) -> Result<Undone, Error> {
    let decide = async |state: &ClusterState| {
        refuse_deployed(state, solution, None)?;
        let ours = Selector::label(v::SOLUTION, solution.as_str());
        let crds = inventory::crds(change.cluster, &ours).await?;
        if crds.is_empty() {
            return Err(Obstacle::NotActive(solution.clone()).into());
        }
        for crd in crds.iter().filter(|crd| !is_adopted(crd)) {
            refuse_used(change.cluster, crd).await?;
        }
        let (adopted, own): (Vec<Object>, Vec<Object>) = crds.into_iter().partition(is_adopted);
        Ok((adopted, own))
    };
    let act = async |leased: &mut Leased<'_>, crds: &mut (Vec<Object>, Vec<Object>)| {
        let (adopted, own) = crds;
        for crd in adopted {
            let decide = |live: Option<&Object>| {
                let ours = live.filter(|live| owner_of(live, solution).is_ok());
                let released = ours.map(|live| Object::new(released(live.clone())));
                Ok(released.transpose()?)
            };
            leased.put(crd.reference(), decide).await?;
        }
        let own: Vec<ObjectRef> = own.iter().map(|crd| crd.reference().clone()).collect();
        let may = |live: &Object| owner_of(live, solution);
        remove_all(leased, &own, may, change.deadline).await
    };
    let ((adopted, own), removed) = change.make(decide, act).await?;
    let adopted = adopted.iter().map(Object::reference);
    let stays = |crd| format!("{crd} was there before the Solution and stays");
    let notes = adopted.map(stays).collect();
    let own = own.iter().map(Object::reference);
    Ok(Undone::of(removed, own, notes))
}

fn is_adopted(crd: &Object) -> bool {
    crd.annotations().contains_key(v::ADOPTED)
}

/// A CRD as it is, without our marks.
fn released(crd: Object) -> Value {
    let mut crd = without_server_fields(crd.into_value());
    for (field, marks) in [
        ("labels", &[v::MANAGED_BY, v::SOLUTION, v::VERSION][..]),
        ("annotations", &[v::ADOPTED]),
    ] {
        if let Some(map) = crd["metadata"][field].as_object_mut() {
            for mark in marks {
                map.remove(*mark);
            }
        }
    }
    crd
}

/// Forgets an imported version. Refused while it is deployed. Its images stay in the registry.
pub async fn unimport(
    change: &Change<'_>,
    solution: &SolutionName,
    version: &Version,
) -> Result<Undone, Error> {
    let decide = async |state: &ClusterState| {
        refuse_deployed(state, solution, Some(version))?;
        let record = state.record(solution, version).cloned();
        let absent = || Obstacle::NotImported(solution.clone(), version.clone());
        record.ok_or_else(|| absent().into())
    };
    let objects = [record::reference(solution, version)];
    let act = async |leased: &mut Leased<'_>, _: &mut Record| {
        remove_all(leased, &objects, |_| Ok(()), change.deadline).await
    };
    let (record, removed) = change.make(decide, act).await?;
    let registry = record.pushed_to;
    let note = format!("the images stay in the registry, under {registry}");
    Ok(Undone::of(removed, &objects, vec![note]))
}

async fn remove_all(
    leased: &mut Leased<'_>,
    objects: &[ObjectRef],
    may: impl Fn(&Object) -> Result<(), Obstacle>,
    deadline: Duration,
) -> Result<(), Error> {
    for object in objects {
        leased.remove(object, &may).await?;
    }
    leased.cluster.wait_gone(objects, deadline).await?;
    leased.project().await
}

fn refuse_deployed(
    state: &ClusterState,
    solution: &SolutionName,
    version: Option<&Version>,
) -> Result<(), Error> {
    let wanted = |running: &Version| version.is_none_or(|version| running == version);
    let mut deployments = state.deployments(solution);
    let Some((space, running)) = deployments.find(|(_, running)| wanted(running)) else {
        return Ok(());
    };
    let (running, environment) = (running.clone(), space.environment.clone());
    Err(Obstacle::Deployed(solution.clone(), running, environment).into())
}

async fn refuse_used(cluster: &Cluster, crd: &Object) -> Result<(), Error> {
    let resources = custom_resources(cluster, crd).await?;
    let Some(first) = resources.first() else {
        return Ok(());
    };
    let (kind, first) = (first.gvk().kind.clone(), first.reference().to_string());
    Err(Obstacle::InUse(resources.len(), kind, first).into())
}
