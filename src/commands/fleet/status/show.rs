//! How far the clusters of a fleet are as the file says, for people.

use std::collections::BTreeSet;
use std::path::Path;

use fleet::FleetFile;

use super::super::gone::GoneCluster;
use super::super::outcome::worst;
use super::deployment::{DeploymentState, DeploymentStatus};
use super::shown::{FleetStatus, MemberStatus};
use crate::args::{Output, choose};
use crate::failure::Outcome;
use crate::render::{self, Row};

/// The headings.
const TITLES: [&str; 3] = ["CLUSTER", "WAVE", "STATE"];

/// Clusters of one state that the last line names: all of them stand above.
const NAMED: usize = 5;

pub(super) fn show(
    file: &FleetFile,
    path: &Path,
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
        people(all.clusters, path);
        render::lines("note: ", all.gone);
    });
    worst(clusters.iter().map(|it| it.outcome))
}

/// One line for each cluster, and more for what is not as the file says.
fn people(clusters: &[MemberStatus], path: &Path) {
    let rows = clusters.iter().map(|cluster| row(cluster, path));
    render::table(TITLES, &rows.collect::<Vec<_>>());
    for cluster in clusters {
        if let Some(problem) = &cluster.problem {
            render::note!("error: {}: {}", cluster.name, problem.message);
            render::note!("hint: {}", problem.fix);
        }
    }
    render::line(counted(clusters));
}

fn row(cluster: &MemberStatus, path: &Path) -> Row<3> {
    let name = &cluster.name;
    let command = || {
        let path = path.display();
        format!("solution fleet status {path} --cluster {name} -o yaml")
    };
    let all = cluster.deployments.len();
    let other = cluster.deployments.iter().filter(|it| !it.is_ready());
    let other: Vec<&DeploymentStatus> = other.collect();
    let ready = all - other.len();
    let state = match &cluster.problem {
        Some(_) => "not reached".to_owned(),
        None if all == 0 => "no Solutions".to_owned(),
        None if ready == all => "ready".to_owned(),
        None => format!("{ready} of {all} ready"),
    };
    let mut below = Vec::new();
    for deployment in other {
        below.push(deployment.headline());
        let why = deployment.why.iter();
        let more = why.flat_map(|why| render::reason(why, command));
        let more = more.chain(deployment.hint.map(|hint| format!("hint: {hint}")));
        below.extend(more.map(|line| format!("  {line}")));
    }
    let unlisted = cluster.unlisted.iter();
    below.extend(unlisted.map(|version| format!("not in the file: {version}")));
    Row {
        cells: [name.clone(), cluster.wave.clone(), state],
        below,
    }
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
