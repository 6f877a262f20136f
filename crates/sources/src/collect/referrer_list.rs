//! The list of a manifest's referrers, which the OCI distribution specification stores under a tag ("Referrers Tag
//! Schema"). Registries without the referrers API serve it as an ordinary index.

use std::collections::BTreeMap;

use schemas::{Digest, Document, MediaType};
use serde::{Deserialize, Serialize};

/// The fields of a manifest that describe its type and its subject.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferrerManifest {
    pub(super) subject: Option<ReferrerSubject>,
    artifact_type: Option<String>,
    config: Option<ConfigDescriptor>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub(super) struct ReferrerSubject {
    pub(super) digest: Digest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigDescriptor {
    media_type: String,
}

impl ReferrerManifest {
    /// Reads the fields of a document. An invalid document is regarded as having no subject.
    pub(super) fn from_document(document: &Document) -> Self {
        serde_json::from_slice(&document.bytes).unwrap_or_default()
    }
}

/// A list of referrers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferrerList {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<ReferrerEntry>,
}

impl ReferrerList {
    /// Creates the list of these entries, in this order.
    pub(super) fn from_entries(manifests: Vec<ReferrerEntry>) -> Self {
        Self {
            schema_version: 2,
            media_type: MediaType::OciIndex.as_str(),
            manifests,
        }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are JSON")
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferrerEntry {
    media_type: &'static str,
    digest: Digest,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: BTreeMap<String, String>,
}

impl ReferrerEntry {
    pub(super) fn from_document(document: &Document) -> Self {
        let said = ReferrerManifest::from_document(document);
        let own = said.artifact_type.filter(|text| !text.is_empty());
        Self {
            media_type: document.media_type.as_str(),
            digest: document.digest,
            size: document.bytes.len(),
            artifact_type: own.or(said.config.map(|config| config.media_type)),
            annotations: said.annotations,
        }
    }
}
