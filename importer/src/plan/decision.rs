//! The decision of an import about the cluster as it is: which CRDs, which objects, which rights. A plan shows it.
//! Pushing takes time, so it is decided again under the Leases, and carried out only if it comes out the same.

use change::{vocabulary as v, without_server_fields};
use deployer::{Cluster, Conflicts, Gvk, Object};
use manifests::Definition;
use serde_json::Value;
use shelf::{Record, Replace};

use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::look::look;
use crate::model::obstacle::{Above, Obstacle};
use crate::model::record;
use crate::model::request::{Asked, Goal, Migrate};
use crate::model::state::ClusterState;
use crate::plan::back;
use crate::plan::crd::{self, CrdChange, Newer, PlannedCrd};
use crate::plan::deployment::Deployment;
use crate::plan::losses;
use crate::plan::migration;
use crate::plan::schema;
use crate::plan::setting::Planner;

/// Bytes that a ConfigMap may hold, with room for its metadata.
const RECORD_SIZE: usize = 1_000_000;

/// The decision, and the obstacles to it.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) state: ClusterState,
    pub(crate) crds: Vec<PlannedCrd>,
    pub(crate) deployment: Option<Deployment>,
    pub(crate) obstacles: Vec<Obstacle>,
}

impl Decision {
    /// Decides from the cluster's state, and what else is read of it. Nothing is written.
    pub(crate) async fn make(
        asked: &Asked<'_>,
        state: ClusterState,
        cluster: &Cluster,
    ) -> Result<Self, Error> {
        let Asked {
            request, record, ..
        } = asked;
        let mut decision = Self {
            state,
            crds: Vec::new(),
            deployment: None,
            obstacles: Vec::new(),
        };
        let state = &decision.state;
        let obstacles = &mut decision.obstacles;
        check_record(state, record, request.allowed.replace, obstacles);
        if !state.has_archive(record) {
            obstacles.extend(state.signers.check(record, request.allowed));
        }
        match &request.goal {
            // Importing alone changes nothing that runs.
            Goal::Available => {}
            Goal::Activated => {
                if asked.accepted.crds().is_empty() {
                    obstacles.push(Obstacle::NoCrds {
                        solution_id: asked.id.clone(),
                    });
                }
                decision.crds = asked.crds(cluster, obstacles).await?;
                back::check(asked, cluster, state, obstacles).await?;
                migration::check(&decision.crds, &asked.id, cluster, state, obstacles).await?;
            }
            Goal::Deployed(target) => {
                match &request.authority {
                    Authority::Cluster => {
                        decision.crds = asked.crds(cluster, obstacles).await?;
                    }
                    Authority::Namespace(_) => asked.check_served(cluster, obstacles).await?,
                }
                let planner = Planner {
                    asked,
                    cluster,
                    state,
                    target,
                    crds: &decision.crds,
                };
                decision.deployment = planner.deployment(obstacles).await?;
                let carried = decision.deployment.iter().filter_map(|deployment| {
                    let size = deployment
                        .change
                        .inventory
                        .with(&deployment.change.before)
                        .size();
                    let record = "the list of all packaged objects";
                    (size > RECORD_SIZE).then_some(Obstacle::RecordTooLarge { record, size })
                });
                obstacles.extend(carried);
            }
        }
        Ok(decision)
    }

    /// Returns everything that the server can try, CRDs first, with the treatment of fields in it that others own.
    pub(crate) fn tried(&self, asked: &Asked<'_>) -> Result<Vec<(Object, Conflicts)>, Error> {
        let crds = self.crds.iter();
        let crds = crds.filter_map(|crd| Some((crd.tried()?.clone(), crd.conflicts(asked))));
        let mut tried: Vec<(Object, Conflicts)> = crds.collect();
        if let Some(deployment) = &self.deployment {
            let space = match asked.request.authority {
                Authority::Cluster => Some(Object::new(deployment.space())?),
                Authority::Namespace(_) => None,
            };
            let changes = deployment.change.changes();
            // The server would compare it with the one that goes.
            let changes = changes.filter(|it| it.replaced().is_none());
            let objects = changes.map(|it| it.applied().clone());
            let objects = space.into_iter().chain(objects);
            tried.extend(objects.map(|object| {
                let conflicts = asked.conflicts(&object);
                (object, conflicts)
            }));
        }
        Ok(tried)
    }

