//! What a registry keeps of versions, and what goes.

use registry::{Client, RegistryAddress};
use schemars::JsonSchema;
use schemas::{Digest, SolutionId};
use serde::Serialize;
use shelf::{KeptVersion, Pruning, Stock};

use crate::args::choose;
use crate::commands::unimport::COLLECT;
use crate::failure::Failure;

/// The versions in the registry and those that were deleted, or would be.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pruned {
    /// The registry, `HOST[:PORT][/PREFIX]`.
    pub(super) registry: String,
    /// Every version whose head the registry keeps, sorted.
    pub(super) versions: Vec<ShownVersion>,
    /// The versions that were deleted, or would be.
    pub(super) deleted: Vec<SolutionId>,
    /// Manifests that were deleted at the registry, or would be, as `HOST/REPOSITORY@DIGEST`.
    pub(super) freed: Vec<String>,
    /// Bytes of contents that only these versions have, of all that the registry keeps.
    pub(super) freed_bytes: u64,
    /// Notes.
    pub(super) notes: Vec<String>,
    #[serde(skip)]
    pub(super) asked: Asked,
}

/// Whether a cluster was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Cluster,
    Nobody,
}

/// A version whose head the registry keeps.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "KeptVersion")]
pub(crate) struct ShownVersion {
    /// The id of the Solution, `<name>-<version>`.
    pub(super) solution: SolutionId,
    /// The ids of its archives.
    #[schemars(length(min = 1))]
    pub(super) archives: Vec<Digest>,
    /// The record of the cluster that needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) needed_by: Option<String>,
    /// Bytes of contents that no other version there has. They are missing if a head cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) own_bytes: Option<u64>,
    /// Why a head cannot be read. Nothing is deleted as long as there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unread: Option<String>,
    /// The command that deletes it.
    pub(super) delete: String,
}

impl Pruned {
    pub(super) fn of(stock: &Stock, registry: &RegistryAddress, asked: Asked) -> Self {
        let shown = |version: &KeptVersion| ShownVersion::of(version, registry, asked);
        Self {
            registry: registry.to_string(),
            versions: stock.versions().iter().map(shown).collect(),
            deleted: Vec::new(),
            freed: Vec::new(),
            freed_bytes: 0,
            notes: Vec::new(),
            asked,
        }
    }

    pub(super) fn add(&mut self, plan: &Pruning, client: &Client) {
        self.deleted.clone_from(&plan.versions);
        self.freed = plan.names(client);
        self.freed_bytes = plan.bytes;
        self.notes = plan.notes();
        self.notes.push(COLLECT.to_owned());
    }
}

impl ShownVersion {
    fn of(version: &KeptVersion, registry: &RegistryAddress, asked: Asked) -> Self {
        let unread = version
            .unread()
            .map(|unread| Failure::no(anyhow::anyhow!("{unread}")));
        let (name, number) = (version.id.name(), version.id.version());
        let flag = choose(asked == Asked::Nobody, " --no-cluster", "");
        let delete = if version.needed_by.is_some() {
            format!("solution unimport {name} {number} --images")
        } else {
            format!("solution registry prune {name} {number}{flag} --registry {registry}")
        };
        Self {
            solution: version.id.clone(),
            archives: version.archives.clone(),
            needed_by: version.needed_by.clone(),
            own_bytes: version.own_bytes,
            unread: unread.map(|unread| unread.in_one_line()),
            delete,
        }
    }
}
