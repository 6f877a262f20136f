//! The OCI artifact of a chart in a registry. It equals the artifact that `helm push` creates (Helm's `pkg/registry`),
//! except that it has no creation time. The time would give the same chart another digest at each push.

use std::collections::BTreeMap;

use schemas::{Descriptor, Digest, ImageDocument};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::ArtifactProblem;
use crate::limits;
use crate::metadata::ChartMetadata;

/// The media type of the configuration, which contains the chart's metadata.
pub const CONFIG: &str = "application/vnd.cncf.helm.config.v1+json";
/// The media type of the chart's archive.
pub const CONTENT: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// The media type of the provenance file, which contains the signature.
pub const PROVENANCE: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";

/// The documents of an artifact. Its only layer is the unmodified archive of the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartArtifact {
    /// The image manifest of the OCI image specification.
    pub manifest: Vec<u8>,
    /// The configuration.
    pub config: Vec<u8>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactManifest {
    schema_version: u8,
    config: ArtifactDescriptor,
    layers: [ArtifactDescriptor; 1],
    annotations: BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactDescriptor {
    media_type: &'static str,
    digest: Digest,
    size: usize,
}

fn part(media_type: &'static str, bytes: &[u8]) -> ArtifactDescriptor {
    ArtifactDescriptor {
        media_type,
        digest: Digest::new(Sha256::digest(bytes).into()),
        size: bytes.len(),
    }
}

impl ChartArtifact {
    /// Returns the digest of the manifest, which identifies the artifact.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::new(Sha256::digest(&self.manifest).into())
    }

    /// Creates the artifact of a chart and its archive.
    pub(crate) fn new(metadata: &ChartMetadata, archive: &[u8]) -> Self {
        let config = json(metadata);
        let manifest = json(&ArtifactManifest {
            schema_version: 2,
            config: part(CONFIG, &config),
            layers: [part(CONTENT, archive)],
            annotations: annotations(metadata),
        });
        Self { manifest, config }
    }
}

/// Returns the layer with the chart's archive.
///
/// # Errors
///
/// Fails if the manifest is not a chart's, or does not have exactly one archive within [`limits::ARCHIVE_SIZE`].
pub fn content(manifest: &[u8]) -> Result<Descriptor, ArtifactProblem> {
    match <[Descriptor; 1]>::try_from(layers(manifest, CONTENT)?) {
        Ok([layer]) if layer.size > limits::ARCHIVE_SIZE => Err(ArtifactProblem::Size(layer.size)),
        Ok([layer]) => Ok(layer),
        Err(layers) => Err(ArtifactProblem::Content(layers.len())),
    }
}

/// Returns the layer with the chart's provenance file, if there is one.
///
/// # Errors
///
/// Fails if the manifest is not a chart's, or has multiple or too large provenance files.
pub fn provenance(manifest: &[u8]) -> Result<Option<Descriptor>, ArtifactProblem> {
    let mut found = layers(manifest, PROVENANCE)?;
    match (found.pop(), found.len()) {
        (None, _) => Ok(None),
        (Some(layer), 0) if layer.size > limits::PROVENANCE as u64 => {
            Err(ArtifactProblem::ProvenanceSize(layer.size))
        }
        (Some(layer), 0) => Ok(Some(layer)),
        (Some(_), others) => Err(ArtifactProblem::Provenance(others + 1)),
    }
}

/// Returns the layers of a media type in the artifact of a chart.
fn layers(manifest: &[u8], media_type: &str) -> Result<Vec<Descriptor>, ArtifactProblem> {
    let manifest = match ImageDocument::from_slice(manifest)? {
        ImageDocument::Manifest(manifest) => manifest,
        ImageDocument::Index(_) => return Err(ArtifactProblem::Index),
    };
    if manifest.config.media_type != CONFIG {
        return Err(ArtifactProblem::Config(manifest.config.media_type));
    }
    let mut layers = manifest.layers;
    layers.retain(|layer| layer.media_type == media_type);
    Ok(layers)
}

/// Serializes like Go's encoder, which also escapes HTML characters.
fn json(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("texts and lists have a JSON form");
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            c => escaped.push(c),
        }
    }
    escaped.into_bytes()
}

fn annotations(metadata: &ChartMetadata) -> BTreeMap<String, String> {
    const TITLE: &str = "org.opencontainers.image.title";
    const VERSION: &str = "org.opencontainers.image.version";
    let people: Vec<String> = metadata
        .maintainers
        .iter()
        .map(|maintainer| match maintainer.email.as_str() {
            "" => maintainer.name.clone(),
            email => format!("{} ({email})", maintainer.name),
        })
        .collect();
    let source = metadata.sources.first().cloned().unwrap_or_default();
    let own = [
        (
            "org.opencontainers.image.description",
            &metadata.description,
        ),
        (TITLE, &metadata.name),
        (VERSION, &metadata.version),
        ("org.opencontainers.image.url", &metadata.home),
        ("org.opencontainers.image.source", &source),
        ("org.opencontainers.image.authors", &people.join(", ")),
    ];
    let said = own
        .into_iter()
        .filter(|(_, value)| !value.trim().is_empty());
    let mut annotations: BTreeMap<String, String> = said
        .map(|(key, value)| (key.to_owned(), value.clone()))
        .collect();
    for (key, value) in &metadata.annotations {
        if ![TITLE, VERSION].contains(&key.as_str()) {
            annotations.insert(key.clone(), value.clone());
        }
    }
    annotations
}
