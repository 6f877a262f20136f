//! Charts that would do more than their plan shows.

use crate::charts::{HELM, packed, site};
use crate::common::Answer;
use crate::site::Site;

/// Packs a chart of these templates.
fn pack(site: &Site, version: &str, templates: &[(&str, &str)]) -> String {
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    for (name, template) in templates {
        let path = format!("1.0.0/web/templates/{name}.yaml");
        site.desk.write(&path, *template);
    }
    let spec = "  charts: [{name: web, source: 'dir:web', timeout: 40s}]\n";
    packed(site, version, spec)
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login", "--no-pull-proof"];
    let mut command = site.import_command(archive, &[&into[..], more].concat());
    Answer::of(command.env("HELM", &*HELM))
}

/// The id of what is to be accepted.
fn id_in(refused: &str) -> &str {
    let id = refused.split("--accept ").nth(1).unwrap();
    id.split_whitespace().next().unwrap().trim_matches('`')
}

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}";
const HOOK: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}
data: {by: web}
";

#[test]
fn what_has_a_hooks_name_is_shown_and_only_the_releases_own_goes() {
    let site = site("charts-hooks");
    let held = "apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: prod}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: charts-hooks-held}}
";
    let theirs = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: prod}}";
    site.apply(held).success();
    site.apply(theirs).success();
    let hooks = held.replace(
        "metadata: {",
        "metadata: {annotations: {helm.sh/hook: pre-install}, ",
    );
    let evil = pack(&site, "1.0.0", &[("a", MAP), ("b", HOOK), ("c", &hooks)]);
    let refused = import(&site, &evil, &["--adopt", "objects"]).failure(1);
    for what in [
        "PersistentVolumeClaim prod/data",
        "Namespace charts-hooks-held",
    ] {
        let words = format!("{what} exists, and a hook of the release prod/web has its name");
        assert!(refused.contains(&words), "{words}: {refused}");
    }

    // Somebody's object goes only where it is taken over, and that is accepted.
    let first = pack(&site, "1.0.1", &[("c", "")]);
    let words = "ConfigMap prod/settings already exists, and is not of the release prod/web";
    let refused = import(&site, &first, &[]).failure(1);
    assert!(refused.contains(words), "{refused}");
    let adopt = ["--adopt", "objects"];
    let refused = import(&site, &first, &adopt).failure(1);
    let accept = [&adopt[..], &["--accept", id_in(&refused)]].concat();
    let shown = import(&site, &first, &[&accept[..], &["--dry-run"]].concat()).success();
    for words in [
        "replace ConfigMap prod/settings",
        "ConfigMap prod/settings is deleted, and made anew by a hook of the release prod/web",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    import(&site, &first, &accept).success();
    let by = || site.field("prod", "configmap/settings", "{.data.by}");
    assert_eq!(by(), "web");

    // The release's own is replaced with every upgrade, also where it was left behind.
    let second = pack(
        &site,
        "1.1.0",
        &[("b", &HOOK.replace("by: web", "by: second"))],
    );
    let shown = import(&site, &second, &["--dry-run"]).success();
    assert!(shown.contains("replace ConfigMap prod/settings"), "{shown}");
    import(&site, &second, &[]).success();
    assert_eq!(by(), "second");
    let undeploy = ["undeploy", "shop", "-e", "prod"];
    Answer::of(site.command().env("HELM", &*HELM).args(undeploy)).success();
    import(&site, &first, &[]).success();
    assert_eq!(by(), "web");
}

const READING: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: web-{{ .Release.Revision }}}
data:
  has: {{ .Capabilities.APIVersions.Has "hostile.example.test/v1/Cart" | quote }}
  theirs: {{ lookup "v1" "Secret" "charts-reading-theirs" "key" | toJson | quote }}
  own: {{ (lookup "v1" "ConfigMap" .Release.Namespace "own").data | toJson | quote }}
  chance: {{ randAlphaNum 16 | quote }}
"#;
const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.hostile.example.test}
spec:
  group: hostile.example.test
  scope: Namespaced
  names: {kind: Cart, plural: carts, singular: cart, listKind: CartList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

#[test]
fn what_templates_read_elsewhere_is_accepted_and_what_was_shown_is_sent() {
    let site = site("charts-reading");
    let theirs = "{apiVersion: v1, kind: Namespace, metadata: {name: charts-reading-theirs}}
---
{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: charts-reading-theirs}, stringData: {k: hidden}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: own, namespace: prod}, data: {a: b}}
";
    site.apply(theirs).success();
    site.desk.write("1.0.0/web/crds/carts.yaml", DEFINITION);
    let first = pack(&site, "1.0.0", &[("a", READING)]);
    let refused = import(&site, &first, &[]).failure(1);
    let line = "the templates of the release prod/web read secrets charts-reading-theirs/key";
    assert!(refused.contains("--accept"), "{refused}");
    let accept = ["--accept", id_in(&refused)];
    let shown = import(&site, &first, &[&accept[..], &["--dry-run"]].concat()).success();
    assert!(shown.contains(line), "{shown}");
    assert!(!shown.contains("configmaps prod/own"), "{shown}");

    // A first installation sees the cluster, and what comes before it.
    import(&site, &first, &accept).success();
    let data = |name: &str, key: &str| {
        let field = format!("{{.data.{key}}}");
        site.field("prod", &format!("configmap/{name}"), &field)
    };
    assert_eq!(data("web-1", "has"), "true");
    assert_eq!(data("web-1", "own"), r#"{"a":"b"}"#);
    assert!(data("web-1", "theirs").contains("aGlkZGVu"));

    // An upgrade is in the next revision, and what was accepted is not asked for again.
    let second = pack(&site, "1.1.0", &[("a", &READING.replace("has:", "had:"))]);
    import(&site, &second, &[]).success();
    assert_eq!(data("web-2", "had"), "true");
}
