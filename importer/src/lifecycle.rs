//! The undo of each step of an import: undeploy, deactivate, unimport.

use std::time::Duration;

use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;
use serde_json::json;

use crate::apply::{Session, Watch, project};
use crate::environment;
use crate::error::Error;
use crate::lock::{Lock, Writer};
use crate::obstacle::Obstacle;
use crate::record;
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

/// How to change a cluster: who does it, who watches, and how long objects may take to go.
#[derive(Clone)]
pub struct Change<'a> {
    /// The cluster.
    pub cluster: &'a Cluster,
    /// Who does it.
    pub writer: &'a Writer,
    /// Takes the events.
    pub watch: &'a Watch,
    /// How long objects may take to go.
    pub deadline: Duration,
}

impl std::fmt::Debug for Change<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Change by {:?}", self.writer)
    }
}

/// Stops a Solution's operator in an environment, or in one namespace of it, and removes its objects. What the
/// operator made for its users (custom resources and what belongs to them) stays.
pub async fn undeploy(
    change: &Change<'_>,
    solution: &SolutionName,
    environment: &EnvironmentName,
    namespace: Option<&Namespace>,
) -> Result<Undone, Error> {
    let state = State::read(change.cluster).await?;
    let spaces: Vec<&EnvironmentNamespace> = state
        .environment(environment)
        .filter(|space| space.solutions.contains_key(solution))
        .filter(|space| namespace.is_none_or(|namespace| space.namespace == *namespace))
        .collect();
    if spaces.is_empty() {
        return Err(Error::Refused(Obstacle::no(
            format!("{solution} is not deployed in the environment `{environment}`"),
            "`solution status` shows what is deployed where",
        )));
    }
    let lock = Lock::acquire(change.cluster, change.writer).await?;
    let mut session = Session::new(change.cluster, &lock, change.watch);
    let mut done = Ok(());
    for space in spaces {
        done = remove_operator(&mut session, solution, space, change.deadline).await;
        if done.is_err() {
            break;
        }
    }
    let removed = session.removed;
    let released = lock.release().await;
    done?;
    released?;
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
        // Applying the default ServiceAccount without our pull secret takes it away.
        let bare = json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": "default", "namespace": space.namespace },
        });
        session.apply(Object::new(bare)?).await?;
    }
    session
        .apply(Object::new(environment::config(&space.namespace, &left))?)
        .await
}

/// Removes the CRDs of a Solution. Refused while it is deployed, or while custom resources exist: they would go too.
pub async fn deactivate(change: &Change<'_>, solution: &SolutionName) -> Result<Undone, Error> {
    let state = State::read(change.cluster).await?;
    refuse_deployed(&state, solution, None)?;
    let crds = crds(change.cluster, solution).await?;
    for crd in &crds {
        refuse_used(change.cluster, crd).await?;
    }
    let lock = Lock::acquire(change.cluster, change.writer).await?;
    let mut session = Session::new(change.cluster, &lock, change.watch);
    let done = remove_all(&mut session, &crds, change.deadline).await;
    let removed = session.removed;
    let released = lock.release().await;
    done?;
    released?;
    Ok(Undone {
        removed,
        notes: Vec::new(),
    })
}

/// Forgets an imported version. Refused while it is deployed. Its images stay in the registry.
pub async fn unimport(
    change: &Change<'_>,
    solution: &SolutionName,
    version: &Version,
) -> Result<Undone, Error> {
    let state = State::read(change.cluster).await?;
    let Some(record) = state.record(solution, version) else {
        return Err(Error::Refused(Obstacle::no(
            format!("{solution} {version} is not imported"),
            "`solution status` lists what is",
        )));
    };
    refuse_deployed(&state, solution, Some(version))?;
    let lock = Lock::acquire(change.cluster, change.writer).await?;
    let mut session = Session::new(change.cluster, &lock, change.watch);
    let done = remove_all(
        &mut session,
        &[record::reference(solution, version)],
        change.deadline,
    )
    .await;
    let removed = session.removed;
    let released = lock.release().await;
    done?;
    released?;
    let notes = vec![format!(
        "the images stay in the registry, below {}",
        record.pushed_to
    )];
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

async fn crds(cluster: &Cluster, solution: &SolutionName) -> Result<Vec<ObjectRef>, Error> {
    let definitions = Gvk::new("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let found = cluster
        .list(
            &definitions,
            None,
            Some(&Selector::label(v::SOLUTION, solution.as_str())),
        )
        .await?;
    if found.is_empty() {
        return Err(Error::Refused(Obstacle::no(
            format!("no CRD of {solution} is in the cluster"),
            "`solution status` shows what is active",
        )));
    }
    Ok(found
        .iter()
        .map(|object| object.reference().clone())
        .collect())
}

async fn refuse_used(cluster: &Cluster, crd: &ObjectRef) -> Result<(), Error> {
    let Some(live) = cluster.get(crd).await? else {
        return Ok(());
    };
    let spec = &live.as_value()["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    let kind = spec["names"]["kind"].as_str().unwrap_or_default();
    let versions = spec["versions"].as_array();
    let served = versions
        .into_iter()
        .flatten()
        .find(|version| version["served"] == true);
    let Some(version) = served.and_then(|version| version["name"].as_str()) else {
        return Ok(());
    };
    let resources = cluster
        .list(&Gvk::new(&format!("{group}/{version}"), kind), None, None)
        .await?;
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
