//! Helm charts: packed with their values, validated and displayed. Charts that a site could not use are refused.

use schemas::Capability;
use serde_json::{Value, json};

use crate::common::Desk;
use crate::stages;
use fixtures::example::{Programs, Release};

const PACK: [&str; 7] = [
    "pack",
    "source",
    "-o",
    "out.iso",
    "--key",
    "publisher.key",
    "--no-render",
];
const CHARTS: &str = "  charts:
    - name: web
      source: dir:chart
      values: [values.yaml]
      namespace: web
      strategy: bootstrap-only
      needs: [db]
      timeout: 10m
    - {name: db, source: 'dir:chart'}
";

const CRD: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: carts.shop.test}, \
spec: {group: shop.test, scope: Namespaced, names: {plural: carts, kind: Cart}, \
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}\n";

/// Returns a desk with the example and a chart in two releases. `metadata` is added to its Chart.yaml.
fn desk(metadata: &str) -> Desk {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{CHARTS}"));
    let chart =
        "apiVersion: v2\nname: shop\nversion: 1.2.3+b\nappVersion: '7'\nkubeVersion: '>=1.28'\n";
    for directory in ["chart/templates", "chart/crds"] {
        std::fs::create_dir_all(desk.path(&format!("source/{directory}"))).unwrap();
    }
    desk.write("source/chart/Chart.yaml", format!("{chart}{metadata}"));
    desk.write("source/chart/templates/a.yaml", "{{ .Values.image }}");
    desk.write("source/chart/crds/a.yaml", CRD);
    desk.write("source/chart/crds/README.md", "Carts.");
    desk.write("source/values.yaml", "image: $(image:example-server)\n");
    desk
}

#[test]
fn a_chart_is_packed_checked_and_shown() {
    let desk = desk("");
    let packed = desk.solution(&[&PACK[..], &["--output", "json"]].concat());
    assert_eq!(packed.code, 0, "{packed:?}");
    let words = "warning: charts are not rendered, so the images that they need are not checked\n";
    assert_eq!(packed.stderr, words);
    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["charts-1.0.0"]);
    // The chart, the layer of its artifact and the chart of the other release share one blob.
    let contents = listed.contents();
    let digest = contents.get("charts/web/chart.tgz").unwrap().digest;
    let same = contents
        .entries()
        .iter()
        .filter(|entry| entry.digest == digest);
    let paths: Vec<&str> = same.map(|entry| entry.path.as_str()).collect();
    let hex = digest.hex();
    let expected = [
        format!("blobs/sha256/{hex}"),
        "charts/db/chart.tgz".to_owned(),
        "charts/web/chart.tgz".to_owned(),
        format!("images/charts/shop/1.2.3_b/{hex}"),
    ];
    assert_eq!(paths, expected);
    let offsets = paths
        .iter()
        .map(|path| listed.plan().extent_of(path).unwrap().offset);
    let offsets: std::collections::BTreeSet<u64> = offsets.collect();
    assert_eq!(offsets.len(), 1);
    let validate = [
        "validate",
        "out.iso",
        "--key",
        "publisher.pub",
        "--output",
        "json",
    ];
    assert_eq!(desk.solution(&validate).json()["findings"], json!([]));
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let lines = "image       charts/shop:1.2.3_b  application/vnd.cncf.helm.config.v1+json\n";
    assert!(shown.contains(lines), "{shown}");
    let lines = "chart       web  shop 1.2.3+b
  app        7
  Kubernetes >=1.28
  CRDs      1 file
  namespace web
  needs     db
  strategy  installed once, never upgraded
  timeout   10m
chart       db  shop 1.2.3+b
";
    assert!(shown.contains(lines), "{shown}");
    let needed = "needs       helm at the site (included: no)\n";
    assert!(shown.contains(needed), "{shown}");
    let said = desk.solution(&validate[..4]).success();
    assert!(said.contains(needed), "{said}");
    assert_eq!(desk.solution(&validate).json()["helmIncluded"], false);
    let shown = ["inspect", "out.iso", "--output", "json"];
    let line = |name: &str| -> Value {
        json!({
            "name": name, "artifact": "charts/shop:1.2.3_b", "appVersion": "7",
            "kubeVersion": ">=1.28", "definitionFiles": 1,
        })
    };
    let shown = desk.solution(&shown).json();
    assert_eq!(shown["charts"], json!([line("web"), line("db")]));
    let values = desk
        .solution(&["cat", "out.iso", "charts/web/values.yaml"])
        .success();
    assert_eq!(values, "image: '$(image:example-server)'\n");
}

#[test]
fn the_values_of_charts_are_shown_as_a_sites_file_that_can_be_used() {
    let desk = desk("");
    let values = "# How many servers run.\nreplicas: 1\n";
    desk.write("source/chart/values.yaml", values);
    desk.solution(&PACK).success();
    let file = desk.solution(&["values", "out.iso"]).success();
    for line in [
        "  #     web:\n",
        "  #         #   image: '$(image:example-server)'\n",
        "  #         # How many servers run.\n  #         replicas: 1\n",
    ] {
        assert!(file.contains(line), "{line}: {file}");
    }
    desk.write("site.yaml", &file);
    desk.solution(&["site", "check", "site.yaml"]).success();
    let chosen = file.lines().map(|line| match line.strip_prefix("  #") {
        Some(line) => format!(" {line}\n"),
        None => format!("{line}\n"),
    });
    let chosen = chosen.collect::<String>();
    assert!(chosen.contains("\n          replicas: 1\n"), "{chosen}");
    desk.write("site.yaml", chosen);
    desk.solution(&["site", "check", "site.yaml"]).success();
    let json = desk.solution(&["values", "out.iso", "--output", "json"]);
    let expected = json!({"image": "$(image:example-server)", "replicas": 1});
    assert_eq!(json.json()["releases"][0]["values"], expected);
}

