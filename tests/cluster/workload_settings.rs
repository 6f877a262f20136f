//! A site's settings for workloads apply to operators, manifest sets and charts, and its patches to their objects.

use std::fs;

use serde_json::{Value, json};

use crate::charts::{HELM, VALUES, pack, site, solution};
use crate::common::Answer;
use crate::releases::release;
use crate::site::Site;

/// The example's operator, with a manifest set and a chart.
const PARTS: &str =
    "  charts: [{name: web, source: 'dir:web', values: [values.yaml], timeout: 60s}]
  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]
";

/// Packs a version of it with this greeting in the chart's values.
fn pack_parts(site: &Site, source: &str, version: &str, greeting: &str) -> String {
    let values = VALUES.replace(":server)", ":example-server)");
    let values = values.replace("hello", greeting);
    site.desk.write("1.0.0/values.yaml", values);
    site.desk
        .write("1.0.0/release.yaml", release("hello", "one"));
    let source = source.replace("  version: 1.0.0", &format!("  version: {version}"));
    site.desk
        .write("1.0.0/solution.yaml", format!("{source}{PARTS}"));
    let archive = format!("example-{version}.iso");
    let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
    solution(site, &arguments).success();
    archive
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(archive, &[&into[..], more].concat());
    Answer::from_command(command.env("HELM", &*HELM))
}

/// Stores a site configuration with this specification.
fn set_site(site: &Site, spec: &Value) {
    let document = json!({
        "apiVersion": "solutions.metalk8s.scality.com/v1alpha1", "kind": "Site", "spec": spec,
    });
    site.desk.write("site.yaml", document.to_string());
    solution(site, &["site", "set", "site.yaml"]).success();
}

fn object(site: &Site, object: &str) -> Value {
    site.kubectl("prod", &["get", object, "--output=json"])
        .json()
}

/// Asserts that one entry applies to the operator, the manifest set and the chart, another one to a container of the
/// chart, and a patch to its Deployment.
fn check(site: &Site, greeting: &str) {
    for workload in ["example-operator", "shop", "web"] {
        let deployment = object(site, &format!("deployment/{workload}"));
        let template = &deployment["spec"]["template"];
        assert_eq!(template["metadata"]["labels"]["team"], "shop", "{workload}");
        let tolerations = template["spec"]["tolerations"].as_array().unwrap();
        let is_chosen = tolerations
            .iter()
            .any(|toleration| toleration["key"] == "infra");
        assert!(is_chosen, "{workload}: {tolerations:?}");
        let selector = &deployment["spec"]["selector"]["matchLabels"];
        assert_eq!(selector.get("team"), None, "{workload}");
    }
    let web = object(site, "deployment/web");
    let template = &web["spec"]["template"];
    assert_eq!(template["metadata"]["annotations"]["greeting"], greeting);
    let container = &template["spec"]["containers"][0];
    assert_eq!(container["resources"]["limits"]["memory"], "128Mi");
    let env = container["env"].as_array().unwrap();
    assert!(
        env.contains(&json!({ "name": "FROM", "value": "site" })),
        "{env:?}"
    );
    let beside = object(site, "deployment/web-side");
    let container = &beside["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["resources"], json!({}));
}

#[test]
fn what_a_site_chooses_reaches_operator_set_and_chart_and_stays_with_an_upgrade() {
    let site = site("reach");
    let source = fs::read_to_string(site.desk.path("1.0.0/solution.yaml")).unwrap();
    pack(&site, "1.0.0", VALUES);
    site.desk.write("1.0.0/web/templates/hook.yaml", "");
    let first = pack_parts(&site, &source, "1.0.1", "hello");
    import(&site, &first, &[]).success();
    let job = object(&site, "job/shop-setup");

    set_site(
        &site,
        &json!({
            "workloads": [
                { "set": { "labels": { "team": "shop" }, "tolerations": [{ "key": "infra", "operator": "Exists" }] } },
                { "solutions": "example", "part": "web", "workload": "web", "container": "web",
                  "set": { "resources": { "limits": { "memory": "128Mi" } } } },
                { "solutions": "example", "part": "web", "workload": "wbe", "set": { "replicas": 2 } },
                { "solutions": "example", "part": "wep", "set": { "labels": { "a": "b" } } },
            ],
            "patches": { "example": [{
                "target": { "kind": "Deployment", "name": "web" },
                "patch": "spec: {template: {spec: {containers: [{name: web, env: [{name: FROM, value: site}]}]}}}",
            }] },
        }),
    );
    let checked = solution(&site, &["site", "check"]);
    let words = "no imported version has the set of manifests or chart `wep`";
    assert!(checked.stderr.contains(words), "{checked:?}");
    let plan = import(&site, &first, &["--dry-run", "--output", "json"]).json();
    let text = plan.to_string();
    for words in [
        "this version has no workload `wbe`",
        "this version has no set of manifests or chart `wep`",
    ] {
        assert!(text.contains(words), "{words}: {plan}");
    }
    let of = |field: &str| {
        let values = plan["target"]["site"].as_array().unwrap().iter();
        let named = values.filter(|value| value["field"] == field);
        named.map(|value| value["from"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("labels.team"), ["the site's file, entry for *"]);
    let named = "the site's file, entry for example web, workload web, container web";
    assert_eq!(of("resources"), [named]);
    let patched = json!([{ "object": "Deployment prod/web", "from": "patch 1 for example of the site's file" }]);
    assert_eq!(plan["target"]["patches"], patched);

    import(&site, &first, &[]).success();
    check(&site, "hello");
    let checked = solution(&site, &["site", "check"]);
    let words = "no deployed version has workload `wbe`";
    assert!(checked.stderr.contains(words), "{checked:?}");
    // The completed Job is kept as it is, and existing objects need no change.
    let left = object(&site, "job/shop-setup");
    assert_eq!(left["metadata"]["uid"], job["metadata"]["uid"]);
    let again = import(&site, &first, &["--dry-run", "--output", "json"]).json();
    assert_eq!(again["target"]["releases"][0]["action"], "keep", "{again}");

    let next = pack_parts(&site, &source, "1.0.2", "good day");
    import(&site, &next, &[]).success();
    check(&site, "good day");
    let left = object(&site, "job/shop-setup");
    assert_eq!(left["metadata"]["uid"], job["metadata"]["uid"]);
}
