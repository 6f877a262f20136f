//! The releases of charts that a deployment has: what Helm is to do about each, and what it would send. Nothing is run but a
//! rendering.
//!
//! Whether anything is to be done is judged by what goes in, never by a rendering: charts make passwords and certificates
//! anew each time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use deployer::{Cluster, Conflicts, FieldManager, Gvk, Object, ObjectRef, Trial};
use helm::{Helm, HelmError, ReleaseStatus};
use manifests::Expansion;
use schemas::{ChartVersion, Digest, ImageReference, KubernetesName, Namespace, Strategy, yaml};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use validator::CarriedChart;
use watch::Cancel;

use crate::limits;
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::namespace_record::NamespaceRecord;
use crate::model::obstacle::{Above, Obstacle, Unfit, named};
use crate::model::owner::look_all;
use crate::model::release::{RecordedRelease, namespace_of};
use crate::model::request::{Adopt, Asked, HelmProgram};
use crate::model::state::ClusterState;
use crate::plan::carrying::{addresses, is_scaled};
use crate::plan::diff;
use crate::plan::finish::{Finish, FinishInputs, POLICY, is_definition, kinds_of};
use crate::plan::hidden::Hidden;
use crate::plan::kinds::Unknown;
use crate::plan::standing::{StandingRelease, Stands};
use crate::plan::summary::{self, PlannedChart, PlannedObject};

/// Counts what finishes objects: other objects of the same chart are another input.
const FINISHED_AS: &str = "1";
/// Where an object says at which events Helm makes it.
const HOOK: &str = "helm.sh/hook";
/// The field manager by which Helm applies objects, whatever its program is called.
const MANAGER: &str = "helm";

/// What is to be done about all releases of a deployment.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    /// Those of the version, each behind those that it needs.
    pub(crate) all: Vec<PlannedRelease>,
    /// Those that only the version before has, in the order to uninstall them.
    pub(crate) going: Vec<RecordedRelease>,
    /// What was recorded of the version before.
    pub(crate) before: Vec<RecordedRelease>,
    /// What Helm is run with; none where there is nothing for it to do.
    pub(crate) helm: Option<Helm>,
}

/// A release, and what is to be done about it.
#[derive(Debug)]
pub(crate) struct PlannedRelease {
    pub(crate) recorded: RecordedRelease,
    /// How long Helm waits for each of its steps.
    pub(crate) timeout: Duration,
    /// The values as Helm gets them, in YAML.
    pub(crate) values: String,
    pub(crate) step: Step,
    /// The objects that it has then, as Helm would send them; for a release that stays, as it sent them.
    pub(crate) objects: Vec<Object>,
    /// Those that it has now, as they were sent.
    pub(crate) before: Vec<Object>,
    pub(crate) finish: FinishInputs,
    /// Helm's newest revision of it.
    pub(crate) revision: Option<u32>,
    /// The revision to go back to; none of one that never came up.
    pub(crate) back: Option<u32>,
    /// The revision that is recorded of it.
    pub(crate) known: Option<u32>,
    /// The chart's version in the archive.
    pub(crate) offered: ChartVersion,
}

/// What is to be done about a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing: what went in is what would go in.
    Keep,
    /// Nothing: it was installed once, and is left alone.
    Leave,
    /// Helm installs or upgrades it.
    Change(Mend),
}

/// What has to be done first about a run of Helm that was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mend {
    /// There was none.
    Nothing,
    /// It was the first, so there is nothing to go back to.
    Uninstall,
    /// The revision that was whole.
    RollBack(u32),
}

/// The same would be done to the same releases. What is random in their objects decides nothing.
impl PartialEq for Releases {
    fn eq(&self, other: &Self) -> bool {
        self.all == other.all && self.going == other.going
    }
}

impl PartialEq for PlannedRelease {
    fn eq(&self, other: &Self) -> bool {
        (&self.recorded, self.step, self.revision) == (&other.recorded, other.step, other.revision)
    }
}

