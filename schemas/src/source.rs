//! The source of a Solution, `solution.yaml`, kind `SolutionSource`, which `solution pack` reads.
//! [`SolutionSource::from_slice`] parses it. Unknown fields are errors, because they are misspelled ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::manifest::{ManifestError, Metadata, Operator, check_kind};
use crate::name::text_traits;
use crate::prerequisites::{SourcePrerequisites, versions_in};
use crate::yaml;
use crate::{
    API_VERSION, ImageName, ImagePlace, ImageReference, KubernetesVersion, NameError, Parameter,
    ParameterName, Prerequisites, SolutionId, SourceChart, SourceSet, StatementTime, Tag, Version,
    VersionRange, WantedPlatform, limits,
};

/// The source of an archive (`solution.yaml`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SolutionSource {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `SolutionSource`.
    #[schemars(extend("const" = "SolutionSource"))]
    pub kind: String,
    /// Name, labels, annotations.
    pub metadata: Metadata,
    /// Version, images, operator.
    pub spec: SourceSpec,
}

/// The source of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceSpec {
    /// The version.
    pub version: Version,
    /// The images and their sources.
    #[serde(default)]
    pub images: Vec<SourceImage>,
    /// The operator, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<Operator>,
    /// The directory with one `CustomResourceDefinition` per file, below the directory of `solution.yaml`.
    #[serde(default = "default_crds")]
    pub crds: PathBuf,
    /// The file with the Roles and `ClusterRoles` of the operator, below the directory of `solution.yaml`.
    #[serde(default = "default_roles")]
    pub roles: PathBuf,
    /// Sets of manifests, which are packaged and applied unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<SourceSet>,
    /// Helm charts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<SourceChart>,
    /// The versions of Kubernetes that the charts are rendered for. Their images are complete for each. Default: the
    /// minor versions that `prerequisites.kubernetes` allows, if they are few, otherwise the version that Helm supports
    /// best.
    #[serde(
        default,
        deserialize_with = "distinct_and_few",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(length(max = limits::KUBERNETES_VERSIONS), extend("uniqueItems" = true))]
    pub kubernetes: Vec<KubernetesVersion>,
    /// The parameters that a site can set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<ParameterName, Parameter>,
    /// The prerequisites for a deployment.
    #[serde(
        default,
        deserialize_with = "SourcePrerequisites::deserialize",
        skip_serializing_if = "crate::is_default"
    )]
    pub prerequisites: Prerequisites,
    /// The versions that a site can upgrade from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_from: Option<VersionRange>,
    /// The date after which the archive should no longer be used. The site only shows a warning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<StatementTime>,
}

impl SourceSpec {
    /// Returns the versions of Kubernetes for which charts are rendered. If it is empty, Helm's default applies.
    #[must_use]
    pub fn rendered_for(&self) -> Vec<KubernetesVersion> {
        match &self.prerequisites.kubernetes {
            Some(range) if self.kubernetes.is_empty() => versions_in(range),
            _ => self.kubernetes.clone(),
        }
    }
}

/// Deserializes distinct versions, within the limit.
fn distinct_and_few<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<KubernetesVersion>, D::Error> {
    let versions = Vec::<KubernetesVersion>::deserialize(deserializer)?;
    if versions.len() > limits::KUBERNETES_VERSIONS {
        let max = limits::KUBERNETES_VERSIONS;
        return Err(D::Error::custom(format_args!(
            "there are {} versions of Kubernetes; charts are rendered for at most {max}",
            versions.len()
        )));
    }
    let mut seen = BTreeSet::new();
    match versions
        .iter()
        .find(|version| !seen.insert(version.as_str()))
    {
        Some(twice) => Err(D::Error::custom(format_args!("{twice} is listed twice"))),
        None => Ok(versions),
    }
}

fn default_crds() -> PathBuf {
    PathBuf::from("operator/deploy/crds")
}

fn default_roles() -> PathBuf {
    PathBuf::from("operator/deploy/role.yaml")
}

/// One image of a Solution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceImage {
    /// The image's name in the Solution.
    pub name: ImageName,
    /// The image's tag in the Solution, even if the source is pinned by digest.
    pub tag: Tag,
    /// The source of the image.
    pub source: ImageSource,
    /// The reference that workloads use. Default: the image's reference in its source.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ImageReference>,
    /// The platforms to take from a multi-platform image, as `os/architecture[/variant]`. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub platforms: Vec<WantedPlatform>,
}

