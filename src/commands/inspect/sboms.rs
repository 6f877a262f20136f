//! The SBOMs of the images, as an archive says.

use std::path::Path;

use archive::Listed;
use sbom::{CarriedSbom, SbomFormat, SbomSummary};
use schemars::JsonSchema;
use schemas::{ArchivePath, Digest, ImagePlace};
use serde::Serialize;

use crate::failure::{self, Failure};
use crate::render;

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

/// The lines of all images that can run.
pub(super) fn sboms(archive: &Path, listed: &Listed) -> Result<Vec<SbomLine>, Failure> {
    let described = sbom::described(listed);
    let described = described.map_err(|error| failure::reading(archive, error))?;
    let lines = described.into_iter().map(|image| SbomLine {
        image: image.image,
        platform: image.platform.map(|it| it.to_string()),
        digest: image.digest,
        documents: image.sboms.iter().map(|it| document(listed, it)).collect(),
    });
    Ok(lines.collect())
}

fn document(listed: &Listed, sbom: &CarriedSbom) -> SbomDocument {
    let bytes = listed
        .read(sbom.path.as_str(), sbom::limits::SBOM_SIZE)
        .ok();
    let said = bytes.and_then(|bytes| SbomSummary::read(sbom.format, &bytes).ok());
    SbomDocument {
        format: sbom.format,
        packages: said.as_ref().map(|it| it.packages),
        tool: said.map(|it| it.tool),
        path: sbom.path.clone(),
        size: sbom.size,
    }
}

/// Shows the SBOMs of an image.
pub(super) fn show(line: &SbomLine) {
    let platform = line.platform.iter().map(|it| format!(" for {it}"));
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
