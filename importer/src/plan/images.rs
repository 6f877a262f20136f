//! The images of an archive as things to push: which repository each goes to, what the registry has already, and the
//! job that brings the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use archive::Drive;
use registry::{
    BlobPush, Client, Known, ManifestPush, PushJob, ReadConcurrency, Reference, RegistryAddress,
    Repository,
};
use schemas::{Digest, Image, ImagePlace, Referrers, SolutionId, Tag};
use serde_json::Value;
use validator::Accepted;

use crate::kept::{Artifact, manifest_push};
use crate::mirrors::{self, ImageMap, Layout, main_place};
use crate::model::blob::ArchiveBlob;
use crate::model::error::Error;
use crate::model::image_place::image_place;
use crate::model::obstacle::Obstacle;
use crate::model::record::{Record, RecordedImage};
use crate::model::request::{Missing, Replace};
use crate::model::state::ClusterState;

/// The part of the address that all images of a version share: `HOST[/PREFIX]/<name>-<version>`.
pub(crate) fn endpoint(registry: &RegistryAddress, id: &SolutionId) -> String {
    format!("{registry}/{id}")
}

/// An image, and one name that it gets at the registry.
#[derive(Debug)]
struct Named<'a> {
    image: &'a Image,
    repository: Repository,
    reference: Reference,
}

impl<'a> Named<'a> {
    fn all(
        accepted: &'a Accepted,
        registry: &RegistryAddress,
        layout: Layout,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<Self>, Error> {
        match layout {
            Layout::Solution => {
                let asked = if accepted.listed().has_blobs() {
                    AskedFor::Too
                } else {
                    AskedFor::No
                };
                Self::by_solution(accepted, registry, asked, obstacles)
            }
            Layout::Ref => Self::by_reference(accepted, registry, obstacles),
        }
    }

    /// Every image once, under the path of its reference where it has one.
    fn by_reference(
        accepted: &'a Accepted,
        registry: &RegistryAddress,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<Self>, Error> {
        let (id, layout) = (&accepted.statement().predicate.id, Layout::Ref);
        let recorded = recorded(accepted);
        obstacles.extend(ImageMap::of(id, &recorded, registry, layout)?.collisions()?);
        let mut all = BTreeMap::new();
        for (image, recorded) in accepted.images().iter().zip(&recorded) {
            let place = main_place(registry, layout, id, recorded)?;
            all.entry(place).or_insert(image);
        }
        let named = |((repository, reference), image)| Self {
            image,
            repository,
            reference,
        };
        Ok(all.into_iter().map(named).collect())
    }

    /// Every image under its own name, and under the one that workloads ask for where it has one. Without a medium
    /// nothing can be pushed, and what runs needs no more than the first.
    fn by_solution(
        accepted: &'a Accepted,
        registry: &RegistryAddress,
        names: AskedFor,
        obstacles: &mut Vec<Obstacle>,
    ) -> Result<Vec<Self>, Error> {
        let id = &accepted.statement().predicate.id;
        let mut all = Vec::new();
        let mut asked_for = BTreeMap::new();
        for image in accepted.images() {
            let ImagePlace { name, tag } = &image.place;
            all.push(Self {
                image,
                repository: registry.repository(&format!("{id}/{name}"))?,
                reference: Reference::Tag(tag.clone()),
            });
            if accepted.manifest().spec.carries() {
                let digest = image.root.digest;
                let (repository, reference) =
                    image_place(registry, id.name(), id.version(), &image.place, digest)?;
                all.push(Self {
                    image,
                    repository,
                    reference,
                });
            }
            let asked = image.reference.as_ref();
            let Some(asked) = asked.filter(|_| names == AskedFor::Too) else {
                continue;
            };
            let (repository, reference) =
                mirrors::place(registry, Layout::Solution, asked, image.root.digest)?;
            let same = (repository.clone(), reference.clone());
            match asked_for.insert(same, image.root.digest) {
                None => all.push(Self {
                    image,
                    repository,
                    reference,
                }),
                Some(digest) if digest == image.root.digest => {}
                Some(_) => obstacles.push(Obstacle::SameReference(asked.clone())),
            }
        }
        Ok(all)
    }
}

/// Whether the names that workloads ask for count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskedFor {
    Too,
    No,
}

/// Everything that an import of this archive puts into a registry, and what each of its images is called there.
pub(crate) fn everything(
    accepted: &Accepted,
    registry: &RegistryAddress,
) -> Result<PushJob, Error> {
    // Whatever is in the way of a push is there, or was never pushed.
    let named = Named::by_solution(accepted, registry, AskedFor::Too, &mut Vec::new())?;
    let mut all = job(accepted, &named);
    Artifact::of(accepted, registry)?.add_to(&mut all);
    Ok(all)
}

/// What there is to push, and what the registry has of it.
#[derive(Debug)]
pub(crate) struct PlannedImages {
    /// How many images the archive has, without what refers to others.
    pub(crate) count: usize,
    /// How many signatures and other referrers it has.
    pub(crate) referrers: usize,
    /// Images that are in place already, tag and content.
    pub(crate) present: usize,
    /// The repository of the first of them.
    pub(crate) first: Option<Repository>,
    /// The size of all distinct blobs.
    pub(crate) total_bytes: u64,
    /// The size of the distinct blobs that the registry lacks.
    pub(crate) missing_bytes: u64,
    pub(crate) job: PushJob,
}

/// An image under one of the names that an import gives it.
#[derive(Clone, Debug)]
pub struct PlacedImage<'a> {
    /// The image.
    pub image: &'a Image,
    /// The repository, prefix included.
    pub repository: Repository,
    /// What names it there.
    pub reference: Reference,
}

