//! The storage of a site's records: ConfigMaps in the namespace of the records, each with a format number. Records in
//! old formats are read, and written in the current format with the next change.
//!
//! - Before format 2, records had no format, and programs ignored unknown fields. Format 2 uses another data key, so
//!   that these programs stop instead of misreading a newer record.
//! - Before format 3, the record of a namespace listed the releases of charts. The inventory lists them now.
//! - Format 4 has the content of format 3. It stops programs that only know the cluster-wide Lease: they would not
//!   respect the Lease of an environment.
//! - Format 5 is format 4 with the choices of a fleet. It is only written if there are such choices. It stops programs
//!   that would deploy without these choices and drop them.
//!
//! [`read_if_allowed`] and [`read_all_if_allowed`] treat an object that the user may not read as a missing one. The
//! preflight check of rights reports the missing right.

use std::collections::BTreeSet;

use kubernetes::{Cluster, Object, ObjectRef};
use planner::{LiveObjects, ReadResult, vocabulary as v};
use schemas::{ClusterUid, json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::error::Error;

/// The data key of a record's format.
const FORMAT: &str = "format";
/// The format that is written.
const WRITTEN: &str = "4";
/// The format that is written for records with choices of a fleet.
const OF_FLEET: &str = "5";
/// The format before environments had their own Lease. Its content is that of format 4.
const ONE_LEASE: &str = "3";
/// The format in which the record of a namespace listed the releases of charts.
const RELEASES_APART: &str = "2";
/// The formats that are read.
pub const READ: [&str; 4] = [RELEASES_APART, ONE_LEASE, WRITTEN, OF_FLEET];
/// The formats that are written. The first one is used unless a record has content that requires the second.
pub const ALL_WRITTEN: [&str; 2] = [WRITTEN, OF_FLEET];
/// The data key of a record's content.
const CONTENT: &str = "content.json";

/// Returns a ConfigMap with these labels and those of this program.
pub(crate) fn config_map(name: &str, mut labels: Value, data: &impl Serialize) -> Value {
    labels[v::MANAGED_BY] = json!(v::MANAGER);
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": v::RECORDS_NAMESPACE, "labels": labels },
        "data": data,
    })
}

/// Returns the ConfigMap of a record.
pub(crate) fn record(name: &str, labels: Value, record: &impl Serialize) -> Value {
    let text = serde_json::to_string(record).expect("a record has a JSON form");
    config_map(name, labels, &json!({ FORMAT: WRITTEN, CONTENT: text }))
}

/// Returns the ConfigMap of a record with choices of a fleet.
pub(crate) fn record_of_fleet(name: &str, labels: Value, record: &impl Serialize) -> Value {
    let mut map = self::record(name, labels, record);
    map["data"][FORMAT] = json!(OF_FLEET);
    map
}

/// Returns the reference of the ConfigMap with this name.
pub(crate) fn reference(name: &str) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", v::RECORDS_NAMESPACE, name)
}

/// Parses the strict JSON under a data key.
pub(crate) fn parse<T: DeserializeOwned>(object: &Object, key: &str) -> Result<T, Error> {
    let text = object.as_value()["data"][key].as_str().unwrap_or_default();
    json::from_slice(text.as_bytes())
        .map_err(|source| Error::Record(object.reference().to_string(), source))
}

/// Returns the record in a ConfigMap. `former` is the data key of records without a format. An unknown format is an
/// error.
pub(crate) fn read<T: DeserializeOwned>(object: &Object, former: &str) -> Result<T, Error> {
    match object.as_value()["data"][FORMAT].as_str() {
        None => parse(object, former),
        Some(format) if READ.contains(&format) => parse(object, CONTENT),
        Some(format) => Err(Error::Format {
            object: object.reference().to_string(),
            format: format.to_owned(),
        }),
    }
}

/// Checks whether a record has no format.
pub(crate) fn is_former(object: &Object) -> bool {
    object.as_value()["data"][FORMAT].is_null()
}

/// Checks whether a record has a format that is written now.
pub(crate) fn is_current(object: &Object) -> bool {
    let format = object.as_value()["data"][FORMAT].as_str();
    matches!(format, Some(WRITTEN | OF_FLEET))
}

