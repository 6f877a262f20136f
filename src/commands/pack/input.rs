//! The positional argument of `solution pack`: a source tree, or a source to create one from.

use std::fs;
use std::path::{Path, PathBuf};

use super::Arguments;
use crate::args::first_given;
use crate::commands::init::source::{Source, is_notation};
use crate::failure::Failure;

/// The names of the file that makes a directory a source tree. The second one is reported as a mistake.
const TREE_FILES: [&str; 2] = ["solution.yaml", "solution.yml"];

/// The input of a pack.
pub(super) enum Input {
    /// The directory of a source tree.
    Tree(PathBuf),
    /// A source to create one from.
    Source(Source),
}

impl Input {
    /// Reads the argument. Without one, the input is the source tree in the current directory.
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let input = match &arguments.source {
            None => Self::Tree(".".into()),
            Some(named) if is_tree(named) => Self::Tree(named.clone()),
            Some(named) => Self::Source(Source::recognize(named).map_err(|failure| {
                failure.hint("or name a source tree: a directory with solution.yaml, as `solution init` creates it")
            })?),
        };
        match &input {
            Self::Tree(directory) => refuse_with_tree(arguments, directory)?,
            Self::Source(source) => refuse_with_source(arguments, source)?,
        }
        Ok(input)
    }
}

/// Whether a path names a source tree. A directory without `solution.yaml` is one, too, unless it holds a chart or
/// manifests: then the packager reports what is missing.
fn is_tree(named: &Path) -> bool {
    if named.to_str().is_some_and(is_notation) {
        return false;
    }
    if named.is_dir() {
        let has_tree_file = TREE_FILES
            .iter()
            .any(|file| named.join(file).symlink_metadata().is_ok());
        return has_tree_file || !has_manifests(named);
    }
    let name = named.file_name().unwrap_or_default();
    TREE_FILES.iter().any(|file| name == *file)
}

/// Whether a directory itself has a YAML file, as a chart's directory does.
fn has_manifests(directory: &Path) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.any(|entry| {
        let path = entry.path();
        let ending = path.extension().unwrap_or_default();
        ending == "yaml" || ending == "yml"
    })
}

/// Refuses flags that apply to a source only.
fn refuse_with_tree(arguments: &Arguments, directory: &Path) -> Result<(), Failure> {
    let creation = &arguments.creation;
    let of_source = [
        (creation.name.is_some(), "--name"),
        (creation.version.is_some(), "--version"),
        (!creation.values.is_empty(), "--values"),
        (creation.save_source.is_some(), "--save-source"),
    ];
    let Some(flag) = first_given(&of_source) else {
        return Ok(());
    };
    let message = format!(
        "cannot use `{flag}` with a source tree: it applies to a chart or a release that `pack` creates one from"
    );
    let directory = directory.display();
    Err(Failure::usage(message).hint(format!(
        "omit `{flag}`, and edit `{directory}/solution.yaml` instead"
    )))
}

/// Refuses flags that apply to a source tree only, or to another kind of source.
fn refuse_with_source(arguments: &Arguments, source: &Source) -> Result<(), Failure> {
    let kind = source.kind();
    if arguments.add_images {
        let message =
            format!("cannot use `--add-images` with {kind}: packing {kind} adds its images");
        return Err(Failure::usage(message).hint(
            "omit `--add-images`; to keep the source tree with the images, use `--save-source DIR`",
        ));
    }
    if !arguments.creation.values.is_empty() && !matches!(source, Source::Chart(..)) {
        let message = format!("cannot use `--values` with {kind}: it applies to a chart");
        return Err(Failure::usage(message).hint("omit `--values`"));
    }
    let findings = &arguments.findings;
    let reports = &findings.reports;
    let is_reported =
        findings.format.is_for_findings() || reports.sarif.is_some() || reports.junit.is_some();
    if is_reported && arguments.creation.save_source.is_none() {
        let message = format!(
            "cannot use SARIF or JUnit with {kind}: their findings name files of a source tree, which is not kept"
        );
        return Err(Failure::usage(message).hint("keep the source tree with `--save-source DIR`"));
    }
    Ok(())
}
