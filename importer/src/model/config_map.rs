//! The storage of a site's records in its cluster: ConfigMaps in the namespace of the records, each with its format.
//!
//! Until format 2 a record named no format, and fields that a program did not know were passed over. A program of that
//! time looks under the key that its records had, finds none there, and stops; else it would take what it does not see for
//! what is not there. Until format 3 the record of a namespace named the releases of charts, which the inventory does now.
//! Format 4 has the same content: it keeps programs out that know only the one Lease of the cluster, and would take it
//! while an environment is being changed under its own. Records of former formats are read, and written anew with the
//! first change. Format 5 is format 4 with what a fleet chose, and only written where there is such: a program that does
//! not know it would deploy without these choices, and lose them.

use change::vocabulary as v;
use deployer::{Object, ObjectRef};
use schemas::json;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::model::error::Error;

/// The key of a record's format.
const FORMAT: &str = "format";
/// The format that is written.
const WRITTEN: &str = "4";
/// The format that is written of what has a fleet's choices.
const OF_FLEET: &str = "5";
/// The format of before environments had a Lease each, which has the same content.
const ONE_LEASE: &str = "3";
/// The format in which the record of a namespace named the releases of charts.
const RELEASES_APART: &str = "2";
/// The formats of records that are read.
pub const READ: [&str; 4] = [RELEASES_APART, ONE_LEASE, WRITTEN, OF_FLEET];
/// The formats that are written, the first unless a record has what only a later one can say.
pub const ALL_WRITTEN: [&str; 2] = [WRITTEN, OF_FLEET];
/// The key of what a record says.
const CONTENT: &str = "content.json";

/// A ConfigMap with these labels and ours.
pub(crate) fn config_map(name: &str, mut labels: Value, data: &impl Serialize) -> Value {
    labels[v::MANAGED_BY] = json!(v::MANAGER);
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": v::RECORDS_NAMESPACE, "labels": labels },
        "data": data,
    })
}

/// A ConfigMap that holds one record.
pub(crate) fn record(name: &str, labels: Value, record: &impl Serialize) -> Value {
    let text = serde_json::to_string(record).expect("a record has a JSON form");
    config_map(name, labels, &json!({ FORMAT: WRITTEN, CONTENT: text }))
}

/// A ConfigMap that holds one record, in which there are choices of a fleet.
pub(crate) fn record_of_fleet(name: &str, labels: Value, record: &impl Serialize) -> Value {
    let mut map = self::record(name, labels, record);
    map["data"][FORMAT] = json!(OF_FLEET);
    map
}

/// Returns the reference of the ConfigMap with a name.
pub(crate) fn reference(name: &str) -> ObjectRef {
    ObjectRef::namespaced("v1", "ConfigMap", v::RECORDS_NAMESPACE, name)
}

/// Parses the strict JSON under a key.
pub(crate) fn parse<T: DeserializeOwned>(object: &Object, key: &str) -> Result<T, Error> {
    let text = object.as_value()["data"][key].as_str().unwrap_or_default();
    json::from_slice(text.as_bytes()).map_err(|source| Error::Record {
        object: object.reference().to_string(),
        source,
    })
}

/// Returns the record in a ConfigMap. `former` is the key that it had when no format was named. Refuses the format of a
/// newer program.
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

/// Whether a record is of the time before records named their format.
pub(crate) fn is_former(object: &Object) -> bool {
    object.as_value()["data"][FORMAT].is_null()
}

/// Whether a record is written in a format of now.
pub(crate) fn is_current(object: &Object) -> bool {
    let format = object.as_value()["data"][FORMAT].as_str();
    matches!(format, Some(WRITTEN | OF_FLEET))
}

/// Whether an inventory names the releases of charts.
pub(crate) fn names_releases(object: &Object) -> bool {
    let format = object.as_value()["data"][FORMAT].as_str();
    matches!(format, Some(WRITTEN | ONE_LEASE))
}

/// Returns what a record says, by the ConfigMap that holds it as JSON.
#[cfg(test)]
pub(crate) fn content(map: &mut Value) -> &mut Value {
    &mut map["data"][CONTENT]
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
        // As a program reads that knows of no format.
        let map = Object::new(record("a", json!({}), &7)).unwrap();
        assert!(matches!(
            parse::<u32>(&map, FORMER),
            Err(Error::Record { .. })
        ));
    }
}
