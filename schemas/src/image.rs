//! Image manifests and indexes: the part of the OCI image specification 1.1 (and Docker's schema 2, which has the
//! same shape) that copying byte for byte needs. The bytes are kept elsewhere, unchanged; these types only tell
//! what they refer to.

mod platform;

use serde::{Deserialize, Serialize};

use crate::json::{self, JsonError};
use crate::{Digest, known_keys, limits};
pub use platform::{Platform, WantedPlatform};

/// A reference to a content by digest and size (image specification, "Content Descriptors").
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The media type of the content.
    pub media_type: String,
    /// The digest of the content.
    pub digest: Digest,
    /// The content's size in bytes.
    pub size: u64,
    /// The platform that an index's child is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Addresses outside the archive. Descriptors with them are refused: a site without internet cannot follow them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// An image manifest: a configuration and layers. Artifacts have the same shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageManifest {
    /// The media type to serve the manifest with.
    pub media_type: String,
    /// What the manifest is, when it is not an image.
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The layers, base first.
    pub layers: Vec<Descriptor>,
}

/// An image index: manifests, mostly one for each platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIndex {
    /// The media type to serve the index with.
    pub media_type: String,
    /// The manifests.
    pub manifests: Vec<Descriptor>,
}

/// A document that a tag can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageDocument {
    /// A manifest.
    Manifest(ImageManifest),
    /// An index.
    Index(ImageIndex),
}

/// Why bytes are not an image manifest or index.
#[derive(Debug, thiserror::Error)]
pub enum ImageDocumentError {
    /// Larger than [`limits::IMAGE_MANIFEST_SIZE`].
    #[error("image manifest has {0} bytes; registries take at most {max}", max = limits::IMAGE_MANIFEST_SIZE)]
    Size(usize),
    /// Not strict JSON or of another shape.
    #[error("image manifest cannot be read")]
    Json(#[source] JsonError),
    /// Another media type or schema version.
    #[error("`{0}` is not an image manifest or index of schema version 2")]
    MediaType(String),
    /// Neither `config` and `layers`, nor `manifests`; or both.
    #[error("image manifest has neither `config` and `layers` nor `manifests`, or has both")]
    Shape,
    /// A content that lies elsewhere.
    #[error("{0} lies outside the image (`urls`), where a site without internet cannot reach it")]
    Foreign(Digest),
}

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// What the media types of layers begin with: those of either kind, compressed or not, distributable or not.
const LAYERS: [&str; 2] = [
    "application/vnd.oci.image.layer.",
    "application/vnd.docker.image.rootfs.",
];

/// Whether a media type is that of an image index or Docker's manifest list.
pub(crate) fn is_index(media_type: &str) -> bool {
    matches!(media_type, OCI_INDEX | DOCKER_LIST)
}

/// Whether a media type is that of an image manifest.
pub(crate) fn is_manifest(media_type: &str) -> bool {
    matches!(media_type, OCI_MANIFEST | DOCKER_MANIFEST)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

impl ImageManifest {
    /// Whether this is an image that can run: artifacts have the same shape, but a configuration or layers of other
    /// types (image specification, "Guidelines for Artifact Usage"), or say what they are.
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.artifact_type.is_none()
            && self.has_image_config()
            && self.layers.iter().all(Descriptor::is_layer)
    }

    /// Whether the configuration is one of an image, which says what it runs on. Some artifacts have one too.
    #[must_use]
    pub fn has_image_config(&self) -> bool {
        matches!(self.config.media_type.as_str(), OCI_CONFIG | DOCKER_CONFIG)
    }

    /// What an artifact is: its type, or else that of its configuration.
    #[must_use]
    pub fn kind(&self) -> &str {
        let artifact_type = self.artifact_type.as_deref();
        artifact_type.unwrap_or(&self.config.media_type)
    }
}

impl Descriptor {
    /// Whether the descriptor names a layer of a file system.
    fn is_layer(&self) -> bool {
        LAYERS
            .iter()
            .any(|prefix| self.media_type.starts_with(prefix))
    }

    /// Whether the descriptor names an image index or Docker's manifest list.
    #[must_use]
    pub fn is_index(&self) -> bool {
        is_index(&self.media_type)
    }

