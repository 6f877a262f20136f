//! The check that existing objects lose no data when a CRD is replaced. It compares every object with each narrowing of
//! the new CRD. Entry points are [`replaced`] for a pair of CRDs and [`check`] for known narrowings.
//!
//! [`check_return`] checks the activation of an older version's CRDs, which only a user's explicit request leads to. It
//! finds operators and CRDs that need the newer definitions. The other functions check each replaced CRD for lost
//! objects.

use std::collections::BTreeMap;

use kubernetes::{Access, Cluster, Gvk, Object, Selector};
use planner::vocabulary as v;
use schemas::Version;
use serde_json::Value;

use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::model::request::PlanRequest;
use crate::objects::crd::written_by;
use crate::objects::narrowing::Narrowing;
use crate::objects::schema;
use crate::records::inventory;
use crate::records::state::ClusterState;

/// Returns the blocker for a CRD that replaces this one, if objects would lose data.
pub(crate) async fn replaced(
    cluster: &Cluster,
    active: &Object,
    wanted: &Value,
    version: &Version,
) -> Result<Option<Blocker>, Error> {
    let narrowings = schema::narrowings(active.as_value(), wanted);
    check(cluster, active, &narrowings, version).await
}

/// Refuses a CRD that replaces this one, if an object would lose data.
pub(crate) async fn check_replaced(
    cluster: &Cluster,
    active: &Object,
    wanted: &Value,
    version: &Version,
) -> Result<(), Error> {
    let lost = replaced(cluster, active, wanted, version).await?;
    lost.map_or(Ok(()), |blocker| Err(blocker.into()))
}

/// Returns the blocker for a CRD with these narrowings: objects would lose data, or the user may not list the objects.
pub(crate) async fn check(
    cluster: &Cluster,
    active: &Object,
    narrowings: &[Narrowing],
    version: &Version,
) -> Result<Option<Blocker>, Error> {
    let mut of_api: BTreeMap<&str, Vec<&Narrowing>> = BTreeMap::new();
    for narrowing in narrowings
        .iter()
        .filter(|narrowing| narrowing.can_be_told())
    {
        of_api.entry(&narrowing.api).or_default().push(narrowing);
    }
    let spec = &active.as_value()["spec"];
    let text = |field: &str| spec.pointer(field).and_then(|value| value.as_str());
    let [group, kind, plural] = ["/group", "/names/kind", "/names/plural"].map(text);
    let [group, kind, plural] = [group, kind, plural].map(Option::unwrap_or_default);
    let mut lost = Vec::new();
    for (api, narrowings) in of_api {
        let listed = Gvk::new(&format!("{group}/{api}"), kind);
        let objects = match cluster.list(&listed, None, None).await {
            Err(kubernetes::Error::Forbidden { .. }) => {
                let right = Access::new("list", group, plural);
                return Ok(Some(Blocker::denied(&right)));
            }
            objects => objects?,
        };
        lost.extend(
            narrowings
                .iter()
                .filter_map(|narrowing| describe_loss(narrowing, &objects)),
        );
    }
    let name = active.name().to_owned();
    Ok((!lost.is_empty()).then(|| Blocker::CrdLoses {
        crd: name,
        version: version.clone(),
        losses: lost,
    }))
}

/// Returns a line with the number of objects that lose data and the first of them; none if there are none.
fn describe_loss(narrowing: &Narrowing, objects: &[Object]) -> Option<String> {
    let mut losing = objects.iter().filter(|object| narrowing.hits(object));
    let first = losing.next()?.reference();
    let count = 1 + losing.count();
    let objects = if count == 1 { "object" } else { "objects" };
    let (path, api) = (narrowing.path(), &narrowing.api);
    Some(format!(
        "{path} of {api}: {narrowing} ({count} {objects}; the first is {first})"
    ))
}

