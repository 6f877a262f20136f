//! The objects that a deployment would apply, for review, policy engines and other programs that apply them.
//! [`RenderedManifests::in_cluster`] plans with a live cluster. [`RenderedManifests::imagined`] plans with a cluster
//! that does not exist, and that is only described by its version and APIs. Both use the engine that plans an import.
//! They only read, and need no registry.

use std::fmt;

use kubernetes::{Cluster, Gvk, Object, ServerVersion, SimulatedCluster, SimulatedKind};
use manifests::{DiscoveredKind, served_by_kubernetes};
use planner::ObjectChange;
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::{ApiName, KubernetesVersion, Namespace, SolutionId};
use serde::Serialize;
use serde_json::Value;
use store::Placement;
use validator::AcceptedArchive;

use crate::choices::parameters::number_of;
use crate::choices::redact::HiddenTexts;
use crate::decide::decision::Decision;
use crate::decide::deployment::Deployment;
use crate::decide::rights;
use crate::decide::rights::rendered::RenderedRelease;
use crate::decide::trial::DryRun;
use crate::model::blocker::prerequisites::UnmetPrerequisite;
use crate::model::blocker::{Blocker, ContentBlocker};
use crate::model::error::Error;
use crate::model::parameters::ValueSource;
use crate::model::renderings::named_object;
use crate::model::request::{PlanRequest, Request};
use crate::objects::diff;
use crate::objects::releases::{PlannedRelease, is_test};
use crate::plan::check_version;
use crate::records::site::{SiteFile, SiteTexts};
use crate::records::state::ClusterState;

/// The kind that represents an API version without a named kind. An API version without kinds is not served.
const UNNAMED: &str = "Unnamed";

/// A cluster that is only described, and the site's configuration for it.
#[derive(Clone, Debug)]
pub struct ImaginedSite {
    /// The version of Kubernetes.
    pub kubernetes: KubernetesVersion,
    /// The APIs that it serves in addition to those of Kubernetes.
    pub api_versions: Vec<ApiName>,
    /// The site's files.
    pub files: Vec<SiteFile>,
}

/// The treatment of sensitive values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretValues {
    /// Placeholders replace them.
    Masked,
    /// They are shown.
    Shown,
}

/// The part of a deployment that an object comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind", content = "name")]
pub enum ManifestSource {
    /// The environment: its namespace, and the Secrets that keep values.
    Environment,
    /// The archive's definitions.
    Definitions,
    /// The operator, with the pull secrets of its pods.
    Operator,
    /// This set.
    Set(String),
    /// The release of a chart, with its hooks.
    Release(String),
}

impl fmt::Display for ManifestSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment => f.write_str("environment"),
            Self::Definitions => f.write_str("definitions"),
            Self::Operator => f.write_str("operator"),
            Self::Set(name) => write!(f, "set {name}"),
            Self::Release(name) => write!(f, "release {name}"),
        }
    }
}

/// An object that would be applied.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RenderedManifest {
    /// The part that it comes from.
    pub source: ManifestSource,
    /// Whether it contains a random value: of a template, or of a generated parameter.
    pub random: bool,
    /// Whether it contains placeholders for secret values.
    pub masked: bool,
    /// The object.
    pub object: Value,
}

/// The objects that a deployment would apply.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderedManifests {
    /// The Solution id.
    pub id: SolutionId,
    /// The namespace of the environment.
    pub namespace: Namespace,
    /// The registry that nodes pull images from.
    pub pull_registry: RegistryAddress,
    /// The repositories of the images in that registry.
    pub placement: Placement,
    /// The objects by source: the namespace, the CRDs, the operator and the sets in the order of application, and each
    /// release.
    pub manifests: Vec<RenderedManifest>,
    /// The objects outside the environment that templates of charts have read, one line for each.
    pub reads: Vec<String>,
}

/// The objects, or the blockers.
pub type ManifestsOrBlockers = Result<RenderedManifests, Vec<Blocker>>;

impl RenderedManifests {
    /// Returns the objects that a request would apply in a live cluster.
    pub async fn in_cluster(
        cluster: &Cluster,
        accepted: &AcceptedArchive,
        client: Option<Client>,
        request: Request,
        secrets: SecretValues,
    ) -> Result<ManifestsOrBlockers, Error> {
        let cluster = &cluster.once();
        let mut blockers = Vec::new();
        check_version(cluster, &mut blockers);
        rights::check_reading(cluster, accepted, &request, &mut blockers).await?;
        if !blockers.is_empty() {
            return Ok(Err(blockers));
        }
        let planned = (request.context.writer.clock)();
        let state = ClusterState::read(cluster).await?;
        let asked = PlanRequest::new(accepted, client, request, Some(&state), planned)?;
        let mut decision = Decision::make(&asked, state, cluster).await?;
        decision.try_objects(&asked, cluster).await?;
        rendered(&asked, decision, secrets)
    }

