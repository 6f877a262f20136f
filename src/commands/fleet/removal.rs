//! The versions that are deployed in a cluster of a fleet, and their removal: the policy, the options, and the
//! deployments that leave a cluster because the fleet no longer lists them. Deployments that this fleet did not make
//! are kept.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fleet::{FleetFile, Members};
use importer::{
    Change, EnvironmentNamespace, Event, FleetVersion, HelmProgram, RemoveSets, Undeployment,
    Writer,
};
use kubernetes::Cluster;
use schemas::{FleetSolution, KubernetesName, Namespace, PlacedVersion};

/// A version that is deployed in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeployedVersion {
    pub(super) placed: PlacedVersion,
    pub(super) namespace: Namespace,
    /// The fleet that deployed it, if any.
    fleet: Option<KubernetesName>,
}

impl DeployedVersion {
    /// Returns whether this fleet deployed it.
    pub(super) fn is_of(&self, file: &FleetFile) -> bool {
        self.fleet.as_ref() == Some(&file.document().metadata.name)
    }

    /// Returns whether one of these entries deploys it, in any version.
    pub(super) fn is_listed(&self, entries: &[&FleetSolution]) -> bool {
        let PlacedVersion {
            solution,
            environment,
            ..
        } = &self.placed;
        let mut entries = entries.iter();
        entries.any(|entry| entry.name == *solution && entry.environment == *environment)
    }
}

/// Returns everything that is deployed in these namespaces.
pub(super) fn deployed_versions(spaces: &[EnvironmentNamespace]) -> Vec<DeployedVersion> {
    let of_space = |space: &EnvironmentNamespace| {
        let deployed = space.solutions.iter();
        let versions = deployed.map(|(solution, version)| DeployedVersion {
            placed: PlacedVersion {
                solution: solution.clone(),
                version: version.clone(),
                environment: space.environment.clone(),
            },
            namespace: space.namespace.clone(),
            fleet: space.fleets.get(solution).cloned(),
        });
        versions.collect::<Vec<_>>()
    };
    spaces.iter().flat_map(of_space).collect()
}

/// Returns the entries of a fleet's file for a cluster.
pub(super) fn entries<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    cluster: usize,
) -> Vec<&'a FleetSolution> {
    let all = file.spec().solutions.iter();
    let here = all.filter(|entry| members.of_solution(entry).contains(&cluster));
    here.collect()
}

/// Returns the versions that a fleet deployed in a cluster, and that its file no longer has there.
pub(super) fn unlisted(
    file: &FleetFile,
    members: &Members<'_>,
    cluster: usize,
    spaces: &[EnvironmentNamespace],
) -> Vec<DeployedVersion> {
    let entries = entries(file, members, cluster);
    let mut found = deployed_versions(spaces);
    found.retain(|version| version.is_of(file) && !version.is_listed(&entries));
    found
}

/// The policy for removals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemovalPolicy {
    /// No removals are planned.
    None,
    /// The user confirms them after reading the plan.
    Asked,
    /// All planned removals are confirmed.
    Confirmed,
}

/// The options of removals.
#[derive(Debug)]
pub(super) struct RemovalOptions {
    /// The fleet that deployed the version.
    pub(super) fleet: KubernetesName,
    pub(super) writer: Writer,
    pub(super) deadline: Duration,
    pub(super) helm: HelmProgram,
    /// Ids of drifted releases that may be uninstalled.
    pub(super) accepted: BTreeSet<String>,
    pub(super) sets: RemoveSets,
}

/// A deployment in a cluster that the file no longer lists.
pub(super) struct Departure {
    pub(super) version: DeployedVersion,
    /// The reason why it is removed or kept, if it is not obvious.
    pub(super) note: Option<String>,
    /// The options of its removal; `None` if it is kept.
    pub(super) removing: Option<Arc<RemovalOptions>>,
}

impl Departure {
    /// Returns the deployments that are no longer in the file. They are removed if there are options for that.
    pub(super) fn of_unlisted(
        versions: Vec<DeployedVersion>,
        removing: Option<&Arc<RemovalOptions>>,
    ) -> Vec<Self> {
        let note = match removing {
            Some(_) => "no longer in the file",
            None => "no longer in the file; remove it with `--prune`",
        };
        let departure = |version| Self {
            version,
            note: Some(note.to_owned()),
            removing: removing.cloned(),
        };
        versions.into_iter().map(departure).collect()
    }
}

