//! The rendering of a release ([`Releasing::render`]). Helm renders the chart with the capabilities of the cluster and
//! answers to the lookups of its templates. The result is finished with the site's choices and checked before Helm
//! applies anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use helm::{ClusterAccess, Helm, HelmError};
use kubernetes::{Cluster, Gvk, Object, ObjectRef, is_scaled};
use manifests::{Definition, is_definition};
use planner::ReleaseEntry;
use progress::Cancel;
use schemas::{Digest, ImageReference, Namespace};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use validator::PackagedChart;

use crate::choices::redact::HiddenTexts;
use crate::helm_proxy::{HelmProxy, ProxyPolicy, RunState};
use crate::limits;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::renderings::{Rendered, named_object};
use crate::objects::finish::{Finish, FinishProblems, kinds_of};
use crate::objects::releases::applied_objects::{is_hook, objects};
use crate::objects::releases::template_reads::AcceptedReads;
use crate::objects::releases::{MANAGER, PlannedRelease, Releasing};
use crate::records::site::SiteValue;
use crate::records::storage::read_all_if_allowed;

/// The capabilities of the cluster at the time when a release is installed.
pub(super) struct Capabilities {
    kubernetes: String,
    api_versions: Vec<String>,
    /// The CRDs that are created before the release.
    pub(super) definitions: Vec<Value>,
    /// The CRDs among `definitions` that are written, in a form that the API server can dry-run.
    written: Vec<Object>,
}

impl Capabilities {
    /// Returns the capabilities of a cluster that serves these API versions, and in which `definitions` are created
    /// before the release. `written` are those of them that the API server can dry-run.
    pub(super) fn new(
        cluster: &Cluster,
        served: &[String],
        definitions: Vec<Value>,
        written: Vec<Object>,
    ) -> Self {
        let mut api_versions: BTreeSet<String> = served.iter().cloned().collect();
        api_versions.extend(definitions.iter().flat_map(served_by));
        Self {
            kubernetes: cluster.version().text.clone(),
            api_versions: api_versions.into_iter().collect(),
            definitions,
            written,
        }
    }
}

