//! Writes an archive again from what a registry has: its head, and the contents of its images by digest, from whichever
//! of its images' repositories gives them. What the images consist of says the list in the head.

use std::collections::BTreeMap;
use std::io;

use archive::{Copying, ImageRole, Listed, Slot};
use bytes::Bytes;
use registry::{
    BlobPull, BlobSink, Client, KnownContent, RegistryAddress, RepositoryPath, SinkRefusal,
};
use schemas::{Digest, ImagePlace, SolutionId};
use watch::Tell;

use crate::artifact::recorded_placement;
use crate::error::{Error, Lacking, Unfetched};
use crate::layout::PathLayout;
use crate::place::own_repository;

/// The documents and blobs of an archive that a registry was found to have: all of them.
#[derive(Debug)]
pub struct Export {
    documents: BTreeMap<Digest, Bytes>,
    blobs: BTreeMap<Digest, BlobLocation>,
}

/// A blob, and where it is.
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

/// A content that is looked for.
struct SoughtContent {
    role: ImageRole,
    size: u64,
    holders: Vec<ImageHolder>,
}

impl Export {
    /// Looks for everything behind the head, and reads the documents, which are few. [`Error::Lacking`] names what no
    /// repository of the version gives.
    pub async fn find(client: &Client, id: &SolutionId, listed: &Listed) -> Result<Self, Error> {
        let archive_id = listed.archive_id();
        let placement = recorded_placement(client, &id.to_string(), &archive_id).await?;
        let wanted = wanted(
            client.address(),
            placement.unwrap_or_default().layout,
            id,
            listed,
        )?;
        let mut looking = Looking {
            client,
            lacking: Vec::new(),
        };
        let (documents, blobs) = wanted
            .into_iter()
            .partition(|(_, it)| it.role != ImageRole::Blob);
        check_room(&documents)?;
        let documents = looking.documents(documents).await?;
        let blobs = looking.blobs(blobs).await?;
        if looking.lacking.is_empty() {
            return Ok(Self { documents, blobs });
        }
        Err(Error::Lacking(looking.lacking))
    }

    /// Bytes that [`Export::fetch`] asks for.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blobs.values().map(|found| found.size).sum()
    }

    /// Returns the number of contents that the images have.
    #[must_use]
    pub fn contents(&self) -> usize {
        self.documents.len() + self.blobs.len()
    }

    /// Brings everything to its place, several blobs at a time, each hashed on the way.
    pub async fn fetch(
        self,
        client: &Client,
        copying: &Copying,
        tell: Tell<'_, registry::Event>,
    ) -> Result<(), Error> {
        for (digest, bytes) in &self.documents {
            if let Some(mut slot) = copying.slot(digest) {
                let written = slot.write(bytes);
                written.map_err(|source| registry::Error::Store {
                    digest: *digest,
                    offset: 0,
                    source,
                })?;
                // Its digest is that of these bytes, or it would not be here.
                let _ = slot.finish();
            }
        }
        let mut pulls = Vec::new();
        for (digest, found) in &self.blobs {
            let Some(slot) = copying.slot(digest) else {
                continue;
            };
            let sink: Box<dyn BlobSink> = Box::new(Filling(slot));
            pulls.push(BlobPull {
                repository: found.holder.repository.clone(),
                digest: *digest,
                size: found.size,
                sink: Box::new(move || Ok(Some(sink))),
            });
        }
        let pulled = registry::pull(client, pulls, tell).await;
        pulled.map_err(|failed| self.unfetched(failed))
    }

    fn unfetched(&self, failed: registry::FailedPull) -> Error {
        let registry::FailedPull { digest, error } = failed;
        match self.blobs.get(&digest) {
            Some(found) if !matches!(error, registry::Error::Store { .. }) => {
                Error::Unfetched(Box::new(Unfetched {
                    digest,
                    image: found.holder.place.clone(),
                    source: error,
                }))
            }
            _ => error.into(),
        }
    }
}

/// Every content behind the head, with the images that have it. One that is in no image is no part of the version, and
/// was never pushed; an archive that has one is not whole in the end ([`archive::WriteError::Lacking`]).
fn wanted(
    registry: &RegistryAddress,
    layout: PathLayout,
    id: &SolutionId,
    listed: &Listed,
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

/// Refuses documents that take too much memory: they are kept there until they are written.
fn check_room(documents: &BTreeMap<Digest, SoughtContent>) -> Result<(), Error> {
    let size = documents.values().map(|it| it.size).sum();
    let limit = validator::limits::IMAGE_DOCUMENTS;
    if size <= limit {
        return Ok(());
    }
    let path = archive::IMAGES.to_owned();
    Err(archive::OpenError::FileSize { path, size, limit }.into())
}

/// Asks one repository after the other for what the one before did not have.
struct Looking<'a> {
    client: &'a Client,
    lacking: Vec<Lacking>,
}

impl Looking<'_> {
    async fn documents(
        &mut self,
        wanted: BTreeMap<Digest, SoughtContent>,
    ) -> Result<BTreeMap<Digest, Bytes>, Error> {
        let mut found = BTreeMap::new();
        let rounds = wanted.values().map(|it| it.holders.len()).max();
        for round in 0..rounds.unwrap_or_default() {
            let open = wanted
                .iter()
                .filter(|(digest, _)| !found.contains_key(*digest));
            let ask = open.filter_map(|(digest, it)| {
                Some((it.holders.get(round)?.repository.clone(), *digest))
            });
            for (_, manifest) in self.client.manifests(ask.collect()).await? {
                found.extend(manifest.map(|it| (it.digest, it.bytes)));
            }
        }
        for (digest, it) in &wanted {
            if !found.contains_key(digest) {
                self.lacks(*digest, it);
            }
        }
        Ok(found)
    }

    async fn blobs(
        &mut self,
        wanted: BTreeMap<Digest, SoughtContent>,
    ) -> Result<BTreeMap<Digest, BlobLocation>, Error> {
        let mut found: BTreeMap<Digest, BlobLocation> = BTreeMap::new();
        let rounds = wanted.values().map(|it| it.holders.len()).max();
        for round in 0..rounds.unwrap_or_default() {
            let open = wanted
                .iter()
                .filter(|(digest, _)| !found.contains_key(*digest));
            let open =
                open.filter_map(|(digest, it)| Some((digest, it.size, it.holders.get(round)?)));
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
        for (digest, it) in &wanted {
            if !found.contains_key(digest) {
                self.lacks(*digest, it);
            }
        }
        Ok(found)
    }

    fn lacks(&mut self, digest: Digest, wanted: &SoughtContent) {
        let host = self.client.address().host();
        self.lacking
            .extend(wanted.holders.first().map(|holder| Lacking {
                digest,
                image: holder.place.clone(),
                repository: format!("{host}/{}", holder.repository),
            }));
    }
}

/// A blob on its way to its place in the archive.
struct Filling(Slot);

impl BlobSink for Filling {
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