/// Where a registry has the images of an archive that was imported to it, without a registry.
#[derive(Debug)]
pub struct Placed<'a> {
    /// The images, each as often as it has names.
    pub images: Vec<PlacedImage<'a>>,
    /// The head of the archive, which versions are deployed from without the medium.
    pub head: Artifact,
    /// For each registry of these names that is mirrored, what stands before its names.
    pub mirrors: BTreeMap<String, Repository>,
}

impl<'a> Placed<'a> {
    /// The places below a registry's address.
    pub fn of(accepted: &'a Accepted, registry: &RegistryAddress) -> Result<Self, Error> {
        let mut obstacles = Vec::new();
        let named = Named::all(accepted, registry, Layout::Solution, &mut obstacles)?;
        if let Some(obstacle) = obstacles.into_iter().next() {
            return Err(obstacle.into());
        }
        let asked = accepted.images().iter();
        let asked = asked.filter_map(|image| image.reference.as_ref());
        let mirrors = asked.map(|asked| mirrors::mirror(registry, asked));
        let placed = |named: Named<'a>| PlacedImage {
            image: named.image,
            repository: named.repository,
            reference: named.reference,
        };
        Ok(Self {
            images: named.into_iter().map(placed).collect(),
            head: Artifact::of(accepted, registry)?,
            mirrors: mirrors.collect::<Result<_, _>>()?,
        })
    }
}

/// The images of an archive as they are recorded.
#[must_use]
pub fn recorded(accepted: &Accepted) -> Vec<RecordedImage> {
    accepted.images().iter().map(RecordedImage::from).collect()
}

/// Asks the registry what it has. Writes nothing. The head of the archive goes where versions are known by their records.
pub(crate) async fn plan(
    accepted: &Accepted,
    client: &Client,
    layout: Layout,
    replace: Replace,
    missing: Missing,
    obstacles: &mut Vec<Obstacle>,
) -> Result<PlannedImages, Error> {
    client.ping().await?;
    let named = Named::all(accepted, client.address(), layout, obstacles)?;
    let artifact = match layout {
        Layout::Solution => Some(Artifact::of(accepted, client.address())?),
        Layout::Ref => None,
    };
    let mut all = job(accepted, &named);
    if let Some(artifact) = &artifact {
        artifact.add_to(&mut all);
    }
    let known = client.survey(&all).await?;
    let first = named.first().map(|named| named.repository.clone());
    let mut lacking = Vec::new();
    for named in named {
        let digest = named.image.root.digest;
        match known.manifest(&named.repository, &named.reference) {
            Some(other) if other != digest && replace == Replace::Refuse => {
                let ours = &named.image.root.bytes;
                match lists(client, &named.repository, &named.reference, ours).await? {
                    Lists::Fewer => lacking.push(named),
                    Lists::More if is_whole(&known, &named) => {}
                    Lists::More | Lists::Others => {
                        obstacles.push(other_digest(client, &named, other));
                    }
                }
            }
            Some(same) if same == digest && is_whole(&known, &named) => {}
            Some(_) | None => lacking.push(named),
        }
    }
    let images: BTreeSet<&ImagePlace> = lacking.iter().map(|named| &named.image.place).collect();
    let all_referrers = Referrers::among(accepted.images());
    let own = accepted.images().iter();
    let own = own.filter(|image| !all_referrers.has(image));
    let present = own.filter(|image| !images.contains(&image.place)).count();
    let (count, referrers) = Referrers::count(accepted.images());
    let host = || client.address().host().to_owned();
    if !lacking.is_empty() && !accepted.listed().has_blobs() {
        let images: Vec<String> = images.iter().map(ToString::to_string).collect();
        obstacles.push(Obstacle::ImagesGone(host(), images.join(", ")));
    }
    let mut job = job(accepted, &lacking);
    if let Some(artifact) = artifact.filter(|artifact| !artifact.is_whole(&known)) {
        artifact.add_to(&mut job);
    }
    if missing == Missing::Refuse && !job.manifests.is_empty() {
        let id = &accepted.statement().predicate.id;
        obstacles.push(Obstacle::NotServed(host(), id.to_string()));
        job = PushJob::default();
    }
    job.known = known;
    let lacking = job.blobs.iter();
    let lacking = lacking.filter(|blob| job.known.holder(&blob.digest).is_none());
    Ok(PlannedImages {
        count,
        referrers,
        present,
        first,
        total_bytes: all.blobs.iter().map(|blob| blob.size).sum(),
        missing_bytes: lacking.map(|blob| blob.size).sum(),
        job,
    })
}