impl RemovalOptions {
    pub(super) fn change<'a>(
        &'a self,
        cluster: &'a Cluster,
        tell: &'a (dyn Fn(Event) + Send + Sync),
    ) -> Change<'a> {
        Change {
            cluster,
            writer: &self.writer,
            tell,
            deadline: self.deadline,
            dry_run: false,
            helm: &self.helm,
            accepted: self.accepted.clone(),
        }
    }

    pub(super) fn undeployment<'a>(
        &'a self,
        placed: &'a PlacedVersion,
        namespace: &'a Namespace,
    ) -> Undeployment<'a> {
        Undeployment {
            solution: &placed.solution,
            environment: &placed.environment,
            namespace: Some(namespace),
            sets: self.sets,
            brought: Some(FleetVersion {
                fleet: &self.fleet,
                version: &placed.version,
            }),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use importer::Origin;

    use super::*;
    use crate::args::ChangeArguments;
    use crate::{cluster, helm};

    /// Returns a namespace with its environment's name, in which these `SOLUTION-VERSION FLEET` are deployed.
    pub(in crate::commands::fleet) fn space(
        environment: &str,
        deployed: &[&str],
    ) -> EnvironmentNamespace {
        let mut space = EnvironmentNamespace {
            environment: environment.parse().unwrap(),
            namespace: environment.parse().unwrap(),
            description: String::new(),
            origin: Origin::Created,
            solutions: [].into(),
            fleets: [].into(),
            fleet_clusters: [].into(),
            fleet_values: [].into(),
            chosen_by_flags: [].into(),
            going: false,
        };
        for deployment in deployed {
            let (id, fleet) = deployment.split_once(' ').unwrap_or((deployment, ""));
            let id: schemas::SolutionId = id.parse().unwrap();
            let (name, version) = (id.name().clone(), id.version().clone());
            if !fleet.is_empty() {
                space.fleets.insert(name.clone(), fleet.parse().unwrap());
            }
            space.solutions.insert(name, version);
        }
        space
    }

    #[test]
    fn what_left_the_file_is_what_the_fleet_brought_and_no_entry_has_there() {
        let file = file(
            "{clusters: [{name: paris, context: paris, labels: {tier: prod}}, {name: lab, context: lab}],
              groups: [{name: prod, selector: {matchLabels: {tier: prod}}}],
              solutions: [{name: shop, version: 1.1.0, environment: prod},
                          {name: cart, version: 1.0.0, environment: prod, groups: [prod]}],
              waves: [{name: all, clusters: [paris, lab]}]}",
        );
        let members = Members::of(file.spec());
        let spaces = [
            space(
                "prod",
                &[
                    "shop-1.0.0 shops",
                    "cart-1.0.0 shops",
                    "db-1.0.0",
                    "web-1.0.0 other",
                ],
            ),
            space("test", &["shop-1.1.0 shops"]),
        ];
        let of = |cluster| {
            let found = unlisted(&file, &members, cluster, &spaces).into_iter();
            let found = found.map(|version| version.placed.to_string());
            found.collect::<Vec<_>>()
        };
        // Another version is the same deployment, but another environment is not.
        assert_eq!(of(0), ["shop 1.1.0 in test"]);
        // The cluster is not in a group of the entry.
        assert_eq!(of(1), ["cart 1.0.0 in prod", "shop 1.1.0 in test"]);
    }

    /// Returns the file of the fleet `shops` with this `spec`.
    pub(in crate::commands::fleet) fn file(spec: &str) -> FleetFile {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionFleet\nmetadata: {{name: shops}}\nspec: {spec}"
        );
        FleetFile::read("fleet.yaml", text.as_bytes()).unwrap()
    }

    /// Returns the options of a user of this machine.
    pub(in crate::commands::fleet) fn removing() -> Arc<RemovalOptions> {
        Arc::new(RemovalOptions {
            fleet: "shops".parse().unwrap(),
            writer: cluster::writer(&ChangeArguments::default()).unwrap(),
            deadline: Duration::from_secs(1),
            helm: helm::installer(None),
            accepted: BTreeSet::new(),
            sets: RemoveSets::Apply,
        })
    }
}
