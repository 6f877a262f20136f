//! Deletion of versions from a registry: the manifests of their images and their heads, by digest. Manifests are
//! deleted from the versions' own repositories and under the names that workloads use, unless a remaining version needs
//! them there. The registry removes blobs itself once no manifest refers to them.

use std::collections::{BTreeMap, BTreeSet};

use registry::{Client, ManifestDeletion, Reference, RegistryManifest, RepositoryPath};
use schemas::{Digest, ImageDocument, SolutionName, Version};

use crate::artifact::{only_layer, place};
use crate::error::Error;
use crate::layout::Placement;
use crate::place::{asked_place, image_place, own_repository};
use crate::record::{Record, RecordedImage};

/// A manifest or index and its repository.
pub(crate) type ManifestPlace = (RepositoryPath, Digest);

/// The images that an import of a version pushed to a registry.
#[derive(Clone, Debug)]
pub(crate) struct ImportedImages {
    pub(crate) name: SolutionName,
    pub(crate) version: Version,
    pub(crate) archive_id: Digest,
    /// `HOST[/PREFIX]/<name>-<version>`.
    pub(crate) pushed_to: String,
    pub(crate) placement: Placement,
    pub(crate) images: Vec<VersionImage>,
    /// Indicates whether the images are also in repositories without the version in their names.
    pub(crate) carries: bool,
}

/// An image of a version.
#[derive(Clone, Debug)]
pub(crate) struct VersionImage {
    pub(crate) image: RecordedImage,
    /// The manifests and indexes below it, as far as they are known without the registry.
    pub(crate) below: Vec<Digest>,
}

impl ImportedImages {
    fn id(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }

    /// Returns the repositories of its images.
    fn repositories(&self) -> impl Iterator<Item = String> {
        let images = self.images.iter();
        images.map(|brought| format!("{}/{}", self.pushed_to, brought.image.image.name))
    }
}

impl From<&Record> for ImportedImages {
    fn from(record: &Record) -> Self {
        let images = record.images.iter().map(|image| VersionImage {
            image: image.clone(),
            below: Vec::new(),
        });
        Self {
            name: record.name.clone(),
            version: record.version.clone(),
            archive_id: record.archive_id,
            pushed_to: record.pushed_to.clone(),
            placement: record.placement,
            images: images.collect(),
            carries: record.manifest.spec.carries(),
        }
    }
}

/// An image under one of the names that workloads use.
#[derive(Clone, Debug)]
pub(crate) struct MirroredReference<'a> {
    pub(crate) place: ManifestPlace,
    /// The tag or digest under which workloads request it.
    pub(crate) reference: Reference,
    below: &'a [Digest],
}

/// The manifests and indexes of versions in a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredManifests {
    /// The manifests and indexes to delete. Each comes before the indexes that refer to it, so that its index can still
    /// be used to find it after an interruption.
    own: Vec<ManifestPlace>,
    /// The images that are kept because they have changed or belong to another version as well.
    others: Vec<String>,
}

/// The manifests found during the search for holdings.
#[derive(Default)]
struct ManifestSearch {
    /// The images to delete.
    roots: Vec<ManifestPlace>,
    /// The manifests known to be below them, even if no existing index refers to them.
    below: Vec<ManifestPlace>,
    /// The manifests that are still needed.
    needed: Vec<ManifestPlace>,
    others: Vec<String>,
}

impl StoredManifests {
    /// Determines the manifests of the versions to delete that no remaining version needs. Writes nothing.
    pub(crate) async fn determine(
        client: &Client,
        going: &[ImportedImages],
        staying: &[ImportedImages],
    ) -> Result<Self, Error> {
        let mut search = ManifestSearch {
            needed: tagged_by_others(client, going).await?,
            ..ManifestSearch::default()
        };
        search.of_versions(client, going, staying).await?;
        search.of_references(client, going, staying).await?;
        let mut found = search.into_holdings(client).await?;
        // The heads come last: while a head exists, a repeated deletion finds the remains of an interrupted one.
        for version in going {
            found.head(client, version).await?;
        }
        Ok(found)
    }

    /// Adds the head of the version if the tag refers to one.
    async fn head(&mut self, client: &Client, version: &ImportedImages) -> Result<(), Error> {
        let (repository, tag) = place(client.address(), &version.id(), &version.archive_id)?;
        match client.manifest(&repository, &tag).await? {
            Some(head) if only_layer(&head).is_some() => self.own.push((repository, head.digest)),
            Some(_) => self.others.push(format!("{}:{tag}", version.pushed_to)),
            None => {}
        }
        Ok(())
    }

