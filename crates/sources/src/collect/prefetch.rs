//! Prefetching: requests for documents and unpacking of archives, for multiple images concurrently and before the
//! images are read in order. Results and errors are kept until they are needed, so that the first failing image in
//! order is reported. An archive that could not be unpacked is tried again. Requests stop at the first failure in
//! order, or when enough documents are waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use futures::{StreamExt as _, stream};
use registry::{Reference, RegistryManifest};
use schemas::{Digest, ImageDocument, ImageSource, SourceImage};

use super::docker;
use super::open_sources::OpenSources;
use crate::compress;
use crate::context::SourceContext;
use crate::error::SourceError;
use crate::platform::{self, PlatformChoice};
use crate::{Event, limits};

/// Unpacks the archives of these images, each in one thread, including layers that must be compared.
pub(super) fn unpack(base: &Path, images: &[&SourceImage], means: &SourceContext<'_>) {
    let mut archives: BTreeMap<PathBuf, Vec<&ImageSource>> = BTreeMap::new();
    for image in images {
        if let ImageSource::OciArchive { file, .. } | ImageSource::DockerArchive { file, .. } =
            &image.source
        {
            let sources = archives.entry(base.join(file)).or_default();
            sources.push(&image.source);
        }
    }
    // Copies of an archive, which have the same size, need no time when they are read later.
    let mut sizes = BTreeSet::new();
    archives.retain(|path, _| files::size(path).is_ok_and(|size| sizes.insert(size)));
    let lanes = archives.len().min(limits::ARCHIVES);
    let lanes = lanes.min(means.threads.get());
    if lanes < 2 {
        return;
    }
    let postponed = AtomicU64::new(0);
    let ahead = means.for_prefetch(&postponed);
    let waiting = Mutex::new(archives.into_iter());
    let next = || waiting.lock().expect("no panic while held").next();
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some((path, sources)) = next()
                    && open(&path, &sources, &ahead).is_ok()
                {}
            });
        }
    });
    let ours = &means.unpacking.ahead;
    ours.set(ahead.unpacking.into()).unwrap_or_default();
}

fn open(
    path: &Path,
    sources: &[&ImageSource],
    means: &SourceContext<'_>,
) -> Result<(), SourceError> {
    let opened = OpenSources::default();
    for source in sources {
        if let ImageSource::DockerArchive { reference, .. } = source {
            opened
                .archive(path, means)?
                .find(reference.as_deref(), means)?;
        } else {
            compress::open_tar(path, means)?;
        }
    }
    Ok(())
}

/// Requests the manifests for the tags of these images, and then the manifests that the indexes among them list.
pub(super) fn read(images: &[&SourceImage], means: &SourceContext<'_>) {
    let network = &means.network;
    let numbered = images.iter().zip(1..).filter_map(|(image, number)| {
        let ImageSource::Docker(reference) = &image.source else {
            return None;
        };
        Some((image, number, docker::locate(reference, network)))
    });
    // Errors are reported when the image is read.
    let located = numbered.map_while(|(image, number, at)| Some((image, number, at.ok()?)));
    let located: Vec<_> = located.collect();
    if located.is_empty() {
        return;
    }
    let asked = network.wait(async {
        let roots =
            collect_until_failure(located.iter().map(async |(image, number, (origin, tag))| {
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
        collect_until_failure(
            once.map(async |(origin, child)| network.ask_ahead(origin, &child).await),
        )
        .await;
    });
    // If the user has cancelled, the same error occurs again when the image is read.
    asked.unwrap_or_default();
}

/// Returns the manifests in the order of the requests, up to the first failure.
async fn collect_until_failure<F>(asked: impl Iterator<Item = F>) -> Vec<RegistryManifest>
where
    F: Future<Output = Option<RegistryManifest>>,
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

/// Returns the documents that will be read next for an image.
fn children(root: &RegistryManifest, image: &SourceImage) -> Vec<Digest> {
    let Ok(ImageDocument::Index(index)) = ImageDocument::from_slice(&root.bytes) else {
        return Vec::new();
    };
    let chosen: Vec<Digest> = match platform::choose(&index.manifests, &image.platforms) {
        Ok(PlatformChoice::Whole) => {
            let documents = index
                .manifests
                .iter()
                .filter(|child| child.document_type().is_some());
            documents.map(|child| child.digest).collect()
        }
        Ok(PlatformChoice::Child(child)) => vec![child.digest],
        Ok(PlatformChoice::Children(chosen)) => chosen.into_iter().collect(),
        Err(_) => Vec::new(),
    };
    chosen.into_iter().take(limits::DOCUMENTS).collect()
}
