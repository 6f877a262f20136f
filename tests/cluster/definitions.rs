//! CRDs that remove fields or versions: they are refused if an existing object would lose data, and shown otherwise.

use serde_json::json;

use crate::common::Answer;
use crate::site::{Site, variable};

pub(crate) const CRD: &str = "versionservers.example.metalk8s.test";

/// Packs 1.1.0 with other text in its CRD, and imports it.
pub(crate) fn import_with(site: &Site, version: &str, words: &[(&str, &str)]) {
    let source = "1.1.0/solution.yaml";
    let definition = "1.1.0/operator/deploy/crds/versionservers_crd.yaml";
    let [manifest, crd] =
        [source, definition].map(|file| String::from_utf8(site.desk.read(file)).unwrap());
    let changed = words.iter().fold(crd.clone(), |text, (old, new)| {
        assert!(text.contains(old), "`{old}` is not in: {text}");
        text.replacen(old, new, 1)
    });
    let [old, new] = ["1.1.0", version].map(|version| format!("  version: {version}\n"));
    site.desk.write(source, manifest.replacen(&old, &new, 1));
    site.desk.write(definition, changed);
    let archive = format!("{version}.iso");
    let pack = ["pack", "1.1.0", "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    site.desk.write(source, manifest);
    site.desk.write(definition, crd);
    site.import(&archive, &[]).success();
}

pub(crate) fn activate(site: &Site, version: &str, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let activate = ["activate", "example", version, "--ca-file", &ca];
    site.solution(&[&activate, more].concat())
}

/// Creates an object with this number of servers, in a namespace without an operator.
fn make(site: &Site, name: &str, replicas: u32) {
    let spec = json!({"replicas": replicas, "version": "1.1.0", "greeting": "hi"});
    let object = json!({
        "apiVersion": "example.metalk8s.test/v1alpha1",
        "kind": "VersionServer",
        "metadata": {"name": name},
        "spec": spec,
    });
    site.desk.write("server.json", object.to_string());
    let create = ["create", "--filename", "server.json"];
    site.kubectl("default", &create).success();
}

#[test]
fn what_a_definition_cannot_become_is_said_and_nothing_is_written() {
    let site = Site::new("narrowed");
    site.import("1.1.0.iso", &[]).success();
    let words = [
        ("maximum: 10", "maximum: 3"),
        (
            "maxLength: 256",
            "maxLength: 256\n                  pattern: '^[a-z]+$'",
        ),
    ];
    import_with(&site, "1.2.0", &words);
    activate(&site, "1.1.0", &[]).success();
    for (name, replicas) in [("a", 3), ("b", 4), ("c", 5)] {
        make(&site, name, replicas);
    }
    let before = site.snapshot();
    let text = activate(&site, "1.2.0", &[]).failure(1);
    let refused = format!(
        "CRD `{CRD}`: existing objects are not compatible with version 1.2.0: .spec.replicas of v1alpha1: maximum is now 3 (2 objects; the first is VersionServer default/b)\n"
    );
    assert!(text.contains(&refused), "{text}");
    assert!(
        text.contains("change these objects to match the CRD"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);

    let delete = ["delete", "versionserver", "b", "c", "--timeout=60s"];
    site.kubectl("default", &delete).success();
    let plan = activate(&site, "1.2.0", &["--dry-run", "--output=json"]).json();
    let narrowed = |path: &str, problem: &str, checked: bool| json!({"apiVersion": "v1alpha1", "path": path, "problem": problem, "checked": checked});
    assert_eq!(
        plan["crds"][0]["narrowed"],
        json!([
            narrowed(".spec.greeting", "pattern is new or another one", false),
            narrowed(".spec.replicas", "maximum is now 3", true),
        ]),
        "{plan:#}"
    );
    let text = activate(&site, "1.2.0", &[]).success();
    assert!(
        text.contains(
            "! .spec.replicas of v1alpha1: maximum is now 3 (no existing object is affected)\n"
        ),
        "{text}"
    );
    assert_scope_is_immutable(&site);
}

/// The API server never changes the scope, so it is not asked.
fn assert_scope_is_immutable(site: &Site) {
    import_with(site, "1.3.0", &[("scope: Namespaced", "scope: Cluster")]);
    let before = site.snapshot();
    let text = activate(site, "1.3.0", &[]).failure(1);
    let words = format!("CRD `{CRD}`: version 1.3.0 changes `scope`, which is immutable\n");
    assert!(text.contains(&words), "{text}");
    assert_eq!(site.snapshot(), before);
}
