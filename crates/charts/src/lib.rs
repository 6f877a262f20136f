//! Helm charts as they are published: what their archives hold, how one is made of a directory, what Helm stores of a
//! release, and the artifact that registries have of them.
//!
//! This crate must not know of files, of the network, nor of templates: it is given bytes, and what a chart renders to only
//! Helm knows.

mod archive;
mod artifact;
mod chart;
mod error;
mod ignore;
pub mod limits;
mod metadata;
mod package;
mod schema;
mod stored;
#[cfg(test)]
mod tests;
mod values;

pub use artifact::{Artifact, CONFIG, CONTENT};
pub use chart::Chart;
pub use error::{ArchiveProblem, ChartError, ChartProblem};
pub use ignore::Ignored;
pub use metadata::{Dependency, Maintainer, Metadata};
pub use package::package;
pub use values::{ValuesError, merge_values, read_values};
