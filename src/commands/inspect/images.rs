//! The images of an archive and their SBOMs. The number of displayed texts is limited, because an archive may not be
//! trustworthy.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use archive::{ImageRole, ListedArchive, RootDocuments};
use sbom::{PackagedSbom, SbomFormat, SbomSummary};
use schemars::JsonSchema;
use schemas::{ArchivePath, Digest, ImageDocument, ImageName, ImagePlace, limits};
use serde::Serialize;
use store::RecordedImage;
use validator::IMAGE_INDEX;

use crate::failure::{self, Failure};
use crate::render;

/// The size limit of the displayed texts about images. A text such as a platform has about twelve bytes, and usually
/// there is one for each file.
const SHOWN: usize = limits::FILES * (12 + ENTRY);
/// The overhead of a text, in bytes.
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

/// The kind of the document that a tag refers to.
#[derive(Default)]
struct Root {
    artifact_type: Option<String>,
    platforms: Vec<String>,
    referring: usize,
}

impl Root {
    /// Returns the size of its texts in a line.
    fn cost(&self) -> usize {
        let texts = self.artifact_type.iter().chain(&self.platforms);
        texts.map(|text| text.len() + ENTRY).sum()
    }
}

/// Returns the lines of the images.
pub(super) fn images(
    archive: &Path,
    listed: &ListedArchive,
    places: &[ImagePlace],
) -> Result<Vec<ImageLine>, Failure> {
    let mut roots = RootDocuments::new(listed, root);
    let documents = documents(listed);
    let mut shown = 0;
    let line = |place: &ImagePlace| {
        let found = roots.find_document(place);
        let root = found.and_then(|(_, root)| root);
        shown += root.map_or(0, Root::cost);
        // Many tags can refer to one small index, so the output could be far larger than the archive.
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

/// Returns every manifest and index, with the name of its image.
fn documents(listed: &ListedArchive) -> BTreeSet<(ImageName, Digest)> {
    let contents = listed.image_contents();
    let documents = contents.filter(|content| content.role != ImageRole::Blob);
    documents
        .map(|document| (document.place.name, document.digest))
        .collect()
}

/// Returns the number of images, and the number of signatures and other referrers.
pub(super) fn count(lines: &[ImageLine]) -> (usize, usize) {
    let referrers = lines.iter().filter(|line| line.subject.is_some());
    let own = lines.len() - referrers.clone().count();
    (own, referrers.map(|line| line.referring).sum())
}

/// Returns the images of the archive, each with the name that workloads use.
pub(super) fn recorded(
    archive: &Path,
    listed: &ListedArchive,
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

/// An image that can run, for one platform, and its SBOMs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "InspectedSboms")]
pub(crate) struct SbomLine {
    /// Its place in the Solution, NAME:TAG.
    image: ImagePlace,
    /// The platform, where an index says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<String>,
    /// The digest of the manifest.
    digest: Digest,
    /// The SBOMs of it.
    documents: Vec<SbomDocument>,
}

/// An SBOM in an archive.
#[derive(Serialize, JsonSchema)]
struct SbomDocument {
    /// The form of it.
    format: SbomFormat,
    /// The tool that created it, as the SBOM states. It is missing if the SBOM cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// How many packages it lists. It is missing if it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    packages: Option<usize>,
    /// The file that it is, in the archive.
    path: ArchivePath,
    /// The size of it in bytes.
    size: u64,
}

/// Returns the lines of all runnable images.
pub(super) fn sboms(archive: &Path, listed: &ListedArchive) -> Result<Vec<SbomLine>, Failure> {
    let described = sbom::described(listed);
    let described = described.map_err(|error| failure::reading(archive, error))?;
    let lines = described.into_iter().map(|image| SbomLine {
        image: image.image,
        platform: image.platform.map(|platform| platform.to_string()),
        digest: image.digest,
        documents: image
            .sboms
            .iter()
            .map(|sbom| document(listed, sbom))
            .collect(),
    });
    Ok(lines.collect())
}

fn document(listed: &ListedArchive, sbom: &PackagedSbom) -> SbomDocument {
    let bytes = listed
        .read(sbom.path.as_str(), sbom::limits::SBOM_SIZE)
        .ok();
    let said = bytes.and_then(|bytes| SbomSummary::read(sbom.format, &bytes).ok());
    SbomDocument {
        format: sbom.format,
        packages: said.as_ref().map(|summary| summary.packages),
        tool: said.map(|summary| summary.tool),
        path: sbom.path.clone(),
        size: sbom.size,
    }
}

/// Shows the SBOMs of an image.
pub(super) fn show(line: &SbomLine) {
    let platform = line
        .platform
        .iter()
        .map(|platform| format!(" for {platform}"));
    let image = format!("{}{}", line.image, platform.collect::<String>());
    if line.documents.is_empty() {
        render::line!("sbom        {image}: none");
    }
    for document in &line.documents {
        let SbomDocument { format, path, .. } = document;
        let what = match (&document.tool, document.packages) {
            (Some(tool), Some(packages)) => {
                format!("by {tool}, {}", render::count(packages, "package"))
            }
            _ => "unreadable".to_owned(),
        };
        render::line!("sbom        {image}: {format} {what}");
        render::line!("  file      {path}");
    }
}
