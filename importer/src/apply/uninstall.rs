//! The deletion of a Solution from a site: undeploying, deactivating and removing all versions in one plan and under
//! one Lease. [`Deletion::plan`] plans it, and [`Deletion::carry_out`] executes it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kubernetes::{Cluster, ObjectRef};
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionId, SolutionName, Version};
use serde::Serialize;
use store::{Record, StoredManifests};

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::leased::Leased;
use crate::apply::lifecycle::{
    self, Leave, RemovalReport, Spaces, applied, check_carried, forget_versions, hand_for, leaving,
    note_releases, remove_operators, shared_login, still_needed,
};
use crate::apply::releases::HelmRunner;
use crate::decide::rights::{self, check_removing, of_change};
use crate::model::blocker::Blocker;
use crate::model::error::{Error, EvenIfUsed, Use};
use crate::model::writer::{Authority, Verb};
use crate::objects::pull_secret::DefaultAccount;
use crate::objects::uses::{Images, workloads};
use crate::records::cleanup::RemoveSets;
use crate::records::receipt::ChangeSubject;
use crate::records::record;
use crate::records::state::ClusterState;

/// The plan of the deletion of a Solution: the objects that are deleted, and those that are kept.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// The context of the kubeconfig.
    pub context: Option<String>,
    /// The API server.
    pub server: String,
    /// The name of the Solution.
    pub solution: SolutionName,
    /// The namespaces in which its operator runs.
    pub deployments: Vec<DepartingOperator>,
    /// The CRDs that it created.
    pub crds: Vec<String>,
    /// Its imported versions.
    pub versions: Vec<Version>,
    /// The notes on objects that are kept, and on those that are changed.
    pub notes: Vec<String>,
    /// The objects that use the Solution: custom resources, and workloads that run its images.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<Use>,
    /// Manifests that are deleted at registries, as `HOST/REPOSITORY@DIGEST`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freed: Vec<String>,
    /// The blockers. If there are any, nothing is removed.
    #[serde(skip)]
    pub blockers: Vec<Blocker>,
    /// Every object that the plan removes, applies or releases.
    #[serde(skip)]
    named: BTreeSet<ObjectRef>,
    /// The choice whether workloads that run its images block the deletion.
    #[serde(skip)]
    even_if_used: EvenIfUsed,
    /// The choice whether its sets for removal are applied first.
    #[serde(skip)]
    sets: RemoveSets,
    /// The registries from which its images are deleted.
    #[serde(skip)]
    registries: Registries,
}

/// The registries from which the images of a Solution are deleted.
#[derive(Clone, Debug, Default)]
pub struct Registries {
    /// The clients of its versions' registries, or of some of them.
    pub clients: Vec<Client>,
    /// The directory into which the registries' records of other versions are read.
    pub scratch: PathBuf,
}

/// An operator that is removed from a namespace.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Leaving")]
pub struct DepartingOperator {
    /// The environment.
    pub environment: EnvironmentName,
    /// The namespace.
    pub namespace: Namespace,
    /// The version.
    pub version: Version,
    /// The objects that are applied and awaited before the removal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applied: Vec<String>,
    /// Its objects, in the namespace and cluster-wide.
    pub objects: Vec<String>,
}

impl Deletion {
    /// Plans the deletion of a Solution without writing anything. Workloads that run its images block it unless a
    /// person overrules this. Custom resources always block it. Its images are deleted from these registries.
    pub async fn plan(
        cluster: &Cluster,
        solution: &SolutionName,
        even_if_used: EvenIfUsed,
        sets: RemoveSets,
        registries: Registries,
    ) -> Result<Self, Error> {
        let mut needs = of_change();
        needs.forgetting();
        needs.found_everywhere();
        needs.running();
        let state = rights::state(cluster, &needs).await?;
        let going = DepartingSolution::plan(cluster, &state, solution, sets).await?;
        let (mut blockers, uses) = going.blockers(cluster, solution, even_if_used).await?;
        let (authority, own) = (&Authority::Cluster, going.own());
        let namespaces = going.spaces.iter().map(|leave| &leave.space.namespace);
        check_removing(cluster, authority, namespaces, own, &mut blockers).await?;
        check_carried(cluster, solution, &going.spaces, &mut blockers).await?;
        let versions = going.records.iter().map(|record| record.version.clone());
        let leaving = |leave: &Leave| {
            let Leave { space, objects, .. } = leave;
            let deployed = space.solutions.get(solution)?;
            Some(DepartingOperator {
                environment: space.environment.clone(),
                namespace: space.namespace.clone(),
                version: deployed.version.clone(),
                applied: leave
                    .carried
                    .applied()
                    .map(|object| object.to_string())
                    .collect(),
                objects: objects.iter().map(ToString::to_string).collect(),
            })
        };
        let (mut notes, mut freed) = (going.notes(cluster, solution).await?, Vec::new());
        for (client, holdings) in going.holdings(&state, &registries).await? {
            freed.extend(holdings.names(client));
            notes.extend(holdings.notes());
        }
        notes.extend(going.images_that_stay(&registries.clients));
        Ok(Self {
            context: cluster.context().map(str::to_owned),
            server: cluster.server().to_owned(),
            solution: solution.clone(),
            deployments: going.spaces.iter().filter_map(leaving).collect(),
            crds: going.definitions.own().map(ToString::to_string).collect(),
            versions: versions.collect(),
            notes,
            uses,
            freed,
            blockers,
            named: going.named(),
            even_if_used,
            sets,
            registries,
        })
    }

