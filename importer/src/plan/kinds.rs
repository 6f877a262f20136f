//! Objects of kinds that the cluster does not serve and that no part of the deployment defines before them. [`Unknown`]
//! collects them and creates one blocker for each kind, with the versions of the kind that exist elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use deployer::{Cluster, Gvk, Object};
use manifests::Definition;
use serde_json::Value;

use crate::model::error::Error;
use crate::model::obstacle::{KindIn, Obstacle, Unfit};

/// Objects of kinds that the cluster does not serve, by kind.
#[derive(Debug, Default)]
pub(crate) struct Unknown(BTreeMap<Gvk, Vec<String>>);

impl Unknown {
    pub(crate) fn add(&mut self, kind: &Gvk, object: &Object) {
        let objects = self.0.entry(kind.clone()).or_default();
        objects.push(object.reference().to_string());
    }

    /// Returns a blocker for each kind. It lists the versions of the kind in the cluster, in the definitions that are
    /// applied before the release (`before`), and in the release itself (`own`).
    pub(crate) async fn obstacles<'a>(
        self,
        cluster: &Cluster,
        before: impl IntoIterator<Item = &'a Value> + Clone,
        own: &[&Value],
    ) -> Result<Vec<Obstacle>, Error> {
        let mut obstacles = Vec::new();
        for (kind, objects) in self.0 {
            let found = KindIn {
                cluster: cluster.other_versions(&kind).await?,
                archive: defined(&kind, before.clone()),
                release: defined(&kind, own.iter().copied()),
            };
            let missing = Unfit::NoKind {
                objects,
                kind,
                found: Box::new(found),
            };
            obstacles.push(missing.into());
        }
        Ok(obstacles)
    }
}

/// Returns the versions of a kind that these definitions serve.
fn defined<'a>(kind: &Gvk, definitions: impl IntoIterator<Item = &'a Value>) -> Vec<String> {
    let of_kind = definitions
        .into_iter()
        .map(Definition)
        .filter(|definition| definition.group() == kind.group && definition.kind() == kind.kind);
    let served = of_kind.flat_map(Definition::served);
    let served: BTreeSet<String> = served
        .map(|version| format!("{}/{version}", kind.group))
        .collect();
    served.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kind_is_defined_in_the_versions_that_are_served() {
        let version = |name: &str, served| json!({ "name": name, "served": served });
        let definition = |group: &str, kind: &str, versions: &[Value]| json!({ "spec": { "group": group, "names": { "kind": kind }, "versions": versions } });
        let all = [
            definition(
                "a.test",
                "Thing",
                &[version("v2", true), version("v1", false)],
            ),
            definition(
                "a.test",
                "Thing",
                &[version("v2", true), version("v3", true)],
            ),
            definition("a.test", "Other", &[version("v4", true)]),
            definition("b.test", "Thing", &[version("v5", true)]),
        ];
        let found = |group: &str| defined(&Gvk::new(&format!("{group}/v9"), "Thing"), &all);
        assert_eq!(found("a.test"), ["a.test/v2", "a.test/v3"]);
        assert_eq!(found("c.test"), [""; 0]);
    }

    #[test]
    fn it_is_said_what_is_missing_and_what_there_is_instead() {
        let said = |cluster: &[&str], archive: &[&str], release: &[&str]| {
            let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
            let found = KindIn {
                cluster: texts(cluster),
                archive: texts(archive),
                release: texts(release),
            };
            let kind = Gvk::new("a.test/v1", "Thing");
            let missing = Unfit::NoKind {
                objects: vec!["Thing n/x".to_owned()],
                kind,
                found: Box::new(found),
            };
            missing.to_string()
        };
        let missing = "cannot create Thing n/x: the cluster does not serve kind Thing in a.test/v1";
        assert_eq!(
            said(&[], &[], &[]),
            format!("{missing}, and neither the cluster nor the archive has a CRD for it")
        );
        assert_eq!(
            said(&["a.test/v2", "a.test/v3"], &[], &[]),
            format!("{missing}; the cluster serves it in a.test/v2, a.test/v3")
        );
        assert_eq!(
            said(&["a.test/v3"], &["a.test/v2"], &[]),
            format!(
                "{missing}; the cluster serves it in a.test/v3; the CRD of the archive serves it in a.test/v2"
            )
        );
        assert_eq!(
            said(&[], &[], &["a.test/v1"]),
            format!(
                "{missing}; the CRD of the release serves it in a.test/v1, but Helm checks all kinds before it creates that CRD"
            )
        );
    }
}
