//! Charts with more effects than their plan could show.

use std::io::{Read as _, Write as _};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::charts::{self, HELM, pack_tree, site, solution, takeover_id};
use crate::common::Answer;
use crate::site::{Site, consent_id, variable};

/// Packs a chart with these templates.
fn pack(site: &Site, version: &str, templates: &[(&str, &str)]) -> String {
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    for (name, template) in templates {
        let path = format!("1.0.0/web/templates/{name}.yaml");
        site.desk.write(&path, *template);
    }
    let spec = "  charts: [{name: web, source: 'dir:web', timeout: 40s}]\n";
    pack_tree(site, version, spec)
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    charts::import(site, archive, &[&["--no-pull-proof"], more].concat())
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
        let words = format!("{what} exists and has the name of a hook of the release prod/web");
        assert!(refused.contains(&words), "{words}: {refused}");
    }

    // Another user's object is removed only if its takeover is shown and accepted.
    let first = pack(&site, "1.0.1", &[("c", "")]);
    let words =
        "ConfigMap prod/settings already exists and does not belong to the release prod/web";
    let refused = import(&site, &first, &[]).failure(1);
    assert!(refused.contains(words), "{refused}");
    let adopt = ["--adopt", "objects"];
    let refused = import(&site, &first, &adopt).failure(1);
    let accept = [&adopt[..], &["--accept", consent_id(&refused)]].concat();
    let shown = import(&site, &first, &[&accept[..], &["--dry-run"]].concat()).success();
    for words in [
        "-/+ ConfigMap prod/settings",
        "ConfigMap prod/settings is deleted, and made anew by a hook of the release prod/web",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    import(&site, &first, &accept).success();
    let by = || site.field("prod", "configmap/settings", "{.data.by}");
    assert_eq!(by(), "web");

    // The release's own object is replaced with every upgrade, even if it was left behind.
    let second = pack(
        &site,
        "1.1.0",
        &[("b", &HOOK.replace("by: web", "by: second"))],
    );
    let shown = import(&site, &second, &["--dry-run"]).success();
    assert!(shown.contains("-/+ ConfigMap prod/settings"), "{shown}");
    import(&site, &second, &[]).success();
    assert_eq!(by(), "second");
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    Answer::from_command(site.command().env("HELM", &*HELM).args(undeploy)).success();
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
    let accept = ["--accept", consent_id(&refused)];
    assert!(accept[1].starts_with("read-"), "{refused}");
    let shown = import(&site, &first, &[&accept[..], &["--dry-run"]].concat()).success();
    assert!(shown.contains(line), "{shown}");
    assert!(!shown.contains("configmaps prod/own"), "{shown}");

    // A first installation renders with the state of the cluster.
    import(&site, &first, &accept).success();
    let data = |name: &str, key: &str| {
        let field = format!("{{.data.{key}}}");
        site.field("prod", &format!("configmap/{name}"), &field)
    };
    assert_eq!(data("web-1", "has"), "true");
    assert_eq!(data("web-1", "own"), r#"{"a":"b"}"#);
    assert!(data("web-1", "theirs").contains("aGlkZGVu"));

    // An upgrade has another revision, and needs no new consent.
    let second = pack(&site, "1.1.0", &[("a", &READING.replace("has:", "had:"))]);
    import(&site, &second, &[]).success();
    assert_eq!(data("web-2", "had"), "true");
}

/// A template that reads a Secret of another namespace and copies it, as it is and transformed, to every place where a
/// chart can write text.
const COPYING: &str = r#"{{- $theirs := (lookup "v1" "Secret" "charts-copying-theirs" "key").data | default dict }}
{{- $key := get $theirs "k" | b64dec }}
{{- $again := (lookup "v1" "ConfigMap" "charts-copying-theirs" (printf "x%s" $key | lower)).data }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: web{{ $key | lower }}
  labels: {key: "k{{ $key }}"}
data:
  plain: {{ $key | quote }}
  upper: {{ $key | upper | quote }}
  lower: {{ $key | lower | quote }}
  base64: {{ $key | b64enc | b64enc | quote }}
  letters: {{ splitList "" $key | join "-" | quote }}
  hash: {{ $key | sha256sum | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: charts-copying}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "user-{{ $key }}"}]
"#;
const FAILING: &str = r#"
{{- $theirs := (lookup "v1" "Secret" "charts-copying-theirs" "key").data | default dict }}
{{- range $theirs }}{{ fail (printf "%s %s %s" . (b64dec .) (b64dec . | upper)) }}{{ end }}
"#;

/// Returns a value and its transformations by templates.
fn transformations(key: &str) -> [String; 7] {
    let letters: Vec<String> = key.chars().map(String::from).collect();
    let hash = Sha256::digest(key).into_iter();
    let hash = hash.map(|byte| format!("{byte:02x}"));
    [
        key.to_owned(),
        key.to_uppercase(),
        key.to_lowercase(),
        BASE64_STANDARD.encode(key),
        BASE64_STANDARD.encode(BASE64_STANDARD.encode(key)),
        letters.join("-"),
        hash.collect(),
    ]
}

#[test]
fn what_templates_would_read_elsewhere_is_in_no_output_before_it_is_accepted() {
    let site = site("charts-copying");
    let key = "Correct-Horse-Staple";
    let theirs = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: charts-copying-theirs}}}}
