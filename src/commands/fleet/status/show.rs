//! How far the clusters of a fleet are as the file says, for people.

use std::collections::BTreeSet;

use fleet::FleetFile;

use super::super::gone::GoneCluster;
use super::super::outcome::worst;
use super::deployment::{DeploymentState, DeploymentStatus};
use super::shown::{FleetStatus, MemberStatus};
use crate::args::{Output, choose};
use crate::failure::Outcome;
use crate::render;

/// The titles of the table. What is not in the file says so itself.
const TITLES: [&str; 4] = ["CLUSTER", "WAVE", "STATE", ""];

/// Clusters of one state that the last line names: all of them stand above.
const NAMED: usize = 5;

pub(super) fn show(
    file: &FleetFile,
    clusters: &[MemberStatus],
    gone: &[GoneCluster],
    output: Output,
) -> Outcome {
    let all = FleetStatus {
        fleet: file.document().metadata.name.as_str(),
        clusters,
        gone,
    };
    render::result(output, &all, |all| {
        people(all.clusters);
        render::lines("note: ", all.gone);
    });
    worst(clusters.iter().map(|it| it.outcome))
}

/// One line for each cluster, and more for what is not as the file says.
fn people(clusters: &[MemberStatus]) {
    let rows = std::iter::once(TITLES.map(str::to_owned)).chain(clusters.iter().map(row));
    let mut lines = render::columns(&rows.collect::<Vec<_>>()).into_iter();
    lines.by_ref().take(1).for_each(render::line);
    for (cluster, line) in clusters.iter().zip(lines) {
        render::line(line);
        for deployment in cluster.deployments.iter().filter(|it| !it.is_ready()) {
            render::line!("  {deployment}");
            if let Some(hint) = deployment.hint {
                render::line!("    hint: {hint}");
            }
        }
        if let Some(problem) = &cluster.problem {
            render::note!("error: {}: {}", cluster.name, problem.message);
            render::note!("hint: {}", problem.fix);
        }
    }
    render::line(counted(clusters));
}

fn row(cluster: &MemberStatus) -> [String; 4] {
    let all = cluster.deployments.len();
    let ready = cluster
        .deployments
        .iter()
        .filter(|it| it.is_ready())
        .count();
    let state = match &cluster.problem {
        Some(_) => "not reached".to_owned(),
        None if all == 0 => "no Solutions".to_owned(),
        None if ready == all => "ready".to_owned(),
        None => format!("{ready} of {all} ready"),
    };
    let unlisted = match cluster.unlisted.as_slice() {
        [] => String::new(),
        all => format!("not in the file: {}", render::list(all)),
    };
    [cluster.name.clone(), cluster.wave.clone(), state, unlisted]
}

/// How many clusters are as the file says, and which are not.
fn counted(clusters: &[MemberStatus]) -> String {
    let ready = clusters.iter().filter(|it| it.ready == Some(true)).count();
    let all = render::count(clusters.len(), "cluster");
    let is_one = ready == 1 || clusters.len() == 1;
    let are = choose(is_one, "is", "are");
    let first = format!("{ready} of {all} {are} up to date");
    let states = clusters.iter().flat_map(|it| &it.deployments);
    let states = states.filter(|it| !it.is_ready()).map(|it| it.state);
    let states: BTreeSet<DeploymentState> = states.collect();
    let of_state = |state: DeploymentState| {
        let named = clusters.iter().filter_map(|it| in_state(it, state));
        few(&state.to_string(), &named.collect::<Vec<_>>())
    };
    // The worst first.
    let others = states.into_iter().rev().map(of_state);
    let away = clusters.iter().filter(|it| it.problem.is_some());
    let away: Vec<String> = away.map(|it| it.name.clone()).collect();
    let away = (!away.is_empty()).then(|| few("not reached", &away));
    let parts = std::iter::once(first).chain(others).chain(away);
    parts.collect::<Vec<_>>().join("; ")
}

/// A cluster with its deployments of a state, if it has any.
fn in_state(cluster: &MemberStatus, state: DeploymentState) -> Option<String> {
    let all = cluster.deployments.iter().filter(|it| it.state == state);
    let words: Vec<String> = all.map(in_short).collect();
    (!words.is_empty()).then(|| format!("{} ({})", cluster.name, words.join("; ")))
}

/// A deployment with its version, and with both where another one is deployed.
fn in_short(deployment: &DeploymentStatus) -> String {
    let wanted = &deployment.wanted;
    let (solution, version) = (&wanted.solution, &wanted.version);
    match &deployment.runs {
        Some(runs) if runs != version => format!("{solution} {runs} instead of {version}"),
        _ => format!("{solution} {version}"),
    }
}

/// The first of these, and how many more there are.
fn few(words: &str, named: &[String]) -> String {
    let first = named.iter().take(NAMED).cloned();
    let more = named.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    format!("{words}: {}", render::list(first.chain(more)))
}

#[cfg(test)]
mod tests;
