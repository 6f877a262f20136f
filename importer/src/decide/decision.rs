//! The decision of an import for the current state of the cluster: its CRDs, objects, rights and blockers.
//! [`Decision::make`] computes it. A plan shows it to the user. Pushing images takes time, so the import decides again
//! while it holds the Leases, and continues only if there are no differences ([`Decision::differences`]).

use kubernetes::{Cluster, ConflictPolicy, Gvk, Object};
use manifests::Definition;
use planner::{vocabulary as v, without_server_fields};
use serde_json::Value;
use store::{Record, ReplacePolicy};

use crate::choices::redact::HiddenTexts;
use crate::decide::deployment::Deployment;
use crate::decide::setting::Planner;
use crate::model::blocker::{AdministratorTask, Blocker};
use crate::model::differences::PlanDifferences;
use crate::model::error::Error;
use crate::model::request::{Goal, Migrate, PlanRequest};
use crate::model::writer::Authority;
use crate::objects::crd::{self, CrdChange, Newer, PlannedCrd};
use crate::objects::{losses, migration, schema};
use crate::records::record;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// The maximum size of a record in bytes. A ConfigMap holds 1 MiB; the rest is for its metadata.
const RECORD_SIZE: usize = 1_000_000;

/// A decision with its blockers.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) state: ClusterState,
    pub(crate) crds: Vec<PlannedCrd>,
    pub(crate) deployment: Option<Deployment>,
    pub(crate) blockers: Vec<Blocker>,
}

impl Decision {
    /// Decides from the state of the cluster. It reads further objects, and writes none.
    pub(crate) async fn make(
        asked: &PlanRequest<'_>,
        state: ClusterState,
        cluster: &Cluster,
    ) -> Result<Self, Error> {
        let PlanRequest {
            request, record, ..
        } = asked;
        let mut decision = Self {
            state,
            crds: Vec::new(),
            deployment: None,
            blockers: Vec::new(),
        };
        let state = &decision.state;
        let blockers = &mut decision.blockers;
        check_record(state, record, request.allowed.replace, blockers);
        if !state.has_archive(record) {
            blockers.extend(state.signers.check(record, request.allowed));
        }
        match &request.goal {
            // An import without deployment changes nothing that runs.
            Goal::Available => {}
            Goal::Activated => {
                if asked.accepted.crds().is_empty() {
                    blockers.push(Blocker::NoCrds {
                        solution_id: asked.id.clone(),
                    });
                }
                decision.crds = asked.crds(cluster, blockers).await?;
                losses::check_return(asked, cluster, state, blockers).await?;
                migration::check(&decision.crds, &asked.id, cluster, state, blockers).await?;
            }
            Goal::Deployed(target) => {
                match &request.authority {
                    Authority::Cluster => {
                        decision.crds = asked.crds(cluster, blockers).await?;
                    }
                    Authority::Namespace(_) => asked.check_served(cluster, blockers).await?,
                }
                let planner = Planner {
                    asked,
                    cluster,
                    state,
                    target,
                    crds: &decision.crds,
                };
                decision.deployment = planner.deployment(blockers).await?;
                let carried = decision.deployment.iter().filter_map(|deployment| {
                    let size = deployment
                        .change
                        .inventory
                        .with(&deployment.change.before)
                        .size();
                    let record = "the list of all packaged objects";
                    (size > RECORD_SIZE).then_some(Blocker::RecordTooLarge { record, size })
                });
                blockers.extend(carried);
            }
        }
        Ok(decision)
    }

    /// Returns all objects for the API server's dry run, CRDs first, each with its policy for fields of other field
    /// managers.
    pub(crate) fn tried(
        &self,
        asked: &PlanRequest<'_>,
    ) -> Result<Vec<(Object, ConflictPolicy)>, Error> {
        let crds = self.crds.iter();
        let crds = crds.filter_map(|crd| Some((crd.tried()?.clone(), crd.conflicts(asked))));
        let mut tried: Vec<(Object, ConflictPolicy)> = crds.collect();
        if let Some(deployment) = &self.deployment {
            let space = match asked.request.authority {
                Authority::Cluster => Some(Object::new(deployment.space())?),
                Authority::Namespace(_) => None,
            };
            let changes = deployment.change.changes();
            // A recreated object must not be dry-run: the server would compare it with the object that is deleted
            // first.
            let changes = changes.filter(|change| change.replaced().is_none());
            let objects = changes.map(|change| change.applied().clone());
            let objects = space.into_iter().chain(objects);
            tried.extend(objects.map(|object| {
                let conflicts = asked.conflicts(&object);
                (object, conflicts)
            }));
        }
        Ok(tried)
    }

    /// Returns the texts to hide from messages.
    pub(crate) fn hidden(&self) -> HiddenTexts {
        let deployment = self.deployment.as_ref();
        let hidden = deployment.map(|deployment| deployment.parameters.hidden.clone());
        hidden.unwrap_or_default()
    }

