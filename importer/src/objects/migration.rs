//! The migration of a CRD that removes an API version in which objects may be stored. The objects are first stored in
//! the new CRD's storage version, while the CRD lists the versions of both. [`find_migration`] decides whether a
//! migration is possible, [`transition`] returns the CRD meanwhile, and [`planned`] describes it in the plan.

use std::collections::BTreeSet;
use std::path::Path;

use kubernetes::{Cluster, Object};
use planner::vocabulary as v;
use progress::Cancel;
use registry::Client;
use schemars::JsonSchema;
use schemas::{SolutionId, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Record;

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::objects::crd::{Migration, PlannedCrd, served, versions, written_by};
use crate::objects::needs::{Needs, deny};
use crate::records::inventory::served_kind;
use crate::records::state::ClusterState;

/// A CRD whose objects are rewritten in another storage version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlannedMigration {
    /// The CRD.
    pub crd: String,
    /// The number of its objects.
    pub objects: usize,
    /// The new storage version.
    pub storage: String,
    /// The removed API versions.
    pub gone: Vec<String>,
    /// Imported older versions that need a removed API version, so that a rollback to them is not possible.
    pub lost: Vec<Version>,
    /// Imported older versions that could not be checked because their archives cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Version>,
}

/// An imported older version, and its CRDs, if they can be read.
type Older = (Version, Option<Vec<Value>>);

/// Returns the migration from the active CRD to the desired one; none if no listed or stored version is removed, or if
/// a listed version is no longer served.
pub(crate) fn find_migration(active: &Object, wanted: &Value) -> Option<Migration> {
    let active = active.as_value();
    let listed: BTreeSet<String> = versions(wanted).filter_map(name).collect();
    let stored = active["status"]["storedVersions"].as_array();
    let stored = stored.into_iter().flatten().filter_map(Value::as_str);
    let before = versions(active).filter_map(name);
    let before = before.chain(stored.map(str::to_owned));
    let gone: BTreeSet<String> = before.filter(|version| !listed.contains(version)).collect();
    let storage = storage(wanted)?;
    // A served version that remains listed must remain served. If it does not, storing the objects again would not
    // help.
    let dropped = served(active).into_iter();
    let mut dropped = dropped.filter(|version| listed.contains(version));
    let serves_on = dropped.all(|version| served(wanted).contains(&version));
    (!gone.is_empty() && serves_on).then_some(Migration { gone, storage })
}

/// Returns the CRD to apply during the migration. None is needed if the active CRD already uses the new storage version.
pub(crate) fn between(crd: PlannedCrd) -> Option<Object> {
    let is_stored = is_stored_in(crd.active.as_ref()?, crd.migration()?);
    crd.transition.filter(|_| !is_stored)
}

/// Checks whether the active CRD already uses the storage version of the migration.
fn is_stored_in(active: &Object, migration: &Migration) -> bool {
    storage(active.as_value()).as_ref() == Some(&migration.storage)
}

/// Returns the CRD for the time of the migration: the desired CRD with the removed API versions in addition. Its version
/// label remains that of the active CRD until the migration is complete.
pub(crate) fn transition(active: &Object, planned: &Value, migration: &Migration) -> Value {
    let active = active.as_value();
    let kept = versions(active)
        .filter(|version| name(version).is_some_and(|name| migration.gone.contains(&name)));
    let kept = kept.cloned().map(|mut version| {
        version["storage"] = json!(false);
        version
    });
    let mut transition = planned.clone();
    let all: Vec<Value> = versions(planned).cloned().chain(kept).collect();
    transition["spec"]["versions"] = json!(all);
    transition["metadata"]["labels"][v::VERSION] = active["metadata"]["labels"][v::VERSION].clone();
    transition
}

fn name(version: &Value) -> Option<String> {
    version["name"].as_str().map(str::to_owned)
}

fn storage(crd: &Value) -> Option<String> {
    name(versions(crd).find(|version| version["storage"] == true)?)
}