#[test]
fn the_artifact_of_a_chart_is_shown_before_it_is_made() {
    let desk = desk("");
    let json = |arguments: &[&str]| {
        desk.solution(&[arguments, &["--output", "json"]].concat())
            .json()
    };
    let checked = json(&["pack", "source", "--check", "--no-render"]);
    let packed = json(&PACK);
    let sizes = |of: &Value| (of["size"].clone(), of["blobs"].clone());
    assert_eq!(sizes(&checked), sizes(&packed));
    let images = checked["images"].as_array().unwrap();
    assert_eq!(images.len(), packed["images"], "{checked:#}");
    let artifact = images
        .iter()
        .find(|image| image["image"] == "charts/shop:1.2.3_b");
    let artifact = artifact.unwrap();
    let listed = stages::list(&desk.path("out.iso"));
    let root = "images/charts/shop/1.2.3_b/manifest.json";
    let digest = listed.contents().get(root).unwrap().digest;
    assert_eq!(artifact["digest"], digest.to_string());
    let kind = "application/vnd.cncf.helm.config.v1+json";
    assert_eq!(artifact["artifactType"], kind);
    assert_eq!(artifact["source"], "dir:chart");
}

/// These charts resemble neuvector, whose schema has equal keys, and backstage, whose schema refers to another one.
#[test]
fn charts_that_only_helm_reads_are_packed_and_what_is_not_checked_is_reported() {
    let desk = desk("");
    let validate = [
        "validate",
        "out.iso",
        "--key",
        "publisher.pub",
        "--output",
        "json",
    ];
    for (schema, id) in [
        (r#"{"type": "text", "type": "object"}"#, None),
        (
            r#"{"properties": {"a": {"$ref": "https://r.test/a.json"}}}"#,
            Some("charts.remote-schema"),
        ),
    ] {
        desk.write("source/chart/values.schema.json", schema);
        desk.solution(&[&PACK[..], &["--force"]].concat()).success();
        let listed = stages::list(&desk.path("out.iso"));
        let requires = &listed.statement().predicate.requires;
        let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
        assert_eq!(requires, ["charts-1.1.0"]);
        let findings = desk.solution(&validate).json()["findings"].clone();
        let ids = findings
            .as_array()
            .unwrap()
            .iter()
            .map(|finding| finding["id"].as_str());
        let ids: std::collections::BTreeSet<Option<&str>> = ids.collect();
        assert_eq!(ids, id.into_iter().map(Some).collect(), "{findings}");
    }
}

/// This chart resembles dapr, whose program writes the namespace of the webhook after the installation.
#[test]
fn a_chart_whose_definitions_a_webhook_converts_is_packed_for_later_readers() {
    let desk = desk("");
    let webhook = "conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: \
        {service: {name: shop, namespace: replaceme, path: /convert}}}}, versions:";
    let converted = CRD.replace("versions:", webhook);
    assert_ne!(converted, CRD);
    desk.write("source/chart/crds/a.yaml", converted);
    desk.solution(&PACK).success();
    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["charts-1.1.0"]);
}

/// `pack` reports a chart that a site could not install before it collects anything.
#[test]
fn a_chart_that_needs_something_from_elsewhere_is_not_packed() {
    let desk = desk("dependencies: [{name: cache, repository: 'https://r.test'}]\n");
    let refused = desk.solution(&PACK);
    assert_eq!(refused.code, 1, "{refused:?}");
    let words = "charts/ does not have the dependency `cache`";
    assert!(refused.stderr.contains(words), "{refused:?}");
    assert!(!desk.path("out.iso").exists());
}

#[test]
fn a_chart_with_definitions_that_no_site_could_take_is_not_packed() {
    let desk = desk("");
    let webhook = CRD.replace("versions:", "conversion: {strategy: Webhook}, versions:");
    desk.write("source/chart/crds/a.yaml", format!("{CRD}---\n{webhook}"));
    desk.write(
        "source/chart/crds/b.yaml",
        "{apiVersion: v1, kind: Secret, metadata: {name: a}}",
    );
    let refused = desk.solution(&PACK).failure(1);
    // One chart in two releases is checked once.
    assert_eq!(refused.matches("error[").count(), 2, "{refused}");
    for words in [
        "crds/a.yaml, document 2: defines `carts.shop.test` differently than before",
        "crds/b.yaml, document 1: holds `v1` `Secret`",
    ] {
        let finding = refused.lines().find(|line| line.ends_with(words));
        let finding = finding.unwrap_or_else(|| panic!("{refused}"));
        assert!(
            finding.starts_with("error[charts.definition]: solution.yaml:"),
            "{finding}"
        );
    }
    assert!(!desk.path("out.iso").exists());
}

/// Without `helm` on this machine, `pack` refuses charts that nobody has rendered.
#[test]
fn charts_are_not_packed_unrendered_unless_it_is_asked_for() {
    let desk = desk("");
    let refused = desk.solution(&PACK[..6]).failure(1);
    for words in [
        "the images that the charts need: `helm` not found",
        "--no-render",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
    let with = |more: &[&str]| desk.solution(&[&PACK[..6], more].concat());
    let refused = with(&["--helm", "none/helm"]).failure(1);
    assert!(
        refused.contains("program `none/helm` not found"),
        "{refused}"
    );
    with(&["--helm", "helm", "--no-render"]).failure(2);
    assert!(!desk.path("out.iso").exists());
}
