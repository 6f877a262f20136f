//! Parameters for a manifest set and charts: typed, chosen, kept, and never shown if they are sensitive.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::charts::{history, import, pack_tree, site, solution};
use crate::site::Site;

const TEMPLATE: &str =
    "{{ if contains \"bad\" .Values.greeting }}{{ fail (printf \"no %s\" .Values.token) }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}'}
data:
  greeting: {{ .Values.greeting | quote }}
  size: '{{ kindOf .Values.size }} {{ .Values.size }}'
  hosts: {{ join \" \" .Values.hosts | quote }}
  url: 'db://{{ .Values.token }}@{{ .Values.at }}'
---
apiVersion: v1
kind: Secret
metadata: {name: '{{ .Release.Name }}'}
data: {password: {{ .Values.password | b64enc }}}
";

const VALUES: &str = "greeting: to $(param:greeting) in $(solution:environment)
size: $(param:size)
hosts: $(param:hosts)
token: $(param:token)
password: $(param:password)
at: $(namespace:own)
";

const SET: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: set}
data: {greeting: $(param:greeting), password: $(param:password)}
";

const SPEC: &str = "  parameters:
    size: {type: number, default: 1}
    greeting: {type: string, default: all}
    hosts: {type: array, default: [a.test, b.test]}
    more: {type: boolean, default: false}
    class: {type: string, format: storage-class, enum: [none.test, standard], default: standard}
    password: {type: string, sensitive: true, generate: {length: 20}}
    token: {type: string, sensitive: true}
  manifests: [{name: config, files: [set.yaml], needs: [web]}]
  charts:
    - {name: web, source: 'dir:app', values: [values.yaml], namespaces: [{name: own}]}
    - {name: more, source: 'dir:app', values: [values.yaml], namespaces: [{name: own}], when: {parameter: more}}
";

/// The storage class that a parameter refers to.
pub(crate) const CLASS: &str = "apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard}
provisioner: none.test/none
";

/// Secrets of the site.
pub(crate) const TOKEN: &str = "t0ken-of-the-site";
const OTHER: &str = "an0ther-t0ken";

/// Packs a version with a chart and a manifest set that use parameters.
pub(crate) fn pack(site: &Site, version: &str) -> String {
    let chart = format!("apiVersion: v2\nname: app\nversion: {version}\n");
    site.desk.write("1.0.0/app/Chart.yaml", chart);
    site.desk.write("1.0.0/app/templates/app.yaml", TEMPLATE);
    site.desk.write("1.0.0/values.yaml", VALUES);
    site.desk.write("1.0.0/set.yaml", SET);
    pack_tree(site, version, SPEC)
}

/// Returns the values in an object of a release.
fn data(site: &Site, object: &str) -> Value {
    let found = site.kubectl("prod", &["get", object, "--output=json"]);
    let found: Value = serde_json::from_str(&found.success()).unwrap();
    found["data"].clone()
}

fn expected_values(greeting: &str, size: &str, token: &str) -> Value {
    json!({
        "greeting": format!("to {greeting} in prod"), "size": size, "hosts": "a.test b.test",
        "url": format!("db://{token}@prod"),
    })
}

/// Returns a plan as text with differences and as JSON, and asserts that it shows values, but no secret.
fn plan(site: &Site, archive: &str, given: &[&str]) -> String {
    let shown = import(site, archive, &[given, &["--dry-run", "--diff"]].concat()).success();
    let dry = ["--dry-run", "--output", "json"];
    let whole = import(site, archive, &[given, &dry].concat()).success();
    for secret in [TOKEN, OTHER] {
        assert!(
            !shown.contains(secret) && !whole.contains(secret),
            "{shown}"
        );
    }
    shown
}

/// Returns the generated password from the chart's Secret.
fn password(site: &Site) -> String {
    let decode = "go-template={{.data.password | base64decode}}";
    let get = ["get", "secret", "web", "--output", decode];
    let password = site.kubectl("prod", &get).success();
    password.trim().to_owned()
}

/// Applies a plan file with another greeting. The file contains no kept value.
fn apply_plan_file(site: &Site, archive: &str, ca: &str) {
    let filed = ["--set", "greeting=them", "--plan-out", "plan.json"];
    import(site, archive, &filed).success();
    let file: Value = serde_json::from_slice(&site.desk.read("plan.json")).unwrap();
    let file = STANDARD.decode(file["payload"].as_str().unwrap()).unwrap();
    let file = String::from_utf8(file).unwrap();
    assert!(file.contains("them") && !file.contains(TOKEN), "{file}");
    let apply = ["apply", "--plan", "plan.json", "--ca-file", ca];
    solution(site, &apply).success();
}

#[test]
fn a_parameter_feeds_a_set_and_charts_and_a_sensitive_one_is_shown_nowhere() {
    let site = site("charts-parameters");
    let first = pack(&site, "1.0.0");
    let refused = import(&site, &first, &["--set", "class=none.test"]).failure(1);
    for words in [
        "parameter `token` has no value",
        "storage class `none.test`, the value of parameter `class`, does not exist in the cluster",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    site.desk.write("values.yaml", format!("token: {TOKEN}\n"));
    site.apply(CLASS).success();
    let given = ["--values", "values.yaml", "--set", "size=2"];
    let shown = plan(&site, &first, &given);
    assert!(shown.contains("(secret)"), "{shown}");
    let bad = [&given[..], &["--set", "greeting=bad", "--dry-run"]].concat();
    let refused = import(&site, &first, &bad).failure(1);
    assert!(refused.contains("no ***"), "{refused}");

    import(&site, &first, &given).success();
    assert_eq!(
        data(&site, "configmap/web"),
        expected_values("all", "float64 2", TOKEN)
    );
    let set = data(&site, "configmap/set");
    assert_eq!(set["greeting"], "all");
    let password = password(&site);
    assert_eq!(set["password"], password);
    assert_eq!(password.len(), 20);

    // No change is repeated, and each change reaches both.
    import(&site, &first, &[]).success();
    assert_eq!(history(&site).len(), 1);
    import(&site, &first, &["--set", "greeting=you"]).success();
    assert_eq!(
        data(&site, "configmap/web"),
        expected_values("you", "float64 2", TOKEN)
    );
    assert_eq!(data(&site, "configmap/set")["greeting"], "you");
    site.desk.write("values.yaml", format!("token: {OTHER}\n"));
    let shown = plan(&site, &first, &["--values", "values.yaml"]);
    assert!(shown.contains("(another secret)"), "{shown}");
    import(&site, &first, &["--values", "values.yaml"]).success();
    assert_eq!(history(&site).len(), 3);
    // A rollback restores the values of the previous version.
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let back = ["rollback", "shop", "-e", "prod", "--ca-file", &ca];
    solution(&site, &back).success();
    assert_eq!(
        data(&site, "configmap/web"),
        expected_values("you", "float64 2", TOKEN)
    );
    apply_plan_file(&site, &first, &ca);

    // An upgrade keeps chosen and generated values. Its parameter adds and removes a release.
    let next = pack(&site, "1.1.0");
    import(&site, &next, &["--set", "more=true"]).success();
    let chosen = expected_values("them", "float64 2", TOKEN);
    assert_eq!(data(&site, "configmap/web"), chosen);
    assert_eq!(data(&site, "configmap/more"), chosen);
    assert_eq!(data(&site, "configmap/set")["password"], set["password"]);
    import(&site, &next, &["--unset", "more"]).success();
    site.kubectl("prod", &["get", "configmap/more"]).failure(1);
    solution(&site, &["undeploy", "--yes", "shop", "-e", "prod"]).success();
    let left = site.kubectl("prod", &["get", "secrets", "--output=name"]);
    assert!(!left.success().contains("shop-parameters"));
}
