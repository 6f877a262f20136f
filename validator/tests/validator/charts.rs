//! Changes to an archive with a Helm chart, by name. Each case starts from a good archive.

use crate::mistakes::Case;
use crate::source::{CRD, Source, edit_bytes};

const TGZ: &str = "charts/web/chart.tgz";
const VALUES: &str = "charts/web/values.yaml";
const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.3\n";

/// Replaces the chart of the good archive with one of these files. The OCI artifact remains that of the good chart.
fn replace(s: &mut Source, chart: &str, files: &[(&str, &str)]) {
    s.chart(&[]);
    s.put(TGZ, Source::package(chart, files));
}

/// Returns a definition with additional metadata and spec fields.
fn crd(name: &str, metadata: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {name}.c.test{metadata}}}, \
         spec: {{group: c.test, scope: Namespaced, names: {{plural: {name}, kind: K{name}}}{spec}, \
         versions: [{{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, description: '{{{{ .a }}}}'}}}}}}]}}}}\n"
    )
}

/// The conversion of a definition as in dapr's chart, which replaces the namespace at runtime.
const CONVERTED: &str = ", conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], \
    clientConfig: {service: {name: web, namespace: replaceme, path: /convert}}}}";

/// Adds the good chart with these files in `crds/`.
fn define(s: &mut Source, files: &[(&str, &str)]) {
    let paths = files.iter();
    let files: Vec<(String, &str)> = paths
        .map(|(path, text)| (format!("crds/{path}"), *text))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    s.chart(&files);
}

/// Returns a text that no encoder compresses to less than half.
fn noise() -> String {
    let mut number = 1_u64;
    let mut text = String::new();
    for _ in 0..120_000 {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        text += &number.to_string();
    }
    text
}