    /// Whether another decision about the same request would do the same.
    pub(crate) fn is_same(&self, other: &Self, asked: &Asked<'_>) -> bool {
        let solution = asked.id.name();
        let namespace = self.deployment.as_ref().map(Deployment::namespace);
        self.obstacles == other.obstacles
            && self.crds == other.crds
            && self.deployment == other.deployment
            && self.state.concerning(solution, namespace)
                == other.state.concerning(solution, namespace)
    }

    /// Returns the parts in which a later decision about the same request differs, for a message.
    pub(crate) fn differences(&self, later: &Self, asked: &Asked<'_>) -> Vec<String> {
        let solution = asked.id.name();
        let obstacles = later.obstacles.iter();
        let new = obstacles.filter(|obstacle| !self.obstacles.contains(obstacle));
        let mut differences: Vec<String> = new.map(Obstacle::to_string).collect();
        let crds = later.crds.iter().filter(|crd| !self.crds.contains(crd));
        differences.extend(crds.map(|crd| crd.object.reference().to_string()));
        if let (Some(deployment), Some(later)) = (&self.deployment, &later.deployment) {
            differences.extend(deployment.differences(later));
        }
        let namespace = self.deployment.as_ref().map(Deployment::namespace);
        if self.state.concerning(solution, namespace) != later.state.concerning(solution, namespace)
        {
            differences.push(format!("the records of {solution}"));
        }
        differences
    }
}

impl Asked<'_> {
    /// Returns the treatment of fields that others own in one of an operator's objects. A namespace and its default
    /// account are shared: a deployment writes only its own additions there.
    pub(crate) fn conflicts(&self, object: &Object) -> Conflicts {
        if object.labels().contains_key(v::SOLUTION) {
            self.request.allowed.conflicts
        } else {
            Conflicts::Force
        }
    }

    /// Whether the cluster serves what the CRDs of the archive define. Everybody may ask that; their schemas are seen by
    /// the cluster's administrators alone.
    async fn check_served(
        &self,
        cluster: &Cluster,
        obstacles: &mut Vec<Obstacle>,
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
                    obstacles.push(Above::CrdInactive { crd, api }.into());
                }
            }
        }
        Ok(())
    }

    async fn crds(
        &self,
        cluster: &Cluster,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<PlannedCrd>, Error> {
        let mut crds = Vec::new();
        for definition in self.accepted.crds() {
            let definition = &definition.document;
            let live = look(cluster, &crd::reference(definition)).await?;
            let crd = match self.crd(definition, live.as_ref()) {
                Ok(crd) => crd,
                Err(Error::Refused(obstacle)) => {
                    obstacles.push(obstacle);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(live) = &live {
                let lost = losses::check(cluster, live, &crd.narrowings, self.id.version());
                obstacles.extend(lost.await?);
            }
            crds.push(crd);
        }
        Ok(crds)
    }

    /// A CRD of the archive as it would be applied to what is there.
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
                Err(refused @ (Obstacle::CrdStored { .. } | Obstacle::CrdDrops { .. })),
                Some(live),
                Migrate::Allow,
            ) => CrdChange::Migrate(migration::of(live, definition).ok_or(refused)?),
            (decided, ..) => decided?,
        };
        let replaced = live.filter(|_| change.replaces());
        let narrowings = replaced.map(|live| schema::narrowings(live.as_value(), definition));
        let object = crd::labelled(name, version, definition, crd::was_there_before(live));
        let (active, between) = match (&change, live) {
            (CrdChange::Migrate(migration), Some(live)) => {
                let between = migration::between(live, &object, migration);
                let active = without_server_fields(live.clone().into_value());
                (
                    Some(Object::new(active)?),
                    between.map(Object::new).transpose()?,
                )
            }
            _ => (None, None),
        };
        Ok(PlannedCrd {
            definition: definition.clone(),
            object: Object::new(object)?,
            change,
            narrowings: narrowings.unwrap_or_default(),
            active,
            between,
        })
    }
}

fn check_record(
    state: &ClusterState,
    record: &Record,
    replace: Replace,
    obstacles: &mut Vec<Obstacle>,
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
            obstacles.push(Obstacle::RecordTooLarge { record: what, size });
        }
    }
    let earlier = state.record(&record.name, &record.version);
    let Some(earlier) = earlier.filter(|earlier| earlier.archive_id != record.archive_id) else {
        return;
    };
    if replace == Replace::Refuse {
        obstacles.push(Obstacle::OtherArchive {
            solution_id: record.id(),
            imported: earlier.archive_id,
            archive: record.archive_id,
        });
    }
}
