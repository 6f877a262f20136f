//! Environments are isolated: an environment never reaches objects of an environment with a similar name, of another
//! version, or of another Solution in the same namespace.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, difference, eventually};

/// Additional permissions of the operator, in a ClusterRole.
const ROLE: &str = "---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more}
rules: [{apiGroups: [''], resources: [RESOURCE], verbs: [get, list]}]
";

/// Packs a version again with such a ClusterRole.
fn pack_with_role(site: &Site, version: &str, resource: &str) {
    let role = format!("{version}/operator/deploy/role.yaml");
    let text = String::from_utf8(site.desk.read(&role)).unwrap();
    let more = ROLE.replace("RESOURCE", resource);
    site.desk.write(&role, text + &more);
    let archive = format!("{version}.iso");
    let pack = ["pack", version, "-o", &archive, "--force"];
    let pack = [&pack[..], &["--key", "publisher.key"]].concat();
    site.desk.solution(&pack).success();
}

fn import(site: &Site, archive: &str, environment: &str, namespace: &str) -> Answer {
    let into = ["-e", environment, "-n", namespace, "--pull-secret", "login"];
    site.import(archive, &into)
}

/// Returns the ClusterRoles of an environment, with their rules, by name and uid.
fn cluster_roles(site: &Site, environment: &str) -> BTreeMap<String, Value> {
    let get = ["get", "clusterroles", "--output=json"];
    let list = site.kubectl("default", &get).json();
    let own = format!("solution:{environment}:");
    let roles = list["items"].as_array().unwrap().iter();
    let own = roles.filter(|role| role["metadata"]["name"].as_str().unwrap().starts_with(&own));
    own.map(|role| {
        let [name, uid] = ["name", "uid"].map(|field| role["metadata"][field].as_str().unwrap());
        (format!("{name} {uid}"), role["rules"].clone())
    })
    .collect()
}

/// Returns all objects in a namespace, and the ClusterRoles of the environment of the same name.
fn objects_of_environment(site: &Site, environment: &str) -> BTreeMap<String, Value> {
    let mut all = site.objects_in(environment);
    all.append(&mut cluster_roles(site, environment));
    all
}

/// Returns the ready versions, as `environment/namespace solution version`.
fn ready_versions(site: &Site) -> Vec<String> {
    let status = site.solution(&["status", "--output", "json"]);
    assert_eq!(status.code, 0, "{status:?}");
    let status = status.json();
    let operators = status["operators"].as_array().unwrap().iter();
    let line = |entry: &Value| {
        assert_eq!(entry["condition"], "ready", "{entry:#}");
        let fields = ["environment", "namespace", "solution", "version"];
        let [environment, namespace, solution, version] =
            fields.map(|field| entry[field].as_str().unwrap());
        format!("{environment}/{namespace} {solution} {version}")
    };
    operators.map(line).collect()
}

#[test]
fn prod_and_prod_2_have_nothing_in_common() {
    let site = Site::new("apart");
    for version in ["1.0.0", "1.1.0"] {
        pack_with_role(&site, version, "resourcequotas");
    }
    for environment in ["prod", "prod-2"] {
        site.create_environment(environment);
        import(&site, "1.0.0.iso", environment, environment).success();
    }
    let more = ["environment", "create", "prod", "--namespace", "prod-2-b"];
    site.solution(&more).success();
    site.create_login("prod-2-b");
    import(&site, "1.0.0.iso", "prod", "prod-2-b").success();
    let [ours, theirs] = ["prod", "prod-2"].map(|environment| cluster_roles(&site, environment));
    assert_eq!((ours.len(), theirs.len()), (2, 1));
    let before = objects_of_environment(&site, "prod-2");
    let touched = || difference(&before, &objects_of_environment(&site, "prod-2"));

    let before_refusal = site.snapshot();
    let refused = import(&site, "1.1.0.iso", "prod", "prod-2").failure(1);
    let words = "belongs to the environment `prod-2`";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(site.snapshot(), before_refusal);
    import(&site, "1.1.0.iso", "prod", "prod").success();
    let all = [
        "prod-2/prod-2 example 1.0.0",
        "prod/prod example 1.1.0",
        "prod/prod-2-b example 1.0.0",
    ];
    let mut shown = ready_versions(&site);
    shown.sort();
    assert_eq!(shown, all);
    assert_eq!(touched(), "");

    site.solution(&["undeploy", "--yes", "example", "-e", "prod"])
        .success();
    assert_eq!(cluster_roles(&site, "prod"), BTreeMap::new());
    assert_eq!(touched(), "");
    let deleted = site.solution(&["environment", "delete", "--yes", "prod", "--output", "json"]);
    let removed = deleted.json()["removed"].clone();
    assert!(!removed.to_string().contains("prod-2\""), "{removed:#}");
    for namespace in ["prod", "prod-2-b"] {
        let gone = site.kubectl("default", &["get", "namespace", namespace]);
        assert!(gone.stderr.contains("NotFound"), "{gone:?}");
    }
    assert_eq!(touched(), "");
    assert_eq!(ready_versions(&site), [all[0]]);
}

