//! `fleet export` for a `GitOps` tool. The artifacts in the registry equal the objects that `apply` would write. No
//! cluster is changed, and no secret leaves the machine. Objects that the tool has applied do not block the next
//! export.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Value, json};

use crate::charts::{site, solution};
use crate::common::Answer;
use crate::fleet_apply::ROLE;
use crate::releases::pack;
use crate::site::{Site, variable};

/// The value of a sensitive parameter.
const TOKEN: &str = "t0ken-of-the-fleet";

const SETS: &str = "  parameters:
    greeting: {type: string, default: none}
    token: {type: string, sensitive: true}
  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]
";

/// The content of a version: a ConfigMap, a workload without pods, and a ClusterRole.
const RELEASE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: shop-system}
data: {text: '$(param:greeting)'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system}
spec:
  replicas: 0
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: 'registry.example.test/example/server:1.0.0'}]}
";

/// The metadata that is not part of a rendering.
const MARKS: [&str; 2] = [
    "kustomize.toolkit.fluxcd.io/prune",
    "solutions.metalk8s.scality.com/created",
];

/// Stores the registry in the site configuration, and writes a fleet of this cluster alone.
fn write(site: &Site, version: &str) {
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\n";
    let (registry, pulls) = (site.registry(), site.pull_registry());
    let kept =
        format!("{head}kind: Site\nspec: {{registry: '{registry}', pullRegistry: '{pulls}'}}\n");
    site.desk.write("site.yaml", kept);
    solution(site, &["site", "set", "site.yaml"]).success();
    site.desk.write("token.yaml", format!("token: {TOKEN}\n"));
    let kubeconfig = site.kubeconfig();
    let text = format!(
        "{head}kind: SolutionFleet
metadata: {{name: shops}}
spec:
  clusters: [{{name: lab, kubeconfig: '{kubeconfig}'}}]
  solutions: [{{name: shop, version: {version}, archive: shop-{version}.iso, environment: gitops, secrets: token.yaml}}]
  site: {{parameters: {{shop: {{greeting: 'hello ${{cluster.name}}'}}}}}}
  waves: [{{name: all, clusters: [lab]}}]
"
    );
    site.desk.write("fleet.yaml", text);
}

fn export(site: &Site, tool: &str, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let export = ["fleet", "export", "fleet.yaml", "--to", tool];
    let with = ["--key", "publisher.pub", "--ca-file", &ca];
    let answer = solution(site, &[&export[..], &with, more].concat());
    let told = [&answer.stdout, &answer.stderr];
    assert!(!told.iter().any(|text| text.contains(TOKEN)), "{answer:?}");
    answer
}

/// Returns the only deployment of an export.
fn only_deployment(export: &Value) -> &Value {
    &export["clusters"][0]["deployments"][0]
}

/// Fetches an artifact by one of its fields, as an image is fetched.
fn fetch(site: &Site, artifact: &Value, field: &str, into: &str) -> Answer {
    let text = |field: &str| artifact[field].as_str().unwrap();
    // This is the same registry, by this machine's name.
    let repository = text("repository").replace(&site.pull_registry(), &site.registry());
    let certificates = variable("SOLUTION_TEST_REGISTRY_CA");
    let certificates = Path::new(&certificates).parent().unwrap().to_str().unwrap();
    let before = if field == "tag" { ":" } else { "@" };
    let from = format!("docker://{repository}{before}{}", text(field));
    let layout = format!("dir:{into}");
    let copy = [
        "copy",
        "--quiet",
        "--src-cert-dir",
        certificates,
        &from,
        &layout,
    ];
    site.desk.run("skopeo", &copy)
}

/// Unpacks the only layer of a fetched artifact.
fn unpack(site: &Site, into: &str) -> BTreeMap<String, Value> {
    let manifest = site.desk.read(&format!("{into}/manifest.json"));
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let [layer] = &manifest["layers"].as_array().unwrap()[..] else {
        panic!("{manifest:#}");
    };
    assert_eq!(
        layer["mediaType"],
        "application/vnd.oci.image.layer.v1.tar+gzip"
    );
    let digest = layer["digest"].as_str().unwrap().strip_prefix("sha256:");
    let layer = format!("{into}/{}", digest.unwrap());
    site.desk.write(&format!("{into}/files/none"), "");
    let files = format!("{into}/files");
    let unpack = [
        "--extract",
        "--gzip",
        "--file",
        &layer,
        "--directory",
        &files,
    ];
    site.desk.run("tar", &unpack).success();
    let all = ["create", "--dry-run=client", "--output=json", "-f", &files];
    let read = site.kubectl("gitops", &all).success();
    let objects = serde_json::Deserializer::from_str(&read).into_iter::<Value>();
    let objects = objects.map(Result::unwrap);
    objects
        .map(|object| (object_name(&object), without_marks(object)))
        .collect()
}

fn object_name(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let parts = ["/kind", "/metadata/namespace", "/metadata/name"].map(text);
    parts.map(|part| part.unwrap_or("-")).join(" ")
}

