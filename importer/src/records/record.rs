//! The record of an imported version: one ConfigMap for each version. Upstream's ConfigMap is derived from all of them
//! ([`projection`]).
//!
//! [`RememberedSigners`] holds the signers of each Solution that a site has accepted, in one ConfigMap that is kept
//! when versions are removed. It protects against mistakes and swapped media, not against cluster administrators. An
//! archive without a signature by a remembered key comes from another publisher, and an unsigned archive can come from
//! anyone. Users accept each case with a separate flag, and the result is remembered.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Object, ObjectRef};
use manifests::Address;
use planner::vocabulary as v;
use schemas::{ImagePlace, KeyId, OperatorConfig, Repository, SolutionName, Version};
use serde_json::{Value, json};
use store::{Record, RecordedImage, image_place};

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::request::{ChangeSigners, Exceptions, ForgetSigners};
use crate::records::storage::{self, config_map, parse};

/// The data key of records without a format (before format 2).
const FORMER_KEY: &str = "record.json";

/// Returns the ConfigMap of a version's record.
pub(crate) fn object(record: &Record) -> Value {
    let (name, version) = (&record.name, &record.version);
    let labels = json!({ v::RECORD: "version", v::SOLUTION: name, v::VERSION: version });
    storage::record(&config_map_name(name, version), labels, record)
}

/// Returns the reference of a record's ConfigMap.
#[must_use]
pub fn place(record: &Record) -> ObjectRef {
    reference(&record.name, &record.version)
}

/// Reads a record from its ConfigMap.
pub(crate) fn read(object: &Object) -> Result<Record, Error> {
    storage::read(object, FORMER_KEY)
}

/// Returns the reference of the ConfigMap of a version's record.
pub(crate) fn reference(name: &SolutionName, version: &Version) -> ObjectRef {
    storage::reference(&config_map_name(name, version))
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
    storage::config_map(v::AVAILABLE, json!({}), &data)
}

/// Returns the reference of the projection's ConfigMap.
pub(crate) fn projection_reference() -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", v::RECORDS_NAMESPACE, v::AVAILABLE)
}

/// The remembered signers of each Solution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RememberedSigners(BTreeMap<SolutionName, BTreeSet<KeyId>>);

impl RememberedSigners {
    pub(crate) fn from_object(object: &Object) -> Result<Self, Error> {
        let mut memory = BTreeMap::new();
        let data = object.as_value()["data"].as_object();
        for (key, _) in data.into_iter().flatten() {
            let name = key
                .parse()
                .map_err(|source| Error::Name(object.reference().to_string(), source))?;
            memory.insert(name, parse(object, key)?);
        }
        Ok(Self(memory))
    }

    /// Returns the `ConfigMap` of the memory: a JSON list of key ids for each Solution.
    pub(crate) fn to_object(&self) -> Value {
        let data: BTreeMap<&str, String> = self
            .0
            .iter()
            .map(|(name, keys)| (name.as_str(), json!(keys).to_string()))
            .collect();
        config_map(v::SIGNERS, json!({ v::RECORD: "signers" }), &data)
    }

    /// Returns the remembered keys of a Solution.
    pub(crate) fn of(&self, solution: &SolutionName) -> Option<&BTreeSet<KeyId>> {
        self.0.get(solution)
    }

    /// Returns the blocker to importing this version because of its signers, unless it is allowed.
    pub(crate) fn check(&self, record: &Record, allowed: Exceptions) -> Option<Blocker> {
        let known = self.of(&record.name).filter(|known| !known.is_empty())?;
        if allowed.forget == ForgetSigners::Allow || known_among(known, record) {
            return None;
        }
        let solution = record.name.clone();
        let signers = known.iter().map(KeyId::short).collect();
        if record.signers.is_empty() {
            return Some(Blocker::NoSigners { solution, signers });
        }
        if allowed.signers == ChangeSigners::Allow {
            return None;
        }
        Some(Blocker::OtherSigners { solution, signers })
    }

    /// Returns the memory after the import of this version. Keys that sign together with a remembered key are added, so
    /// that keys can be replaced one by one. Signers without a common key replace the remembered ones.
    pub(crate) fn after(&self, record: &Record, allowed: Exceptions) -> Self {
        let mut after = self.clone();
        let name = &record.name;
        let known = after.0.get(name);
        let keep = allowed.forget == ForgetSigners::Refuse
            && known.is_some_and(|known| known_among(known, record));
        if !keep && (allowed.forget == ForgetSigners::Allow || !record.signers.is_empty()) {
            after.0.remove(name);
        }
        if !record.signers.is_empty() {
            let known = after.0.entry(name.clone()).or_default();
            known.extend(&record.signers);
        }
        after
    }
}

fn known_among(known: &BTreeSet<KeyId>, record: &Record) -> bool {
    record.signers.iter().any(|signer| known.contains(signer))
}

#[cfg(test)]
pub(crate) mod tests {
    use schemas::{Digest, KeyId, Solution, StatementTime};
    use store::Placement;

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
        *storage::content(&mut damaged) = json!("{");
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

#[cfg(test)]
mod signers_tests {
    use schemas::Digest;