---
{{apiVersion: v1, kind: Secret, metadata: {{name: key, namespace: charts-copying-theirs}}, stringData: {{k: {key}}}}}
");
    site.apply(&theirs).success();
    let forms = transformations(key);
    let plan = "plan.json";
    let (kubeconfig, registry, pulls) = (site.kubeconfig(), site.registry(), site.pull_registry());
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    for (version, template) in [("1.0.0", COPYING), ("1.1.0", FAILING)] {
        let archive = pack(&site, version, &[("a", template)]);
        let fleet = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {{name: copying}}
spec:
  clusters: [{{name: lab, kubeconfig: '{kubeconfig}', registry: '{registry}', pullRegistry: '{pulls}'}}]
  solutions: [{{name: shop, version: {version}, archive: {archive}, environment: prod}}]
  waves: [{{name: all, clusters: [lab]}}]
"
        );
        site.desk.write("fleet.yaml", fleet);
        let render = |more: &[&str]| {
            let of = ["render", &archive, "-e", "prod", "--key", "publisher.pub"];
            solution(&site, &[&of[..], &["--registry", &registry], more].concat())
        };
        let export = |tool: &str| {
            let of = ["fleet", "export", "fleet.yaml", "--to", tool];
            let reach = ["--ca-file", &ca, "--key", "publisher.pub"];
            solution(&site, &[&of[..], &reach].concat())
        };
        let json = ["--dry-run", "--diff", "--output=json"];
        let answers = [
            import(&site, &archive, &[]),
            import(&site, &archive, &["--dry-run", "--diff"]),
            import(&site, &archive, &json),
            import(&site, &archive, &["--plan-out", plan]),
            render(&[]),
            render(&["--show-secrets"]),
            render(&["--output", "json"]),
            export("flux"),
            export("fleet"),
        ];
        for answer in answers {
            let output = format!("{}{}", answer.stdout, answer.stderr);
            assert_eq!(answer.code, 1, "{output}");
            let read = "secrets charts-copying-theirs/key";
            assert!(output.contains(read), "{output}");
            for form in &forms {
                assert!(!output.contains(form), "{form}: {output}");
            }
        }
        assert!(!site.desk.path("plan.json").exists());
    }

    // After that, the text of a failure is shown without the original value.
    let refused = import(&site, "shop-1.1.0.iso", &["--dry-run"]).failure(1);
    let accept = ["--accept", consent_id(&refused)];
    let refused = import(&site, "shop-1.1.0.iso", &accept).failure(1);
    assert!(
        refused.contains("execution error") && !refused.contains(key),
        "{refused}"
    );
}

