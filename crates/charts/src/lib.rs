//! Helm charts as they are published.
//!
//! This crate knows what a chart's archive holds and how one is made of a directory, what a chart says and asks for,
//! the artifact that registries have of it, the index of a repository of charts, and how large what Helm stores of a
//! release will be. It must not know files, the network or templates: it is given bytes, and what a chart renders to
//! only Helm knows.
//!
//! Open `chart.rs` first; `archive.rs`, below it, is what meets foreign bytes.

mod archive;
mod artifact;
mod asks;
mod chart;
mod error;
mod given;
mod ignore;
mod index;
pub mod limits;
mod metadata;
mod package;
mod schema;
mod stored;
#[cfg(test)]
mod tests;
mod values;

pub use artifact::{CONFIG, CONTENT, ChartArtifact, PROVENANCE, content, provenance};
pub use asks::Asks;
pub use chart::{Chart, ChartFile};
pub use error::{ArchiveProblem, ArtifactProblem, ChartError, ChartProblem, IndexProblem};
pub use given::UnnamedValue;
pub use ignore::IgnoreRules;
pub use index::{IndexedVersion, find};
pub use metadata::{ChartMetadata, Dependency, Maintainer};
pub use package::package;
pub use values::{ValuesError, read_documents, read_values};