    /// Returns the differences of a later decision for the same request.
    pub(crate) fn differences(&self, later: &Self, asked: &PlanRequest<'_>) -> PlanDifferences {
        let mut differences = PlanDifferences::default();
        differences.compare_entries(&self.blockers, &later.blockers, Blocker::to_string);
        let name = |crd: &PlannedCrd| crd.object.reference().to_string();
        differences.compare_entries(&self.crds, &later.crds, name);
        match (&self.deployment, &later.deployment) {
            (Some(deployment), Some(later)) => deployment.compare(later, &mut differences),
            (one, other) => differences.compare_rest(&one.is_some(), &other.is_some()),
        }
        let solution = asked.id.name();
        let namespace = self.deployment.as_ref().map(Deployment::namespace);
        let [records, later_records] =
            [self, later].map(|decision| decision.state.concerning(solution, namespace));
        differences.compare_part(
            format!("the records of {solution}"),
            &records,
            &later_records,
        );
        differences
    }
}

impl PlanRequest<'_> {
    /// Returns the policy for fields of an object that other field managers own. A namespace and its default account
    /// are shared, and a deployment only writes its own additions there. These are therefore forced.
    pub(crate) fn conflicts(&self, object: &Object) -> ConflictPolicy {
        if object.labels().contains_key(v::SOLUTION) {
            self.request.allowed.conflicts
        } else {
            ConflictPolicy::Force
        }
    }

    /// Adds blockers for CRDs of the archive that the cluster does not serve. Every user may read the served APIs, but
    /// only cluster administrators may read the schemas.
    async fn check_served(
        &self,
        cluster: &Cluster,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let shared = self.accepted.crds().iter();
        for definition in shared.chain(self.accepted.converted_crds()) {
            let document = &definition.document;
            let definition = Definition(document);
            let group = definition.group();
            for version in definition.served() {
                let served = Gvk::new(&format!("{group}/{version}"), definition.kind());
                if !cluster.serves(&served).await? {
                    let crd = manifests::text(document, "/metadata/name").to_owned();
                    let api = version.to_owned();
                    blockers.push(AdministratorTask::CrdInactive { crd, api }.into());
                }
            }
        }
        Ok(())
    }

    async fn crds(
        &self,
        cluster: &Cluster,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Vec<PlannedCrd>, Error> {
        let mut crds = Vec::new();
        for definition in self.accepted.crds() {
            let definition = &definition.document;
            let live = read_if_allowed(cluster, &crd::reference(definition)).await?;
            let crd = match self.crd(definition, live.as_ref()) {
                Ok(crd) => crd,
                Err(Error::Refused(blocker)) => {
                    blockers.push(blocker);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(live) = &live {
                let lost = losses::check(cluster, live, &crd.narrowings, self.id.version());
                blockers.extend(lost.await?);
            }
            crds.push(crd);
        }
        Ok(crds)
    }

    /// Returns a CRD of the archive as it would be applied over the live one.
    pub(crate) fn crd(
        &self,
        definition: &Value,
        live: Option<&Object>,
    ) -> Result<PlannedCrd, Error> {
        let (name, version) = (self.id.name(), self.id.version());
        let adopt = self.request.allowed.adopt.crds;
        let newer = match self.request.goal {
            Goal::Activated => Newer::Replace,
            Goal::Available | Goal::Deployed(_) => Newer::Keep,
        };
        let decided = crd::decide(name, version, definition, live, adopt, newer);
        let change = match (decided, live, self.request.allowed.migrate) {
            (
                Err(refused @ (Blocker::CrdStored { .. } | Blocker::CrdDrops { .. })),
                Some(live),
                Migrate::Allow,
            ) => CrdChange::Migrate(migration::find_migration(live, definition).ok_or(refused)?),
            (decided, ..) => decided?,
        };
        let replaced = live.filter(|_| change.replaces());
        let narrowings = replaced.map(|live| schema::narrowings(live.as_value(), definition));
        let object = crd::labelled(name, version, definition, crd::was_there_before(live));
        let (active, transition) = match (&change, live) {
            (CrdChange::Migrate(migration), Some(live)) => {
                let transition = migration::transition(live, &object, migration);
                let active = without_server_fields(live.clone().into_value());
                (Some(Object::new(active)?), Some(Object::new(transition)?))
            }
            _ => (None, None),
        };
        Ok(PlannedCrd {
            definition: definition.clone(),
            object: Object::new(object)?,
            change,
            narrowings: narrowings.unwrap_or_default(),
            active,
            transition,
        })
    }
}

/// Adds blockers for records that are too large, and for a version that was already imported from another archive.
fn check_record(
    state: &ClusterState,
    record: &Record,
    replace: ReplacePolicy,
    blockers: &mut Vec<Blocker>,
) {
    let all = state.records_with(record);
    for (what, object) in [
        ("the record of this version", record::object(record)),
        (
            "the list of all imported versions",
            record::projection(&all, &state.active),
        ),
    ] {
        let size = object.to_string().len();
        if size > RECORD_SIZE {
            blockers.push(Blocker::RecordTooLarge { record: what, size });
        }
    }
    let earlier = state.record(&record.name, &record.version);
    let Some(earlier) = earlier.filter(|earlier| earlier.archive_id != record.archive_id) else {
        return;
    };
    if replace == ReplacePolicy::Refuse {
        blockers.push(Blocker::OtherArchive {
            solution_id: record.id(),
            imported: earlier.archive_id,
            archive: record.archive_id,
        });
    }
}
