//! The source of a source tree: one function recognizes it, for `init` and `pack`, and another creates the tree. Both
//! commands therefore accept the same notation.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use ::release::SourceTree;
use archive::Medium;
use schemas::ChartSource;

use super::arguments::{CreatedTree, TreeChoices};
use super::{chart, helmfile, release};
use crate::failure::Failure;

/// The forms of a source.
const FORMS: &str = "name a Helm chart (a directory, a `.tgz` file, `oci://HOST/PATH:VERSION` or `https://REPOSITORY#NAME@VERSION`), a release (a YAML file or a directory of them), a helmfile, or an upstream archive (ISO)";

/// The file that makes a directory a chart.
const CHART: &str = "Chart.yaml";

/// The source of a source tree.
pub(crate) enum Source {
    /// A Helm chart, with the text that names it.
    Chart(ChartSource, String),
    /// A helmfile.
    Helmfile(PathBuf),
    /// An ISO image of an upstream archive.
    Upstream(PathBuf, Medium),
    /// A release of manifests.
    Release(PathBuf),
}

impl Source {
    /// Recognizes the source at a path, or in the notation of a chart.
    pub(crate) fn recognize(named: &Path) -> Result<Self, Failure> {
        if let Some(called) = named.to_str().filter(|called| is_notation(called)) {
            return Self::chart(called);
        }
        let found = fs::metadata(named)
            .map_err(|error| Failure::from(files::failed(named, error)).hint(FORMS))?;
        if found.is_dir() && named.join(CHART).exists() || is_packed_chart(named) {
            return Ok(Self::Chart(
                chart::on_disk(named.to_owned()),
                named.display().to_string(),
            ));
        }
        if helmfile::is_one(named)? {
            return Ok(Self::Helmfile(named.to_owned()));
        }
        let medium = found.is_dir().then_some(None);
        let medium = medium.unwrap_or_else(|| release::open_upstream(named));
        Ok(match medium {
            Some(medium) => Self::Upstream(named.to_owned(), medium),
            None => Self::Release(named.to_owned()),
        })
    }

    /// Parses a chart, in the notation of `solution.yaml` or as a path on this disk.
    pub(crate) fn chart(called: &str) -> Result<Self, Failure> {
        let source = if is_notation(called) {
            called.parse().map_err(Failure::usage)?
        } else {
            chart::on_disk(called.into())
        };
        Ok(Self::Chart(source, called.to_owned()))
    }

    /// Returns the kind of the source, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Chart(..) => "a chart",
            Self::Helmfile(_) => "a helmfile",
            Self::Upstream(..) => "an archive",
            Self::Release(_) => "manifests",
        }
    }

    /// Creates the tree in the directory that `place` returns for it.
    pub(crate) fn create(
        &self,
        choices: &TreeChoices<'_>,
        place: impl FnOnce(&SourceTree) -> Result<PathBuf, Failure>,
    ) -> Result<CreatedTree, Failure> {
        let mut published = None;
        let tree = match self {
            Self::Upstream(path, medium) => {
                return release::create_from_upstream(path, medium, choices, place);
            }
            Self::Chart(source, called) => {
                let (chart, tree) = chart::tree(source, called, choices)?;
                published = Some(chart);
                tree
            }
            Self::Helmfile(path) => helmfile::tree(path, choices)?,
            Self::Release(path) => release::tree(path, choices)?,
        };
        let directory = place(&tree)?;
        let written = tree.write(&directory)?;
        Ok(CreatedTree {
            directory,
            tree,
            chart: published,
            written,
        })
    }
}

/// Returns true if a text has the notation of a chart in `solution.yaml`.
pub(crate) fn is_notation(text: &str) -> bool {
    let notations = ["file:", "dir:", "oci:", "http:", "https:"];
    notations.iter().any(|notation| text.starts_with(notation))
}

/// Returns true if a file is compressed with gzip, as packed charts are. A pipe is not opened, because opening it would
/// block until its writer does.
fn is_packed_chart(path: &Path) -> bool {
    let mut magic = [0; 2];
    let is_file = path.is_file();
    let opened = is_file.then(|| File::open(path)).and_then(Result::ok);
    let read = opened.and_then(|mut file| file.read_exact(&mut magic).ok());
    let is_named = path.extension().is_some_and(|ending| ending == "tgz");
    is_file && (is_named || read.is_some() && magic == [0x1f, 0x8b])
}
