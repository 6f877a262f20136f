//! Findings for review tools. SARIF is for tools that show findings in source code, and JUnit for tools that count
//! tests. Both formats are defined elsewhere, so standard output contains the document only.

mod junit;
mod sarif;

use std::path::{Component, Path, PathBuf};
use std::{fmt, fs};

use validator::{EvaluatedFindings, Finding, SourcePlace};

use crate::args::{Format, ReportFiles};
use crate::failure::{Failure, cannot};
use crate::render;

/// The file in which a finding without a known place is shown.
const SOURCE: &str = "solution.yaml";

/// The checked subject.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Checked<'a> {
    /// An archive.
    Archive(&'a Path),
    /// The directory with the `solution.yaml` of the archive.
    Tree(&'a Path),
}

/// The result of a check for review tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Review<'a> {
    /// The checked subject.
    pub(crate) checked: Checked<'a>,
    /// The evaluated findings.
    pub(crate) judged: &'a EvaluatedFindings,
    /// The notes on the evaluation.
    pub(crate) notes: &'a [String],
}

/// The place in which review tools show a finding.
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
    /// Returns the path from the command line, in its shortest form.
    fn path(&self) -> PathBuf {
        let (Self::Archive(path) | Self::Tree(path)) = self;
        plain(path)
    }

    /// Returns the place of a finding, which is the same for every review tool.
    fn place(&self, finding: &Finding) -> ReviewPlace {
        let at = |path, line, column| ReviewPlace { path, line, column };
        match (self, &finding.source) {
            (Self::Archive(path), _) => at(plain(path), None, None),
            (Self::Tree(directory), None) => at(plain(&directory.join(SOURCE)), Some(1), None),
            (Self::Tree(directory), Some(SourcePlace { file, line, column })) => {
                // A file without a line is shown at its first line.
                let line = line.unwrap_or(1).max(1);
                at(plain(&directory.join(file)), Some(line), *column)
            }
        }
    }
}

/// Returns a path without `.`, because checkouts name their files in this way.
fn plain(path: &Path) -> PathBuf {
    let parts = path.components();
    parts.filter(|part| *part != Component::CurDir).collect()
}

impl Review<'_> {
    /// Writes the findings to standard output for a review tool, and to the requested files.
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

/// Removes the reports of an earlier run. If this run fails, a tool would otherwise read them as its result.
pub(crate) fn remove_earlier(files: &ReportFiles) -> Result<(), Failure> {
    let files = files.sarif.iter().chain(&files.junit);
    // A pipe or a device must not be removed.
    let mut reports =
        files.filter(|path| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()));
    reports.try_for_each(|path| fs::remove_file(path).map_err(cannot("replace", path)))
}

fn write(path: &Path, text: String) -> Result<(), Failure> {
    fs::write(path, text).map_err(cannot("write", path))
}