/// Whether the registry gives everything of an image whose tag it gives. A tag alone proves nothing: what it names can
/// have been deleted or collected since.
fn is_whole(known: &Known, named: &Named<'_>) -> bool {
    let Named {
        image, repository, ..
    } = named;
    let gives = |digest: Digest| known.manifest(repository, &digest.into()).is_some();
    let mut children = image.children.iter();
    children.all(|document| gives(document.digest))
        && image
            .blobs
            .keys()
            .all(|digest| known.has_blob(repository, digest))
}

/// What stands under the tag of a referrer, compared with what is to stand there. Such a tag names a list, which only grows:
/// a client adds its signature to those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Nothing else than what will be there.
    Fewer,
    /// All that is to be there, and more.
    More,
    /// Something else, or no such list.
    Others,
}

impl Lists {
    fn of(there: &[u8], ours: &[u8]) -> Self {
        let (Some(there), Some(ours)) = (listed(there), listed(ours)) else {
            return Self::Others;
        };
        if there.is_subset(&ours) {
            Self::Fewer
        } else if ours.is_subset(&there) {
            Self::More
        } else {
            Self::Others
        }
    }
}

/// The signatures that a manifest of cosign's has as layers, or the manifests that a list of referrers names: whole, since
/// what tells two signatures apart is an annotation.
fn listed(document: &[u8]) -> Option<BTreeSet<String>> {
    let document: Value = serde_json::from_slice(document).ok()?;
    let listed = document.get("layers").or(document.get("manifests"))?;
    let listed = listed.as_array()?.iter();
    Some(listed.map(Value::to_string).collect())
}

/// What a registry has under a reference, compared with what is to be there.
pub(crate) async fn lists(
    client: &Client,
    repository: &Repository,
    reference: &Reference,
    ours: &[u8],
) -> Result<Lists, Error> {
    let is_list = |tag: &Tag| tag.subject().is_some();
    if !matches!(reference, Reference::Tag(tag) if is_list(tag)) {
        return Ok(Lists::Others);
    }
    let there = client.manifest(repository, reference).await?;
    Ok(there.map_or(Lists::Fewer, |there| Lists::of(&there.bytes, ours)))
}

/// Opens the uploads that prove the right to push: the push uses them, or they are given back. What is in the way.
pub(crate) async fn denied(client: &Client, job: &PushJob) -> Result<Vec<Obstacle>, Error> {
    let repositories = job.manifests.iter().map(|manifest| &manifest.repository);
    let denied = client.open_uploads(&job.known, repositories.collect());
    Ok(denied.await?.iter().map(refused).collect())
}

/// What is in the way where a repository takes nothing.
pub(crate) fn refused(error: &registry::Error) -> Obstacle {
    let refusal = error.refusal();
    let (operation, why) = refusal.expect("opening uploads fails with all other errors");
    let repository = operation.repository();
    Obstacle::PushRefused {
        why,
        words: error.to_string(),
        host: operation.host().to_owned(),
        repository: repository.map(ToString::to_string).unwrap_or_default(),
    }
}