fn without_marks(mut object: Value) -> Value {
    let metadata = object["metadata"].as_object_mut().unwrap();
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.retain(|name, _| !MARKS.contains(&name.as_str()));
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    object
}

/// Returns the objects of `solution render` with the fleet's values, except Secrets.
fn rendered(site: &Site, archive: &str) -> BTreeMap<String, Value> {
    let render = ["render", archive, "-e", "gitops", "--output", "json"];
    let chosen = ["--set", "greeting=hello lab", "--values", "token.yaml"];
    let key = ["--key", "publisher.pub"];
    let mut shown = solution(site, &[&render[..], &chosen, &key].concat()).json();
    let objects = shown["manifests"].as_array_mut().unwrap().iter_mut();
    let objects = objects.map(|manifest| manifest["object"].take());
    let objects = objects.filter(|object| object["kind"] != "Secret");
    objects
        .map(|object| (object_name(&object), without_marks(object)))
        .collect()
}

#[test]
fn what_is_exported_is_what_would_be_applied_and_stays_the_same_once_it_is() {
    let site = site("fleet-export");
    let archive = pack(&site, "1.0.0", SETS, &(RELEASE.to_owned() + ROLE));
    write(&site, "1.0.0");
    let before = site.snapshot();

    // A dry run pushes nothing, and shows the same.
    let dry = export(&site, "flux", &["--dry-run", "--output", "json"]).json();
    let artifact = &only_deployment(&dry)["artifact"];
    assert_ne!(fetch(&site, artifact, "tag", "none").code, 0, "{dry:#}");
    let exported = export(&site, "flux", &["--output", "json"]).json();
    assert_eq!(exported, dry);
    for (field, into) in [("tag", "by-tag"), ("digest", "first")] {
        fetch(&site, artifact, field, into).success();
    }
    let [by_tag, by_digest] =
        ["by-tag", "first"].map(|folder| site.desk.read(&format!("{folder}/manifest.json")));
    assert_eq!(by_tag, by_digest);
    assert_eq!(site.snapshot(), before, "no cluster is changed");

    let objects = unpack(&site, "first");
    assert_eq!(objects, rendered(&site, &archive));
    let deployment = &objects["Deployment gitops shop"];
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    let image = image.as_str().unwrap();
    assert!(image.starts_with(&site.pull_registry()), "{image}");
    let secrets = &only_deployment(&exported)["secrets"];
    let named: BTreeSet<&str> = secrets
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert!(named.contains("gitops/shop-parameters-1"), "{secrets:#}");
    let push = [
        "push",
        &archive,
        "--key",
        "publisher.pub",
        "--registry",
        &site.registry(),
    ];
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let with = ["--ca-file", &ca, "--dry-run", "--output", "json"];
    let push = solution(&site, &[&push[..], &with].concat()).json();
    assert_eq!(push["bytesToPush"], 0, "{push:#}");

    // Objects that a tool has applied block nothing, and are exported without changes.
    let apply = ["apply", "--server-side", "--filename", "first/files"];
    site.kubectl("gitops", &apply).success();
    let again = export(&site, "flux", &["--output", "json"]).json();
    assert_eq!(again, exported);

    assert_text_output(&site);
    let bundle = export(&site, "fleet", &["--output", "json"]).json();
    let resources = &only_deployment(&bundle)["objects"][0]["spec"]["resources"];
    assert_eq!(resources.as_array().unwrap().len(), objects.len());
    assert_eq!(only_deployment(&bundle)["artifact"], json!(null));
    a_secret_in_anything_else_is_in_the_way(&site);
}

/// Writes files, and lists the lost parts next to them.
fn assert_text_output(site: &Site) {
    let shown = export(site, "argocd", &["--output-dir", "out"]);
    let losses = &shown.stderr;
    for words in [
        "note: lab, shop 1.0.0 in gitops: effects outside the environment: ClusterRole shop-nodes\n",
        "create in the cluster: Secret gitops/shop-parameters-1 (Opaque) with the keys ",
        "lost: consent: ",
        "lost: order: ",
    ] {
        assert!(losses.contains(words), "{words}: {losses}");
    }
    let application = String::from_utf8(site.desk.read("out/lab.yaml")).unwrap();
    for words in [
        "'Application'",
        &format!("oci://{}/fleets/", site.pull_registry()),
    ] {
        assert!(application.contains(words), "{words}: {application}");
    }
}

fn a_secret_in_anything_else_is_in_the_way(site: &Site) {
    let plain = "text: '$(param:greeting)'";
    let leaking = RELEASE.replace(plain, &format!("{plain}, url: 'db://$(param:token)'"));
    pack(site, "1.1.0", SETS, &leaking);
    write(site, "1.1.0");
    let refused = export(site, "flux", &[]).failure(1);
    let words =
        "error: lab, shop 1.1.0 in gitops: ConfigMap gitops/shop contains a sensitive value";
    assert!(refused.contains(words), "{refused}");
}
