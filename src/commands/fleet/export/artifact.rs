//! What is pushed for a deployment besides images.

use std::collections::BTreeMap;

use registry::{AddressError, CertificateAuthority, RepositoryPath};
use schemas::{Tag, Version};
use shelf::FilesArtifact;

use super::planned::ExportPlan;
use super::tools::ArtifactSource;

/// An artifact with a place for it.
pub(super) struct MadeArtifact {
    pub(super) files: FilesArtifact,
    pub(super) repository: RepositoryPath,
    pub(super) tag: Tag,
    /// The repository as the cluster knows it, with its host.
    pub(super) address: String,
}

impl MadeArtifact {
    /// Packs the files of a deployment, for this path below the prefix of its registry: one that no image can have.
    pub(super) fn of(
        plan: &ExportPlan,
        path: &str,
        version: &Version,
        files: &BTreeMap<String, String>,
    ) -> Result<Self, AddressError> {
        let (files, known) = (FilesArtifact::new(files), &plan.pull_registry);
        Ok(Self {
            repository: plan.client.address().repository(path)?,
            tag: files.tag(version),
            address: format!("{}/{}", known.host(), known.repository(path)?),
            files,
        })
    }

    /// The same as a tool finds it.
    pub(super) fn source(&self, plan: &ExportPlan) -> ArtifactSource<'_> {
        let client = &plan.client;
        // Of a registry that the cluster knows by another name nothing is known.
        let is_same = plan.pull_registry.host() == client.address().host();
        ArtifactSource {
            address: &self.address,
            digest: self.files.digest(),
            authorities: CertificateAuthority::join(client.authorities()),
            plain_http: is_same && client.is_tls() == Some(false),
        }
    }
}