/// Adds blockers for operators of newer versions that are still running, and for CRDs that this version does not have.
/// Adds none if no CRD in the cluster is newer.
pub(crate) async fn check_return(
    asked: &PlanRequest<'_>,
    cluster: &Cluster,
    state: &ClusterState,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let (name, version) = (asked.id.name(), asked.id.version());
    let ours = Selector::label(v::SOLUTION, name.as_str());
    let crds = inventory::crds(cluster, &ours).await?;
    let newer = crds.iter().filter_map(|crd| {
        let newer = written_by(crd).filter(|newer| newer > version)?;
        Some((crd.name(), newer))
    });
    let newer: Vec<(&str, Version)> = newer.collect();
    if newer.is_empty() {
        return Ok(());
    }
    let running = state.deployments(name);
    let running = running.filter(|(_, running)| *running > version);
    let mut running: Vec<Blocker> = running
        .map(|(space, running)| Blocker::Deployed {
            solution: name.clone(),
            version: running.clone(),
            environment: space.environment.clone(),
        })
        .collect();
    // An environment may have multiple namespaces. The deployments are sorted by environment, so equal blockers are
    // adjacent.
    running.dedup();
    blockers.append(&mut running);
    let definitions = asked.accepted.crds().iter();
    let known: Vec<&Value> = definitions
        .map(|definition| &definition.document["metadata"]["name"])
        .collect();
    let gone = newer
        .into_iter()
        .filter(|(crd, _)| !known.iter().any(|known| *known == crd));
    blockers.extend(gone.map(|(crd, newer)| Blocker::CrdOnlyNewer {
        crd: crd.to_owned(),
        newer,
        version: version.clone(),
    }));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::schema::narrowings;

    fn crd(schema: &Value) -> Value {
        let schema = json!({ "openAPIV3Schema": schema });
        let version = json!({ "name": "v1", "served": true, "schema": schema });
        json!({ "spec": { "versions": [version] } })
    }

    fn object(name: &str, spec: &Value) -> Object {
        let metadata = json!({ "name": name, "namespace": "n" });
        let object =
            json!({ "apiVersion": "a.test/v1", "kind": "App", "metadata": metadata, "spec": spec });
        Object::new(object).unwrap()
    }

    /// Returns the losses of objects with these specifications when the schema of `spec` changes.
    fn lost(before: &Value, after: &Value, specs: &[Value]) -> Vec<String> {
        let [before, after] =
            [before, after].map(|spec| crd(&json!({ "properties": { "spec": spec } })));
        let objects: Vec<Object> = specs.iter().map(|spec| object("a", spec)).collect();
        let narrowings = narrowings(&before, &after);
        narrowings
            .iter()
            .filter_map(|narrowing| describe_loss(narrowing, &objects))
            .collect()
    }

    #[test]
    fn objects_that_lose_something_are_counted_and_the_first_is_named() {
        let before = json!({ "properties": { "a": {}, "b": {} } });
        let after = json!({ "properties": { "b": {} } });
        let specs = [
            json!({ "b": 1 }),
            json!({ "a": 1 }),
            json!({ "a": {} }),
            json!({ "a": null }),
        ];
        assert_eq!(
            lost(&before, &after, &specs),
            [".spec.a of v1: the field is removed (2 objects; the first is App n/a)"]
        );
        assert_eq!(lost(&before, &after, &specs[..1]), [] as [&str; 0]);
    }

    #[test]
    fn an_object_loses_something_if_its_value_is_no_longer_taken() {
        let any = json!({});
        for (keyword, fits, breaks) in [
            (json!({ "type": "string" }), json!("1"), json!(1)),
            (json!({ "type": "integer" }), json!(1), json!(1.5)),
            (
                json!({ "x-kubernetes-int-or-string": true }),
                json!("1"),
                json!(true),
            ),
            (json!({ "enum": ["a", "b"] }), json!("b"), json!("c")),
            (json!({ "maximum": 3 }), json!(3), json!(4)),
            (
                json!({ "maximum": 3, "exclusiveMaximum": true }),
                json!(2),
                json!(3),
            ),
            (json!({ "minimum": 3 }), json!(3), json!(2)),
            (
                json!({ "minimum": 3, "exclusiveMinimum": true }),
                json!(4),
                json!(3),
            ),
            (json!({ "maxLength": 2 }), json!("éé"), json!("eee")),
            (json!({ "minItems": 1 }), json!([1]), json!([])),
            (
                json!({ "maxProperties": 1 }),
                json!({ "a": 1 }),
                json!({ "a": 1, "b": 2 }),
            ),
            (
                json!({ "required": ["a"] }),
                json!({ "a": 1 }),
                json!({ "b": 2 }),
            ),
        ] {
            let breaking = lost(&any, &keyword, std::slice::from_ref(&breaks));
            assert!(!breaking.is_empty(), "{keyword}: {breaks}");
            let fitting = lost(&any, &keyword, std::slice::from_ref(&fits));
            assert_eq!(fitting, [] as [&str; 0], "{keyword}: {fits}");
        }
    }

    #[test]
    fn values_inside_lists_and_maps_are_looked_at() {
        let bound = |bound: u32| {
            let size = json!({ "properties": { "size": { "maximum": bound } } });
            let map = json!({ "additionalProperties": size });
            json!({ "properties": { "list": { "items": size }, "map": map } })
        };
        let spec = |list: u32, map: u32| json!({ "list": [{ "size": 1 }, { "size": list }], "map": { "a": { "size": map } } });
        assert_eq!(lost(&bound(9), &bound(5), &[spec(5, 5)]), [] as [&str; 0]);
        assert_eq!(
            lost(&bound(9), &bound(5), &[spec(6, 5), spec(6, 7)]),
            [
                ".spec.list[].size of v1: maximum is now 5 (2 objects; the first is App n/a)",
                ".spec.map[*].size of v1: maximum is now 5 (1 object; the first is App n/a)",
            ]
        );
    }

    #[test]
    fn unknown_fields_are_lost_where_they_are_no_longer_kept() {
        let kept =
            json!({ "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": {} } });
        let pruned = json!({ "properties": { "a": {} } });
        let words =
            [".spec of v1: unknown fields are no longer kept (1 object; the first is App n/a)"];
        assert_eq!(lost(&kept, &pruned, &[json!({ "a": 1 })]), [] as [&str; 0]);
        assert_eq!(lost(&kept, &pruned, &[json!({ "b": 1 })]), words);
        let map = json!({ "additionalProperties": { "type": "string" } });
        assert_eq!(lost(&map, &pruned, &[json!({ "b": "1" })]), words);
    }
}
