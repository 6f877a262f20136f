//! The values of sensitive parameters, which a fleet's file only refers to: they stand in files of their own, and in no plan.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;
use importer::{AskedParameters, Given};
use schemas::{FleetCluster, FleetSolution, Solution};

use crate::commands::parameters;
use crate::failure::Failure;

/// Reads the values for a deployment in a cluster; those of the cluster count before those for all. Paths begin at this
/// folder.
pub(super) fn read(
    folder: &Path,
    member: &FleetCluster,
    entry: &FleetSolution,
    manifest: &Solution,
) -> Result<AskedParameters, Failure> {
    let own = member.secrets.get(&entry.name);
    let mut given = BTreeMap::new();
    for file in entry.secrets.iter().chain(own) {
        let path = folder.join(file);
        let values = parameters::read(&path).map_err(Failure::settled)?;
        let declared = &manifest.spec.parameters;
        let is_plain = |name: &&_| declared.get(*name).is_some_and(|it| !it.sensitive);
        if let Some(name) = values.keys().find(is_plain) {
            let path = path.display();
            let plain = anyhow!("`{path}` has a value for `{name}`, which is not sensitive");
            return Err(Failure::no(plain).hint("set it under `site`, where plans show it"));
        }
        let values = values.into_iter();
        given.extend(values.map(|(name, value)| (name, Given::Filed(value))));
    }
    Ok(AskedParameters {
        given,
        ..AskedParameters::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_for_a_cluster_counts_before_what_is_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("all.yaml", "{password: a, token: b}");
        write("paris.yaml", "{password: c}");
        write("plain.yaml", "{size: 3}");
        let manifest = "{apiVersion: solutions.metalk8s.scality.com/v1alpha1, kind: Solution, metadata: {name: shop},
            spec: {version: 1.0.0, parameters: {size: {type: integer, default: 1},
            password: {type: string, sensitive: true}, token: {type: string, sensitive: true}}}}";
        let manifest = Solution::from_slice(manifest.as_bytes()).unwrap();
        let read = |all: &str, own: &str| {
            let own = json!({"name": "paris", "secrets": {"shop": own, "other": "none.yaml"}});
            let entry =
                json!({"name": "shop", "version": "1.0.0", "environment": "prod", "secrets": all});
            let (own, entry) = (serde_json::from_value(own), serde_json::from_value(entry));
            read(folder.path(), &own.unwrap(), &entry.unwrap(), &manifest)
        };
        let given = json!({"given": {"password": {"filed": "c"}, "token": {"filed": "b"}}});
        assert_eq!(json!(read("all.yaml", "paris.yaml").unwrap()), given);
        let refused = read("plain.yaml", "paris.yaml").unwrap_err();
        assert!(
            refused
                .in_one_line()
                .contains("`size`, which is not sensitive")
        );
        assert!(read("all.yaml", "missing.yaml").is_err());
    }
}
