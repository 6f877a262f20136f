//! `solution init`: a source tree to begin with, from a template or from an operator's release.

mod release;

use std::path::{Path, PathBuf};

use clap::Args;
use schemas::{SolutionName, Version};

use super::{Files, give};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// The heading of what only says something about a release.
const WITH_FROM: &str = "Only with --from";

/// Write a ready-to-pack source tree: from a template, or from the manifests of an operator's release
#[derive(Args, Debug)]
#[command(after_help = "\
With --from, the release's rendered manifests become solution.yaml, one CRD a file, and the operator's roles; every \
image that they name is listed with where it comes from, and NOTES.md says what to decide and what was left out. A \
chart, packed (.tgz) or not, is rendered first: helm template NAME CHART --include-crds > release.yaml

Examples:
  solution init shop
  solution init --from cert-manager.yaml
  solution init --from bundle.yaml prometheus --version 0.77.1
  solution init --from olm-bundle/ database --deployment database-controller-manager")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the Solution's [default with --from: the name that the release gives]
    #[arg(value_name = "DIR", required_unless_present = "from")]
    directory: Option<PathBuf>,

    /// The release: a file of YAML documents, a directory of them, or an OLM bundle
    #[arg(long, value_name = "FILE|DIR")]
    from: Option<PathBuf>,

    /// The Solution's name [default: that of DIR, else what the release says]
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    name: Option<SolutionName>,

    /// The Solution's version [default: what the release says]
    #[arg(long, value_name = "VERSION", help_heading = WITH_FROM)]
    version: Option<Version>,

    /// The Deployment that is the operator, if the release has several
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    deployment: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    match (&arguments.from, &arguments.directory) {
        (Some(from), _) => release::run(arguments, from, output),
        (None, Some(directory)) => match about_a_release(arguments) {
            Some(option) => Err(needs_from(option, directory)),
            None => from_template(directory, output),
        },
        (None, None) => Err(Failure::usage(
            "give a directory, or a release with `--from`",
        )),
    }
}

/// An option that only says something about a release.
fn about_a_release(arguments: &Arguments) -> Option<&'static str> {
    let name = arguments.name.as_ref().map(|_| "--name");
    let version = arguments.version.as_ref().map(|_| "--version");
    let deployment = arguments.deployment.as_ref().map(|_| "--deployment");
    name.or(version).or(deployment)
}

fn needs_from(option: &str, directory: &Path) -> Failure {
    let directory = directory.display();
    let message = format!("`{option}` is about a release, and none is given");
    Failure::usage(message).hint(format!(
        "give the release with `--from`; for a template leave `{option}` out, and edit {directory}/solution.yaml once it exists"
    ))
}

fn from_template(directory: &Path, output: Output) -> Result<Outcome, Failure> {
    let files = packager::init(directory)?;
    Ok(give(output, &Files { files }, |written| {
        show_files(&written.files);
        let directory = directory.display();
        render::note!(
            "next: put your images in place as {directory}/README.md says, then `solution pack {directory} -o FILE --key KEY`"
        );
    }))
}

fn show_files(written: &[PathBuf]) {
    for path in written {
        render::line!("{}", path.display());
    }
}
