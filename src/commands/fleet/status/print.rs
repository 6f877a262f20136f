//! The result of `solution fleet status`, as JSON and for people. Only deployments that differ from the file get a
//! separate line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use fleet::{FleetFile, Members};
use importer::EnvironmentNamespace;
use schemars::JsonSchema;
use schemas::{FleetSolution, PlacedVersion};
use serde::Serialize;

use super::deployment::{DeploymentState, DeploymentStatus};
use super::{ClusterTurn, MemberObservation};
use crate::args::{Output, choose};
use crate::commands::blocked::ShownBlocker;
use crate::commands::fleet::journal::GoneCluster;
use crate::commands::fleet::removal::{deployed_versions, entries};
use crate::commands::fleet::{note_problem, worst};
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};

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
    pub(super) problem: Option<ShownBlocker>,
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
        found: Result<MemberObservation, Failure>,
    ) -> Self {
        let name = file.spec().clusters[turn.cluster].name.to_string();
        let wave = turn.wave.to_string();
        let MemberObservation {
            status,
            deployments,
        } = match found {
            Ok(found) => found,
            Err(failure) => {
                return Self {
                    name,
                    wave,
                    problem: Some(ShownBlocker::from(&failure)),
                    ready: None,
                    deployments: Vec::new(),
                    unlisted: Vec::new(),
                    outcome: failure.outcome(),
                };
            }
        };
        let entries = entries(file, members, turn.cluster);
        let ready = all_ready(deployments.iter().map(|deployment| deployment.state));
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

/// Returns whether all deployments are as the file specifies. `None` if this is unknown for one, and true for all the
/// rest.
fn all_ready(states: impl IntoIterator<Item = DeploymentState>) -> Option<bool> {
    match states.into_iter().max() {
        None | Some(DeploymentState::Ready) => Some(true),
        Some(DeploymentState::Unseen) => None,
        Some(_) => Some(false),
    }
}

/// Returns the deployments whose environment no entry of the file has.
fn unlisted(
    file: &FleetFile,
    entries: &[&FleetSolution],
    spaces: &[EnvironmentNamespace],
) -> Vec<UnlistedVersion> {
    // An environment may have the same deployment in multiple namespaces.
    let mut found: BTreeMap<PlacedVersion, bool> = BTreeMap::new();
    for version in deployed_versions(spaces) {
        if !version.is_listed(entries) {
            let is_of = version.is_of(file);
            *found.entry(version.placed).or_default() |= is_of;
        }
    }
    let found = found.into_iter();
    let found = found.map(|(placed, brought)| UnlistedVersion { placed, brought });
    found.collect()
}

/// The headings of the table.
const TITLES: [&str; 3] = ["CLUSTER", "WAVE", "STATE"];

/// The number of clusters of one state that the last line names. The table above has all of them.
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
    worst(clusters.iter().map(|cluster| cluster.outcome))
}

