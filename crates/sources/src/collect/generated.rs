//! Referrers that are created by this program and added to the lists of their subjects. Sites find them in the same
//! way as referrers that come from a source.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use schemas::{Digest, Document, ImageName, ImagePlace, Tag};

use super::referrer_list::{ReferrerEntry, ReferrerList};
use super::{CollectedImage, ImageContents};
use crate::blob::{ImageBlob, LocalBlob};
use crate::error::{FailedImage, SourceError};

/// A referrer that this program has created.
#[derive(Debug)]
pub struct GeneratedReferrer {
    /// The name of its subject's image, which is also its own name.
    pub name: ImageName,
    /// The manifest that it refers to.
    pub subject: Digest,
    /// The manifest of the referrer.
    pub manifest: Arc<Document>,
    /// The blobs of the manifest.
    pub blobs: Vec<LocalBlob>,
}

/// Returns the place of the list of a manifest's referrers.
#[must_use]
pub fn referrers_place(name: &ImageName, subject: Digest) -> ImagePlace {
    ImagePlace {
        name: name.clone(),
        tag: Tag::of_referrer(subject, ""),
    }
}

/// Adds referrers to the images, which stay sorted by place. Each subject must be a manifest of an image. An existing
/// image at the place of a list must be that list.
pub fn add_referrers(
    images: &mut Vec<CollectedImage>,
    made: Vec<GeneratedReferrer>,
) -> Result<(), FailedImage> {
    let mut by_list: BTreeMap<ImagePlace, Vec<GeneratedReferrer>> = BTreeMap::new();
    for referrer in made {
        let place = referrers_place(&referrer.name, referrer.subject);
        by_list.entry(place).or_default().push(referrer);
    }
    for (place, made) in by_list {
        let subject = made[0].subject;
        let is_subject = |image: &&CollectedImage| {
            image.place.name == place.name
                && image.contents.documents().any(|digest| digest == subject)
        };
        let Some(image) = images.iter().find(is_subject) else {
            continue;
        };
        let reference = image.reference.as_ref();
        let reference = reference.and_then(|reference| reference.with_tag(&place.tag));
        let from = image.from.clone();
        let at = images.iter().position(|image| image.place == place);
        let before = at.map(|at| images.swap_remove(at));
        let contents = list(before.as_ref(), &made)
            .map_err(|error| super::failed(place.clone(), &from, error))?;
        images.push(CollectedImage {
            place,
            from: before.map_or(from, |list| list.from),
            reference,
            subject: Some(subject),
            named: contents.root.digest,
            contents: Rc::new(contents),
        });
    }
    images.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(())
}

/// Returns the list of existing and new referrers.
fn list(
    before: Option<&CollectedImage>,
    made: &[GeneratedReferrer],
) -> Result<ImageContents, SourceError> {
    let mut listed: BTreeMap<Digest, Arc<Document>> = BTreeMap::new();
    let mut children = Vec::new();
    let mut blobs: BTreeMap<Digest, ImageBlob> = BTreeMap::new();
    let mut configurations = Vec::new();
    if let Some(CollectedImage { contents, .. }) = before {
        let is_listed = |child: &&Arc<Document>| contents.root.needs.contains(&child.digest);
        let before = contents.children.iter().filter(is_listed);
        listed.extend(before.map(|child| (child.digest, Arc::clone(child))));
        children.clone_from(&contents.children);
        blobs.extend(
            contents
                .blobs
                .iter()
                .map(|blob| (blob.digest(), blob.clone())),
        );
        configurations.clone_from(&contents.configurations);
    }
    for referrer in made {
        let manifest = &referrer.manifest;
        if listed
            .insert(manifest.digest, Arc::clone(manifest))
            .is_none()
        {
            children.push(Arc::clone(manifest));
        }
        let own = referrer.blobs.iter().cloned();
        blobs.extend(own.map(|blob| (blob.digest, ImageBlob::Local(blob))));
    }
    let entries = listed
        .values()
        .map(|document| ReferrerEntry::from_document(document));
    let bytes = ReferrerList::from_entries(entries.collect()).to_bytes();
    let digest = files::digest(&bytes);
    let (root, _) = super::store::parse(digest.to_string().into(), digest, bytes)?;
    Ok(ImageContents {
        root: Arc::new(root),
        children,
        blobs: blobs.into_values().collect(),
        configurations,
        artifact_type: None,
        foreign_layers: false,
        chosen_for: None,
    })
}
