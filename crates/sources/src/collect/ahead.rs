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
use crate::means::Means;
use crate::platform::{self, Choice};
use crate::{Event, limits};

/// Asks for what the tags of these images name, and then for what the indexes among it list.
pub(super) fn read(images: &[&SourceImage], means: &Means<'_>) {
    let network = &means.network;
    let numbered = images.iter().zip(1..).filter_map(|(image, number)| {
        let ImageSource::Docker(reference) = &image.source else {
            return None;
        };
        Some((image, number, docker::locate(reference, network)))
    });
    // Why one leads nowhere is said when the walk gets there.
    let located = numbered.map_while(|(image, number, at)| Some((image, number, at.ok()?)));
    let located: Vec<_> = located.collect();
    if located.is_empty() {
        return;
    }
    let asked = network.wait(async {
        let roots = together(located.iter().map(async |(image, number, (origin, tag))| {
            let (place, number, of) = (image.place(), *number, images.len());
            (means.watch.tell)(Event::Collecting { place, number, of });
            network.ask_ahead(origin, tag).await
        }));
        let roots = roots.await;
        let listed = located.iter().zip(&roots);
        let listed = listed.flat_map(|((image, _, (origin, _)), root)| {
            let children = children(root, image).into_iter();
            children.map(move |child| (origin, Reference::from(child)))
        });
        let mut seen = BTreeSet::new();
        let once = listed.filter(|(origin, child)| seen.insert(origin.name(child)));
        together(once.map(async |(origin, child)| network.ask_ahead(origin, &child).await)).await;
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
            let documents = index
                .manifests
                .iter()
                .filter(|child| child.document_type().is_some());
            documents.map(|child| child.digest).collect()
        }
        Ok(Choice::Child(child)) => vec![child.digest],
        Ok(Choice::Children(chosen)) => chosen.into_iter().collect(),
        Err(_) => Vec::new(),
    };
    chosen.into_iter().take(limits::DOCUMENTS).collect()
}
