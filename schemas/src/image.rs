//! Image manifests and indexes, as far as a byte-for-byte copy needs them: the relevant part of the OCI image
//! specification 1.1, and of Docker's schema 2, which has the same structure. [`Document::read`] parses a document. The
//! types only describe references; the exact bytes are kept unchanged.
//!
//! [`walk`] finds everything that is reachable from a tag, and [`Referrers`] separates images from their
//! signatures.

mod media_type;
mod platform;
mod referrers;
pub mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::{self, JsonError};
use crate::{Digest, ImagePlace, ImageReference, known_keys, limits};
pub use media_type::MediaType;
pub use platform::{Platform, WantedPlatform};
pub use referrers::{Referrers, SUFFIXES as REFERRER_SUFFIXES};

/// An image with everything that is reachable from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The place of the image in the archive.
    pub place: ImagePlace,
    /// The reference by which workloads name the image.
    pub reference: Option<ImageReference>,
    /// The document that the tag names.
    pub root: Arc<Document>,
    /// Every other manifest and index, each once and after those that it references. They are shared, because any
    /// number of images may have a document.
    pub children: Vec<Arc<Document>>,
    /// Every configuration and layer, with its size in bytes.
    pub blobs: BTreeMap<Digest, u64>,
    /// The platforms of the image, as far as its configurations were read.
    pub platforms: BTreeSet<Platform>,
}

impl Image {
    /// Returns every manifest and index in a valid order for a push: each after those that it references, and the root
    /// last.
    pub fn documents(&self) -> impl Iterator<Item = &Arc<Document>> {
        self.children.iter().chain([&self.root])
    }
}

/// A manifest or index, and the digests that it references.
#[derive(Debug, PartialEq, Eq)]
pub struct Document {
    /// The SHA-256 of `bytes`.
    pub digest: Digest,
    /// The media type with which the document is served.
    pub media_type: MediaType,
    /// The exact bytes of the document.
    pub bytes: Arc<[u8]>,
    /// The digests of all content that the document references, each once.
    pub needs: Vec<Digest>,
}

impl Document {
    /// Parses a manifest or index from its exact bytes. The caller has verified their digest.
    ///
    /// The parsed content is returned separately, for a walk. It is not kept, because it takes more memory than the
    /// bytes.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a valid image document.
    pub fn read(
        digest: Digest,
        bytes: Vec<u8>,
    ) -> Result<(Self, ImageDocument), ImageDocumentError> {
        let content = ImageDocument::from_slice(&bytes)?;
        let needs: BTreeSet<Digest> = content.descriptors().map(|named| named.digest).collect();
        let document = Self {
            digest,
            media_type: content.media_type(),
            bytes: bytes.into(),
            needs: needs.into_iter().collect(),
        };
        Ok((document, content))
    }

    /// Returns whether a descriptor references a document with its own references. Only an index has such descriptors,
    /// and it may also list other content. A layer is a layer, independent of its media type.
    #[must_use]
    pub fn follows(&self, named: &Descriptor) -> bool {
        self.media_type.is_index() && named.document_type().is_some()
    }
}

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
    /// The platform of an index's child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    /// Addresses outside of the archive, which a site without internet access cannot use. Only layers may have them
    /// (*foreign layers*), and the archive must contain their content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
}

/// An image manifest: a configuration and layers. Artifacts have the same structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageManifest {
    /// The media type to serve the manifest with.
    pub media_type: MediaType,
    /// The type of the artifact, when the manifest is not an image.
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The layers, base first.
    pub layers: Vec<Descriptor>,
}

/// An image index: manifests, usually one for each platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageIndex {
    /// The media type to serve the index with.
    pub media_type: MediaType,
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

