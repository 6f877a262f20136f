//! A fleet as it was read: the document, and the lines on which its values stand.

use std::borrow::Cow;

use schemas::yaml::{Lines, YamlError};
use schemas::{FleetCluster, FleetError, FleetSpec, SolutionFleet};
use serde_json::{Map, Value};

use crate::FleetLayer;

/// A fleet's file.
#[derive(Debug)]
pub struct FleetFile {
    name: String,
    document: SolutionFleet,
    lines: Lines,
}

/// The reason why bytes are no fleet's file.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFleet {
    /// The bytes are no such document.
    #[error(transparent)]
    Document(#[from] FleetError),
    /// The lines of the document cannot be told.
    #[error(transparent)]
    Lines(#[from] YamlError),
}

/// A place of a fleet at which values of a site are chosen.
#[derive(Clone, Debug)]
pub(crate) struct ChosenSite<'a> {
    /// Who chooses.
    pub(crate) layer: FleetLayer,
    /// Where the values stand in the file: a JSON Pointer.
    pub(crate) pointer: String,
    /// The values, with their expressions.
    pub(crate) site: Cow<'a, Map<String, Value>>,
}

impl FleetFile {
    /// Reads a fleet from the bytes of the file of this name.
    pub fn read(name: impl Into<String>, bytes: &[u8]) -> Result<Self, UnreadableFleet> {
        Ok(Self {
            name: name.into(),
            document: SolutionFleet::from_slice(bytes)?,
            lines: Lines::of(bytes)?,
        })
    }

    /// The name of the file, as it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The document.
    #[must_use]
    pub fn document(&self) -> &SolutionFleet {
        &self.document
    }

    /// What the fleet consists of.
    #[must_use]
    pub fn spec(&self) -> &FleetSpec {
        &self.document.spec
    }

    /// The line on which the value at a JSON Pointer stands.
    pub(crate) fn line(&self, pointer: &str) -> u64 {
        self.lines.line(pointer)
    }

    /// What all clusters choose.
    pub(crate) fn site_of_fleet(&self) -> ChosenSite<'_> {
        ChosenSite {
            layer: FleetLayer::Fleet,
            pointer: "/spec/site".to_owned(),
            site: Cow::Borrowed(&self.spec().site),
        }
    }

    /// What is chosen for a deployment.
    pub(crate) fn site_of_solution(&self, at: usize) -> ChosenSite<'_> {
        let solution = &self.spec().solutions[at];
        ChosenSite {
            layer: FleetLayer::Solution(solution.name.clone(), solution.environment.clone()),
            pointer: format!("/spec/solutions/{at}/site"),
            site: Cow::Borrowed(&solution.site),
        }
    }

    /// What a group chooses.
    pub(crate) fn site_of_group(&self, at: usize) -> ChosenSite<'_> {
        let group = &self.spec().groups[at];
        ChosenSite {
            layer: FleetLayer::Group(group.name.clone()),
            pointer: format!("/spec/groups/{at}/site"),
            site: Cow::Borrowed(&group.site),
        }
    }

    /// What a cluster chooses, its pull secret included.
    pub(crate) fn site_of_cluster(&self, at: usize) -> ChosenSite<'_> {
        let FleetCluster {
            name,
            pull_secret,
            site,
            ..
        } = &self.spec().clusters[at];
        let mut site = Cow::Borrowed(site);
        if let Some(secret) = pull_secret {
            let secret = Value::from(secret.as_str());
            site.to_mut().insert("pullSecret".to_owned(), secret);
        }
        ChosenSite {
            layer: FleetLayer::Cluster(name.clone()),
            pointer: format!("/spec/clusters/{at}/site"),
            site,
        }
    }

    /// Every place at which values are chosen.
    pub(crate) fn sites(&self) -> Vec<ChosenSite<'_>> {
        let spec = self.spec();
        let mut all = vec![self.site_of_fleet()];
        all.extend((0..spec.solutions.len()).map(|at| self.site_of_solution(at)));
        all.extend((0..spec.groups.len()).map(|at| self.site_of_group(at)));
        all.extend((0..spec.clusters.len()).map(|at| self.site_of_cluster(at)));
        all
    }
}
