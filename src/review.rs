//! Findings as review tools read them: SARIF, which tools for code show where each finding stands, and JUnit, which tools
//! for tests count. Both are documents that others have defined, and go to standard output alone.

mod junit;
mod sarif;

use std::path::Path;

use validator::JudgedFindings;

use crate::args::Format;
use crate::render;

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

impl Checked<'_> {
    /// The path as it was given.
    fn path(&self) -> &Path {
        match self {
            Self::Archive(path) | Self::Tree(path) => path,
        }
    }
}

impl Review<'_> {
    /// Shows it, if a review tool reads.
    pub(crate) fn show(&self, format: Format) {
        match format {
            Format::Human | Format::Json | Format::Metrics => {}
            Format::Sarif => render::document(&sarif::log(self)),
            Format::Junit => junit::lines(self).iter().for_each(render::result_line),
        }
    }
}
