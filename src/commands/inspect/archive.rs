//! What an archive says of itself.

use archive::{Listed, Opened};
use importer::VersionOutline;
use schemars::JsonSchema;
use schemas::{
    ContentsEntry, Digest, KeyId, Solution, SolutionName, StatementTime, Version, limits,
};
use serde::Serialize;

use super::Arguments;
use super::charts::{self, ChartLine};
use super::images::{self, ImageLine};
use super::outline;
use super::programs::{self, ProgramLine};
use super::sboms::{self, SbomLine};
use super::sets::{self, SetLine};
use crate::commands::image_map::{Mapping, ShownMap};
use crate::commands::look::signers::attach;
use crate::failure::{self, Failure};
use crate::registries;

/// An archive's description of itself. It is not verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedArchive {
    /// SHA-256 of the statement.
    pub(super) archive_id: Digest,
    /// The name of the Solution.
    pub(super) solution: SolutionName,
    /// The version of the Solution.
    pub(super) version: Version,
    /// When it was packed.
    pub(super) time: StatementTime,
    /// Bytes of the image.
    pub(super) size: u64,
    /// The keys that signed, as the archive says.
    pub(super) signatures: Vec<KeyId>,
    /// The manifest.
    pub(super) manifest: Solution,
    /// The images.
    pub(super) images: Vec<ImageLine>,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub(super) referrers: usize,
    #[serde(flatten)]
    pub(super) map: Option<ShownMap>,
    /// The sets of objects that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sets: Vec<SetLine>,
    /// The charts that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) charts: Vec<ChartLine>,
    /// Whether it includes the program `helm`, which the site needs for its charts; missing if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) helm_included: Option<bool>,
    /// The programs that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) programs: Vec<ProgramLine>,
    /// The images that can run, each with its SBOMs, with `--sbom`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) sboms: Vec<SbomLine>,
    /// Its CRDs and rights. They are missing if it has none, or if the archive has errors, which `validate`
    /// reports.
    #[serde(flatten)]
    pub(super) outline: Option<VersionOutline>,
    /// Its files, with `--files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<ContentsEntry>,
}

/// Reads what is shown of an archive.
pub(super) fn inspect(arguments: &Arguments) -> Result<InspectedArchive, Failure> {
    let read = |error| failure::reading(&arguments.archive, error);
    let mut opened = Opened::open(&arguments.archive).map_err(read)?;
    attach(&mut opened, &arguments.archive)?;
    arguments.signers.verify(&opened, &arguments.archive)?;
    let signatures = opened.envelope().signatures();
    let signatures = signatures.map(|signature| signature.key_id).collect();
    let (listed, outline) = outline::listed(&arguments.archive, &opened)?;
    let manifest = listed.read(archive::MANIFEST, limits::MANIFEST_SIZE);
    let manifest = Solution::from_slice(&manifest.map_err(read)?).map_err(|error| {
        Failure::no(error).context(format!("`{}`: manifest.yaml", arguments.archive.display()))
    })?;
    let predicate = &listed.statement().predicate;
    let images = images::images(&arguments.archive, &listed, &manifest.spec.images)?;
    let map = map(arguments, &listed, &images)?;
    let sets = sets::sets(&arguments.archive, &listed, &manifest.spec.manifests)?;
    let charts = charts::charts(&arguments.archive, &listed, &manifest.spec.charts)?;
    let sboms = if arguments.sbom {
        sboms::sboms(&arguments.archive, &listed)?
    } else {
        Vec::new()
    };
    let mut files = Vec::new();
    if arguments.files {
        files.extend_from_slice(listed.contents().entries());
    }
    Ok(InspectedArchive {
        archive_id: listed.archive_id(),
        solution: predicate.id.name().clone(),
        version: predicate.id.version().clone(),
        time: predicate.time,
        size: listed.image_size(),
        signatures,
        referrers: images::count(&images).1,
        images,
        map,
        sets,
        helm_included: (!charts.is_empty())
            .then(|| archive::includes_helm(listed.statement(), &manifest.spec.images)),
        charts,
        programs: programs::programs(&listed, &manifest.spec.images),
        sboms,
        outline,
        manifest,
        files,
    })
}

/// Where nodes will find the images that the archive has.
fn map(
    arguments: &Arguments,
    listed: &Listed,
    images: &[ImageLine],
) -> Result<Option<ShownMap>, Failure> {
    let Some(registry) = &arguments.registry else {
        return Ok(None);
    };
    let mapping = Mapping {
        id: &listed.statement().predicate.id,
        images: images::recorded(&arguments.archive, listed, images)?,
        format: arguments.map.image_map.unwrap_or_default(),
        reach: &registries::options(&arguments.reach)?,
    };
    mapping.at(registry, arguments.layout.placement()).map(Some)
}