    use super::*;
    use crate::records::record::tests::record;

    fn key(number: u8) -> KeyId {
        KeyId::new(Digest::new([number; 32]))
    }

    fn signed_by(keys: &[u8]) -> Record {
        Record {
            signers: keys.iter().copied().map(key).collect(),
            ..record("1.0.0")
        }
    }

    fn memory(keys: &[u8]) -> RememberedSigners {
        let keys = keys.iter().copied().map(key).collect();
        RememberedSigners(BTreeMap::from([
            ("other".parse().unwrap(), BTreeSet::from([key(9)])),
            ("shop".parse().unwrap(), keys),
        ]))
    }

    /// Returns the remembered keys of `shop`.
    fn known(memory: &RememberedSigners) -> Vec<KeyId> {
        let shop: SolutionName = "shop".parse().unwrap();
        memory.0.get(&shop).into_iter().flatten().copied().collect()
    }

    fn allowing(signers: ChangeSigners, forget: ForgetSigners) -> Exceptions {
        Exceptions {
            signers,
            forget,
            ..Exceptions::default()
        }
    }

    fn nothing() -> Exceptions {
        allowing(ChangeSigners::Refuse, ForgetSigners::Refuse)
    }

    fn change() -> Exceptions {
        allowing(ChangeSigners::Allow, ForgetSigners::Refuse)
    }

    fn forget() -> Exceptions {
        allowing(ChangeSigners::Refuse, ForgetSigners::Allow)
    }

    #[test]
    fn who_signed_before_decides() {
        // The remembered keys, the signers, and the permissions; then the blocker and the keys that are remembered
        // afterwards.
        type Case<'a> = (&'a [u8], &'a [u8], Exceptions, Option<Blocker>, &'a [u8]);
        let name: SolutionName = "shop".parse().unwrap();
        let short = |number: u8| key(number).short();
        let others = |known: u8| {
            Some(Blocker::OtherSigners {
                solution: name.clone(),
                signers: vec![short(known)],
            })
        };
        let nobody = || {
            Some(Blocker::NoSigners {
                solution: name.clone(),
                signers: vec![short(1)],
            })
        };
        let cases: [Case<'_>; 15] = [
            // Any signers are accepted at the first import and are remembered.
            (&[], &[1, 2], nothing(), None, &[1, 2]),
            (&[], &[], nothing(), None, &[]),
            (&[], &[], forget(), None, &[]),
            // One remembered key is sufficient, and the other signers are added.
            (&[1], &[1], nothing(), None, &[1]),
            (&[1, 2], &[2, 3], nothing(), None, &[1, 2, 3]),
            (&[1, 2], &[2, 3], change(), None, &[1, 2, 3]),
            // No signer is remembered.
            (&[1], &[2], nothing(), others(1), &[2]),
            (&[1], &[2], change(), None, &[2]),
            (&[1], &[2], forget(), None, &[2]),
            (&[1, 2], &[2], forget(), None, &[2]),
            // An unsigned archive needs its own permission; that for changed signers does not cover it.
            (&[1], &[], nothing(), nobody(), &[1]),
            (&[1], &[], change(), nobody(), &[1]),
            (&[1], &[], forget(), None, &[]),
            // After the change, the old key is unknown too.
            (&[2], &[1], nothing(), others(2), &[1]),
            (&[2], &[1, 2], nothing(), None, &[1, 2]),
        ];
        for (index, (before, signers, allowed, refused, after)) in cases.into_iter().enumerate() {
            let (memory, record) = (memory(before), signed_by(signers));
            assert_eq!(memory.check(&record, allowed), refused, "case {index}");
            let remembered = memory.after(&record, allowed);
            let expected: Vec<KeyId> = after.iter().copied().map(key).collect();
            assert_eq!(known(&remembered), expected, "case {index}");
            // Other Solutions are not affected, and repeating the import changes nothing.
            assert_eq!(
                remembered.0.get(&"other".parse().unwrap()).unwrap().len(),
                1
            );
            if refused.is_none() {
                assert_eq!(remembered.check(&record, nothing()), None, "case {index}");
                assert_eq!(
                    remembered.after(&record, nothing()),
                    remembered,
                    "case {index}"
                );
            }
        }
    }

    #[test]
    fn a_memory_comes_back_from_its_config_map() {
        for memory in [RememberedSigners::default(), memory(&[1, 2])] {
            let object = Object::new(memory.to_object()).unwrap();
            assert_eq!(RememberedSigners::from_object(&object).unwrap(), memory);
        }
        for (name, keys) in [("shop", "[\"x\"]"), ("shop", "{"), ("Shop", "[]")] {
            let mut damaged = RememberedSigners::default().to_object();
            damaged["data"][name] = json!(keys);
            let error = RememberedSigners::from_object(&Object::new(damaged).unwrap()).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("metalk8s-solutions/solution-signers"),
                "{text}"
            );
        }
    }
}
