//! `solution inspect`: what an archive or a plan says of itself, without asking who signed it.

pub(super) mod archive;
mod charts;
pub(super) mod fleet_plan;
mod fleet_words;
mod images;
pub(super) mod outline;
pub(super) mod plan;
mod prerequisites;
mod programs;
mod sboms;
mod sets;
mod signatures;
pub(super) mod words;

use std::path::PathBuf;

use clap::Args;
use registry::RegistryAddress;

use super::give;
use super::image_map::{LayoutArguments, MapArguments};
use super::look::signers::SignerArguments;
use crate::args::{Output, RegistryArguments, first_given};
use crate::failure::{Failure, Outcome};
use crate::plans;

/// Show the contents of an archive or a plan file
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("registry")),
    mut_arg("image_map", |argument| argument.requires("registry")),
    mut_arg("ca_file", |argument| argument.requires("registry")),
    mut_arg("cert_dir", |argument| argument.requires("registry")),
    mut_arg("plain_http", |argument| argument.requires("registry")),
    after_help = "\
The command verifies that the content it reads is intact. `solution validate` validates the whole archive, and \
`solution archive cat` prints a file. A plan is shown with the changes to each object.

Examples:
  solution inspect app.iso
  solution inspect app.iso --files
  solution inspect app.iso --output json
  solution inspect app.iso --sbom
  solution inspect app.iso --registry registry.site/apps
  solution inspect app.iso --registry registry.site/apps --image-map kustomize
  solution inspect plan.json"
)]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or a plan file
    archive: PathBuf,

    /// List every file with its size and digest
    #[arg(long)]
    files: bool,

    /// Show the SBOMs of each image, with their format, generator, number of packages and files
    #[arg(long)]
    sbom: bool,

    /// The registry that nodes will pull from
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    map: MapArguments,

    #[command(flatten)]
    reach: RegistryArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(plan) = plans::recognise(&arguments.archive)? {
        refuse_of_archives(arguments)?;
        return Ok(plan::show(&plan, output));
    }
    let inspected = archive::inspect(arguments)?;
    Ok(give(output, &inspected, |inspected| {
        match (&inspected.map, arguments.map.image_map) {
            (Some(map), Some(_)) => map.show(),
            _ => words::show(inspected),
        }
        arguments.signers.note();
    }))
}

/// A plan has neither files nor a registry to choose.
fn refuse_of_archives(arguments: &Arguments) -> Result<(), Failure> {
    let of_archives = [
        (arguments.files, "--files"),
        (arguments.sbom, "--sbom"),
        (arguments.registry.is_some(), "--registry"),
    ];
    let Some(flag) = first_given(&of_archives) else {
        return Ok(());
    };
    let plan = arguments.archive.display();
    let message = format!("cannot use `{flag}` with `{plan}`: it is a plan, not an archive");
    Err(Failure::usage(message).hint(format!("omit `{flag}`")))
}
