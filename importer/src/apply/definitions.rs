//! The CRDs of a Solution and their removal. CRDs that the Solution created are removed once nothing uses them. CRDs
//! that existed before it are kept without the project's labels.

use std::time::Duration;

use change::{owner_of, vocabulary as v, without_server_fields};
use deployer::{Cluster, Object, ObjectRef, Selector};
use schemas::{SolutionName, Version};
use serde_json::Value;

use crate::apply::leased::Leased;
use crate::model::error::Error;
use crate::model::labelled::{self, custom_resources};
use crate::model::obstacle::Obstacle;
use crate::model::uses::Use;
use crate::plan::crd;
use crate::plan::rights::ask::check_resources;

/// The CRDs of a Solution.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// The CRDs that existed before the Solution.
    adopted: Vec<Object>,
    /// The CRDs that the Solution created.
    own: Vec<Object>,
}

impl Definitions {
    pub(crate) async fn of(cluster: &Cluster, solution: &SolutionName) -> Result<Self, Error> {
        let ours = Selector::label(v::SOLUTION, solution.as_str());
        let crds = labelled::crds(cluster, &ours).await?;
        let (adopted, own) = crds.into_iter().partition(is_adopted);
        Ok(Self { adopted, own })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.adopted.is_empty() && self.own.is_empty()
    }

    /// Returns the CRDs that are removed.
    pub(crate) fn own(&self) -> impl Iterator<Item = &ObjectRef> {
        self.own.iter().map(Object::reference)
    }

    /// Returns the CRDs that are kept.
    pub(crate) fn adopted(&self) -> impl Iterator<Item = &ObjectRef> {
        self.adopted.iter().map(Object::reference)
    }

    /// Returns a note on each CRD that is kept.
    pub(crate) fn notes(&self) -> Vec<String> {
        let stays = |crd| format!("{crd} existed before the Solution and is kept");
        self.adopted().map(stays).collect()
    }

    /// Returns the CRDs that a version of the Solution wrote.
    pub(crate) fn written_by(mut self, version: &Version) -> Self {
        let wrote = |crd: &Object| crd::written_by(crd).as_ref() == Some(version);
        self.adopted.retain(wrote);
        self.own.retain(wrote);
        self
    }

    /// Returns the custom resources of all CRDs. A missing right to list them is an obstacle.
    pub(crate) async fn uses(
        &self,
        cluster: &Cluster,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<Use>, Error> {
        let mut uses = Vec::new();
        let all = self.own.iter().chain(&self.adopted);
        if check_resources(cluster, all.clone(), obstacles).await? {
            return Ok(uses);
        }
        for crd in all {
            uses.extend(resources(cluster, crd).await?.iter().map(Use::of));
        }
        Ok(uses)
    }

    /// Returns an obstacle for each CRD to remove that has custom resources, since these would be deleted with it. A
    /// missing right to list them is an obstacle too.
    pub(crate) async fn in_use(&self, cluster: &Cluster) -> Result<Vec<Obstacle>, Error> {
        Ok(self.used(cluster).await?.0)
    }

    /// Returns the same obstacles, and the custom resources themselves.
    pub(crate) async fn used(&self, cluster: &Cluster) -> Result<(Vec<Obstacle>, Vec<Use>), Error> {
        let (mut obstacles, mut uses) = (Vec::new(), Vec::new());
        if check_resources(cluster, self.own.iter(), &mut obstacles).await? {
            return Ok((obstacles, uses));
        }
        for crd in &self.own {
            match resources(cluster, crd).await {
                Err(Error::Refused(obstacle)) => obstacles.push(obstacle),
                found => {
                    let found: Vec<Use> = found?.iter().map(Use::of).collect();
                    obstacles.extend(in_use(&found));
                    uses.extend(found);
                }
            }
        }
        Ok((obstacles, uses))
    }

    /// Returns an error if anything uses the CRDs to remove.
    pub(crate) async fn check_unused(&self, cluster: &Cluster) -> Result<(), Error> {
        let mut obstacles = self.in_use(cluster).await?.into_iter();
        obstacles.next().map_or(Ok(()), |first| Err(first.into()))
    }

    /// Deletes the CRDs that the Solution created, and releases those that existed before it.
    pub(crate) async fn remove(
        &self,
        leased: &mut Leased<'_>,
        solution: &SolutionName,
        deadline: Duration,
    ) -> Result<(), Error> {
        for crd in self.adopted() {
            let decide = |live: Option<&Object>| {
                let ours = live.filter(|live| owner_of(live, solution).is_ok());
                let released = ours.map(|live| Object::new(released(live.clone())));
                Ok(released.transpose()?)
            };
            leased.put(crd, decide).await?;
        }
        let own: Vec<ObjectRef> = self.own().cloned().collect();
        for crd in &own {
            leased.remove(crd, |live| owner_of(live, solution)).await?;
        }
        leased.wait_gone(own, deadline).await
    }
}

fn is_adopted(crd: &Object) -> bool {
    crd.annotations().contains_key(v::ADOPTED)
}

/// Returns a CRD without the project's labels and annotations.
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

/// Returns the custom resources of a CRD. A CRD that is being deleted already deletes them, so they do not count.
async fn resources(cluster: &Cluster, crd: &Object) -> Result<Vec<Object>, Error> {
    if crd.is_being_deleted() {
        return Ok(Vec::new());
    }
    custom_resources(cluster, crd).await
}

fn in_use(resources: &[Use]) -> Option<Obstacle> {
    let kind = resources.first()?.kind.clone();
    let objects = resources.iter().map(ToString::to_string).collect();
    Some(Obstacle::InUse { kind, objects })
}
