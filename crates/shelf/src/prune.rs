//! The versions that a registry keeps, and the manifests there that can be deleted since nobody needs them any more.
//!
//! A version is known by its head. The list in the head, which is that of the archive id in the tag, says what it
//! needs, or the head counts for nothing; so a registry that gives anything else cannot have more deleted. As long as
//! one head that stays is not to be read, nobody knows what its version needs, and nothing is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use archive::{ImageRole, Listed, MANIFEST, OpenError, Opened};
use registry::{Client, RepositoryPath};
use schemas::{Digest, ImagePlace, ManifestError, Solution, SolutionId, Version};
use validator::IMAGE_INDEX;

use crate::artifact::kept_archives;
use crate::error::Error;
use crate::free::{BroughtImage, Holdings, ImportedImages, too_many};
use crate::layout::{MirrorPolicy, Placement};
use crate::limits;
use crate::obstacle::RegistryObstacle;
use crate::open::placed_head;
use crate::record::{Record, RecordedImage};

/// The versions that a registry keeps, and those that the records of a cluster need.
#[derive(Debug)]
pub struct Stock {
    versions: Vec<KeptVersion>,
    recorded: Vec<ImportedImages>,
}

/// A version whose head a registry keeps.
#[derive(Debug)]
pub struct KeptVersion {
    /// The id of the version.
    pub id: SolutionId,
    /// The ids of its archives, one as a rule.
    pub archives: Vec<Digest>,
    /// The record that needs it.
    pub needed_by: Option<String>,
    /// Bytes of contents that no other version here has; none if a head cannot be read.
    pub own_bytes: Option<u64>,
    read: Result<Vec<StoredArchive>, Unread>,
}

impl KeptVersion {
    /// Returns why it is not known what the version needs, if it is not.
    #[must_use]
    pub fn unread(&self) -> Option<&Unread> {
        self.read.as_ref().err()
    }

    fn kept(&self) -> impl Iterator<Item = &StoredArchive> {
        self.read.iter().flatten()
    }
}

/// An archive of which a registry keeps the head.
#[derive(Debug)]
struct StoredArchive {
    brought: ImportedImages,
    /// Every content of its images, and its bytes.
    contents: BTreeMap<Digest, u64>,
}

/// The reason why a head is of no use.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The head is not there, or is not that of the archive.
    #[error("its head cannot be read")]
    Head(#[source] Box<Error>),
    /// The head is that of another version.
    #[error("its head is that of {0}")]
    Other(SolutionId),
    /// The manifest in it.
    #[error("its manifest cannot be read")]
    Manifest(#[from] ManifestError),
    /// The list of images in it.
    #[error("its list of images cannot be read: {0}")]
    Images(String),
}

/// The reason why nothing is deleted.
#[derive(Debug, thiserror::Error)]
pub enum Unprunable {
    /// A record needs the version.
    #[error("{id} is imported: {record} needs it")]
    Needed {
        /// The version.
        id: SolutionId,
        /// The record that needs it.
        record: String,
    },
    /// The registry does not keep the version.
    #[error("{registry} has no archive of {id}")]
    Absent {
        /// The version.
        id: SolutionId,
        /// The registry, with its prefix.
        registry: String,
    },
    /// The manifests that a version has there, or needs, are not known.
    #[error("cannot determine the content of {id} in the registry: {why}")]
    Unread {
        /// The version.
        id: SolutionId,
        /// The reason, in one line.
        why: String,
    },
    /// No record names any of the versions there: it is another cluster, more often than not.
    #[error("no record of the cluster names a version that {registry} has")]
    NoRecord {
        /// The registry, with its prefix.
        registry: String,
    },
    /// The registry or the imports have changed since they were shown.
    #[error("the content of the registry or the imported versions have changed since")]
    Changed,
}

/// The versions to delete, and all that goes with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// The versions.
    pub versions: Vec<SolutionId>,
    /// Bytes of contents that only they have, of all versions that are kept there.
    pub bytes: u64,
    holdings: Holdings,
}

impl Stock {
    /// Reads what a registry keeps. The records are all those of the clusters that use it; `name` is what people know one
    /// by.
    pub async fn read(
        client: &Client,
        records: &[Record],
        name: impl Fn(&Record) -> String,
        scratch: &Path,
    ) -> Result<Self, Error> {
        client.ping().await?;
        let mut versions = Vec::new();
        let (mut archives, mut contents) = (0_u64, 0_u64);
        for id in ids(client).await? {
            let kept = kept_archives(client, &id).await?;
            if kept.is_empty() {
                continue;
            }
            archives += kept.len() as u64;
            too_many(client, archives, limits::KEPT_ARCHIVES, "archives")?;
            let read = read_all(client, &id, &kept, scratch).await?;
            contents += read.iter().flatten().map(StoredArchive::size).sum::<u64>();
            too_many(
                client,
                contents,
                limits::KEPT_CONTENTS,
                "contents of images",
            )?;
            let record = records.iter().find(|it| it.id() == id.to_string());
            versions.push(KeptVersion {
                id,
                archives: kept,
                needed_by: record.map(&name),
                own_bytes: None,
                read,
            });
        }
        let mut stock = Self {
            versions,
            recorded: records.iter().map(ImportedImages::from).collect(),
        };
        stock.count();
        Ok(stock)
    }