/// Waits until an environment's operator may read exactly these resources, given as `ENVIRONMENT RESOURCE`.
fn wait_for_readable(site: &Site, environment: &str, expected: &[&str]) {
    let operator = format!("--as=system:serviceaccount:{environment}:example-operator");
    eventually("the operator's rights are these", || {
        let mut may = Vec::new();
        for namespace in ["one", "two"] {
            for resource in ["limitranges", "resourcequotas"] {
                let ask = ["auth", "can-i", "list", resource, &operator];
                if site.kubectl(namespace, &ask).code == 0 {
                    may.push(format!("{namespace} {resource}"));
                }
            }
        }
        (may == expected).then_some(())
    });
}

#[test]
fn two_environments_have_versions_and_cluster_roles_of_their_own() {
    let site = Site::new("versions");
    pack_with_role(&site, "1.0.0", "resourcequotas");
    pack_with_role(&site, "1.1.0", "limitranges");
    for environment in ["one", "two"] {
        site.create_environment(environment);
    }
    import(&site, "1.0.0.iso", "one", "one").success();
    import(&site, "1.1.0.iso", "two", "two").success();
    wait_for_readable(&site, "one", &["one resourcequotas"]);
    wait_for_readable(&site, "two", &["two limitranges"]);
    assert_eq!(
        ready_versions(&site),
        ["one/one example 1.0.0", "two/two example 1.1.0"]
    );

    let second = objects_of_environment(&site, "two");
    import(&site, "1.1.0.iso", "one", "one").success();
    wait_for_readable(&site, "one", &["one limitranges"]);
    assert_eq!(
        difference(&second, &objects_of_environment(&site, "two")),
        ""
    );
    let first = objects_of_environment(&site, "one");
    site.solution(&["undeploy", "--yes", "example", "-e", "two"])
        .success();
    wait_for_readable(&site, "two", &[]);
    assert_eq!(cluster_roles(&site, "two"), BTreeMap::new());
    assert_eq!(
        difference(&first, &objects_of_environment(&site, "one")),
        ""
    );
    assert_eq!(ready_versions(&site), ["one/one example 1.1.0"]);
    wait_for_readable(&site, "one", &["one limitranges"]);
}

/// Packs a Solution `shop` from the example, with its own CRDs and roles, and a server as its operator. Its kind has
/// another name, because kubectl caches short names.
fn pack_shop(site: &Site, version: &str) {
    let [from, tree] = [version.to_owned(), format!("shop-{version}")];
    let copy = ["--recursive", &from, &tree];
    let copied = Command::new("cp")
        .args(copy)
        .current_dir(site.desk.path("."))
        .status();
    assert!(copied.unwrap().success());
    let server = format!(
        "name: example-server\n      tag: {version}\n    command: [example-server]\n    securityContext:"
    );
    for (file, changes) in [
        (
            "operator/deploy/crds/versionservers_crd.yaml",
            vec![
                ("example.metalk8s.test", "shop.metalk8s.test"),
                ("versionserver", "shopserver"),
                ("VersionServer", "ShopServer"),
                ("shortNames: [vs]", "shortNames: [shs]"),
            ],
        ),
        (
            "operator/deploy/role.yaml",
            vec![
                ("example.metalk8s.test", "shop.metalk8s.test"),
                ("versionserver", "shopserver"),
                ("name: example-operator", "name: shop-operator"),
            ],
        ),
        (
            "solution.yaml",
            vec![
                ("name: example\n", "name: shop\n"),
                (&operator_image(version), &server),
            ],
        ),
    ] {
        let path = format!("{tree}/{file}");
        let text = String::from_utf8(site.desk.read(&path)).unwrap();
        // The server does not answer an operator's probe.
        let mut text = text.split("    template:\n").next().unwrap().to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "`{from}` is not in: {text}");
            text = text.replace(from, to);
        }
        site.desk.write(&path, text);
    }
    let archive = format!("{tree}.iso");
    let pack = ["pack", &tree, "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&pack).success();
}