/// Decodes Helm's stored release from an API server's answer.
fn decode_release(data: &str) -> Value {
    let decode = |text: &[u8]| BASE64_STANDARD.decode(text).unwrap();
    let gzip = decode(&decode(data.trim().as_bytes()));
    let mut json = Vec::new();
    GzDecoder::new(&gzip[..]).read_to_end(&mut json).unwrap();
    serde_json::from_slice(&json).unwrap()
}

/// Encodes a release as a user with write access to Secrets could.
fn encode_release(release: &Value) -> String {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(release.to_string().as_bytes()).unwrap();
    BASE64_STANDARD.encode(BASE64_STANDARD.encode(gzip.finish().unwrap()))
}

const PLANTED: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: charts-planted, annotations: {helm.sh/hook: 'pre-delete,pre-rollback'}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: tenant}]
";

#[test]
fn a_revision_that_a_tenant_planted_does_nothing() {
    let site = site("charts-planted");
    let theirs =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: charts-planted, namespace: default}}";
    site.apply(theirs).success();
    let first = pack(&site, "1.0.0", &[("a", MAP)]);
    import(&site, &first, &[]).success();

    // A forged revision with a hook and another user's object: once as a further revision, and once in place of the
    // existing one.
    let secret = |number: u32| format!("sh.helm.release.v1.web.v{number}");
    let get = ["get", "secret", &secret(1), "--output=json"];
    let stored = site.kubectl("prod", &get).json();
    let mut release = decode_release(stored["data"]["release"].as_str().unwrap());
    release["version"] = json!(2);
    release["hooks"] = json!([{
        "name": "charts-planted", "kind": "ClusterRoleBinding", "path": "web/templates/p.yaml",
        "manifest": PLANTED, "events": ["pre-delete", "pre-rollback"], "last_run": { "phase": "" },
    }]);
    release["manifest"] = json!(format!("---\n{theirs}\n"));
    let planted = |number: u32, release: &Value| {
        let mut planted = stored.clone();
        let labels = &stored["metadata"]["labels"];
        planted["metadata"] =
            json!({ "name": secret(number), "namespace": "prod", "labels": labels });
        planted["metadata"]["labels"]["version"] = json!(number.to_string());
        planted["data"]["release"] = json!(encode_release(release));
        planted
    };
    site.apply(&planted(2, &release).to_string()).success();
    let undeploy = |more: &[&str]| {
        let arguments = [&["undeploy", "--yes", "shop", "-e", "prod"], more].concat();
        Answer::from_command(site.command().env("HELM", &*HELM).args(arguments))
    };
    let second = pack(
        &site,
        "1.1.0",
        &[("a", &MAP.replace("name: web", "name: next"))],
    );
    for refused in [undeploy(&[]), import(&site, &second, &[])] {
        let refused = refused.failure(1);
        let words = "revision 2 of the release prod/web was not recorded by an import";
        assert!(refused.contains(words), "{refused}");
        assert!(
            refused.contains("the hook ClusterRoleBinding charts-planted"),
            "{refused}"
        );
    }
    site.kubectl("prod", &["delete", "secret", &secret(2)])
        .success();
    release["version"] = json!(1);
    site.apply(&planted(1, &release).to_string()).success();
    let words = "revision 1 of the release prod/web was not recorded by an import";
    let refused = undeploy(&[]).failure(1);
    assert!(refused.contains(words), "{refused}");

    // The accepted changes are the shown ones. The other user's object is kept.
    let id = takeover_id(&refused);
    release["hooks"] = json!([]);
    site.apply(&planted(1, &release).to_string()).success();
    let refused = undeploy(&["--accept", id]).failure(1);
    let id = takeover_id(&refused);
    undeploy(&["--accept", id]).success();
    site.kubectl("default", &["get", "configmap", "charts-planted"])
        .success();
    let binding = [
        "get",
        "clusterrolebinding",
        "charts-planted",
        "--ignore-not-found",
    ];
    assert_eq!(site.kubectl("default", &binding).success(), "");
    site.kubectl("default", &["delete", "configmap", "charts-planted"])
        .success();
}
