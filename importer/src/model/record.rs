//! The record of an imported version: one ConfigMap for each version. Upstream's ConfigMap is derived from all of them
//! ([`projection`]).

use std::collections::BTreeMap;

use change::vocabulary as v;
use deployer::{Object, ObjectRef};
use manifests::Address;
use schemas::{ImagePlace, OperatorConfig, Repository, SolutionName, Version};
use serde_json::{Value, json};
use shelf::{Record, RecordedImage, image_place};

use crate::model::config_map;
use crate::model::error::Error;

/// The data key of records without a format (before format 2).
const FORMER_KEY: &str = "record.json";

/// Returns the ConfigMap of a version's record.
pub(crate) fn object(record: &Record) -> Value {
    let (name, version) = (&record.name, &record.version);
    let labels = json!({ v::RECORD: "version", v::SOLUTION: name, v::VERSION: version });
    config_map::record(&config_map_name(name, version), labels, record)
}

/// Returns the reference of a record's ConfigMap.
#[must_use]
pub fn place(record: &Record) -> ObjectRef {
    reference(&record.name, &record.version)
}

/// Reads a record from its ConfigMap.
pub(crate) fn read(object: &Object) -> Result<Record, Error> {
    config_map::read(object, FORMER_KEY)
}

/// Returns the reference of the ConfigMap of a version's record.
pub(crate) fn reference(name: &SolutionName, version: &Version) -> ObjectRef {
    config_map::reference(&config_map_name(name, version))
}

fn config_map_name(name: &SolutionName, version: &Version) -> String {
    format!("solution-{name}-{version}")
}

/// Returns the configuration of an operator: every imported version of its Solution.
pub(crate) fn operator_config<'a>(records: impl IntoIterator<Item = &'a Record>) -> OperatorConfig {
    let entry = |record: &Record| {
        let images = record.images.iter().map(|image| image.image.clone());
        let repository = Repository {
            endpoint: record.endpoint.clone(),
            images: images.collect(),
        };
        (record.version.clone(), vec![repository])
    };
    OperatorConfig::new(records.into_iter().map(entry).collect())
}

/// Returns the addresses from which nodes pull the images of sets and charts. They do not contain the version, so an
/// upgrade only restarts pods whose image changes.
pub(crate) fn addresses(record: &Record) -> Result<BTreeMap<ImagePlace, Address>, Error> {
    let (registry, layout) = (record.pull_registry()?, record.placement.layout);
    let address = |image: &RecordedImage| {
        let RecordedImage { image, digest, .. } = image;
        let (repository, _) = image_place(
            &registry,
            layout,
            &record.name,
            &record.version,
            image,
            *digest,
        )?;
        let address = Address {
            registry: registry.host().to_owned(),
            path: repository.to_string(),
            tag: image.tag.to_string(),
            digest: *digest,
        };
        Ok((image.clone(), address))
    };
    record.images.iter().map(address).collect()
}

/// Returns the namespace of the records.
pub(crate) fn namespace() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": { "name": v::RECORDS_NAMESPACE },
    })
}

/// Returns upstream's ConfigMap: a JSON list of versions for each Solution. `active` are the versions whose CRDs are in
/// the cluster. The mount point is always empty, since archives are not mounted.
pub(crate) fn projection(records: &[Record], active: &BTreeMap<SolutionName, Version>) -> Value {
    let mut data: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for record in records {
        data.entry(record.name.as_str()).or_default().push(json!({
            "name": record.name,
            "id": record.id(),
            "version": record.version,
            "active": active.get(&record.name) == Some(&record.version),
            "mountpoint": "",
            "archive": record.archive_id,
            "manifest": record.manifest,
        }));
    }
    let data: BTreeMap<&str, String> = data
        .into_iter()
        .map(|(name, list)| (name, Value::Array(list).to_string()))
        .collect();
    config_map::config_map(v::AVAILABLE, json!({}), &data)
}

/// Returns the reference of the projection's ConfigMap.
pub(crate) fn projection_reference() -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", v::RECORDS_NAMESPACE, v::AVAILABLE)
}

#[cfg(test)]
pub(crate) mod tests {
    use schemas::{Digest, KeyId, Solution, StatementTime};
    use shelf::Placement;

    use super::*;

    pub(crate) fn record(version: &str) -> Record {
        let manifest = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Solution\nmetadata: {{name: shop}}\nspec: {{version: {version}, images: ['web:7']}}\n"
        );
        Record {
            name: "shop".parse().unwrap(),
            version: version.parse().unwrap(),
            archive_id: Digest::new([1; 32]),
            signers: vec![KeyId::new(Digest::new([2; 32]))],
            pushed_to: format!("push.test/shop-{version}"),
            endpoint: format!("pull.test/shop-{version}"),
            images: vec![RecordedImage {
                image: "web:7".parse().unwrap(),
                digest: Digest::new([3; 32]),
                reference: None,
            }],
            placement: Placement::default(),
            imported: StatementTime::DEFAULT,
            expires: None,
            manifest: Solution::from_slice(manifest.as_bytes()).unwrap(),
        }
    }

    #[test]
    fn a_record_comes_back_from_its_config_map() {
        let record = record("1.0.0");
        let map = Object::new(object(&record)).unwrap();
        assert_eq!(map.name(), "solution-shop-1.0.0");
        assert_eq!(read(&map).unwrap(), record);
        let mut damaged = object(&record);
        *config_map::content(&mut damaged) = json!("{");
        let error = read(&Object::new(damaged).unwrap()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("metalk8s-solutions/solution-shop-1.0.0"),
            "{error}"
        );
    }

    #[test]
    fn an_operator_is_told_of_every_version() {
        let config = operator_config([&record("1.0.0"), &record("1.1.0")]);
        let endpoints: Vec<(String, &str)> = config
            .repositories
            .iter()
            .map(|(version, places)| (version.to_string(), places[0].endpoint.as_str()))
            .collect();
        assert_eq!(
            endpoints,
            [
                ("1.0.0".to_owned(), "pull.test/shop-1.0.0"),
                ("1.1.0".to_owned(), "pull.test/shop-1.1.0")
            ]
        );
    }

    #[test]
    fn a_record_knows_its_registries() {
        let mut record = record("1.0.0");
        record.pushed_to = "push.test:5000/a/b/shop-1.0.0".to_owned();
        let registries = [record.registry(), record.pull_registry()];
        let registries = registries.map(|registry| registry.unwrap().to_string());
        assert_eq!(registries, ["push.test:5000/a/b", "pull.test"]);
    }

    #[test]
    fn the_same_import_at_another_time_is_the_same() {
        let first = record("1.0.0");
        let mut later = first.clone();
        later.imported = StatementTime::from_unix(1_700_000_000).unwrap();
        assert!(first.is_same_import(&later));
        later.archive_id = Digest::new([9; 32]);
        assert!(!first.is_same_import(&later));
    }

    #[test]
    fn upstreams_list_names_the_active_version() {
        let active = BTreeMap::from([("shop".parse().unwrap(), "1.1.0".parse().unwrap())]);
        let object = projection(&[record("1.0.0"), record("1.1.0")], &active);
        let list: Value = serde_json::from_str(object["data"]["shop"].as_str().unwrap()).unwrap();
        let seen: Vec<(&str, bool)> = list
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| {
                (
                    entry["id"].as_str().unwrap(),
                    entry["active"].as_bool().unwrap(),
                )
            })
            .collect();
        assert_eq!(seen, [("shop-1.0.0", false), ("shop-1.1.0", true)]);
        assert_eq!(list[0]["manifest"]["kind"], "Solution");
    }
}
