//! Export of an archive from a registry. [`Export::find`] locates the content of all images that the list in the head
//! names, and [`Export::fetch`] downloads it. Each content is taken from any repository of the version's images that
//! has it.

use std::collections::BTreeMap;
use std::io;

use archive::{ArchiveCopy, ImageRole, ListedArchive, Slot};
use bytes::Bytes;
use progress::ProgressSink;
use registry::{
    BlobPull, BlobSink, Client, KnownContent, RegistryAddress, RepositoryPath, SinkRefusal,
};
use schemas::{Digest, ImagePlace, SolutionId};

use crate::artifact::recorded_placement;
use crate::error::{Error, MissingContent, UnreadableContent};
use crate::layout::PathLayout;
use crate::place::own_repository;

/// The documents and blobs of an archive, all of which a registry has.
#[derive(Debug)]
pub struct Export {
    documents: BTreeMap<Digest, Bytes>,
    blobs: BTreeMap<Digest, BlobLocation>,
}

/// A blob and its location.
#[derive(Debug)]
struct BlobLocation {
    size: u64,
    holder: ImageHolder,
}

/// An image of the archive, and its repository.
#[derive(Clone, Debug)]
struct ImageHolder {
    place: ImagePlace,
    repository: RepositoryPath,
}

/// Content to be located.
struct SoughtContent {
    role: ImageRole,
    size: u64,
    holders: Vec<ImageHolder>,
}

impl Export {
    /// Locates all content after the head, and reads the documents, which are few. `Error::MissingContent` lists the content
    /// that no repository of the version has.
    pub async fn find(
        client: &Client,
        id: &SolutionId,
        listed: &ListedArchive,
    ) -> Result<Self, Error> {
        let archive_id = listed.archive_id();
        let placement = recorded_placement(client, &id.to_string(), &archive_id).await?;
        let wanted = wanted_content(
            client.address(),
            placement.unwrap_or_default().layout,
            id,
            listed,
        )?;
        let mut looking = ContentSearch {
            client,
            lacking: Vec::new(),
        };
        let (documents, blobs) = wanted
            .into_iter()
            .partition(|(_, content)| content.role != ImageRole::Blob);
        check_room(&documents)?;
        let documents = looking.documents(documents).await?;
        let blobs = looking.blobs(blobs).await?;
        if looking.lacking.is_empty() {
            return Ok(Self { documents, blobs });
        }
        Err(Error::Lacking(looking.lacking))
    }

    /// Returns the number of bytes that [`Export::fetch`] downloads.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blobs.values().map(|found| found.size).sum()
    }

    /// Returns the number of contents of the images.
    #[must_use]
    pub fn contents(&self) -> usize {
        self.documents.len() + self.blobs.len()
    }

    /// Downloads and writes all content, several blobs at a time, and verifies their digests.
    pub async fn fetch(
        self,
        client: &Client,
        copying: &ArchiveCopy,
        tell: ProgressSink<'_, registry::Event>,
    ) -> Result<(), Error> {
        for (digest, bytes) in &self.documents {
            if let Some(mut slot) = copying.slot(digest) {
                let written = slot.write(bytes);
                written.map_err(|source| registry::Error::Store {
                    digest: *digest,
                    offset: 0,
                    source,
                })?;
                // The digest was computed from these bytes when they were read.
                let _ = slot.finish();
            }
        }
        let mut pulls = Vec::new();
        for (digest, found) in &self.blobs {
            let Some(slot) = copying.slot(digest) else {
                continue;
            };
            let sink: Box<dyn BlobSink> = Box::new(BlobFile(slot));
            pulls.push(BlobPull {
                repository: found.holder.repository.clone(),
                digest: *digest,
                size: found.size,
                sink: Box::new(move || Ok(Some(sink))),
            });
        }
        let pulled = registry::pull(client, pulls, tell).await;
        pulled.map_err(|failed| self.unfetched_error(failed))
    }

    fn unfetched_error(&self, failed: registry::FailedPull) -> Error {
        let registry::FailedPull { digest, error } = failed;
        match self.blobs.get(&digest) {
            // A storage error is about the archive to be written, not about the registry.
            Some(found) if !matches!(error, registry::Error::Store { .. }) => {
                Error::Unfetched(Box::new(UnreadableContent {
                    digest,
                    image: found.holder.place.clone(),
                    source: error,
                }))
            }
            _ => error.into(),
        }
    }
}

