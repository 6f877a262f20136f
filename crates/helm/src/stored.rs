//! Helm's records of a release in a cluster: [`StoredRevision`]. Helm stores each revision in a Secret, whose key
//! `release` contains JSON that is compressed with gzip and encoded with base64 (Helm's `pkg/storage/driver`). An API
//! server encodes it with base64 again, as the data of every Secret.
//!
//! Everyone with write access to the Secrets of the namespace controls these bytes. Sizes are therefore limited before
//! anything is decompressed, and only the fields in this module are read.

use std::fmt;
use std::io::Read as _;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::bufread::GzDecoder;
use schemas::ReleaseName;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::limits;

/// The type of the Secrets.
pub const SECRET_TYPE: &str = "helm.sh/release.v1";
/// The key of a Secret's data that holds the release.
pub const KEY: &str = "release";
/// The label that marks the Secrets as Helm's, with its value.
pub const OWNER: (&str, &str) = ("owner", "helm");
/// The label with the name of the release.
pub const NAME: &str = "name";
/// The label with the number of the revision.
pub const VERSION: &str = "version";
/// The label with the status of the revision: [`ReleaseStatus::of_label`].
pub const STATUS: &str = "status";

/// Returns the name of the Secret with a revision.
#[must_use]
pub fn secret_name(release: &ReleaseName, revision: u32) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// The status of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseStatus {
    /// The revision is the current one.
    Deployed,
    /// A later revision exists. This one may never have worked: Helm also uses the status for a failed revision that
    /// could not be rolled back.
    Superseded,
    /// The revision did not become ready in time, or could not be written.
    Failed,
    /// The objects of the revision were deleted, and its record was kept.
    Uninstalled,
    /// The objects of the revision are being deleted, or Helm was interrupted while deleting them.
    Uninstalling,
    /// The first revision is being installed, or Helm was interrupted during the installation.
    PendingInstall,
    /// The release is being upgraded to the revision, or Helm was interrupted during the upgrade.
    PendingUpgrade,
    /// The release is being rolled back, or Helm was interrupted during the rollback.
    PendingRollback,
    /// Helm does not know the status, or the value is not one of Helm's.
    Unknown,
}

impl ReleaseStatus {
    const ALL: [Self; 9] = [
        Self::Deployed,
        Self::Superseded,
        Self::Failed,
        Self::Uninstalled,
        Self::Uninstalling,
        Self::PendingInstall,
        Self::PendingUpgrade,
        Self::PendingRollback,
        Self::Unknown,
    ];

    /// Returns the status for the value of a label.
    #[must_use]
    pub fn of_label(label: &str) -> Self {
        let found = Self::ALL
            .into_iter()
            .find(|status| status.as_str() == label);
        found.unwrap_or(Self::Unknown)
    }

    /// Returns Helm's value for the status.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deployed => "deployed",
            Self::Superseded => "superseded",
            Self::Failed => "failed",
            Self::Uninstalled => "uninstalled",
            Self::Uninstalling => "uninstalling",
            Self::PendingInstall => "pending-install",
            Self::PendingUpgrade => "pending-upgrade",
            Self::PendingRollback => "pending-rollback",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether Helm refuses to upgrade the release, because it assumes that another operation is in progress.
    #[must_use]
    pub fn is_pending(self) -> bool {
        match self {
            Self::PendingInstall | Self::PendingUpgrade | Self::PendingRollback => true,
            Self::Deployed
            | Self::Superseded
            | Self::Failed
            | Self::Uninstalled
            | Self::Uninstalling
            | Self::Unknown => false,
        }
    }
}

/// A revision of a release. Its texts are unverified: only their encoding, UTF-8, is known to be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRevision {
    /// The name of the release.
    pub name: String,
    /// The namespace that it was installed in.
    pub namespace: String,
    /// The number of the revision.
    pub revision: u32,
    /// The status of the revision.
    pub status: ReleaseStatus,
    /// The description by Helm or by the caller of Helm.
    pub description: String,
    /// The name of the chart.
    pub chart: String,
    /// The version of the chart.
    pub chart_version: String,
    /// The objects as YAML, after the post-renderer.
    pub manifest: String,
    /// The objects of the hooks, tests included, each as YAML.
    pub hooks: Vec<String>,
    /// The values that were given for the release, without the chart's defaults.
    pub config: Map<String, Value>,
}