/// Checks whether an inventory lists the releases of charts.
pub(crate) fn names_releases(object: &Object) -> bool {
    let format = object.as_value()["data"][FORMAT].as_str();
    matches!(format, Some(WRITTEN | ONE_LEASE))
}

/// Returns the content of a record in the JSON of its ConfigMap.
#[cfg(test)]
pub(crate) fn content(map: &mut Value) -> &mut Value {
    &mut map["data"][CONTENT]
}

/// Returns an object; `None` if it does not exist or this user may not read it.
pub(crate) async fn read_if_allowed(
    cluster: &Cluster,
    object: &ObjectRef,
) -> Result<Option<Object>, Error> {
    match cluster.get(object).await {
        Err(kubernetes::Error::Forbidden { .. }) => Ok(None),
        other => Ok(other?),
    }
}

/// Returns the uid that identifies a cluster: that of its namespace `kube-system`; `None` if this user may not read it.
pub(crate) async fn identity(cluster: &Cluster) -> Result<Option<ClusterUid>, Error> {
    let system = ObjectRef::cluster_scoped("v1", "Namespace", "kube-system");
    let system = read_if_allowed(cluster, &system).await?;
    Ok(system.and_then(|system| system.uid()?.parse().ok()))
}

/// Reads multiple objects in the same order. An object whose kind the cluster does not serve is `None` too: its CRD may
/// be in the archive or may have been removed.
pub(crate) async fn read_all_if_allowed(
    cluster: &Cluster,
    objects: &[&ObjectRef],
) -> Result<Vec<Option<Object>>, Error> {
    let looked = cluster
        .get_each(objects)
        .await?
        .into_iter()
        .map(|live| match live {
            Err(kubernetes::Error::Forbidden { .. } | kubernetes::Error::NoSuchKind(_)) => Ok(None),
            other => Ok(other?),
        });
    looked.collect()
}

/// Returns the state of these objects, each read once.
pub(crate) async fn live<'o>(
    cluster: &Cluster,
    objects: impl IntoIterator<Item = &'o ObjectRef>,
) -> Result<LiveObjects, Error> {
    let mut known = BTreeSet::new();
    let objects = objects.into_iter();
    let objects: Vec<&ObjectRef> = objects
        .filter(|object| known.insert(object.identity()))
        .collect();
    let seen = cluster
        .get_each(&objects)
        .await?
        .into_iter()
        .map(|live| match live {
            Err(kubernetes::Error::Forbidden { .. }) => Ok(ReadResult::Hidden),
            Err(kubernetes::Error::NoSuchKind(_)) => Ok(ReadResult::Absent),
            other => Ok(other?.map_or(ReadResult::Absent, ReadResult::There)),
        });
    let seen: Vec<ReadResult> = seen.collect::<Result<_, Error>>()?;
    Ok(objects.into_iter().zip(seen).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMER: &str = "former.json";

    fn read(map: Value) -> Result<u32, Error> {
        super::read(&Object::new(map).unwrap(), FORMER)
    }

    #[test]
    fn a_record_is_read_in_its_own_format() {
        let mut map = record("a", json!({}), &7);
        assert_eq!(read(map.clone()).unwrap(), 7);
        for known in [RELEASES_APART, ONE_LEASE, OF_FLEET] {
            map["data"][FORMAT] = json!(known);
            assert_eq!(read(map.clone()).unwrap(), 7);
        }
        map["data"][FORMAT] = json!("6");
        let newer = read(map).unwrap_err().to_string();
        let words = "cannot read the record in ConfigMap metalk8s-solutions/a: unknown format 6";
        assert_eq!(newer, words);
    }

    #[test]
    fn a_record_without_a_format_is_read_and_its_program_reads_none_with_one() {
        let map = config_map("a", json!({}), &json!({ FORMER: "7" }));
        assert_eq!(read(map).unwrap(), 7);
        // A program that does not know formats reads this key.
        let map = Object::new(record("a", json!({}), &7)).unwrap();
        assert!(matches!(parse::<u32>(&map, FORMER), Err(Error::Record(..))));
    }
}
