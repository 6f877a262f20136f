//! Records that Helm keeps of a release in a cluster: one Secret for each revision, whose key `release` holds the
//! base64 of the gzip of JSON (Helm's `pkg/storage/driver`). An API server adds a base64 of its own, as for any Secret.
//!
//! Whoever may write Secrets in the namespace may have written anything there, so sizes are limited before anything is
//! unpacked, and only what is told here is read.

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
/// The label that tells whose the Secrets are, and its value.
pub const OWNER: (&str, &str) = ("owner", "helm");
/// The label with the name of the release.
pub const NAME: &str = "name";
/// The label with the number of the revision.
pub const VERSION: &str = "version";
/// The label with the status of the revision: [`ReleaseStatus::of_label`].
pub const STATUS: &str = "status";

/// The name of the Secret that holds a revision.
#[must_use]
pub fn secret_name(release: &ReleaseName, revision: u32) -> String {
    format!("sh.helm.release.v1.{release}.v{revision}")
}

/// The status of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseStatus {
    /// The revision is what runs.
    Deployed,
    /// A later one came. It may never have worked: Helm says so too of one that failed and could not be taken back.
    Superseded,
    /// The revision was not ready in time, or could not be written.
    Failed,
    /// The objects of the revision were removed, and it was kept.
    Uninstalled,
    /// The objects of the revision are being removed, or Helm was ended while it did that.
    Uninstalling,
    /// The first one is being installed, or Helm was ended while it did that.
    PendingInstall,
    /// The revision is being upgraded to, or Helm was ended while it did that.
    PendingUpgrade,
    /// An earlier one is being restored, or Helm was ended while it did that.
    PendingRollback,
    /// The status is not known to Helm, or it has another word.
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

    /// Returns the status for Helm's word.
    #[must_use]
    pub fn of_label(label: &str) -> Self {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == label);
        found.unwrap_or(Self::Unknown)
    }

    /// Returns Helm's word for it.
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

    /// Whether Helm refuses to upgrade the release because it takes somebody to be at work.
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

/// A revision of a release. All texts are as they are stored: nothing is known of them but that they are UTF-8.
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
    /// The words that Helm, or whoever ran it, has for it.
    pub description: String,
    /// The name of the chart.
    pub chart: String,
    /// The version of the chart.
    pub chart_version: String,
    /// The objects, as they came out of a post-renderer, as YAML.
    pub manifest: String,
    /// The objects of the hooks, tests included, each as YAML.
    pub hooks: Vec<String>,
    /// The values that whoever made it gave, beside the chart's own.
    pub config: Map<String, Value>,
}

/// The reason why a stored release cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The data is larger than a Secret can be.
    #[error("the stored release has more than {} bytes", limits::STORED)]
    TooLong,
    /// An encoding, one of the two, is damaged.
    #[error("the stored release is not base64")]
    Base64(#[source] base64::DecodeError),
    /// The encoded data is no gzip: Helm has compressed for years.
    #[error("the stored release is not compressed")]
    NotGzip,
    /// The compressed data are damaged, cut off, or followed by others.
    #[error("the stored release is compressed, but damaged")]
    Gzip,
    /// The data inflates to more than is read.
    #[error(
        "the stored release inflates to more than {} bytes",
        limits::STORED_JSON
    )]
    TooLarge,
    /// The compressed data is no release.
    #[error("the stored release cannot be read")]
    Json(#[source] serde_json::Error),
}

impl StoredRevision {
    /// All objects, those of the hooks behind the others, as one stream of YAML.
    #[must_use]
    pub fn stream(&self) -> String {
        let hooks = self.hooks.iter().map(String::as_str);
        let parts = std::iter::once(self.manifest.as_str()).chain(hooks);
        parts.collect::<Vec<_>>().join("\n---\n")
    }

    /// Reads what Helm prints of a release.
    pub(crate) fn printed(json: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<RevisionDocument>(json).map(Self::from)
    }

    /// Reads the value of [`KEY`] as an API server returns it.
    pub fn read(data: &str) -> Result<Self, StoredError> {
        if data.len() > limits::STORED {
            return Err(StoredError::TooLong);
        }
        let decode = |text: &[u8]| BASE64_STANDARD.decode(text).map_err(StoredError::Base64);
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
    let mut limited = (&mut decoder).take(limits::STORED_JSON + 1);
    let read = limited.read_to_end(&mut json);
    read.map_err(|_| StoredError::Gzip)?;
    if json.len() as u64 > limits::STORED_JSON {
        return Err(StoredError::TooLarge);
    }
    if decoder.into_inner().is_empty() {
        Ok(json)
    } else {
        Err(StoredError::Gzip)
    }
}

/// The fields of the JSON that are read. Helm leaves out those that are empty.
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

/// The text of each hook, no more than [`limits::STORED_HOOKS`] of them.
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

    /// Returns what an API server returns of what Helm would store.
    fn returned(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(BASE64_STANDARD.encode(bytes))
    }

    fn read(json: &Value) -> Result<StoredRevision, StoredError> {
        StoredRevision::read(&returned(&gzip(json.to_string().as_bytes())))
    }

    /// A stored release, also with what Helm 4.3.1 writes and is not read.
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