fn operator_image(version: &str) -> String {
    format!("name: example-operator\n      tag: {version}\n    securityContext:")
}

#[test]
fn solutions_in_one_namespace_leave_each_other_alone() {
    let site = Site::new("beside");
    let empty = site.new_environment("both");
    for version in ["1.0.0", "1.1.0"] {
        pack_shop(&site, version);
    }
    // The objects that belong to a Solution by name, with their uids.
    let own = |name: &str| -> BTreeMap<String, Value> {
        let begins = format!(" {name}-");
        let all = site.objects_in("both").into_iter();
        all.filter(|(object, _)| object.contains(&begins)).collect()
    };
    let running = || -> Value {
        let map = "configmap/metalk8s-environment";
        serde_json::from_str(&site.field("both", map, "{.data}")).unwrap()
    };
    import(&site, "1.0.0.iso", "both", "both").success();
    let example = own("example");
    import(&site, "shop-1.0.0.iso", "both", "both").success();
    assert_eq!(difference(&example, &own("example")), "");
    assert_eq!(running(), json!({"example": "1.0.0", "shop": "1.0.0"}));

    let shop = own("shop");
    import(&site, "1.1.0.iso", "both", "both").success();
    assert_eq!(difference(&shop, &own("shop")), "");
    let example = own("example");
    import(&site, "shop-1.1.0.iso", "both", "both").success();
    assert_eq!(difference(&example, &own("example")), "");
    assert_eq!(running(), json!({"example": "1.1.0", "shop": "1.1.0"}));
    let both = ["both/both example 1.1.0", "both/both shop 1.1.0"];
    assert_eq!(ready_versions(&site), both);

    let (shop, elsewhere) = (own("shop"), objects_of_shop(&site));
    for verb in [
        &["undeploy", "--yes", "example", "--environment=both"][..],
        &["delete", "example", "--yes"],
    ] {
        site.solution(verb).success();
        assert_eq!(own("example"), BTreeMap::new());
        assert_eq!(difference(&shop, &own("shop")), "", "{verb:?}");
        assert_eq!(objects_of_shop(&site), elsewhere, "{verb:?}");
    }
    assert_eq!(running(), json!({"shop": "1.1.0"}));
    let secrets = "{.imagePullSecrets[*].name}";
    let secrets = || site.field("both", "serviceaccount/default", secrets);
    assert_eq!(secrets(), "login");
    assert_eq!(ready_versions(&site), [both[1]]);
    site.solution(&["undeploy", "--yes", "shop", "-e", "both"])
        .success();
    let left = site.objects_in("both");
    assert!(
        left.keys().eq(empty.keys()),
        "{}",
        difference(&empty, &left)
    );
    assert_eq!(secrets(), "");
}

/// Returns the objects of the Solution `shop` outside of environments, with their uids: its CRD and its records.
fn objects_of_shop(site: &Site) -> Vec<String> {
    let crd = ["default", "crd/shopservers.shop.metalk8s.test"];
    let records = ["1.0.0", "1.1.0"].map(|version| format!("configmap/solution-shop-{version}"));
    let records = records.iter().map(|record| ["metalk8s-solutions", record]);
    let objects = records.chain([crd]);
    objects
        .map(|[space, object]| site.field(space, object, "{.metadata.uid}"))
        .collect()
}
