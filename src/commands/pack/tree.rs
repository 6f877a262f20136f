//! The source tree that `solution pack` packs, and what it was created from.

use std::io;
use std::path::{Path, PathBuf};

use process::Scratch;
use schemas::{SolutionSource, limits};

use super::creation::CreationArguments;
use super::decisions::{DecidedKind, SourceDecisions};
use crate::failure::{Failure, Outcome, cannot};
use crate::{environment, interrupt};

/// The source tree that is packed.
#[derive(Debug)]
pub(super) struct PackTree {
    /// The directory with `solution.yaml`.
    pub(super) directory: PathBuf,
    /// The decisions about it, if this run created it.
    pub(super) decisions: Option<SourceDecisions>,
}

impl PackTree {
    /// A tree that exists.
    pub(super) fn existing(directory: PathBuf) -> Self {
        Self {
            directory,
            decisions: None,
        }
    }

    /// The name of the archive, if the user gives none: that of the Solution, in the current directory. It is empty if
    /// `solution.yaml` cannot be read: then the packager reports that, and writes nothing.
    pub(super) fn default_archive(&self) -> PathBuf {
        let id = read_source(&self.directory).and_then(|source| source.id().ok());
        id.map(|id| format!("{id}.iso").into()).unwrap_or_default()
    }

    /// What to do if the tree needs a decision of the user.
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

    /// The failure with the way to continue, if there is one.
    pub(super) fn continued(&self, failure: Failure) -> Failure {
        let saved = self.decisions.as_ref().and_then(|it| it.tree.as_ref());
        match self.continuation() {
            // Without a tree that is kept, the same command is the way to try again.
            Some(hint) if saved.is_some() || failure.outcome() == Outcome::No => failure.hint(hint),
            _ => failure,
        }
    }

    /// The sentence for a signal while an archive is written.
    pub(super) fn interrupted(&self, out: &Path) -> String {
        let out = out.display();
        let saved = self.decisions.as_ref().and_then(|it| it.tree.as_ref());
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

/// The document of a source tree, if it can be read.
pub(super) fn read_source(directory: &Path) -> Option<SolutionSource> {
    let bytes = files::read(&directory.join("solution.yaml"), limits::MANIFEST_SIZE);
    SolutionSource::from_slice(&bytes.ok()?).ok()
}

/// A private directory for the tree, unless it is kept.
pub(super) fn temporary(creation: &CreationArguments) -> Result<Option<Scratch>, Failure> {
    if let Some(saved) = &creation.save_source {
        // Before anything is downloaded.
        release::check_empty(saved).map_err(|error| {
            let hint =
                "name another directory with `--save-source`, which is empty or does not exist";
            Failure::no(error).hint(hint)
        })?;
        return Ok(None);
    }
    let parent = environment::scratch();
    // Its kind only: the rest of the error has a path that the user did not choose.
    let failed = |error: io::Error| cannot("write", &parent)(io::Error::from(error.kind()));
    let temporary = Scratch::new(&parent).map_err(failed)?;
    interrupt::remove_at_end(temporary.path().to_owned());
    Ok(Some(temporary))
}
