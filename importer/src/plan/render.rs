//! The objects that a deployment would apply, as they would be sent: for review, for policy engines, for others who apply
//! them. By the engine that plans an import, in a cluster as it is or in one that is only imagined. Reads only, and asks no
//! registry.

use std::fmt;

use change::ObjectChange;
use deployer::{Cluster, Gvk, Imagined, ImaginedKind, Object, ServerVersion};
use manifests::{DiscoveredKind, served_by_kubernetes};
use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::{ApiName, KubernetesVersion, Namespace, SolutionId};
use serde::Serialize;
use serde_json::Value;
use shelf::Placement;
use validator::Accepted;

use crate::model::error::Error;
use crate::model::obstacle::{Obstacle, Unfit};
use crate::model::parameters::ValueSource;
use crate::model::renderings::named_object;
use crate::model::request::{Asked, Request};
use crate::model::site::{SiteFile, SiteTexts};
use crate::model::state::ClusterState;
use crate::model::unmet::Unmet;
use crate::plan::decision::Decision;
use crate::plan::deployment::Deployment;
use crate::plan::diff;
use crate::plan::hidden::HiddenTexts;
use crate::plan::parameters::number_of;
use crate::plan::releases::{PlannedRelease, is_test};
use crate::plan::trial::Tried;
use crate::plan::{check_version, rights};

/// The kind that stands for those of an API version of which none is named: one without any is not served.
const UNNAMED: &str = "Unnamed";

/// A cluster that is only imagined, and what its site chooses.
#[derive(Clone, Debug)]
pub struct ImaginedSite {
    /// The version of Kubernetes.
    pub kubernetes: KubernetesVersion,
    /// What it serves besides Kubernetes' own.
    pub api_versions: Vec<ApiName>,
    /// The site's files.
    pub files: Vec<SiteFile>,
}

/// Whether values are shown that nobody is to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretValues {
    /// Words stand in their places.
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
    /// The version.
    pub id: SolutionId,
    /// The namespace of the environment.
    pub namespace: Namespace,
    /// The registry that nodes pull images from.
    pub pull_registry: RegistryAddress,
    /// The repositories of the images there.
    pub placement: Placement,
    /// The objects by where they come from: the namespace, the definitions, the operator and the sets in the order in which
    /// those are brought, and each release.
    pub manifests: Vec<RenderedManifest>,
    /// What the templates of charts have read outside of the environment, a line for each object.
    pub reads: Vec<String>,
}

/// The objects, or the obstacles to them.
pub type ManifestsOrObstacles = Result<RenderedManifests, Vec<Obstacle>>;

impl RenderedManifests {
    /// Returns what a request would apply in a cluster as it is.
    pub async fn in_cluster(
        cluster: &Cluster,
        accepted: &Accepted,
        client: Option<Client>,
        request: Request,
        secrets: SecretValues,
    ) -> Result<ManifestsOrObstacles, Error> {
        let cluster = &cluster.once();
        let mut obstacles = Vec::new();
        check_version(cluster, &mut obstacles);
        rights::check_reading(cluster, accepted, &request, &mut obstacles).await?;
        if !obstacles.is_empty() {
            return Ok(Err(obstacles));
        }
        let planned = (request.writer.clock)();
        let state = ClusterState::read(cluster).await?;
        let asked = Asked::new(accepted, client, request, Some(&state), planned)?;
        let mut decision = Decision::make(&asked, state, cluster).await?;
        decision.try_objects(&asked, cluster).await?;
        rendered(&asked, decision, secrets)
    }

    /// Returns what a request would apply in a cluster that is only imagined, and empty.
    pub async fn imagined(
        site: &ImaginedSite,
        accepted: &Accepted,
        request: Request,
        secrets: SecretValues,
    ) -> Result<ManifestsOrObstacles, Error> {
        let cluster = &site.cluster().await?;
        match imagined(cluster, site, accepted, request).await? {
            Ok((asked, decision)) => rendered(&asked, decision, secrets),
            Err(obstacles) => Ok(Err(obstacles)),
        }
    }
}

/// Returns what a request comes to in a cluster that is only imagined, and empty; or the obstacles to asking it.
pub(crate) async fn imagined<'a>(
    cluster: &Cluster,
    site: &ImaginedSite,
    accepted: &'a Accepted,
    request: Request,
) -> Result<Result<(Asked<'a>, Decision), Vec<Obstacle>>, Error> {
    let mut obstacles = Vec::new();
    check_version(cluster, &mut obstacles);
    if !obstacles.is_empty() {
        return Ok(Err(obstacles));
    }
    let state = ClusterState {
        site: SiteTexts::of_files(&site.files),
        ..ClusterState::default()
    };
    let planned = (request.writer.clock)();
    let asked = Asked {
        is_imagined: true,
        ..Asked::new(accepted, None, request, Some(&state), planned)?
    };
    let mut decision = Decision::make(&asked, state, cluster).await?;
    decision.obstacles.retain(|it| !is_about_a_cluster(it));
    decision.try_objects(&asked, cluster).await?;
    Ok(Ok((asked, decision)))
}

