//! Tests with the records that a program from before record formats wrote (tests/data/85c7835). Their content must be
//! read unchanged and be written in the current format.

use std::collections::BTreeMap;

use kubernetes::Object;
use planner::vocabulary as v;
use schemas::{Namespace, SetName, SolutionName};
use serde_json::{Value, json};

use crate::records::cleanup::{self, Cleanup};
use crate::records::namespace_record::NamespaceRecord;
use crate::records::receipts::Receipts;
use crate::records::state::ClusterState;
use crate::records::{inventory, record, storage};

const RECORDS: &str = include_str!("../../../tests/data/85c7835/records.json");
const APPLIED: &str = include_str!("../../../tests/data/85c7835/applied.json");

fn read(list: &str) -> Vec<Object> {
    let list: Value = serde_json::from_str(list).unwrap();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| Object::new(item.clone()).unwrap())
        .collect()
}

/// Returns the record, or the object of the Solution, with this name in a namespace.
pub(crate) fn kept(namespace: &str, kind: &str, name: &str) -> Object {
    let mut all = [RECORDS, APPLIED].into_iter().flat_map(read);
    let is_it = |object: &Object| {
        let of = object.reference();
        of.namespace.as_deref() == Some(namespace) && of.gvk.kind == kind && of.name == name
    };
    all.find(is_it).unwrap()
}

fn map(name: &str) -> Object {
    kept(v::RECORDS_NAMESPACE, "ConfigMap", name)
}

fn state() -> ClusterState {
    ClusterState::of_records(&read(RECORDS)).unwrap()
}

fn shop() -> SolutionName {
    "shop".parse().unwrap()
}

