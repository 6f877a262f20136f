//! What is rendered: object by object what an import sends, in a cluster and in one that is only imagined.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::charts::{import, site, solution};
use crate::charts_parameters::{CLASS, TOKEN, pack};
use crate::common::Answer;
use crate::site::Site;

/// A chart's object that tells which API versions the chart was told of.
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

/// The manifests of a rendering with the values of Secrets.
fn manifests(site: &Site, archive: &str, more: &[&str]) -> Vec<Value> {
    let shown = [more, &["--show-secrets"]].concat();
    let mut answer = render(site, archive, &shown).json();
    let manifests = answer["manifests"].take();
    manifests.as_array().unwrap().clone()
}

/// The object as messages call it.
fn called(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let [kind, name] = ["/kind", "/metadata/name"].map(|it| text(it).unwrap());
    match text("/metadata/namespace") {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

/// Whether all that was sent stands in what is there.
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

/// The objects that a plan shows, and those of its releases.
fn planned(site: &Site, archive: &str) -> BTreeSet<String> {
    let plan = import(
        site,
        archive,
        &[&GIVEN[..], &["--dry-run", "--output=json"]].concat(),
    )
    .json();
    let target = &plan["target"];
    let of_releases = target["releases"].as_array().unwrap().iter();
    let of_releases = of_releases.flat_map(|it| it["objects"].as_array().unwrap());
    let all = target["objects"]
        .as_array()
        .unwrap()
        .iter()
        .chain(of_releases);
    all.map(|it| it["object"].as_str().unwrap().to_owned())
        .collect()
}

/// The API versions that the chart was told of.
fn told(manifests: &[Value]) -> BTreeSet<String> {
    let found = manifests
        .iter()
        .find(|it| it["object"]["metadata"]["name"] == "told");
    let versions = found.unwrap()["object"]["data"]["versions"]
        .as_str()
        .unwrap();
    serde_json::from_str(versions).unwrap()
}

/// Whether Kubernetes serves it by itself, and not because somebody asked for a beta or defined it.
fn is_kubernetes_own(version: &str) -> bool {
    // Kinds of subresources are no kinds of objects.
    let parts = [
        "Options",
        "/Scale",
        "/Eviction",
        "/TokenRequest",
        "alpha",
        "beta",
    ];
    let is_stable = !parts.iter().any(|it| version.contains(it));
    let group = version.split('/').next().unwrap();
    let group = if group == "v1" { "" } else { group };
    is_stable && (!group.contains('.') || group.ends_with(".k8s.io")) && !group.contains("metrics")
}

/// Has the site keep a file with its registry, its login and a patch.
fn choose(site: &Site) {
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
    choose(&site);

    let masked = render(&site, &archive, &GIVEN);
    assert!(!masked.stdout.contains(TOKEN), "{masked:?}");
    let rendered = manifests(&site, &archive, &GIVEN);
    let names: BTreeSet<String> = rendered.iter().map(|it| called(&it["object"])).collect();
    assert_eq!(names.len(), rendered.len(), "{names:?}");
    assert_eq!(names, planned(&site, &archive));
    let random = rendered.iter().filter(|it| it["random"] == true);
    let random: BTreeSet<String> = random.map(|it| called(&it["object"])).collect();
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
        let settled = all.iter().filter(|it| it["random"] == false);
        // The namespace is there already, and each cluster has API versions of its own.
        let settled = settled.filter(|it| it["source"]["kind"] != "environment");
        let settled = settled.filter(|it| it["object"]["metadata"]["name"] != "told");
        settled.cloned().collect()
    };
    assert_eq!(settled(&imagined), settled(&rendered));
    assert!(settled(&rendered).len() >= 2, "{names:?}");
    let [in_cluster, alone] = [&rendered, &imagined].map(|it| told(it));
    let own = in_cluster.into_iter().filter(|it| is_kubernetes_own(it));
    assert_eq!(alone, own.collect());

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
    // What was generated is kept, so nothing is made by chance any more.
    let again = manifests(&site, &archive, &[]);
    assert!(again.iter().all(|it| it["random"] == false), "{again:?}");
    let password = site.field("prod", "configmap/set", "{.data.password}");
    let of_set = again
        .iter()
        .find(|it| called(&it["object"]) == "ConfigMap prod/set");
    assert_eq!(of_set.unwrap()["object"]["data"]["password"], password);
}
