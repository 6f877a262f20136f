//! A helmfile as the program `helmfile` reads it, and what it names on this disk and elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use helm::{HelmError, Values};
use release::{ChartRead, Copied, HelmfileReader, HelmfileReleases, ReleaseError, limits};
use schemas::ChartSource;

use super::{PROGRAM, program};
use crate::commands::init::chart;
use crate::commands::init::choices::TreeChoices;
use crate::failure::Failure;
use crate::{environment, interrupt};

/// What became of a run of Helmfile.
fn failed(error: HelmError) -> Failure {
    match error {
        HelmError::Missing(_) => Failure::no(error).hint(PROGRAM),
        HelmError::Failed { .. } => Failure::no(error)
            .hint("reproduce the error with `helmfile build` in the directory of the file"),
        error => error.into(),
    }
}

/// A path without links.
fn real(path: &Path) -> Result<PathBuf, Failure> {
    Ok(fs::canonicalize(path).map_err(|source| files::failed(path, source))?)
}

/// A helmfile, and the files that it names.
pub(super) struct Disk<'a> {
    choices: &'a TreeChoices<'a>,
    from: &'a Path,
    program: PathBuf,
    /// Its directory, without links.
    pub(super) root: PathBuf,
    /// Bytes that may still be copied.
    left: u64,
}

impl<'a> Disk<'a> {
    pub(super) fn of(choices: &'a TreeChoices<'a>, from: &'a Path) -> Result<Self, Failure> {
        let root = match from.parent() {
            Some(parent) if parent != Path::new("") => real(parent)?,
            _ => real(Path::new("."))?,
        };
        Ok(Self {
            choices,
            from,
            program: program(choices.helmfile)?,
            root,
            left: limits::HELMFILE_COPIES,
        })
    }

    /// What Helmfile makes of it.
    fn build(&self, values: Values) -> Result<HelmfileReleases, Failure> {
        let asked = self.choices.helmfile;
        let helmfile = helm::Helmfile {
            program: &self.program,
            file: self.from,
            environment: asked.environment.as_deref(),
            selectors: &asked.selectors,
            variables: environment::variables(),
        };
        let printed = helmfile
            .build(values, interrupt::cancel())
            .map_err(failed)?;
        let usual = environment::variable("HELMFILE_ENVIRONMENT");
        let environment = asked.environment.clone().or(usual);
        let environment = environment.as_deref().unwrap_or("default");
        let helmfile = HelmfileReleases::read(&printed, environment);
        Ok(helmfile.map_err(ReleaseError::from)?)
    }

    fn copied(&mut self, path: &Path, bytes: Vec<u8>) -> Result<Copied, Failure> {
        let size = bytes.len() as u64;
        self.left = self.left.checked_sub(size).ok_or_else(|| {
            let most = limits::HELMFILE_COPIES >> 20;
            let path = path.display();
            let message = format!("cannot copy `{path}`: the copied files would exceed {most} MiB");
            Failure::no(anyhow::anyhow!(message))
                .hint("create multiple Solutions, or get the largest charts from a registry")
        })?;
        let outside = !real(path)?.starts_with(&self.root);
        Ok(Copied { bytes, outside })
    }

    fn read(&self, source: &ChartSource) -> Result<(ChartRead, Vec<u8>), Failure> {
        let read = chart::read(source, self.choices)?;
        let (name, version) = (read.name, read.version);
        Ok((ChartRead { name, version }, read.archive))
    }
}

impl HelmfileReader for Disk<'_> {
    type Error = Failure;

    fn named(&mut self) -> Result<HelmfileReleases, Failure> {
        self.build(Values::Named)
    }

    fn embedded(&mut self) -> Result<HelmfileReleases, Failure> {
        self.build(Values::Embedded)
    }

    fn local_chart(&mut self, path: &Path) -> Result<(ChartRead, Copied), Failure> {
        let (chart, archive) = self.read(&chart::on_disk(path.to_owned()))?;
        Ok((chart, self.copied(path, archive)?))
    }

    fn chart(&mut self, source: &ChartSource) -> Result<ChartRead, Failure> {
        self.read(source).map(|(chart, _)| chart)
    }

    fn file(&mut self, path: &Path) -> Result<Copied, Failure> {
        let bytes = files::read(path, schemas::limits::YAML_SIZE)?;
        self.copied(path, bytes)
    }
}
