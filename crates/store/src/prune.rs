//! The versions in a registry, and the manifests that can be deleted because no version needs them. [`RetainedVersions::read`]
//! reads the versions, and [`RetainedVersions::plan`] determines the deletions.
//!
//! A version is identified by its head. The list in the head determines the content that the version needs. It is
//! verified against the archive id in the tag, so a registry with manipulated content cannot cause additional
//! deletions. If any head to be kept cannot be read, the content that its version needs is unknown, and nothing is
//! deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use archive::{ImageRole, ListedArchive, MANIFEST, OpenError, OpenedArchive};
use registry::{Client, RepositoryPath};
use schemars::JsonSchema;
use schemas::{Digest, ImagePlace, ManifestError, Solution, SolutionId, Version};
use serde::Serialize;
use validator::IMAGE_INDEX;

use crate::artifact::kept_archives;
use crate::blocker::RegistryBlocker;
use crate::deletion::{ImportedImages, StoredManifests, VersionImage, too_many};
use crate::error::Error;
use crate::layout::{MirrorPolicy, Placement};
use crate::limits;
use crate::open::placed_head;
use crate::record::{Record, RecordedImage};

/// The versions in a registry, and those that the records of clusters need.
#[derive(Debug)]
pub struct RetainedVersions {
    versions: Vec<StoredVersion>,
    recorded: Vec<ImportedImages>,
}

/// A version whose head is in a registry.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoredVersion {
    /// The id of the Solution, `<name>-<version>`.
    #[serde(rename = "solution")]
    pub id: SolutionId,
    /// The ids of its archives.
    #[schemars(length(min = 1))]
    pub archives: Vec<Digest>,
    /// The record of the cluster that needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_by: Option<String>,
    /// Bytes of contents that no other version there has. They are missing if a head cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_bytes: Option<u64>,
    #[serde(skip)]
    read: Result<Vec<StoredArchive>, UnusableHead>,
}

impl StoredVersion {
    /// Returns the reason why the content that the version needs is unknown, if it is.
    #[must_use]
    pub fn unusable_head(&self) -> Option<&UnusableHead> {
        self.read.as_ref().err()
    }

    fn kept(&self) -> impl Iterator<Item = &StoredArchive> {
        self.read.iter().flatten()
    }
}

/// An archive whose head is in a registry.
#[derive(Debug)]
struct StoredArchive {
    brought: ImportedImages,
    /// The contents of its images and their sizes.
    contents: BTreeMap<Digest, u64>,
}

/// The reason why a head cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableHead {
    /// The head does not exist, or is not that of the archive.
    #[error("its head cannot be read")]
    Head(#[source] Box<Error>),
    /// The head belongs to a different version.
    #[error("its head is that of {0}")]
    Other(SolutionId),
    /// The manifest in the head is invalid.
    #[error("its manifest cannot be read")]
    Manifest(#[from] ManifestError),
    /// The list of images in the head is invalid.
    #[error("its list of images cannot be read: {0}")]
    Images(String),
}

/// The reason why nothing is deleted.
#[derive(Debug, thiserror::Error)]
pub enum PruneBlocker {
    /// A record needs the version.
    #[error("{id} is imported: {record} needs it")]
    Needed {
        /// The version.
        id: SolutionId,
        /// The record that needs it.
        record: String,
    },
    /// The registry does not have the version.
    #[error("{registry} has no archive of {id}")]
    Absent {
        /// The version.
        id: SolutionId,
        /// The registry, with its prefix.
        registry: String,
    },
    /// The content that the version has or needs is unknown.
    #[error("cannot determine the content of {id} in the registry: {why}")]
    Unread {
        /// The version.
        id: SolutionId,
        /// The reason, in one line.
        why: String,
    },
    /// No record names any version in the registry, probably because the records are those of another cluster.
    #[error("no record of the cluster names a version that {0} has")]
    NoRecord(String),
    /// The registry or the imports have changed since the plan.
    #[error("the content of the registry or the imported versions have changed since")]
    Changed,
}

/// The versions to delete with all their content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunePlan {
    /// The versions.
    pub versions: Vec<SolutionId>,
    /// The size of the content that only these versions have.
    pub bytes: u64,
    holdings: StoredManifests,
}