impl Releasing<'_> {
    /// Renders a release as it will be applied, and adds the blockers to it.
    pub(super) async fn render(
        &self,
        helm: &Helm,
        planned: &mut PlannedRelease,
        chart: &PackagedChart,
        there: &Capabilities,
        blockers: &mut Vec<Blocker>,
    ) -> Result<(), Error> {
        let (_gate, rendering, rendered) = match self.read(helm, planned, chart, there).await? {
            Ok(done) => done,
            Err(unfit) => {
                blockers.push(unfit.into());
                return Ok(());
            }
        };
        planned.random.clone_from(&rendered.random);
        planned.lookups.clone_from(&rendered.lookups);
        let objects = rendered.objects.iter().map(|object| object.value.clone());
        let objects: Vec<Value> = objects.collect();
        planned.finish.wide = self.wide(&objects, &there.definitions).await?;
        planned.finish.replicas = self.scaled(planned).await?;
        planned.finish.jobs = self.jobs(planned).await?;
        let finish = Finish::new(&planned.finish)?;
        let mut problems = FinishProblems::default();
        let mut finished = Vec::new();
        for object in objects {
            let mut object = Object::new(finish.finish(object, &mut problems)?)?;
            if let Some(sent) = planned.as_sent(&object) {
                let sent = sent.as_value().clone();
                object = Object::new(finish.finish_chosen(sent, &mut problems)?)?;
                let name = named_object(object.as_value());
                planned.random.retain(|random| *random != name);
            }
            finished.push(object);
        }
        planned.objects = finished;
        // The digest includes the choices of the site that affect one of the objects, so it is only known now.
        planned.recorded.inputs =
            self.inputs(chart, &planned.site, &planned.finish, &planned.objects)?;
        let FinishProblems { missing, unfit } = problems;
        blockers.extend(unfit.into_iter().map(Blocker::from));
        if !missing.is_empty() {
            let values = self
                .turned_on_by(planned, chart, &rendering, &missing)
                .await?;
            let images = missing.iter().map(ImageReference::to_string).collect();
            let release = planned.recorded.to_string();
            let unfit = ContentBlocker::NotCarried {
                release,
                images,
                values,
            };
            blockers.push(unfit.into());
        }
        self.check_allowed(planned, blockers);
        self.check_kinds(planned, &there.definitions, blockers)
            .await?;
        self.check_owners(planned, blockers).await?;
        self.check_definitions(planned, blockers).await?;
        self.try_objects(planned, &there.written, blockers).await
    }

    /// Renders a release with the answers to the lookups that its templates may make. The proxy is returned and stays
    /// open, so that the release can be rendered with other values.
    async fn read(
        &self,
        helm: &Helm,
        planned: &mut PlannedRelease,
        chart: &PackagedChart,
        there: &Capabilities,
    ) -> Result<Result<(HelmProxy, Arc<OwnedRendering>, Arc<Rendered>), ContentBlocker>, Error>
    {
        let release = planned.recorded.clone();
        let mut reads = AcceptedReads::before(self, &release);
        // Templates can ask for more after they have read an accepted object, so each round may withhold further reads.
        let (gate, rendering, rendered) = loop {
            let mut passage = ProxyPolicy::new(&release.namespace, &release.name);
            passage.coming.clone_from(&there.definitions);
            passage.readable = reads.readable(self);
            let gate = HelmProxy::open(self.cluster, passage, RunState::Look).await?;
            let rendering = Arc::new(OwnedRendering {
                helm: helm.clone(),
                release: chart.release.name.clone(),
                namespace: release.namespace.clone(),
                chart: chart.archive.clone(),
                skip_schema: chart.skip_schema,
                values: planned.values.clone(),
                kubernetes: there.kubernetes.clone(),
                api_versions: there.api_versions.clone(),
                revision: planned.coming(),
                reads: reads.elsewhere().clone(),
                access: gate.access(),
                turns: Arc::clone(&self.asked.request.context.helm.turns),
            });
            let rendered = self.rendered(&rendering, &gate, chart, &release).await;
            let withheld = gate.withheld();
            if withheld.is_empty() {
                break (gate, rendering, rendered?);
            }
            if let Err(unfit) = reads.accept(self, &release, withheld) {
                return Ok(Err(unfit));
            }
        };
        planned.accepted_reads = reads.now;
        planned.lookups = gate.lookups();
        Ok(match rendered {
            Ok(rendered) => Ok((gate, rendering, rendered)),
            Err(error) => {
                let hidden = planned.hidden(&self.parameters.hidden);
                Err(unrendered(&release, &error, &hidden))
            }
        })
    }

    /// Returns the values of the site, each with its source, without which fewer images are missing. At most
    /// [`limits::VALUES_TRIED`] values are tried, one at a time.
    async fn turned_on_by(
        &self,
        planned: &PlannedRelease,
        chart: &PackagedChart,
        rendering: &Arc<OwnedRendering>,
        missing: &BTreeSet<ImageReference>,
    ) -> Result<Vec<String>, Error> {
        let finish = Finish::new(&planned.finish)?;
        let mut found = Vec::new();
        for SiteValue { field, from, .. } in planned.site.shown().iter().take(limits::VALUES_TRIED)
        {
            let Ok(path) = field.parse() else { continue };
            let values = self.given(chart, &planned.site.without(&path))?;
            let without = Arc::new(rendering.with(values));
            // The chart may fail to render without the value. Such a failure shows nothing about the images.
            let Ok(text) = without.run().await? else {
                continue;
            };
            let mut still = FinishProblems::default();
            for object in objects(&planned.recorded, &text)? {
                finish.finish(object.value, &mut still)?;
            }
            if !missing.is_subset(&still.missing) {
                found.push(format!("{field} ({from})"));
            }
        }
        Ok(found)
    }

    /// Returns the rendering of a chart. A chart whose output can be random is rendered twice, to find the objects that
    /// differ. Lookups in the cluster are repeated; as long as their answers are the same, the objects that were shown
    /// before are applied, including their random values.
    async fn rendered(
        &self,
        rendering: &Arc<OwnedRendering>,
        gate: &HelmProxy,
        chart: &PackagedChart,
        release: &ReleaseEntry,
    ) -> Result<Result<Arc<Rendered>, HelmError>, Error> {
        let renderings = &self.asked.renderings;
        let inputs = rendering.inputs(chart);
        let asks = chart.asks_with(rendering.values.as_bytes());
        let kept = renderings.get(&inputs);
        // Without lookups, the inputs alone determine the rendering.
        if !asks.cluster
            && let Some(rendered) = kept
        {
            return Ok(Ok(rendered));
        }
        let again = async {
            Ok::<_, Error>(if asks.chance {
                Some(rendering.run().await?)
            } else {
                None
            })
        };
        let (first, again) = tokio::try_join!(rendering.run(), again)?;
        let (first, again) = match (first, again.transpose()) {
            (Ok(first), Ok(again)) => (objects(release, &first)?, again),
            (Err(error), _) | (_, Err(error)) => return Ok(Err(error)),
        };
        let mut random = Vec::new();
        if let Some(again) = again {
            let again = objects(release, &again)?;
            let differing = manifests::differing(&first, &again).into_iter();
            random.extend(differing.map(|object| named_object(&object.value)));
        }
        let objects = first;
        let rendered = Rendered {
            objects,
            random,
            lookups: gate.lookups(),
        };
        Ok(Ok(match kept.filter(|kept| kept.is_like(&rendered)) {
            Some(kept) => kept,
            None => renderings.keep(inputs, rendered),
        }))
    }

    /// Returns the kinds of these objects that are cluster-scoped. The scope of a kind that the release itself defines
    /// is read from its CRD.
    async fn wide(
        &self,
        objects: &[Value],
        definitions: &[Value],
    ) -> Result<BTreeSet<(String, String)>, Error> {
        let mut wide = BTreeSet::new();
        let own: BTreeMap<(String, String), bool> = objects
            .iter()
            .chain(definitions)
            .filter(|object| is_definition(object))
            .map(|definition| {
                let text = |pointer| manifests::text(definition, pointer).to_owned();
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
                served.is_some_and(|kind| !kind.namespaced)
            };
            if is_wide {
                wide.insert(kind);
            }
        }
        Ok(wide)
    }

    /// Returns the existing Jobs of a release by reference, as Helm applied them.
    async fn jobs(&self, planned: &PlannedRelease) -> Result<BTreeMap<String, Value>, Error> {
        let before = planned
            .before
            .iter()
            .filter(|object| object.gvk().kind == "Job" && !is_hook(object));
        let before: Vec<&Object> = before.collect();
        let references: Vec<&ObjectRef> = before.iter().map(|object| object.reference()).collect();
        let live = read_all_if_allowed(self.cluster, &references).await?;
        let existing = before
            .into_iter()
            .zip(live)
            .filter(|(_, live)| live.is_some());
        let sent =
            |(object, _): (&Object, _)| (object.reference().to_string(), object.as_value().clone());
        Ok(existing.map(sent).collect())
    }

    /// Returns replica counts that were set by another client, such as an autoscaler, by the reference of the scaled object.
    /// They are kept.
    async fn scaled(&self, planned: &PlannedRelease) -> Result<BTreeMap<String, u64>, Error> {
        let before = planned
            .before
            .iter()
            .filter(|object| object.as_value()["spec"]["replicas"].is_u64());
        let before: Vec<&ObjectRef> = before.map(Object::reference).collect();
        let live = read_all_if_allowed(self.cluster, &before)
            .await?
            .into_iter()
            .flatten();
        let scaled = live
            .filter(|object| is_scaled(object.as_value(), MANAGER))
            .filter_map(|object| {
                let replicas = object.as_value()["spec"]["replicas"].as_u64()?;
                Some((object.reference().to_string(), replicas))
            });
        Ok(scaled.collect())
    }
}

