//! The file of a fleet: the parsed document, and the lines of its values for error messages. [`FleetFile::read`] is the
//! entry point.

use std::borrow::Cow;

use schemas::yaml::{Lines, YamlError};
use schemas::{FleetCluster, FleetError, FleetSpec, SolutionFleet};
use serde_json::{Map, Value};

use crate::FleetLayer;

/// A parsed fleet file.
#[derive(Debug)]
pub struct FleetFile {
    name: String,
    document: SolutionFleet,
    lines: Lines,
}

/// The error of a fleet file that cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableFleet {
    /// The bytes are not a valid fleet.
    #[error(transparent)]
    Document(#[from] FleetError),
    /// The lines of the values cannot be determined.
    #[error(transparent)]
    Lines(#[from] YamlError),
}

/// The site values that one layer of the fleet sets.
#[derive(Clone, Debug)]
pub(crate) struct ChosenSite<'a> {
    /// The layer that sets them.
    pub(crate) layer: FleetLayer,
    /// The place of the values in the file, as a JSON Pointer.
    pub(crate) pointer: String,
    /// The values, with unevaluated expressions.
    pub(crate) site: Cow<'a, Map<String, Value>>,
}

impl FleetFile {
    /// Parses a fleet. `name` is the name of the file for messages.
    pub fn read(name: impl Into<String>, bytes: &[u8]) -> Result<Self, UnreadableFleet> {
        Ok(Self {
            name: name.into(),
            document: SolutionFleet::from_slice(bytes)?,
            lines: Lines::parse(bytes)?,
        })
    }

    /// Returns the name of the file as the caller gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the document.
    #[must_use]
    pub fn document(&self) -> &SolutionFleet {
        &self.document
    }

    /// Returns the content of the fleet.
    #[must_use]
    pub fn spec(&self) -> &FleetSpec {
        &self.document.spec
    }

    /// Returns the line of the value at a JSON Pointer.
    pub(crate) fn line(&self, pointer: &str) -> u64 {
        self.lines.line(pointer)
    }

    /// Returns the values for all clusters.
    pub(crate) fn site_of_fleet(&self) -> ChosenSite<'_> {
        ChosenSite {
            layer: FleetLayer::Fleet,
            pointer: "/spec/site".to_owned(),
            site: Cow::Borrowed(&self.spec().site),
        }
    }

    /// Returns the values of an entry of `solutions`.
    pub(crate) fn site_of_solution(&self, at: usize) -> ChosenSite<'_> {
        let solution = &self.spec().solutions[at];
        ChosenSite {
            layer: FleetLayer::Solution(solution.name.clone(), solution.environment.clone()),
            pointer: format!("/spec/solutions/{at}/site"),
            site: Cow::Borrowed(&solution.site),
        }
    }

    /// Returns the values of a group.
    pub(crate) fn site_of_group(&self, at: usize) -> ChosenSite<'_> {
        let group = &self.spec().groups[at];
        ChosenSite {
            layer: FleetLayer::Group(group.name.clone()),
            pointer: format!("/spec/groups/{at}/site"),
            site: Cow::Borrowed(&group.site),
        }
    }

    /// Returns the values of a cluster, including its pull secret.
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

    /// Returns the values of every layer.
    pub(crate) fn sites(&self) -> Vec<ChosenSite<'_>> {
        let spec = self.spec();
        let mut all = vec![self.site_of_fleet()];
        all.extend((0..spec.solutions.len()).map(|at| self.site_of_solution(at)));
        all.extend((0..spec.groups.len()).map(|at| self.site_of_group(at)));
        all.extend((0..spec.clusters.len()).map(|at| self.site_of_cluster(at)));
        all
    }
}
