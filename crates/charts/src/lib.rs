//! Published Helm charts: their archives, packaging, metadata and values, their artifacts in registries, and the index
//! of a chart repository. It also computes the size of a release as Helm stores it.
//!
//! This crate must not know files, the network or templates. It works on bytes, and leaves rendering to Helm. The
//! format of charts in an archive is in docs/reference/format-charts.md.
//!
//! Open `chart.rs` first. `archive.rs` is the part that reads untrusted bytes.

mod archive;
mod artifact;
mod chart;
mod error;
mod ignore;
mod index;
pub mod limits;
mod metadata;
mod package;
mod schema;
mod stored;
mod template_inputs;
#[cfg(test)]
mod tests;
mod unknown_values;
mod values;

pub use artifact::{CONFIG, CONTENT, ChartArtifact, PROVENANCE, content, provenance};
pub use chart::{Chart, ChartFile};
pub use error::{ArchiveProblem, ArtifactProblem, ChartError, ChartProblem, IndexProblem};
pub use ignore::IgnoreRules;
pub use index::{IndexedVersion, find};
pub use metadata::{ChartMetadata, Dependency, Maintainer};
pub use package::package;
pub use template_inputs::TemplateInputs;
pub use unknown_values::UnnamedValue;
pub use values::{ValuesError, read_documents, read_values};
