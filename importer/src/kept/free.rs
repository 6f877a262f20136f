//! Frees what versions have at a registry: the manifests of their images and their heads, by digest, in their own
//! repositories and under the names that workloads ask for, as far as no version that stays has them there. Blobs are
//! freed by the registry itself, once no manifest names them.

use std::collections::BTreeSet;

use registry::{Client, Deletion, Manifest, Reference, Repository};
use schemas::{Digest, ImageDocument};

use crate::kept::fetch::only_layer;
use crate::kept::place;
use crate::mirrors::{self, Layout};
use crate::model::carried;
use crate::model::error::Error;
use crate::model::record::Record;

/// A manifest or index, and where it lies.
type Place = (Repository, Digest);
/// The same, and by which tag or digest it is asked for there.
type Referred = (Place, Reference);

/// What versions have at a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushed {
    /// Their manifests and indexes, each before those that name it: as long as an index is there, what it names is found.
    own: Vec<Place>,
    /// What is not as it was recorded, or another version's as well, and so stays.
    others: Vec<String>,
}

impl Pushed {
    /// Finds out what the versions that go have there, of all that are recorded. Reading only.
    pub(crate) async fn find(
        client: &Client,
        records: &[Record],
        goes: impl Fn(&Record) -> bool,
    ) -> Result<Self, Error> {
        let (going, staying): (Vec<&Record>, Vec<&Record>) =
            records.iter().partition(|record| goes(record));
        let others: BTreeSet<String> = staying.iter().copied().flat_map(repositories).collect();
        let address = client.address();
        let (mut roots, mut foreign, mut found) = (Vec::new(), Vec::new(), Self::default());
        let images = going.iter().flat_map(|record| {
            let images = record.images.iter();
            images.map(move |image| (record, image))
        });
        for (record, image) in images {
            let (name, tag) = (&image.image.name, &image.image.tag);
            let at = format!("{}/{name}", record.pushed_to);
            if others.contains(&at) {
                found.others.push(format!("{at}:{tag}"));
                continue;
            }
            let repository = address.repository(&format!("{}/{name}", record.id()))?;
            let tagged = Reference::Tag(tag.clone());
            let tagged = client.manifest(&repository, &tagged).await?;
            if let Some(other) = tagged.filter(|tagged| tagged.digest != image.digest) {
                found.others.push(format!("{at}:{tag}"));
                foreign.push((repository.clone(), other.digest));
            }
            roots.push((repository, image.digest));
        }
        roots.extend(found.referred(client, &going, &staying).await?);
        let stays: BTreeSet<Place> = reachable(client, foreign).await?.into_iter().collect();
        found.own = reachable(client, roots).await?;
        found.own.retain(|place| !stays.contains(place));
        found.own.reverse();
        for record in going {
            found.head(client, record).await?;
        }
        Ok(found)
    }

    /// What lies under the names that workloads ask for, as far as no version that stays has the same there.
    async fn referred(
        &mut self,
        client: &Client,
        going: &[&Record],
        staying: &[&Record],
    ) -> Result<Vec<Place>, Error> {
        let (going, staying) = (referred_to(client, going)?, referred_to(client, staying)?);
        let places = |all: &[Referred]| -> BTreeSet<Place> {
            let places = all.iter();
            places.map(|(place, _)| place.clone()).collect()
        };
        let (ours, needed) = (places(&going), places(&staying));
        let mut own = Vec::new();
        for (place, reference) in going {
            if needed.contains(&place) {
                continue;
            }
            let (repository, digest) = &place;
            let Some(found) = client.manifest(repository, &reference).await? else {
                continue;
            };
            if found.digest == *digest {
                own.push(place);
            } else if !ours.contains(&(repository.clone(), found.digest)) {
                let host = client.address().host();
                self.others.push(format!("{host}/{repository}:{reference}"));
            }
        }
        Ok(own)
    }

    /// Adds the head, if it is one.
    async fn head(&mut self, client: &Client, record: &Record) -> Result<(), Error> {
        let (repository, tag) = place(client.address(), &record.id(), &record.archive_id)?;
        match client.manifest(&repository, &tag).await? {
            Some(head) if only_layer(&head).is_some() => self.own.push((repository, head.digest)),
            Some(_) => self.others.push(format!("{}:{tag}", record.pushed_to)),
            None => {}
        }
        Ok(())
    }

