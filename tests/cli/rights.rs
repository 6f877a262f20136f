//! `solution site rbac`, which prints the permissions that an archive needs, without a cluster.

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::Desk;

/// Returns the rules of the printed roles in a namespace, or of those without one.
fn rules(list: &Value, namespace: &Value) -> Vec<Value> {
    let items = list["items"].as_array().unwrap().iter();
    let roles = items.filter(|role| role["metadata"]["namespace"] == *namespace);
    roles
        .filter_map(|role| role["rules"].as_array())
        .flatten()
        .cloned()
        .collect()
}

#[test]
fn an_archive_takes_its_own_rules_and_its_own_crds() {
    let desk = Desk::with_archive();
    let rbac = [
        "rbac",
        "example.iso",
        "--key",
        "publisher.pub",
        "--output",
        "json",
    ];
    let one = [&rbac[..], &["-e", "prod", "--verb", "deploy"]].concat();
    let list = desk.solution(&one).json();
    let of_role = json!({
        "apiGroups": ["example.metalk8s.test"],
        "resources": ["versionservers/status"],
        "verbs": ["patch"],
    });
    assert!(rules(&list, &json!("prod")).contains(&of_role), "{list:#}");
    let cluster = rules(&list, &Value::Null);
    let crd = json!({
        "apiGroups": ["apiextensions.k8s.io"],
        "resources": ["customresourcedefinitions"],
        "resourceNames": ["versionservers.example.metalk8s.test"],
        "verbs": ["get", "patch"],
    });
    assert!(cluster.contains(&crd), "{list:#}");
    assert!(!cluster.contains(&of_role), "{list:#}");
    // For any environment, the roles cannot be limited to a namespace.
    let any = desk.solution(&[&rbac[..], &["--verb", "deploy"]].concat());
    assert!(rules(&any.json(), &Value::Null).contains(&of_role));
    // A user who only imports cannot grant permissions.
    let import = desk.solution(&[&rbac[..], &["--verb", "import"]].concat());
    assert!(
        !import.stdout.contains("example.metalk8s.test\""),
        "{import:?}"
    );
}

#[test]
fn what_is_printed_for_people_is_what_programs_get() {
    let desk = Desk::with_archive();
    let rbac = [
        "rbac",
        "example.iso",
        "--key",
        "publisher.pub",
        "--user",
        "alice",
    ];
    let printed = desk.solution(&rbac).success();
    let documents = schemas::yaml::documents(printed.as_bytes()).unwrap();
    let list = desk.solution(&[&rbac[..], &["--output", "json"]].concat());
    assert_eq!(list.json()["items"], Value::Array(documents));
}

#[test]
fn an_archive_that_nobody_vouches_for_gives_nobody_rights() {
    let desk = Desk::with_archive();
    desk.solution(&["keygen", "other"]).success();
    let answer = desk.solution(&["rbac", "example.iso", "--key", "other.pub"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{answer:?}");
    assert!(
        answer
            .stderr
            .contains("is not accepted, so its rights are not shown")
    );
}

#[test]
fn a_subject_that_is_none_is_a_wrong_command_line() {
    let desk = Desk::new();
    for account in ["importer", "NS:importer", "ns:"] {
        let text = desk
            .solution(&["rbac", "--serviceaccount", account])
            .failure(2);
        assert!(text.contains("--serviceaccount"), "{text}");
    }
}

/// The administrator of a single namespace gets no role for a version that cannot be deployed with it.
#[test]
fn no_roles_are_printed_for_what_nobody_deploys_in_one_namespace_alone() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: web}, data: {}}\n";
    let set = "  manifests:\n    - {name: web, files: [release.yaml], namespaces: [{name: web}]}\n";
    let wide = "---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes}
rules: [{apiGroups: [''], resources: [nodes], verbs: [get]}]
";
    for (case, role, more, why) in [
        ("carried", "", set, "includes sets of manifests or charts"),
        (
            "wide",
            wide,
            "",
            "a ClusterRole of its operator is cluster-scoped",
        ),
    ] {
        let desk = Desk::with_key();
        desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
        desk.write("source/release.yaml", map);
        for (path, more) in [("solution.yaml", more), ("operator/deploy/role.yaml", role)] {
            let path = format!("source/{path}");
            let text = String::from_utf8(desk.read(&path)).unwrap();
            desk.write(&path, format!("{text}{more}"));
        }
        let pack = ["pack", "source", "-o", "a.iso", "--key", "publisher.key"];
        desk.solution(&pack).success();
        let rbac = [
            "rbac",
            "a.iso",
            "--key",
            "publisher.pub",
            "--namespace",
            "shop",
        ];
        let refused = desk.solution(&rbac).failure(1);
        assert!(
            refused.contains(why) && refused.contains("hint: "),
            "{case}: {refused}"
        );
        let seeing = [&rbac[..], &["--verb", "status", "--verb", "undeploy"]].concat();
        desk.solution(&seeing).success();
    }
}

/// `status` reads the workloads of manifest sets of any kind, and nothing else.
#[test]
fn who_sees_how_a_version_stands_reads_the_workloads_that_it_carries() {
    let release = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: web}
spec: {selector: {matchLabels: {app: db}}, template: {metadata: {labels: {app: db}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: setup, namespace: web}
spec: {template: {}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: nodes}
spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}}}
";
    let set = "  manifests:
    - {name: web, files: [release.yaml], namespaces: [{name: web}, {name: nodes, fixed: true}]}
";
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    desk.write("source/release.yaml", release);
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{set}"));
    let pack = ["pack", "source", "-o", "a.iso", "--key", "publisher.key"];
    desk.solution(&pack).success();
    let rbac = [
        "rbac",
        "a.iso",
        "--key",
        "publisher.pub",
        "--verb",
        "status",
    ];
    let list = |more: &[&str]| {
        let json = ["--output", "json"];
        desk.solution(&[&rbac[..], more, &json].concat()).json()
    };
    let get = |resource: &str, name: &str| json!({"apiGroups": ["apps"], "resources": [resource], "resourceNames": [name], "verbs": ["get"]});
    let (db, agent) = (get("statefulsets", "db"), get("daemonsets", "agent"));
    let prod = list(&["-e", "prod"]);
    assert!(rules(&prod, &json!("prod")).contains(&db), "{prod:#}");
    assert!(rules(&prod, &Value::Null).contains(&agent), "{prod:#}");
    assert!(!prod.to_string().contains("setup"), "{prod:#}");
    let any = list(&[]);
    for rule in [&db, &agent] {
        assert!(rules(&any, &Value::Null).contains(rule), "{any:#}");
    }
    let alone = list(&["--namespace", "prod"]);
    assert!(rules(&alone, &json!("prod")).contains(&db), "{alone:#}");
    assert_eq!(rules(&alone, &Value::Null), [Value::Null; 0], "{alone:#}");
}
