//! The inventory lists the operator's objects. Objects that only have the Solution's label are not included. Records in
//! the format before versioning are read and replaced.

use serde_json::{Value, json};

use crate::charts;
use crate::gate::Gate;
use crate::site::Site;

const RECORDS: &str = "metalk8s-solutions";
const INVENTORY: &str = "configmap/carried.tenant.example";
const INTO: [&str; 4] = ["-e", "tenant", "--pull-secret", "login"];
const LABEL: &str = "solutions.metalk8s.scality.com/solution=example";

/// Returns the inventory entries of the operator, by kind.
fn entries(site: &Site) -> Vec<(String, String)> {
    let content = site.field(RECORDS, INVENTORY, "{.data.content\\.json}");
    let inventory: Value = serde_json::from_str(&content).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = inventory["entries"].as_array().unwrap().iter();
    assert!(entries.clone().all(|entry| entry.get("part").is_none()));
    entries
        .map(|entry| (text(&entry["kind"]), text(&entry["uid"])))
        .collect()
}

/// Creates an object, and adds the Solution's label.
fn create_labelled(site: &Site, object: &str, create: &[&str]) {
    site.kubectl("tenant", create).success();
    site.kubectl("tenant", &["label", object, LABEL]).success();
}

#[test]
fn what_a_tenant_labels_is_not_the_operators() {
    let site = Site::new("labelled");
    site.create_environment("tenant");
    site.import("1.0.0.iso", &INTO).success();
    let create = ["create", "configmap", "mine"];
    create_labelled(&site, "configmap/mine", &create);
    site.import("1.1.0.iso", &INTO).success();
    let role = "role/example-operator";
    site.kubectl("tenant", &["delete", role]).success();
    let create = [
        "create",
        "role",
        "example-operator",
        "--verb=get",
        "--resource=pods",
    ];
    create_labelled(&site, role, &create);
    let refused = site.import("1.1.0.iso", &INTO).failure(1);
    let words =
        "Role tenant/example-operator has the labels of example, but is not in its inventory";
    assert!(refused.contains(words), "{refused}");
    let undone = site.solution(&["undeploy", "--yes", "example", "-e", "tenant"]);
    let words = "Role tenant/example-operator is kept: it is not the object that was applied";
    assert!(undone.success().contains(words));
    assert!(site.field("tenant", role, "{.rules}").contains("pods"));
    site.field("tenant", "configmap/mine", "{.metadata.uid}");
}

/// Rewrites a record in the format before versioning.
fn remove_format(site: &Site, map: &str, key: &str) {
    let content = site.field(RECORDS, map, "{.data.content\\.json}");
    let data = json!({ "format": null, "content.json": null, key: content });
    let patch = format!("--patch={}", json!({ "data": data }));
    site.kubectl(RECORDS, &["patch", map, "--type=merge", &patch])
        .success();
}

#[test]
fn records_of_the_time_before_formats_are_read_and_replaced() {
    let site = Site::new("former");
    let empty = site.new_environment("tenant");
    site.import("1.0.0.iso", &INTO).success();
    let before = entries(&site);
    assert!(before.iter().all(|(_, uid)| !uid.is_empty()), "{before:?}");
    remove_format(&site, "configmap/namespace-tenant", "namespace.json");
    remove_format(&site, "configmap/solution-example-1.0.0", "record.json");
    site.kubectl(RECORDS, &["delete", INVENTORY]).success();
    site.solution(&["status"]).success();

    site.import("1.1.0.iso", &INTO).success();
    let format = |map: &str| site.field(RECORDS, map, "{.data.format}");
    assert_eq!(format("configmap/namespace-tenant"), "4");
    assert_eq!(format(INVENTORY), "4");
    let same = |kind: &str| {
        let find = |all: &[(String, String)]| all.iter().find(|entry| entry.0 == kind).cloned();
        assert_eq!(find(&entries(&site)), find(&before), "{kind}");
    };
    for kind in ["Deployment", "ServiceAccount", "Role"] {
        same(kind);
    }
    site.solution(&["undeploy", "--yes", "example", "-e", "tenant"])
        .success();
    site.until_as_before("tenant", &empty, &[]);
}

/// Adds the release of a chart to the namespace's record, as programs did until format 3.
fn name_releases_in_namespace(site: &Site) {
    let (inventory, namespace) = ("configmap/carried.prod.shop", "configmap/namespace-prod");
    let content = |map: &str| -> Value {
        let content = site.field(RECORDS, map, "{.data.content\\.json}");
        serde_json::from_str(&content).unwrap()
    };
    let mut record = content(namespace);
    record["solutions"]["shop"]["releases"] = content(inventory)["releases"].take();
    let data = json!({ "format": "2", "content.json": record.to_string() });
    let patch = format!("--patch={}", json!({ "data": data }));
    site.kubectl(RECORDS, &["patch", namespace, "--type=merge", &patch])
        .success();
    site.kubectl(RECORDS, &["delete", inventory]).success();
}

#[test]
fn releases_that_the_record_of_the_namespace_names_are_read_and_recorded_anew() {
    let site = charts::site("former-releases");
    let first = charts::pack(&site, "1.0.0", charts::VALUES);
    charts::import(&site, &first, &[]).success();
    name_releases_in_namespace(&site);
    charts::solution(&site, &["status"]).success();
    let again = charts::import(&site, &first, &[]).success();
    assert!(again.contains("0 objects changed"), "{again}");

    let values = charts::VALUES.replace("hello", "good day");
    let second = charts::pack(&site, "1.1.0", &values);
    charts::import(&site, &second, &[]).success();
    assert_eq!(charts::statuses(&site), ["superseded", "deployed"]);
    let record = |map: &str| site.field(RECORDS, map, "{.data}");
    assert!(!record("configmap/namespace-prod").contains("releases"));
    assert!(record("configmap/carried.prod.shop").contains("releases"));

    // The first change may be the last one, and may be killed after it has rewritten the namespace's record.
    name_releases_in_namespace(&site);
    let lease = ["delete", "lease", "solution"];
    site.kubectl(RECORDS, &lease).success();
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    let given_back =
        "PUT /apis/coordination.k8s.io/v1/namespaces/metalk8s-solutions/leases/solution";
    let mut command = site.command();
    command.env("HELM", &*charts::HELM).args(undeploy);
    Gate::before(&site, given_back).kill(&site, &command);
    assert!(!record("configmap/namespace-prod").contains("releases"));
    charts::solution(&site, &undeploy).success();
    let listed = charts::helm(&site, &["list", "--short"]).success();
    assert_eq!(listed, "");
}
