//! What a site records of the releases of Helm charts that a deployment has.

use std::fmt;

use change::vocabulary as v;
use helm::stored::{NAME, OWNER, STATUS, VERSION};
use schemas::{ChartName, ChartRelease, ChartVersion, Digest, Namespace, ReleaseName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A release, as it is found again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedRelease {
    pub(crate) name: ReleaseName,
    pub(crate) namespace: Namespace,
    pub(crate) chart: ChartName,
    pub(crate) version: ChartVersion,
    /// Helm's revision that this brought; none as long as it has only begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revision: Option<u32>,
    /// The digest of all that Helm was given.
    pub(crate) inputs: Digest,
    /// Its revisions, as Helm has stored them through us: others are not from here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) revisions: Vec<RecordedRevision>,
    /// Whether something else of the deployment needs it: then it goes last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) needed: bool,
}

/// A revision of a release, as it is known again. Whoever may write Secrets in its namespace may have made another one, or
/// changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedRevision {
    pub(crate) revision: u32,
    /// The uid of its Secret; none as long as nobody knows whether it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uid: Option<String>,
    /// The digest of what it holds.
    pub(crate) digest: Digest,
    /// The same of what was about to be stored in its place: it holds one of both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) coming: Option<Digest>,
}

impl RecordedRevision {
    /// A revision that is about to be stored for the first time.
    pub(crate) fn new(revision: u32, secret: &Value) -> Self {
        Self {
            revision,
            uid: None,
            digest: content(secret),
            coming: None,
        }
    }

    /// The same revision, about to be stored like this.
    pub(crate) fn becoming(&self, secret: &Value) -> Self {
        Self {
            coming: Some(content(secret)),
            ..self.clone()
        }
    }

    /// The same revision, once it was stored and has this uid.
    pub(crate) fn stored(&self, uid: Option<&str>) -> Self {
        Self {
            revision: self.revision,
            uid: uid.map(str::to_owned).or_else(|| self.uid.clone()),
            digest: self.coming.unwrap_or(self.digest),
            coming: None,
        }
    }

    /// Whether a Secret is this revision as it is recorded.
    pub(crate) fn is(&self, secret: &Value) -> bool {
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

impl RecordedRelease {
    /// Whether both are one release of Helm's: it tells them by namespace and name.
    pub(crate) fn is(&self, namespace: &Namespace, name: &ReleaseName) -> bool {
        (&self.namespace, &self.name) == (namespace, name)
    }
}

/// As Helm's users write it.
impl fmt::Display for RecordedRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "release {}/{}", self.namespace, self.name)
    }
}

/// These releases, and those of the others that are not among them: what an interruption leaves is one of both.
pub(crate) fn joined(
    releases: &[RecordedRelease],
    others: &[RecordedRelease],
) -> Vec<RecordedRelease> {
    let mut all = releases.to_vec();
    let is_new =
        |it: &&RecordedRelease| !releases.iter().any(|one| one.is(&it.namespace, &it.name));
    all.extend(others.iter().filter(is_new).cloned());
    all
}

/// These releases, in their order, as they are now among the others.
pub(crate) fn updated(
    releases: &[RecordedRelease],
    now: &[RecordedRelease],
) -> Vec<RecordedRelease> {
    let as_now = |it: &RecordedRelease| {
        let mut now = now.iter();
        now.find(|one| one.is(&it.namespace, &it.name))
            .unwrap_or(it)
            .clone()
    };
    releases.iter().map(as_now).collect()
}

/// The namespace that a chart is installed in, where this is the environment's.
pub(crate) fn namespace_of<'a>(
    release: &'a ChartRelease,
    environments: &'a Namespace,
) -> &'a Namespace {
    release.namespace.as_ref().unwrap_or(environments)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn recorded(name: &str, revision: Option<u32>) -> RecordedRelease {
        RecordedRelease {
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

    #[test]
    fn of_two_records_of_one_release_the_first_counts() {
        let new = [recorded("a", None), recorded("b", None)];
        let old = [recorded("b", Some(3)), recorded("c", Some(1))];
        let expected = [new[0].clone(), new[1].clone(), old[1].clone()];
        assert_eq!(joined(&new, &old), expected);
        assert_eq!(new[0].to_string(), "release prod/a");
    }
}