impl RetainedVersions {
    /// Reads the versions in a registry. `records` must contain all records of the clusters that use it. `name` returns
    /// the display name of a record.
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
            // A repository with the name of a Solution id does not always have a head.
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
            let record = records.iter().find(|record| record.id() == id.to_string());
            versions.push(StoredVersion {
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

    /// Returns the versions, sorted by name and version.
    #[must_use]
    pub fn versions(&self) -> &[StoredVersion] {
        &self.versions
    }

    /// Returns the versions that no record needs. Fails if no record needs any version, because the records are then
    /// probably those of another cluster.
    pub fn find_unneeded(&self, client: &Client) -> Result<BTreeSet<SolutionId>, PruneBlocker> {
        let is_free = |version: &&StoredVersion| version.needed_by.is_none();
        let free: BTreeSet<SolutionId> = self
            .versions
            .iter()
            .filter(is_free)
            .map(|version| version.id.clone())
            .collect();
        if !free.is_empty() && free.len() == self.versions.len() {
            let registry = client.address().to_string();
            return Err(PruneBlocker::NoRecord(registry));
        }
        Ok(free)
    }

    /// Plans the deletion of these versions. Returns all blockers instead if there are any. Writes nothing.
    pub async fn plan(
        &self,
        client: &Client,
        chosen: &BTreeSet<SolutionId>,
    ) -> Result<Result<PrunePlan, Vec<PruneBlocker>>, Error> {
        let in_the_way = self.in_the_way(client, chosen);
        if !in_the_way.is_empty() {
            return Ok(Err(in_the_way));
        }
        let (going, staying): (Vec<&StoredVersion>, Vec<&StoredVersion>) = self
            .versions
            .iter()
            .partition(|version| chosen.contains(&version.id));
        let stays = contents(&staying);
        let own = contents(&going).into_iter();
        let own = own.filter(|(digest, _)| !stays.contains_key(digest));
        let brought = |versions: &[&StoredVersion]| -> Vec<ImportedImages> {
            let kept = versions.iter().flat_map(|version| version.kept());
            kept.map(|kept| kept.brought.clone()).collect()
        };
        let (goes, mut stays) = (brought(&going), brought(&staying));
        // All records count, independent of the address that they were pushed to, because a registry can have multiple names.
        stays.extend(self.recorded.iter().cloned());
        Ok(Ok(PrunePlan {
            versions: going.iter().map(|version| version.id.clone()).collect(),
            bytes: own.map(|(_, size)| size).sum(),
            holdings: StoredManifests::determine(client, &goes, &stays).await?,
        }))
    }

    fn in_the_way(&self, client: &Client, chosen: &BTreeSet<SolutionId>) -> Vec<PruneBlocker> {
        let mut all = Vec::new();
        for id in chosen {
            let (id, registry) = (id.clone(), client.address().to_string());
            match self.versions.iter().find(|version| version.id == id) {
                None => all.push(PruneBlocker::Absent { id, registry }),
                Some(version) => {
                    let record = version.needed_by.clone();
                    all.extend(record.map(|record| PruneBlocker::Needed { id, record }));
                }
            }
        }
        for version in &self.versions {
            all.extend(version.unusable_head().map(|unread| PruneBlocker::Unread {
                id: version.id.clone(),
                why: in_one_line(unread),
            }));
        }
        all
    }

    /// Computes the size of the content that only one version has.
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

/// Returns the content to delete from a registry for the recorded versions selected by `goes`. Versions that only the
/// registry knows are kept with their images: they are recorded in other clusters or not at all. Writes nothing.
pub async fn holdings(
    client: &Client,
    scratch: &Path,
    records: &[Record],
    goes: impl Fn(&SolutionId) -> bool,
) -> Result<StoredManifests, Error> {
    let stock = RetainedVersions::read(client, records, Record::id, scratch).await?;
    let is_going = |record: &&Record| record.id().parse().is_ok_and(|id| goes(&id));
    let (going, staying): (Vec<&Record>, Vec<&Record>) = records.iter().partition(is_going);
    let mut going: Vec<ImportedImages> = going.into_iter().map(ImportedImages::from).collect();
    for version in &mut going {
        // A push without a cluster may have added mirrors since the import.
        let kept = stock.versions.iter().flat_map(StoredVersion::kept);
        let mut same = kept.filter(|kept| kept.brought.archive_id == version.archive_id);
        if same.any(|kept| kept.brought.placement.has_mirrors()) {
            version.placement.mirrors = MirrorPolicy::Push;
        }
    }
    let mut stays: Vec<ImportedImages> = staying.into_iter().map(ImportedImages::from).collect();
    for version in stock.versions.iter().filter(|version| !goes(&version.id)) {
        if let Some(unread) = version.unusable_head() {
            let (id, why) = (version.id.clone(), in_one_line(unread));
            return Err(Error::UnreadHead { id, why });
        }
        stays.extend(version.kept().map(|kept| kept.brought.clone()));
    }
    StoredManifests::determine(client, &going, &stays).await
}

impl PrunePlan {
    /// Returns every manifest and index to delete, as `HOST/REPOSITORY@DIGEST`.
    #[must_use]
    pub fn names(&self, client: &Client) -> Vec<String> {
        self.holdings.names(client)
    }

    /// Returns a note for users on each kept image.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.holdings.notes().collect()
    }

    /// Deletes everything, the heads last: while a head exists, a repeated deletion finds the remains of an interrupted
    /// one.
    pub async fn carry_out(&self, client: &Client) -> Result<Vec<String>, Error> {
        self.holdings.free(client, || Ok::<_, Error>(())).await
    }
}

impl StoredArchive {
    fn size(&self) -> u64 {
        self.contents.len() as u64
    }
}

fn contents(versions: &[&StoredVersion]) -> BTreeMap<Digest, u64> {
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

/// Returns the ids of all repositories directly below the prefix whose names are Solution ids.
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
) -> Result<Result<Vec<StoredArchive>, UnusableHead>, Error> {
    let mut all = Vec::new();
    for archive_id in archives {
        match read(client, id, archive_id, scratch).await {
            Ok(kept) => all.push(kept),
            // A failure to fetch a head says nothing about its content.
            Err(UnusableHead::Head(error)) if !is_damage(&error) => return Err(*error),
            Err(unread) => return Ok(Err(unread)),
        }
    }
    Ok(Ok(all))
}

/// Checks whether the head itself is damaged, as opposed to a failure to fetch it.
fn is_damage(error: &Error) -> bool {
    match error {
        Error::Archive(_)
        | Error::Refused(RegistryBlocker::NotKept { .. } | RegistryBlocker::ImagesGone { .. }) => {
            true
        }
        Error::Registry(error) => !error.is_retried() && !error.is_everywhere(),
        _ => false,
    }
}

/// Reads the parts of an archive's head that are about images.
async fn read(
    client: &Client,
    id: &SolutionId,
    archive_id: &Digest,
    scratch: &Path,
) -> Result<StoredArchive, UnusableHead> {
    let head = |error: Error| UnusableHead::Head(Box::new(error));
    let placed = placed_head(client, id, archive_id, scratch).await;
    let (medium, placement) = placed.map_err(head)?;
    let archive_id = *archive_id;
    let listed = tokio::task::spawn_blocking(move || {
        OpenedArchive::read(medium)?
            .recognise(archive_id, None)?
            .list()
    });
    // The task is only aborted together with the runtime.
    let listed = listed.await.expect("reading a head does not panic");
    let listed = listed.map_err(|error| head(error.into()))?;
    let found = &listed.statement().predicate.id;
    if found != id {
        return Err(UnusableHead::Other(found.clone()));
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
    listed: &ListedArchive,
) -> Result<ImportedImages, UnusableHead> {
    let head = |error: OpenError| UnusableHead::Head(Box::new(error.into()));
    let predicate = &listed.statement().predicate;
    let manifest = listed.read(MANIFEST, schemas::limits::MANIFEST_SIZE);
    let manifest = Solution::from_slice(&manifest.map_err(head)?)?;
    let index = listed.read(IMAGE_INDEX, validator::limits::INDEX_SIZE);
    let mut references =
        validator::image_references(&index.map_err(head)?).map_err(UnusableHead::Images)?;
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
        let digest =
            root.ok_or_else(|| UnusableHead::Images(format!("{place} has no manifest")))?;
        let reference = references.remove(&place);
        let image = RecordedImage {
            image: place,
            digest,
            reference,
        };
        all.push(VersionImage { image, below });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{REGISTRY, client, digest, record};

    /// Returns a version with these contents, each of which has as many bytes as its number.
    fn version(id: &str, needed_by: Option<&str>, contents: &[u8]) -> StoredVersion {
        let id: SolutionId = id.parse().unwrap();
        let stored = record(id.name().as_str(), &id.version().to_string(), Vec::new());
        StoredVersion {
            id,
            archives: vec![digest(0xa)],
            needed_by: needed_by.map(str::to_owned),
            own_bytes: None,
            read: Ok(vec![StoredArchive {
                brought: ImportedImages::from(&stored),
                contents: contents
                    .iter()
                    .map(|number| (digest(*number), u64::from(*number)))
                    .collect(),
            }]),
        }
    }

    fn unreadable(id: &str) -> StoredVersion {
        StoredVersion {
            read: Err(UnusableHead::Other("other-1.0.0".parse().unwrap())),
            ..version(id, None, &[])
        }
    }

    fn stock(versions: Vec<StoredVersion>) -> RetainedVersions {
        RetainedVersions {
            versions,
            recorded: Vec::new(),
        }
    }

    fn ids(ids: &[&str]) -> BTreeSet<SolutionId> {
        ids.iter().map(|id| id.parse().unwrap()).collect()
    }

    #[test]
    fn a_version_is_unneeded_without_a_record_unless_no_version_has_one() {
        let needed = || version("a-1.0.0", Some("the import"), &[]);
        let free = |id| version(id, None, &[]);
        for (versions, expected) in [
            (vec![], Some(&[][..])),
            (vec![needed()], Some(&[])),
            (vec![needed(), free("a-1.1.0")], Some(&["a-1.1.0"])),
            (
                vec![free("a-0.9.0"), needed(), free("b-1.0.0")],
                Some(&["a-0.9.0", "b-1.0.0"]),
            ),
            (vec![free("a-1.0.0"), free("a-1.1.0")], None),
        ] {
            match (stock(versions).find_unneeded(&client()), expected) {
                (Ok(found), Some(expected)) => assert_eq!(found, ids(expected)),
                (Err(PruneBlocker::NoRecord(registry)), None) => assert_eq!(registry, REGISTRY),
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        }
    }

    #[test]
    fn nothing_is_pruned_that_is_needed_or_absent_or_while_a_head_cannot_be_read() {
        let found = |versions: Vec<StoredVersion>, chosen: &[&str]| -> Vec<String> {
            let blockers = stock(versions).in_the_way(&client(), &ids(chosen));
            blockers.iter().map(ToString::to_string).collect()
        };
        let both = || {
            vec![
                version("a-1.0.0", Some("the import"), &[]),
                version("a-1.1.0", None, &[]),
            ]
        };
        assert_eq!(found(both(), &["a-1.1.0"]), [""; 0]);
        let needed = "a-1.0.0 is imported: the import needs it";
        assert_eq!(found(both(), &["a-1.0.0", "a-1.1.0"]), [needed]);
        let absent = format!("{REGISTRY} has no archive of b-1.0.0");
        assert_eq!(found(both(), &["a-1.0.0", "b-1.0.0"]), [needed, &absent]);
        // The content that the other version needs is unknown.
        let unread = "cannot determine the content of c-1.0.0 in the registry: its head is that of other-1.0.0";
        let mut all = both();
        all.push(unreadable("c-1.0.0"));
        assert_eq!(found(all, &["a-1.1.0"]), [unread]);
    }

    #[test]
    fn only_content_that_no_other_version_has_is_a_versions_own() {
        let mut stock = stock(vec![
            version("a-1.0.0", None, &[1, 2, 3]),
            version("a-1.1.0", None, &[2, 3, 40]),
            version("b-1.0.0", None, &[3]),
            unreadable("c-1.0.0"),
        ]);
        stock.count();
        let found: Vec<Option<u64>> = stock
            .versions()
            .iter()
            .map(|version| version.own_bytes)
            .collect();
        assert_eq!(found, [Some(1), Some(40), Some(0), None]);
    }

    #[test]
    fn a_head_is_damaged_if_it_is_there_and_not_that_of_the_archive() {
        let blocker = |is_gone: bool| {
            let (solution_id, host) = ("a-1.0.0".to_owned(), "r.test".to_owned());
            let what = "a-1.0.0".to_owned();
            Error::Refused(if is_gone {
                RegistryBlocker::ImagesGone { host, what }
            } else {
                RegistryBlocker::NotServed { host, solution_id }
            })
        };
        for (error, expected) in [
            (blocker(true), true),
            (blocker(false), false),
            (Error::Registry(registry::Error::Stopped), false),
            (Error::NotInArchive(digest(1)), false),
        ] {
            assert_eq!(is_damage(&error), expected, "{error}");
        }
    }

    #[test]
    fn the_causes_of_an_error_are_one_line() {
        let error = UnusableHead::Head(Box::new(Error::NotInArchive(digest(1))));
        let expected = format!("its head cannot be read: {} is not in it", digest(1));
        assert_eq!(in_one_line(&error), expected);
    }
}
