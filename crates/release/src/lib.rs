//! Source trees from existing releases, for `solution init --from` and `--chart`. The crate takes bytes and returns
//! files and notes. Only [`SourceTree::write`], [`upstream::Conversion::write`] and [`update`] write to the disk.
//!
//! - [`carry`] packages the manifests of a release unchanged.
//!
//! - [`chart()`] refers to a Helm chart, and [`carry_helmfile`] to the charts of a helmfile.
//!
//! - [`upstream`] converts an archive that was built with upstream's tools.
//!
//! - [`update`] merges the next release into a tree that [`carry`] created.
//!
//! This crate knows the formats of releases and of `solution.yaml`. It must not know how archives are packed, and must
//! not use the network, the terminal, the environment or the clock.
//!
//! Read `unchanged.rs` first: it is the shortest way from a release to a tree.

mod changes;
mod chart;
mod charts;
mod contents;
mod decisions;
mod error;
mod helmfile;
mod identity;
mod images;
pub mod limits;
mod listed;
mod merge;
mod namespaces;
mod notes;
mod paths;
#[cfg(test)]
mod tests;
mod tree;
mod unchanged;
mod update;
pub mod upstream;
mod write;

use std::collections::BTreeMap;

use schemas::{
    API_VERSION, ImagePlace, Metadata, Prerequisites, SolutionId, SolutionName, SolutionSource,
    SourceSpec, Version,
};

pub use changes::Changes;
pub use chart::{PublishedChart, chart};
pub use error::ReleaseError;
pub use helmfile::{HelmfileError, HelmfileProblem, HelmfileReleases};
pub use listed::{ChartRead, CopiedFile, HelmfileReader, carry_helmfile};
pub use notes::{Note, NoteWeight};
pub use tree::check_empty;
pub use unchanged::carry;
pub use update::{ReleaseChanges, UpdateReport, update};

/// The user's choices, which take precedence over those that the release suggests.
#[derive(Clone, Debug, Default)]
pub struct InitOptions {
    /// The Solution's name.
    pub name: Option<SolutionName>,
    /// The version of the Solution.
    pub version: Option<Version>,
}

/// A source tree in memory.
#[derive(Clone, Debug)]
pub struct SourceTree {
    /// The name and version of the Solution.
    pub id: SolutionId,
    /// The content of `solution.yaml`.
    pub source: SolutionSource,
    /// The files, by path in the tree.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The notes about the tree, sorted by weight.
    pub notes: Vec<Note>,
    /// The objects that name each image, if the release has objects.
    pub named_by: BTreeMap<ImagePlace, Vec<String>>,
}

/// Returns the content of `solution.yaml` for a Solution without content. Its display name is the Solution's name.
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