    /// Returns the objects that a request would apply in a described, empty cluster.
    pub async fn imagined(
        site: &ImaginedSite,
        accepted: &AcceptedArchive,
        request: Request,
        secrets: SecretValues,
    ) -> Result<ManifestsOrBlockers, Error> {
        let cluster = &site.cluster().await?;
        match imagined(cluster, site, accepted, request).await? {
            Ok((asked, decision)) => rendered(&asked, decision, secrets),
            Err(blockers) => Ok(Err(blockers)),
        }
    }
}

impl RenderedRelease {
    /// Renders the charts of an archive as a request would install them, or returns the blockers.
    pub async fn all(
        site: &ImaginedSite,
        accepted: &AcceptedArchive,
        request: Request,
    ) -> Result<Result<Vec<Self>, Vec<Blocker>>, Error> {
        let cluster = &site.cluster().await?;
        let (_, decision) = match imagined(cluster, site, accepted, request).await? {
            Ok(found) => found,
            Err(blockers) => return Ok(Err(blockers)),
        };
        let Some(deployment) = decision.deployment.filter(|_| decision.blockers.is_empty()) else {
            return Ok(Err(decision.blockers));
        };
        Ok(Ok(Self::planned(&deployment, cluster).await?))
    }
}

/// Returns the decision for a request in a described, empty cluster, or the blockers of the decision.
pub(crate) async fn imagined<'a>(
    cluster: &Cluster,
    site: &ImaginedSite,
    accepted: &'a AcceptedArchive,
    request: Request,
) -> Result<Result<(PlanRequest<'a>, Decision), Vec<Blocker>>, Error> {
    let mut blockers = Vec::new();
    check_version(cluster, &mut blockers);
    if !blockers.is_empty() {
        return Ok(Err(blockers));
    }
    let state = ClusterState {
        site: SiteTexts::of_files(&site.files),
        ..ClusterState::default()
    };
    let planned = (request.context.writer.clock)();
    let asked = PlanRequest {
        is_imagined: true,
        ..PlanRequest::new(accepted, None, request, Some(&state), planned)?
    };
    let mut decision = Decision::make(&asked, state, cluster).await?;
    decision
        .blockers
        .retain(|blocker| !is_about_a_cluster(blocker));
    decision.try_objects(&asked, cluster).await?;
    Ok(Ok((asked, decision)))
}

impl ImaginedSite {
    /// Returns the described cluster. Each object is read once.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Error> {
        Ok(Cluster::simulated(self.to_cluster()).await?.once())
    }

    fn to_cluster(&self) -> SimulatedCluster {
        let [major, minor, patch] = self.kubernetes.numbers();
        let minor = u32::try_from(minor).unwrap_or(u32::MAX);
        let named = self.api_versions.iter().map(|api| {
            let (api_version, kind) = api.parts();
            DiscoveredKind::new(api_version, kind.unwrap_or(UNNAMED))
        });
        let kinds = served_by_kubernetes(minor).into_iter().chain(named);
        let kinds = kinds.map(|kind| SimulatedKind {
            gvk: Gvk::new(&kind.api_version, &kind.kind),
            plural: kind.plural,
            namespaced: kind.namespaced,
        });
        SimulatedCluster {
            version: ServerVersion {
                major: u32::try_from(major).unwrap_or(1),
                minor,
                text: format!("v{major}.{minor}.{patch}"),
            },
            kinds: kinds.collect(),
        }
    }
}

impl Decision {
    /// Adds the blockers from applying the objects, such as kinds that the cluster does not serve.
    async fn try_objects(
        &mut self,
        asked: &PlanRequest<'_>,
        cluster: &Cluster,
    ) -> Result<(), Error> {
        if self.blockers.is_empty() {
            let tried = DryRun::make(asked, self, cluster).await?;
            self.blockers.extend(tried.blockers);
        }
        Ok(())
    }
}

/// Checks whether a blocker is about objects in the cluster. A described cluster has none, so such blockers are
/// dropped.
fn is_about_a_cluster(blocker: &Blocker) -> bool {
    matches!(
        blocker,
        Blocker::NoPullSecret { .. }
            | Blocker::NoPriorityClass { .. }
            | Blocker::NoNode { .. }
            | Blocker::Unfit(ContentBlocker::NoStorageClass { .. })
    ) || matches!(blocker, Blocker::Unmet(unmet) if !is_about_its_apis(unmet))
}

/// Checks whether a prerequisite is about the APIs of a cluster, which a described one has too.
fn is_about_its_apis(unmet: &UnmetPrerequisite) -> bool {
    matches!(
        unmet,
        UnmetPrerequisite::NeededKubernetes { .. } | UnmetPrerequisite::NeededApi { .. }
    )
}