pub(crate) const CASES: &[Case] = &[
    ("good", |s| s.chart(&[]), &[]),
    (
        "the name of a set",
        |s| {
            s.carry();
            s.chart(&[]);
        },
        &["charts.release"],
    ),
    (
        "not required",
        |s| {
            s.chart(&[]);
            s.requires.clear();
            s.optional.push("charts".to_owned());
        },
        &["charts.capability"],
    ),
    (
        "required in vain",
        |s| s.require_charts(),
        &["charts.capability"],
    ),
    (
        "unknown field of a chart",
        |s| {
            s.chart(&[]);
            s.edit("manifest.yaml", "needs: []", "hooks: []");
        },
        &["manifest.yaml", "practice.nested-name"],
    ),
    (
        "needs itself",
        |s| {
            s.chart(&[]);
            s.edit("manifest.yaml", "needs: []", "needs: [web]");
        },
        &["charts.release"],
    ),
    (
        "another file",
        |s| {
            s.chart(&[]);
            s.put("charts/web/chart.tgz.prov", "x");
            s.put("charts/other/values.yaml", "{}");
        },
        &["charts.unexpected", "charts.unexpected"],
    ),
    (
        "no chart",
        |s| {
            s.chart(&[]);
            s.remove(TGZ);
        },
        &["charts.missing"],
    ),
    (
        "no values",
        |s| {
            s.chart(&[]);
            s.remove(VALUES);
        },
        &["charts.missing"],
    ),
    (
        "bytes behind the chart",
        |s| {
            s.chart(&[]);
            let mut bytes = s.files[TGZ].clone();
            bytes.push(0);
            s.put(TGZ, bytes);
        },
        &["charts.archive"],
    ),
    (
        "a library",
        |s| replace(s, &format!("{CHART}type: library\n"), &[]),
        &["charts.metadata"],
    ),
    (
        "another version",
        |s| replace(s, "{apiVersion: v2, name: web, version: 1.2.4}", &[]),
        &["charts.identity"],
    ),
    (
        "a dependency elsewhere",
        |s| replace(s, &format!("{CHART}dependencies: [{{name: db}}]\n"), &[]),
        &["charts.dependency"],
    ),
    (
        "a schema elsewhere",
        |s| {
            let schema = r#"{"$ref": "https://r.test/a.json"}"#;
            s.chart(&[("values.schema.json", schema)]);
        },
        &["charts.capability", "charts.remote-schema"],
    ),
    (
        "a schema elsewhere, with the capability for it",
        |s| {
            let schema = r#"{"$ref": "https://r.test/a.json"}"#;
            s.chart(&[("values.schema.json", schema)]);
            s.requires = vec!["charts-1.1.0".parse().unwrap()];
        },
        &["charts.remote-schema"],
    ),
    (
        "equal keys that only Helm takes",
        |s| s.chart(&[("values.yaml", "a: 1\na: 2\n")]),
        &["charts.capability"],
    ),
    (
        "equal keys, with the capability for them",
        |s| {
            s.chart(&[("values.yaml", "a: 1\na: 2\n")]);
            s.requires = vec!["charts-1.1.0".parse().unwrap()];
        },
        &[],
    ),
    (
        "the capability for files that only Helm takes, in vain",
        |s| {
            s.chart(&[]);
            s.requires = vec!["charts-1.1.0".parse().unwrap()];
        },
        &["charts.capability"],
    ),
    (
        "a schema that is none",
        |s| {
            let schema = r#"{"type": "text"}"#;
            replace(s, CHART, &[("values.schema.json", schema)]);
        },
        &["charts.schema"],
    ),
    (
        "values of the chart are a list",
        |s| replace(s, CHART, &[("values.yaml", "[a]")]),
        &["charts.values"],
    ),
    (
        "values are a list",
        |s| {
            s.chart(&[]);
            s.put(VALUES, "[a]");
        },
        &["charts.values"],
    ),
    (
        "a key twice",
        |s| {
            s.chart(&[]);
            s.put(VALUES, "a: 1\na: 2\n");
        },
        &["charts.values"],
    ),
    (
        "an image that there is not",
        |s| {
            s.chart(&[]);
            s.edit(VALUES, "$(image.tag:server)", "$(image.tag:other)");
        },
        &["charts.placeholder"],
    ),
    (
        "another chart of the same version than the registry offers",
        |s| replace(s, CHART, &[("templates/a.yaml", "x")]),
        &["charts.artifact"],
    ),
    (
        "an artifact with other annotations, of which nothing is judged",
        |s| {
            s.chart(&[]);
            let root = &mut s.images.last_mut().unwrap().root;
            edit_bytes(
                root,
                "opencontainers.image.title",
                "opencontainers.image.name",
            );
        },
        &[],
    ),
    (
        "definitions",
        |s| {
            let both = format!(
                "{}---\n# nothing\n---\n{}",
                crd("as", "", ""),
                crd("bs", "", "")
            );
            let json = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"cs.c.test"},"spec":{"group":"c.test","scope":"Cluster","names":{"plural":"cs","kind":"C"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}"#;
            let files = [
                ("a.yaml", &*both),
                ("deep/a.yml", &crd("as", "", "")),
                ("c.JSON", json),
                ("d.yaml", "# nothing"),
                ("README.md", "{"),
            ];
            define(s, &files);
        },
        &[],
    ),
    (
        "the definition of the operator",
        |s| {
            let own = s.text(CRD);
            define(s, &[("a.yaml", &own)]);
        },
        &[],
    ),
    (
        "another definition than the operator's",
        |s| {
            let own = s.text(CRD).replace("kind: Server", "kind: Other");
            define(s, &[("a.yaml", &own)]);
        },
        &["charts.definition"],
    ),
    (
        "two definitions of one name",
        |s| {
            let (one, other) = (
                crd("as", "", ""),
                crd("as", "", ", preserveUnknownFields: false"),
            );
            let inner = format!("{CHART}name: db\n").replace("name: web\n", "");
            let files = [
                ("crds/a.yaml", &*one),
                ("charts/db/Chart.yaml", &inner),
                ("charts/db/crds/a.yaml", &other),
            ];
            s.chart(&files);
        },
        &["charts.definition"],
    ),
    (
        "a file of definitions that is not YAML",
        |s| define(s, &[("a.yaml", "{{- if .Values.crds }}")]),
        &["charts.definition"],
    ),
    (
        "what is no definition in crds/",
        |s| {
            let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
            let old = crd("as", "", "").replace("k8s.io/v1", "k8s.io/v1beta1");
            define(s, &[("a.yaml", map), ("b.yaml", &old)]);
        },
        &["charts.definition", "charts.definition"],
    ),
    (
        "a definition that converts by a webhook",
        |s| {
            define(s, &[("a.yaml", &crd("as", "", CONVERTED))]);
            s.requires = vec!["charts-1.1.0".parse().unwrap()];
        },
        &[],
    ),
    (
        "a definition that converts by a webhook, which earlier readers refuse",
        |s| define(s, &[("a.yaml", &crd("as", "", CONVERTED))]),
        &["charts.capability"],
    ),
    (
        "a definition that converts by a webhook of no Service",
        |s| {
            let webhook = ", conversion: {strategy: Webhook}";
            define(s, &[("a.yaml", &crd("as", "", webhook))]);
            s.requires = vec!["charts-1.1.0".parse().unwrap()];
        },
        &["charts.definition"; 2],
    ),
    (
        "a name that no object can have",
        |s| define(s, &[("a.yaml", &crd("As", "", ""))]),
        &["charts.definition"; 2],
    ),
    (
        "metadata that is not applied",
        |s| {
            let kept = ", annotations: {helm.sh/resource-policy: keep, a.test/b: c}";
            define(s, &[("a.yaml", &crd("as", kept, ""))]);
        },
        &["charts.definition-metadata"],
    ),
    (
        "a definition with a namespace",
        |s| define(s, &[("a.yaml", &crd("as", ", namespace: default", ""))]),
        &["charts.definition-metadata"],
    ),
    (
        "more text than the operator and a chart may have together",
        |s| {
            let text = format!("[&a {}{}]", "x".repeat(1_000_000), ", *a".repeat(35));
            s.put("operator/deploy/crds/large_crd.yaml", text.as_str());
            define(s, &[("a.yaml", &text)]);
        },
        &["operator.crd-kind", "charts.budget"],
    ),
    (
        "a set of nothing beside a chart with definitions",
        |s| {
            s.carry();
            s.remove("manifests/notes/0001-configmap-notes.yaml");
            s.remove(CRD);
            define(s, &[("a.yaml", &crd("as", "", ""))]);
            s.edit(
                "manifest.yaml",
                "[{name: web, chart: web",
                "[{name: shop, chart: web",
            );
            for file in ["chart.tgz", "values.yaml"] {
                let bytes = s.files[&format!("charts/web/{file}")].clone();
                s.put(&format!("charts/shop/{file}"), bytes);
                s.remove(&format!("charts/web/{file}"));
            }
        },
        &["manifests.empty"],
    ),
    (
        "more than a Secret holds",
        |s| s.chart(&[("templates/a.yaml", &noise())]),
        &["charts.release-size"],
    ),
];
