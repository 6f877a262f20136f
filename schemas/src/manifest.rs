//! The manifest of an archive, `manifest.yaml`, kind `Solution`: the fields that upstream reads, and this project's
//! additions below `spec.operator`. [`Solution::from_slice`] ignores unknown fields, as upstream does.
//! [`Solution::to_bytes`] writes one canonical form.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::yaml::{self, YamlError};
use crate::{
    API_VERSION, ChartRelease, ImageName, ImagePlace, NameError, ObjectSet, OperatorTemplate,
    Parameter, ParameterName, Prerequisites, SolutionId, SolutionName, Tag, Version,
};

/// The annotation of `index.json`'s descriptors that holds an image's `ref`.
pub const IMAGE_REFERENCE_ANNOTATION: &str = "solutions.metalk8s.scality.com/ref";

/// A Solution's manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Solution {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `Solution`.
    #[schemars(extend("const" = "Solution"))]
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// Version, images, operator.
    pub spec: SolutionSpec,
}

/// Name, labels and annotations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The name of the Solution.
    pub name: SolutionName,
    /// Annotations. `solutions.metalk8s.scality.com/display-name` is the name that is shown to people.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

/// The content of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SolutionSpec {
    /// The version.
    pub version: Version,
    /// The operator, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Operator>,
    /// The images.
    #[serde(default)]
    pub images: Vec<ImagePlace>,
    /// Sets of manifests, which are applied unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<ObjectSet>,
    /// Releases of Helm charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<ChartRelease>,
    /// The parameters that a site can set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<ParameterName, Parameter>,
    /// The prerequisites for a deployment.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub prerequisites: Prerequisites,
}

impl SolutionSpec {
    /// Returns the names of the manifest sets and chart releases.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        let sets = self.manifests.iter().map(|set| set.name.as_str());
        sets.chain(self.charts.iter().map(|chart| chart.name.as_str()))
    }

    /// Returns whether the Solution has manifest sets or charts. Their images are stored under names without the
    /// version.
    #[must_use]
    pub fn carries(&self) -> bool {
        !self.manifests.is_empty() || !self.charts.is_empty()
    }
}

/// The operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Operator {
    /// The operator's image, which must be one of the Solution's images.
    pub image: OperatorImage,
    /// The command. Default: `<solution>-operator --config=/etc/config/operator.yaml`. An empty list means the image's
    /// entrypoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The arguments. `$(image:NAME)` expands to the pull address of an image of the Solution.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The environment variables. Values expand in the same way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<EnvVar>,
    /// Additional restrictions of the operator's container. Some restrictions apply to every operator.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub security_context: SecurityContext,
    /// The scope of the operator: its namespace or the whole cluster.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub scope: OperatorScope,
    /// Whether and where the operator serves metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Metrics>,
    /// The fields of its Deployment that the other fields do not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<OperatorTemplate>,
}

impl Operator {
    /// Returns whether the operator's `ClusterRole`s keep their names at a site. This requires that the cluster has
    /// only one such operator, and that readers of the archive know templates, which were introduced at the same time.
    #[must_use]
    pub fn keeps_role_names(&self) -> bool {
        self.scope == OperatorScope::Cluster && self.template.is_some()
    }
}

/// Restrictions of a container, named as in Kubernetes. Privilege escalation, capabilities and system calls outside the
/// runtime's default profile are always forbidden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecurityContext {
    /// Whether the container must not run as root. Kubernetes rejects an image that would.
    #[serde(default)]
    pub run_as_non_root: bool,
    /// Whether the container's root file system is read-only.
    #[serde(default)]
    pub read_only_root_filesystem: bool,
    /// The user to run as instead of the image's. Kubernetes cannot distinguish a user name from root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as_user: Option<NonZeroU32>,
}

impl SecurityContext {
    /// Returns the restrictions of both. The user is that of `self`, if it has one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            run_as_non_root: self.run_as_non_root || other.run_as_non_root,
            read_only_root_filesystem: self.read_only_root_filesystem
                || other.read_only_root_filesystem,
            run_as_user: self.run_as_user.or(other.run_as_user),
        }
    }
}

/// The operator's image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorImage {
    /// The image's name.
    pub name: ImageName,
    /// The image's tag.
    pub tag: Tag,
}

