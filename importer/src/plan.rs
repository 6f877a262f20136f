//! What an import would do: everything that can be known before the first byte is written. Reading only.

use std::collections::BTreeMap;

use deployer::{Cluster, Conflicts, FieldManager, Object};
use registry::Client;
use schemas::{SolutionId, Version};
use validator::Accepted;

use crate::crd::{self, Change};
use crate::error::Error;
use crate::images::{self, Images};
use crate::notes::notes;
use crate::obstacle::Obstacle;
use crate::record::{self, Record, RecordedImage};
use crate::request::{Replace, Request, Target};
use crate::signers::Memory;
use crate::state::State;
use crate::summary::{Summary, kept, planned, planned_target, summary};
use crate::target::Planner;
use crate::{rights, trial, vocabulary as v};

/// The oldest Kubernetes that has everything an import uses (server-side apply, stable).
const OLDEST_MINOR: u32 = 22;
/// Bytes that a ConfigMap may hold, with room for its metadata.
const RECORD_SIZE: usize = 1_000_000;

/// A plan, and all that applying it needs.
#[derive(Debug)]
pub struct Plan {
    pub(crate) request: Request,
    pub(crate) id: SolutionId,
    pub(crate) state: State,
    pub(crate) images: Images,
    pub(crate) record: Record,
    pub(crate) crds: Vec<(Object, Change)>,
    pub(crate) deployment: Option<Deployment>,
    obstacles: Vec<Obstacle>,
    summary: Summary,
}

/// A plan with nothing in its way: the only one that can be applied.
#[derive(Debug)]
pub struct Ready(pub(crate) Plan);

impl Ready {
    /// The plan in words.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        self.0.summary()
    }
}

/// What is deployed in an environment's namespace.
#[derive(Debug)]
pub(crate) struct Deployment {
    pub(crate) target: Target,
    pub(crate) namespace: Object,
    pub(crate) objects: Vec<Object>,
    pub(crate) operator: String,
    pub(crate) previous: Option<Version>,
    /// Whether the namespace was there when the plan was made.
    pub(crate) namespace_was_there: bool,
}

impl Plan {
    /// Finds out what an import would do, and what is in its way. Nothing is written.
    pub async fn make(
        accepted: &Accepted,
        client: &Client,
        cluster: &Cluster,
        request: Request,
    ) -> Result<Self, Error> {
        let mut obstacles = Vec::new();
        let id = accepted.statement().predicate.id.clone();
        let mut images =
            images::plan(accepted, client, request.allowed.replace, &mut obstacles).await?;
        check_version(cluster, &mut obstacles);
        // Without the right to read, nothing more can be known.
        rights::check_reading(cluster, &mut obstacles).await?;
        if !obstacles.is_empty() {
            return Ok(Self::unreadable(
                accepted, cluster, request, images, obstacles,
            ));
        }
        let state = State::read(cluster).await?;
        let record = record_of(accepted, &request, &id);
        check_record(&state, &record, request.allowed.replace, &mut obstacles);
        if !state.has_archive(&record) {
            obstacles.extend(state.signers.check(&record, request.allowed));
        }
        images.job.mount_from = images::earlier(client.address(), &state, &record)?;
        let notes = notes(accepted, cluster, &state, &id).await?;
        let crds = plan_crds(accepted, cluster, &request, &id, &mut obstacles).await?;
        let deployment = match request.target.clone() {
            Some(target) => {
                let planner = Planner {
                    accepted,
                    cluster,
                    request: &request,
                    id: &id,
                    state: &state,
                    record: &record,
                };
                planner.deployment(target, &mut obstacles).await?
            }
            None => None,
        };
        rights::check_writing(
            cluster,
            id.name(),
            &crds,
            deployment.as_ref(),
            &mut obstacles,
        )
        .await?;
        let mut summary = summary(cluster, &request, &record, &images);
        summary.recorded = state.record(id.name(), id.version()).is_some();
        summary.target = deployment.as_ref().map(planned_target);
        summary.notes = notes;
        let mut plan = Self {
            request,
            id,
            state,
            images,
            record,
            crds,
            deployment,
            obstacles,
            summary,
        };
        plan.try_objects(cluster).await?;
        Ok(plan)
    }

    fn unreadable(
        accepted: &Accepted,
        cluster: &Cluster,
        request: Request,
        images: Images,
        obstacles: Vec<Obstacle>,
    ) -> Self {
        let id = accepted.statement().predicate.id.clone();
        let record = record_of(accepted, &request, &id);
        let summary = summary(cluster, &request, &record, &images);
        let state = State {
            records: Vec::new(),
            namespaces: Vec::new(),
            active: BTreeMap::new(),
            signers: Memory::default(),
        };
        Self {
            request,
            id,
            state,
            images,
            record,
            crds: Vec::new(),
            deployment: None,
            obstacles,
            summary,
        }
    }

    /// The plan in words.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// What is in the way.
    #[must_use]
    pub fn obstacles(&self) -> &[Obstacle] {
        &self.obstacles
    }

    /// The plan to apply, if nothing is in its way.
    pub fn ready(self) -> Result<Ready, Box<Self>> {
        if self.obstacles.is_empty() {
            Ok(Ready(self))
        } else {
            Err(Box::new(self))
        }
    }

