//! The content of an archive in the form that the built-in registry serves: byte ranges of the archive's file. Blobs
//! are not copied, so serving starts at once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use registry::{Reference, RegistryAddress};
use rustix::fs::{MemfdFlags, memfd_create};
use schemas::Digest;
use serve::{ServedArchive, ServedBlob, ServedImage};
use validator::AcceptedArchive;

use crate::artifact::HeadArtifact;
use crate::error::Error;
use crate::names::{ArchivePlacement, ImageName};

/// Lists the content of an archive under the names that an import would use.
pub(crate) fn list_served_content(
    path: &Path,
    accepted: &AcceptedArchive,
    registry: &RegistryAddress,
) -> Result<ServedArchive, Error> {
    let placed = ArchivePlacement::new(accepted, registry)?;
    let mut blobs = BTreeMap::new();
    for (digest, size) in accepted.images().iter().flat_map(|image| &image.blobs) {
        let blob = accepted.blob(digest).and_then(|blob| blob.place());
        let blob = blob_at(*digest, blob, *size)?;
        blobs.entry(*digest).or_insert(blob);
    }
    let image = |placed: &ImageName<'_>| ServedImage {
        repository: placed.repository.to_string(),
        tag: tag(&placed.reference),
        root: Arc::clone(&placed.image.root),
        children: placed.image.children.clone(),
        blobs: placed
            .image
            .blobs
            .keys()
            .map(|digest| Arc::clone(&blobs[digest]))
            .collect(),
    };
    let images = placed.images.iter().map(image);
    let mirrors = placed.mirrors.iter();
    Ok(ServedArchive {
        name: path.display().to_string(),
        images: images.chain([head(&placed.head)?]).collect(),
        mirrors: mirrors
            .map(|(host, path)| (host.clone(), path.to_string()))
            .collect(),
    })
}

/// Returns the head of an archive, from which sites can deploy the version later without the ISO.
fn head(artifact: &HeadArtifact) -> Result<ServedImage, Error> {
    let config = in_memory(HeadArtifact::CONFIG).map_err(Error::Memory)?;
    let config = Some((Arc::new(config), 0));
    let size = HeadArtifact::CONFIG.len() as u64;
    let head = &artifact.head;
    Ok(ServedImage {
        repository: artifact.repository.to_string(),
        tag: tag(&artifact.reference),
        root: Arc::clone(&artifact.manifest),
        children: Vec::new(),
        blobs: vec![
            blob_at(head.digest(), head.place(), head.size())?,
            blob_at(artifact.config, config, size)?,
        ],
    })
}

/// Writes bytes to a file in memory, because only files can be served.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("solution", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}

fn tag(reference: &Reference) -> Option<String> {
    match reference {
        Reference::Tag(tag) => Some(tag.to_string()),
        Reference::Digest(_) => None,
    }
}

fn blob_at(
    digest: Digest,
    place: Option<(Arc<File>, u64)>,
    size: u64,
) -> Result<Arc<ServedBlob>, Error> {
    let (file, offset) = place.ok_or(Error::NotInArchive(digest))?;
    Ok(Arc::new(ServedBlob {
        digest,
        file,
        offset,
        size,
    }))
}