    /// Returns a note for users on each kept image.
    pub fn notes(&self) -> impl Iterator<Item = String> {
        let others = self.others.iter();
        others
            .map(|image| format!("{image} has changed since this version was pushed, and is kept"))
    }

    /// Returns every manifest and index to delete, as `HOST/REPOSITORY@DIGEST`.
    #[must_use]
    pub fn names(&self, client: &Client) -> Vec<String> {
        let name = |(repository, digest): &ManifestPlace| name(client, repository, *digest);
        self.own.iter().map(name).collect()
    }

    /// Deletes all manifests, and calls `check` before each to find out whether to continue. Returns the deleted
    /// manifests. The error lists the remaining ones.
    pub async fn free<E: From<Error>>(
        &self,
        client: &Client,
        check: impl Fn() -> Result<(), E>,
    ) -> Result<Vec<String>, E> {
        let mut freed = Vec::new();
        let mut left: Vec<&ManifestPlace> = self.own.iter().collect();
        loop {
            let (mut refused, mut why) = (Vec::new(), None);
            let before = freed.len();
            for place in left {
                check()?;
                let (repository, digest) = place;
                match client.delete_manifest(repository, *digest).await {
                    Ok(ManifestDeletion::Done) => freed.push(name(client, repository, *digest)),
                    Ok(ManifestDeletion::WasAbsent) => {}
                    // Every further deletion would fail in the same way.
                    Err(error) if error.is_everywhere() => return Err(Error::from(error).into()),
                    Err(error) => {
                        refused.push(place);
                        why = Some(error);
                    }
                }
            }
            let Some(source) = why else {
                return Ok(freed);
            };
            // Some registries refuse to delete manifests that an index refers to. They are tried again once the index
            // is deleted.
            if freed.len() == before {
                let left = refused.into_iter();
                let left = left.map(|(repository, digest)| name(client, repository, *digest));
                let mut left: Vec<String> = left.collect();
                left.sort();
                let source = Box::new(source);
                return Err(Error::NotFreed(left, source).into());
            }
            left = refused;
        }
    }
}

fn name(client: &Client, repository: &RepositoryPath, digest: Digest) -> String {
    format!("{}/{repository}@{digest}", client.address().host())
}

/// Returns the images of versions under the names that workloads use.
pub(crate) fn referred_to<'a>(
    client: &Client,
    versions: &'a [ImportedImages],
) -> Result<Vec<MirroredReference<'a>>, Error> {
    let mut all = Vec::new();
    let images = versions.iter().flat_map(|version| {
        let images = version.images.iter();
        images.map(move |image| (version, image))
    });
    for (version, VersionImage { image, below }) in images {
        let (registry, digest) = (client.address(), image.digest);
        let mut add = |(repository, reference)| {
            all.push(MirroredReference {
                place: (repository, digest),
                reference,
                below,
            });
        };
        let layout = version.placement.layout;
        let asked = image.reference.as_ref();
        if let Some(reference) = asked.filter(|_| version.placement.has_mirrors()) {
            add(asked_place(registry, layout, reference, digest)?);
        }
        if version.carries {
            let (solution, version) = (&version.name, &version.version);
            add(image_place(
                registry,
                layout,
                solution,
                version,
                &image.image,
                digest,
            )?);
        }
    }
    Ok(all)
}

/// Returns the manifests in shared repositories whose tags do not belong to these versions. They are needed by the
/// owners of these tags.
async fn tagged_by_others(
    client: &Client,
    going: &[ImportedImages],
) -> Result<Vec<ManifestPlace>, Error> {
    let referred = referred_to(client, going)?;
    let mut repositories: BTreeMap<&RepositoryPath, BTreeSet<&Reference>> = BTreeMap::new();
    for image in &referred {
        let (repository, _) = &image.place;
        let own = repositories.entry(repository).or_default();
        own.insert(&image.reference);
    }
    let mut places = Vec::new();
    for (repository, own) in repositories {
        for tag in client.tags(repository).await? {
            let tag = Reference::Tag(tag);
            if own.contains(&tag) {
                continue;
            }
            let found = client.manifest(repository, &tag).await?;
            places.extend(found.map(|found| (repository.clone(), found.digest)));
        }
    }
    Ok(places)
}

fn places_of(
    repository: &RepositoryPath,
    digests: &[Digest],
) -> impl Iterator<Item = ManifestPlace> {
    digests.iter().map(|digest| (repository.clone(), *digest))
}