/// Prints one line for each cluster, and further lines for deployments that differ from the file.
fn people(clusters: &[MemberStatus], path: &Path) {
    let rows = clusters.iter().map(|cluster| row(cluster, path));
    render::table(TITLES, &rows.collect::<Vec<_>>());
    for cluster in clusters {
        note_problem(&cluster.name, cluster.problem.as_ref());
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
    let other = cluster
        .deployments
        .iter()
        .filter(|deployment| !deployment.is_ready());
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

/// Returns the number of clusters that are as the file specifies, and the names of all further clusters.
fn counted(clusters: &[MemberStatus]) -> String {
    let ready = clusters
        .iter()
        .filter(|cluster| cluster.ready == Some(true))
        .count();
    let all = render::count(clusters.len(), "cluster");
    let is_one = ready == 1 || clusters.len() == 1;
    let are = if is_one { "is" } else { "are" };
    let first = format!("{ready} of {all} {are} up to date");
    let states = clusters.iter().flat_map(|cluster| &cluster.deployments);
    let states = states
        .filter(|deployment| !deployment.is_ready())
        .map(|deployment| deployment.state);
    let states: BTreeSet<DeploymentState> = states.collect();
    let of_state = |state: DeploymentState| {
        let named = clusters
            .iter()
            .filter_map(|cluster| in_state(cluster, state));
        few(&state.to_string(), &named.collect::<Vec<_>>())
    };
    // Worse states come first.
    let others = states.into_iter().rev().map(of_state);
    let away = clusters.iter().filter(|cluster| cluster.problem.is_some());
    let away: Vec<String> = away.map(|cluster| cluster.name.clone()).collect();
    let away = (!away.is_empty()).then(|| few("not reached", &away));
    let parts = std::iter::once(first).chain(others).chain(away);
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns a cluster with its deployments in a state; none if it has no such deployment.
fn in_state(cluster: &MemberStatus, state: DeploymentState) -> Option<String> {
    let all = cluster
        .deployments
        .iter()
        .filter(|deployment| deployment.state == state);
    let words: Vec<String> = all.map(in_short).collect();
    (!words.is_empty()).then(|| format!("{} ({})", cluster.name, words.join("; ")))
}

/// Returns a deployment with its version. If another version is deployed, both are included.
fn in_short(deployment: &DeploymentStatus) -> String {
    let wanted = &deployment.wanted;
    let (solution, version) = (&wanted.solution, &wanted.version);
    match &deployment.runs {
        Some(runs) if runs != version => format!("{solution} {runs} instead of {version}"),
        _ => format!("{solution} {version}"),
    }
}

/// Returns the first of these names, and the number of further ones.
fn few(words: &str, named: &[String]) -> String {
    let first = named.iter().take(NAMED).cloned();
    let more = named.len().saturating_sub(NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    format!("{words}: {}", render::list(first.chain(more)))
}

#[cfg(test)]
mod tests {
    use schemas::PlacedVersion;

    use super::DeploymentState::{Absent, Ready, Unseen};
    use super::*;
    use crate::commands::blocked::ShownBlocker;
    use crate::commands::fleet::removal::tests::{file, space};
    use crate::failure::Failure;

    fn deployment(state: DeploymentState, runs: Option<&str>) -> DeploymentStatus {
        DeploymentStatus {
            wanted: PlacedVersion {
                solution: "shop".parse().unwrap(),
                version: "1.1.0".parse().unwrap(),
                environment: "prod".parse().unwrap(),
            },
            state,
            runs: runs.map(|version| version.parse().unwrap()),
            why: None,
            hint: None,
            drift: None,
        }
    }

    fn cluster(name: &str, deployments: Vec<DeploymentStatus>) -> MemberStatus {
        MemberStatus {
            name: name.to_owned(),
            wave: "all".to_owned(),
            problem: None,
            ready: Some(deployments.iter().all(DeploymentStatus::is_ready)),
            deployments,
            unlisted: Vec::new(),
            outcome: Outcome::Yes,
        }
    }

    fn ready(name: &str) -> MemberStatus {
        cluster(
            name,
            vec![deployment(DeploymentState::Ready, Some("1.1.0"))],
        )
    }

    fn behind(name: &str) -> MemberStatus {
        cluster(
            name,
            vec![deployment(DeploymentState::Behind, Some("1.0.0"))],
        )
    }

    fn away(name: &str) -> MemberStatus {
        let failure = Failure::unknown(anyhow::anyhow!("no answer"));
        MemberStatus {
            problem: Some(ShownBlocker::from(&failure)),
            ready: None,
            ..cluster(name, Vec::new())
        }
    }

    #[test]
    fn the_last_line_counts_and_names_what_is_not_as_the_file_says() {
        let mut fleet = vec![ready("paris"), ready("lyon"), behind("rome")];
        assert_eq!(
            counted(&fleet),
            "2 of 3 clusters are up to date; behind: rome (shop 1.0.0 instead of 1.1.0)"
        );
        fleet.push(cluster(
            "oslo",
            vec![deployment(DeploymentState::Absent, None)],
        ));
        fleet.push(away("bern"));
        assert_eq!(
            counted(&fleet),
            "2 of 5 clusters are up to date; absent: oslo (shop 1.1.0); behind: rome (shop 1.0.0 instead of 1.1.0); not reached: bern"
        );
        assert_eq!(counted(&fleet[..1]), "1 of 1 cluster is up to date");
    }

    #[test]
    fn the_last_line_stays_one_with_two_hundred_clusters() {
        let fleet: Vec<MemberStatus> = (0..200)
            .map(|number| behind(&format!("c{number}")))
            .collect();
        let shown = counted(&fleet);
        assert!(shown.ends_with(", 195 more"), "{shown}");
        assert_eq!(shown.matches("instead of 1.1.0").count(), NAMED);
    }

    #[test]
    fn a_cluster_is_one_row() {
        let mut mixed = cluster(
            "rome",
            vec![
                deployment(DeploymentState::Ready, Some("1.1.0")),
                deployment(DeploymentState::NotReady, Some("1.1.0")),
            ],
        );
        mixed.unlisted = vec![UnlistedVersion {
            placed: PlacedVersion {
                solution: "cart".parse().unwrap(),
                version: "2.0.0".parse().unwrap(),
                environment: "test".parse().unwrap(),
            },
            brought: true,
        }];
        mixed.deployments[1].why = Some("x ".repeat(200));
        mixed.deployments[1].hint = Some("wait");
        let path = Path::new("fleet.yaml");
        let shown = row(&mixed, path);
        assert_eq!(shown.cells, ["rome", "all", "1 of 2 ready"]);
        let words = ["x"; 61].join(" ");
        let cut = format!("  reason: {words} … {words}");
        let below = [
            "shop 1.1.0 in prod: not ready",
            &cut,
            "  full reason: solution fleet status fleet.yaml --cluster rome -o yaml",
            "  hint: wait",
            "not in the file: cart 2.0.0 in test (deployed by the fleet)",
        ];
        assert_eq!(shown.below, below);
        let lab = cluster("lab", Vec::new());
        for (cluster, name, state) in [
            (ready("paris"), "paris", "ready"),
            (away("bern"), "bern", "not reached"),
            (lab, "lab", "no Solutions"),
        ] {
            let shown = row(&cluster, path);
            assert_eq!(shown.cells, [name, "all", state]);
            assert!(shown.below.is_empty(), "{:?}", shown.below);
        }
    }

    #[test]
    fn what_cannot_be_seen_is_neither_ready_nor_wrong() {
        for (states, expected) in [
            (&[][..], Some(true)),
            (&[Ready, Ready], Some(true)),
            (&[Ready, Unseen], None),
            (&[Unseen, Absent, Ready], Some(false)),
        ] {
            assert_eq!(all_ready(states.iter().copied()), expected, "{states:?}");
        }
    }

    #[test]
    fn what_is_not_in_the_file_is_told_once_whatever_version_it_has() {
        let file = file(
        "{clusters: [{name: paris}], solutions: [{name: shop, version: 1.1.0, environment: prod}],
          waves: [{name: all, clusters: [paris]}]}",
    );
        let mut second = space("prod", &["cart-1.0.0 shops", "shop-1.0.0"]);
        second.namespace = "prod-2".parse().unwrap();
        let spaces = [
            space("prod", &["cart-1.0.0", "shop-1.0.0 shops"]),
            second,
            space("test", &["shop-1.0.0"]),
        ];
        let entries: Vec<&FleetSolution> = file.spec().solutions.iter().collect();
        let unlisted = unlisted(&file, &entries, &spaces);
        let unlisted: Vec<String> = unlisted.iter().map(ToString::to_string).collect();
        assert_eq!(
            unlisted,
            [
                "cart 1.0.0 in prod (deployed by the fleet)",
                "shop 1.0.0 in test"
            ]
        );
    }
}
