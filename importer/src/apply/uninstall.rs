//! The end of a Solution at a site: everything that undeploy, deactivate and unimport take back one by one, as one plan
//! and under one Lease.

use std::collections::BTreeSet;

use deployer::{Cluster, ObjectRef};
use schemas::{EnvironmentName, Namespace, SolutionName, Version};
use serde::Serialize;

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::leased::Leased;
use crate::apply::lifecycle::{
    Spaces, Undone, forget_versions, leaving, remove_operators, shared_login,
};
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::{ChangeSubject, Verb};
use crate::model::record::Record;
use crate::model::state::ClusterState;
use crate::plan::default_account::DefaultAccount;
use crate::plan::rights::{self, check_removing, of_change};

/// What deleting a Solution comes to: what goes, what stays, and what is in the way.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// The context of the kubeconfig.
    pub context: Option<String>,
    /// The API server.
    pub server: String,
    /// The Solution.
    pub solution: SolutionName,
    /// Everywhere its operator runs.
    pub deployments: Vec<Leaving>,
    /// The CRDs that it brought.
    pub crds: Vec<String>,
    /// Its imported versions.
    pub versions: Vec<Version>,
    /// What stays, and what is changed elsewhere.
    pub notes: Vec<String>,
    /// What is in the way. As long as there is anything, nothing is removed.
    #[serde(skip)]
    pub obstacles: Vec<Obstacle>,
    /// Every object that is named above.
    #[serde(skip)]
    named: BTreeSet<ObjectRef>,
}

/// An operator that leaves a namespace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Leaving {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// The version.
    pub version: Version,
    /// Its objects, there and in the cluster.
    pub objects: Vec<String>,
}

impl Deletion {
    /// Finds out what deleting a Solution comes to. Nothing is written.
    pub async fn plan(cluster: &Cluster, solution: &SolutionName) -> Result<Self, Error> {
        let mut needs = of_change();
        needs.forgetting();
        needs.found_everywhere();
        let state = rights::state(cluster, &needs).await?;
        let going = Going::of(cluster, &state, solution).await?;
        let mut obstacles = going.obstacles(cluster, solution).await?;
        let place = (cluster, &Authority::Cluster);
        let namespaces = going.spaces.iter().map(|(space, _)| &space.namespace);
        check_removing(place, namespaces, going.removed(), &mut obstacles).await?;
        let versions = going.records.iter().map(|record| record.version.clone());
        let leaving = |(space, objects): &(NamespaceRecord, Vec<ObjectRef>)| {
            let deployed = space.solutions.get(solution)?;
            Some(Leaving {
                environment: space.environment.clone(),
                namespace: space.namespace.clone(),
                version: deployed.version.clone(),
                objects: objects.iter().map(ToString::to_string).collect(),
            })
        };
        Ok(Self {
            context: cluster.context().map(str::to_owned),
            server: cluster.server().to_owned(),
            solution: solution.clone(),
            deployments: going.spaces.iter().filter_map(leaving).collect(),
            crds: going.definitions.own().map(ToString::to_string).collect(),
            versions: versions.collect(),
            notes: going.notes(cluster, solution).await?,
            obstacles,
            named: going.named(),
        })
    }

