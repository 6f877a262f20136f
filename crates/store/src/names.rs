//! The names of an archive's images in a registry. [`ArchivePlacement`] lists all of them for a registry address.

use std::collections::BTreeMap;

use registry::{Reference, RegistryAddress, RepositoryPath};
use schemas::{Image, ImagePlace};
use validator::AcceptedArchive;

use crate::artifact::HeadArtifact;
use crate::blocker::RegistryBlocker;
use crate::error::Error;
use crate::image_map::ImageMap;
use crate::layout::{MirrorPolicy, PathLayout, Placement};
use crate::place::{asked_place, image_place, main_place, mirror, own_repository};
use crate::record::RecordedImage;

/// An image and one of its names in the registry.
#[derive(Clone, Debug)]
pub struct ImageName<'a> {
    /// The image.
    pub image: &'a Image,
    /// The repository, prefix included.
    pub repository: RepositoryPath,
    /// The tag or digest that names it there.
    pub reference: Reference,
}

impl<'a> ImageName<'a> {
    pub(crate) fn all(
        accepted: &'a AcceptedArchive,
        registry: &RegistryAddress,
        mut placement: Placement,
        blockers: &mut Vec<RegistryBlocker>,
    ) -> Result<Vec<Self>, Error> {
        match placement.layout {
            PathLayout::Solution | PathLayout::Flat => {
                // Without the ISO, nothing can be pushed, and running workloads need no new mirrors.
                if !accepted.listed().has_blobs() {
                    placement.mirrors = MirrorPolicy::Skip;
                }
                Self::by_solution(accepted, registry, placement, blockers)
            }
            PathLayout::Ref => Self::by_reference(accepted, registry, blockers),
        }
    }

    /// Returns every image once, under the path of its `ref` if it has one.
    fn by_reference(
        accepted: &'a AcceptedArchive,
        registry: &RegistryAddress,
        blockers: &mut Vec<RegistryBlocker>,
    ) -> Result<Vec<Self>, Error> {
        let (id, layout) = (&accepted.statement().predicate.id, PathLayout::Ref);
        let recorded = recorded(accepted);
        blockers.extend(ImageMap::new(id, &recorded, registry, layout)?.collisions()?);
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

    /// Returns every image under its own name, and also under its mirror name if it has a `ref` and is mirrored.
    pub(crate) fn by_solution(
        accepted: &'a AcceptedArchive,
        registry: &RegistryAddress,
        placement: Placement,
        blockers: &mut Vec<RegistryBlocker>,
    ) -> Result<Vec<Self>, Error> {
        let (id, layout) = (&accepted.statement().predicate.id, placement.layout);
        let mut all = Vec::new();
        let mut asked_for = BTreeMap::new();
        for image in accepted.images() {
            let ImagePlace { name, tag } = &image.place;
            all.push(Self {
                image,
                repository: own_repository(registry, layout, &id.to_string(), name)?,
                reference: Reference::Tag(tag.clone()),
            });
            // Objects without an operator find their images in repositories without the version in the name.
            if accepted.manifest().spec.carries() {
                let digest = image.root.digest;
                let (name, version) = (id.name(), id.version());
                let (repository, reference) =
                    image_place(registry, layout, name, version, &image.place, digest)?;
                all.push(Self {
                    image,
                    repository,
                    reference,
                });
            }
            let asked = image.reference.as_ref();
            let Some(asked) = asked.filter(|_| placement.has_mirrors()) else {
                continue;
            };
            let (repository, reference) = asked_place(registry, layout, asked, image.root.digest)?;
            let same = (repository.clone(), reference.clone());
            match asked_for.insert(same, image.root.digest) {
                None => all.push(Self {
                    image,
                    repository,
                    reference,
                }),
                Some(digest) if digest == image.root.digest => {}
                Some(_) => blockers.push(RegistryBlocker::SameReference {
                    reference: asked.clone(),
                }),
            }
        }
        Ok(all)
    }
}

/// The names of an archive's images in a registry that it is imported to. They are computed without the registry.
#[derive(Debug)]
pub struct ArchivePlacement<'a> {
    /// The images, once per name.
    pub images: Vec<ImageName<'a>>,
    /// The head of the archive, from which the version can be deployed without the ISO.
    pub head: HeadArtifact,
    /// The common repository prefix of the mirrors, by registry.
    pub mirrors: BTreeMap<String, RepositoryPath>,
}

impl<'a> ArchivePlacement<'a> {
    /// Returns the names below the address of a registry.
    pub fn new(accepted: &'a AcceptedArchive, registry: &RegistryAddress) -> Result<Self, Error> {
        let mut blockers = Vec::new();
        let placement = Placement::default();
        let named = ImageName::all(accepted, registry, placement, &mut blockers)?;
        if let Some(blocker) = blockers.into_iter().next() {
            return Err(blocker.into());
        }
        let asked = accepted.images().iter();
        let asked = asked.filter_map(|image| image.reference.as_ref());
        let mirrors = asked.map(|asked| mirror(registry, asked));
        Ok(Self {
            images: named,
            head: HeadArtifact::from_archive(accepted, registry, placement)?,
            mirrors: mirrors.collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the images of an archive as a record stores them.
#[must_use]
pub fn recorded(accepted: &AcceptedArchive) -> Vec<RecordedImage> {
    accepted.images().iter().map(RecordedImage::from).collect()
}
