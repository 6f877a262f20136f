//! The waves of a fleet, in the order in which their clusters are changed. The check of the file ensures that each
//! cluster is in exactly one wave.

use schemas::{FleetSpec, FleetWave};

use crate::Members;

/// A wave with its clusters.
#[derive(Debug)]
pub struct ClustersOfWave<'a> {
    /// The wave.
    pub wave: &'a FleetWave,
    /// The clusters as indexes into the file, in the order in which they are changed.
    pub clusters: Vec<usize>,
}

/// Returns the waves in order, each with its clusters.
#[must_use]
pub fn waves<'a>(spec: &'a FleetSpec, members: &Members<'_>) -> Vec<ClustersOfWave<'a>> {
    let with_clusters = |wave| ClustersOfWave {
        wave,
        clusters: members.of_wave(wave).into_iter().collect(),
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
        let waves = waves(&spec, &members);
        let order: Vec<(&str, &[usize])> = waves
            .iter()
            .map(|wave| (wave.wave.name.as_str(), &wave.clusters[..]))
            .collect();
        assert_eq!(order, [("first", &[1][..]), ("second", &[0, 2])]);
        assert_eq!(members.groups_of(2), [0]);
        assert!(members.groups_of(1).is_empty());
    }
}
