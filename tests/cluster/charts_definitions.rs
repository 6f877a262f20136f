//! A version of a chart changes a definition in `crds/`, and uses what is new about it at once.

use crate::charts::{import, packed, site, statuses};
use crate::site::Site;

/// Packs a version whose definition has these fields, and whose own resource has this `spec`.
fn pack(site: &Site, version: &str, fields: &str, spec: &str) -> String {
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
    packed(site, version, chart)
}

#[test]
fn what_a_version_adds_to_a_definition_is_used_by_its_own_resource() {
    const SIZE: &str = "size: {type: integer}";
    let both = format!("{SIZE}, color: {{type: string}}");
    let site = site("charts-defined");
    import(&site, &pack(&site, "1.0.0", SIZE, "size: 1"), &[]).success();
    // What the definition does not have, and will not, is refused before anything is done.
    let refused = import(
        &site,
        &pack(&site, "1.0.1", SIZE, "size: 1, color: red"),
        &[],
    );
    let words = ".spec.color: field not declared in schema";
    assert!(refused.failure(1).contains(words));
    let added = pack(&site, "1.1.0", &both, "size: 2, color: red");
    import(&site, &added, &[]).success();
    let color = "{.spec.size} {.spec.color}";
    assert_eq!(site.field("prod", "widgets/own", color), "2 red");
    assert_eq!(statuses(&site), ["superseded", "deployed"]);
}