/// Returns the blocker for a chart that cannot be rendered. Templates and schemas may quote values, so hidden texts are
/// removed.
fn unrendered(release: &ReleaseEntry, error: &HelmError, hidden: &HiddenTexts) -> ContentBlocker {
    let release = release.to_string();
    if let Some(why) = error.refused_values() {
        let why = hidden.say(why);
        return ContentBlocker::ChartValuesRefused { release, why };
    }
    let why = hidden.say(&error.to_string());
    ContentBlocker::NotRendered { release, why }
}

/// The inputs of a rendering, owned so that it can run on another thread.
#[derive(Clone)]
struct OwnedRendering {
    helm: Helm,
    release: schemas::ReleaseName,
    namespace: Namespace,
    chart: Vec<u8>,
    skip_schema: bool,
    values: String,
    kubernetes: String,
    api_versions: Vec<String>,
    revision: u32,
    /// The objects outside of the environment that its templates may read.
    reads: BTreeSet<String>,
    access: ClusterAccess,
    turns: Arc<Semaphore>,
}

impl OwnedRendering {
    /// Returns the same rendering with other values.
    fn with(&self, values: String) -> Self {
        Self {
            values,
            ..self.clone()
        }
    }

    /// Returns the digest of all inputs of the rendering, except the cluster's objects.
    fn inputs(&self, chart: &PackagedChart) -> Digest {
        let told = json!({
            "release": self.release,
            "namespace": self.namespace,
            "chart": chart.digest,
            "values": self.values,
            "kubernetes": self.kubernetes,
            "apiVersions": self.api_versions,
            "revision": self.revision,
            "reads": self.reads,
        });
        Digest::new(Sha256::digest(told.to_string()).into())
    }

    /// Runs the rendering. Helm's refusal is returned as the inner error.
    async fn run(self: &Arc<Self>) -> Result<Result<Vec<u8>, HelmError>, Error> {
        let this = Arc::clone(self);
        let _turn = self.turns.acquire().await;
        let rendered = tokio::task::spawn_blocking(move || {
            let this = &*this;
            let rendering = helm::ChartRendering {
                release: &this.release,
                namespace: &this.namespace,
                chart: &this.chart,
                skip_schema: this.skip_schema,
                values: this.values.as_bytes(),
                kubernetes: None,
                api_versions: &[],
                definitions: false,
                revision: this.revision,
            };
            this.helm.preview(&rendering, &this.access, Cancel::never())
        });
        let rendered = rendered.await.expect("a rendering does not panic");
        Ok(rendered)
    }
}

/// Returns the API versions that a CRD serves, and its kind in each of them.
pub(super) fn served_by(definition: &Value) -> Vec<String> {
    let definition = Definition(definition);
    let (group, kind) = (definition.group(), definition.kind());
    let served = definition.served();
    let versions = served.map(|version| format!("{group}/{version}"));
    versions
        .flat_map(|version| [version.clone(), format!("{version}/{kind}")])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_serves_its_versions_with_its_kind() {
        let definition = json!({ "spec": {
            "group": "a.test", "names": { "kind": "Cart" },
            "versions": [{ "name": "v1", "served": true }, { "name": "v2", "served": false }],
        } });
        assert_eq!(served_by(&definition), ["a.test/v1", "a.test/v1/Cart"]);
    }
}
