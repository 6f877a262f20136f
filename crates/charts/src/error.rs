//! Why bytes are not a chart that can be carried.

use schemas::yaml::YamlError;
use schemas::{ChartName, ChartVersion, DigestError, ImageDocumentError, NameError};

use crate::limits;

/// A problem of a chart.
#[derive(Debug, thiserror::Error)]
#[error("{}{problem}", around(.within))]
pub struct ChartError {
    /// The charts around the one that it is about, and that one, from the outermost; empty for the chart itself.
    pub within: Vec<String>,
    /// The problem.
    pub problem: ChartProblem,
}

fn around(charts: &[String]) -> String {
    let parts = charts
        .iter()
        .map(|it| ["in the chart `", it, "`: "].concat());
    parts.collect()
}

impl From<ChartProblem> for ChartError {
    fn from(problem: ChartProblem) -> Self {
        Self {
            within: Vec::new(),
            problem,
        }
    }
}

/// One thing that is wrong with a chart.
#[derive(Debug, thiserror::Error)]
pub enum ChartProblem {
    /// The archive cannot be unpacked, or readers would unpack it differently.
    #[error(transparent)]
    Archive(#[from] ArchiveProblem),
    /// It is larger than is read.
    #[error("{0}")]
    Budget(String),
    /// `Chart.yaml` is missing.
    #[error("has no Chart.yaml")]
    NoMetadata,
    /// A file cannot be read.
    #[error("{0}: {1}")]
    Yaml(&'static str, YamlError),
    /// `Chart.yaml` or `requirements.yaml` says what a chart cannot.
    #[error("{0}")]
    Metadata(String),
    /// The name or version is none that a registry could have.
    #[error("Chart.yaml: {0}")]
    Name(NameError),
    /// A dependency is not in `charts/`.
    #[error("charts/ does not have the dependency `{0}`")]
    Dependency(String),
    /// The chart's own values are no mapping.
    #[error("values.yaml is not a mapping")]
    Values,
    /// The schema of the values cannot be read, or needs something from elsewhere.
    #[error("values.schema.json {0}")]
    Schema(String),
}

/// A problem of an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// Not gzip, damaged, or cut off.
    #[error("is not a whole gzip file")]
    Gzip,
    /// Bytes behind the one member that gzip's readers all read.
    #[error("has bytes after its first gzip member")]
    Behind,
    /// A header that no tar has.
    #[error("has a damaged tar header at byte {0}")]
    Header(usize),
    /// The archive ends within a file, or without its end mark.
    #[error("ends before its end mark")]
    Truncated,
    /// Something follows the end mark.
    #[error("has bytes after its end mark")]
    BehindEnd,
    /// Something other than a file or directory.
    #[error("contains `{0}`, which is neither a file nor a directory")]
    Kind(String),
    /// An extension that readers understand differently.
    #[error("extends the header of a file with `{0}`, which tools interpret differently")]
    Extension(String),
    /// A path that readers take differently, or that leads out.
    #[error("contains `{0}`, which is not a plain path below one directory")]
    Path(String),
    /// A path that was there before.
    #[error("contains `{0}` twice")]
    Twice(String),
    /// A file that is a directory too.
    #[error("contains `{0}` as a file and as a directory")]
    Both(String),
    /// Its directory is not called as the chart.
    #[error("has its files below `{0}/`, not below `{1}/`")]
    Directory(String, String),
    /// A file that is larger than Helm reads.
    #[error("contains `{0}`, which has {1} bytes; Helm reads at most {max}", max = limits::FILE_SIZE)]
    FileSize(String, u64),
}

/// The reason why what a registry has is not a chart.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactProblem {
    /// Not a document that registries have.
    #[error(transparent)]
    Document(#[from] ImageDocumentError),
    /// Several artifacts, of which none is the chart.
    #[error("is an index, not a chart")]
    Index,
    /// An image, or an artifact of another kind.
    #[error("is not a chart: its configuration is of type `{0}`")]
    Config(String),
    /// Not one archive of a chart.
    #[error("has {0} layers with a chart; expected one")]
    Content(usize),
    /// Larger than is read.
    #[error("has a chart of {0} bytes; at most {max} are read", max = limits::ARCHIVE_SIZE)]
    Size(u64),
    /// Several provenance files.
    #[error("has {0} provenance files; expected one")]
    Provenance(usize),
    /// A larger provenance file than is read.
    #[error("has a provenance file of {0} bytes; at most {max} are read", max = limits::PROVENANCE)]
    ProvenanceSize(u64),
}

/// The reason why the index of a repository of charts does not lead to a chart.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// Not an index that can be read.
    #[error("cannot be read")]
    Yaml(#[from] YamlError),
    /// It does not list the chart, or not in this version.
    #[error("does not list the chart `{name}` in version {version}")]
    Missing {
        /// The chart.
        name: ChartName,
        /// Its version.
        version: ChartVersion,
    },
    /// It lists one version twice, and differently.
    #[error("lists version {0} twice, with different archives")]
    Twice(ChartVersion),
    /// It does not say where the archive is.
    #[error("does not say where version {0} is")]
    NoAddress(ChartVersion),
    /// The text that it gives as the digest is none.
    #[error("gives an invalid digest")]
    Digest(#[from] DigestError),
}
