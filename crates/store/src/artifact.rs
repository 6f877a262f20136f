//! The head of an archive as an OCI artifact ([`HeadArtifact`]). The head consists of the bytes of the ISO before the
//! first blob. Together with the blobs of the images, it is the complete archive, so a site can read an archive without
//! its ISO. Content that is read back passes all checks of an archive and is verified against the archive id.

use std::sync::Arc;

use archive::Blob;
use bytes::Bytes;
use progress::Cancel;
use registry::{
    AddressError, BlobPush, Client, KnownContent, ManifestPush, PushJob, Reference,
    RegistryAddress, RegistryManifest, RepositoryPath,
};
use schemas::{
    Descriptor, Digest, Document, EMPTY_CONFIG, EMPTY_CONFIG_TYPE, ImageDocument, MediaType,
    SolutionId, Tag,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use validator::AcceptedArchive;

use crate::archive_blob::ArchiveBlob;
use crate::error::Error;
use crate::layout::Placement;

/// The artifact type of the manifest.
const ARTIFACT: &str = "application/vnd.solutions.archive.v1";
/// The media type of its only layer.
const HEAD: &str = "application/vnd.solutions.archive.head.v1";
/// The annotation with the placement of the version's images. It is omitted for the default placement.
const PLACEMENT: &str = "vnd.solutions.placement";
/// The prefix of the tag, which is followed by the archive id.
const TAG: &str = "archive-";

/// The head of an archive as an artifact in a registry.
#[derive(Debug)]
pub struct HeadArtifact {
    /// The repository, prefix included.
    pub repository: RepositoryPath,
    /// The tag.
    pub reference: Reference,
    /// The manifest that the tag refers to.
    pub manifest: Arc<Document>,
    /// The content of its only layer: the bytes of the archive before its first blob.
    pub head: Blob,
    /// The digest of its configuration.
    pub config: Digest,
}

impl HeadArtifact {
    /// The content of the configuration.
    pub const CONFIG: &[u8] = EMPTY_CONFIG;

    /// Reads and hashes the head of an archive.
    pub(crate) fn from_archive(
        accepted: &AcceptedArchive,
        registry: &RegistryAddress,
        placement: Placement,
    ) -> Result<Self, Error> {
        let id = &accepted.statement().predicate.id;
        let (repository, reference) = place(registry, &id.to_string(), &accepted.archive_id())?;
        let head = accepted.listed().head(Cancel::never())?;
        let config = digest_of(Self::CONFIG);
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MediaType::OciManifest.as_str(),
            "artifactType": ARTIFACT,
            "config": {"mediaType": EMPTY_CONFIG_TYPE, "digest": config, "size": Self::CONFIG.len()},
            "layers": [{"mediaType": HEAD, "digest": head.digest(), "size": head.size()}],
        });
        if placement != Placement::default() {
            manifest["annotations"] = json!({ PLACEMENT: json!(placement).to_string() });
        }
        // The bytes depend only on the head and the placement, because the keys are sorted. The digest thus shows
        // whether the registry has this manifest.
        let bytes = manifest.to_string().into_bytes();
        let (manifest, _) = Document::read(digest_of(&bytes), bytes).expect("a manifest");
        Ok(Self {
            repository,
            reference,
            manifest: Arc::new(manifest),
            head,
            config,
        })
    }

    /// Checks whether a registry has the entire artifact.
    pub(crate) fn is_whole(&self, known: &KnownContent) -> bool {
        let manifest = known.manifest(&self.repository, &self.reference);
        let blobs = [self.head.digest(), self.config];
        manifest == Some(self.manifest.digest)
            && blobs
                .iter()
                .all(|digest| known.has_blob(&self.repository, digest))
    }

    /// Checks whether the registry has a different manifest under the tag.
    pub(crate) fn differs(&self, known: &KnownContent) -> bool {
        let found = known.manifest(&self.repository, &self.reference);
        found.is_some_and(|found| found != self.manifest.digest)
    }

    /// Adds the artifact to a push.
    pub(crate) fn add_to(&self, job: &mut PushJob) {
        let blob = |digest, size, content| BlobPush {
            digest,
            size,
            repositories: vec![self.repository.clone()],
            content,
        };
        let head = &self.head;
        let content = Arc::new(ArchiveBlob(head.clone()));
        job.blobs.push(blob(head.digest(), head.size(), content));
        let content = Arc::new(Bytes::from_static(Self::CONFIG));
        let size = Self::CONFIG.len() as u64;
        job.blobs.push(blob(self.config, size, content));
        let (repository, reference) = (self.repository.clone(), self.reference.clone());
        job.manifests
            .push(manifest_push(&self.manifest, repository, reference));
    }
}

/// Returns the push of a manifest or index under a reference.
pub(crate) fn manifest_push(
    document: &Document,
    repository: RepositoryPath,
    reference: Reference,
) -> ManifestPush {
    ManifestPush {
        repository,
        reference,
        media_type: document.media_type.to_string(),
        bytes: Bytes::from_owner(Arc::clone(&document.bytes)),
        digest: document.digest,
        needs: document.needs.clone(),
    }
}

/// Returns the ids of the archives of a version whose heads a registry has, sorted.
pub(crate) async fn kept_archives(client: &Client, id: &SolutionId) -> Result<Vec<Digest>, Error> {
    let repository = client.address().repository(&id.to_string())?;
    let tags = client.tags(&repository).await?;
    let of_archive = |tag: &Tag| Digest::from_hex(tag.as_str().strip_prefix(TAG)?).ok();
    Ok(tags.iter().filter_map(of_archive).collect())
}

/// Returns the place of an archive's head. No image can be in this repository.
pub(crate) fn place(
    registry: &RegistryAddress,
    id: &str,
    archive_id: &Digest,
) -> Result<(RepositoryPath, Reference), AddressError> {
    let tag = format!("{TAG}{}", archive_id.hex());
    let tag = tag.parse().expect("letters, digits and a hyphen");
    Ok((registry.repository(id)?, Reference::Tag(tag)))
}

/// Returns the layer with the head, if the manifest is that of a head artifact.
pub(crate) fn only_layer(manifest: &RegistryManifest) -> Option<Descriptor> {
    match ImageDocument::from_slice(&manifest.bytes).ok()? {
        ImageDocument::Manifest(manifest) => {
            let [layer] = <[Descriptor; 1]>::try_from(manifest.layers).ok()?;
            (layer.media_type == HEAD).then_some(layer)
        }
        ImageDocument::Index(_) => None,
    }
}

/// Reads the placement of a version's images from the manifest of its head.
pub(crate) fn placement_in(manifest: &RegistryManifest) -> Result<Placement, Error> {
    let document: Value = serde_json::from_slice(&manifest.bytes).unwrap_or_default();
    let Some(placement) = document["annotations"][PLACEMENT].as_str() else {
        return Ok(Placement::default());
    };
    let read = serde_json::from_str(placement);
    read.map_err(|_| Error::UnknownPlacement(placement.to_owned()))
}

/// Returns the placement of a version's images that the registry records, or `None` if it does not have the head.
pub(crate) async fn recorded_placement(
    client: &Client,
    id: &str,
    archive_id: &Digest,
) -> Result<Option<Placement>, Error> {
    let (repository, reference) = place(client.address(), id, archive_id)?;
    let head = client.manifest(&repository, &reference).await?;
    head.map(|head| placement_in(&head)).transpose()
}

pub(crate) fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}