    /// Deletes the Solution if its effects do not exceed the plan. Custom resources are never deleted.
    pub async fn carry_out(&self, change: &Change<'_>) -> Result<RemovalReport, Error> {
        let (cluster, solution) = (change.cluster, &self.solution);
        let decide = async |state: &ClusterState| {
            let going = DepartingSolution::plan(cluster, state, solution, self.sets).await?;
            let added = going.named().difference(&self.named).next().cloned();
            let added = added.map(|object| Blocker::Unplanned {
                object: object.to_string(),
            });
            let (blockers, uses) = going.blockers(cluster, solution, self.even_if_used).await?;
            let carried = going
                .spaces
                .iter()
                .flat_map(|leave| leave.carried.blockers.clone());
            let mut blockers = added.into_iter().chain(blockers).chain(carried);
            if let Some(blocker) = blockers.next() {
                return Err(blocker.into());
            }
            Ok(DecidedDeletion {
                hand: hand_for(solution, &going.spaces, change).await?,
                holdings: going.holdings(state, &self.registries).await?,
                going,
                uses,
                freed: Vec::new(),
            })
        };
        let act = async |leased: &mut Leased<'_>, decided: &mut DecidedDeletion<'_>| {
            let (going, hand) = (&mut decided.going, decided.hand.as_ref());
            let spaces = &mut going.spaces;
            note_releases(leased, solution, spaces).await?;
            remove_operators(leased, hand, solution, spaces, change.deadline).await?;
            // Stopping the operators takes time, and users may have created custom resources meanwhile.
            going.definitions.check_unused(cluster).await?;
            let definitions = &going.definitions;
            definitions
                .remove(leased, solution, change.deadline)
                .await?;
            for (client, holdings) in &decided.holdings {
                let freed = holdings.free(client, || leased.lock.check()).await?;
                decided.freed.extend(freed);
            }
            // The records are deleted last: as long as one exists, running the command again finds the remaining
            // objects.
            forget_versions(leased, &going.records, change.deadline).await
        };
        let about = |state: &ClusterState| {
            let spaces = state.deployments(solution).map(|(space, _)| space);
            ChangeSubject::leaving(Verb::Delete, solution, state, spaces)
        };
        let clear = async |decided: &DecidedDeletion<'_>| {
            let spaces = &decided.going.spaces;
            lifecycle::clear(change, solution, spaces).await
        };
        let needs = of_change();
        let made = change.make_clearing(&needs, about, clear, decide, act);
        let (decided, done) = made.await?;
        let mut notes = self.notes.clone();
        // Some kept objects are known only after all other objects are deleted.
        let stays = decided.going.spaces.iter().flat_map(Leave::notes);
        let found: Vec<String> = stays
            .filter(|note| !notes.contains(note))
            .cloned()
            .collect();
        notes.extend(found);
        let undone = RemovalReport::new(done, decided.going.removed(), notes);
        Ok(RemovalReport {
            applied: applied(&decided.going.spaces),
            uses: decided.uses,
            freed: decided.freed,
            ..undone
        })
    }
}

/// The decision under the Leases, and the manifests that were deleted from the registries.
struct DecidedDeletion<'a> {
    going: DepartingSolution,
    /// The runner that uninstalls releases, if there are any.
    hand: Option<HelmRunner>,
    uses: Vec<Use>,
    holdings: Vec<(&'a Client, StoredManifests)>,
    freed: Vec<String>,
}

/// The parts of a Solution that are deleted.
struct DepartingSolution {
    spaces: Spaces,
    /// The blockers that other Solutions need it.
    needed: Vec<Blocker>,
    definitions: Definitions,
    /// The records of its versions, with their ConfigMaps.
    records: Vec<Record>,
    maps: Vec<ObjectRef>,
    /// The images of its versions.
    images: Images,
}

impl DepartingSolution {
    /// Reads the namespaces, CRDs, records and images of the Solution. Having none of them is a blocker.
    async fn plan(
        cluster: &Cluster,
        state: &ClusterState,
        solution: &SolutionName,
        sets: RemoveSets,
    ) -> Result<Self, Error> {
        let spaces = state.deployments(solution).map(|(space, _)| space);
        let own = |record: &Record| record.name == *solution;
        let records: Vec<Record> = state
            .records
            .iter()
            .filter(|record| own(record))
            .cloned()
            .collect();
        let spaces = leaving(cluster, &Authority::Cluster, solution, state, spaces, sets).await?;
        let going = Self {
            needed: still_needed(state, solution, &spaces),
            spaces,
            definitions: Definitions::read(cluster, solution).await?,
            maps: records.iter().map(record::place).collect(),
            images: Images::select(&state.records, own)?,
            records,
        };
        if going.spaces.is_empty() && going.definitions.is_empty() && going.records.is_empty() {
            return Err(Blocker::NothingImported {
                solution: solution.clone(),
            }
            .into());
        }
        Ok(going)
    }