impl ManifestSearch {
    /// Adds the images in the versions' own repositories.
    async fn of_versions(
        &mut self,
        client: &Client,
        going: &[ImportedImages],
        staying: &[ImportedImages],
    ) -> Result<(), Error> {
        let others: BTreeSet<String> = staying
            .iter()
            .flat_map(ImportedImages::repositories)
            .collect();
        let images = going.iter().flat_map(|version| {
            let images = version.images.iter();
            images.map(move |image| (version, image))
        });
        let images: Vec<_> = images.collect();
        // After a replacement, the tag can refer to the image of the version's other archive.
        let ours: BTreeSet<(String, Digest)> = images
            .iter()
            .map(|(version, brought)| {
                let at = format!("{}/{}", version.pushed_to, brought.image.image.name);
                (at, brought.image.digest)
            })
            .collect();
        for (version, VersionImage { image, below: ids }) in images {
            let (name, tag) = (&image.image.name, &image.image.tag);
            let at = format!("{}/{name}", version.pushed_to);
            // A remaining version uses the same repository.
            if others.contains(&at) {
                self.others.push(format!("{at}:{tag}"));
                continue;
            }
            let layout = version.placement.layout;
            let repository = own_repository(client.address(), layout, &version.id(), name)?;
            let tagged = Reference::Tag(tag.clone());
            let tagged = client.manifest(&repository, &tagged).await?;
            let is_other = |found: &RegistryManifest| !ours.contains(&(at.clone(), found.digest));
            if let Some(other) = tagged.filter(is_other) {
                self.others.push(format!("{at}:{tag}"));
                self.needed.push((repository.clone(), other.digest));
            }
            self.below.extend(places_of(&repository, ids));
            self.roots.push((repository, image.digest));
        }
        Ok(())
    }

    /// Adds the images under the names that workloads use, except those that a remaining version has at the same place.
    async fn of_references(
        &mut self,
        client: &Client,
        going: &[ImportedImages],
        staying: &[ImportedImages],
    ) -> Result<(), Error> {
        let (going, staying) = (referred_to(client, going)?, referred_to(client, staying)?);
        let places = |all: &[MirroredReference<'_>]| -> BTreeSet<ManifestPlace> {
            all.iter().map(|image| image.place.clone()).collect()
        };
        let (ours, needed) = (places(&going), places(&staying));
        // Remaining versions only matter in repositories from which images are deleted.
        let touched: BTreeSet<&RepositoryPath> = going.iter().map(|image| &image.place.0).collect();
        for other in staying
            .iter()
            .filter(|image| touched.contains(&image.place.0))
        {
            self.needed.push(other.place.clone());
            self.needed.extend(places_of(&other.place.0, other.below));
        }
        for MirroredReference {
            place,
            reference,
            below: ids,
        } in going
        {
            if needed.contains(&place) {
                continue;
            }
            let (repository, digest) = &place;
            match client.manifest(repository, &reference).await? {
                // An interrupted deletion may have left the manifests below it.
                None => self.below.extend(places_of(repository, ids)),
                Some(found) if found.digest == *digest => {
                    self.below.extend(places_of(repository, ids));
                    self.roots.push(place);
                }
                Some(found) if ours.contains(&(repository.clone(), found.digest)) => {}
                Some(found) => {
                    let host = client.address().host();
                    self.others.push(format!("{host}/{repository}:{reference}"));
                    self.needed.push((repository.clone(), found.digest));
                }
            }
        }
        Ok(())
    }

    /// Returns all manifests found, without those that are still needed.
    async fn into_holdings(self, client: &Client) -> Result<StoredManifests, Error> {
        let stays: BTreeSet<ManifestPlace> = reachable_manifests(client, self.needed).await?;
        let mut own = reachable(client, self.roots).await?;
        let known: BTreeSet<ManifestPlace> = own.iter().cloned().collect();
        let below = self
            .below
            .into_iter()
            .filter(|place| !known.contains(place));
        own.extend(reachable(client, below.collect()).await?);
        own.retain(|place| !stays.contains(place));
        // `reachable` returns indexes before the manifests that they refer to, but they must be deleted after them.
        own.reverse();
        let others = self.others;
        Ok(StoredManifests { own, others })
    }
}

/// Returns these manifests and indexes and all manifests that they refer to, including missing ones. The limit on the
/// size of documents applies per repository.
async fn reachable_manifests(
    client: &Client,
    roots: Vec<ManifestPlace>,
) -> Result<BTreeSet<ManifestPlace>, Error> {
    let mut all: BTreeSet<ManifestPlace> = roots.iter().cloned().collect();
    let mut repositories: BTreeMap<RepositoryPath, Vec<ManifestPlace>> = BTreeMap::new();
    for root in roots {
        repositories.entry(root.0.clone()).or_default().push(root);
    }
    for roots in repositories.into_values() {
        all.extend(reachable(client, roots).await?);
    }
    Ok(all)
}

