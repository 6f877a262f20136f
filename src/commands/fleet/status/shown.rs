//! How far the clusters of a fleet are as the file says, for programs.

use std::collections::BTreeMap;
use std::fmt;

use fleet::{FleetFile, Members};
use importer::EnvironmentNamespace;
use schemars::JsonSchema;
use schemas::{FleetSolution, PlacedVersion};
use serde::Serialize;

use super::super::gone::GoneCluster;
use super::super::standing::{entries, standing};
use super::ClusterTurn;
use super::deployment::{DeploymentState, DeploymentStatus};
use super::found::FoundMember;
use crate::args::choose;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// How far the clusters of a fleet are as the file says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetStatus<'a> {
    /// The fleet's name.
    pub(super) fleet: &'a str,
    /// The clusters, in the order of the waves.
    pub(super) clusters: &'a [MemberStatus],
    /// Clusters that are no longer in the file. Solutions that the fleet deployed there are kept.
    pub(super) gone: &'a [GoneCluster],
}

/// A deployment that is not in the file for its cluster.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub(crate) struct UnlistedVersion {
    #[serde(flatten)]
    pub(super) placed: PlacedVersion,
    /// Whether the fleet deployed it, so that `apply --prune` removes it.
    pub(super) brought: bool,
}

impl fmt::Display for UnlistedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let brought = choose(self.brought, " (deployed by the fleet)", "");
        write!(f, "{}{brought}", self.placed)
    }
}

/// A cluster and the state of its deployments.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberStatus {
    /// The cluster's name.
    pub(super) name: String,
    /// The wave in which it changes.
    pub(super) wave: String,
    /// The reason why it could not be queried; null if it was.
    pub(super) problem: Option<InTheWay>,
    /// Whether all deployments match the file; null if this is unknown.
    pub(super) ready: Option<bool>,
    /// The deployments in the file.
    pub(super) deployments: Vec<DeploymentStatus>,
    /// Deployments in its environments that are not in the file.
    pub(super) unlisted: Vec<UnlistedVersion>,
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

impl MemberStatus {
    pub(super) fn of(
        file: &FleetFile,
        members: &Members<'_>,
        turn: &ClusterTurn<'_>,
        found: Result<FoundMember, Failure>,
    ) -> Self {
        let name = file.spec().clusters[turn.cluster].name.to_string();
        let wave = turn.wave.to_string();
        let FoundMember {
            status,
            deployments,
        } = match found {
            Ok(found) => found,
            Err(failure) => {
                return Self {
                    name,
                    wave,
                    problem: Some(InTheWay::from(&failure)),
                    ready: None,
                    deployments: Vec::new(),
                    unlisted: Vec::new(),
                    outcome: failure.outcome(),
                };
            }
        };
        let entries = entries(file, members, turn.cluster);
        let ready = all_ready(deployments.iter().map(|it| it.state));
        Self {
            name,
            wave,
            problem: None,
            ready,
            unlisted: unlisted(file, &entries, &status.environments),
            deployments,
            outcome: Outcome::of_ready(ready),
        }
    }
}

/// Whether all is as the file says; nothing where one of these cannot be seen and the others are.
fn all_ready(states: impl IntoIterator<Item = DeploymentState>) -> Option<bool> {
    match states.into_iter().max() {
        None | Some(DeploymentState::Ready) => Some(true),
        Some(DeploymentState::Unseen) => None,
        Some(_) => Some(false),
    }
}

/// What runs in environments, and is none of these entries in any version.
fn unlisted(
    file: &FleetFile,
    entries: &[&FleetSolution],
    spaces: &[EnvironmentNamespace],
) -> Vec<UnlistedVersion> {
    // An environment may have it in several namespaces.
    let mut found: BTreeMap<PlacedVersion, bool> = BTreeMap::new();
    for it in standing(spaces) {
        if !it.is_listed(entries) {
            let is_of = it.is_of(file);
            *found.entry(it.placed).or_default() |= is_of;
        }
    }
    let found = found.into_iter();
    let found = found.map(|(placed, brought)| UnlistedVersion { placed, brought });
    found.collect()
}

#[cfg(test)]
mod tests;
