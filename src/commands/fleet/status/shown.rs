//! How far the clusters of a fleet are as the file says, for programs.

use std::collections::BTreeSet;

use fleet::{FleetFile, Members};
use importer::{EnvironmentNamespace, Status};
use schemars::JsonSchema;
use serde::Serialize;

use super::ClusterTurn;
use super::deployment::{DeploymentState, DeploymentStatus, PlacedVersion};
use super::judge::judge;
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// How far the clusters of a fleet are as the file says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetStatus<'a> {
    /// The fleet's name.
    pub(super) fleet: &'a str,
    /// The clusters, in the order of the waves.
    pub(super) clusters: &'a [MemberStatus],
}

/// A cluster, and what became there of what the file says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberStatus {
    /// The cluster's name.
    pub(super) name: String,
    /// The wave in which it changes.
    pub(super) wave: String,
    /// What kept it from being asked; null if it was.
    pub(super) problem: Option<InTheWay>,
    /// Whether all of it is as the file says; null if it could not be told.
    pub(super) ready: Option<bool>,
    /// What the file deploys there.
    pub(super) deployments: Vec<DeploymentStatus>,
    /// What runs in environments there and is not in the file for it.
    pub(super) unlisted: Vec<PlacedVersion>,
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

impl MemberStatus {
    pub(super) fn of(
        file: &FleetFile,
        members: &Members<'_>,
        turn: &ClusterTurn<'_>,
        found: Result<Status, Failure>,
    ) -> Self {
        let name = file.spec().clusters[turn.cluster].name.to_string();
        let wave = turn.wave.to_string();
        let status = match found {
            Ok(status) => status,
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
        let solutions = file.spec().solutions.iter();
        let runs = solutions.filter(|it| members.of_solution(it).contains(&turn.cluster));
        let deployments: Vec<DeploymentStatus> = runs.map(|it| judge(it, &status)).collect();
        let ready = all_ready(deployments.iter().map(|it| it.state));
        Self {
            name,
            wave,
            problem: None,
            ready,
            unlisted: unlisted(&status.environments, &deployments),
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

/// What runs in environments, and is none of these deployments in any version.
fn unlisted(
    spaces: &[EnvironmentNamespace],
    deployments: &[DeploymentStatus],
) -> Vec<PlacedVersion> {
    let all = spaces.iter().flat_map(|space| {
        let solutions = space.solutions.iter();
        solutions.map(|(solution, version)| PlacedVersion {
            solution: solution.clone(),
            version: version.clone(),
            environment: space.environment.clone(),
        })
    });
    let is_listed = |it: &PlacedVersion| {
        let mut wanted = deployments.iter().map(|it| &it.wanted);
        wanted.any(|wanted| wanted.solution == it.solution && wanted.environment == it.environment)
    };
    // An environment may have it in several namespaces.
    let all: BTreeSet<PlacedVersion> = all.filter(|it| !is_listed(it)).collect();
    all.into_iter().collect()
}

#[cfg(test)]
mod tests;