/// Returns the objects of a decision with their sources, or the blockers of the decision. Tests of charts are left out,
/// since a deployment does not apply them.
fn rendered(
    asked: &PlanRequest<'_>,
    decision: Decision,
    secrets: SecretValues,
) -> Result<ManifestsOrBlockers, Error> {
    let deployment = match decision.deployment {
        Some(deployment) if decision.blockers.is_empty() => deployment,
        _ => return Ok(Err(decision.blockers)),
    };
    let generated = deployment.parameters.all.values();
    let generated = generated.filter(|resolved| resolved.source == ValueSource::Generated);
    let shown = RenderedDeployment {
        asked,
        deployment: &deployment,
        generated: HiddenTexts::new(generated.map(|resolved| &resolved.value)),
        secrets,
    };
    let space = Object::new(deployment.space())?;
    let mut manifests = vec![shown.manifest(ManifestSource::Environment, &space)];
    let definitions = decision.crds.iter().filter_map(|crd| crd.written());
    manifests.extend(definitions.map(|object| shown.manifest(ManifestSource::Definitions, object)));
    let changes = deployment.change.changes();
    manifests.extend(changes.map(|change| shown.manifest(shown.source(change), change.applied())));
    for release in &deployment.releases.all {
        let sent = release.objects.iter().filter(|object| !is_test(object));
        manifests.extend(sent.map(|object| shown.of_release(release, object)));
    }
    let (namespace, hidden) = (deployment.namespace(), &deployment.parameters.hidden);
    let releases = deployment.releases.all.iter();
    let reads = releases.flat_map(|release| release.reads(namespace, hidden));
    let reads = reads.collect();
    Ok(Ok(RenderedManifests {
        reads,
        id: asked.id.clone(),
        namespace: deployment.namespace().clone(),
        pull_registry: asked.record.pull_registry()?,
        placement: asked.record.placement,
        manifests,
    }))
}

/// A deployment whose objects are rendered.
struct RenderedDeployment<'a> {
    asked: &'a PlanRequest<'a>,
    deployment: &'a Deployment,
    /// The values that this rendering has generated.
    generated: HiddenTexts,
    secrets: SecretValues,
}

impl RenderedDeployment<'_> {
    fn source(&self, change: &ObjectChange) -> ManifestSource {
        match &change.desired.part {
            _ if self.keeps_values(change.object()) => ManifestSource::Environment,
            Some(set) => ManifestSource::Set(set.to_string()),
            None => ManifestSource::Operator,
        }
    }

    /// Checks whether an object is a Secret with values of parameters.
    fn keeps_values(&self, object: &Object) -> bool {
        let (solution, namespace) = (self.asked.id.name(), self.deployment.namespace());
        number_of(object.reference(), solution, namespace).is_some()
    }

    fn manifest(&self, source: ManifestSource, object: &Object) -> RenderedManifest {
        let mut value = object.as_value().clone();
        let random = self.is_random(object);
        if self.secrets == SecretValues::Masked {
            if object.is_secret() {
                diff::mask(Some(&mut value), None);
            }
            self.deployment.parameters.hidden.mask(&mut value, None);
        }
        RenderedManifest {
            source,
            random,
            masked: value != *object.as_value(),
            object: value,
        }
    }

    fn of_release(&self, release: &PlannedRelease, object: &Object) -> RenderedManifest {
        let source = ManifestSource::Release(release.recorded.name.to_string());
        let manifest = self.manifest(source, object);
        let random = release.random.contains(&named_object(object.as_value()));
        RenderedManifest {
            random: manifest.random || random,
            ..manifest
        }
    }

    /// Checks whether an object contains a value that this rendering has generated, or the new key for digests.
    fn is_random(&self, object: &Object) -> bool {
        let mut masked = object.as_value().clone();
        self.generated.mask(&mut masked, None);
        let is_new = !self.deployment.change.was_there(object.reference());
        self.keeps_values(object) && is_new || masked != *object.as_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_is_served_of_which_no_kind_is_named() {
        let site = ImaginedSite {
            kubernetes: "1.34".parse().unwrap(),
            api_versions: ["a.test/v1", "b.test/v1/Cart"]
                .map(|text| text.parse().unwrap())
                .into(),
            files: Vec::new(),
        };
        let SimulatedCluster { version, kinds } = site.to_cluster();
        assert_eq!((version.minor, version.text.as_str()), (34, "v1.34.0"));
        let has = |api_version: &str, kind: &str| {
            let kind = Gvk::new(api_version, kind);
            kinds.iter().any(|served| served.gvk == kind)
        };
        assert!(has("a.test/v1", UNNAMED) && has("b.test/v1", "Cart"));
        assert!(has("apps/v1", "Deployment") && !has("b.test/v1", UNNAMED));
    }

    #[test]
    fn what_an_imagined_cluster_has_is_judged_and_what_it_lacks_is_not() {
        let range = ">=1.40".parse().unwrap();
        let version = "v1.34.0".to_owned();
        let kubernetes = UnmetPrerequisite::NeededKubernetes { range, version };
        assert!(!is_about_a_cluster(&Blocker::Unmet(Box::new(kubernetes))));
        let class = UnmetPrerequisite::NeededStorageClass { class: None };
        assert!(is_about_a_cluster(&Blocker::Unmet(Box::new(class))));
        assert!(!is_about_a_cluster(&Blocker::changed(["Role prod/a"])));
    }
}
