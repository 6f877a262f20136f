//! `solution init`: a source tree to begin with, from a template or from an operator's release.

use std::path::{Path, PathBuf};

use clap::Args;
use release::{Note, SourceTree, Weight, Wishes};
use schemas::{SolutionName, Version};
use serde::Serialize;

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
        (Some(release), _) => from_release(arguments, release, output),
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
    let given = [
        (arguments.name.is_some(), "--name"),
        (arguments.version.is_some(), "--version"),
        (arguments.deployment.is_some(), "--deployment"),
    ];
    given
        .into_iter()
        .find_map(|(is_given, option)| is_given.then_some(option))
}

fn needs_from(option: &str, directory: &Path) -> Failure {
    let directory = directory.display();
    Failure::usage(format!(
        "`{option}` is about a release, and none is given"
    ))
    .hint(format!(
        "give the release with `--from`; for a template leave `{option}` out, and edit {directory}/solution.yaml once it is there"
    ))
}

fn from_template(directory: &Path, output: Output) -> Result<Outcome, Failure> {
    let written = packager::init(directory)?;
    render::result(output, &written, |written| {
        for path in written {
            render::line(path.display().to_string());
        }
        let directory = directory.display();
        render::note!(
            "next: put your images in place as {directory}/README.md says, then `solution pack {directory} -o FILE --key KEY`"
        );
    });
    Ok(Outcome::Yes)
}

/// What was made of a release.
#[derive(Serialize)]
struct Made<'a> {
    solution: String,
    version: String,
    files: &'a [PathBuf],
    images: usize,
    notes: &'a [Note],
}

fn from_release(arguments: &Arguments, release: &Path, output: Output) -> Result<Outcome, Failure> {
    let draft = draft(arguments, release)?;
    let directory = arguments
        .directory
        .clone()
        .unwrap_or_else(|| PathBuf::from(draft.id.name().as_str()));
    let written = draft.write(&directory)?;
    let made = Made {
        solution: draft.id.name().to_string(),
        version: draft.id.version().to_string(),
        files: &written,
        images: draft.source.spec.images.len(),
        notes: &draft.notes,
    };
    render::result(output, &made, |made| {
        for path in made.files {
            render::line(path.display().to_string());
        }
        show(made, &directory);
    });
    Ok(Outcome::Yes)
}

fn draft(arguments: &Arguments, release: &Path) -> Result<SourceTree, Failure> {
    let directory = arguments.directory.as_deref().and_then(Path::file_name);
    let of_directory = || directory?.to_str()?.parse().ok();
    let wishes = Wishes {
        name: arguments.name.clone().or_else(of_directory),
        version: arguments.version.clone(),
        deployment: arguments.deployment.clone(),
    };
    Ok(release::draft(&release::read(release)?, &wishes)?)
}

/// What to know, the weightiest in full and the rest by number.
fn show(made: &Made<'_>, directory: &Path) {
    let of = |weight| made.notes.iter().filter(move |note| note.weight == weight);
    let images = render::count(made.images, "image");
    render::note!("{} {}: {images}", made.solution, made.version);
    for (weight, head) in [(Weight::Chosen, "chosen"), (Weight::Decide, "decide")] {
        for note in of(weight) {
            render::note!("{head}: {}: {}", note.about, note.text);
        }
    }
    let directory = directory.display();
    let left = of(Weight::Lost).count() + of(Weight::Made).count();
    render::note!(
        "{left} more in {directory}/NOTES.md: what was left out, and what the import makes itself"
    );
    render::note!(
        "next: read {directory}/NOTES.md and {directory}/solution.yaml, then `solution pack {directory} -o FILE --key KEY`"
    );
}
