//! The record of an imported version ([`Record`]). Where records are stored is defined by the caller.

use registry::RegistryAddress;
use schemars::JsonSchema;
use schemas::{
    Digest, Image, ImagePlace, ImageReference, KeyId, Solution, SolutionName, StatementTime,
    Version,
};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::layout::Placement;

/// An imported version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The Solution.
    pub name: SolutionName,
    /// The version.
    pub version: Version,
    /// SHA-256 of the signed statement.
    pub archive_id: Digest,
    /// The trusted keys that signed the archive.
    pub signers: Vec<KeyId>,
    /// The address that images were pushed to, `HOST[/PREFIX]/<name>-<version>`.
    pub pushed_to: String,
    /// The address that nodes pull images from, in the same form.
    pub endpoint: String,
    /// The images.
    pub images: Vec<RecordedImage>,
    /// The repositories of the images, if they differ from the default.
    #[serde(default, skip_serializing_if = "schemas::is_default")]
    pub placement: Placement,
    /// The time of the import.
    pub imported: StatementTime,
    /// When its publisher says that it should be no longer used. A record of an earlier program lacks it until the
    /// archive is imported again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<StatementTime>,
    /// The manifest.
    pub manifest: Solution,
}

/// An image of an imported version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedImage {
    /// The image in the Solution.
    pub image: ImagePlace,
    /// The digest of its manifest or index.
    pub digest: Digest,
    /// The reference that workloads use.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ImageReference>,
}

impl From<&Image> for RecordedImage {
    fn from(image: &Image) -> Self {
        Self {
            image: image.place.clone(),
            digest: image.root.digest,
            reference: image.reference.clone(),
        }
    }
}

impl Record {
    /// Returns the Solution id, `<name>-<version>`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Checks whether both record an import of the same archive to the same place. Only the times may differ.
    #[must_use]
    pub fn is_same_import(&self, other: &Self) -> bool {
        Self {
            imported: other.imported,
            ..self.clone()
        } == *other
    }

    /// Returns the registry that the images were pushed to.
    pub fn registry(&self) -> Result<RegistryAddress, Error> {
        self.without_id(&self.pushed_to)
    }

    /// Returns the registry that nodes pull the images from.
    pub fn pull_registry(&self) -> Result<RegistryAddress, Error> {
        self.without_id(&self.endpoint)
    }

    /// Returns the host of the registry as nodes know it, without a prefix.
    #[must_use]
    pub fn pull_host(&self) -> &str {
        self.endpoint.split('/').next().unwrap_or_default()
    }

    fn without_id(&self, place: &str) -> Result<RegistryAddress, Error> {
        let suffix = format!("/{}", self.id());
        Ok(place.strip_suffix(&suffix).unwrap_or(place).parse()?)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::layout::PathLayout;
    use crate::testing::{digest, image, record};

    #[test]
    fn a_record_knows_both_addresses_of_its_registry() {
        let mut found = record("shop", "1.0.0", Vec::new());
        assert_eq!(found.id(), "shop-1.0.0");
        assert_eq!(found.registry().unwrap().to_string(), "r.test:5000/apps");
        for (endpoint, registry, host) in [
            ("pull.test/shop-1.0.0", "pull.test", "pull.test"),
            (
                "pull.test:80/a/b/shop-1.0.0",
                "pull.test:80/a/b",
                "pull.test:80",
            ),
            // Only the id of this version is removed.
            ("pull.test/shop-1.0.1", "pull.test/shop-1.0.1", "pull.test"),
        ] {
            endpoint.clone_into(&mut found.endpoint);
            assert_eq!(found.pull_registry().unwrap().to_string(), registry);
            assert_eq!(found.pull_host(), host);
        }
        found.pushed_to = "-/shop-1.0.0".to_owned();
        assert!(found.registry().is_err());
    }

    #[test]
    fn two_imports_are_the_same_if_only_their_times_differ() {
        let one = record("shop", "1.0.0", vec![image("app:1", 1, "")]);
        let change = |edit: fn(&mut Record)| {
            let mut other = one.clone();
            edit(&mut other);
            one.is_same_import(&other)
        };
        assert!(change(|_| {}));
        assert!(change(
            |other| other.imported = "2026-01-01T00:00:00Z".parse().unwrap()
        ));
        assert!(!change(|other| other.archive_id = digest(9)));
        assert!(!change(|other| other.placement.layout = PathLayout::Flat));
        assert!(!change(|other| other.images[0].digest = digest(2)));
        assert!(!change(|other| other.endpoint.push('x')));
        assert!(!change(|other| other.expires = Some(StatementTime::DEFAULT)));
    }

    #[test]
    fn a_record_is_stored_without_its_defaults() {
        let images = vec![image("app:1", 1, "quay.io/app:1"), image("own:2", 2, "")];
        let stored = serde_json::to_value(record("shop", "1.0.0", images)).unwrap();
        assert!(stored.get("placement").is_none() && stored.get("expires").is_none());
        assert_eq!(stored["archiveId"], digest(0xa).to_string());
        let [one, two] = [digest(1), digest(2)].map(|digest| digest.to_string());
        let images = json!([
            {"image": "app:1", "digest": one, "ref": "quay.io/app:1"},
            {"image": "own:2", "digest": two},
        ]);
        assert_eq!(stored["images"], images);
        let read: Record = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), stored);
    }
}