/// Adds the blockers of a migration: running operators that may need the removed versions, and missing rights.
pub(crate) async fn check(
    crds: &[PlannedCrd],
    id: &SolutionId,
    cluster: &Cluster,
    state: &ClusterState,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let (solution, version) = (id.name(), id.version());
    let mut needs = Needs::default();
    for (crd, active, migration) in migrating(crds) {
        needs.migration([&crd.definition].into_iter());
        let mut needing: Vec<Blocker> = state
            .deployments(solution)
            .filter(|(_, runs)| *runs != version && !is_served_on(runs, active, crd))
            .map(|(space, runs)| Blocker::ApiStillNeeded {
                solution: solution.clone(),
                version: runs.clone(),
                environment: space.environment.clone(),
                apis: migration.gone.iter().cloned().collect(),
            })
            .collect();
        needing.dedup();
        blockers.append(&mut needing);
    }
    deny(cluster, &needs, blockers).await
}

/// Checks whether a running operator keeps the API version that it needs. If its Solution version wrote the active CRD,
/// it uses that CRD's storage version. The API versions that other operators use are not known.
fn is_served_on(runs: &Version, active: &Object, crd: &PlannedCrd) -> bool {
    let storage = storage(active.as_value());
    written_by(active).as_ref() == Some(runs)
        && storage.is_some_and(|storage| served(crd.object.as_value()).contains(&storage))
}

/// Returns the CRDs whose objects must be stored again.
pub(crate) fn migrating(
    crds: &[PlannedCrd],
) -> impl Iterator<Item = (&PlannedCrd, &Object, &Migration)> {
    crds.iter()
        .filter_map(|crd| Some((crd, crd.active.as_ref()?, crd.migration()?)))
}

/// Returns the CRDs of an imported version from its archive in the registry; none if the archive cannot be read.
async fn kept_crds(client: &Client, record: &Record, scratch: &Path) -> Option<Vec<Value>> {
    if record.registry().ok()? != *client.address() {
        return None;
    }
    let report = store::check(client, record, scratch, Cancel::never())
        .await
        .ok()?;
    let accepted = report.accept().ok()?;
    let crds = accepted.crds().iter();
    Some(crds.map(|crd| crd.document.clone()).collect())
}

/// Returns the planned migrations, with the numbers of objects and the affected older versions.
pub(crate) async fn planned(
    crds: &[PlannedCrd],
    id: &SolutionId,
    client: &Client,
    cluster: &Cluster,
    scratch: &Path,
    state: &ClusterState,
) -> Result<Vec<PlannedMigration>, Error> {
    let mut planned = Vec::new();
    if migrating(crds).next().is_none() {
        return Ok(planned);
    }
    let mut older: Vec<Older> = Vec::new();
    let records = state.records.iter();
    for record in
        records.filter(|record| record.name == *id.name() && record.version < *id.version())
    {
        let crds = kept_crds(client, record, scratch).await;
        older.push((record.version.clone(), crds));
    }
    for (crd, active, migration) in migrating(crds) {
        let mut objects = 0;
        if let Some(kind) = served_kind(active) {
            cluster.visit(&kind, None, None, |_| objects += 1).await?;
        }
        let name = crd.object.name();
        planned.push(PlannedMigration {
            crd: name.to_owned(),
            objects,
            storage: migration.storage.clone(),
            gone: migration.gone.iter().cloned().collect(),
            lost: those(&older, |crds| {
                crds.is_some_and(|crds| migration.takes_from(name, crds))
            }),
            unknown: those(&older, |crds| crds.is_none()),
        });
    }
    Ok(planned)
}

fn those(older: &[Older], is_so: impl Fn(Option<&Vec<Value>>) -> bool) -> Vec<Version> {
    let wanted = older.iter().filter(|(_, crds)| is_so(crds.as_ref()));
    wanted.map(|(version, _)| version.clone()).collect()
}

impl Migration {
    /// Checks whether a version with these CRDs needs a removed API version of the CRD `name`. Operators use the
    /// storage version in the CRD of their version.
    fn takes_from(&self, name: &str, crds: &[Value]) -> bool {
        let mut crds = crds.iter();
        let own = crds.find(|crd| crd["metadata"]["name"] == name);
        own.and_then(storage)
            .is_some_and(|storage| self.gone.contains(&storage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::crd::CrdChange;

    fn crd(versions: &[(&str, bool, bool)], stored: &[&str]) -> Object {
        let version = |(name, served, storage): &(&str, bool, bool)| json!({"name": name, "served": served, "storage": storage});
        let versions: Vec<Value> = versions.iter().map(version).collect();
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "apps.example.test", "labels": {v::VERSION: "1.0.0"}},
            "spec": {"versions": versions}, "status": {"storedVersions": stored},
        });
        Object::new(crd).unwrap()
    }

