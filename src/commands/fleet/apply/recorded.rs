//! The name by which a fleet knows a cluster, as the records of the cluster have it.

use anyhow::anyhow;
use importer::EnvironmentNamespace;
use schemas::{ClusterName, KubernetesName};

use crate::failure::{self, Failure};

/// Fails if the records of a cluster say that the fleet knows it by another name.
pub(super) fn check_recorded(
    fleet: &KubernetesName,
    name: &ClusterName,
    spaces: &[EnvironmentNamespace],
) -> Result<(), Failure> {
    for space in spaces {
        let of_fleet = |solution| space.fleets.get(solution) == Some(fleet);
        let mut recorded = space.fleet_clusters.iter();
        let other = recorded.find(|(solution, other)| of_fleet(*solution) && *other != name);
        if let Some((_, other)) = other {
            let environment = &space.environment;
            let conflict = anyhow!(
                "cannot use the cluster as `{name}`: its environment {environment} is recorded for the cluster `{other}` of the fleet {fleet}"
            );
            return Err(Failure::no(conflict).hint(failure::repin(name)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::standing::tests::space;
    use super::*;

    #[test]
    fn a_cluster_whose_records_name_another_one_of_the_fleet_is_refused() {
        let mut prod = space(
            "prod",
            &["shop-1.0.0 shops", "web-1.0.0 others", "cart-1.0.0 shops"],
        );
        let name = |name: &str| name.parse().unwrap();
        for (solution, cluster) in [("shop", "paris"), ("web", "rome")] {
            let solution = solution.parse().unwrap();
            prod.fleet_clusters.insert(solution, name(cluster));
        }
        let check = |cluster| {
            let spaces = [space("test", &["shop-1.0.0 shops"]), prod.clone()];
            let fleet = "shops".parse().unwrap();
            check_recorded(&fleet, &name(cluster), &spaces).map_err(|it| it.in_one_line())
        };
        assert!(check("paris").is_ok());
        let refused = check("rome").unwrap_err();
        let words = "cannot use the cluster as `rome`: its environment prod is recorded for the cluster `paris`";
        assert!(refused.starts_with(words), "{refused}");
    }
}
