//! Environments keep to themselves: neither one whose name begins like another's, nor one of another version, nor a
//! Solution beside another in one namespace, reaches what is not its own.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, difference, eventually};

/// What the operator may read besides, by a role that is the cluster's.
const ROLE: &str = "---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: more}
rules: [{apiGroups: [''], resources: [RESOURCE], verbs: [get, list]}]
";

/// Packs a version again with such a role.
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

/// The cluster's roles of an environment, with their rules, by name and uid.
fn roles(site: &Site, environment: &str) -> BTreeMap<String, Value> {
    let get = ["get", "clusterroles", "--output=json"];
    let list = site.kubectl("default", &get).json();
    let own = format!("solution:{environment}:");
    let roles = list["items"].as_array().unwrap().iter();
    let own = roles.filter(|it| it["metadata"]["name"].as_str().unwrap().starts_with(&own));
    own.map(|it| {
        let [name, uid] = ["name", "uid"].map(|field| it["metadata"][field].as_str().unwrap());
        (format!("{name} {uid}"), it["rules"].clone())
    })
    .collect()
}

/// Everything in a namespace, and the cluster's roles of the environment of its name.
fn of(site: &Site, environment: &str) -> BTreeMap<String, Value> {
    let mut all = site.everything(environment);
    all.append(&mut roles(site, environment));
    all
}

/// The versions that are ready, as `environment/namespace solution version`.
fn ready(site: &Site) -> Vec<String> {
    let status = site.solution(&["status", "--output", "json"]);
    assert_eq!(status.code, 0, "{status:?}");
    let status = status.json();
    let operators = status["operators"].as_array().unwrap().iter();
    let line = |it: &Value| {
        assert_eq!(it["condition"], "ready", "{it:#}");
        let fields = ["environment", "namespace", "solution", "version"];
        let [environment, namespace, solution, version] =
            fields.map(|field| it[field].as_str().unwrap());
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
        site.environment(environment);
        import(&site, "1.0.0.iso", environment, environment).success();
    }
    let more = ["environment", "create", "prod", "--namespace", "prod-2-b"];
    site.solution(&more).success();
    site.login("prod-2-b");
    import(&site, "1.0.0.iso", "prod", "prod-2-b").success();
    let [ours, theirs] = ["prod", "prod-2"].map(|environment| roles(&site, environment));
    assert_eq!((ours.len(), theirs.len()), (2, 1));
    let before = of(&site, "prod-2");
    let touched = || difference(&before, &of(&site, "prod-2"));

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
    let mut shown = ready(&site);
    shown.sort();
    assert_eq!(shown, all);
    assert_eq!(touched(), "");

    site.solution(&["undeploy", "--yes", "example", "-e", "prod"])
        .success();
    assert_eq!(roles(&site, "prod"), BTreeMap::new());
    assert_eq!(touched(), "");
    let deleted = site.solution(&["environment", "delete", "--yes", "prod", "--output", "json"]);
    let removed = deleted.json()["removed"].clone();
    assert!(!removed.to_string().contains("prod-2\""), "{removed:#}");
    for namespace in ["prod", "prod-2-b"] {
        let gone = site.kubectl("default", &["get", "namespace", namespace]);
        assert!(gone.stderr.contains("NotFound"), "{gone:?}");
    }
    assert_eq!(touched(), "");
    assert_eq!(ready(&site), [all[0]]);
}

/// Waits until exactly these may be read by the operator of an environment, of `ENVIRONMENT RESOURCE`.
fn reads(site: &Site, environment: &str, expected: &[&str]) {
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
        site.environment(environment);
    }
    import(&site, "1.0.0.iso", "one", "one").success();
    import(&site, "1.1.0.iso", "two", "two").success();
    reads(&site, "one", &["one resourcequotas"]);
    reads(&site, "two", &["two limitranges"]);
    assert_eq!(
        ready(&site),
        ["one/one example 1.0.0", "two/two example 1.1.0"]
    );

    let second = of(&site, "two");
    import(&site, "1.1.0.iso", "one", "one").success();
    reads(&site, "one", &["one limitranges"]);
    assert_eq!(difference(&second, &of(&site, "two")), "");
    let first = of(&site, "one");
    site.solution(&["undeploy", "--yes", "example", "-e", "two"])
        .success();
    reads(&site, "two", &[]);
    assert_eq!(roles(&site, "two"), BTreeMap::new());
    assert_eq!(difference(&first, &of(&site, "one")), "");
    assert_eq!(ready(&site), ["one/one example 1.1.0"]);
    reads(&site, "one", &["one limitranges"]);
}

/// Packs a Solution `shop` from the example: with CRDs and roles of its own, and a server for an operator. Its kind has
/// another name: kubectl keeps what a short name stood for.
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
        // The server answers no probe of an operator.
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
    site.environment("both");
    eventually("the default account is made", || {
        let account = site.everything("both");
        account.contains_key("ServiceAccount default").then_some(())
    });
    let empty = site.everything("both");
    for version in ["1.0.0", "1.1.0"] {
        pack_shop(&site, version);
    }
    // What is a Solution's by its name, with uids.
    let own = |name: &str| -> BTreeMap<String, Value> {
        let begins = format!(" {name}-");
        let all = site.everything("both").into_iter();
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
    assert_eq!(ready(&site), both);

    let (shop, elsewhere) = (own("shop"), shops_own(&site));
    for verb in [
        &["undeploy", "--yes", "example", "--environment=both"][..],
        &["delete", "example", "--yes"],
    ] {
        site.solution(verb).success();
        assert_eq!(own("example"), BTreeMap::new());
        assert_eq!(difference(&shop, &own("shop")), "", "{verb:?}");
        assert_eq!(shops_own(&site), elsewhere, "{verb:?}");
    }
    assert_eq!(running(), json!({"shop": "1.1.0"}));
    let secrets = "{.imagePullSecrets[*].name}";
    let secrets = || site.field("both", "serviceaccount/default", secrets);
    assert_eq!(secrets(), "login");
    assert_eq!(ready(&site), [both[1]]);
    site.solution(&["undeploy", "--yes", "shop", "-e", "both"])
        .success();
    let left = site.everything("both");
    assert!(
        left.keys().eq(empty.keys()),
        "{}",
        difference(&empty, &left)
    );
    assert_eq!(secrets(), "");
}

/// What the Solution `shop` has outside of namespaces of environments: its CRD and its records, with uids.
fn shops_own(site: &Site) -> Vec<String> {
    let crd = ["default", "crd/shopservers.shop.metalk8s.test"];
    let records = ["1.0.0", "1.1.0"].map(|it| format!("configmap/solution-shop-{it}"));
    let records = records.iter().map(|it| ["metalk8s-solutions", it]);
    let objects = records.chain([crd]);
    objects
        .map(|[space, object]| site.field(space, object, "{.metadata.uid}"))
        .collect()
}
