//! Helm charts as they are published: what their archives hold, how one is made of a directory, what Helm stores of a
//! release, the artifact that registries have of them, and the list that repositories of charts have.
//!
//! This crate must not know of files, of the network, nor of templates: it is given bytes, and what a chart renders to only
//! Helm knows.

mod archive;
mod artifact;
mod asks;
mod chart;
mod error;
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
pub use ignore::IgnoreRules;
pub use index::{IndexedVersion, find};
pub use metadata::{ChartMetadata, Dependency, Maintainer};
pub use package::package;
pub use values::{ValuesError, merge_values, read_values};
