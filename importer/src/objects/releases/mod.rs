//! The Helm releases of a deployment: the change to each release, and the manifests that Helm would apply. Planning
//! only renders charts; it changes nothing in the cluster. [`Releasing::plan`] is the entry point.
//!
//! The decision to upgrade a release depends on the digest of its inputs and on changes that other field managers made
//! to its objects. It never depends on a comparison of renderings, because charts generate new passwords and
//! certificates each time that they are rendered.

pub(crate) mod applied_objects;
mod checks;
mod planned;
pub(crate) mod program;
mod rendering;
pub(crate) mod stored;
mod template_reads;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use charts::{Chart, UnnamedValue};
use helm::Helm;
use kubernetes::{Cluster, Object};
use manifests::{Expansion, is_definition, pod_specs};
use planner::{
    AdoptionPolicy, Inventory, ReleaseChange, ReleaseConflict, ReleaseEntry, ReleaseStep,
    RevisionEntry,
};
use schemas::{
    ChartRelease, Digest, KubernetesName, Namespace, PartName, ReleaseName, by_path, yaml,
};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use validator::PackagedChart;

pub(crate) use self::applied_objects::{
    DriftedObject, applied, holds, hook_events, is_hook, is_kept, is_test, manager, sent,
    uninstalled,
};
pub(crate) use self::planned::PlannedRelease;
use self::rendering::Capabilities;
use self::stored::StoredRelease;
pub use self::template_reads::accepts_reads;
use crate::choices::parameters::Parameters;
use crate::choices::redact::HiddenTexts;
use crate::choices::values::ReleaseValues;
use crate::helm_proxy::Lookups;
use crate::limits;
use crate::model::blocker::{AdministratorTask, Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::parameters::ParameterValues;
use crate::model::request::PlanRequest;
use crate::model::writer::Authority;
use crate::objects::crd::PlannedCrd;
use crate::objects::effects::Line;
use crate::objects::finish::FinishInputs;
use crate::objects::packaged::PodsElsewhere;
use crate::objects::sets;
use crate::records::namespace_record::{Consent, NamespaceRecord};
use crate::records::site::{HeldSite, SitePatch};
use crate::records::state::ClusterState;

/// The version of the code that finishes rendered objects. It is part of the digest of a release's inputs: a new
/// version that produces other objects from the same chart needs a new number.
const FINISHED_AS: &str = "2";

/// The field manager of objects that Helm applies. It does not depend on the name of Helm's program.
const MANAGER: &str = "helm";

/// The changes to all releases of a deployment.
#[derive(Debug, Default)]
pub(crate) struct Releases {
    /// The releases of the version, each after the releases that it needs.
    pub(crate) all: Vec<PlannedRelease>,
    /// The releases of the deployed version that the new version does not have, in the order in which they are
    /// uninstalled.
    pub(crate) departing: Vec<ReleaseEntry>,
    /// Notes about values of the site that are not defined in a chart or not intended for sites.
    pub(crate) notes: Vec<String>,
    /// The Helm program; `None` if Helm has nothing to do.
    pub(crate) helm: Option<Helm>,
}

impl Releases {
    /// Returns the change to each of the version's releases.
    pub(crate) fn to_changes(&self) -> Vec<ReleaseChange> {
        self.all.iter().map(PlannedRelease::change).collect()
    }

    /// Returns the release with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&PlannedRelease> {
        let mut all = self.all.iter();
        all.find(|release| release.recorded.name.as_str() == name)
    }

    /// Returns the objects of all releases after the change.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &Object> {
        self.all.iter().flat_map(|release| &release.objects)
    }

    /// Returns the objects of all releases before the change.
    pub(crate) fn objects_before(&self) -> impl Iterator<Item = &Object> {
        self.all.iter().flat_map(|release| &release.before)
    }

    /// Returns the lines about releases that need consent in addition to the objects themselves.
    pub(crate) fn lines(
        &self,
        environment: &Namespace,
        hidden: &HiddenTexts,
    ) -> impl Iterator<Item = Line> {
        let all = self.all.iter();
        all.flat_map(|release| release.lines(environment, hidden))
    }

    /// Returns the values of the Secrets that templates of all releases have read.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = Value> {
        self.all.iter().flat_map(PlannedRelease::secrets)
    }

    /// Returns the namespaces outside of `logins` in which each release has pods. Namespaces that a release creates are
    /// left out.
    pub(crate) fn pods_elsewhere(
        &self,
        logins: &BTreeMap<Namespace, KubernetesName>,
    ) -> PodsElsewhere {
        if logins.is_empty() {
            return PodsElsewhere::new();
        }
        let known: BTreeSet<&str> = logins.keys().map(Namespace::as_str).collect();
        let all: Vec<&Object> = self.objects().collect();
        let of_release = |release: &PlannedRelease| {
            let spaces = pods_elsewhere(&release.objects, &all, &known);
            (release.recorded.name.clone(), spaces)
        };
        let found = self.all.iter().map(of_release);
        found.filter(|(_, spaces)| !spaces.is_empty()).collect()
    }

    /// Checks whether the objects of all releases are known. A release that cannot be rendered has none.
    pub(crate) fn are_known(&self) -> bool {
        self.all.iter().all(|release| !release.objects.is_empty())
    }

    /// Checks whether Helm has anything to do.
    fn has_changes(&self) -> bool {
        !self.departing.is_empty() || self.all.iter().any(PlannedRelease::changes)
    }
}

