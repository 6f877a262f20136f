//! Findings as review tools read them: SARIF, which tools for code show where each finding stands, and JUnit, which tools
//! for tests count. Both are documents that others have defined, and go to standard output alone.

mod junit;
mod sarif;

use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use validator::{Finding, JudgedFindings, SourcePlace};

use crate::args::{Format, ReportFiles};
use crate::failure::{Failure, cannot};
use crate::render;

/// The file in which a finding is shown if nobody knows where in the source tree it is.
const SOURCE: &str = "solution.yaml";

/// What was checked.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checked<'a> {
    /// An archive.
    Archive(&'a Path),
    /// The directory with `solution.yaml` that an archive is made from.
    Tree(&'a Path),
}

/// What was checked, and what was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Review<'a> {
    /// What was checked.
    pub(crate) checked: Checked<'a>,
    /// What was found, as it was judged.
    pub(crate) judged: &'a JudgedFindings,
    /// What people should know of the judging.
    pub(crate) notes: &'a [String],
}

/// The file in which review tools show a finding, and where in it.
#[derive(Debug, PartialEq, Eq)]
struct ReviewPlace {
    path: PathBuf,
    line: Option<u32>,
    column: Option<u32>,
}

impl fmt::Display for ReviewPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        for number in [self.line, self.column].into_iter().flatten() {
            write!(f, ":{number}")?;
        }
        Ok(())
    }
}

impl Checked<'_> {
    /// The path as it was given, in its shortest spelling.
    fn path(&self) -> PathBuf {
        let (Self::Archive(path) | Self::Tree(path)) = self;
        plain(path)
    }

    /// The place of a finding: the same for every review tool.
    fn place(&self, finding: &Finding) -> ReviewPlace {
        let at = |path, line, column| ReviewPlace { path, line, column };
        match (self, &finding.source) {
            (Self::Archive(path), _) => at(plain(path), None, None),
            (Self::Tree(directory), None) => at(plain(&directory.join(SOURCE)), Some(1), None),
            (Self::Tree(directory), Some(SourcePlace { file, line, column })) => {
                // A file without a line is shown at its head.
                let line = line.unwrap_or(1).max(1);
                at(plain(&directory.join(file)), Some(line), *column)
            }
        }
    }
}

/// A path without `.`, as checkouts name their files.
fn plain(path: &Path) -> PathBuf {
    let parts = path.components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

impl Review<'_> {
    /// Shows it, if a review tool reads standard output, and writes the files that were asked for.
    pub(crate) fn give(&self, format: Format, files: &ReportFiles) -> Result<(), Failure> {
        match format {
            Format::Table | Format::Json | Format::Yaml | Format::Metrics => {}
            Format::Sarif => render::document(&sarif::log(self)),
            Format::Junit => junit::lines(self).iter().for_each(render::result_line),
        }
        if let Some(path) = &files.sarif {
            write(path, format!("{:#}\n", sarif::log(self)))?;
        }
        if let Some(path) = &files.junit {
            write(path, junit::lines(self).join("\n") + "\n")?;
        }
        Ok(())
    }
}

/// Removes the reports of an earlier run, which would else be read as those of one that could not judge.
pub(crate) fn remove_earlier(files: &ReportFiles) -> Result<(), Failure> {
    let files = files.sarif.iter().chain(&files.junit);
    // A pipe or a device is only written to.
    let mut reports = files.filter(|path| fs::symlink_metadata(path).is_ok_and(|it| it.is_file()));
    reports.try_for_each(|path| fs::remove_file(path).map_err(cannot("replace", path)))
}

fn write(path: &Path, text: String) -> Result<(), Failure> {
    fs::write(path, text).map_err(cannot("write", path))
}
