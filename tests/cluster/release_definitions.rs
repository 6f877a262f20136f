//! A version changes the definition of a kind, and an object of its manifest sets uses the new fields immediately.

use serde_json::json;

use crate::common::Answer;
use crate::releases::{OWN, import, pack, release};
use crate::site::{Site, consent_id};

pub(crate) const SIZE: &str = "size: {type: integer}";
pub(crate) const BOTH: &str = "size: {type: integer}, color: {type: string}";

/// A conversion by a server of the release; the manifest set keeps a definition with it.
pub(crate) const WEBHOOK: &str = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: shop, namespace: shop-system, port: 8080}}}}";

/// Returns a definition with these fields and this conversion.
pub(crate) fn definition(conversion: &str, fields: &str) -> String {
    format!(
        "
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.shop.test}}
spec:
  group: shop.test
  scope: Namespaced
  names: {{kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}}
  conversion: {conversion}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{type: object, properties: {{{fields}}}}}}}}}}}
"
    )
}

/// Returns an object of that kind with this `spec`.
fn widget(spec: &str) -> String {
    format!(
        "
---
apiVersion: shop.test/v1
kind: Widget
metadata: {{name: own, namespace: shop-system}}
spec: {{{spec}}}
"
    )
}

pub(crate) fn spec(site: &Site) -> String {
    site.field("prod", "widgets/own", "{.spec.size} {.spec.color}")
}

pub(crate) const UNDECLARED: &str = ".spec.color: field not declared in schema";
pub(crate) const UNTRIED: &str = "no dry-run of Widget prod/own: the CRD of its kind changes first";

#[test]
fn what_a_version_adds_to_a_definition_is_used_by_an_object_of_a_set() {
    let site = Site::new("carried-defined");
    site.create_environment("prod");
    let pack = |version: &str, fields: &str, spec: &str| {
        let text = definition("{strategy: None}", fields) + &widget(spec);
        pack(&site, version, OWN, &text)
    };
    let first = pack("1.0.0", SIZE, "size: 1");
    import(&site, &first, &[]).success();
    let annotate = ["annotate", "widgets/own", "example.test/of=others"];
    site.kubectl("prod", &annotate).success();
    // A field that the definition will not have is refused before any change.
    let before = site.snapshot();
    let refused = import(&site, &pack("1.0.1", SIZE, "size: 1, color: red"), &[]);
    let refused = refused.failure(1);
    assert!(refused.contains(UNDECLARED), "{refused}");
    assert_eq!(site.snapshot(), before);

    let added = pack("1.1.0", BOTH, "size: 2, color: red");
    let plan = import(&site, &added, &["--dry-run", "--diff"]).success();
    for words in [UNTRIED, "change Widget prod/own", "+  color: 'red'\n"] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert!(!plan.contains("-    example.test/of"), "{plan}");
    assert_eq!(site.snapshot(), before);
    import(&site, &added, &[]).success();
    assert_eq!(spec(&site), "2 red");
    let of = "{.metadata.annotations.example\\.test/of}";
    assert_eq!(site.field("prod", "widgets/own", of), "others");
    let again = import(&site, &added, &["--output", "json"]).json();
    assert_eq!(again["objects"], json!([]), "{again}");
}

/// Imports a version, and accepts its effects on the whole cluster.
fn import_accepting(site: &Site, archive: &str) -> Answer {
    let refused = import(site, archive, &[]).failure(1);
    let id = consent_id(&refused);
    import(site, archive, &["--accept", id])
}

#[test]
fn what_a_version_adds_to_a_definition_of_a_set_is_used_by_another_object_of_it() {
    let site = Site::new("carried-own-defined");
    site.create_environment("prod");
    let pack = |version: &str, fields: &str, spec: &str| {
        let text = release("hello", "one") + &definition(WEBHOOK, fields) + &widget(spec);
        pack(&site, version, OWN, &text)
    };
    import_accepting(&site, &pack("1.0.0", SIZE, "size: 1")).success();
    let refused = import(&site, &pack("1.0.1", SIZE, "size: 1, color: red"), &[]);
    let refused = refused.failure(1);
    assert!(refused.contains(UNDECLARED), "{refused}");
    let added = pack("1.1.0", BOTH, "size: 2, color: red");
    let plan = import(&site, &added, &["--dry-run"]).success();
    assert!(plan.contains(UNTRIED), "{plan}");
    import(&site, &added, &[]).success();
    assert_eq!(spec(&site), "2 red");
}