    /// Does it, if it still comes to no more than what the plan names. Custom resources are never deleted.
    pub async fn carry_out(&self, change: &Change<'_>) -> Result<Undone, Error> {
        let (cluster, solution) = (change.cluster, &self.solution);
        let decide = async |state: &ClusterState| {
            let going = Going::of(cluster, state, solution).await?;
            let added = going.named().difference(&self.named).next().cloned();
            let added = added.map(|object| Obstacle::Unplanned(object.to_string()));
            let obstacles = going.obstacles(cluster, solution).await?;
            match added.into_iter().chain(obstacles).next() {
                Some(obstacle) => Err(obstacle.into()),
                None => Ok(going),
            }
        };
        let act = async |leased: &mut Leased<'_>, going: &mut Going| {
            remove_operators(leased, solution, &mut going.spaces, change.deadline).await?;
            // Operators took their time to go, and somebody may have asked for something meanwhile.
            going.definitions.check_unused(cluster).await?;
            let definitions = &going.definitions;
            definitions
                .remove(leased, solution, change.deadline)
                .await?;
            // The records are last: as long as there is one, running the command again finds what is left.
            forget_versions(leased, &going.records, change.deadline).await
        };
        let about = |state: &ClusterState| {
            let spaces = state.deployments(solution).map(|(space, _)| space);
            ChangeSubject::leaving(Verb::Delete, solution, state, spaces)
        };
        let (going, removed) = change.make(&of_change(), about, decide, act).await?;
        Ok(Undone::of(removed, going.removed(), self.notes.clone()))
    }
}

/// What goes.
struct Going {
    spaces: Spaces,
    definitions: Definitions,
    /// With their ConfigMaps.
    records: Vec<Record>,
    maps: Vec<ObjectRef>,
}

impl Going {
    async fn of(
        cluster: &Cluster,
        state: &ClusterState,
        solution: &SolutionName,
    ) -> Result<Self, Error> {
        let spaces = state.deployments(solution).map(|(space, _)| space);
        let records = state.records.iter();
        let records: Vec<Record> = records
            .filter(|record| record.name == *solution)
            .cloned()
            .collect();
        let going = Self {
            spaces: leaving((cluster, &Authority::Cluster), solution, spaces).await?,
            definitions: Definitions::of(cluster, solution).await?,
            maps: records.iter().map(Record::reference).collect(),
            records,
        };
        if going.spaces.is_empty() && going.definitions.is_empty() && going.records.is_empty() {
            return Err(Obstacle::NothingImported(solution.clone()).into());
        }
        Ok(going)
    }

    /// Everything that is removed, in this order.
    fn removed(&self) -> impl Iterator<Item = &ObjectRef> {
        let operators = self.spaces.iter().flat_map(|(_, objects)| objects);
        operators.chain(self.definitions.own()).chain(&self.maps)
    }

    /// Everything that is removed or given back.
    fn named(&self) -> BTreeSet<ObjectRef> {
        self.removed()
            .chain(self.definitions.adopted())
            .cloned()
            .collect()
    }

    async fn obstacles(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
    ) -> Result<Vec<Obstacle>, Error> {
        let spaces = self.spaces.iter();
        let shared = spaces.filter_map(|(space, _)| shared_login(space, solution));
        let mut obstacles: Vec<Obstacle> = shared.collect();
        obstacles.extend(self.definitions.in_use(cluster).await?);
        Ok(obstacles)
    }

    /// What stays where, and what changes without going.
    async fn notes(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
    ) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for (space, _) in &self.spaces {
            let (environment, namespace) = (&space.environment, &space.namespace);
            let mut others = space
                .solutions
                .keys()
                .filter(|name| *name != solution)
                .peekable();
            if others.peek().is_none() {
                let account = DefaultAccount::read(cluster, namespace).await?;
                if account.clone().without_added() != account {
                    let account = DefaultAccount::reference(namespace);
                    notes.push(format!(
                        "{account} loses the pull secret that was added to it"
                    ));
                }
            }
            let others: Vec<&str> = others.map(SolutionName::as_str).collect();
            let with = match others.join(", ") {
                others if others.is_empty() => String::new(),
                others => format!(" with {others}"),
            };
            notes.push(format!(
                "environment {environment} stays, in namespace {namespace}{with}"
            ));
        }
        notes.extend(self.definitions.notes());
        notes.extend(self.records.iter().map(|record| {
            let (version, registry) = (&record.version, &record.pushed_to);
            format!("the images of {version} stay in the registry, under {registry}")
        }));
        Ok(notes)
    }
}