    /// Whether the descriptor names a document that has descriptors of its own.
    #[must_use]
    pub fn is_document(&self) -> bool {
        is_index(&self.media_type) || is_manifest(&self.media_type)
    }
}

impl ImageDocument {
    /// Reads a manifest or an index from its exact bytes.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ImageDocumentError> {
        if bytes.len() as u64 > limits::IMAGE_MANIFEST_SIZE {
            return Err(ImageDocumentError::Size(bytes.len()));
        }
        let raw: Raw = json::from_slice_of(bytes, known_keys::IMAGE_DOCUMENT)
            .map_err(ImageDocumentError::Json)?;
        let document = Self::from_raw(raw)?;
        let foreign = document
            .descriptors()
            .find(|descriptor| !descriptor.urls.is_empty())
            .map(|descriptor| descriptor.digest);
        foreign.map_or(Ok(document), |digest| {
            Err(ImageDocumentError::Foreign(digest))
        })
    }

    fn from_raw(raw: Raw) -> Result<Self, ImageDocumentError> {
        if raw.schema_version != 2 {
            let version = raw.schema_version;
            return Err(ImageDocumentError::MediaType(format!(
                "schema version {version}"
            )));
        }
        match (raw.config, raw.layers, raw.manifests) {
            (Some(config), Some(layers), None) => {
                let media_type = raw.media_type.unwrap_or_else(|| OCI_MANIFEST.to_owned());
                let artifact_type = raw.artifact_type;
                is_manifest(&media_type)
                    .then(|| {
                        Self::Manifest(ImageManifest {
                            media_type: media_type.clone(),
                            artifact_type,
                            config,
                            layers,
                        })
                    })
                    .ok_or(ImageDocumentError::MediaType(media_type))
            }
            (None, None, Some(manifests)) => {
                let media_type = raw.media_type.unwrap_or_else(|| OCI_INDEX.to_owned());
                is_index(&media_type)
                    .then(|| {
                        Self::Index(ImageIndex {
                            media_type: media_type.clone(),
                            manifests,
                        })
                    })
                    .ok_or(ImageDocumentError::MediaType(media_type))
            }
            _ => Err(ImageDocumentError::Shape),
        }
    }

    /// The media type to serve the document with.
    #[must_use]
    pub fn media_type(&self) -> &str {
        match self {
            Self::Manifest(manifest) => &manifest.media_type,
            Self::Index(index) => &index.media_type,
        }
    }

