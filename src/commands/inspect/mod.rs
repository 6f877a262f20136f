//! `solution inspect`: what an archive or a plan says of itself, without asking who signed it.

mod charts;
mod images;
pub(super) mod plan;
mod sets;
pub(super) mod words;

use std::path::PathBuf;

use archive::{Architecture, Feature, Listed, Opened, helm_path};
use clap::Args;
use registry::RegistryAddress;
use schemas::{
    ContentsEntry, Digest, KeyId, Solution, SolutionName, StatementTime, Version, limits,
};

use schemars::JsonSchema;
use serde::Serialize;

use self::charts::ChartLine;
use self::images::ImageLine;
use self::sets::SetLine;
use super::give;
use super::image_map::{LayoutArguments, MapArguments, Mapping, ShownMap};
use crate::args::{Output, RegistryArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{plans, registries, render};

/// Show what is in an archive or a plan file, verifying only that what is read is intact
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("registry")),
    mut_arg("image_map", |argument| argument.requires("registry")),
    mut_arg("ca_file", |argument| argument.requires("registry")),
    mut_arg("cert_dir", |argument| argument.requires("registry")),
    mut_arg("plain_http", |argument| argument.requires("registry")),
    after_help = "\
`solution validate` says whether to trust an archive; `solution cat` writes one of the files.
A plan is shown as it was when it was made, with what changes in each object.

Examples:
  solution inspect app.iso
  solution inspect app.iso --files
  solution inspect app.iso --output json
  solution inspect app.iso --registry registry.site/apps
  solution inspect app.iso --registry registry.site/apps --image-map kustomize
  solution inspect plan.json"
)]
pub(crate) struct Arguments {
    /// The archive, a file or the device of a disc; or a plan file
    archive: PathBuf,

    /// Show every file with its size and digest
    #[arg(long)]
    files: bool,

    /// Where nodes will pull its images from
    #[arg(long, value_name = "HOST[/PREFIX]", help_heading = "Registry")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    map: MapArguments,

    #[command(flatten)]
    reach: RegistryArguments,
}

/// What whoever reads an archive without its signatures must know.
pub(super) const NOT_VERIFIED: &str = "not verified: `solution validate` says whether to trust it";

/// What an archive says of itself. Nothing of it is verified.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Inspected {
    /// SHA-256 of the statement.
    archive_id: Digest,
    /// The name of the Solution.
    solution: SolutionName,
    /// The version of the Solution.
    version: Version,
    /// When it was packed.
    time: StatementTime,
    /// Bytes of the image.
    size: u64,
    /// The keys that signed, as the archive says.
    signatures: Vec<KeyId>,
    /// The manifest.
    manifest: Solution,
    /// The images.
    images: Vec<ImageLine>,
    /// Signatures and other referrers of images, if there are any.
    #[serde(skip_serializing_if = "schemas::is_default")]
    referrers: usize,
    #[serde(flatten)]
    map: Option<ShownMap>,
    /// The sets of objects that it carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sets: Vec<SetLine>,
    /// The charts that it carries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    charts: Vec<ChartLine>,
    /// The programs that it includes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    programs: Vec<ContentsEntry>,
    /// Its files, with `--files`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<ContentsEntry>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(plan) = plans::recognise(&arguments.archive)? {
        refuse_of_archives(arguments)?;
        return Ok(plan::show(&plan, output));
    }
    let inspected = inspect(arguments)?;
    Ok(give(output, &inspected, |inspected| {
        match (&inspected.map, arguments.map.image_map) {
            (Some(map), Some(_)) => map.show(),
            _ => words::show(inspected),
        }
        render::note(NOT_VERIFIED);
    }))
}

/// A plan has neither files nor a registry to choose.
fn refuse_of_archives(arguments: &Arguments) -> Result<(), Failure> {
    let of_archives = [
        (arguments.files, "--files"),
        (arguments.registry.is_some(), "--registry"),
    ];
    match of_archives.iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(Failure::usage(format!(
            "`{}` is a plan, and `{flag}` is for archives",
            arguments.archive.display()
        ))
        .hint(format!("leave `{flag}` out"))),
        None => Ok(()),
    }
}

fn inspect(arguments: &Arguments) -> Result<Inspected, Failure> {
    let read = |error| failure::reading(&arguments.archive, error);
    let mut opened = Opened::open(&arguments.archive).map_err(read)?;
    let detached = |error| failure::beside(&arguments.archive, error);
    if let Some(beside) = archive::read_detached(&arguments.archive).map_err(detached)? {
        opened.attach(&beside).map_err(detached)?;
    }
    let signatures = opened.envelope().signatures();
    let signatures = signatures.map(|signature| signature.key_id).collect();
    let listed = opened
        .skip_signature()
        .and_then(archive::Trusted::list)
        .map_err(read)?;
    let manifest = listed.read(archive::MANIFEST, limits::MANIFEST_SIZE);
    let manifest = Solution::from_slice(&manifest.map_err(read)?).map_err(|error| {
        Failure::no(error).context(format!("`{}`: manifest.yaml", arguments.archive.display()))
    })?;
    let predicate = &listed.statement().predicate;
    let images = images::images(&arguments.archive, &listed, &manifest.spec.images)?;
    let map = map(arguments, &listed, &images)?;
    let sets = sets::sets(&arguments.archive, &listed, &manifest.spec.manifests)?;
    let charts = charts::charts(&arguments.archive, &listed, &manifest.spec.charts)?;
    let mut files = Vec::new();
    if arguments.files {
        files.extend_from_slice(listed.contents().entries());
    }
    Ok(Inspected {
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
        charts,
        programs: programs(&listed),
        manifest,
        files,
    })
}

/// The programs, if the statement says that there are any.
fn programs(listed: &Listed) -> Vec<ContentsEntry> {
    let requires = &listed.statement().predicate.requires;
    if !requires.contains(&Feature::Programs.capability()) {
        return Vec::new();
    }
    let paths = Architecture::ALL.into_iter().map(helm_path);
    let found = paths.filter_map(|it| listed.contents().get(it.as_str()).cloned());
    found.collect()
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
        layout: arguments.layout.layout(),
        format: arguments.map.image_map.unwrap_or_default(),
        reach: &registries::options(&arguments.reach)?,
    };
    mapping.at(registry).map(Some)
}
