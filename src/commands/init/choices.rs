//! The choices of a user for a source tree, and the tree that is created with them.

use std::path::{Path, PathBuf};

use release::{PublishedChart, SourceTree, Wishes};
use sources::Remote;

use super::arguments::{HelmfileArguments, Taken};
use crate::args::Output;

/// The choices for a source tree, and how its charts are reached.
#[derive(Debug)]
pub(crate) struct TreeChoices<'a> {
    /// The name and version, if they are chosen.
    pub(crate) wishes: Wishes,
    /// The values files of a chart; later files take precedence.
    pub(crate) values: &'a [PathBuf],
    /// The form of a release of manifests.
    pub(crate) taken: Taken,
    /// The choices for a helmfile.
    pub(crate) helmfile: &'a HelmfileArguments,
    /// The ways to reach charts that are not on this disk.
    pub(crate) remote: Remote,
    /// The cache for downloaded charts.
    pub(crate) cache: &'a Path,
    /// The form of progress.
    pub(crate) output: Output,
}

/// A source tree that was created.
#[derive(Debug)]
pub(crate) struct CreatedTree {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// The tree.
    pub(crate) tree: SourceTree,
    /// The chart that it packages, if it was created from one.
    pub(crate) chart: Option<PublishedChart>,
    /// The files that were written.
    pub(crate) written: Vec<PathBuf>,
}
