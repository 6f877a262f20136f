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