/// Returns the content of a ConfigMap under a key.
fn said(map: &Object, key: &str) -> Value {
    let text = map.as_value()["data"][key].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

/// Returns the content of a record, which must be in the current format.
fn written(object: Value) -> Value {
    let object = Object::new(object).unwrap();
    assert!(storage::is_current(&object), "{object:?}");
    said(&object, "content.json")
}

#[test]
fn its_versions_are_written_as_they_were() {
    let records = state().records;
    let versions: Vec<_> = records
        .iter()
        .map(|record| record.version.to_string())
        .collect();
    assert_eq!(versions, ["1.0.0", "1.1.0"]);
    for known in &records {
        let before = map(&format!("solution-shop-{}", known.version));
        assert!(storage::is_former(&before));
        let object = record::object(known);
        assert_eq!(
            object["metadata"]["labels"],
            before.as_value()["metadata"]["labels"]
        );
        assert_eq!(written(object), said(&before, "record.json"));
    }
}

#[test]
fn its_environments_keep_what_was_chosen_and_accepted() {
    let spaces = state().namespaces;
    let names: Vec<_> = spaces
        .iter()
        .map(|space| space.namespace.as_str())
        .collect();
    assert_eq!(names, ["prod", "test"]);
    for space in &spaces {
        let name = space.namespace.as_str();
        let live = read(APPLIED).into_iter();
        let mut live = live.filter(|object| object.reference().gvk.kind == "Namespace");
        assert!(space.made(&live.find(|object| object.name() == name).unwrap()));
        // The inventory lists the releases now.
        let mut before = said(&map(&format!("namespace-{name}")), "namespace.json");
        let deployed = before["solutions"]["shop"].as_object_mut().unwrap();
        assert!(deployed.remove("releases").is_some());
        assert_eq!(written(space.to_object()), before);
    }
    let deployed = &spaces[0].solutions[&shop()];
    assert_eq!(deployed.version.to_string(), "1.1.0");
    assert_eq!(
        json!(deployed.parameters),
        json!({"extra": true, "greeting": "hi", "size": 2})
    );
    assert_eq!(json!(deployed.sensitive), json!(["password", "token"]));
    assert_eq!(deployed.secret, Some(1));
    // The consent was to the text only, so it must be given again.
    let accepted = deployed.accepted.as_ref().unwrap();
    assert!(accepted.lines.contains("ClusterRole shop-nodes is made"));
    assert_eq!(accepted.grants, None);
}

fn inventory_of(space: &NamespaceRecord) -> (Object, planner::Inventory) {
    let live = map(&inventory::reference(&shop(), &space.namespace).name);
    let known = inventory::read_inventory(Some(&live), &shop(), space).unwrap();
    (live, known)
}

#[test]
fn its_inventories_name_the_same_objects_and_the_releases() {
    let applied = read(APPLIED);
    for space in state().namespaces {
        let (live, known) = inventory_of(&space);
        let name = &space.namespace;
        let mut before = said(&live, "objects.json");
        let former = said(&map(&format!("namespace-{name}")), "namespace.json");
        let fields = before.as_object_mut().unwrap();
        let mut entries = fields.remove("objects").unwrap();
        for entry in entries.as_array_mut().unwrap() {
            let set = entry.as_object_mut().unwrap().remove("set").unwrap();
            entry["part"] = set;
        }
        before["entries"] = entries;
        before["releases"] = former["solutions"]["shop"]["releases"].clone();
        let after = written(inventory::to_object(&known, &shop(), name));
        assert_eq!(after, before);
        // Each entry names the object that exists, by its uid.
        for entry in &known.entries {
            let of = entry.reference();
            let mut live = applied.iter().filter(|object| entry.is(object.reference()));
            let uid = live.next().and_then(Object::uid);
            assert_eq!(uid, entry.uid.as_deref(), "{of}");
            assert!(uid.is_some(), "{of}");
        }
        // The stored manifests of the release were not recorded, so the release must be taken over once.
        assert_eq!(known.releases.len(), 1);
        assert_eq!(known.releases[0].revisions, []);
    }
}

#[test]
fn what_is_done_before_it_is_removed_is_kept_as_it_was() {
    for name in ["prod", "test"] {
        let namespace: Namespace = name.parse().unwrap();
        let of = cleanup::reference(&shop(), &namespace);
        let secret = kept(v::RECORDS_NAMESPACE, "Secret", &of.name);
        let kept = Cleanup::parse(&secret).unwrap();
        assert_eq!(kept.names(), [format!("Job {name}/bye")]);
        let part = kept.steps[0].recorded.part.as_ref();
        assert_eq!(part.map(SetName::as_str), Some("bye"));
        let again = kept.to_object(&shop(), &namespace);
        let again = Object::new(again).unwrap();
        assert_eq!(Cleanup::parse(&again).unwrap(), kept);
        assert_eq!(again.labels(), secret.labels());
    }
}

#[test]
fn its_history_is_whole_and_stays_to_the_letter() {
    let maps: Vec<_> = read(RECORDS).into_iter().filter(is_receipt).collect();
    let receipts = Receipts::from_config_maps(&maps);
    assert_eq!(receipts.unreadable, [""; 0]);
    assert_eq!(receipts.all.len(), 6);
    assert_eq!((receipts.changed(), receipts.missing()), (vec![], vec![]));
    assert_eq!(receipts.next(), 7);
    for receipt in &receipts.all {
        let before = map(&format!("receipt-{:06}", receipt.revision));
        let object = Object::new(receipt.to_object(None)).unwrap();
        assert_eq!(object.as_value()["data"], before.as_value()["data"]);
        assert_eq!(object.labels(), before.labels());
    }
    let upgrade = &receipts.all[4];
    let place = upgrade.place(&shop(), &"prod".parse().unwrap()).unwrap();
    let ended = place.ends().unwrap();
    assert_eq!(ended.version.to_string(), "1.0.0");
    assert_eq!(ended.archive_id, Some(state().records[0].archive_id));
}

fn is_receipt(map: &Object) -> bool {
    map.labels().contains_key(v::RECEIPT)
}

#[test]
fn its_signers_and_the_sites_file_count() {
    let state = state();
    let object = state.signers.to_object();
    assert_eq!(object["data"], map(v::SIGNERS).as_value()["data"]);
    let signed: Vec<_> = state.signers.of(&shop()).unwrap().iter().collect();
    assert_eq!(signed, state.records[0].signers.iter().collect::<Vec<_>>());
    let prod = "prod".parse().unwrap();
    let held = state.site.held(Some(&prod)).unwrap();
    let values = held.parameters(&shop()).into_iter();
    let values: BTreeMap<_, _> = values.flat_map(|(_, values)| values).collect();
    assert_eq!(json!(values), json!({"size": 3}));
}
