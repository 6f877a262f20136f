//! What the images of an archive are, as far as it can be shown.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use archive::{ImageRole, Listed, Roots};
use schemars::JsonSchema;
use schemas::{Digest, ImageDocument, ImageName, ImagePlace, limits};
use serde::Serialize;
use shelf::RecordedImage;
use validator::IMAGE_INDEX;

use crate::failure::{self, Failure};

/// Bytes that are shown of what images are, counted for each: a platform has some twelve, and as a rule there is a file
/// for each.
const SHOWN: usize = limits::FILES * (12 + ENTRY);
/// Bytes that a text costs beside its own.
const ENTRY: usize = 32;

/// An image or an artifact of an archive.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InspectedImage")]
pub(crate) struct ImageLine {
    /// Its place in the Solution, NAME:TAG.
    pub(super) image: ImagePlace,
    /// The digest of the tagged image. It is missing if the image cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<Digest>,
    /// The image of the archive that it refers to, if it is a signature or another referrer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subject: Option<Digest>,
    /// How many manifests a list of referrers names.
    #[serde(skip)]
    pub(super) referring: usize,
    /// The type of an artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) artifact_type: Option<String>,
    /// The platforms that an index has images for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) platforms: Vec<String>,
}

/// What the document that a tag names is.
#[derive(Default)]
struct Root {
    artifact_type: Option<String>,
    platforms: Vec<String>,
    referring: usize,
}

impl Root {
    /// Bytes that a line about it needs.
    fn cost(&self) -> usize {
        let texts = self.artifact_type.iter().chain(&self.platforms);
        texts.map(|text| text.len() + ENTRY).sum()
    }
}

/// The lines of the images.
pub(super) fn images(
    archive: &Path,
    listed: &Listed,
    places: &[ImagePlace],
) -> Result<Vec<ImageLine>, Failure> {
    let mut roots = Roots::new(listed, root);
    let documents = documents(listed);
    let mut shown = 0;
    let line = |place: &ImagePlace| {
        let found = roots.of(place);
        let root = found.and_then(|(_, root)| root);
        shown += root.map_or(0, Root::cost);
        // A small index under very many tags would be very much to show.
        if shown > SHOWN {
            let what = "its images have more platforms than can be shown";
            return Err(failure::too_much(archive, what));
        }
        Ok(ImageLine {
            image: place.clone(),
            digest: found.map(|(digest, _)| digest),
            subject: place.tag.subject().filter(|subject| {
                let name = place.name.clone();
                documents.contains(&(name, *subject))
            }),
            referring: root.map_or(1, |root| root.referring),
            artifact_type: root.and_then(|root| root.artifact_type.clone()),
            platforms: root.map(|root| root.platforms.clone()).unwrap_or_default(),
        })
    };
    places.iter().map(line).collect()
}

/// Every manifest and index, with the name of its image.
fn documents(listed: &Listed) -> BTreeSet<(ImageName, Digest)> {
    let contents = listed.image_contents();
    let documents = contents.filter(|content| content.role != ImageRole::Blob);
    documents.map(|it| (it.place.name, it.digest)).collect()
}

/// How many of these are images, and how many signatures and other referrers come with them.
pub(super) fn count(lines: &[ImageLine]) -> (usize, usize) {
    let referrers = lines.iter().filter(|line| line.subject.is_some());
    let own = lines.len() - referrers.clone().count();
    (own, referrers.map(|line| line.referring).sum())
}

/// The images that the archive has, each with the name that workloads ask for.
pub(super) fn recorded(
    archive: &Path,
    listed: &Listed,
    lines: &[ImageLine],
) -> Result<Vec<RecordedImage>, Failure> {
    let index = listed.read(IMAGE_INDEX, validator::limits::INDEX_SIZE);
    let index = index.map_err(|error| failure::reading(archive, error))?;
    let mut references = validator::image_references(&index).map_err(|error| {
        let at = format!("`{}`: {IMAGE_INDEX}", archive.display());
        Failure::no(anyhow!(error)).context(at)
    })?;
    let recorded = |line: &ImageLine| {
        Some(RecordedImage {
            image: line.image.clone(),
            digest: line.digest?,
            reference: references.remove(&line.image),
        })
    };
    Ok(lines.iter().filter_map(recorded).collect())
}

fn root(document: &ImageDocument) -> Root {
    Root {
        artifact_type: document.artifact_type().map(ToOwned::to_owned),
        platforms: document.platforms().map(ToString::to_string).collect(),
        referring: match document {
            ImageDocument::Index(index) => index.manifests.len(),
            ImageDocument::Manifest(_) => 1,
        },
    }
}
