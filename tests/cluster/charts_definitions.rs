//! A version changes the definition of a kind, in a chart's `crds/` or in a manifest set that the chart needs, and the
//! chart uses the new fields immediately.

use crate::charts::{HELM, import, pack_tree, site, statuses};
use crate::common::Answer;
use crate::release_definitions::{BOTH, SIZE, UNDECLARED, UNTRIED, WEBHOOK, definition, spec};
use crate::releases::release;
use crate::site::{Site, consent_id};

/// Packs a version whose definition has these fields, and whose custom resource has this `spec`.
pub(crate) fn pack(site: &Site, version: &str, fields: &str, spec: &str) -> String {
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.charts.example.test}}
spec:
  group: charts.example.test
  scope: Namespaced
  names: {{kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}
"
    );
    let resource = format!(
        "{{apiVersion: charts.example.test/v1, kind: Widget, metadata: {{name: own}}, spec: {{{spec}}}}}\n"
    );
    site.desk.write("1.0.0/web/crds/widgets.yaml", definition);
    site.desk.write("1.0.0/web/templates/widget.yaml", resource);
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    let chart = "  charts: [{name: web, source: 'dir:web', timeout: 40s}]\n";
    pack_tree(site, version, chart)
}

#[test]
fn what_a_version_adds_to_a_definition_is_used_by_its_own_resource() {
    let site = site("charts-defined");
    site.desk.write("1.0.0/web/crds/crates.yaml", CONVERTED);
    let first = pack(&site, "1.0.0", SIZE, "size: 1");
    let refused = import(&site, &first, &[]).failure(1);
    let words =
        "has the API server send its objects to the Service `replaceme/shop` for conversion";
    assert!(refused.contains(words), "{refused}");
    import(&site, &first, &["--accept", consent_id(&refused)]).success();
    enter_namespace(&site, &first);
    // A field that the definition will not have is refused before any change.
    let refused = import(
        &site,
        &pack(&site, "1.0.1", SIZE, "size: 1, color: red"),
        &[],
    );
    assert!(refused.failure(1).contains(UNDECLARED));
    let added = pack(&site, "1.1.0", BOTH, "size: 2, color: red");
    let refused = import(&site, &added, &[]).failure(1);
    let accept = ["--accept", consent_id(&refused)];
    let plan = import(&site, &added, &[&accept[..], &["--dry-run"]].concat()).success();
    assert!(plan.contains(UNTRIED), "{plan}");
    import(&site, &added, &accept).success();
    assert_eq!(spec(&site), "2 red");
    assert_eq!(statuses(&site), ["superseded", "deployed"]);
    assert_eq!(converter(&site), "prod", "what was entered stays");
}

/// Returns the namespace of the conversion webhook's Service.
fn converter(site: &Site) -> String {
    let definition = "customresourcedefinition/crates.charts.example.test";
    let namespace = "{.spec.conversion.webhook.clientConfig.service.namespace}";
    site.field("default", definition, namespace)
}

/// Writes the environment's namespace into the definition, and asserts that no other environment takes the definition
/// over.
fn enter_namespace(site: &Site, archive: &str) {
    assert_eq!(converter(site), "replaceme");
    let entered = r#"[{"op": "replace", "path": "/spec/conversion/webhook/clientConfig/service/namespace", "value": "prod"}]"#;
    let definition = "customresourcedefinition/crates.charts.example.test";
    let patch = ["patch", definition, "--type", "json", "--patch", entered];
    site.kubectl("default", &patch).success();
    site.create_environment("other");
    let mut command = site.import_command(archive, &["-e", "other", "--dry-run"]);
    let refused = Answer::from_command(command.env("HELM", &*HELM)).failure(1);
    let words = "CustomResourceDefinition crates.charts.example.test";
    assert!(refused.contains(words), "{refused}");
    assert!(refused.contains("prod"), "{refused}");
}

/// A kind whose objects a webhook converts. As with dapr, a program of the release writes its namespace.
const CONVERTED: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.charts.example.test}
spec:
  group: charts.example.test
  scope: Namespaced
  names: {kind: Crate, plural: crates, singular: crate, listKind: CrateList}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: shop, namespace: replaceme}}}}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

/// Packs a version with a manifest set whose definition has these fields, and a chart whose custom resource has this
/// `spec`.
fn pack_with_set(site: &Site, version: &str, fields: &str, spec: &str) -> String {
    let set = release("hello", "one") + &definition(WEBHOOK, fields);
    site.desk.write("1.0.0/release.yaml", set);
    let resource = format!(
        "{{apiVersion: shop.test/v1, kind: Widget, metadata: {{name: own}}, spec: {{{spec}}}}}\n"
    );
    site.desk.write("1.0.0/web/templates/widget.yaml", resource);
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    let parts = "  charts: [{name: web, source: 'dir:web', needs: [base], timeout: 40s}]
  manifests: [{name: base, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]\n";
    pack_tree(site, version, parts)
}

#[test]
fn what_a_version_adds_to_a_definition_of_a_set_is_used_by_a_chart_that_needs_it() {
    let site = site("charts-set-defined");
    let pack =
        |version: &str, fields: &str, spec: &str| pack_with_set(&site, version, fields, spec);
    let first = pack("1.0.0", SIZE, "size: 1");
    let refused = import(&site, &first, &[]).failure(1);
    import(&site, &first, &["--accept", consent_id(&refused)]).success();
    let refused = import(&site, &pack("1.0.1", SIZE, "size: 1, color: red"), &[]);
    assert!(refused.failure(1).contains(UNDECLARED));
    let added = pack("1.1.0", BOTH, "size: 2, color: red");
    let plan = import(&site, &added, &["--dry-run"]).success();
    assert!(plan.contains(UNTRIED), "{plan}");
    import(&site, &added, &[]).success();
    assert_eq!(spec(&site), "2 red");
}
