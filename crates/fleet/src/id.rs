//! Ids that cover multiple clusters, such as the plan of a wave or the consent to all findings ([`fleet_id`]), and the
//! digest of a fleet's goal ([`goal_of`]). An approval or consent with such an id is only valid for exactly the content
//! from which the id was computed.

use schemas::{ClusterName, ClusterUid, Digest, FleetSpec, PlacedVersion};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The size of an id in bytes. 96 bits make it infeasible to construct different content with the same id.
const LENGTH: usize = 12;
/// The number of hexadecimal digits in an id.
pub const ID_DIGITS: usize = 2 * LENGTH;

/// The contribution of one deployment in one cluster to an id.
#[derive(Clone, Copy, Debug)]
pub struct IdPart<'a> {
    /// The name of the cluster.
    pub cluster: &'a ClusterName,
    /// The UID of the cluster. A different cluster with the same name leads to a different id.
    pub uid: &'a ClusterUid,
    /// The deployment.
    pub deployment: &'a PlacedVersion,
    /// The content that the id covers for this deployment.
    pub text: &'a str,
}

/// Returns the id, in hexadecimal digits, for exactly these parts in this order.
#[must_use]
pub fn fleet_id<'a>(parts: impl IntoIterator<Item = IdPart<'a>>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        let IdPart {
            cluster,
            uid,
            deployment,
            text,
        } = part;
        // Only `text` can contain line feeds, and its length precedes it, so different parts never give the same input.
        let size = text.len();
        hash.update(format!("{cluster}\n{uid}\n{deployment}\n{size}\n{text}\n"));
    }
    let digits = hash.finalize();
    let digits = digits.iter().take(LENGTH).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Returns the digest of a fleet's goal. The goal excludes the order and time of changes and the accepted findings:
/// `waves`, `paused` and `accept`.
#[must_use]
pub fn goal_of(spec: &FleetSpec) -> Digest {
    let goal = FleetSpec {
        waves: Vec::new(),
        paused: false,
        accept: Vec::new(),
        ..spec.clone()
    };
    Digest::new(Sha256::digest(json!(goal).to_string()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_what_is_asked_for_and_not_when_it_is_done() {
        let of = |more: &str| {
            let solution = r#"{"name": "shop", "version": "1.0.0", "environment": "prod"}"#;
            let spec = format!(r#"{{"solutions": [{solution}]{more}}}"#);
            goal_of(&serde_json::from_str(&spec).unwrap())
        };
        let goal = of("");
        let wave = r#", "waves": [{"name": "all", "approve": true}]"#;
        for same in [wave, r#", "paused": true"#, r#", "accept": ["5c"]"#] {
            assert_eq!(of(same), goal, "{same}");
        }
        let values = r#", "site": {"parameters": {"shop": {"size": 1}}}"#;
        for other in [values, r#", "clusters": [{"name": "lab"}]"#] {
            assert_ne!(of(other), goal, "{other}");
        }
    }

    #[test]
    fn an_id_stands_for_what_is_where_and_nothing_else() {
        let deployment = |version: &str| PlacedVersion {
            solution: "shop".parse().unwrap(),
            version: version.parse().unwrap(),
            environment: "prod".parse().unwrap(),
        };
        let of = |cluster: &str, uid: &str, version: &str, text: &str| {
            fleet_id([IdPart {
                cluster: &cluster.parse().unwrap(),
                uid: &uid.parse().unwrap(),
                deployment: &deployment(version),
                text,
            }])
        };
        let id = of(
            "paris",
            "00000000-0000-4000-8000-000000000001",
            "1.0.0",
            "a",
        );
        assert_eq!(id.len(), 24);
        assert_eq!(
            of(
                "paris",
                "00000000-0000-4000-8000-000000000001",
                "1.0.0",
                "a"
            ),
            id
        );
        for other in [
            of("rome", "00000000-0000-4000-8000-000000000001", "1.0.0", "a"),
            of(
                "paris",
                "00000000-0000-4000-8000-000000000002",
                "1.0.0",
                "a",
            ),
            of(
                "paris",
                "00000000-0000-4000-8000-000000000001",
                "1.1.0",
                "a",
            ),
            of(
                "paris",
                "00000000-0000-4000-8000-000000000001",
                "1.0.0",
                "b",
            ),
            fleet_id([]),
        ] {
            assert_ne!(other, id);
        }
    }
}
