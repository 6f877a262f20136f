//! An id that stands for something of many clusters at once: for all that is to be accepted, for the plan of a wave.

use schemas::{ClusterName, ClusterUid, PlacedVersion};
use sha2::{Digest as _, Sha256};

/// Bytes of an id: 96 bits, so that nobody makes something else with the same one.
const LENGTH: usize = 12;
/// Hex digits of an id.
pub const ID_DIGITS: usize = 2 * LENGTH;

/// The part of an id that one deployment in one cluster has.
#[derive(Clone, Copy, Debug)]
pub struct IdPart<'a> {
    /// The name of the cluster.
    pub cluster: &'a ClusterName,
    /// The UID of the cluster: another one under its name is something else.
    pub uid: &'a ClusterUid,
    /// The deployment.
    pub deployment: &'a PlacedVersion,
    /// What the id stands for, of this deployment.
    pub text: &'a str,
}

/// Returns the id, in hex digits, that stands for exactly these in this order.
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
        // Only the last of these can have a line feed, and its length is told.
        let size = text.len();
        hash.update(format!("{cluster}\n{uid}\n{deployment}\n{size}\n{text}\n"));
    }
    let digits = hash.finalize();
    let digits = digits.iter().take(LENGTH).map(|byte| format!("{byte:02x}"));
    digits.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