    /// Lets the server try every object, with its admission rules, and keeps the answers.
    async fn try_objects(&mut self, cluster: &Cluster) -> Result<(), Error> {
        if !self.obstacles.is_empty() {
            return Ok(());
        }
        let mut all: Vec<Object> = self
            .crds
            .iter()
            .filter(|(_, change)| !matches!(change, Change::KeepNewer(_)))
            .map(|(object, _)| object.clone())
            .collect();
        let crds = all.len();
        if let Some(deployment) = &self.deployment {
            all.push(deployment.namespace.clone());
            all.extend(deployment.objects.iter().cloned());
        }
        let mut tried = Vec::new();
        for (object, trial) in cluster.dry_run(&all, &manager(), Conflicts::Force).await? {
            match planned(&object, trial) {
                Ok(object) => tried.push(object),
                Err(obstacle) => self.obstacles.push(obstacle),
            }
        }
        if let Some(deployment) = &self.deployment {
            self.obstacles
                .extend(trial::pod(cluster, deployment).await?);
        }
        let kept = self
            .crds
            .iter()
            .filter_map(|(object, change)| match change {
                Change::KeepNewer(newer) => Some(kept(object, newer)),
                Change::Create | Change::Update => None,
            });
        self.summary.crds.extend(kept);
        if self.obstacles.is_empty() {
            let objects = tried.split_off(crds.min(tried.len()));
            self.summary.crds.extend(tried);
            if let Some(target) = &mut self.summary.target {
                target.objects = objects;
            }
        }
        Ok(())
    }
}

/// The one field manager.
pub(crate) fn manager() -> FieldManager {
    FieldManager::new(v::FIELD_MANAGER).expect("the constant is a field manager's name")
}

fn check_version(cluster: &Cluster, obstacles: &mut Vec<Obstacle>) {
    let version = cluster.version();
    if (version.major, version.minor) < (1, OLDEST_MINOR) {
        obstacles.push(Obstacle::no(
            format!("the cluster runs Kubernetes {}", version.text),
            format!("importing needs 1.{OLDEST_MINOR} or newer"),
        ));
    }
}

fn record_of(accepted: &Accepted, request: &Request, id: &SolutionId) -> Record {
    let recorded = |image: &validator::AcceptedImage| RecordedImage {
        image: image.place.clone(),
        digest: image.root().digest,
        reference: image.reference.clone(),
    };
    Record {
        name: id.name().clone(),
        version: id.version().clone(),
        archive_id: accepted.archive_id(),
        signers: accepted
            .signers()
            .map(|signers| signers.trusted.clone())
            .unwrap_or_default(),
        pushed_to: images::endpoint(&request.registry, id),
        endpoint: images::endpoint(&request.pull_registry, id),
        images: accepted.images().iter().map(recorded).collect(),
        imported: request.now,
        manifest: accepted.manifest().clone(),
    }
}

fn check_record(state: &State, record: &Record, replace: Replace, obstacles: &mut Vec<Obstacle>) {
    let mut all: Vec<Record> = state.records.clone();
    all.retain(|known| (&known.name, &known.version) != (&record.name, &record.version));
    all.push(record.clone());
    for (what, object) in [
        ("the record of this version", record.to_object()),
        (
            "the list of all imported versions",
            record::projection(&all, &state.active),
        ),
    ] {
        let size = object.to_string().len();
        if size > RECORD_SIZE {
            obstacles.push(Obstacle::no(
                format!("{what} would have {size} bytes, and a ConfigMap holds about 1 MiB"),
                "`solution unimport` versions that nobody needs, or have the publisher shorten the manifest",
            ));
        }
    }
    let earlier = state.record(&record.name, &record.version);
    let Some(earlier) = earlier.filter(|earlier| earlier.archive_id != record.archive_id) else {
        return;
    };
    if replace == Replace::Refuse {
        obstacles.push(Obstacle::no(
            format!(
                "{}-{} was imported from another archive, {}; this one is {}",
                record.name, record.version, earlier.archive_id, record.archive_id
            ),
            "ask the publisher which is right; `--replace` takes this one",
        ));
    }
}

async fn plan_crds(
    accepted: &Accepted,
    cluster: &Cluster,
    request: &Request,
    id: &SolutionId,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Vec<(Object, Change)>, Error> {
    let mut crds = Vec::new();
    // Importing alone changes nothing that runs.
    if request.target.is_none() {
        return Ok(crds);
    }
    for definition in accepted.crds() {
        let wanted = &definition.document;
        let plain = Object::new(wanted.clone())?;
        let active = cluster.get(plain.reference()).await?;
        let before = crd::was_there_before(active.as_ref());
        let object = Object::new(crd::labelled(id.name(), id.version(), wanted, before))?;
        match crd::decide(
            id.name(),
            id.version(),
            wanted,
            active.as_ref(),
            request.allowed.adopt,
        ) {
            Ok(change) => crds.push((object, change)),
            Err(obstacle) => obstacles.push(obstacle),
        }
    }
    Ok(crds)
}