    /// What stays, for people.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        let others = self.others.iter();
        others.map(|it| format!("{it} is not as this version pushed it, and stays"))
    }

    /// Every manifest and index that goes, as `HOST/REPOSITORY@DIGEST`.
    pub(crate) fn names(&self, client: &Client) -> Vec<String> {
        let name = |place: &Place| name(client, place);
        self.own.iter().map(name).collect()
    }

    /// Deletes all of them. Returns what was deleted; what is left is named by the error.
    pub(crate) async fn free(
        &self,
        client: &Client,
        check: impl Fn() -> Result<(), Error>,
    ) -> Result<Vec<String>, Error> {
        let mut freed = Vec::new();
        let mut left: Vec<&Place> = self.own.iter().collect();
        loop {
            let (mut refused, mut why) = (Vec::new(), None);
            let before = freed.len();
            for place in left {
                check()?;
                match client.delete_manifest(&place.0, place.1).await {
                    Ok(Deletion::Done) => freed.push(name(client, place)),
                    Ok(Deletion::WasAbsent) => {}
                    Err(error) if error.is_everywhere() => return Err(error.into()),
                    Err(error) => {
                        refused.push(place);
                        why = Some(error);
                    }
                }
            }
            let Some(source) = why else {
                return Ok(freed);
            };
            // Some registries delete nothing that an index names; once the index is gone, they do.
            if freed.len() == before {
                let left = refused.into_iter().map(|place| name(client, place));
                let mut left: Vec<String> = left.collect();
                left.sort();
                let source = Box::new(source);
                return Err(Error::NotFreed { left, source });
            }
            left = refused;
        }
    }
}

fn name(client: &Client, (repository, digest): &Place) -> String {
    format!("{}/{repository}@{digest}", client.address().host())
}

/// Where a version's images lie.
fn repositories(record: &Record) -> impl Iterator<Item = String> {
    let images = record.images.iter();
    images.map(|image| format!("{}/{}", record.pushed_to, image.image.name))
}

/// Where images of versions lie under the names that workloads ask for.
fn referred_to(client: &Client, records: &[&Record]) -> Result<Vec<Referred>, Error> {
    let mut all = Vec::new();
    let images = records.iter().flat_map(|record| {
        let images = record.images.iter();
        images.map(move |image| (record, image))
    });
    for (record, image) in images {
        let (registry, digest) = (client.address(), image.digest);
        if let Some(reference) = &image.reference {
            let (repository, reference) =
                mirrors::place(registry, Layout::Solution, reference, digest)?;
            all.push(((repository, digest), reference));
        }
        if record.manifest.spec.carries() {
            let (of, image) = ((&record.name, &record.version), (&image.image.name, digest));
            let (repository, reference) = carried::image_place(registry, of, image)?;
            all.push(((repository, digest), reference));
        }
    }
    Ok(all)
}

/// These manifests and indexes and all that they name in their repositories, as far as they are there; what names
/// others first.
async fn reachable(client: &Client, roots: Vec<Place>) -> Result<Vec<Place>, Error> {
    let mut room = validator::limits::IMAGE_DOCUMENTS;
    let (mut seen, mut reached, mut wanted) = (BTreeSet::new(), Vec::new(), roots);
    for _ in 0..=schemas::limits::INDEX_DEPTH {
        wanted.retain(|place| seen.insert(place.clone()));
        for (repository, found) in client.manifests(std::mem::take(&mut wanted)).await? {
            let Some(Manifest { bytes, digest, .. }) = found else {
                continue;
            };
            reached.push((repository.clone(), digest));
            room = room.saturating_sub(bytes.len() as u64);
            if let (1.., Ok(ImageDocument::Index(index))) =
                (room, ImageDocument::from_slice(&bytes))
            {
                let below = index.manifests.iter();
                wanted.extend(below.map(|it| (repository.clone(), it.digest)));
            }
        }
    }
    Ok(reached)
}