impl SourceImage {
    /// Returns the place of the image in the archive.
    #[must_use]
    pub fn place(&self) -> ImagePlace {
        ImagePlace {
            name: self.name.clone(),
            tag: self.tag.clone(),
        }
    }

    /// Returns the reference by which workloads name the image, as far as it is known without reading the source: the
    /// explicit one, or the address of the source. The content of files and directories can have another one.
    #[must_use]
    pub fn known_reference(&self) -> Option<&ImageReference> {
        self.reference.as_ref().or(match &self.source {
            ImageSource::Docker(reference) => Some(reference),
            _ => None,
        })
    }

    /// Returns whether the reference, or its absence, is known without reading the source.
    #[must_use]
    pub fn reference_is_known(&self) -> bool {
        self.known_reference().is_some() || matches!(self.source, ImageSource::Dir { .. })
    }
}

/// The source of an image, in the notation of skopeo's and podman's transports.
#[derive(Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// `oci:DIR[:TAG]`: an OCI image layout.
    Oci {
        /// The layout's directory.
        directory: PathBuf,
        /// The tag of one of its images; needed when it holds several.
        tag: Option<String>,
    },
    /// `oci-archive:FILE[:TAG]`: a tar of an OCI image layout.
    OciArchive {
        /// The tar file.
        file: PathBuf,
        /// The tag of one of its images.
        tag: Option<String>,
    },
    /// `docker-archive:FILE[:REF]`: what `docker save` writes.
    DockerArchive {
        /// The tar file.
        file: PathBuf,
        /// The reference of one of its images.
        reference: Option<String>,
    },
    /// `dir:DIR`: skopeo's directory of a manifest and its blobs.
    Dir {
        /// The directory.
        directory: PathBuf,
    },
    /// `docker://HOST/REPOSITORY:TAG` or `@sha256:…`: a registry.
    Docker(ImageReference),
    /// `docker-daemon:REF`: the engine's own store, over its socket.
    DockerDaemon(ImageReference),
}

impl ImageSource {
    /// Returns whether the owner of the source can replace the image at any time, without a change of a local file.
    #[must_use]
    pub fn can_move(&self) -> bool {
        matches!(self, Self::Docker(_) | Self::DockerDaemon(_))
    }
}

const SOURCES: &str = "oci:DIR[:TAG], dir:DIR, oci-archive:FILE[:TAG], docker-archive:FILE[:REF], docker://REF or docker-daemon:REF";

impl FromStr for ImageSource {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || NameError::new("image source", text, SOURCES);
        let (transport, rest) = text.split_once(':').ok_or_else(refuse)?;
        if rest.is_empty() {
            return Err(refuse());
        }
        let (path, suffix) = match rest.split_once(':') {
            Some((path, suffix)) if !path.is_empty() && !suffix.is_empty() => {
                (path, Some(suffix.to_owned()))
            }
            Some(_) => return Err(refuse()),
            None => (rest, None),
        };
        Ok(match transport {
            "oci" => Self::Oci {
                directory: path.into(),
                tag: suffix,
            },
            "oci-archive" => Self::OciArchive {
                file: path.into(),
                tag: suffix,
            },
            "docker-archive" => Self::DockerArchive {
                file: path.into(),
                reference: suffix,
            },
            "dir" => Self::Dir {
                directory: rest.into(),
            },
            "docker" => Self::Docker(rest.strip_prefix("//").ok_or_else(refuse)?.parse()?),
            "docker-daemon" => Self::DockerDaemon(rest.parse()?),
            _ => return Err(refuse()),
        })
    }
}

impl fmt::Display for ImageSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (transport, path, suffix) = match self {
            Self::Oci { directory, tag } => ("oci", directory, tag),
            Self::OciArchive { file, tag } => ("oci-archive", file, tag),
            Self::DockerArchive { file, reference } => ("docker-archive", file, reference),
            Self::Dir { directory } => ("dir", directory, &None),
            Self::Docker(reference) => return write!(f, "docker://{reference}"),
            Self::DockerDaemon(reference) => return write!(f, "docker-daemon:{reference}"),
        };
        write!(f, "{transport}:{}", path.display())?;
        suffix.iter().try_for_each(|suffix| write!(f, ":{suffix}"))
    }
}

