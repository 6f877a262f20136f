//! The signers of each Solution that a site has accepted ([`Memory`]): one ConfigMap for all Solutions, which is kept
//! when versions are removed.
//!
//! It protects against mistakes and swapped media, not against cluster administrators. An archive without a signature
//! by a remembered key comes from another publisher, and an unsigned archive can come from anyone. Users accept each
//! case with a separate flag, and the result is remembered.

use std::collections::{BTreeMap, BTreeSet};

use change::vocabulary as v;
use deployer::Object;
use schemas::{KeyId, SolutionName};
use serde_json::{Value, json};
use shelf::Record;

use crate::model::config_map::{config_map, parse};
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::request::{Allowed, ChangeSigners, ForgetSigners};

/// The remembered signers of each Solution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory(BTreeMap<SolutionName, BTreeSet<KeyId>>);

impl Memory {
    pub(crate) fn from_object(object: &Object) -> Result<Self, Error> {
        let mut memory = BTreeMap::new();
        let data = object.as_value()["data"].as_object();
        for (key, _) in data.into_iter().flatten() {
            let name = key.parse().map_err(|source| Error::Name {
                object: object.reference().to_string(),
                source,
            })?;
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

    /// Returns the obstacle to importing this version because of its signers, unless it is allowed.
    pub(crate) fn check(&self, record: &Record, allowed: Allowed) -> Option<Obstacle> {
        let known = self.of(&record.name).filter(|known| !known.is_empty())?;
        if allowed.forget == ForgetSigners::Allow || known_among(known, record) {
            return None;
        }
        let solution = record.name.clone();
        let signers = known.iter().map(KeyId::short).collect();
        if record.signers.is_empty() {
            return Some(Obstacle::NoSigners { solution, signers });
        }
        if allowed.signers == ChangeSigners::Allow {
            return None;
        }
        Some(Obstacle::OtherSigners { solution, signers })
    }

    /// Returns the memory after the import of this version. Keys that sign together with a remembered key are added, so
    /// that keys can be replaced one by one. Signers without a common key replace the remembered ones.
    pub(crate) fn after(&self, record: &Record, allowed: Allowed) -> Self {
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
mod tests {
    use schemas::Digest;

    use super::*;
    use crate::model::record::tests::record;

    fn key(number: u8) -> KeyId {
        KeyId::new(Digest::new([number; 32]))
    }

    fn signed_by(keys: &[u8]) -> Record {
        Record {
            signers: keys.iter().copied().map(key).collect(),
            ..record("1.0.0")
        }
    }

    fn memory(keys: &[u8]) -> Memory {
        let keys = keys.iter().copied().map(key).collect();
        Memory(BTreeMap::from([
            ("other".parse().unwrap(), BTreeSet::from([key(9)])),
            ("shop".parse().unwrap(), keys),
        ]))
    }

    /// Returns the remembered keys of `shop`.
    fn known(memory: &Memory) -> Vec<KeyId> {
        let shop: SolutionName = "shop".parse().unwrap();
        memory.0.get(&shop).into_iter().flatten().copied().collect()
    }

    fn allowing(signers: ChangeSigners, forget: ForgetSigners) -> Allowed {
        Allowed {
            signers,
            forget,
            ..Allowed::NOTHING
        }
    }

    fn nothing() -> Allowed {
        allowing(ChangeSigners::Refuse, ForgetSigners::Refuse)
    }

    fn change() -> Allowed {
        allowing(ChangeSigners::Allow, ForgetSigners::Refuse)
    }

    fn forget() -> Allowed {
        allowing(ChangeSigners::Refuse, ForgetSigners::Allow)
    }

    #[test]
    fn who_signed_before_decides() {
        // The remembered keys, the signers, and the permissions; then the obstacle and the keys that are remembered
        // afterwards.
        type Case<'a> = (&'a [u8], &'a [u8], Allowed, Option<Obstacle>, &'a [u8]);
        let name: SolutionName = "shop".parse().unwrap();
        let short = |number: u8| key(number).short();
        let others = |known: u8| {
            Some(Obstacle::OtherSigners {
                solution: name.clone(),
                signers: vec![short(known)],
            })
        };
        let nobody = || {
            Some(Obstacle::NoSigners {
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
        for memory in [Memory::default(), memory(&[1, 2])] {
            let object = Object::new(memory.to_object()).unwrap();
            assert_eq!(Memory::from_object(&object).unwrap(), memory);
        }
        for (name, keys) in [("shop", "[\"x\"]"), ("shop", "{"), ("Shop", "[]")] {
            let mut damaged = Memory::default().to_object();
            damaged["data"][name] = json!(keys);
            let error = Memory::from_object(&Object::new(damaged).unwrap()).unwrap_err();
            let text = error.to_string();
            assert!(
                text.contains("metalk8s-solutions/solution-signers"),
                "{text}"
            );
        }
    }
}