    /// Returns the removed objects except the packaged ones.
    fn own(&self) -> impl Iterator<Item = &ObjectRef> {
        let operators = self.spaces.iter().flat_map(|leave| &leave.own);
        operators.chain(self.definitions.own()).chain(&self.maps)
    }

    /// Returns everything that is removed, in this order.
    fn removed(&self) -> impl Iterator<Item = &ObjectRef> {
        let operators = self.spaces.iter().flat_map(|leave| &leave.objects);
        operators.chain(self.definitions.own()).chain(&self.maps)
    }

    /// Returns everything that is removed, applied or released.
    fn named(&self) -> BTreeSet<ObjectRef> {
        let applied = self.spaces.iter().flat_map(|leave| leave.carried.applied());
        self.removed()
            .chain(self.definitions.adopted())
            .cloned()
            .chain(applied)
            .collect()
    }

    /// Returns the blockers, and everything that uses the removed objects, whether it blocks the deletion or not.
    async fn blockers(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
        even_if_used: EvenIfUsed,
    ) -> Result<(Vec<Blocker>, Vec<Use>), Error> {
        let spaces = self.spaces.iter();
        let shared = spaces.filter_map(|leave| shared_login(&leave.space, solution));
        let mut blockers = self.needed.clone();
        blockers.extend(shared);
        let (in_use, mut uses) = self.definitions.used(cluster).await?;
        blockers.extend(in_use);
        let leaving = self.removed().cloned().collect();
        let running = workloads(cluster, &self.images, &leaving, &mut blockers).await?;
        let keeping = Blocker::used(solution.as_str(), &running);
        blockers.extend(even_if_used.without(keeping.into_iter().collect()));
        uses.extend(running);
        Ok((blockers, uses))
    }

    /// Returns the content of its versions in these registries.
    async fn holdings<'a>(
        &self,
        state: &ClusterState,
        registries: &'a Registries,
    ) -> Result<Vec<(&'a Client, StoredManifests)>, Error> {
        let mut found = Vec::new();
        let ids: BTreeSet<String> = self.records.iter().map(Record::id).collect();
        for client in &registries.clients {
            let elsewhere = |record: &Record| ids.contains(&record.id()) && !is_at(record, client);
            let mut records = state.records.clone();
            records.retain(|record| !elsewhere(record));
            let goes = |id: &SolutionId| ids.contains(&id.to_string());
            let holdings = store::holdings(client, &registries.scratch, &records, goes).await?;
            found.push((client, holdings));
        }
        Ok(found)
    }

    /// Returns a note for each version whose images are kept because none of the clients is for their registry.
    fn images_that_stay(&self, clients: &[Client]) -> impl Iterator<Item = String> {
        let stays = |record: &&Record| !clients.iter().any(|client| is_at(record, client));
        self.records.iter().filter(stays).map(|record| {
            let (version, registry) = (&record.version, &record.pushed_to);
            format!("the images of {version} are kept in the registry, under {registry}")
        })
    }

    /// Returns the notes on kept objects, and on objects that are changed and not removed.
    async fn notes(
        &self,
        cluster: &Cluster,
        solution: &SolutionName,
    ) -> Result<Vec<String>, Error> {
        let mut notes = Vec::new();
        for leave in &self.spaces {
            notes.extend(leave.notes().cloned());
            let space = &leave.space;
            let (environment, namespace) = (&space.environment, &space.namespace);
            let others = space.solutions.keys().filter(|name| *name != solution);
            let account = DefaultAccount::read(cluster, namespace).await?;
            if account.clone().deployed(solution, None, space) != account {
                let account = DefaultAccount::reference(namespace);
                notes.push(format!(
                    "{account} loses the pull secret that was added to it"
                ));
            }
            let others: Vec<&str> = others.map(SolutionName::as_str).collect();
            let with = match others.join(", ") {
                others if others.is_empty() => String::new(),
                others => format!(" with {others}"),
            };
            notes.push(format!(
                "environment {environment} is kept, in namespace {namespace}{with}"
            ));
        }
        notes.extend(self.definitions.notes());
        Ok(notes)
    }
}

/// Checks whether a version was pushed to the registry of a client.
fn is_at(record: &Record, client: &Client) -> bool {
    let registry = record.registry();
    registry.is_ok_and(|registry| registry == *client.address())
}

/// Returns the registries that have the images of a Solution.
pub async fn registries(
    cluster: &Cluster,
    solution: &SolutionName,
) -> Result<BTreeSet<RegistryAddress>, Error> {
    let state = ClusterState::read(cluster).await?;
    let own = state
        .records
        .iter()
        .filter(|record| record.name == *solution);
    own.map(|record| Ok(record.registry()?)).collect()
}
