//! `solution site check FILE`: a file by itself, and what of it does not fit archives.

use std::path::{Path, PathBuf};

use helm::{Helm, HelmError};
use importer::{Obstacle, Offer, SiteCompared, SiteFile, SiteProblem};
use schemars::JsonSchema;
use schemas::SolutionName;
use serde::Serialize;

use crate::args::Output;
use crate::commands::carried::ReadArchive;
use crate::commands::give;
use crate::commands::look::signers::SignerArguments;
use crate::commands::refusal::{InTheWay, found};
use crate::failure::{self, Failure, Outcome};
use crate::{interrupt, render};

/// A valid file, with its blockers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Usable<'a> {
    /// The path that was checked.
    file: &'a Path,
    /// The archives that it was compared with.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    archives: &'a [PathBuf],
    /// Notes on settings with less effect than they seem to have, and on those that could not be checked.
    notes: &'a [String],
}

/// A file, and what it is compared with.
pub(super) struct FileCheck<'a> {
    pub(super) path: &'a Path,
    pub(super) archives: &'a [PathBuf],
    /// The keys that must have signed the archives.
    pub(super) signers: &'a SignerArguments,
    /// The program that was named for charts.
    pub(super) helm: Option<&'a Path>,
}

impl FileCheck<'_> {
    /// Checks a file without a cluster.
    pub(super) fn check(&self, file: &SiteFile, output: Output) -> Result<Outcome, Failure> {
        let SiteCompared { problems, notes } = self.compare(file)?;
        let notes = [importer::operators_alone(file), notes].concat();
        let usable = Usable {
            file: self.path,
            archives: self.archives,
            notes: &notes,
        };
        if !problems.is_empty() {
            if output == Output::Human {
                render::notes("note: ", &notes);
            }
            return Ok(found(output, usable, &problems));
        }
        Ok(give(output, &usable, |_| {
            render::line!("`{}` is a valid site configuration", self.path.display());
            render::notes("note: ", &notes);
            if !self.archives.is_empty() {
                self.signers.note();
            }
        }))
    }

    /// Compares a file with all archives.
    fn compare(&self, file: &SiteFile) -> Result<SiteCompared, Failure> {
        let mut all = SiteCompared::default();
        if self.archives.is_empty() {
            return Ok(all);
        }
        let helm = self.helm()?;
        let mut solutions: Vec<SolutionName> = Vec::new();
        for path in self.archives {
            let archive = ReadArchive::open(path, self.signers)?;
            let offer = Offer {
                id: &archive.id,
                spec: &archive.spec,
                sets: &archive.sets()?,
                charts: &archive.charts()?,
            };
            let cancel = interrupt::cancel();
            let compared = importer::compare_site(file, &offer, helm.as_ref(), cancel);
            let compared = compared.map_err(HelmError::from)?;
            all.problems.extend(compared.problems);
            all.notes.extend(compared.notes);
            solutions.push(archive.id.name().clone());
        }
        let solutions: Vec<&SolutionName> = solutions.iter().collect();
        all.notes.extend(importer::like_named(file, &solutions));
        Ok(all)
    }

    /// The Helm that judges values. One that nobody named and that is of another version is as good as none.
    fn helm(&self) -> Result<Option<Helm>, Failure> {
        let Some(program) = crate::helm::program(self.helm) else {
            return Ok(None);
        };
        match Helm::at(&program) {
            Ok(helm) => Ok(Some(helm)),
            Err(error) if self.helm.is_some() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

impl From<&SiteProblem> for InTheWay {
    fn from(problem: &SiteProblem) -> Self {
        let obstacle = match problem {
            SiteProblem::Parameter { unfit, .. } => Some(Obstacle::from((**unfit).clone())),
            SiteProblem::Unknown { .. } | SiteProblem::Values { .. } => None,
        };
        Self {
            obstacle: obstacle.map(Box::new),
            ..Self::new(problem.to_string(), failure::site_problem(problem))
        }
    }
}