/// Returns the namespaces of the objects that have pods, except `known` namespaces and those that are created by an
/// object in `all`. Pods of `helm test` do not count: they run only on request, and their namespace may not exist yet.
fn pods_elsewhere(
    objects: &[Object],
    all: &[&Object],
    known: &BTreeSet<&str>,
) -> BTreeSet<Namespace> {
    let runs = |object: &&Object| !is_test(object) && !pod_specs(object.as_value()).is_empty();
    let spaces = objects.iter().filter(runs).filter_map(Object::namespace);
    let brought = |space: &str| {
        let mut brought = all.iter().filter(|object| object.gvk().kind == "Namespace");
        brought.any(|object| object.name() == space)
    };
    let spaces = spaces.filter(|space| !known.contains(space) && !brought(space));
    spaces.filter_map(|space| space.parse().ok()).collect()
}

/// Returns notes about values of the site that the chart does not define, and about values that the publisher does not
/// intend sites to set. Helm ignores undefined values, and most of them are misspelled.
pub(crate) fn doubtful(chart: &PackagedChart, chosen: &Map<String, Value>) -> Vec<String> {
    let ChartRelease {
        name, site_values, ..
    } = &chart.release;
    let unmeant = by_path(chosen)
        .into_keys()
        .filter(|path| !site_values.are_meant_with(path))
        .map(|path| {
            format!("the publisher does not intend sites to set `{path}` of release `{name}`")
        });
    let unnamed = Chart::read(&chart.archive).map(|read| read.unnamed(&chart.values, chosen));
    let note = |UnnamedValue { path, key, near }| {
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("the chart of release `{name}` has no value `{key}` (`{path}`){near}")
    };
    let unnamed = unnamed.into_iter().flatten().map(note);
    unmeant.chain(unnamed).collect()
}

/// The inputs from which releases are planned.
#[derive(Debug)]
pub(crate) struct Releasing<'a> {
    pub(crate) asked: &'a PlanRequest<'a>,
    pub(crate) cluster: &'a Cluster,
    pub(crate) state: &'a ClusterState,
    /// The CRDs that are written before any release is changed.
    pub(crate) crds: &'a [PlannedCrd],
    pub(crate) place: &'a NamespaceRecord,
    pub(crate) site: &'a HeldSite,
    /// The site's patches for the Solution.
    pub(crate) patches: Vec<SitePatch>,
    /// The values of each release that take precedence over the publisher's values.
    pub(crate) values: &'a BTreeMap<ReleaseName, ReleaseValues>,
    pub(crate) parameters: &'a Parameters,
    /// The consent to the deployed version.
    pub(crate) consent: Option<&'a Consent>,
    /// The change to all other objects of the deployment.
    pub(crate) carried: &'a planner::Plan,
    /// The pull secrets for the registry, by namespace.
    pub(crate) logins: BTreeMap<Namespace, KubernetesName>,
    /// The namespaces that sets create.
    pub(crate) spaces: BTreeSet<String>,
}