impl ImaginedSite {
    /// The cluster, of which each object is read once.
    pub(crate) async fn cluster(&self) -> Result<Cluster, Error> {
        Ok(Cluster::imagined(self.to_cluster()).await?.once())
    }

    fn to_cluster(&self) -> Imagined {
        let [major, minor, patch] = self.kubernetes.numbers();
        let minor = u32::try_from(minor).unwrap_or(u32::MAX);
        let named = self.api_versions.iter().map(|it| {
            let (api_version, kind) = it.parts();
            DiscoveredKind::new(api_version, kind.unwrap_or(UNNAMED))
        });
        let kinds = served_by_kubernetes(minor).into_iter().chain(named);
        let kinds = kinds.map(|it| ImaginedKind {
            gvk: Gvk::new(&it.api_version, &it.kind),
            plural: it.plural,
            namespaced: it.namespaced,
        });
        Imagined {
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
    /// Adds what keeps objects from being applied, such as a kind that the cluster does not have.
    async fn try_objects(&mut self, asked: &Asked<'_>, cluster: &Cluster) -> Result<(), Error> {
        if self.obstacles.is_empty() {
            let tried = Tried::make(asked, self, cluster).await?;
            self.obstacles.extend(tried.obstacles);
        }
        Ok(())
    }
}

/// Whether an obstacle is about what is in a cluster, and not about what would be applied: an imagined one has nothing.
fn is_about_a_cluster(obstacle: &Obstacle) -> bool {
    matches!(
        obstacle,
        Obstacle::NoPullSecret { .. }
            | Obstacle::NoPriorityClass { .. }
            | Obstacle::NoNode { .. }
            | Obstacle::Unfit(Unfit::NoStorageClass { .. })
    ) || matches!(obstacle, Obstacle::Unmet(unmet) if !is_about_its_apis(unmet))
}

/// Whether a prerequisite is about what an imagined cluster has too.
fn is_about_its_apis(unmet: &Unmet) -> bool {
    matches!(
        unmet,
        Unmet::NeededKubernetes { .. } | Unmet::NeededApi { .. }
    )
}

fn rendered(
    asked: &Asked<'_>,
    decision: Decision,
    secrets: SecretValues,
) -> Result<ManifestsOrObstacles, Error> {
    let deployment = match decision.deployment {
        Some(deployment) if decision.obstacles.is_empty() => deployment,
        _ => return Ok(Err(decision.obstacles)),
    };
    let generated = deployment.parameters.all.values();
    let generated = generated.filter(|it| it.source == ValueSource::Generated);
    let shown = RenderedDeployment {
        asked,
        deployment: &deployment,
        generated: HiddenTexts::of(generated.map(|it| &it.value)),
        secrets,
    };
    let space = Object::new(deployment.space())?;
    let mut manifests = vec![shown.manifest(ManifestSource::Environment, &space)];
    let definitions = decision.crds.iter().filter_map(|it| it.written());
    manifests.extend(definitions.map(|it| shown.manifest(ManifestSource::Definitions, it)));
    let changes = deployment.change.changes();
    manifests.extend(changes.map(|it| shown.manifest(shown.source(it), it.applied())));
    for release in &deployment.releases.all {
        let sent = release.objects.iter().filter(|it| !is_test(it));
        manifests.extend(sent.map(|it| shown.of_release(release, it)));
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

/// A deployment whose objects are shown.
struct RenderedDeployment<'a> {
    asked: &'a Asked<'a>,
    deployment: &'a Deployment,
    /// The values that are generated now.
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

    /// Whether it is a Secret that keeps values.
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

    /// Whether it holds a value that is generated now, or the key of digests.
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
                .map(|it| it.parse().unwrap())
                .into(),
            files: Vec::new(),
        };
        let Imagined { version, kinds } = site.to_cluster();
        assert_eq!((version.minor, version.text.as_str()), (34, "v1.34.0"));
        let has = |api_version: &str, kind: &str| {
            let kind = Gvk::new(api_version, kind);
            kinds.iter().any(|it| it.gvk == kind)
        };
        assert!(has("a.test/v1", UNNAMED) && has("b.test/v1", "Cart"));
        assert!(has("apps/v1", "Deployment") && !has("b.test/v1", UNNAMED));
    }

    #[test]
    fn what_an_imagined_cluster_has_is_judged_and_what_it_lacks_is_not() {
        let range = ">=1.40".parse().unwrap();
        let version = "v1.34.0".to_owned();
        let kubernetes = Unmet::NeededKubernetes { range, version };
        assert!(!is_about_a_cluster(&Obstacle::Unmet(Box::new(kubernetes))));
        let class = Unmet::NeededStorageClass { class: None };
        assert!(is_about_a_cluster(&Obstacle::Unmet(Box::new(class))));
        assert!(!is_about_a_cluster(&Obstacle::changed(["Role prod/a"])));
    }
}
