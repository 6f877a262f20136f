//! Solutions with prerequisites: they are deployed only if these are deployed and ready, and they keep these from being
//! removed.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::releases::{import, pack_as};
use crate::site::{Site, eventually};

const DB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: db, namespace: db}
spec:
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers:
        - name: db
          image: registry.example.test/example/server:1.0.0
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

/// Packs a version of the Solution that is the prerequisite.
fn pack_db(site: &Site, version: &str) -> String {
    let sets = "  manifests: [{name: db, files: [release.yaml], namespaces: [{name: db, fixed: false}]}]\n";
    pack_as(site, "db", version, sets, DB)
}

/// Packs a Solution without images, with these prerequisites.
fn pack_needing(site: &Site, name: &str, needed: &str) -> String {
    let source = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: {name}}}
spec:
  version: 1.0.0
  manifests: [{{name: board, files: [board.yaml], namespaces: [{{name: boards, fixed: false}}]}}]
  prerequisites: {{{needed}}}
"
    );
    let board = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: boards}}\ndata: {{a: b}}\n"
    );
    site.desk.write("board/solution.yaml", source);
    site.desk.write("board/board.yaml", board);
    let archive = format!("{name}-1.0.0.iso");
    let arguments = ["pack", "board", "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&arguments).success();
    archive
}

/// Returns the ids of the blockers of an import.
fn blockers(site: &Site, archive: &str, more: &[&str]) -> BTreeSet<String> {
    let before = site.snapshot();
    let refused = import(site, archive, &[&["--output", "json"][..], more].concat());
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    let refused = refused.json();
    let all = refused["obstacles"].as_array().unwrap().iter();
    let id = |entry: &Value| entry["obstacle"]["id"].as_str().unwrap().to_owned();
    all.map(id).collect()
}

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn what_is_needed_is_there_first_and_stays() {
    let site = Site::new("needed");
    site.create_environment("prod");
    let (db, newer) = (pack_db(&site, "1.0.0"), pack_db(&site, "2.0.0"));
    let solutions = "solutions: [{name: db, version: '>=1, <2'}]";
    let met = format!("{solutions}, kubernetes: '>=1.22', apiGroups: [apps/v1], free: {{cpu: 1m}}");
    let shop = pack_needing(&site, "shop", &met);
    let most = "kubernetes: '<1.22', apiGroups: [missing.test/v1], storageClass: {name: missing}, free: {cpu: '100000', memory: 1000Ti}, nodes: 1000";
    let most = pack_needing(&site, "most", &format!("{solutions}, {most}"));

    let all = [
        "needed-solution",
        "needed-kubernetes",
        "needed-api",
        "needed-storage-class",
        "needed-room",
        "needed-nodes",
    ];
    assert_eq!(blockers(&site, &most, &[]), ids(&all));
    assert_eq!(blockers(&site, &shop, &[]), ids(&["needed-solution"]));
    // An import without a deployment has no prerequisites.
    site.import(&shop, &[]).success();

    import(&site, &newer, &[]).success();
    assert_eq!(blockers(&site, &shop, &[]), ids(&["needed-version"]));
    import(&site, &db, &["--allow-downgrade"]).success();
    let broken = ["set", "image", "deployment/db", "db=registry.invalid/db:1"];
    site.kubectl("prod", &broken).success();
    eventually("db is not ready", || {
        (site.solution(&["status"]).code != 0).then_some(())
    });
    assert_eq!(blockers(&site, &shop, &[]), ids(&["needed-ready"]));
    site.kubectl("prod", &["rollout", "undo", "deployment/db"])
        .success();
    eventually("db is ready", || {
        (site.solution(&["status"]).code == 0).then_some(())
    });
    import(&site, &shop, &[]).success();

    let needed = "shop 1.0.0 in the environment `prod` requires db `>=1, <2`";
    let before = site.snapshot();
    for removal in [
        &["undeploy", "--yes", "db", "-e", "prod"][..],
        &["delete", "db", "--yes"],
    ] {
        let refused = site.solution(removal).failure(1);
        assert!(refused.contains(needed), "{refused}");
    }
    assert_eq!(site.snapshot(), before);
    assert_eq!(blockers(&site, &newer, &[]), ids(&["needed-by"]));

    site.solution(&["undeploy", "--yes", "shop", "-e", "prod"])
        .success();
    site.solution(&["undeploy", "--yes", "db", "-e", "prod"])
        .success();
}

#[test]
fn several_archives_come_in_the_order_of_what_they_need() {
    let site = Site::new("several");
    site.create_environment("prod");
    let db = pack_db(&site, "1.0.0");
    let shop = pack_needing(&site, "shop", "solutions: [{name: db, version: '1'}]");
    let absent = "solutions: [{name: absent, version: '1', scope: cluster}]";
    let other = pack_needing(&site, "other", absent);
    for archive in [&db, &other] {
        site.grant(archive);
    }
    let before = site.snapshot();
    let planned = import(&site, &shop, &[&db, "--dry-run"]).success();
    let [first, second] = [
        "archive   1 of 2\nsolution  db 1.0.0,",
        "archive   2 of 2\nsolution  shop 1.0.0,",
    ];
    assert!(planned.find(first) < planned.find(second), "{planned}");
    assert!(planned.contains(first), "{planned}");
    assert_eq!(site.snapshot(), before);

    let done = import(&site, &other, &[&shop, &db]);
    let said = done.failure(1);
    let left = "imported: none; not imported: other-1.0.0, db-1.0.0, shop-1.0.0";
    assert!(said.contains(left), "{said}");

    let done = import(&site, &shop, &[&db, &other, "--output", "json"]);
    assert_eq!(done.code, 1, "{done:?}");
    let documents = done.stdout.lines();
    let documents: Vec<Value> = documents
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [first, second, third] = documents.as_slice() else {
        panic!("{documents:#?}");
    };
    let solutions = [first, second, &third["plan"]].map(|document| document["solution"].as_str());
    let expected = ["db-1.0.0", "shop-1.0.0", "other-1.0.0"].map(Some);
    assert_eq!(solutions, expected);
    let running = |name: &str| {
        let path = format!("{{.data.{name}}}");
        site.field("prod", "configmap/metalk8s-environment", &path)
    };
    assert_eq!(["db", "shop", "other"].map(running), ["1.0.0", "1.0.0", ""]);
}