    /// The versions, sorted by name and version.
    #[must_use]
    pub fn versions(&self) -> &[KeptVersion] {
        &self.versions
    }

    /// The versions that no record needs. Where no record needs any, that is an answer to another question.
    pub fn unneeded(&self, client: &Client) -> Result<BTreeSet<SolutionId>, Unprunable> {
        let is_free = |version: &&KeptVersion| version.needed_by.is_none();
        let free: BTreeSet<SolutionId> = self
            .versions
            .iter()
            .filter(is_free)
            .map(|version| version.id.clone())
            .collect();
        if !free.is_empty() && free.len() == self.versions.len() {
            let registry = client.address().to_string();
            return Err(Unprunable::NoRecord { registry });
        }
        Ok(free)
    }

    /// Finds out what deleting these versions comes to; all that is in the way otherwise. Writes nothing.
    pub async fn plan(
        &self,
        client: &Client,
        chosen: &BTreeSet<SolutionId>,
    ) -> Result<Result<Pruning, Vec<Unprunable>>, Error> {
        let in_the_way = self.in_the_way(client, chosen);
        if !in_the_way.is_empty() {
            return Ok(Err(in_the_way));
        }
        let (going, staying): (Vec<&KeptVersion>, Vec<&KeptVersion>) = self
            .versions
            .iter()
            .partition(|version| chosen.contains(&version.id));
        let stays = contents(&staying);
        let own = contents(&going).into_iter();
        let own = own.filter(|(digest, _)| !stays.contains_key(digest));
        let brought = |versions: &[&KeptVersion]| -> Vec<ImportedImages> {
            let kept = versions.iter().flat_map(|version| version.kept());
            kept.map(|kept| kept.brought.clone()).collect()
        };
        let (goes, mut stays) = (brought(&going), brought(&staying));
        // Wherever the records say that they were pushed: a registry has several names.
        stays.extend(self.recorded.iter().cloned());
        Ok(Ok(Pruning {
            versions: going.iter().map(|version| version.id.clone()).collect(),
            bytes: own.map(|(_, size)| size).sum(),
            holdings: Holdings::among(client, &goes, &stays).await?,
        }))
    }

    fn in_the_way(&self, client: &Client, chosen: &BTreeSet<SolutionId>) -> Vec<Unprunable> {
        let mut all = Vec::new();
        for id in chosen {
            let (id, registry) = (id.clone(), client.address().to_string());
            match self.versions.iter().find(|version| version.id == id) {
                None => all.push(Unprunable::Absent { id, registry }),
                Some(version) => {
                    let record = version.needed_by.clone();
                    all.extend(record.map(|record| Unprunable::Needed { id, record }));
                }
            }
        }
        for version in &self.versions {
            all.extend(version.unread().map(|unread| Unprunable::Unread {
                id: version.id.clone(),
                why: in_one_line(unread),
            }));
        }
        all
    }

    /// Counts what only one version has.
    fn count(&mut self) {
        let mut holders: BTreeMap<Digest, usize> = BTreeMap::new();
        for version in &self.versions {
            for digest in contents(&[version]).into_keys() {
                *holders.entry(digest).or_default() += 1;
            }
        }
        for version in &mut self.versions {
            let own = contents(&[version]).into_iter();
            let own = own.filter(|(digest, _)| holders.get(digest) == Some(&1));
            let bytes = own.map(|(_, size)| size).sum();
            version.own_bytes = version.read.is_ok().then_some(bytes);
        }
    }
}

/// Finds out what the versions that go have at a registry, of all that are recorded. What only the registry knows needs
/// its images as well: other clusters have recorded it, or none has. Reading only.
pub async fn holdings(
    client: &Client,
    scratch: &Path,
    records: &[Record],
    goes: impl Fn(&SolutionId) -> bool,
) -> Result<Holdings, Error> {
    let stock = Stock::read(client, records, Record::id, scratch).await?;
    let is_going = |record: &&Record| record.id().parse().is_ok_and(|id| goes(&id));
    let (going, staying): (Vec<&Record>, Vec<&Record>) = records.iter().partition(is_going);
    let mut going: Vec<ImportedImages> = going.into_iter().map(ImportedImages::from).collect();
    for version in &mut going {
        // A push without the cluster may have added mirrors since.
        let kept = stock.versions.iter().flat_map(KeptVersion::kept);
        let mut same = kept.filter(|kept| kept.brought.archive_id == version.archive_id);
        if same.any(|kept| kept.brought.placement.has_mirrors()) {
            version.placement.mirrors = MirrorPolicy::Push;
        }
    }
    let mut stays: Vec<ImportedImages> = staying.into_iter().map(ImportedImages::from).collect();
    for version in stock.versions.iter().filter(|it| !goes(&it.id)) {
        if let Some(unread) = version.unread() {
            let (id, why) = (version.id.clone(), in_one_line(unread));
            return Err(Error::UnreadHead { id, why });
        }
        stays.extend(version.kept().map(|kept| kept.brought.clone()));
    }
    Holdings::among(client, &going, &stays).await
}