/// The reason why bytes are not an image manifest or index.
#[derive(Debug, thiserror::Error)]
pub enum ImageDocumentError {
    /// The document is larger than [`limits::IMAGE_MANIFEST_SIZE`].
    #[error("image manifest has {0} bytes; registries accept at most {max}", max = limits::IMAGE_MANIFEST_SIZE)]
    Size(usize),
    /// The bytes are not strict JSON, or have another structure.
    #[error("image manifest cannot be read")]
    Json(#[source] JsonError),
    /// The media type or the schema version is not supported.
    #[error("`{0}` is not an image manifest or index of schema version 2")]
    MediaType(String),
    /// The document has neither `config` and `layers`, nor `manifests`; or both.
    #[error("image manifest has neither `config` and `layers` nor `manifests`, or has both")]
    Shape,
    /// A content other than a layer is outside of the image.
    #[error("{0} is outside the image (`urls`), where a site without internet cannot reach it")]
    Foreign(Digest),
}

/// The media type of the configuration of an artifact that has none (OCI image specification, "Guidance for an Empty
/// Descriptor").
pub const EMPTY_CONFIG_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// The bytes of such a configuration.
pub const EMPTY_CONFIG: &[u8] = b"{}";

const OCI_CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const DOCKER_CONFIG: &str = "application/vnd.docker.container.image.v1+json";
/// The prefixes of the media types of layers: those of either kind, compressed or not, distributable or not.
const LAYERS: [&str; 2] = [
    "application/vnd.oci.image.layer.",
    "application/vnd.docker.image.rootfs.",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawImage {
    schema_version: u32,
    media_type: Option<String>,
    artifact_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

impl ImageManifest {
    /// Returns whether this is an image that can run. Artifacts have the same structure, but declare a type, or have a
    /// configuration or layers of other types (image specification, "Guidelines for Artifact Usage").
    #[must_use]
    pub fn is_image(&self) -> bool {
        self.artifact_type.is_none()
            && self.has_image_config()
            && self.layers.iter().all(Descriptor::is_layer)
    }

    /// Returns whether the configuration is that of an image, which states its platform. Some artifacts have one, too.
    #[must_use]
    pub fn has_image_config(&self) -> bool {
        matches!(self.config.media_type.as_str(), OCI_CONFIG | DOCKER_CONFIG)
    }

    /// Returns the artifact type, or the configuration's media type if there is none.
    #[must_use]
    pub fn kind(&self) -> &str {
        let artifact_type = self.artifact_type.as_deref();
        artifact_type.unwrap_or(&self.config.media_type)
    }
}

impl Descriptor {
    /// Returns whether this is a foreign layer, which has external addresses, as the base layers of Windows do.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !self.urls.is_empty()
    }

    /// Returns whether the descriptor references a layer of a file system.
    #[must_use]
    pub fn is_layer(&self) -> bool {
        LAYERS
            .iter()
            .any(|prefix| self.media_type.starts_with(prefix))
    }

    /// Returns the media type if it is that of a document with descriptors.
    #[must_use]
    pub fn document_type(&self) -> Option<MediaType> {
        MediaType::from_text(&self.media_type)
    }
}

impl ImageDocument {
    /// Returns the type of an artifact; `None` for images and indexes.
    #[must_use]
    pub fn artifact_type(&self) -> Option<&str> {
        match self {
            Self::Manifest(manifest) if !manifest.is_image() => Some(manifest.kind()),
            Self::Manifest(_) | Self::Index(_) => None,
        }
    }

    /// Returns the platforms for which an index has images. Attestations have no known platform and are left out.
    pub fn platforms(&self) -> impl Iterator<Item = &Platform> {
        let manifests = match self {
            Self::Index(index) => index.manifests.as_slice(),
            Self::Manifest(_) => &[],
        };
        let platforms = manifests
            .iter()
            .filter_map(|manifest| manifest.platform.as_ref());
        platforms.filter(|platform| platform.is_known())
    }

    /// Parses a manifest or index from its exact bytes.
    ///
    /// # Errors
    ///
    /// Fails if the bytes exceed [`limits::IMAGE_MANIFEST_SIZE`], are not strict JSON of a supported type, or reference
    /// content other than layers outside of the image.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ImageDocumentError> {
        if bytes.len() as u64 > limits::IMAGE_MANIFEST_SIZE {
            return Err(ImageDocumentError::Size(bytes.len()));
        }
        let raw: RawImage = json::from_slice_of(bytes, known_keys::IMAGE_DOCUMENT)
            .map_err(ImageDocumentError::Json)?;
        let document = Self::from_raw(raw)?;
        let foreign = document
            .descriptors()
            .find(|descriptor| descriptor.is_foreign() && !descriptor.is_layer())
            .map(|descriptor| descriptor.digest);
        foreign.map_or(Ok(document), |digest| {
            Err(ImageDocumentError::Foreign(digest))
        })
    }

    fn from_raw(raw: RawImage) -> Result<Self, ImageDocumentError> {
        if raw.schema_version != 2 {
            let version = raw.schema_version;
            return Err(ImageDocumentError::MediaType(format!(
                "schema version {version}"
            )));
        }
        let media_type = |default: MediaType| match raw.media_type {
            None => Ok(default),
            Some(text) => MediaType::from_text(&text)
                .filter(|said| said.is_index() == default.is_index())
                .ok_or(ImageDocumentError::MediaType(text)),
        };
        match (raw.config, raw.layers, raw.manifests) {
            (Some(config), Some(layers), None) => Ok(Self::Manifest(ImageManifest {
                media_type: media_type(MediaType::OciManifest)?,
                artifact_type: raw.artifact_type,
                config,
                layers,
            })),
            (None, None, Some(manifests)) => Ok(Self::Index(ImageIndex {
                media_type: media_type(MediaType::OciIndex)?,
                manifests,
            })),
            _ => Err(ImageDocumentError::Shape),
        }
    }

    /// The media type to serve the document with.
    #[must_use]
    pub fn media_type(&self) -> MediaType {
        match self {
            Self::Manifest(manifest) => manifest.media_type,
            Self::Index(index) => index.media_type,
        }
    }

    /// Returns the descriptors of all content that the document references.
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
        assert_eq!(document.media_type(), MediaType::OciManifest);
        assert_eq!(document.descriptors().count(), 2);
        let platform = r#","platform":{"os":"linux","architecture":"arm64","variant":"v8"}"#;
        let child = descriptor(platform);
        let index = read(&format!(
            r#"{{"schemaVersion":2,"mediaType":"{}","manifests":[{child}]}}"#,
            MediaType::DockerList
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

    /// Keys that Go reads are rejected whether or not this crate reads them.
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
    fn layers_may_have_addresses_elsewhere() {
        for layer in [
            "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
            "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        ] {
            let foreign = descriptor(r#","urls":["https://example.test"]"#);
            let foreign = foreign.replacen(r#""m""#, &format!(r#""{layer}""#), 1);
            let layers = format!(r#""layers":[{foreign}]"#);
            let text = manifest("").replace(&format!(r#""layers":[{}]"#, descriptor("")), &layers);
            let document = read(&text).unwrap();
            let foreign = document.descriptors().filter(|named| named.is_foreign());
            assert_eq!(foreign.count(), 1, "{layer}");
        }
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
        // Clients that pull an image use only the addresses of layers.
        let foreign = descriptor(r#","urls":["https://example.test"]"#);
        let of = |text: &str| text.replacen(&descriptor(""), &foreign, 1);
        assert!(matches!(
            read(&of(&manifest(""))),
            Err(ImageDocumentError::Foreign(_))
        ));
        let index = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, descriptor(""));
        assert!(matches!(
            read(&of(&index)),
            Err(ImageDocumentError::Foreign(_))
        ));
        assert!(matches!(
            read(&" ".repeat(5_000_000)),
            Err(ImageDocumentError::Size(_))
        ));
    }
}
