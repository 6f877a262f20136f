//! Errors of reading charts, artifacts of charts, and the index of a chart repository. Each error names the subchart
//! that has the problem.

use schemas::yaml::YamlError;
use schemas::{ChartName, ChartVersion, DigestError, ImageDocumentError, NameError};

use crate::limits;

/// The problem of a chart, with the subchart that has it.
#[derive(Debug, thiserror::Error)]
#[error("{}{problem}", around(.within))]
pub struct ChartError {
    /// The path of subcharts to the one with the problem, from the outermost. Empty for the chart itself.
    pub within: Vec<String>,
    /// The problem.
    pub problem: ChartProblem,
}

fn around(charts: &[String]) -> String {
    let parts = charts
        .iter()
        .map(|chart| ["in the chart `", chart, "`: "].concat());
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

/// A problem of a chart.
#[derive(Debug, thiserror::Error)]
pub enum ChartProblem {
    /// The archive cannot be unpacked, or not in the same way by all readers.
    #[error(transparent)]
    Archive(#[from] ArchiveProblem),
    /// The chart exceeds a limit.
    #[error("{0}")]
    Budget(String),
    /// `Chart.yaml` is missing.
    #[error("has no Chart.yaml")]
    NoMetadata,
    /// A file is not valid YAML.
    #[error("{0}: {1}")]
    Yaml(&'static str, YamlError),
    /// `Chart.yaml` or `requirements.yaml` has invalid content.
    #[error("{0}")]
    Metadata(String),
    /// The name or version is not valid in a registry.
    #[error("Chart.yaml: {0}")]
    Name(NameError),
    /// A dependency is missing in `charts/`.
    #[error("charts/ does not have the dependency `{0}`")]
    Dependency(String),
    /// The values of the chart are not a mapping.
    #[error("values.yaml is not a mapping")]
    Values,
    /// The schema of the values is invalid.
    #[error("values.schema.json {0}")]
    Schema(String),
}

/// A problem of an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveProblem {
    /// The data is not gzip, damaged, or incomplete.
    #[error("is not a whole gzip file")]
    Gzip,
    /// Bytes follow the first gzip member, which is the only one that all readers read.
    #[error("has bytes after its first gzip member")]
    Behind,
    /// A header is not a valid tar header.
    #[error("has a damaged tar header at byte {0}")]
    Header(usize),
    /// The archive ends within a file, or without its end mark.
    #[error("ends before its end mark")]
    Truncated,
    /// Data follows the end mark.
    #[error("has bytes after its end mark")]
    BehindEnd,
    /// An entry is neither a file nor a directory.
    #[error("contains `{0}`, which is neither a file nor a directory")]
    Kind(String),
    /// An extension has different meanings for different readers.
    #[error("extends the header of a file with `{0}`, which tools interpret differently")]
    Extension(String),
    /// A path has different meanings for different readers, or leads out of the directory.
    #[error("contains `{0}`, which is not a plain path below one directory")]
    Path(String),
    /// A path occurs twice.
    #[error("contains `{0}` twice")]
    Twice(String),
    /// A path is both a file and a directory.
    #[error("contains `{0}` as a file and as a directory")]
    Both(String),
    /// The directory does not have the name of the chart.
    #[error("has its files below `{0}/`, not below `{1}/`")]
    Directory(String, String),
    /// A file is larger than Helm accepts.
    #[error("contains `{0}`, which has {1} bytes; Helm reads at most {max}", max = limits::FILE_SIZE)]
    FileSize(String, u64),
}

/// The reason why the content of a registry is not a chart.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactProblem {
    /// The document is not an image manifest or index.
    #[error(transparent)]
    Document(#[from] ImageDocumentError),
    /// The document is an index of multiple artifacts.
    #[error("is an index, not a chart")]
    Index,
    /// The document is an image, or another kind of artifact.
    #[error("is not a chart: its configuration is of type `{0}`")]
    Config(String),
    /// The artifact does not have exactly one archive of a chart.
    #[error("has {0} layers with a chart; expected one")]
    Content(usize),
    /// The archive exceeds its limit.
    #[error("has a chart of {0} bytes; at most {max} are read", max = limits::ARCHIVE_SIZE)]
    Size(u64),
    /// The artifact has multiple provenance files.
    #[error("has {0} provenance files; expected one")]
    Provenance(usize),
    /// The provenance file exceeds its limit.
    #[error("has a provenance file of {0} bytes; at most {max} are read", max = limits::PROVENANCE)]
    ProvenanceSize(u64),
}

/// The reason why the index of a chart repository does not resolve a chart.
#[derive(Debug, thiserror::Error)]
pub enum IndexProblem {
    /// The index is not valid YAML.
    #[error("cannot be read")]
    Yaml(#[from] YamlError),
    /// The chart is missing, or its version.
    #[error("does not list the chart `{name}` in version {version}")]
    Missing {
        /// The name of the chart.
        name: ChartName,
        /// The version of the chart.
        version: ChartVersion,
    },
    /// The version is listed twice with different content.
    #[error("lists version {0} twice, with different archives")]
    Twice(ChartVersion),
    /// The entry has no address of the archive.
    #[error("does not say where version {0} is")]
    NoAddress(ChartVersion),
    /// The digest of the entry is invalid.
    #[error("gives an invalid digest")]
    Digest(#[from] DigestError),
}
