//! `solution init`: a source tree to begin with, from a template or from a release.

mod release;
mod update;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use schemas::{SolutionName, Version};

use super::{Files, give};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// The heading of what only says something about a release.
const WITH_FROM: &str = "Only with --from";

/// Write a ready-to-pack source tree: from a template, or from the manifests of a release
#[derive(Args, Debug)]
#[command(after_help = "\
With --from, the release's rendered manifests lie in the tree as they are, and solution.yaml lists every image that \
they name, with where it comes from, and the release's namespaces. If something is left to decide, NOTES.md says what. A \
chart, packed (.tgz) or not, is rendered first: helm template NAME CHART --include-crds > release.yaml

With --as operator, an import makes the operator anew from what solution.yaml says of it; NOTES.md says what was chosen, \
what to decide, and what of the release was left out.

Examples:
  solution init shop
  solution init --from cert-manager.yaml
  solution init --from cert-manager-v1.17.0.yaml cert-manager --update
  solution init --from bundle.yaml prometheus --version 0.77.1
  solution init --from olm-bundle/ database --as operator --deployment database-controller-manager")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the Solution's [default with --from: the name that the release gives]
    #[arg(value_name = "DIR", required_unless_present = "from")]
    directory: Option<PathBuf>,

    /// The release: a file of YAML documents, a directory of them, or an OLM bundle
    #[arg(long, value_name = "FILE|DIR")]
    from: Option<PathBuf>,

    /// What the release becomes: all its objects as they are, or an operator that an import makes anew [default: manifests]
    #[arg(long = "as", value_enum, value_name = "WHAT", help_heading = WITH_FROM)]
    taken: Option<Taken>,

    /// Renew the tree in DIR, made of an earlier release, for this one: keep what was edited, and show what changed
    #[arg(long, help_heading = WITH_FROM, requires = "from", conflicts_with_all = ["name", "deployment"])]
    update: bool,

    /// The Solution's name [default: that of DIR, else what the release says]
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    name: Option<SolutionName>,

    /// The Solution's version [default: what the release says]
    #[arg(long, value_name = "VERSION", help_heading = WITH_FROM)]
    version: Option<Version>,

    /// With --as operator: the Deployment that is the operator, if the release has several
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    deployment: Option<String>,
}

/// What a release becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Taken {
    /// Its objects are carried and applied as they are
    #[default]
    Manifests,
    /// Its operator is run by the import
    Operator,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    match (&arguments.from, &arguments.directory) {
        (Some(from), _) if arguments.update => update::run(arguments, from, output),
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
    let taken = arguments.taken.map(|_| "--as");
    name.or(version).or(deployment).or(taken)
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
