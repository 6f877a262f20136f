//! The inventory entry of a Helm release. It records each revision that was stored through `solution`, so that a forged
//! or modified release Secret is detected.

use std::fmt;

use helm::stored::{NAME, OWNER, STATUS, VERSION};
use schemas::{ChartName, ChartVersion, Digest, Namespace, ReleaseName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::vocabulary as v;

/// The record of one Helm release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseEntry {
    /// The name of the release.
    pub name: ReleaseName,
    /// The namespace of the release.
    pub namespace: Namespace,
    /// The chart of the release.
    pub chart: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The revision that the last change created. `None` while the first installation is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The digest of all inputs of Helm.
    pub inputs: Digest,
    /// The revisions that were stored through `solution`. Any other revision was created by another actor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionEntry>,
    /// True if another part of the deployment needs the release, so that it is uninstalled last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needed: bool,
}

/// The record of one stored revision. A tenant who can write Secrets in the namespace may have forged or modified the
/// stored revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionEntry {
    /// The number of the revision.
    pub revision: u32,
    /// The UID of the revision's Secret. `None` while it is unknown whether the Secret was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The digest of the stored content.
    pub digest: Digest,
    /// The digest of content that was about to be stored. After an interruption, the Secret has this content or the one
    /// of `digest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coming: Option<Digest>,
}

impl RevisionEntry {
    /// Returns the record of a revision before it is stored for the first time.
    #[must_use]
    pub fn new(revision: u32, secret: &Value) -> Self {
        Self {
            revision,
            uid: None,
            digest: content(secret),
            coming: None,
        }
    }

    /// Returns the record of the same revision before it is stored with new content.
    #[must_use]
    pub fn with_content(&self, secret: &Value) -> Self {
        Self {
            coming: Some(content(secret)),
            ..self.clone()
        }
    }

    /// Returns the record of the same revision after it was stored, with the UID of its Secret if it is known.
    #[must_use]
    pub fn stored(&self, uid: Option<&str>) -> Self {
        Self {
            revision: self.revision,
            uid: uid.map(str::to_owned).or_else(|| self.uid.clone()),
            digest: self.coming.unwrap_or(self.digest),
            coming: None,
        }
    }

    /// Checks whether a Secret is the recorded revision.
    #[must_use]
    pub fn is(&self, secret: &Value) -> bool {
        let uid = secret["metadata"]["uid"].as_str();
        let has_uid = self.uid.is_none() || self.uid.as_deref() == uid;
        let content = content(secret);
        has_uid && (content == self.digest || Some(content) == self.coming)
    }
}

/// Returns the digest of the fields of a Secret that define a revision: its name, type and data, and the labels by
/// which Helm finds it.
fn content(secret: &Value) -> Digest {
    let labels = [OWNER.0, NAME, VERSION, STATUS, v::RELEASE_OF];
    let labels = labels.map(|label| (label, &secret["metadata"]["labels"][label]));
    let name = &secret["metadata"]["name"];
    let said = json!([name, secret["type"], labels, secret["data"]]);
    Digest::new(Sha256::digest(said.to_string()).into())
}

impl ReleaseEntry {
    /// Checks whether the entry is of the release with this namespace and name, which identify a release in Helm.
    #[must_use]
    pub fn is(&self, namespace: &Namespace, name: &ReleaseName) -> bool {
        (&self.namespace, &self.name) == (namespace, name)
    }
}

/// Formats the release as `release NAMESPACE/NAME`.
impl fmt::Display for ReleaseEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "release {}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn release(name: &str, revision: Option<u32>) -> ReleaseEntry {
        ReleaseEntry {
            name: name.parse().unwrap(),
            namespace: "prod".parse().unwrap(),
            chart: "web".parse().unwrap(),
            version: "1.0.0".parse().unwrap(),
            revision,
            inputs: Digest::new([1; 32]),
            revisions: Vec::new(),
            needed: false,
        }
    }
}