impl Releasing<'_> {
    /// Plans the change to each release and adds the blockers to it. `needed` checks whether another part of the
    /// deployment needs a release.
    pub(crate) async fn plan(
        &self,
        charts: &[&PackagedChart],
        needed: impl Fn(&PackagedChart) -> bool,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Releases, Error> {
        let mut releases = Releases::default();
        if let Authority::Namespace(_) = self.asked.request.authority {
            if !charts.is_empty() {
                let solution_id = self.asked.id.clone();
                blockers.push(AdministratorTask::CarriesObjects { solution_id }.into());
            }
            return Ok(releases);
        }
        // A missing value is a blocker already, and no chart can be rendered without it.
        if !self.parameters.are_all_of(self.asked.accepted.manifest()) {
            return Ok(releases);
        }
        for chart in charts {
            let site = self.values.get(&chart.release.name);
            if let Some(site) = site.filter(|values| !values.0.is_empty()) {
                releases
                    .notes
                    .extend(doubtful(chart, &site.above(Map::new())));
            }
            let planned = self.release(chart, needed(chart), blockers).await?;
            releases.all.extend(planned);
        }
        let stays = |old: &&ReleaseEntry| {
            let mut all = charts.iter().map(|chart| &chart.release);
            all.any(|release| old.is(release.namespace_in(&self.place.namespace), &release.name))
        };
        // In reverse order, a release is uninstalled before those that it needs.
        for old in self
            .before()
            .releases
            .iter()
            .rev()
            .filter(|old| !stays(old))
        {
            let stored = StoredRelease::find(self.cluster, &old.namespace, &old.name).await?;
            let revisions = self.revisions(old, stored.as_ref(), blockers);
            releases.departing.push(ReleaseEntry {
                revisions,
                ..old.clone()
            });
        }
        if releases.has_changes() {
            releases.helm = program::chosen(self.asked, blockers).await?;
        }
        if let Some(helm) = releases.helm.clone()
            && releases.all.iter().any(PlannedRelease::changes)
        {
            let served = self.cluster.api_versions().await?;
            // In order, since a release can use kinds that earlier ones define.
            for at in 0..releases.all.len() {
                let (earlier, others) = releases.all.split_at_mut(at);
                let planned = &mut others[0];
                let mut charts = charts.iter();
                let chart = charts.find(|chart| chart.release.name == planned.recorded.name);
                if let Some(chart) = chart.filter(|_| planned.changes()) {
                    let there = self.capabilities(chart, earlier, &served);
                    self.render(&helm, planned, chart, &there, blockers).await?;
                }
            }
            self.check_spaces(&releases.all, blockers).await?;
        }
        Ok(releases)
    }

    /// Returns the cluster's capabilities at the time when a release is installed. The CRDs of the archive, and those
    /// of the sets and charts that the release needs, are in the cluster by then.
    fn capabilities(
        &self,
        chart: &PackagedChart,
        earlier: &[PlannedRelease],
        served: &[String],
    ) -> Capabilities {
        let parts = sets::parts(self.asked.accepted);
        let mut needed = parts.with_needs(&chart.release.needs);
        // CRDs of the release itself whose conversion uses a webhook are created before the release.
        needed.insert(chart.release.name.as_str());
        let of_sets = self
            .carried
            .of_parts()
            .filter(|(part, _)| needed.contains(part.as_str()))
            .map(|(_, object)| object);
        let of_charts = earlier
            .iter()
            .filter(|release| needed.contains(release.recorded.name.as_str()))
            .flat_map(|release| &release.objects);
        let objects = of_sets.chain(of_charts);
        let carried = objects.filter(|object| is_definition(object.as_value()));
        let carried: Vec<&Object> = carried.collect();
        let of_archive = self.asked.accepted.crds().iter().map(|crd| &crd.document);
        let all = of_archive
            .chain(carried.iter().map(|object| object.as_value()))
            .cloned()
            .collect();
        let written = self.crds.iter().filter_map(PlannedCrd::tried);
        let written = written.chain(carried).cloned().collect();
        Capabilities::new(self.cluster, served, all, written)
    }

    /// Returns the recorded inventory of the deployed version.
    fn before(&self) -> &Inventory {
        &self.carried.before
    }

    /// Returns the values of a chart in YAML, as Helm receives them. Values in `site` take precedence over the
    /// publisher's values, in which `parameters` are expanded.
    fn text(
        &self,
        chart: &PackagedChart,
        site: &ReleaseValues,
        parameters: ParameterValues,
    ) -> Result<String, Error> {
        let expansion = Expansion {
            namespaces: sets::meant(&chart.release.namespaces, &self.place.namespace),
            ..sets::expansion(self.asked, self.place, parameters)?
        };
        let published = expansion.expand_values(chart.values.clone())?;
        Ok(yaml::to_string(&site.above(published)))
    }

    /// Returns the values of a release as Helm receives them.
    fn given(&self, chart: &PackagedChart, site: &ReleaseValues) -> Result<String, Error> {
        self.text(chart, site, self.parameters.values())
    }

    /// Returns the digest of all inputs that determine what Helm renders from a chart.
    fn inputs(
        &self,
        chart: &PackagedChart,
        site: &ReleaseValues,
        finish: &FinishInputs,
        objects: &[Object],
    ) -> Result<Digest, Error> {
        let told = self.text(chart, &site.told(), self.parameters.told())?;
        Ok(inputs(chart, &told, finish, objects))
    }

    /// Returns the inputs for finishing the objects of a release that are known before it is rendered.
    fn finish(&self, release: &ChartRelease) -> FinishInputs {
        FinishInputs {
            record: self.asked.record.clone(),
            logins: self.logins.clone(),
            release: release.name.clone(),
            namespace: release.namespace_in(&self.place.namespace).clone(),
            wide: BTreeSet::new(),
            replicas: BTreeMap::new(),
            choices: {
                let part = PartName::Carried(release.name.as_str());
                self.site.reaching(self.asked.id.name(), part)
            },
            patches: self.patches.clone(),
            jobs: BTreeMap::new(),
        }
    }

    /// Returns the revisions of a release that are trusted: the recorded ones, or all that exist if the request accepts
    /// them. If they need to be accepted, this adds a blocker, also for an adopted release: Helm sees no other
    /// revisions, and would delete the objects of those that it sees.
    fn revisions(
        &self,
        known: &ReleaseEntry,
        stored: Option<&StoredRelease>,
        blockers: &mut Vec<Blocker>,
    ) -> Vec<RevisionEntry> {
        let solution = self.asked.id.name();
        let recorded = known.revisions.clone();
        let adopts = self.asked.request.allowed.adopt.objects == AdoptionPolicy::Allow;
        let is_meant = |release: &&StoredRelease| adopts || release.is_of(solution, &recorded);
        match stored.filter(|release| is_meant(release) && !release.is_known(&recorded)) {
            None => recorded,
            Some(stored) if self.asked.request.accepted.contains(&stored.id()) => stored.as_it_is(),
            Some(stored) => {
                blockers.push(stored.unknown(known));
                recorded
            }
        }
    }

    /// Returns the plan of a release; `None` if a blocker prevents it.
    async fn release(
        &self,
        chart: &PackagedChart,
        needed: bool,
        blockers: &mut Vec<Blocker>,
    ) -> Result<Option<PlannedRelease>, Error> {
        let release = &chart.release;
        let namespace = release.namespace_in(&self.place.namespace);
        self.check_namespace(namespace, blockers);
        let site = self.values.get(&release.name).cloned().unwrap_or_default();
        let finish = self.finish(release);
        let coming = self.inputs(chart, &site, &finish, &[])?;
        let mut recorded = coming_entry(release, namespace, coming, needed);
        let stored = StoredRelease::find(self.cluster, namespace, &release.name).await?;
        let before = match &stored {
            Some(stored) => sent(self.cluster, &stored.newest, &recorded).await?,
            None => Vec::new(),
        };
        // The inputs include the site's choices that affect the current objects, which are only known now.
        recorded.inputs = self.inputs(chart, &site, &finish, &before)?;
        let known = self.before().release(namespace, &release.name);
        recorded.revisions = self.revisions(known.unwrap_or(&recorded), stored.as_ref(), blockers);
        let state = stored
            .as_ref()
            .map(|release| release.state(self.asked.id.name(), &recorded.revisions));
        let adopt = self.asked.request.allowed.adopt.objects;
        let step = match ReleaseStep::decide(release.strategy, adopt, &recorded, known, state) {
            Ok(step) => step,
            Err(ReleaseConflict { release, revision }) => {
                blockers.push(ContentBlocker::ReleaseTaken { release, revision }.into());
                return Ok(None);
            }
        };
        let drift = match step {
            ReleaseStep::Keep => self.drift(known, stored.as_ref(), &before).await?,
            _ => Vec::new(),
        };
        let step = if drift.is_empty() {
            step
        } else {
            step.mending()
        };
        let revision = stored.as_ref().map(StoredRelease::revision);
        match step {
            ReleaseStep::Keep => recorded.revision = revision,
            ReleaseStep::Leave => recorded = known.cloned().unwrap_or(recorded),
            ReleaseStep::Change(_) => {}
        }
        let once = known.and_then(|entry| entry.revision);
        let back = stored.and_then(|release| release.deployed(&recorded.revisions));
        Ok(Some(PlannedRelease {
            recorded,
            timeout: timeout(release),
            values: self.given(chart, &site)?,
            site,
            step,
            objects: before.clone(),
            random: Vec::new(),
            lookups: Lookups::new(),
            accepted_reads: BTreeSet::new(),
            replaced: Vec::new(),
            redefined: Vec::new(),
            drift,
            before,
            finish,
            revision,
            back: back.or(once),
            known: once,
            offered: release.version.clone(),
        }))
    }
}

