//! `solution site check`: checks a site configuration by itself or against archives, or the stored one against the
//! cluster. A site can thus test a file before it is stored and applied.

use std::path::{Path, PathBuf};

use clap::Args;
use helm::{Helm, HelmError};
use importer::{Blocker, ConfigurableParts, SiteChecked, SiteCompared, SiteFile, SiteProblem};
use schemars::JsonSchema;
use schemas::{EnvironmentName, SolutionName};
use serde::Serialize;

use super::read;
use crate::args::{Output, ReadArguments};
use crate::commands::archive::SignerArguments;
use crate::commands::archive::contents::ArchiveContents;
use crate::commands::blocked::{ShownBlocker, report_blockers};
use crate::commands::give;
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, interrupt, render};

/// Check a site configuration, or its references in the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
With FILE, the command needs no cluster. Otherwise, it checks that the cluster has the Secrets, PriorityClasses, \
nodes and environments in its site configurations.

With --archive, the archive must have the parameters, releases, sets of manifests and workloads that the file \
names. Values must match the types of parameters and the schemas of charts; `helm` checks the schemas. Settings \
for other Solutions are ignored.

Examples:
  solution site check site.yaml
  solution site check prod.yaml -e prod
  solution site check site.yaml --archive shop.iso --archive cart.iso
  solution site check")]
pub(crate) struct Arguments {
    /// The site configuration [default: those in the cluster]
    file: Option<PathBuf>,

    /// The environment of the site configuration [default: all environments]
    #[arg(short, long, value_name = "NAME", requires = "file")]
    environment: Option<EnvironmentName>,

    /// Check the file against this archive (a file or a block device); may be repeated
    #[arg(long = "archive", value_name = "FILE", requires = "file")]
    archives: Vec<PathBuf>,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE", requires = "archives")]
    helm: Option<PathBuf>,

    #[command(flatten)]
    signers: SignerArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// The cluster has all that its files name.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FulfilledRequirement<'a> {
    /// Notes on settings with less effect than they seem to have.
    notes: &'a [String],
    /// There are no blockers.
    #[serde(rename = "obstacles")]
    blockers: [ShownBlocker; 0],
}

/// Further results besides blockers.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Noted")]
pub(crate) struct CheckNotes<'a> {
    /// Notes on settings with less effect than they seem to have.
    notes: &'a [String],
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(path) = &arguments.file {
        let environment = arguments.environment.as_ref();
        let checking = FileCheck {
            path,
            archives: &arguments.archives,
            signers: &arguments.signers,
            helm: arguments.helm.as_deref(),
        };
        return checking.check(&read(path, environment)?, output);
    }
    let SiteChecked { problems, notes } = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::check_site(cluster).await?)
    })?;
    if !problems.is_empty() {
        if output == Output::Human {
            render::notes("note: ", &notes);
        }
        return Ok(report_blockers(
            output,
            CheckNotes { notes: &notes },
            &problems,
        ));
    }
    let fulfilled = FulfilledRequirement {
        notes: &notes,
        blockers: [],
    };
    Ok(give(output, &fulfilled, |_| {
        render::line("the cluster has all objects that the site configurations name");
        render::notes("note: ", &notes);
    }))
}

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

/// The check of a file, with the archives to compare it with.
pub(super) struct FileCheck<'a> {
    pub(super) path: &'a Path,
    pub(super) archives: &'a [PathBuf],
    /// The keys that must have signed the archives.
    pub(super) signers: &'a SignerArguments,
    /// The `helm` program that the user named.
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
            return Ok(report_blockers(output, usable, &problems));
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
            let archive = ArchiveContents::open(path, self.signers)?;
            let offer = ConfigurableParts {
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

    /// Returns the Helm that validates values. A program that the user did not name is optional, so an unsuitable one
    /// is ignored.
    fn helm(&self) -> Result<Option<Helm>, Failure> {
        let Some(program) = crate::helm::program(self.helm) else {
            return Ok(None);
        };
        match Helm::from_path(&program) {
            Ok(helm) => Ok(Some(helm)),
            Err(error) if self.helm.is_some() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

impl From<&SiteProblem> for ShownBlocker {
    fn from(problem: &SiteProblem) -> Self {
        let blocker = match problem {
            SiteProblem::Parameter { unfit, .. } => Some(Blocker::from((**unfit).clone())),
            SiteProblem::Unknown { .. } | SiteProblem::Values { .. } => None,
        };
        Self {
            blocker: blocker.map(Box::new),
            ..Self::new(problem.to_string(), failure::site_problem(problem))
        }
    }
}