fn other_digest(client: &Client, named: &Named<'_>, found: Digest) -> Obstacle {
    let (host, repository) = (client.address().host(), &named.repository);
    let tag = format!("{host}/{repository}:{}", named.reference);
    Obstacle::OtherTag(tag, found, named.image.root.digest)
}

/// The images that may share the most: those of the version before this one, else of the one after it, that was
/// imported to the same registry.
pub(crate) fn neighbours(
    registry: &RegistryAddress,
    state: &ClusterState,
    record: &Record,
) -> Result<Vec<(Repository, Digest)>, Error> {
    let others = state.records.iter().filter(|known| {
        known.name == record.name
            && known.version != record.version
            && known.pushed_to == format!("{registry}/{}", known.id())
    });
    let (before, after): (Vec<_>, Vec<_>) =
        others.partition(|known| known.version < record.version);
    let Some(nearest) = before.last().or(after.first()) else {
        return Ok(Vec::new());
    };
    let image = |image: &RecordedImage| {
        let path = format!("{}/{}", nearest.id(), image.image.name);
        Ok((registry.repository(&path)?, image.digest))
    };
    nearest.images.iter().map(image).collect()
}

/// Every distinct blob and its size.
fn blobs<'a>(images: impl Iterator<Item = &'a Image>) -> BTreeMap<Digest, u64> {
    images
        .flat_map(|image| &image.blobs)
        .map(|(digest, size)| (*digest, *size))
        .collect()
}

/// The job that brings these images: blobs once, each with all repositories that need it; then documents, children
/// first, and the tag last.
fn job(accepted: &Accepted, named: &[Named<'_>]) -> PushJob {
    let mut repositories: BTreeMap<Digest, BTreeSet<Repository>> = BTreeMap::new();
    for Named {
        image, repository, ..
    } in named
    {
        for digest in image.blobs.keys() {
            repositories
                .entry(*digest)
                .or_default()
                .insert(repository.clone());
        }
    }
    let blobs = blobs(named.iter().map(|named| named.image))
        .into_iter()
        .filter_map(|(digest, size)| {
            let content = accepted.blob(&digest)?;
            let repositories = repositories.remove(&digest)?.into_iter().collect();
            Some(BlobPush {
                digest,
                size,
                repositories,
                content: Arc::new(ArchiveBlob(content)),
            })
        })
        .collect();
    PushJob {
        blobs,
        manifests: named.iter().flat_map(documents).collect(),
        known: Known::default(),
        reads: reads(accepted.listed().drive()),
    }
}

/// What a disk claims about itself says little: virtual ones claim to rotate.
fn reads(drive: Drive) -> ReadConcurrency {
    match drive {
        Drive::Random | Drive::Rotational => ReadConcurrency::Adapted,
        Drive::Optical => ReadConcurrency::One,
    }
}

fn documents(named: &Named<'_>) -> impl Iterator<Item = ManifestPush> {
    let Named {
        image,
        repository,
        reference,
    } = named;
    image.documents().map(move |document| {
        let reference = if document.digest == image.root.digest {
            reference.clone()
        } else {
            Reference::Digest(document.digest)
        };
        manifest_push(document, repository.clone(), reference)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(signatures: &[&str], config: u8) -> Vec<u8> {
        let digest = |number| Digest::new([number; 32]);
        let layer = |signature: &&str| {
            let of = digest(1);
            format!(r#"{{"digest":"{of}","annotations":{{"signature":"{signature}"}}}}"#)
        };
        let layers: Vec<String> = signatures.iter().map(layer).collect();
        let (config, layers) = (digest(config), layers.join(","));
        format!(r#"{{"config":{{"digest":"{config}"}},"layers":[{layers}]}}"#).into_bytes()
    }

    #[test]
    fn lists_of_signatures_only_grow() {
        let one = list(&["a"], 7);
        // All signatures of an image are about the same bytes, and the configuration follows from them.
        for (there, ours, expected) in [
            (&one, &list(&["a", "b"], 8), Lists::Fewer),
            (&list(&["a", "b"], 8), &one, Lists::More),
            (&list(&["a", "c"], 9), &list(&["a", "b"], 8), Lists::Others),
            (&b"{}".to_vec(), &one, Lists::Others),
        ] {
            assert_eq!(Lists::of(there, ours), expected);
        }
    }
}