/// Returns the entry of a release that is recorded before Helm changes anything.
fn coming_entry(
    release: &ChartRelease,
    namespace: &Namespace,
    inputs: Digest,
    needed: bool,
) -> ReleaseEntry {
    ReleaseEntry {
        name: release.name.clone(),
        namespace: namespace.clone(),
        chart: release.chart.clone(),
        version: release.version.clone(),
        revision: None,
        inputs,
        revisions: Vec::new(),
        needed,
    }
}

/// Returns the time that Helm waits in each step of a release.
fn timeout(release: &ChartRelease) -> Duration {
    let timeout = release.timeout.as_ref();
    timeout.map_or(limits::RELEASE_WAIT, schemas::Timeout::duration)
}

/// Returns the digest of all inputs that determine what Helm renders from a chart. `values` contain no secret in plain
/// text. The site's choices and patches are included if they affect one of `objects`, the objects of the release. The
/// digest of the chart and the values are included anyway.
fn inputs(
    chart: &PackagedChart,
    values: &str,
    finish: &FinishInputs,
    objects: &[Object],
) -> Digest {
    let mut digest = Sha256::new();
    let images = finish
        .record
        .images
        .iter()
        .map(|image| (&image.image, image.digest, image.reference.as_ref()));
    let mut finished = json!({
        "as": FINISHED_AS,
        "images": images.collect::<Vec<_>>(),
        "registry": finish.record.pull_registry().map(|registry| registry.to_string()).unwrap_or_default(),
        "logins": finish.logins,
        "namespace": finish.namespace,
    });
    // The default layout is left out, so that digests that were recorded before layouts existed stay valid.
    if finish.record.placement.layout != store::PathLayout::default() {
        finished["layout"] = json!(finish.record.placement.layout);
    }
    let objects: Vec<&Value> = objects.iter().map(Object::as_value).collect();
    let of_site = finish.of_site(&objects);
    if !of_site.is_null() {
        finished["site"] = of_site;
    }
    for part in [&chart.digest.to_string(), values, &finished.to_string()] {
        digest.update(part.len().to_be_bytes());
        digest.update(part);
    }
    Digest::new(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_in_namespaces_that_nothing_brings_are_found() {
        let object = |kind: &str, namespace: &str, hook: &str| {
            Object::new(json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": {
                    "name": "own", "namespace": namespace, "annotations": { "helm.sh/hook": hook },
                },
                "spec": { "containers": [] },
            }))
            .unwrap()
        };
        let objects = [
            object("Pod", "prod", ""),
            object("Pod", "kube-system", ""),
            object("Pod", "hooks", "pre-install"),
            object("Pod", "tests", "test"),
            object("Pod", "own", ""),
            object("Service", "other", ""),
        ];
        let space =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "own" } });
        let space = Object::new(space).unwrap();
        let all: Vec<&Object> = objects.iter().chain([&space]).collect();
        let found = pods_elsewhere(&objects, &all, &BTreeSet::from(["prod"]));
        let found: Vec<&str> = found.iter().map(Namespace::as_str).collect();
        assert_eq!(found, ["hooks", "kube-system"]);
    }
}
