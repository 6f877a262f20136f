//! The input of `solution pack`: a source tree, or a source to create one from. Flags that do not apply to the input
//! are refused.

use std::path::{Path, PathBuf};
use std::{fs, io};

use process::Scratch;
use schemas::{SolutionSource, limits};

use super::Arguments;
use super::arguments::CreationArguments;
use super::decisions::{DecidedKind, SourceDecisions};
use crate::args::first_given;
use crate::commands::init::source::{Source, is_notation};
use crate::failure::{Failure, Outcome, cannot};
use crate::{environment, interrupt};

/// The names of the file that makes a directory a source tree. The second one is reported as a mistake.
const TREE_FILES: [&str; 2] = ["solution.yaml", "solution.yml"];

/// The input of a pack.
pub(super) enum Input {
    /// The directory of a source tree.
    Tree(PathBuf),
    /// A source to create a tree from.
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

/// Returns true if a path names a source tree. This includes a directory without `solution.yaml` that contains no chart
/// or manifests, so that the packager reports the missing file.
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

/// Returns true if the directory itself contains a YAML file. Subdirectories do not count.
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

/// The source tree that is packed.
#[derive(Debug)]
pub(super) struct PackTree {
    /// The directory with `solution.yaml`.
    pub(super) directory: PathBuf,
    /// The decisions about it, if this run created it.
    pub(super) decisions: Option<SourceDecisions>,
}

impl PackTree {
    /// Returns a tree that the user has created.
    pub(super) fn existing(directory: PathBuf) -> Self {
        Self {
            directory,
            decisions: None,
        }
    }

    /// Returns the default name of the archive, from the name of the Solution, in the current directory. The path is
    /// empty if `solution.yaml` cannot be read. In this case, the packager reports the problem and writes nothing.
    pub(super) fn default_archive(&self) -> PathBuf {
        let id = read_source(&self.directory).and_then(|source| source.id().ok());
        id.map(|id| format!("{id}.iso").into()).unwrap_or_default()
    }

    /// Returns the hint if the user must decide something about the tree.
    pub(super) fn continuation(&self) -> Option<String> {
        let decisions = self.decisions.as_ref()?;
        Some(match &decisions.tree {
            Some(saved) => {
                let saved = saved.display();
                format!(
                    "the source tree is in `{saved}`: edit `{saved}/solution.yaml`, then run `solution pack {saved}`"
                )
            }
            None if decisions.kind == DecidedKind::Chart => "if the chart requires values, run the same command with `--values FILE`; otherwise with `--save-source DIR`, edit DIR/solution.yaml, then run `solution pack DIR`".to_owned(),
            None => "run the same command with `--save-source DIR`, edit DIR/solution.yaml, then run `solution pack DIR`".to_owned(),
        })
    }

    /// Adds the hint on how to continue to a failure.
    pub(super) fn continued(&self, failure: Failure) -> Failure {
        let saved = self
            .decisions
            .as_ref()
            .and_then(|decision| decision.tree.as_ref());
        match self.continuation() {
            // Editing the tree does not help to reach a registry.
            _ if failure.is_login() || failure.is_untrusted() => failure,
            // If the tree is not kept, the user can only repeat the command.
            Some(hint) if saved.is_some() || failure.outcome() == Outcome::No => failure.hint(hint),
            _ => failure,
        }
    }

    /// Returns the sentence for a signal while an archive is written.
    pub(super) fn interrupted(&self, out: &Path) -> String {
        let out = out.display();
        let saved = self
            .decisions
            .as_ref()
            .and_then(|decision| decision.tree.as_ref());
        match saved {
            Some(saved) => {
                let saved = saved.display();
                format!(
                    "interrupted: `{out}` was not written; the source tree is in `{saved}`: run `solution pack {saved} --add-images`, then `solution pack {saved}`"
                )
            }
            None => format!(
                "interrupted: `{out}` was not written; run the same command again: cached content is not downloaded again"
            ),
        }
    }
}

/// Reads the document of a source tree. None if it cannot be read.
pub(super) fn read_source(directory: &Path) -> Option<SolutionSource> {
    let bytes = files::read(&directory.join("solution.yaml"), limits::MANIFEST_SIZE);
    SolutionSource::from_slice(&bytes.ok()?).ok()
}

/// Creates a private directory for the tree, unless the user keeps the tree.
pub(super) fn temporary(creation: &CreationArguments) -> Result<Option<Scratch>, Failure> {
    if let Some(saved) = &creation.save_source {
        // Check this before anything is downloaded.
        release::check_empty(saved).map_err(|error| {
            let hint =
                "name another directory with `--save-source`, which is empty or does not exist";
            Failure::no(error).hint(hint)
        })?;
        return Ok(None);
    }
    let parent = environment::scratch();
    // Only the kind of the error is reported, because the rest names a path that the user did not choose.
    let failed = |error: io::Error| cannot("write", &parent)(io::Error::from(error.kind()));
    let temporary = Scratch::new(&parent).map_err(failed)?;
    interrupt::remove_at_end(temporary.path().to_owned());
    Ok(Some(temporary))
}
