//! The order in which clusters are changed.

use schemas::{FleetCluster, FleetSpec, FleetWave};

use crate::Members;

/// A wave with its clusters.
#[derive(Debug)]
pub struct ClustersOfWave<'a> {
    /// The wave.
    pub wave: &'a FleetWave,
    /// Its clusters, in the order of the file.
    pub clusters: Vec<&'a FleetCluster>,
}

/// Returns the waves in their order, each with its clusters.
#[must_use]
pub fn waves<'a>(spec: &'a FleetSpec, members: &Members<'a>) -> Vec<ClustersOfWave<'a>> {
    let with_clusters = |wave| {
        let clusters = members.of_wave(wave).into_iter();
        ClustersOfWave {
            wave,
            clusters: clusters.map(|at| &spec.clusters[at]).collect(),
        }
    };
    spec.waves.iter().map(with_clusters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_keep_their_order_and_clusters_that_of_the_file() {
        let spec: FleetSpec = serde_json::from_str(
            r#"{"clusters": [{"name": "a", "labels": {"tier": "prod"}}, {"name": "b"}, {"name": "c", "labels": {"tier": "prod"}}],
                "groups": [{"name": "prod", "selector": {"matchLabels": {"tier": "prod"}}}],
                "waves": [{"name": "first", "clusters": ["b"]}, {"name": "second", "clusters": ["c"], "groups": ["prod"]}]}"#,
        )
        .unwrap();
        let members = Members::of(&spec);
        let order: Vec<(&str, Vec<&str>)> = waves(&spec, &members)
            .iter()
            .map(|it| {
                let clusters = it.clusters.iter().map(|cluster| cluster.name.as_str());
                (it.wave.name.as_str(), clusters.collect())
            })
            .collect();
        assert_eq!(order, [("first", vec!["b"]), ("second", vec!["a", "c"])]);
        assert_eq!(members.groups_of(2), [0]);
        assert!(members.groups_of(1).is_empty());
    }
}