    fn gone(active: &Object, wanted: &Object) -> Option<Vec<String>> {
        let migration = find_migration(active, wanted.as_value())?;
        assert_eq!(migration.storage, "v2");
        Some(migration.gone.into_iter().collect())
    }

    #[test]
    fn what_is_listed_or_stored_and_wanted_no_more_goes() {
        let wanted = crd(&[("v2", true, true)], &[]);
        let [v1, v2] = [("v1", true, true), ("v2", true, true)];
        let both = [("v1", true, false), v2];
        for (active, expected) in [
            (crd(&[v1], &["v1"]), Some(vec!["v1".to_owned()])),
            (crd(&both, &["v1", "v2"]), Some(vec!["v1".to_owned()])),
            (crd(&both, &["v2"]), Some(vec!["v1".to_owned()])),
            (crd(&[v2], &["v2"]), None),
        ] {
            assert_eq!(gone(&active, &wanted), expected, "{active:?}");
        }
        // A version that is listed but no longer served is a decision of the publisher, and no storage migration helps.
        let unserved = crd(&[("v1", false, false), v2], &[]);
        assert_eq!(
            gone(&crd(&[("v0", true, false), v1], &["v1"]), &unserved),
            None
        );
    }

    #[test]
    fn a_version_is_lost_if_it_works_with_what_goes() {
        let [old, new] = ["v1", "v2"].map(|version| (version, true, true));
        let wanted = crd(&[new], &[]);
        let migration = find_migration(&crd(&[old], &["v1"]), wanted.as_value()).unwrap();
        let of = |crds: &[&Object]| {
            let crds: Vec<Value> = crds.iter().map(|crd| crd.as_value().clone()).collect();
            migration.takes_from("apps.example.test", &crds)
        };
        assert!(of(&[&crd(&[old], &[])]));
        assert!(!of(&[&crd(&[("v1", true, false), new], &[])]));
        assert!(!of(&[&wanted]));
        assert!(!of(&[]), "it does not have the CRD");
        let mut other = crd(&[old], &[]).into_value();
        other["metadata"]["name"] = json!("webs.example.test");
        assert!(!of(&[&Object::new(other).unwrap()]));
        let version = |text: &str| -> Version { text.parse().unwrap() };
        let all = [
            (version("1.0.0"), Some(vec![wanted.as_value().clone()])),
            (version("1.1.0"), None),
        ];
        assert_eq!(those(&all, |crds| crds.is_none()), [version("1.1.0")]);
    }

    #[test]
    fn what_is_no_longer_stored_is_only_written() {
        let wanted = crd(&[("v2", true, true)], &[]);
        let active = crd(&[("v1", false, false), ("v2", true, true)], &["v1", "v2"]);
        let planned = |change| PlannedCrd {
            definition: wanted.as_value().clone(),
            object: wanted.clone(),
            change,
            active: Some(active.clone()),
            transition: None,
            narrowings: Vec::new(),
        };
        let migration = find_migration(&active, wanted.as_value()).unwrap();
        let migrates = planned(CrdChange::Migrate(migration.clone()));
        for (change, expected) in [
            (CrdChange::Migrate(migration), true),
            (CrdChange::Update, true),
            (CrdChange::Create, false),
        ] {
            let next = planned(change);
            assert_eq!(
                migrates.is_followed_by(&next),
                expected,
                "{:?}",
                next.change
            );
        }
        assert!(!planned(CrdChange::Create).is_followed_by(&planned(CrdChange::Update)));
    }

    #[test]
    fn between_both_everything_is_listed_and_stored_anew() {
        let wanted = crd(&[("v2", true, true)], &[]);
        let active = crd(&[("v1", true, true)], &["v1"]);
        let migration = find_migration(&active, wanted.as_value()).unwrap();
        let mut planned = wanted.as_value().clone();
        planned["metadata"]["labels"][v::VERSION] = json!("2.0.0");
        assert!(!is_stored_in(&active, &migration));
        let between = transition(&active, &planned, &migration);
        assert_eq!(
            between["spec"]["versions"],
            json!([{"name": "v2", "served": true, "storage": true}, {"name": "v1", "served": true, "storage": false}])
        );
        assert_eq!(between["metadata"]["labels"][v::VERSION], "1.0.0");
        let there = Object::new(between).unwrap();
        assert!(is_stored_in(&there, &migration));
        assert_eq!(find_migration(&there, wanted.as_value()), Some(migration));
    }
}