    /// Everything the document refers to.
    pub fn descriptors(&self) -> impl Iterator<Item = &Descriptor> {
        let (config, list) = match self {
            Self::Manifest(manifest) => (Some(&manifest.config), &manifest.layers),
            Self::Index(index) => (None, &index.manifests),
        };
        config.into_iter().chain(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn descriptor(extra: &str) -> String {
        format!(r#"{{"mediaType":"m","digest":"{DIGEST}","size":0{extra}}}"#)
    }

    fn manifest(extra: &str) -> String {
        let one = descriptor("");
        format!(r#"{{"schemaVersion":2,"config":{one},"layers":[{one}]{extra}}}"#)
    }

    fn read(text: &str) -> Result<ImageDocument, ImageDocumentError> {
        ImageDocument::from_slice(text.as_bytes())
    }

    #[test]
    fn manifests_and_indexes_are_told_apart() {
        let document = read(&manifest("")).unwrap();
        assert_eq!(document.media_type(), OCI_MANIFEST);
        assert_eq!(document.descriptors().count(), 2);
        let platform = r#","platform":{"os":"linux","architecture":"arm64","variant":"v8"}"#;
        let child = descriptor(platform);
        let index = read(&format!(
            r#"{{"schemaVersion":2,"mediaType":"{DOCKER_LIST}","manifests":[{child}]}}"#
        ))
        .unwrap();
        let ImageDocument::Index(index) = index else {
            panic!("not an index")
        };
        assert_eq!(
            index.manifests[0].platform.as_ref().unwrap().to_string(),
            "linux/arm64/v8"
        );
    }

    /// What Go reads, whether or not anything here does.
    #[test]
    fn keys_that_differ_only_in_case_are_refused() {
        let one = descriptor("");
        let refused = |text: &str| {
            let error = read(text).unwrap_err();
            assert!(matches!(error, ImageDocumentError::Json(_)), "{text}");
        };
        for key in [
            "Layers",
            "LayerS",
            "Manifests",
            "CONFIG",
            "mediatype",
            "Subject",
        ] {
            refused(&manifest(&format!(r#","{key}":[]"#)));
        }
        refused(&manifest("").replace("layers", "layer\u{17f}"));
        refused(&manifest(r#","subject":{"Digest":""}"#));
        for key in ["Size", "URLs", "Data", "ArtifactType"] {
            refused(&manifest("").replace(&one, &descriptor(&format!(r#","{key}":1"#))));
        }
        let platform = |more: &str| {
            let platform = format!(r#","platform":{{"os":"linux","architecture":"amd64"{more}}}"#);
            format!(
                r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
                descriptor(&platform)
            )
        };
        assert!(read(&platform(r#","os.version":"1""#)).is_ok());
        refused(&platform(r#","OS":"windows""#));
        refused(&platform(r#","OS.Version":"1""#));
        let free = r#","annotations":{"Digest":"","digest":"","Layers":""},"X":{"Layers":[]}"#;
        assert!(read(&manifest(free)).is_ok());
    }

    #[test]
    fn artifacts_are_told_from_images() {
        let of = |config: &str, layer: &str, extra: &str| {
            let text = manifest(extra).replacen(
                r#""mediaType":"m""#,
                &format!(r#""mediaType":"{config}""#),
                1,
            );
            let text = text.replacen(
                r#""mediaType":"m""#,
                &format!(r#""mediaType":"{layer}""#),
                1,
            );
            match read(&text).unwrap() {
                ImageDocument::Manifest(manifest) => {
                    (manifest.is_image(), manifest.kind().to_owned())
                }
                ImageDocument::Index(_) => panic!("{text} is no index"),
            }
        };
        let layer = "application/vnd.oci.image.layer.v1.tar+zstd";
        let docker = "application/vnd.docker.image.rootfs.diff.tar.gzip";
        assert!(of(OCI_CONFIG, layer, "").0);
        assert!(of(DOCKER_CONFIG, docker, "").0);
        let empty = "application/vnd.oci.empty.v1+json";
        let typed = r#","artifactType":"application/vnd.example.policy.v1""#;
        assert_eq!(
            of(empty, "text/x-rego", typed),
            (false, "application/vnd.example.policy.v1".to_owned())
        );
        assert_eq!(
            of("application/vnd.example.config.v1+json", layer, "").1,
            "application/vnd.example.config.v1+json"
        );
        assert!(!of(OCI_CONFIG, layer, typed).0);
        assert!(!of(OCI_CONFIG, "application/vnd.in-toto+json", "").0);
    }

    #[test]
    fn other_documents_are_refused() {
        assert!(matches!(
            read(&manifest(r#","manifests":[]"#)),
            Err(ImageDocumentError::Shape)
        ));
        assert!(matches!(
            read(r#"{"schemaVersion":2}"#),
            Err(ImageDocumentError::Shape)
        ));
        assert!(matches!(
            read(r#"{"schemaVersion":1}"#),
            Err(ImageDocumentError::MediaType(_))
        ));
        assert!(matches!(
            read(&manifest(r#","mediaType":"text/html""#)),
            Err(ImageDocumentError::MediaType(_))
        ));
        let listed = format!(r#""layers":[["m","{DIGEST}",0]]"#);
        let layers = format!(r#""layers":[{}]"#, descriptor(""));
        assert!(matches!(
            read(&manifest("").replace(&layers, &listed)),
            Err(ImageDocumentError::Json(_))
        ));
        assert!(matches!(
            read(&manifest(r#","layers":[]"#)),
            Err(ImageDocumentError::Json(_))
        ));
        let foreign =
            manifest("").replace(r#""size":0"#, r#""size":0,"urls":["https://example.test"]"#);
        assert!(matches!(
            read(&foreign),
            Err(ImageDocumentError::Foreign(_))
        ));
        assert!(matches!(
            read(&" ".repeat(5_000_000)),
            Err(ImageDocumentError::Size(_))
        ));
    }
}