impl Releases {
    /// What the site will record of them: of those that stay, the revision that they have.
    pub(crate) fn recorded(&self) -> Vec<RecordedRelease> {
        self.all.iter().map(|it| it.recorded.clone()).collect()
    }

    /// The objects of all releases as they will be.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.all.iter().flat_map(|it| &it.objects)
    }

    /// The same as they are.
    pub(crate) fn objects_before(&self) -> impl Iterator<Item = &Object> {
        self.all.iter().flat_map(|it| &it.before)
    }

    /// Whether Helm has anything to do.
    pub(crate) fn changes(&self) -> bool {
        !self.going.is_empty() || self.all.iter().any(PlannedRelease::changes)
    }
}

impl PlannedRelease {
    pub(crate) fn changes(&self) -> bool {
        matches!(self.step, Step::Change(_))
    }

    /// The same for people and programs.
    pub(crate) fn planned(&self, hidden: &Hidden) -> PlannedChart {
        let action = match (self.step, self.revision) {
            (Step::Keep, _) => "keep",
            (Step::Leave, _) => "leave",
            (Step::Change(_), None) => "install",
            (Step::Change(_), Some(_)) => "upgrade",
        };
        PlannedChart {
            release: self.recorded.to_string(),
            chart: format!("{} {}", self.recorded.chart, self.recorded.version),
            action: action.to_owned(),
            revision: self.revision,
            found: self.found(),
            objects: if self.changes() {
                self.changed(hidden)
            } else {
                Vec::new()
            },
        }
    }

    /// What others did to it since.
    fn found(&self) -> Option<String> {
        let revision = self.revision?;
        match (self.step, self.known) {
            (Step::Change(Mend::Uninstall), _) => Some(format!(
                "helm was cut off at revision {revision}, which is uninstalled first"
            )),
            (Step::Change(Mend::RollBack(back)), _) => Some(format!(
                "helm was cut off at revision {revision}; it goes back to revision {back} first"
            )),
            (Step::Leave, _) if self.offered != self.recorded.version => Some(format!(
                "version {} of the chart is not installed: it was installed once, and is left alone",
                self.offered
            )),
            (_, Some(known)) if known != revision => Some(format!(
                "revision {revision} is not from here; revision {known} was"
            )),
            _ => None,
        }
    }

    /// The objects that Helm would make, change or remove, compared with what it sent last.
    pub(crate) fn changed(&self, hidden: &Hidden) -> Vec<PlannedObject> {
        let (known, new) = (by_identity(&self.before), by_identity(&self.objects));
        let mut all = Vec::new();
        for object in self.objects.iter().filter(|it| !is_test(it)) {
            let before = known.get(&identity(object)).copied();
            let diff = diff::unified(before, Some(object), hidden);
            let action = match before {
                None => "create",
                Some(_) if diff.is_empty() => continue,
                Some(_) => "change",
            };
            all.push(planned_object(object, action, diff));
        }
        let goes = |it: &&Object| !is_kept(it) && !is_hook(it);
        for object in self.before.iter().filter(goes) {
            if !new.contains_key(&identity(object)) {
                let diff = diff::unified(Some(object), None, hidden);
                all.push(planned_object(object, "remove", diff));
            }
        }
        all
    }
}

/// What makes an object the same one, under whatever version of its API: group, kind, namespace and name.
type Identity<'a> = (&'a str, &'a str, Option<&'a str>, &'a str);

fn identity(object: &Object) -> Identity<'_> {
    let ObjectRef {
        gvk,
        namespace,
        name,
    } = object.reference();
    (&gvk.group, &gvk.kind, namespace.as_deref(), name)
}

fn by_identity(objects: &[Object]) -> BTreeMap<Identity<'_>, &Object> {
    objects.iter().map(|it| (identity(it), it)).collect()
}

fn planned_object(object: &Object, action: &str, diff: String) -> PlannedObject {
    PlannedObject {
        object: object.reference().to_string(),
        action: action.to_owned(),
        diff,
        ..PlannedObject::default()
    }
}

