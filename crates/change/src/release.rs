//! The entry of a release of a Helm chart in the inventory.

use std::fmt;

use helm::stored::{NAME, OWNER, STATUS, VERSION};
use schemas::{ChartName, ChartVersion, Digest, Namespace, ReleaseName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::vocabulary as v;

/// A release, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseEntry {
    /// The name of the release.
    pub name: ReleaseName,
    /// The namespace that it is installed in.
    pub namespace: Namespace,
    /// The chart of the release.
    pub chart: ChartName,
    /// The version of its chart.
    pub version: ChartVersion,
    /// Helm's revision that this brought; none as long as it has only begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The digest of all that Helm was given.
    pub inputs: Digest,
    /// The revisions, as Helm has stored them through us: others are not from here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionEntry>,
    /// Whether something else of the deployment needs it: then it goes last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needed: bool,
}

/// A revision of a release, as it is known again. Whoever may write Secrets in its namespace may have made another one, or
/// changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisionEntry {
    /// The number of the revision.
    pub revision: u32,
    /// The uid of its Secret; none as long as nobody knows whether it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// The digest of what it holds.
    pub digest: Digest,
    /// The digest of what was about to be stored in its place: it holds one of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coming: Option<Digest>,
}

impl RevisionEntry {
    /// Returns a revision that is about to be stored for the first time.
    #[must_use]
    pub fn new(revision: u32, secret: &Value) -> Self {
        Self {
            revision,
            uid: None,
            digest: content(secret),
            coming: None,
        }
    }

    /// Returns the same revision, about to be stored like this.
    #[must_use]
    pub fn becoming(&self, secret: &Value) -> Self {
        Self {
            coming: Some(content(secret)),
            ..self.clone()
        }
    }

    /// Returns the same revision, once it was stored and has this uid.
    #[must_use]
    pub fn stored(&self, uid: Option<&str>) -> Self {
        Self {
            revision: self.revision,
            uid: uid.map(str::to_owned).or_else(|| self.uid.clone()),
            digest: self.coming.unwrap_or(self.digest),
            coming: None,
        }
    }

    /// Whether a Secret is this revision as it is recorded.
    #[must_use]
    pub fn is(&self, secret: &Value) -> bool {
        let uid = secret["metadata"]["uid"].as_str();
        let has_uid = self.uid.is_none() || self.uid.as_deref() == uid;
        let content = content(secret);
        has_uid && (content == self.digest || Some(content) == self.coming)
    }
}

/// The digest of what a Secret says of a revision: its content, and the labels that it is found by.
fn content(secret: &Value) -> Digest {
    let labels = [OWNER.0, NAME, VERSION, STATUS, v::RELEASE_OF];
    let labels = labels.map(|it| (it, &secret["metadata"]["labels"][it]));
    let name = &secret["metadata"]["name"];
    let said = json!([name, secret["type"], labels, secret["data"]]);
    Digest::new(Sha256::digest(said.to_string()).into())
}

impl ReleaseEntry {
    /// Whether it is the release of Helm's of this namespace and name: by these, Helm tells them.
    #[must_use]
    pub fn is(&self, namespace: &Namespace, name: &ReleaseName) -> bool {
        (&self.namespace, &self.name) == (namespace, name)
    }
}

/// Writes the release as Helm's users do.
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
