//! `solution init --from` and `--chart`: a source tree made from a release. Bytes in, files and notes out;
//! only [`SourceTree::write`] and [`update`] touch the disk.
//!
//! [`carry`] takes the release as it is. [`draft`] makes an operator of one Deployment, its definitions and its roles;
//! what else there is is said. [`chart()`] refers to a Helm chart, and [`carry_helmfile`] to those of a helmfile.
//! [`upstream`] converts an archive of upstream's. [`update`] renews a tree that was made so, by a three-way merge.
//!
//! This crate knows what releases look like and what `solution.yaml` says. It must not know how archives are packed,
//! nor the network, the terminal, the environment or the clock.
//!
//! Open `carried.rs` first, the shortest way from a release to a tree; `operator.rs` is the one that decides most.

mod carried;
mod changes;
mod chart;
mod charts;
mod contents;
mod error;
mod helmfile;
mod identity;
mod images;
pub mod limits;
mod listed;
mod merge;
mod namespaces;
mod notes;
mod operator;
mod paths;
mod roles;
#[cfg(test)]
mod tests;
mod tree;
mod undecided;
mod update;
pub mod upstream;
mod write;

use std::collections::BTreeMap;

use schemas::{
    API_VERSION, ImagePlace, Metadata, Prerequisites, SolutionId, SolutionName, SolutionSource,
    SourceSpec, Version,
};

pub use carried::carry;
pub use changes::Changes;
pub use chart::{PublishedChart, chart};
pub use error::ReleaseError;
pub use helmfile::{HelmfileError, HelmfileProblem, HelmfileReleases};
pub use listed::{ChartRead, Copied, HelmfileReader, carry_helmfile};
pub use notes::{Note, NoteWeight};
pub use operator::draft;
pub use tree::check_empty;
pub use update::{Renewed, update};

/// The names and choices that the release need not give, because the user does.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// The Solution's name.
    pub name: Option<SolutionName>,
    /// The version of the Solution.
    pub version: Option<Version>,
    /// The name of the Deployment that is the operator.
    pub deployment: Option<String>,
}

/// A source tree that is not yet written.
#[derive(Clone, Debug)]
pub struct SourceTree {
    /// The name and version of the Solution.
    pub id: SolutionId,
    /// The content of `solution.yaml`.
    pub source: SolutionSource,
    /// The files, by their path in the tree.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The notes on it, the weightiest first.
    pub notes: Vec<Note>,
    /// The objects that name each image, if objects of a release do.
    pub named_by: BTreeMap<ImagePlace, Vec<String>>,
}

/// Returns the content of `solution.yaml` for a Solution that has nothing yet. People call it by its name.
fn empty_source(id: &SolutionId) -> SolutionSource {
    let annotation = "solutions.metalk8s.scality.com/display-name".to_owned();
    let shown = id.name().to_string();
    SolutionSource {
        api_version: API_VERSION.to_owned(),
        kind: "SolutionSource".to_owned(),
        metadata: Metadata {
            name: id.name().clone(),
            annotations: BTreeMap::from([(annotation, shown)]),
            labels: BTreeMap::new(),
        },
        spec: SourceSpec {
            version: id.version().clone(),
            images: Vec::new(),
            operator: None,
            crds: "operator/deploy/crds".into(),
            roles: archive::ROLE.into(),
            manifests: Vec::new(),
            charts: Vec::new(),
            kubernetes: Vec::new(),
            parameters: BTreeMap::new(),
            prerequisites: Prerequisites::default(),
            upgrade_from: None,
            expires: None,
        },
    }
}