/// Everything that releases are planned from.
#[derive(Debug)]
pub(crate) struct Releasing<'a> {
    pub(crate) asked: &'a Asked<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    pub(crate) place: &'a NamespaceRecord,
    pub(crate) pull_secret: Option<&'a KubernetesName>,
    /// What is recorded of what stands there.
    pub(crate) before: &'a [RecordedRelease],
}

/// What charts are told of the cluster.
struct Capabilities {
    kubernetes: String,
    api_versions: Vec<String>,
}

impl Releasing<'_> {
    /// The releases, and what is in their way. `needed` says of which of them something else of the deployment needs it.
    pub(crate) async fn plan(
        &self,
        charts: &[&CarriedChart],
        needed: impl Fn(&CarriedChart) -> bool,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Releases, Error> {
        let mut releases = Releases {
            before: self.before.to_vec(),
            ..Releases::default()
        };
        if let Authority::Namespace(_) = self.asked.request.authority {
            if !charts.is_empty() {
                obstacles.push(Above::Carries(self.asked.id.clone()).into());
            }
            return Ok(releases);
        }
        for chart in charts {
            let planned = self.release(chart, needed(chart), obstacles).await?;
            releases.all.extend(planned);
        }
        let stays = |old: &&RecordedRelease| {
            let mut all = charts.iter().map(|it| &it.release);
            all.any(|it| old.is(namespace_of(it, &self.place.namespace), &it.name))
        };
        let going = self.before.iter().rev().filter(|old| !stays(old));
        releases.going = going.cloned().collect();
        if releases.changes() {
            releases.helm = program(&self.asked.request.helm, obstacles).await?;
        }
        if let Some(helm) = releases.helm.clone()
            && releases.all.iter().any(PlannedRelease::changes)
        {
            let capabilities = self.capabilities().await?;
            for planned in releases.all.iter_mut().filter(|it| it.changes()) {
                let mut charts = charts.iter();
                let chart = charts.find(|it| it.release.name == planned.recorded.name);
                if let Some(chart) = chart {
                    self.render(&helm, planned, (chart, &capabilities), obstacles)
                        .await?;
                }
            }
        }
        Ok(releases)
    }

    /// What is to be done about a release; none where that cannot be told for what is in the way.
    async fn release(
        &self,
        chart: &CarriedChart,
        needed: bool,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Option<PlannedRelease>, Error> {
        let release = &chart.release;
        let namespace = namespace_of(release, &self.place.namespace);
        self.check_namespace(namespace, obstacles).await?;
        let expansion = Expansion {
            images: addresses(&self.asked.record)?,
            ..Expansion::default()
        };
        let values = yaml::to_string(&expansion.expand_values(chart.values.clone())?);
        let finish = FinishInputs {
            record: self.asked.record.clone(),
            pull_secret: self.pull_secret.cloned(),
            environments: self.place.namespace.clone(),
            namespace: namespace.clone(),
            wide: BTreeSet::new(),
            replicas: BTreeMap::new(),
        };
        let mut recorded = RecordedRelease {
            name: release.name.clone(),
            namespace: namespace.clone(),
            chart: release.chart.clone(),
            version: release.version.clone(),
            revision: None,
            inputs: inputs(chart, &values, &finish),
            needed,
        };
        let standing = StandingRelease::look(self.cluster, namespace, &release.name).await?;
        let known = self
            .before
            .iter()
            .find(|it| it.is(namespace, &release.name));
        let stands = standing.as_ref().map(StandingRelease::stands);
        let adopt = self.asked.request.allowed.adopt.objects;
        let step = match step((release.strategy, adopt), &recorded, (known, stands)) {
            Ok(step) => step,
            Err(obstacle) => {
                obstacles.push(obstacle);
                return Ok(None);
            }
        };
        let revision = standing.as_ref().map(StandingRelease::revision);
        match step {
            Step::Keep => recorded.revision = revision,
            Step::Leave => recorded = known.cloned().unwrap_or(recorded),
            Step::Change(_) => {}
        }
        let once = known.and_then(|it| it.revision);
        let before = match &standing {
            Some(standing) => sent(self.cluster, standing, &recorded).await?,
            None => Vec::new(),
        };
        Ok(Some(PlannedRelease {
            recorded,
            timeout: release
                .timeout
                .as_ref()
                .map_or(limits::RELEASE_WAIT, schemas::Timeout::duration),
            values,
            step,
            objects: before.clone(),
            before,
            finish,
            revision,
            back: standing.and_then(|it| it.deployed).or(once),
            known: once,
            offered: release.version.clone(),
        }))
    }

    /// A release lies in a namespace that is there, and in none of another environment.
    async fn check_namespace(
        &self,
        namespace: &Namespace,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        if *namespace == self.place.namespace {
            return Ok(());
        }
        let mut others = self.state.namespaces.iter();
        let other = others
            .find(|it| it.namespace == *namespace && it.environment != self.place.environment);
        if let Some(other) = other {
            let environment = other.environment.clone();
            obstacles.push(Obstacle::NamespaceTaken(namespace.clone(), environment));
        }
        let reference = ObjectRef::cluster_scoped("v1", "Namespace", namespace.as_str());
        let carried = self.asked.accepted.sets().iter();
        let made = carried
            .flat_map(|it| &it.set.namespaces)
            .any(|it| it.name == *namespace);
        if !made && look_all(self.cluster, &[&reference]).await?[0].is_none() {
            obstacles.push(Unfit::NoNamespace(namespace.clone()).into());
        }
        Ok(())
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        let mut api_versions: BTreeSet<String> =
            self.cluster.api_versions().await?.into_iter().collect();
        for definition in self.asked.accepted.crds() {
            api_versions.extend(served_by(&definition.document));
        }
        Ok(Capabilities {
            kubernetes: self.cluster.version().text.clone(),
            api_versions: api_versions.into_iter().collect(),
        })
    }

    /// Renders a release as it will be, and looks for what is in its way.
    async fn render(
        &self,
        helm: &Helm,
        planned: &mut PlannedRelease,
        (chart, capabilities): (&CarriedChart, &Capabilities),
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let rendering = OwnedRendering {
            helm: helm.clone(),
            release: chart.release.name.clone(),
            namespace: planned.recorded.namespace.clone(),
            chart: chart.archive.clone(),
            values: planned.values.clone(),
            kubernetes: capabilities.kubernetes.clone(),
            api_versions: capabilities.api_versions.clone(),
            upgrade: planned.revision.is_some(),
        };
        let rendered = match rendering.run().await? {
            Ok(rendered) => rendered,
            Err(error) => {
                let (release, why) = (planned.recorded.to_string(), error.to_string());
                obstacles.push(Unfit::Rendering(release, why).into());
                return Ok(());
            }
        };
        let objects = objects(&planned.recorded, &rendered)?;
        planned.finish.wide = self.wide(&objects).await?;
        planned.finish.replicas = self.scaled(planned).await?;
        let finish = Finish::new(&planned.finish)?;
        let mut missing = BTreeSet::new();
        let mut finished = Vec::new();
        for object in objects {
            finished.push(Object::new(finish.finish(object, &mut missing)?)?);
        }
        planned.objects = finished;
        if !missing.is_empty() {
            let names = missing.iter().map(ImageReference::to_string).collect();
            let release = planned.recorded.to_string();
            obstacles.push(Unfit::NotCarried(release, named(names)).into());
        }
        self.check_kinds(planned, obstacles).await?;
        self.check_owners(planned, obstacles).await?;
        self.try_objects(planned, obstacles).await
    }

    /// Has the server try what Helm would apply: Helm itself would find out in the middle, and fail at the same when it
    /// goes back.
    async fn try_objects(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let manager = FieldManager::new(MANAGER).expect("the constant is a field manager's name");
        let applied = planned.objects.iter().filter(|it| !is_hook(it));
        let applied: Vec<Object> = applied.cloned().collect();
        let conflicts = self.asked.request.allowed.conflicts;
        let tried = self.cluster.dry_run(&applied, &manager, Conflicts::Force);
        for (object, (_, trial)) in applied.iter().zip(tried.await?) {
            // A kind or a namespace may come with the deployment; if not, that is found elsewhere.
            let is_coming = matches!(
                &trial,
                Trial::Refused(deployer::Error::NoSuchKind(_) | deployer::Error::NotFound { .. })
            );
            if !is_coming {
                let tried = summary::planned(object, trial, conflicts, &Hidden::default());
                obstacles.extend(tried.err());
            }
        }
        Ok(())
    }

    /// The kinds of these objects that belong to the whole cluster. Of those that come with the release it says so itself.
    async fn wide(&self, objects: &[Value]) -> Result<BTreeSet<(String, String)>, Error> {
        let mut wide = BTreeSet::new();
        let own: BTreeMap<(String, String), bool> = objects
            .iter()
            .chain(self.asked.accepted.crds().iter().map(|it| &it.document))
            .filter(|it| is_definition(it))
            .map(|it| {
                let text = |pointer| manifests::text(it, pointer).to_owned();
                let kind = (text("/spec/group"), text("/spec/names/kind"));
                (kind, text("/spec/scope") == "Cluster")
            })
            .collect();
        for (kind, api_version) in kinds_of(objects) {
            let is_wide = if let Some(is_wide) = own.get(&kind) {
                *is_wide
            } else {
                let served = self
                    .cluster
                    .served(&Gvk::new(&api_version, &kind.1))
                    .await?;
                served.is_some_and(|it| !it.namespaced)
            };
            if is_wide {
                wide.insert(kind);
            }
        }
        Ok(wide)
    }

    /// The numbers of pods that others have set, an autoscaler or a person, by what is scaled: they stay.
    async fn scaled(&self, planned: &PlannedRelease) -> Result<BTreeMap<String, u64>, Error> {
        let before = planned.before.iter();
        let before = before.filter(|it| it.as_value()["spec"]["replicas"].is_u64());
        let before: Vec<&ObjectRef> = before.map(Object::reference).collect();
        let live = look_all(self.cluster, &before).await?.into_iter().flatten();
        let scaled = live.filter(|it| is_scaled(it.as_value(), MANAGER));
        let scaled = scaled.filter_map(|it| {
            let replicas = it.as_value()["spec"]["replicas"].as_u64()?;
            Some((it.reference().to_string(), replicas))
        });
        Ok(scaled.collect())
    }

    /// Whether the cluster has the kinds of a release's objects, or will have.
    async fn check_kinds(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let carried = self.asked.accepted.crds().iter().map(|it| &it.document);
        let own = planned.objects.iter().map(Object::as_value);
        let definitions = carried.chain(own.filter(|it| is_definition(it)));
        let brought: BTreeSet<String> = definitions.clone().flat_map(served_by).collect();
        let mut unknown = Unknown::default();
        for object in &planned.objects {
            let gvk = object.gvk();
            let is_brought = brought.contains(&format!("{}/{}", gvk.api_version(), gvk.kind));
            if !is_brought && !self.cluster.serves(gvk).await? {
                unknown.add(gvk, object);
            }
        }
        obstacles.extend(unknown.obstacles(self.cluster, definitions).await?);
        Ok(())
    }

    /// Whether the objects that a release does not have yet are free, or its own by Helm's marks.
    async fn check_owners(
        &self,
        planned: &PlannedRelease,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<(), Error> {
        let known = by_identity(&planned.before);
        // What hooks make goes before they run anew.
        let is_new = |it: &&Object| !known.contains_key(&identity(it)) && !is_hook(it);
        let new = planned.objects.iter().filter(is_new);
        let new: Vec<&ObjectRef> = new.map(Object::reference).collect();
        let release = &planned.recorded;
        for live in look_all(self.cluster, &new).await?.into_iter().flatten() {
            let marks = live.annotations();
            let mark = |name: &str| marks.get(name).copied();
            let owner = mark("meta.helm.sh/release-name");
            let space = mark("meta.helm.sh/release-namespace");
            if (owner, space)
                == (
                    Some(release.name.as_str()),
                    Some(release.namespace.as_str()),
                )
            {
                continue;
            }
            let what = live.reference().to_string();
            match (owner, self.asked.request.allowed.adopt.objects) {
                (Some(owner), _) => {
                    obstacles.push(Unfit::OwnedByHelm(what, owner.to_owned()).into());
                }
                (None, Adopt::Allow) => {}
                (None, Adopt::Refuse) => {
                    obstacles.push(Unfit::NotOfRelease(what, release.to_string()).into());
                }
            }
        }
        Ok(())
    }
}

/// What is to be done about a release that would be recorded like this, is recorded like that, and stands so.
fn step(
    (strategy, adopt): (Strategy, Adopt),
    new: &RecordedRelease,
    (known, stands): (Option<&RecordedRelease>, Option<Stands>),
) -> Result<Step, Obstacle> {
    let Some(stands) = stands else {
        return Ok(Step::Change(Mend::Nothing));
    };
    let Stands {
        revision,
        status,
        deployed,
    } = stands;
    // Revisions count up: one below ours is of a release that was made anew.
    let known = known.filter(|it| it.revision.is_none_or(|ours| ours <= revision));
    let Some(known) = known else {
        // Somebody may be at work on it.
        return if adopt == Adopt::Allow && !status.is_pending() {
            Ok(Step::Change(Mend::Nothing))
        } else {
            Err(Unfit::ReleaseTaken(new.to_string(), revision).into())
        };
    };
    // What once came up keeps data: it is never uninstalled to mend it.
    let back = deployed.or(known.revision);
    let is_lost = status == ReleaseStatus::Failed && deployed.is_none();
    if is_lost || status.is_pending() || status == ReleaseStatus::Uninstalling {
        // Of a failed first one, Helm would have nothing to go back to.
        let mend = back.map_or(Mend::Uninstall, Mend::RollBack);
        return Ok(Step::Change(mend));
    }
    if strategy == Strategy::BootstrapOnly && known.revision.is_some() {
        return Ok(Step::Leave);
    }
    let is_ours = known.revision == Some(revision) && status == ReleaseStatus::Deployed;
    if is_ours && known.inputs == new.inputs {
        return Ok(Step::Keep);
    }
    Ok(Step::Change(Mend::Nothing))
}

/// A rendering that can go to another thread.
struct OwnedRendering {
    helm: Helm,
    release: schemas::ReleaseName,
    namespace: Namespace,
    chart: Vec<u8>,
    values: String,
    kubernetes: String,
    api_versions: Vec<String>,
    upgrade: bool,
}

impl OwnedRendering {
    /// Runs it; that Helm refuses is an answer.
    async fn run(self) -> Result<Result<Vec<u8>, HelmError>, Error> {
        let rendered = tokio::task::spawn_blocking(move || {
            let rendering = helm::Rendering {
                release: &self.release,
                namespace: &self.namespace,
                chart: &self.chart,
                values: self.values.as_bytes(),
                kubernetes: Some(&self.kubernetes),
                api_versions: &self.api_versions,
                definitions: false,
                upgrade: self.upgrade,
            };
            self.helm.template(&rendering, Cancel::never())
        });
        let rendered = rendered.await.expect("a rendering does not panic");
        Ok(rendered)
    }
}

/// What goes with a release when it is uninstalled, as far as Helm has stored it; hooks and what it is told to keep stay.
pub(crate) async fn uninstalled(
    cluster: &Cluster,
    release: &RecordedRelease,
) -> Result<Vec<ObjectRef>, Error> {
    let standing = StandingRelease::look(cluster, &release.namespace, &release.name).await?;
    let Some(standing) = standing else {
        return Ok(Vec::new());
    };
    let objects = sent(cluster, &standing, release).await?;
    let goes = |it: &&Object| !is_hook(it) && !is_kept(it);
    let going = objects.iter().filter(goes);
    Ok(going.map(|it| it.reference().clone()).collect())
}

/// Whether Helm leaves an object when the release goes.
pub(crate) fn is_kept(object: &Object) -> bool {
    let annotations = object.annotations();
    annotations.get(POLICY).is_some_and(|it| *it == "keep")
}

/// The program that Helm is run with, once it has said its version; that there is none is in the way.
pub(crate) async fn program(
    asked: &HelmProgram,
    obstacles: &mut Vec<Obstacle>,
) -> Result<Option<Helm>, Error> {
    let Some(program) = asked.program.clone() else {
        obstacles.push(Unfit::NoHelm.into());
        return Ok(None);
    };
    let at = |program: PathBuf| Helm::at(&program);
    let helm = tokio::task::spawn_blocking(move || at(program)).await;
    match helm.expect("a run of Helm does not panic") {
        Ok(helm) => Ok(Some(helm)),
        Err(error) => {
            obstacles.push(Unfit::Helm(error.to_string()).into());
            Ok(None)
        }
    }
}

/// The digest of all that decides what Helm makes of a chart.
fn inputs(chart: &CarriedChart, values: &str, finish: &FinishInputs) -> Digest {
    let mut digest = Sha256::new();
    let images = finish.record.images.iter();
    let images = images.map(|it| (&it.image, it.digest, it.reference.as_ref()));
    let finished = json!({
        "as": FINISHED_AS,
        "images": images.collect::<Vec<_>>(),
        "registry": finish.record.pull_registry().map(|it| it.to_string()).unwrap_or_default(),
        "pullSecret": finish.pull_secret,
        "namespace": finish.namespace,
    });
    for part in [&chart.digest.to_string(), values, &finished.to_string()] {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    Digest::new(digest.finalize().into())
}

/// The API versions that a definition serves, and its kind in each.
fn served_by(definition: &Value) -> Vec<String> {
    let spec = &definition["spec"];
    let group = manifests::text(spec, "/group");
    let kind = manifests::text(spec, "/names/kind");
    let versions = manifests::list(spec, "/versions").iter();
    let served = versions.filter(|it| it["served"] == true);
    served
        .filter_map(|it| it["name"].as_str())
        .flat_map(|version| {
            [
                format!("{group}/{version}"),
                format!("{group}/{version}/{kind}"),
            ]
        })
        .collect()
}

/// Whether Helm makes an object when something happens, and does not count it to the release.
pub(crate) fn is_hook(object: &Object) -> bool {
    object.annotations().contains_key(HOOK)
}

/// Whether an object is made only when somebody has Helm test the release.
fn is_test(object: &Object) -> bool {
    let annotations = object.annotations();
    let events = annotations.get(HOOK).map(|it| it.split(','));
    events.is_some_and(|mut events| events.all(|it| it.trim().starts_with("test")))
}

/// The objects of a rendering; documents that are none are left to Helm to refuse.
fn objects(release: &RecordedRelease, rendering: &[u8]) -> Result<Vec<Value>, Error> {
    let rendered = manifests::rendered(rendering).map_err(|source| Error::Rendered {
        release: release.to_string(),
        source,
    })?;
    Ok(rendered.into_iter().map(|it| it.value).collect())
}

/// The objects that Helm sent of a release, its hooks among them, each with the namespace that it lies in.
pub(crate) async fn sent(
    cluster: &Cluster,
    standing: &StandingRelease,
    release: &RecordedRelease,
) -> Result<Vec<Object>, Error> {
    let hooks = standing.newest.hooks.iter().map(String::as_str);
    let stream = std::iter::once(standing.newest.manifest.as_str()).chain(hooks);
    let stream = stream.collect::<Vec<_>>().join("\n---\n");
    let mut all = Vec::new();
    for mut object in objects(release, stream.as_bytes())? {
        let text = |pointer| manifests::text(&object, pointer);
        let kind = Gvk::new(text("/apiVersion"), text("/kind"));
        let is_placed = !text("/metadata/namespace").is_empty();
        let served = cluster.served(&kind).await?;
        if !is_placed
            && served.is_some_and(|it| it.namespaced)
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            metadata.insert("namespace".to_owned(), json!(release.namespace));
        }
        // Helm stores what it was given, whatever that was.
        all.extend(Object::new(object).ok());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::release::tests::recorded;

    fn stands(revision: u32, status: ReleaseStatus, deployed: Option<u32>) -> Stands {
        Stands {
            revision,
            status,
            deployed,
        }
    }

    fn step_of(
        strategy: Strategy,
        known: Option<&RecordedRelease>,
        stands: Option<Stands>,
    ) -> Option<Step> {
        let asked = (strategy, Adopt::Refuse);
        step(asked, &recorded("web", None), (known, stands)).ok()
    }

    #[test]
    fn nothing_is_done_where_nothing_else_would_go_in() {
        use ReleaseStatus as S;
        let known = recorded("web", Some(3));
        let other = RecordedRelease {
            inputs: Digest::new([2; 32]),
            ..known.clone()
        };
        let managed = |known, stands| step_of(Strategy::Managed, known, stands);
        let change = Some(Step::Change(Mend::Nothing));
        let deployed = |revision| Some(stands(revision, S::Deployed, Some(revision)));
        for (known, standing, expected) in [
            (Some(&known), deployed(3), Some(Step::Keep)),
            (Some(&known), deployed(4), change),
            (Some(&other), deployed(3), change),
            (Some(&known), Some(stands(3, S::Failed, Some(2))), change),
            (Some(&known), None, change),
            (None, None, change),
            (None, deployed(1), None),
            (Some(&known), deployed(1), None),
        ] {
            let found = managed(known, standing);
            assert_eq!(found, expected, "{known:?} {standing:?}");
        }
    }

    #[test]
    fn what_was_cut_off_is_mended_first() {
        use ReleaseStatus as S;
        let known = recorded("web", None);
        for (standing, mend) in [
            (stands(1, S::PendingInstall, None), Mend::Uninstall),
            (stands(1, S::Failed, None), Mend::Uninstall),
            (stands(3, S::PendingUpgrade, Some(2)), Mend::RollBack(2)),
            (stands(3, S::PendingRollback, Some(1)), Mend::RollBack(1)),
            (stands(2, S::Uninstalling, None), Mend::Uninstall),
        ] {
            let found = step_of(Strategy::Managed, Some(&known), Some(standing));
            assert_eq!(found, Some(Step::Change(mend)), "{standing:?}");
            // Others may be at work on what is not recorded.
            let asked = (Strategy::Managed, Adopt::Allow);
            let found = step(asked, &known, (None, Some(standing)));
            assert_eq!(found.is_ok(), !standing.status.is_pending());
        }
    }

    #[test]
    fn what_once_came_up_is_never_uninstalled_to_mend_it() {
        use ReleaseStatus as S;
        let known = recorded("web", Some(2));
        for status in [S::Failed, S::PendingUpgrade, S::Uninstalling] {
            let standing = Some(stands(4, status, None));
            let found = step_of(Strategy::Managed, Some(&known), standing);
            assert_eq!(found, Some(Step::Change(Mend::RollBack(2))), "{status:?}");
        }
    }

    #[test]
    fn a_chart_that_is_installed_once_is_left_alone() {
        let of = |revision| {
            let known = recorded("web", revision);
            let standing = stands(7, ReleaseStatus::Deployed, Some(7));
            step_of(Strategy::BootstrapOnly, Some(&known), Some(standing))
        };
        assert_eq!(of(Some(1)), Some(Step::Leave));
        assert_eq!(of(None), Some(Step::Change(Mend::Nothing)));
    }

    #[test]
    fn hooks_and_tests_are_told_by_their_events() {
        let object = |events: &str| {
            Object::new(json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": { "name": "p", "annotations": { HOOK: events } },
            }))
            .unwrap()
        };
        assert!(is_test(&object("test")) && is_hook(&object("test")));
        assert!(is_test(&object("test-success, test")));
        assert!(!is_test(&object("pre-install,test")));
    }

    #[test]
    fn a_definition_serves_its_versions_with_its_kind() {
        let definition = json!({ "spec": {
            "group": "a.test", "names": { "kind": "Cart" },
            "versions": [{ "name": "v1", "served": true }, { "name": "v2", "served": false }],
        } });
        assert_eq!(served_by(&definition), ["a.test/v1", "a.test/v1/Cart"]);
    }
}
