//! The undo of each step of an import: undeploy, deactivate, unimport.

use std::time::Duration;

use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use serde_json::Value;

use crate::apply::{Session, project};
use crate::default_account::DefaultAccount;
use crate::environment;
use crate::error::Error;
use crate::lock::Change;
use crate::obstacle::Obstacle;
use crate::record::{self, Record};
use crate::rollback::without_server_fields;
use crate::state::{EnvironmentNamespace, State};
use crate::vocabulary as v;

/// What an undo removed and what it left, for people and programs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Undone {
    /// Every object that was removed.
    pub removed: Vec<String>,
    /// What stays behind, and how to remove it.
    pub notes: Vec<String>,
}

/// Stops a Solution's operator in an environment, or in one namespace of it, and removes its objects. What the
/// operator made for its users (custom resources and what belongs to them) stays.
pub async fn undeploy(
    change: &Change<'_>,
    solution: &SolutionName,
    environment: &EnvironmentName,
    namespace: Option<&Namespace>,
) -> Result<Undone, Error> {
    let decide = async |state: &State| {
        let wanted = |space: &&EnvironmentNamespace| {
            space.solutions.contains_key(solution)
                && namespace.is_none_or(|namespace| space.namespace == *namespace)
        };
        let spaces: Vec<EnvironmentNamespace> = state
            .environment(environment)
            .filter(wanted)
            .cloned()
            .collect();
        if spaces.is_empty() {
            return Err(Error::Refused(Obstacle::no(
                format!("{solution} is not deployed in the environment `{environment}`"),
                "`solution status` shows what is deployed where",
            )));
        }
        Ok(spaces)
    };
    let act = async |session: &mut Session<'_>, spaces: Vec<EnvironmentNamespace>| {
        for space in &spaces {
            remove_operator(session, solution, space, change.deadline).await?;
        }
        Ok(())
    };
    let ((), removed) = change.locked(decide, act).await?;
    let notes = vec![format!(
        "custom resources of {solution} stay, and so does what belongs to them"
    )];
    Ok(Undone { removed, notes })
}

async fn remove_operator(
    session: &mut Session<'_>,
    solution: &SolutionName,
    space: &EnvironmentNamespace,
    deadline: Duration,
) -> Result<(), Error> {
    let mut references = Vec::new();
    for scope in environment::inventory(solution, &space.namespace) {
        let found = session.cluster.stale(&scope, &[]).await?;
        references.extend(found.iter().map(|object| object.reference().clone()));
    }
    session.prune(solution, &space.namespace, &[]).await?;
    session.cluster.wait_gone(&references, deadline).await?;
    let mut left = space.solutions.clone();
    left.remove(solution);
    if left.is_empty() {
        let account = DefaultAccount::read(session.cluster, &space.namespace).await?;
        let without = account.clone().without_added();
        if without != account {
            session
                .apply(Object::new(without.object(&space.namespace))?)
                .await?;
        }
    }
    session
        .apply(Object::new(environment::config(&space.namespace, &left))?)
        .await
}

/// Removes the CRDs of a Solution, and gives back those that were there before it. Refused while it is deployed, or
/// while custom resources exist: they would go too.
pub async fn deactivate(change: &Change<'_>, solution: &SolutionName) -> Result<Undone, Error> {
    let decide = async |state: &State| {
        refuse_deployed(state, solution, None)?;
        let crds = crds(change.cluster, solution).await?;
        for crd in crds.iter().filter(|crd| !is_adopted(crd)) {
            refuse_used(change.cluster, crd).await?;
        }
        Ok(crds)
    };
    let act = async |session: &mut Session<'_>, crds: Vec<Object>| {
        let (adopted, own): (Vec<Object>, Vec<Object>) = crds.into_iter().partition(is_adopted);
        let mut notes = Vec::new();
        for crd in adopted {
            notes.push(format!("{} was there before and stays", crd.reference()));
            session.apply(Object::new(released(crd))?).await?;
        }
        let own: Vec<ObjectRef> = own.iter().map(|crd| crd.reference().clone()).collect();
        remove_all(session, &own, change.deadline).await?;
        Ok(notes)
    };
    let (notes, removed) = change.locked(decide, act).await?;
    Ok(Undone { removed, notes })
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
    let decide = async |state: &State| {
        refuse_deployed(state, solution, Some(version))?;
        let record = state.record(solution, version).cloned();
        record.ok_or_else(|| {
            Error::Refused(Obstacle::no(
                format!("{solution} {version} is not imported"),
                "`solution status` lists what is",
            ))
        })
    };
    let act = async |session: &mut Session<'_>, record: Record| {
        remove_all(
            session,
            &[record::reference(solution, version)],
            change.deadline,
        )
        .await?;
        Ok(vec![format!(
            "the images stay in the registry, below {}",
            record.pushed_to
        )])
    };
    let (notes, removed) = change.locked(decide, act).await?;
    Ok(Undone { removed, notes })
}

async fn remove_all(
    session: &mut Session<'_>,
    objects: &[ObjectRef],
    deadline: Duration,
) -> Result<(), Error> {
    for object in objects {
        session.remove(object).await?;
    }
    session.cluster.wait_gone(objects, deadline).await?;
    project(session).await
}

fn refuse_deployed(
    state: &State,
    solution: &SolutionName,
    version: Option<&Version>,
) -> Result<(), Error> {
    let wanted = |running: &Version| version.is_none_or(|version| running == version);
    match state
        .deployments(solution)
        .find(|(_, running)| wanted(running))
    {
        None => Ok(()),
        Some((space, running)) => Err(Error::Refused(Obstacle::no(
            format!(
                "{solution} {running} is deployed in the environment `{}`",
                space.environment
            ),
            format!(
                "`solution undeploy {solution} --environment {}` first",
                space.environment
            ),
        ))),
    }
}

async fn crds(cluster: &Cluster, solution: &SolutionName) -> Result<Vec<Object>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let ours = Selector::label(v::SOLUTION, solution.as_str());
    let found = cluster.list(&definitions, None, Some(&ours)).await?;
    if found.is_empty() {
        return Err(Error::Refused(Obstacle::no(
            format!("no CRD of {solution} is in the cluster"),
            "`solution status` shows what is active",
        )));
    }
    Ok(found)
}

async fn refuse_used(cluster: &Cluster, crd: &Object) -> Result<(), Error> {
    let spec = &crd.as_value()["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    let kind = spec["names"]["kind"].as_str().unwrap_or_default();
    let versions = spec["versions"].as_array();
    let served = versions
        .into_iter()
        .flatten()
        .find(|version| version["served"] == true);
    let Some(version) = served.and_then(|version| version["name"].as_str()) else {
        return Err(Error::Refused(Obstacle::no(
            format!(
                "{} serves no version, so its objects cannot be counted",
                crd.reference()
            ),
            "serve a version again, or delete the CRD yourself",
        )));
    };
    let kinds = Gvk::new(&format!("{group}/{version}"), kind);
    let resources = cluster.list(&kinds, None, None).await?;
    match resources.first() {
        None => Ok(()),
        Some(first) => Err(Error::Refused(Obstacle::no(
            format!(
                "{} {kind} objects exist, the first is {}",
                resources.len(),
                first.reference()
            ),
            "deleting the CRD would delete them: delete them yourself first",
        ))),
    }
}