impl Pruning {
    /// Every manifest and index that goes, as `HOST/REPOSITORY@DIGEST`.
    #[must_use]
    pub fn names(&self, client: &Client) -> Vec<String> {
        self.holdings.names(client)
    }

    /// Returns a note for people on each image that stays.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.holdings.notes().collect()
    }

    /// Deletes all of it, the heads last: as long as there is one, doing it again finds what an interruption left.
    pub async fn carry_out(&self, client: &Client) -> Result<Vec<String>, Error> {
        self.holdings.free(client, || Ok::<_, Error>(())).await
    }
}

impl StoredArchive {
    fn size(&self) -> u64 {
        self.contents.len() as u64
    }
}

fn contents(versions: &[&KeptVersion]) -> BTreeMap<Digest, u64> {
    let kept = versions.iter().flat_map(|version| version.kept());
    let contents = kept.flat_map(|kept| &kept.contents);
    contents.map(|(digest, size)| (*digest, *size)).collect()
}

fn in_one_line(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

/// The repositories that have names of versions, directly below the prefix.
async fn ids(client: &Client) -> Result<BTreeSet<SolutionId>, Error> {
    let all = client.repositories().await?;
    let prefix = client.address().prefix();
    let prefix = prefix.map_or(String::new(), |prefix| format!("{prefix}/"));
    let id = |repository: &RepositoryPath| {
        let below = repository.as_str().strip_prefix(&prefix)?;
        below.parse().ok()
    };
    Ok(all.iter().filter_map(id).collect())
}

async fn read_all(
    client: &Client,
    id: &SolutionId,
    archives: &[Digest],
    scratch: &Path,
) -> Result<Result<Vec<StoredArchive>, Unread>, Error> {
    let mut all = Vec::new();
    for archive_id in archives {
        match read(client, id, archive_id, scratch).await {
            Ok(kept) => all.push(kept),
            Err(Unread::Head(error)) if !is_damage(&error) => return Err(*error),
            Err(unread) => return Ok(Err(unread)),
        }
    }
    Ok(Ok(all))
}

/// Whether it is the head that is wrong, and not the way to it.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Archive(_)
        | Error::Refused(RegistryObstacle::NotKept { .. } | RegistryObstacle::ImagesGone { .. }) => {
            true
        }
        Error::Registry(error) => !error.is_retried() && !error.is_everywhere(),
        _ => false,
    }
}

/// The head of an archive, as far as it is about images.
async fn read(
    client: &Client,
    id: &SolutionId,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<StoredArchive, Unread> {
    let head = |error: Error| Unread::Head(Box::new(error));
    let placed = placed_head(client, id, archive_id, scratch).await;
    let (medium, placement) = placed.map_err(head)?;
    let archive_id = *archive_id;
    let listed = tokio::task::spawn_blocking(move || {
        Opened::read(medium)?.recognise(archive_id, None)?.list()
    });
    // Whoever waits for it no longer is gone himself.
    let listed = listed.await.expect("reading a head does not panic");
    let listed = listed.map_err(|error| head(error.into()))?;
    let found = &listed.statement().predicate.id;
    if found != id {
        return Err(Unread::Other(found.clone()));
    }
    Ok(StoredArchive {
        brought: brought(client, placement, &listed)?,
        contents: listed
            .image_contents()
            .map(|content| (content.digest, content.size))
            .collect(),
    })
}

fn brought(
    client: &Client,
    placement: Placement,
    listed: &Listed,
) -> Result<ImportedImages, Unread> {
    let head = |error: OpenError| Unread::Head(Box::new(error.into()));
    let predicate = &listed.statement().predicate;
    let manifest = listed.read(MANIFEST, schemas::limits::MANIFEST_SIZE);
    let manifest = Solution::from_slice(&manifest.map_err(head)?)?;
    let index = listed.read(IMAGE_INDEX, validator::limits::INDEX_SIZE);
    let mut references =
        validator::image_references(&index.map_err(head)?).map_err(Unread::Images)?;
    let mut images: BTreeMap<ImagePlace, (Option<Digest>, Vec<Digest>)> = BTreeMap::new();
    for content in listed.image_contents() {
        let (root, below) = images.entry(content.place).or_default();
        match content.role {
            ImageRole::Root => *root = Some(content.digest),
            ImageRole::Child => below.push(content.digest),
            ImageRole::Blob => {}
        }
    }
    let mut all = Vec::new();
    for (place, (root, below)) in images {
        let digest = root.ok_or_else(|| Unread::Images(format!("{place} has no manifest")))?;
        let reference = references.remove(&place);
        let image = RecordedImage {
            image: place,
            digest,
            reference,
        };
        all.push(BroughtImage { image, below });
    }
    let id = &predicate.id;
    let version: &Version = id.version();
    Ok(ImportedImages {
        name: id.name().clone(),
        version: version.clone(),
        archive_id: listed.archive_id(),
        pushed_to: format!("{}/{id}", client.address()),
        placement,
        images: all,
        carries: manifest.spec.carries(),
    })
}
