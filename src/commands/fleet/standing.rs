//! What stands in a cluster of a fleet, and which of it the fleet's file has there.

use fleet::{FleetFile, Members};
use importer::EnvironmentNamespace;
use schemas::{FleetSolution, KubernetesName, Namespace, PlacedVersion};

/// A version that is deployed in a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StandingVersion {
    pub(super) placed: PlacedVersion,
    pub(super) namespace: Namespace,
    /// The fleet that brought it, if one did.
    fleet: Option<KubernetesName>,
}

impl StandingVersion {
    /// Whether this fleet brought it.
    pub(super) fn is_of(&self, file: &FleetFile) -> bool {
        self.fleet.as_ref() == Some(&file.document().metadata.name)
    }

    /// Whether one of these entries is of it, in whatever version.
    pub(super) fn is_listed(&self, entries: &[&FleetSolution]) -> bool {
        let PlacedVersion {
            solution,
            environment,
            ..
        } = &self.placed;
        let mut entries = entries.iter();
        entries.any(|it| it.name == *solution && it.environment == *environment)
    }
}

/// Everything that is deployed in these namespaces.
pub(super) fn standing(spaces: &[EnvironmentNamespace]) -> Vec<StandingVersion> {
    let of_space = |space: &EnvironmentNamespace| {
        let deployed = space.solutions.iter();
        let standing = deployed.map(|(solution, version)| StandingVersion {
            placed: PlacedVersion {
                solution: solution.clone(),
                version: version.clone(),
                environment: space.environment.clone(),
            },
            namespace: space.namespace.clone(),
            fleet: space.fleets.get(solution).cloned(),
        });
        standing.collect::<Vec<_>>()
    };
    spaces.iter().flat_map(of_space).collect()
}

/// The entries of a fleet's file for a cluster.
pub(super) fn entries<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    cluster: usize,
) -> Vec<&'a FleetSolution> {
    let all = file.spec().solutions.iter();
    let here = all.filter(|it| members.of_solution(it).contains(&cluster));
    here.collect()
}

/// What a fleet brought to a cluster, and its file no longer has there.
pub(super) fn unlisted(
    file: &FleetFile,
    members: &Members<'_>,
    cluster: usize,
    spaces: &[EnvironmentNamespace],
) -> Vec<StandingVersion> {
    let entries = entries(file, members, cluster);
    let mut found = standing(spaces);
    found.retain(|it| it.is_of(file) && !it.is_listed(&entries));
    found
}

#[cfg(test)]
pub(super) mod tests {
    use importer::Origin;

    use super::*;

    /// A namespace of its environment's name, in which these `SOLUTION-VERSION FLEET` are deployed.
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
        for it in deployed {
            let (id, fleet) = it.split_once(' ').unwrap_or((it, ""));
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
            let found = found.map(|it| it.placed.to_string());
            found.collect::<Vec<_>>()
        };
        // Another version is the same deployment; another environment is another one.
        assert_eq!(of(0), ["shop 1.1.0 in test"]);
        // The cluster is in no group of the entry.
        assert_eq!(of(1), ["cart 1.0.0 in prod", "shop 1.1.0 in test"]);
    }

    /// The file of the fleet `shops`, with this in its `spec`.
    pub(in crate::commands::fleet) fn file(spec: &str) -> FleetFile {
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionFleet\nmetadata: {{name: shops}}\nspec: {spec}"
        );
        FleetFile::read("fleet.yaml", text.as_bytes()).unwrap()
    }
}
