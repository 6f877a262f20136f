//! The list of what refers to a manifest, under the tag that the distribution specification has for it.

use std::collections::BTreeMap;

use schemas::{Digest, Document, MediaType};
use serde::{Deserialize, Serialize};

/// The fields of a manifest that say what it is, and what it refers to.
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
    /// Reads the fields of a document. One that cannot be understood refers to nothing.
    pub(super) fn of(document: &Document) -> Self {
        serde_json::from_slice(&document.bytes).unwrap_or_default()
    }
}

/// The list of referrers, as it is made here.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReferrerList {
    schema_version: u8,
    media_type: &'static str,
    manifests: Vec<ReferrerEntry>,
}

impl ReferrerList {
    /// The list of these, in this order.
    pub(super) fn of(manifests: Vec<ReferrerEntry>) -> Self {
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
    pub(super) fn of(document: &Document) -> Self {
        let said = ReferrerManifest::of(document);
        let own = said.artifact_type.filter(|it| !it.is_empty());
        Self {
            media_type: document.media_type.as_str(),
            digest: document.digest,
            size: document.bytes.len(),
            artifact_type: own.or(said.config.map(|config| config.media_type)),
            annotations: said.annotations,
        }
    }
}
