//! Referrers that no source has: they were made here, and stand in the list of their subject beside those that came.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use schemas::{Digest, Document, ImageName, ImagePlace, Tag};

use super::referrer_list::{ReferrerEntry, ReferrerList};
use super::{Collected, ImageContents};
use crate::blob::{Here, ImageBlob};
use crate::error::{FailedImage, SourceError};

/// A referrer that was made here.
#[derive(Debug)]
pub struct MadeReferrer {
    /// The name of the image that it is about, which it has too.
    pub name: ImageName,
    /// The manifest that it is about.
    pub subject: Digest,
    /// Its own manifest.
    pub manifest: Arc<Document>,
    /// The contents that the manifest names.
    pub blobs: Vec<Here>,
}

/// Returns the place of the list of what refers to a manifest.
#[must_use]
pub fn referrers_place(name: &ImageName, subject: Digest) -> ImagePlace {
    ImagePlace {
        name: name.clone(),
        tag: Tag::of_referrer(subject, ""),
    }
}

/// Adds referrers to the images, whose order stays that of their places. Each subject is a manifest of an image, and where
/// there is an image at the place of its list, it is that list.
pub fn add_referrers(
    images: &mut Vec<Collected>,
    made: Vec<MadeReferrer>,
) -> Result<(), FailedImage> {
    let mut by_list: BTreeMap<ImagePlace, Vec<MadeReferrer>> = BTreeMap::new();
    for referrer in made {
        let place = referrers_place(&referrer.name, referrer.subject);
        by_list.entry(place).or_default().push(referrer);
    }
    for (place, made) in by_list {
        let subject = made[0].subject;
        let is_subject = |image: &&Collected| {
            image.place.name == place.name && image.contents.documents().any(|it| it == subject)
        };
        let Some(image) = images.iter().find(is_subject) else {
            continue;
        };
        let reference = image.reference.as_ref();
        let reference = reference.and_then(|it| it.with_tag(&place.tag));
        let from = image.from.clone();
        let at = images.iter().position(|it| it.place == place);
        let before = at.map(|at| images.swap_remove(at));
        let contents = list(before.as_ref(), &made)
            .map_err(|error| super::failed(place.clone(), &from, error))?;
        images.push(Collected {
            place,
            from: before.map_or(from, |it| it.from),
            reference,
            subject: Some(subject),
            named: contents.root.digest,
            contents: Rc::new(contents),
        });
    }
    images.sort_by(|a, b| a.place.cmp(&b.place));
    Ok(())
}

/// The list of what was listed before and of what was made.
fn list(before: Option<&Collected>, made: &[MadeReferrer]) -> Result<ImageContents, SourceError> {
    let mut listed: BTreeMap<Digest, Arc<Document>> = BTreeMap::new();
    let mut children = Vec::new();
    let mut blobs: BTreeMap<Digest, ImageBlob> = BTreeMap::new();
    let mut configurations = Vec::new();
    if let Some(Collected { contents, .. }) = before {
        let is_listed = |it: &&Arc<Document>| contents.root.needs.contains(&it.digest);
        let before = contents.children.iter().filter(is_listed);
        listed.extend(before.map(|it| (it.digest, Arc::clone(it))));
        children.clone_from(&contents.children);
        blobs.extend(contents.blobs.iter().map(|it| (it.digest(), it.clone())));
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
        blobs.extend(own.map(|it| (it.digest, ImageBlob::Here(it))));
    }
    let entries = listed.values().map(|it| ReferrerEntry::of(it));
    let bytes = ReferrerList::of(entries.collect()).to_bytes();
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
