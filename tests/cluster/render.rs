//! `solution render` gives the objects that an import sends, in a cluster and in an imaginary one.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::charts::{import, site, solution};
use crate::charts_parameters::{CLASS, TOKEN, pack};
use crate::common::Answer;
use crate::site::Site;

/// An object of a chart that records the API versions that the chart received.
const TOLD: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: told}
data: {versions: {{ .Capabilities.APIVersions | toJson | quote }}}
";

const GIVEN: [&str; 4] = ["--values", "values.yaml", "--set", "size=2"];

fn render(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let before = site.snapshot();
    let what = ["render", archive, "-e", "prod", "--output", "json"];
    let key = ["--key", "publisher.pub"];
    let answer = solution(site, &[&what[..], &key, more].concat());
    assert_eq!(site.snapshot(), before, "a rendering writes nothing");
    answer
}

/// Returns the manifests of a rendering, including the values of Secrets.
fn manifests(site: &Site, archive: &str, more: &[&str]) -> Vec<Value> {
    let shown = [more, &["--show-secrets"]].concat();
    let mut answer = render(site, archive, &shown).json();
    let manifests = answer["manifests"].take();
    manifests.as_array().unwrap().clone()
}

/// Returns the name of an object in messages.
fn object_name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let [kind, name] = ["/kind", "/metadata/name"].map(|pointer| text(pointer).unwrap());
    match text("/metadata/namespace") {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

/// Returns whether a live object contains all that was sent.
fn covers(live: &Value, sent: &Value) -> bool {
    match (live, sent) {
        (Value::Object(live), Value::Object(sent)) => sent.iter().all(|(key, sent)| {
            let empty = json!({});
            live.get(key)
                .map_or(*sent == empty, |live| covers(live, sent))
        }),
        (Value::Array(live), Value::Array(sent)) => {
            live.len() == sent.len() && live.iter().zip(sent).all(|(live, sent)| covers(live, sent))
        }
        _ => live == sent,
    }
}

/// Returns the objects of a plan, including those of its releases.
fn planned_objects(site: &Site, archive: &str) -> BTreeSet<String> {
    let plan = import(
        site,
        archive,
        &[&GIVEN[..], &["--dry-run", "--output=json"]].concat(),
    )
    .json();
    let target = &plan["target"];
    let of_releases = target["releases"].as_array().unwrap().iter();
    let of_releases = of_releases.flat_map(|release| release["objects"].as_array().unwrap());
    let all = target["objects"]
        .as_array()
        .unwrap()
        .iter()
        .chain(of_releases);
    all.map(|entry| entry["object"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the API versions that the chart received.
fn received_api_versions(manifests: &[Value]) -> BTreeSet<String> {
    let found = manifests
        .iter()
        .find(|manifest| manifest["object"]["metadata"]["name"] == "told");
    let versions = found.unwrap()["object"]["data"]["versions"]
        .as_str()
        .unwrap();
    serde_json::from_str(versions).unwrap()
}

/// Returns whether Kubernetes serves an API version by default, without enabled betas and CRDs.
fn is_kubernetes_own(version: &str) -> bool {
    // Kinds of subresources are not kinds of objects.
    let parts = [
        "Options",
        "/Scale",
        "/Eviction",
        "/TokenRequest",
        "alpha",
        "beta",
    ];
    let is_stable = !parts.iter().any(|part| version.contains(part));
    let group = version.split('/').next().unwrap();
    let group = if group == "v1" { "" } else { group };
    is_stable && (!group.contains('.') || group.ends_with(".k8s.io")) && !group.contains("metrics")
}

/// Stores a site configuration with its registry, its login and a patch.
fn set_site(site: &Site) {
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\n";
    let text = format!(
        "{head}spec:
  registry: {}
  pullRegistry: {}
  pullSecret: login
  patches:
    shop: [{{target: {{kind: ConfigMap, name: set}}, patch: '{{\"data\": {{\"patched\": \"yes\"}}}}'}}]
",
        site.registry(),
        site.pull_registry()
    );
    site.desk.write("site.yaml", text);
    solution(site, &["site", "set", "site.yaml"]).success();
}

#[test]
fn what_is_rendered_is_what_is_sent_and_an_imagined_cluster_gets_the_same() {
    let site = site("render");
    site.desk.write("1.0.0/app/templates/told.yaml", TOLD);
    let archive = pack(&site, "1.0.0");
    site.desk.write("values.yaml", format!("token: {TOKEN}\n"));
    site.apply(CLASS).success();
    set_site(&site);

    let masked = render(&site, &archive, &GIVEN);
    assert!(!masked.stdout.contains(TOKEN), "{masked:?}");
    let rendered = manifests(&site, &archive, &GIVEN);
    let names: BTreeSet<String> = rendered
        .iter()
        .map(|manifest| object_name(&manifest["object"]))
        .collect();
    assert_eq!(names.len(), rendered.len(), "{names:?}");
    assert_eq!(names, planned_objects(&site, &archive));
    let random: BTreeSet<String> = rendered
        .iter()
        .filter(|manifest| manifest["random"] == true)
        .map(|manifest| object_name(&manifest["object"]))
        .collect();
    let expected = [
        "ConfigMap prod/set",
        "Secret prod/shop-parameters-1",
        "Secret prod/web",
    ];
    assert_eq!(random, expected.map(str::to_owned).into());

    let imagined = [
        "--no-cluster",
        "--kube-version",
        "1.36.2",
        "--site-file",
        "site.yaml",
    ];
    let imagined = manifests(&site, &archive, &[&GIVEN[..], &imagined].concat());
    let settled = |all: &[Value]| -> Vec<Value> {
        let settled = all.iter().filter(|manifest| manifest["random"] == false);
        // The namespace exists already, and each cluster serves other API versions.
        let settled = settled.filter(|manifest| manifest["source"]["kind"] != "environment");
        let settled = settled.filter(|manifest| manifest["object"]["metadata"]["name"] != "told");
        settled.cloned().collect()
    };
    assert_eq!(settled(&imagined), settled(&rendered));
    assert!(settled(&rendered).len() >= 2, "{names:?}");
    let [in_cluster, alone] =
        [&rendered, &imagined].map(|manifests| received_api_versions(manifests));
    let mut own = in_cluster;
    own.retain(|version| is_kubernetes_own(version));
    assert_eq!(alone, own);

    import(&site, &archive, &GIVEN).success();
    for manifest in settled(&rendered) {
        let object = &manifest["object"];
        let kind = object["kind"].as_str().unwrap();
        let name = object["metadata"]["name"].as_str().unwrap();
        let live = site
            .kubectl("prod", &["get", kind, name, "--output=json"])
            .json();
        assert!(covers(&live, object), "{object:#}\nis not in\n{live:#}");
    }
    let set = site.field("prod", "configmap/set", "{.data.patched} {.data.greeting}");
    assert_eq!(set, "yes all");
    // Generated values are kept, so no value is random any more.
    let again = manifests(&site, &archive, &[]);
    assert!(
        again.iter().all(|manifest| manifest["random"] == false),
        "{again:?}"
    );
    let password = site.field("prod", "configmap/set", "{.data.password}");
    let of_set = again
        .iter()
        .find(|manifest| object_name(&manifest["object"]) == "ConfigMap prod/set");
    assert_eq!(of_set.unwrap()["object"]["data"]["password"], password);
}