impl OperatorImage {
    /// Returns the place of the image in the archive.
    #[must_use]
    pub fn place(&self) -> ImagePlace {
        ImagePlace {
            name: self.name.clone(),
            tag: self.tag.clone(),
        }
    }
}

/// An environment variable with a plain value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EnvVar {
    /// The variable's name.
    pub name: String,
    /// Its value; `$(image:NAME)` expands.
    pub value: String,
}

/// The scope of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OperatorScope {
    /// The operator's namespace.
    #[default]
    Namespace,
    /// The whole cluster. The administrator must consent to it.
    Cluster,
}

/// Metrics of an operator, as upstream since 133.0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Whether the operator serves metrics.
    #[serde(default)]
    pub enabled: bool,
    /// The scheme.
    #[serde(default)]
    pub scheme: MetricsScheme,
    /// The port. Default: 8443 for https and 8080 for http.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// The path. Default: `/metrics`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The scheme of a metrics endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetricsScheme {
    /// With TLS.
    #[default]
    Https,
    /// Without TLS.
    Http,
}

/// The error of bytes that are not a manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The bytes are not YAML of this structure.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// The document has another kind.
    #[error("is `{api_version}` `{kind}`, not `{API_VERSION}` `{expected}`")]
    Kind {
        /// The document's `apiVersion`.
        api_version: String,
        /// The document's `kind`.
        kind: String,
        /// The expected kind.
        expected: &'static str,
    },
    /// The name and version together are too long.
    #[error(transparent)]
    Id(#[from] NameError),
}

/// Fails for a document of another kind.
pub(crate) fn check_kind(
    api_version: &str,
    kind: &str,
    expected: &'static str,
) -> Result<(), ManifestError> {
    if api_version == API_VERSION && kind == expected {
        return Ok(());
    }
    Err(ManifestError::Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        expected,
    })
}

impl Solution {
    /// Parses a manifest.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a document of this kind, or its name and version are too long.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ManifestError> {
        let solution: Self = yaml::from_slice(bytes)?;
        check_kind(&solution.api_version, &solution.kind, "Solution")?;
        solution.id()?;
        Ok(solution)
    }

    /// Returns the bytes of `manifest.yaml`.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        yaml::to_string(self).into_bytes()
    }

    /// Returns the name and version.
    pub fn id(&self) -> Result<SolutionId, NameError> {
        SolutionId::new(self.metadata.name.clone(), self.spec.version.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPSTREAM: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: Solution
metadata:
  annotations: {solutions.metalk8s.scality.com/display-name: Example Solution}
  labels: {}
  name: example-solution
spec:
  images: [base-server:1.0.3, example-solution-operator:1.0.3]
  operator: {image: {name: example-solution-operator, tag: 1.0.3}, metrics: {enabled: true}}
  ui: {image: {name: example-solution-ui, tag: 1.0.3}}
  version: 1.0.3
";

    #[test]
    fn upstreams_manifests_are_read() {
        let solution = Solution::from_slice(UPSTREAM.as_bytes()).unwrap();
        assert_eq!(solution.id().unwrap().to_string(), "example-solution-1.0.3");
        assert_eq!(solution.spec.images.len(), 2);
        let operator = solution.spec.operator.as_ref().unwrap();
        assert_eq!(
            operator.image.place().to_string(),
            "example-solution-operator:1.0.3"
        );
        assert_eq!(
            Solution::from_slice(&solution.to_bytes()).unwrap(),
            solution
        );
    }

    #[test]
    fn other_documents_are_refused() {
        let refused = |from: &str, to: &str| {
            assert!(UPSTREAM.contains(from));
            Solution::from_slice(UPSTREAM.replace(from, to).as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert!(refused("kind: Solution", "kind: Other").contains("`Other`"));
        assert!(refused("v1alpha1", "v2").contains("v2"));
        assert!(refused("version: 1.0.3", "version: 1.0").contains("not a valid version"));
        assert!(
            refused("name: example-solution\n", "name: Example\n")
                .contains("not a valid Solution name")
        );
        assert!(
            refused("image: {name: example-solution-operator", "imag: {name: x").contains("imag")
        );
    }
}