/// Returns all content after the head with the images that contain it. Content outside of images is not pushed. An
/// archive with such content stays incomplete, which is reported at the end ([`archive::WriteError::MissingContent`]).
fn wanted_content(
    registry: &RegistryAddress,
    layout: PathLayout,
    id: &SolutionId,
    listed: &ListedArchive,
) -> Result<BTreeMap<Digest, SoughtContent>, Error> {
    let mut wanted: BTreeMap<Digest, SoughtContent> = BTreeMap::new();
    let behind: BTreeMap<Digest, u64> = listed.blobs_behind().collect();
    for content in listed.image_contents() {
        if !behind.contains_key(&content.digest) {
            continue;
        }
        let name = &content.place.name;
        let repository = own_repository(registry, layout, &id.to_string(), name)?;
        let known = wanted.entry(content.digest).or_insert(SoughtContent {
            role: content.role,
            size: content.size,
            holders: Vec::new(),
        });
        known.holders.push(ImageHolder {
            place: content.place,
            repository,
        });
    }
    Ok(wanted)
}

/// Refuses documents that take too much memory, because they are kept there until they are written.
fn check_room(documents: &BTreeMap<Digest, SoughtContent>) -> Result<(), Error> {
    let size = documents.values().map(|document| document.size).sum();
    let limit = validator::limits::IMAGE_DOCUMENTS;
    if size <= limit {
        return Ok(());
    }
    let path = archive::IMAGES.to_owned();
    Err(archive::OpenError::FileSize { path, size, limit }.into())
}

/// The search for content. Each repository is asked only for content that the previous ones did not have.
struct ContentSearch<'a> {
    client: &'a Client,
    lacking: Vec<MissingContent>,
}

impl ContentSearch<'_> {
    async fn documents(
        &mut self,
        wanted: BTreeMap<Digest, SoughtContent>,
    ) -> Result<BTreeMap<Digest, Bytes>, Error> {
        let mut found = BTreeMap::new();
        let rounds = wanted.values().map(|content| content.holders.len()).max();
        // Each round asks the next repository of every document that is still missing.
        for round in 0..rounds.unwrap_or_default() {
            let open = wanted
                .iter()
                .filter(|(digest, _)| !found.contains_key(*digest));
            let ask = open.filter_map(|(digest, content)| {
                Some((content.holders.get(round)?.repository.clone(), *digest))
            });
            for (_, manifest) in self.client.manifests(ask.collect()).await? {
                found.extend(manifest.map(|manifest| (manifest.digest, manifest.bytes)));
            }
        }
        for (digest, content) in &wanted {
            if !found.contains_key(digest) {
                self.lacks(*digest, content);
            }
        }
        Ok(found)
    }

    async fn blobs(
        &mut self,
        wanted: BTreeMap<Digest, SoughtContent>,
    ) -> Result<BTreeMap<Digest, BlobLocation>, Error> {
        let mut found: BTreeMap<Digest, BlobLocation> = BTreeMap::new();
        let rounds = wanted.values().map(|content| content.holders.len()).max();
        for round in 0..rounds.unwrap_or_default() {
            let open = wanted
                .iter()
                .filter(|(digest, _)| !found.contains_key(*digest));
            let open = open.filter_map(|(digest, content)| {
                Some((digest, content.size, content.holders.get(round)?))
            });
            let open: Vec<_> = open.collect();
            let ask = open.iter();
            let ask: Vec<_> = ask
                .map(|(digest, size, holder)| (&holder.repository, **digest, *size))
                .collect();
            let mut known = KnownContent::default();
            self.client.find_blobs(&mut known, &ask).await?;
            for (digest, size, holder) in open {
                if known.has_blob(&holder.repository, digest) {
                    let holder = holder.clone();
                    found.insert(*digest, BlobLocation { size, holder });
                }
            }
        }
        for (digest, content) in &wanted {
            if !found.contains_key(digest) {
                self.lacks(*digest, content);
            }
        }
        Ok(found)
    }

    fn lacks(&mut self, digest: Digest, wanted: &SoughtContent) {
        let host = self.client.address().host();
        self.lacking
            .extend(wanted.holders.first().map(|holder| MissingContent {
                digest,
                image: holder.place.clone(),
                repository: format!("{host}/{}", holder.repository),
            }));
    }
}

/// A sink for a blob of the archive.
struct BlobFile(Slot);

impl BlobSink for BlobFile {
    fn position(&self) -> u64 {
        self.0.position()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write(bytes)
    }

    fn restart(&mut self) -> io::Result<()> {
        self.0.restart();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), SinkRefusal> {
        self.0.finish().map_err(SinkRefusal::Digest)
    }
}