/// The reason why a stored release cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The data is larger than a Secret can be.
    #[error("the stored release has more than {} bytes", limits::STORED)]
    TooLong,
    /// One of the two base64 encodings is damaged.
    #[error("the stored release is not base64")]
    Base64(#[source] base64::DecodeError),
    /// The data is not compressed. All recent versions of Helm compress it.
    #[error("the stored release is not compressed")]
    NotGzip,
    /// The compressed data is damaged, truncated, or followed by other bytes.
    #[error("the stored release is compressed, but damaged")]
    Gzip,
    /// The uncompressed data exceeds the limit.
    #[error(
        "the stored release inflates to more than {} bytes",
        limits::STORED_JSON
    )]
    TooLarge,
    /// The uncompressed data is not a release.
    #[error("the stored release cannot be read")]
    Json(#[source] serde_json::Error),
}

impl StoredRevision {
    /// Returns all objects as one stream of YAML, with the objects of hooks at the end.
    #[must_use]
    pub fn stream(&self) -> String {
        let hooks = self.hooks.iter().map(String::as_str);
        let parts = std::iter::once(self.manifest.as_str()).chain(hooks);
        parts.collect::<Vec<_>>().join("\n---\n")
    }

    /// Parses a release in Helm's output.
    pub(crate) fn printed(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<RevisionDocument>(json).map(Self::from)
    }

    /// Parses the value of [`KEY`] in an API server's response.
    pub fn read(data: &str) -> Result<Self, StoredError> {
        if data.len() > limits::STORED {
            return Err(StoredError::TooLong);
        }
        let decode = |text: &[u8]| BASE64_STANDARD.decode(text).map_err(StoredError::Base64);
        // The outer base64 is that of the API server, the inner one is Helm's.
        let json = inflate(&decode(&decode(data.as_bytes())?)?)?;
        let document =
            serde_json::from_slice::<RevisionDocument>(&json).map_err(StoredError::Json)?;
        Ok(document.into())
    }
}

fn inflate(bytes: &[u8]) -> Result<Vec<u8>, StoredError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Err(StoredError::NotGzip);
    }
    let mut decoder = GzDecoder::new(bytes);
    let mut json = Vec::new();
    // One byte more than allowed, to detect larger data without decompressing all of it.
    let mut limited = (&mut decoder).take(limits::STORED_JSON + 1);
    let read = limited.read_to_end(&mut json);
    read.map_err(|_| StoredError::Gzip)?;
    if json.len() as u64 > limits::STORED_JSON {
        return Err(StoredError::TooLarge);
    }
    // No bytes may follow the compressed data.
    if decoder.into_inner().is_empty() {
        Ok(json)
    } else {
        Err(StoredError::Gzip)
    }
}

/// The parsed fields of the JSON. Helm omits empty ones.
#[derive(Deserialize)]
struct RevisionDocument {
    name: String,
    namespace: String,
    version: u32,
    info: Info,
    chart: RevisionChart,
    #[serde(default)]
    manifest: String,
    #[serde(default)]
    hooks: Hooks,
    #[serde(default)]
    config: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Info {
    status: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct RevisionChart {
    metadata: RevisionMetadata,
}

#[derive(Deserialize)]
struct RevisionMetadata {
    name: String,
    version: String,
}

/// The texts of the hooks, at most [`limits::STORED_HOOKS`].
#[derive(Default)]
struct Hooks(Vec<String>);

#[derive(Deserialize)]
struct Hook {
    #[serde(default)]
    manifest: String,
}

impl<'de> Deserialize<'de> for Hooks {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Hooks;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {} hooks", limits::STORED_HOOKS)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Hooks, A::Error> {
                let mut hooks = Vec::new();
                while let Some(hook) = list.next_element::<Hook>()? {
                    if hooks.len() == limits::STORED_HOOKS {
                        return Err(A::Error::invalid_length(hooks.len() + 1, &self));
                    }
                    hooks.push(hook.manifest);
                }
                Ok(Hooks(hooks))
            }
        }
        reader.deserialize_seq(List)
    }
}