text_traits!(
    ImageSource,
    "oci:DIR[:TAG], dir:DIR, oci-archive:FILE[:TAG], docker-archive:FILE[:REF], docker://REF or docker-daemon:REF",
    crate::pattern::IMAGE_SOURCE
);

impl SolutionSource {
    /// Parses `solution.yaml`.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a document of this kind, or its name and version are too long.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ManifestError> {
        let source: Self = yaml::from_slice(bytes)?;
        check_kind(&source.api_version, &source.kind, "SolutionSource")?;
        source.id()?;
        Ok(source)
    }

    /// Returns the name and version.
    pub fn id(&self) -> Result<SolutionId, NameError> {
        SolutionId::new(self.metadata.name.clone(), self.spec.version.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: example}
spec:
  version: 1.0.0
  images:
    - {name: example-operator, tag: 1.0.0, source: 'oci:images/operator:1.0.0', ref: registry.example.test/operator:1.0.0}
  operator: {image: {name: example-operator, tag: 1.0.0}}
  upgradeFrom: '>=0.9.0'
";

    #[test]
    fn versions_of_kubernetes_are_texts_that_stand_there_once() {
        let read = |list: &str| {
            let text = format!("{SOURCE}  kubernetes: [{list}]\n");
            SolutionSource::from_slice(text.as_bytes()).map(|source| source.spec.kubernetes)
        };
        assert_eq!(read("'1.30', 1.36.2").unwrap().len(), 2);
        assert_eq!(read("").unwrap(), []);
        let many: Vec<String> = (0..=limits::KUBERNETES_VERSIONS)
            .map(|minor| format!("'1.{minor}'"))
            .collect();
        assert!(read(&many[1..].join(",")).is_ok());
        // Without quotes, other YAML readers get 1.3.
        assert_eq!(read("1.30").unwrap()[0].as_str(), "1.30");
        for refused in ["'1.30', '1.30'", "1.30, '1.30'", "'1'", &many.join(",")] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_reference_is_where_the_image_came_from_when_that_is_a_registry() {
        let image = |source: &str, reference: Option<&str>| SourceImage {
            name: "org/app".parse().unwrap(),
            tag: "1.0".parse().unwrap(),
            source: source.parse().unwrap(),
            reference: reference.map(|reference| reference.parse().unwrap()),
            platforms: Vec::new(),
        };
        let registry = "docker://quay.io/org/app:1.2";
        for (source, given, reference, known) in [
            (registry, None, Some("quay.io/org/app:1.2"), true),
            (registry, Some("r.test/app:1"), Some("r.test/app:1"), true),
            ("oci:images/app", None, None, false),
            ("dir:images/app", None, None, true),
        ] {
            let image = image(source, given);
            let found = image.known_reference().map(ImageReference::as_str);
            assert_eq!(
                (found, image.reference_is_known()),
                (reference, known),
                "{source}"
            );
        }
    }

    #[test]
    fn a_source_is_read_with_its_defaults() {
        let source = SolutionSource::from_slice(SOURCE.as_bytes()).unwrap();
        assert_eq!(source.spec.crds, PathBuf::from("operator/deploy/crds"));
        assert_eq!(
            source.spec.images[0].place().to_string(),
            "example-operator:1.0.0"
        );
    }

    #[test]
    fn misspelt_fields_are_refused_by_name() {
        for (from, to) in [
            ("upgradeFrom", "upgradefrom"),
            ("ref:", "reference:"),
            ("version:", "versions:"),
        ] {
            let message = SolutionSource::from_slice(SOURCE.replacen(from, to, 1).as_bytes())
                .unwrap_err()
                .to_string();
            assert!(message.contains(to.trim_end_matches(':')), "{message}");
        }
    }

    #[test]
    fn every_notation_round_trips() {
        for text in [
            "oci:images/a",
            "oci:images/a:1.0",
            "oci-archive:a.tar",
            "oci-archive:a.tar:x",
            "docker-archive:a.tar",
            "docker-archive:a.tar:app:1",
            "dir:images/a",
            "docker://quay.io/org/app:1.2",
            "docker-daemon:app:latest",
        ] {
            assert_eq!(text.parse::<ImageSource>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "oci",
            "oci:",
            "oci::x",
            "oci:a:",
            "docker:quay.io/app:1",
            "ftp:x",
            "docker://",
            "images/a",
        ] {
            assert!(text.parse::<ImageSource>().is_err(), "{text}");
        }
    }
}