/// Returns the existing manifests and indexes among these and below them; indexes precede the manifests that they refer
/// to. The result is complete, or the function fails: a manifest that is overlooked could be deleted although it is
/// needed.
async fn reachable(
    client: &Client,
    roots: Vec<ManifestPlace>,
) -> Result<Vec<ManifestPlace>, Error> {
    let mut bytes_read = 0;
    let (mut seen, mut reached, mut wanted) = (BTreeSet::new(), Vec::new(), roots);
    for _ in 0..=schemas::limits::INDEX_DEPTH {
        wanted.retain(|place| seen.insert(place.clone()));
        for (repository, found) in client.manifests(std::mem::take(&mut wanted)).await? {
            let Some(RegistryManifest { bytes, digest, .. }) = found else {
                continue;
            };
            reached.push((repository.clone(), digest));
            bytes_read += bytes.len() as u64;
            let limit = validator::limits::IMAGE_DOCUMENTS;
            too_many(client, bytes_read, limit, "bytes of manifests and indexes")?;
            if let Ok(ImageDocument::Index(index)) = ImageDocument::from_slice(&bytes) {
                let below = index.manifests.iter();
                wanted.extend(below.map(|child| (repository.clone(), child.digest)));
            }
        }
    }
    let deepest = schemas::limits::INDEX_DEPTH as u64;
    // Deeper manifests would be overlooked, so they are an error.
    let is_deeper = wanted.iter().any(|place| !seen.contains(place));
    let depth = deepest + u64::from(is_deeper);
    too_many(client, depth, deepest, "levels of indexes in an image")?;
    Ok(reached)
}

/// Fails if a registry has more content than the limit.
pub(crate) fn too_many(
    client: &Client,
    found: u64,
    limit: u64,
    what: &'static str,
) -> Result<(), Error> {
    if found <= limit {
        return Ok(());
    }
    let registry = client.address().to_string();
    Err(Error::KeepsMuch {
        registry,
        limit,
        what,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{MirrorPolicy, PathLayout};
    use crate::testing::{REGISTRY, client, digest, image, placement, record};

    fn version(carries: bool, placement: Placement) -> ImportedImages {
        let images = vec![
            image("app:1", 1, "quay.io/org/app:1.2"),
            image("own:2", 2, ""),
        ];
        let mut version = ImportedImages::from(&record("shop", "1.0.0", images));
        version.carries = carries;
        version.placement = placement;
        version
    }

    #[test]
    fn workloads_use_mirrors_and_images_of_objects_without_an_operator() {
        let mirror = "apps/mirror/quay.io/org/app 1.2";
        let held = ["app 1.0.0-010101010101", "own 1.0.0-020202020202"]
            .map(|name| format!("apps/shop/{name}"));
        let [app, own] = held.each_ref().map(String::as_str);
        for (carries, layout, mirrors, expected) in [
            (
                false,
                PathLayout::Solution,
                MirrorPolicy::Push,
                &[mirror][..],
            ),
            (false, PathLayout::Solution, MirrorPolicy::Skip, &[]),
            (false, PathLayout::Ref, MirrorPolicy::Push, &[]),
            (
                true,
                PathLayout::Solution,
                MirrorPolicy::Push,
                &[mirror, app, own],
            ),
            (true, PathLayout::Solution, MirrorPolicy::Skip, &[app, own]),
        ] {
            let versions = [version(carries, placement(layout, mirrors))];
            let found: Vec<String> = referred_to(&client(), &versions)
                .unwrap()
                .iter()
                .map(|image| format!("{} {}", image.place.0, image.reference))
                .collect();
            assert_eq!(found, expected, "{carries} {layout} {mirrors:?}");
        }
    }

    #[test]
    fn a_version_names_its_repositories_and_manifests_with_the_host() {
        let found: Vec<String> = version(false, Placement::default())
            .repositories()
            .collect();
        let expected = ["app", "own"].map(|name| format!("{REGISTRY}/shop-1.0.0/{name}"));
        assert_eq!(found, expected);
        let holdings = StoredManifests {
            own: vec![("apps/shop-1.0.0/app".parse().unwrap(), digest(1))],
            others: vec!["r.test:5000/apps/app:1".to_owned()],
        };
        let name = format!("r.test:5000/apps/shop-1.0.0/app@{}", digest(1));
        assert_eq!(holdings.names(&client()), [name]);
        let note = "r.test:5000/apps/app:1 has changed since this version was pushed, and is kept";
        assert!(holdings.notes().eq([note]));
    }

    #[test]
    fn a_registry_with_more_content_than_the_limit_is_refused() {
        assert!(too_many(&client(), 7, 7, "archives").is_ok());
        let error = too_many(&client(), 8, 7, "archives").unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("{REGISTRY} has more than 7 archives")
        );
    }
}