impl From<RevisionDocument> for StoredRevision {
    fn from(document: RevisionDocument) -> Self {
        Self {
            name: document.name,
            namespace: document.namespace,
            revision: document.version,
            status: ReleaseStatus::of_label(&document.info.status),
            description: document.info.description,
            chart: document.chart.metadata.name,
            chart_version: document.chart.metadata.version,
            manifest: document.manifest,
            hooks: document.hooks.0,
            config: document.config.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use serde_json::{Value, json};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// Encodes bytes as an API server returns them for a stored release.
    fn returned(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(BASE64_STANDARD.encode(bytes))
    }

    fn read(json: &Value) -> Result<StoredRevision, StoredError> {
        StoredRevision::read(&returned(&gzip(json.to_string().as_bytes())))
    }

    /// Returns a stored release of Helm 4.3.1, including fields that are not parsed.
    fn release() -> Value {
        json!({
            "name": "shop",
            "info": {
                "first_deployed": "2026-01-02T03:04:05.6Z", "last_deployed": "2026-01-02T03:04:05.6Z",
                "description": "Install complete", "status": "deployed", "notes": "Have fun.",
            },
            "chart": {
                "metadata": {"name": "web", "version": "1.2.3+build", "apiVersion": "v2", "appVersion": "7"},
                "lock": null, "templates": [{"name": "templates/a.yaml", "data": "YTogYgo="}],
                "values": {"a": {"b": [1, 2.5, null]}}, "schema": null, "files": [],
            },
            "config": {"a": {}},
            "manifest": "---\n# Source: web/templates/a.yaml\na: b\n",
            "hooks": [
                {"name": "m", "kind": "Job", "path": "web/templates/m.yaml", "manifest": "kind: Job",
                 "events": ["pre-install"], "last_run": {"phase": ""}},
                {"name": "t", "kind": "Pod", "path": "web/templates/t.yaml", "manifest": "kind: Pod",
                 "events": ["test"], "last_run": {"phase": ""}},
            ],
            "version": 3,
            "namespace": "there",
            "apply_method": "ssa",
        })
    }

    #[test]
    fn a_release_is_read_as_helm_stores_it() {
        let expected = StoredRevision {
            name: "shop".to_owned(),
            namespace: "there".to_owned(),
            revision: 3,
            status: ReleaseStatus::Deployed,
            description: "Install complete".to_owned(),
            chart: "web".to_owned(),
            chart_version: "1.2.3+build".to_owned(),
            manifest: "---\n# Source: web/templates/a.yaml\na: b\n".to_owned(),
            hooks: vec!["kind: Job".to_owned(), "kind: Pod".to_owned()],
            config: Map::from_iter([("a".to_owned(), json!({}))]),
        };
        assert_eq!(read(&release()).unwrap(), expected);
    }

    #[test]
    fn what_helm_leaves_out_is_empty() {
        let mut release = release();
        let all = release.as_object_mut().unwrap();
        all.remove("manifest");
        all.remove("hooks");
        all.insert("config".to_owned(), Value::Null);
        all["info"].as_object_mut().unwrap().remove("description");
        let stored = read(&release).unwrap();
        assert_eq!((stored.manifest, stored.hooks.len()), (String::new(), 0));
        assert_eq!(stored.description, "");
    }

    #[test]
    fn what_is_no_release_is_refused() {
        for pointer in ["", "/info", "/chart", "/chart/metadata"] {
            let required = match pointer {
                "" => ["name", "namespace", "version", "info", "chart"].as_slice(),
                "/info" => &["status"],
                "/chart" => &["metadata"],
                _ => &["name", "version"],
            };
            for field in required {
                let mut release = release();
                let part = release.pointer_mut(pointer).unwrap();
                part.as_object_mut().unwrap().remove(*field);
                let error = read(&release).unwrap_err();
                assert!(
                    matches!(error, StoredError::Json(_)),
                    "{pointer}/{field}: {error:?}"
                );
            }
        }
        let mut release = release();
        for version in [json!(-1), json!(1.5), json!(1_u64 << 32), json!("1")] {
            release["version"] = version;
            assert!(matches!(read(&release), Err(StoredError::Json(_))));
        }
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        let error = StoredRevision::read(&returned(&gzip(deep.as_bytes()))).unwrap_err();
        assert!(matches!(error, StoredError::Json(_)), "{error:?}");
    }

    #[test]
    fn what_is_not_encoded_is_refused() {
        let inside = BASE64_STANDARD.encode("not base64!");
        for text in ["&", "YWJj\n", "YWJjZA", &inside] {
            let error = StoredRevision::read(text).unwrap_err();
            assert!(matches!(error, StoredError::Base64(_)), "{text}: {error:?}");
        }
        for bytes in [b"".as_slice(), b"{}", b"BZh9", b"\x1f"] {
            let error = StoredRevision::read(&returned(bytes)).unwrap_err();
            assert!(matches!(error, StoredError::NotGzip), "{bytes:?}");
        }
    }

    #[test]
    fn damaged_data_are_refused() {
        let whole = gzip(release().to_string().as_bytes());
        assert!(StoredRevision::read(&returned(&whole)).is_ok());
        for length in 2..whole.len() {
            let error = StoredRevision::read(&returned(&whole[..length])).unwrap_err();
            assert!(matches!(error, StoredError::Gzip), "{length}: {error:?}");
        }
        let behind = [whole.as_slice(), &[0]].concat();
        let twice = [whole.as_slice(), &whole].concat();
        let mut other_sum = whole.clone();
        let at = other_sum.len() - 8;
        other_sum[at] ^= 1;
        for bytes in [behind, twice, other_sum] {
            let error = StoredRevision::read(&returned(&bytes)).unwrap_err();
            assert!(matches!(error, StoredError::Gzip), "{error:?}");
        }
    }

    #[test]
    fn no_more_is_inflated_than_the_limit() {
        let most = usize::try_from(limits::STORED_JSON).unwrap();
        let mut text = release().to_string();
        text.push_str(&" ".repeat(most - text.len()));
        assert!(StoredRevision::read(&returned(&gzip(text.as_bytes()))).is_ok());
        text.push(' ');
        let error = StoredRevision::read(&returned(&gzip(text.as_bytes()))).unwrap_err();
        assert!(matches!(error, StoredError::TooLarge), "{error:?}");
    }

    #[test]
    fn no_more_hooks_are_read_than_the_limit() {
        let mut release = release();
        let mut hooks = vec![json!({}); limits::STORED_HOOKS];
        release["hooks"] = hooks.clone().into();
        let stored = read(&release).unwrap();
        assert_eq!(stored.hooks.len(), limits::STORED_HOOKS);
        hooks.push(json!({}));
        release["hooks"] = hooks.into();
        assert!(matches!(read(&release), Err(StoredError::Json(_))));
    }

    #[test]
    fn no_more_is_decoded_than_a_secret_holds() {
        let most = BASE64_STANDARD.encode(vec![b'A'; 1024 * 1024]);
        assert_eq!(most.len(), limits::STORED);
        let error = StoredRevision::read(&most).unwrap_err();
        assert!(matches!(error, StoredError::NotGzip), "{error:?}");
        let error = StoredRevision::read(&format!("{most}QUFB")).unwrap_err();
        assert!(matches!(error, StoredError::TooLong), "{error:?}");
    }

    #[test]
    fn a_status_has_helms_word() {
        for status in ReleaseStatus::ALL {
            assert_eq!(ReleaseStatus::of_label(status.as_str()), status);
            let pending = status.as_str().starts_with("pending-");
            assert_eq!(status.is_pending(), pending, "{status:?}");
        }
        for label in ["", "Deployed", "installed"] {
            assert_eq!(ReleaseStatus::of_label(label), ReleaseStatus::Unknown);
        }
        let name = secret_name(&"shop".parse().unwrap(), 12);
        assert_eq!(name, "sh.helm.release.v1.shop.v12");
    }
}
