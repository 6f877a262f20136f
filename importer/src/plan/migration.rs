//! The migration of a CRD that gives up an API version in which objects may be stored: they are stored anew in the new
//! CRD's storage version first, while both CRDs' versions are there.

use std::collections::BTreeSet;
use std::path::Path;

use change::vocabulary as v;
use deployer::{Cluster, Object};
use registry::Client;
use schemars::JsonSchema;
use schemas::{SolutionId, Version};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shelf::Record;
use watch::Cancel;

use crate::model::error::Error;
use crate::model::labelled::served_kind;
use crate::model::obstacle::Obstacle;
use crate::model::state::ClusterState;
use crate::plan::crd::{Migration, PlannedCrd, served, versions, written_by};
use crate::plan::rights::ask::deny;
use crate::plan::rights::needs::Needs;

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

/// Returns the migration by which the active CRD can become the wanted one; none if it is not a matter of stored
/// objects.
pub(crate) fn of(active: &Object, wanted: &Value) -> Option<Migration> {
    let active = active.as_value();
    let listed: BTreeSet<String> = versions(wanted).filter_map(name).collect();
    let stored = active["status"]["storedVersions"].as_array();
    let stored = stored.into_iter().flatten().filter_map(Value::as_str);
    let before = versions(active).filter_map(name);
    let before = before.chain(stored.map(str::to_owned));
    let gone: BTreeSet<String> = before.filter(|it| !listed.contains(it)).collect();
    let storage = storage(wanted)?;
    // What is still served by both needs no migration, and one that is listed and no longer served is no such matter.
    let dropped = served(active).into_iter();
    let mut dropped = dropped.filter(|it| listed.contains(it));
    let serves_on = dropped.all(|it| served(wanted).contains(&it));
    (!gone.is_empty() && serves_on).then_some(Migration { gone, storage })
}

/// The CRD with the new storage version and all that the active one has besides, if the active one stores in another.
/// It counts as written by whoever wrote the active one until the migration is done.
pub(crate) fn between(active: &Object, planned: &Value, migration: &Migration) -> Option<Value> {
    let active = active.as_value();
    if storage(active).as_ref() == Some(&migration.storage) {
        return None;
    }
    let kept =
        versions(active).filter(|it| name(it).is_some_and(|it| migration.gone.contains(&it)));
    let kept = kept.cloned().map(|mut version| {
        version["storage"] = json!(false);
        version
    });
    let mut between = planned.clone();
    let all: Vec<Value> = versions(planned).cloned().chain(kept).collect();
    between["spec"]["versions"] = json!(all);
    between["metadata"]["labels"][v::VERSION] = active["metadata"]["labels"][v::VERSION].clone();
    Some(between)
}

fn name(version: &Value) -> Option<String> {
    version["name"].as_str().map(str::to_owned)
}

fn storage(crd: &Value) -> Option<String> {
    name(versions(crd).find(|version| version["storage"] == true)?)
}

/// Adds the obstacles that keep the objects from being stored anew: operators that may need the versions that go, and
/// missing rights.
pub(crate) async fn check(
    crds: &[PlannedCrd],
    id: &SolutionId,
    cluster: &Cluster,
    state: &ClusterState,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let (solution, version) = (id.name(), id.version());
    let mut needs = Needs::default();
    for (crd, active, migration) in migrating(crds) {
        needs.migration([&crd.definition].into_iter());
        let mut needing: Vec<Obstacle> = state
            .deployments(solution)
            .filter(|(_, runs)| *runs != version && !is_served_on(runs, active, crd))
            .map(|(space, runs)| Obstacle::ApiStillNeeded {
                solution: solution.clone(),
                version: runs.clone(),
                environment: space.environment.clone(),
                apis: migration.gone.iter().cloned().collect(),
            })
            .collect();
        needing.dedup();
        obstacles.append(&mut needing);
    }
    deny(cluster, &needs, obstacles).await
}

/// Whether an operator that runs finds what it needs: it came with the active CRD, whose storage version it works with.
/// Which API versions other operators work with is not known.
fn is_served_on(runs: &Version, active: &Object, crd: &PlannedCrd) -> bool {
    let storage = storage(active.as_value());
    written_by(active).as_ref() == Some(runs)
        && storage.is_some_and(|storage| served(crd.object.as_value()).contains(&storage))
}

/// The CRDs of which objects are stored anew.
pub(crate) fn migrating(
    crds: &[PlannedCrd],
) -> impl Iterator<Item = (&PlannedCrd, &Object, &Migration)> {
    crds.iter()
        .filter_map(|crd| Some((crd, crd.active.as_ref()?, crd.migration()?)))
}

/// The CRDs of an imported version, from the archive that the registry keeps; none if it cannot be read.
async fn kept_crds(client: &Client, record: &Record, scratch: &Path) -> Option<Vec<Value>> {
    if record.registry().ok()? != *client.address() {
        return None;
    }
    let report = shelf::check(client, record, scratch, Cancel::never())
        .await
        .ok()?;
    let accepted = report.accept().ok()?;
    let crds = accepted.crds().iter();
    Some(crds.map(|crd| crd.document.clone()).collect())
}

/// Returns the planned migrations, with their extent.
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
    for record in records.filter(|it| it.name == *id.name() && it.version < *id.version()) {
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
                crds.is_some_and(|it| migration.takes_from(name, it))
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
    /// Whether a version with these CRDs needs what goes of the one of this name: operators work with the API version
    /// that their own CRD stores in.
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
    use crate::plan::crd::CrdChange;

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
        let migration = of(active, wanted.as_value())?;
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
        // That a version is listed and served no more is for people to undo, not a matter of what is stored.
        let unserved = crd(&[("v1", false, false), v2], &[]);
        assert_eq!(
            gone(&crd(&[("v0", true, false), v1], &["v1"]), &unserved),
            None
        );
    }

    #[test]
    fn a_version_is_lost_if_it_works_with_what_goes() {
        let [old, new] = ["v1", "v2"].map(|it| (it, true, true));
        let wanted = crd(&[new], &[]);
        let migration = of(&crd(&[old], &["v1"]), wanted.as_value()).unwrap();
        let of = |crds: &[&Object]| {
            let crds: Vec<Value> = crds.iter().map(|it| it.as_value().clone()).collect();
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
            between: None,
            narrowings: Vec::new(),
        };
        let migration = of(&active, wanted.as_value()).unwrap();
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
        let migration = of(&active, wanted.as_value()).unwrap();
        let mut planned = wanted.as_value().clone();
        planned["metadata"]["labels"][v::VERSION] = json!("2.0.0");
        let between = between(&active, &planned, &migration).unwrap();
        assert_eq!(
            between["spec"]["versions"],
            json!([{"name": "v2", "served": true, "storage": true}, {"name": "v1", "served": true, "storage": false}])
        );
        assert_eq!(between["metadata"]["labels"][v::VERSION], "1.0.0");
        let there = Object::new(between).unwrap();
        assert_eq!(super::between(&there, &planned, &migration), None);
        assert_eq!(of(&there, wanted.as_value()), Some(migration));
    }
}
