//! The head of an archive, the medium's own bytes before the first blob, as an OCI artifact beside the images. With it
//! and the blobs among the images the archive is at the site without its medium; what comes back goes through the stages
//! of every archive, judged by its id.

use std::sync::Arc;

use archive::Blob;
use bytes::Bytes;
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
use validator::Accepted;
use watch::Cancel;

use crate::archive_blob::ArchiveBlob;
use crate::error::Error;
use crate::layout::Placement;

/// The artifact type of the manifest.
const ARTIFACT: &str = "application/vnd.solutions.archive.v1";
/// The media type of its one layer.
const HEAD: &str = "application/vnd.solutions.archive.head.v1";
/// The annotation with the placement of the version's images, where that is not the default.
const PLACEMENT: &str = "vnd.solutions.placement";
/// The beginning of its tag, before the archive id.
const TAG: &str = "archive-";

/// The head of an archive as something that registries have.
#[derive(Debug)]
pub struct HeadArtifact {
    /// The repository, prefix included.
    pub repository: RepositoryPath,
    /// The tag.
    pub reference: Reference,
    /// The manifest that the tag names.
    pub manifest: Arc<Document>,
    /// The content of its one layer: the bytes of the archive before its first blob.
    pub head: Blob,
    /// The digest of its configuration.
    pub config: Digest,
}

impl HeadArtifact {
    /// The bytes of the configuration.
    pub const CONFIG: &[u8] = EMPTY_CONFIG;

    /// Hashes the head of an archive.
    pub(crate) fn of(
        accepted: &Accepted,
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
        // Always the same for one head and placement, keys sorted: by its digest the registry is found to have it.
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

    /// Whether a registry was found to give all of it.
    pub(crate) fn is_whole(&self, known: &KnownContent) -> bool {
        let manifest = known.manifest(&self.repository, &self.reference);
        let blobs = [self.head.digest(), self.config];
        manifest == Some(self.manifest.digest)
            && blobs.iter().all(|it| known.has_blob(&self.repository, it))
    }

    /// Whether the registry has another head in its place.
    pub(crate) fn differs(&self, known: &KnownContent) -> bool {
        let found = known.manifest(&self.repository, &self.reference);
        found.is_some_and(|found| found != self.manifest.digest)
    }

    /// Adds it to what is pushed.
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

/// A manifest or index as it is pushed under a name.
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

/// The ids of the archives of a version that a registry keeps the heads of, sorted.
pub(crate) async fn kept_archives(client: &Client, id: &SolutionId) -> Result<Vec<Digest>, Error> {
    let repository = client.address().repository(&id.to_string())?;
    let tags = client.tags(&repository).await?;
    let of_archive = |tag: &Tag| Digest::from_hex(tag.as_str().strip_prefix(TAG)?).ok();
    Ok(tags.iter().filter_map(of_archive).collect())
}

/// Returns where the head of an archive lies: in a repository that no image can have.
pub(crate) fn place(
    registry: &RegistryAddress,
    id: &str,
    archive_id: &Digest,
) -> Result<(RepositoryPath, Reference), AddressError> {
    let tag = format!("{TAG}{}", archive_id.hex());
    let tag = tag.parse().expect("letters, digits and a hyphen");
    Ok((registry.repository(id)?, Reference::Tag(tag)))
}

/// The head, as its artifact names it.
pub(crate) fn only_layer(manifest: &RegistryManifest) -> Option<Descriptor> {
    match ImageDocument::from_slice(&manifest.bytes).ok()? {
        ImageDocument::Manifest(manifest) => {
            let [layer] = <[Descriptor; 1]>::try_from(manifest.layers).ok()?;
            (layer.media_type == HEAD).then_some(layer)
        }
        ImageDocument::Index(_) => None,
    }
}

/// The placement of a version's images, as the manifest of its head has it.
pub(crate) fn placement_in(manifest: &RegistryManifest) -> Result<Placement, Error> {
    let document: Value = serde_json::from_slice(&manifest.bytes).unwrap_or_default();
    let Some(placement) = document["annotations"][PLACEMENT].as_str() else {
        return Ok(Placement::default());
    };
    let read = serde_json::from_str(placement);
    read.map_err(|_| Error::UnknownPlacement(placement.to_owned()))
}

/// Reads the placement of a version's images from the head of its archive; nothing if the registry has no head.
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
