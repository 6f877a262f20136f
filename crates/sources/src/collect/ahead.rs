//! Asking registries for the documents of several images at a time, before the walk through each image gets to them. It
//! judges nothing: what comes waits for the walk, an error too, so that the first image in order that fails is the one
//! that is told. Asking ends with the first in order that cannot be had, and when enough waits.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::pin;

use futures::{StreamExt as _, stream};
use registry::{Manifest, Reference};
use schemas::{Digest, ImageDocument, ImageSource, SourceImage};

use super::docker;
use crate::blob::Origin;
use crate::means::Means;
use crate::platform::{self, Choice};
use crate::{Event, limits};

/// An image of a registry.
struct Named<'a> {
    image: &'a SourceImage,
    /// Which one it is, from 1.
    number: usize,
    origin: Origin,
    reference: Reference,
}

/// Asks for what the tags of these images name, and then for what the indexes among it list.
pub(super) fn read(images: &[&SourceImage], means: &Means<'_>) {
    let numbered = images.iter().zip(1..);
    let named = numbered.filter_map(|(image, number)| match &image.source {
        ImageSource::Docker(reference) => Some((image, number, reference)),
        _ => None,
    });
    let named: Vec<Named<'_>> = named
        .map_while(|(image, number, reference)| {
            // Why it leads nowhere is said when the walk gets there.
            let (origin, reference) = docker::locate(reference, &means.network).ok()?;
            Some(Named {
                image,
                number,
                origin,
                reference,
            })
        })
        .collect();
    if named.is_empty() {
        return;
    }
    let asked = means.network.wait(async {
        let roots = named.iter().map(|named| {
            let place = named.image.place();
            let (number, of) = (named.number, images.len());
            async move {
                let place = &place;
                (means.progress)(Event::Collecting { place, number, of });
                means
                    .network
                    .ask_ahead(&named.origin, &named.reference)
                    .await
            }
        });
        let roots = together(roots).await;
        let mut seen = BTreeSet::new();
        let children: Vec<(&Origin, Reference)> = named
            .iter()
            .zip(&roots)
            .flat_map(|(named, root)| {
                let children = children(root, named.image);
                children
                    .into_iter()
                    .map(|child| (&named.origin, child.into()))
            })
            .filter(|(origin, child)| seen.insert(origin.name(child)))
            .collect();
        let children = children.iter();
        together(children.map(|(origin, child)| means.network.ask_ahead(origin, child))).await;
    });
    // Whoever does not want it any more is asked again by the walk.
    asked.unwrap_or_default();
}

/// What came, in the order of asking, up to the first that did not.
async fn together<F>(asked: impl Iterator<Item = F>) -> Vec<Manifest>
where
    F: Future<Output = Option<Manifest>>,
{
    let mut came = Vec::new();
    let mut bytes = 0;
    let mut running = pin!(stream::iter(asked).buffered(limits::DOCUMENTS_ASKED));
    while let Some(Some(manifest)) = running.next().await
        && bytes <= limits::AHEAD_BYTES
    {
        bytes += manifest.bytes.len();
        came.push(manifest);
    }
    came
}

/// The documents that the walk through an image will read next.
fn children(root: &Manifest, image: &SourceImage) -> Vec<Digest> {
    let Ok(ImageDocument::Index(index)) = ImageDocument::from_slice(&root.bytes) else {
        return Vec::new();
    };
    let chosen: Vec<Digest> = match platform::choose(&index.manifests, &image.platforms) {
        Ok(Choice::Whole) => {
            let documents = index.manifests.iter().filter(|child| child.is_document());
            documents.map(|child| child.digest).collect()
        }
        Ok(Choice::Child(child)) => vec![child.digest],
        Ok(Choice::Children(chosen)) => chosen.into_iter().collect(),
        Err(_) => Vec::new(),
    };
    chosen.into_iter().take(limits::DOCUMENTS).collect()
}
