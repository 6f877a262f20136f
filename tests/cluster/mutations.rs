//! Changes to definitions: at least one for each rule by which an API server refuses some, and others at random.

use serde_json::Value;

/// A change of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// The definition that is changed.
    pub(crate) base: &'static str,
    /// The field, as a JSON pointer. `S` stands for the schema of the first version, `P` for the properties of its `spec`.
    place: &'static str,
    /// What becomes of it, in YAML; nothing if it is removed.
    value: &'static str,
}

const fn change(base: &'static str, place: &'static str, value: &'static str) -> Change {
    Change { base, place, value }
}

/// What removes a field.
const GONE: &str = "";

pub(crate) const CHANGES: &[Change] = &[
    // The definition itself.
    change("widgets", "/metadata/name", "others.judge.test"),
    change("widgets", "/metadata/labels/team", "not a label"),
    change("widgets", "/metadata/labels/a b", "x"),
    change("widgets", "/metadata/annotations/a b", "x"),
    change("widgets", "/metadata/annotations/A.b~1C", "x"),
    change("widgets", "/spec/group", "judge"),
    change("widgets", "/spec/group", "Judge.test"),
    change("widgets", "/spec/scope", GONE),
    change("widgets", "/spec/scope", "namespaced"),
    change("widgets", "/spec/scope", "5"),
    change("widgets", "/spec/preserveUnknownFields", "true"),
    change("widgets", "/spec/preserveUnknownFields", "false"),
    change("widgets", "/spec/unknown", "5"),
    change("widgets", "/spec/names", GONE),
    change("widgets", "/spec/names/kind", GONE),
    change("widgets", "/spec/names/kind", "Wid.get"),
    change("widgets", "/spec/names/kind", "9Widget"),
    change("widgets", "/spec/names/listKind", "Widget"),
    change("widgets", "/spec/names/listKind", "Widget-"),
    change("widgets", "/spec/names/listKind", GONE),
    change("widgets", "/spec/names/singular", "Widget"),
    change("widgets", "/spec/names/singular", GONE),
    change("widgets", "/spec/names/shortNames", "[w, W]"),
    change("widgets", "/spec/names/shortNames", "w"),
    change("widgets", "/spec/names/shortNames", "[null]"),
    change("widgets", "/spec/names/categories", "[all, 'a b']"),
    change(
        "pipelines",
        "/spec/names/kind",
        "Pipelinepipelinepipelinepipelinepipelinepipelinepipelinepipeline",
    ),
    change(
        "pipelines",
        "/spec/names/kind",
        "Pipelinepipelinepipelinepipelinepipelinepipelinepipelinepipe",
    ),
    change(
        "pipelines",
        "/spec/names/kind",
        "Pipelinepipelinepipelinepipelinepipelinepipelinepipelinepip",
    ),
    // Versions.
    change("widgets", "/spec/versions", "[]"),
    change("widgets", "/spec/versions/0/storage", "false"),
    change("widgets", "/spec/versions/1/storage", "true"),
    change("widgets", "/spec/versions/0/storage", "'true'"),
    change("widgets", "/spec/versions/0/served", "false"),
    change("widgets", "/spec/versions/1/served", GONE),
    change("widgets", "/spec/versions/1/name", "v1"),
    change("widgets", "/spec/versions/1/name", "V2"),
    change("widgets", "/spec/versions/1/name", GONE),
    change("widgets", "/spec/versions/1/schema", GONE),
    change("widgets", "/spec/versions/1/schema", "{}"),
    change("widgets", "/spec/versions/1/deprecated", "false"),
    change("widgets", "/spec/versions/1/deprecationWarning", "''"),
    change(
        "widgets",
        "/spec/versions/1/deprecationWarning",
        "\"a\\nb\"",
    ),
    change(
        "widgets",
        "/spec/versions/1/deprecationWarning",
        "\"a\\u200bb\"",
    ),
    change(
        "widgets",
        "/spec/versions/1/deprecationWarning",
        "über 5 € — ja",
    ),
    change(
        "widgets",
        "/spec/versions/0/deprecationWarning",
        "not deprecated",
    ),
    // Subresources, columns, selectable fields.
    change("widgets", "/spec/versions/0/subresources/status", "5"),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/specReplicasPath",
        GONE,
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/specReplicasPath",
        ".status.x",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/specReplicasPath",
        "spec.x",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/statusReplicasPath",
        ".spec.x",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/statusReplicasPath",
        "''",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/labelSelectorPath",
        ".metadata.x",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/labelSelectorPath",
        ".spec.x",
    ),
    change(
        "widgets",
        "/spec/versions/0/subresources/scale/labelSelectorPath",
        "''",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/name",
        GONE,
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/type",
        "int",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/type",
        GONE,
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/format",
        "uuid",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/jsonPath",
        "spec.size",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/0/jsonPath",
        ".",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/1/priority",
        "1.5",
    ),
    change(
        "widgets",
        "/spec/versions/0/additionalPrinterColumns/1/priority",
        "3000000000",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec.color",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec.nothing",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        "spec.size",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        "''",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec.labels.a",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec.labels['a']",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".spec.port",
    ),
    change(
        "widgets",
        "/spec/versions/0/selectableFields/1/jsonPath",
        ".metadata.name",
    ),
    change(
        "turners",
        "/spec/versions/0/selectableFields",
        "[{jsonPath: .spec}]",
    ),
    change(
        "turners",
        "/spec/versions/0/schema/openAPIV3Schema/properties/a/type",
        "string",
    ),
    change(
        "gauges",
        "/spec/versions/0/selectableFields",
        "[{jsonPath: .spec.name}]",
    ),
    // Conversion.
    change("widgets", "/spec/conversion", "{}"),
    change("widgets", "/spec/conversion", "{strategy: Web}"),
    change(
        "widgets",
        "/spec/conversion",
        "{strategy: None, webhook: {conversionReviewVersions: [v1]}}",
    ),
    change(
        "widgets",
        "/spec/conversion",
        "{strategy: None, webhook: {conversionReviewVersions: []}}",
    ),
    change("turners", "/spec/conversion/strategy", "None"),
    change("turners", "/spec/conversion/webhook", GONE),
    change(
        "turners",
        "/spec/conversion/webhook/conversionReviewVersions",
        "[]",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/conversionReviewVersions",
        "[v2]",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/conversionReviewVersions",
        "[v2, v1]",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/conversionReviewVersions",
        "[v1, v1]",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/conversionReviewVersions",
        "[v1, V2]",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/caBundle",
        "'%'",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/caBundle",
        "aGk=",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/name",
        GONE,
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/namespace",
        "''",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/port",
        "0",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/port",
        "65536",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/port",
        GONE,
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/path",
        "convert",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/path",
        "/a//b",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/path",
        "/a/b/",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/service/path",
        "/A",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig/url",
        "https://example.test/x",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'https://example.test/x'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'http://example.test/x'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'https://u@example.test/x'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'https://example.test/x?y'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'https://example.test/x#y'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: 'https:///x'}",
    ),
    change(
        "turners",
        "/spec/conversion/webhook/clientConfig",
        "{url: ''}",
    ),
    // Schemas that are not structural.
    change("widgets", "S/type", GONE),
    change("widgets", "S/type", "array"),
    change("widgets", "S/nullable", "true"),
    change("widgets", "S/additionalProperties", "{type: string}"),
    change("widgets", "S/properties/metadata/type", "string"),
    change("widgets", "S/properties/metadata/description", "text"),
    change(
        "widgets",
        "S/properties/metadata/properties",
        "{labels: {type: object}}",
    ),
    change(
        "widgets",
        "S/properties/metadata/properties",
        "{generateName: {type: string}}",
    ),
    change("widgets", "S/properties/metadata/required", "[]"),
    change("widgets", "S/properties/metadata/default", "{name: x}"),
    change(
        "widgets",
        "S/properties/metadata/x-kubernetes-preserve-unknown-fields",
        "true",
    ),
    change("widgets", "S/properties/kind/type", "integer"),
    change("widgets", "S/properties/kind/default", "Widget"),
    change("widgets", "S/properties/apiVersion/type", "object"),
    change("widgets", "P/size/type", GONE),
    change("widgets", "P/size/type", "int"),
    change("widgets", "P/size/type", "'null'"),
    change("widgets", "P/size", "null"),
    change("widgets", "P/size", "5"),
    change("widgets", "P/parts/items", GONE),
    change("widgets", "P/parts/items", "[{type: object}]"),
    change("widgets", "P/parts/items", "[]"),
    change("widgets", "P/parts/items", "text"),
    change("widgets", "P/parts/items/type", GONE),
    change("widgets", "P/labels/additionalProperties", "true"),
    change("widgets", "P/labels/additionalProperties", "5"),
    change("widgets", "P/labels/additionalProperties/type", GONE),
    change("widgets", "P/labels/properties", "{a: {type: string}}"),
    change(
        "widgets",
        "P/port/anyOf",
        "[{type: integer}, {type: string, minLength: 1}]",
    ),
    change(
        "widgets",
        "P/port/anyOf",
        "[{type: string}, {type: integer}]",
    ),
    change("widgets", "P/port/anyOf", GONE),
    change("widgets", "P/port/x-kubernetes-int-or-string", GONE),
    change(
        "widgets",
        "P/port/x-kubernetes-preserve-unknown-fields",
        "true",
    ),
    change("widgets", "P/port/x-kubernetes-embedded-resource", "true"),
    change("widgets", "P/port/type", "string"),
    change("widgets", "P/share/allOf/1/type", "string"),
    change("widgets", "P/share/allOf/1/pattern", "'('"),
    change("widgets", "P/share/allOf/0/anyOf", "[{type: integer}]"),
    change(
        "widgets",
        "P/color/anyOf",
        "[{type: integer}, {type: string}]",
    ),
    change("widgets", "P/color/nullable", "5"),
    change("widgets", "P/color/maxLength", "1.0"),
    change("widgets", "P/color/maxLength", "-1"),
    change("widgets", "P/color/minimum", "1.5"),
    change("widgets", "P/color/minimum", "'1'"),
    change("widgets", "P/color/unknown", "true"),
    change("widgets", "P/color/id", "x"),
    change("widgets", "P/color/$schema", "x"),
    change("widgets", "P/color/$ref", "''"),
    change("widgets", "P/color/uniqueItems", "true"),
    change("widgets", "P/color/definitions", "{a: {type: string}}"),
    change("widgets", "P/color/definitions", "{}"),
    change("widgets", "P/color/dependencies", "{}"),
    change(
        "widgets",
        "P/color/patternProperties",
        "{a: {type: string}}",
    ),
    change("widgets", "P/color/patternProperties", "{}"),
    change("widgets", "P/color/additionalItems", "true"),
    change("widgets", "P/color/externalDocs", "{url: x}"),
    change("widgets", "P/color/example", "null"),
    change(
        "widgets",
        "P/color/x-kubernetes-preserve-unknown-fields",
        "false",
    ),
    change("widgets", "S/maxProperties", "5"),
    change("widgets", "S/anyOf", "[{required: [spec]}]"),
    change("widgets", "S/description", "''"),
    change("pipelines", "S/anyOf", "[{required: [spec]}]"),
    change("pipelines", "S/anyOf", "[{properties: {other: {}}}]"),
    change(
        "pipelines",
        "S/not",
        "{properties: {spec: {properties: {stages: {items: {}}}}}}",
    ),
    change("pipelines", "S/not", "{properties: {spec: {items: {}}}}"),
    change("pipelines", "S/not", "{properties: {metadata: {}}}"),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/properties",
        "{other: {}}",
    ),
    change("pipelines", "S/properties/spec/allOf/0/type", "object"),
    change("pipelines", "S/properties/spec/allOf/0/title", "t"),
    change("pipelines", "S/properties/spec/allOf/0/description", "d"),
    change("pipelines", "S/properties/spec/allOf/0/default", "{}"),
    change("pipelines", "S/properties/spec/allOf/0/default", "null"),
    change("pipelines", "S/properties/spec/allOf/0/nullable", "true"),
    change("pipelines", "S/properties/spec/allOf/0/nullable", "false"),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/additionalProperties",
        "false",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/additionalProperties",
        "true",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/additionalProperties",
        "{}",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-preserve-unknown-fields",
        "true",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-embedded-resource",
        "true",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-int-or-string",
        "true",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-list-type",
        "atomic",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-map-type",
        "atomic",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-list-map-keys",
        "[a]",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/x-kubernetes-validations",
        "[{rule: 'true'}]",
    ),
    change(
        "pipelines",
        "S/properties/spec/allOf/0/properties/metadata",
        "{}",
    ),
    change("pipelines", "P/metadata", "{type: string, description: d}"),
    change(
        "pipelines",
        "S/properties/metadata/properties/name/pattern",
        "'['",
    ),
    change(
        "pipelines",
        "S/properties/metadata/properties/name/default",
        "x",
    ),
    // Lists and maps.
    change("pipelines", "P/stages/x-kubernetes-list-type", "Map"),
    change("pipelines", "P/stages/x-kubernetes-list-type", "set"),
    change("pipelines", "P/stages/x-kubernetes-list-type", GONE),
    change("pipelines", "P/stages/x-kubernetes-list-map-keys", GONE),
    change("pipelines", "P/stages/x-kubernetes-list-map-keys", "[]"),
    change(
        "pipelines",
        "P/stages/x-kubernetes-list-map-keys",
        "[name, name]",
    ),
    change(
        "pipelines",
        "P/stages/x-kubernetes-list-map-keys",
        "[other]",
    ),
    change(
        "pipelines",
        "P/stages/x-kubernetes-list-map-keys",
        "[name, after]",
    ),
    change("pipelines", "P/stages/type", "object"),
    change("pipelines", "P/stages/items/type", "string"),
    change("pipelines", "P/stages/items/nullable", "true"),
    change("pipelines", "P/stages/items/required", "[]"),
    change("pipelines", "P/stages/items/properties/kind/default", GONE),
    change(
        "pipelines",
        "P/stages/items/properties/kind/nullable",
        "true",
    ),
    change(
        "pipelines",
        "P/stages/items/properties/after/items/nullable",
        "true",
    ),
    change("pipelines", "P/tags/items/x-kubernetes-map-type", GONE),
    change(
        "pipelines",
        "P/tags/items/x-kubernetes-map-type",
        "granular",
    ),
    change(
        "pipelines",
        "P/tags/items",
        "{type: array, items: {type: string}}",
    ),
    change(
        "pipelines",
        "P/tags/items",
        "{type: array, x-kubernetes-list-type: set, items: {type: string}}",
    ),
    change("pipelines", "P/matrix/x-kubernetes-list-map-keys", "[a]"),
    change("pipelines", "P/selector/x-kubernetes-map-type", "shallow"),
    change("pipelines", "P/selector/x-kubernetes-list-type", "atomic"),
    change("pipelines", "P/matrix/x-kubernetes-map-type", "atomic"),
    change("pipelines", "P/template/type", GONE),
    change(
        "pipelines",
        "P/template/x-kubernetes-preserve-unknown-fields",
        GONE,
    ),
    change("pipelines", "P/template/properties", GONE),
    change(
        "pipelines",
        "P/template",
        "{type: object, x-kubernetes-embedded-resource: true}",
    ),
    change("pipelines", "P/template/additionalProperties", "true"),
    change("pipelines", "P/template/properties/kind", "{type: integer}"),
    change(
        "pipelines",
        "P/template/properties/metadata/properties/x",
        "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}",
    ),
    change(
        "pipelines",
        "P/template/properties/metadata/properties/labels/additionalProperties/default",
        "x",
    ),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: v1, kind: Pod, other: 5}",
    ),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: a/b/c, kind: Pod}",
    ),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: v1, kind: po.d}",
    ),
    change("pipelines", "P/template/default", "{apiVersion: v1}"),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: v1, kind: Pod, metadata: 5}",
    ),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: v1, kind: Pod, spec: {name: a}}",
    ),
    change(
        "pipelines",
        "P/template/default",
        "{apiVersion: v1, kind: Pod, spec: {other: a}}",
    ),
    change("pipelines", "P/free/default", "{a: [1]}"),
    change("pipelines", "P/selector/default", "{a: 5}"),
    change("pipelines", "P/selector/additionalProperties/default", "5"),
    change("pipelines", "P/matrix/default", "[[1, null], []]"),
    change("pipelines", "P/matrix/default", "[[1], null]"),
    change("pipelines", "P/matrix/default", "[[1, a]]"),
    // Patterns.
    change("widgets", "P/color/pattern", "a**"),
    change("widgets", "P/color/pattern", "a{1001}"),
    change("widgets", "P/color/pattern", "(a{40}){40}"),
    change("widgets", "P/color/pattern", "(a{30}){30}"),
    change("widgets", "P/color/pattern", "'a{,2}'"),
    change("widgets", "P/color/pattern", "'{'"),
    change("widgets", "P/color/pattern", "a{2,1}"),
    change("widgets", "P/color/pattern", "(?=a)"),
    change("widgets", "P/color/pattern", "(?<!a)b"),
    change("widgets", "P/color/pattern", "(?<name>r)"),
    change("widgets", "P/color/pattern", "(?P<9>r)"),
    change("widgets", "P/color/pattern", "(?P<a.b>r)"),
    change("widgets", "P/color/pattern", "(?x)r"),
    change("widgets", "P/color/pattern", "(?i-s:r)"),
    change("widgets", "P/color/pattern", "(?i-)r"),
    change("widgets", "P/color/pattern", "(?)r"),
    change("widgets", "P/color/pattern", "'*'"),
    change("widgets", "P/color/pattern", "'|*'"),
    change("widgets", "P/color/pattern", "^*"),
    change("widgets", "P/color/pattern", "a??"),
    change("widgets", "P/color/pattern", "a???"),
    change("widgets", "P/color/pattern", "\\u0041"),
    change("widgets", "P/color/pattern", "'\\x{72}ed'"),
    change("widgets", "P/color/pattern", "\\x7"),
    change("widgets", "P/color/pattern", "\\1"),
    change("widgets", "P/color/pattern", "\\162ed"),
    change("widgets", "P/color/pattern", "\\Qr*\\E?"),
    change("widgets", "P/color/pattern", "\\C"),
    change("widgets", "P/color/pattern", "\\Z"),
    change("widgets", "P/color/pattern", "\\_\\-\\ "),
    change("widgets", "P/color/pattern", "\\é"),
    change("widgets", "P/color/pattern", "'\\'"),
    change("widgets", "P/color/pattern", "'[]a]'"),
    change("widgets", "P/color/pattern", "'[z-a]'"),
    change("widgets", "P/color/pattern", "'[a-\\d]'"),
    change("widgets", "P/color/pattern", "'[[:alpha:]]'"),
    change("widgets", "P/color/pattern", "'[[:foo:]]'"),
    change("widgets", "P/color/pattern", "'[a&&b]'"),
    change("widgets", "P/color/pattern", "'[[a]b]'"),
    change("widgets", "P/color/pattern", "\\p{Greek}"),
    change("widgets", "P/color/pattern", "\\p{Nonsense}"),
    change("widgets", "P/color/pattern", "\\pL"),
    change("widgets", "P/color/pattern", "r)"),
    // Defaults.
    change("gauges", "P/step/default", "4"),
    change("gauges", "P/step/default", "-5"),
    change("gauges", "P/step/default", "5.0"),
    change("gauges", "P/step/default", "5.5"),
    change("gauges", "P/step/default", "'5'"),
    change("gauges", "P/step/default", "null"),
    change("gauges", "P/step/minimum", "0.5"),
    change("gauges", "P/step/multipleOf", "-5"),
    change("gauges", "P/step/multipleOf", "0"),
    change("gauges", "P/step/enum", "[5, 10]"),
    change("gauges", "P/step/enum", "[5]"),
    change("gauges", "P/step/enum", "['10']"),
    change("gauges", "P/step/format", "int32"),
    change("gauges", "P/ratio/default", "0"),
    change("gauges", "P/ratio/default", "1"),
    change("gauges", "P/ratio/default", "1.01"),
    change("gauges", "P/ratio/exclusiveMinimum", "false"),
    change("gauges", "P/ratio/multipleOf", "0.25"),
    change("gauges", "P/ratio/multipleOf", "0.3"),
    change("gauges", "P/name/default", "''"),
    change("gauges", "P/name/default", "abcdef"),
    change("gauges", "P/name/default", "ABC"),
    change("gauges", "P/name/default", "\"abc\\n\""),
    change("gauges", "P/name/maxLength", "0"),
    change("gauges", "P/name/pattern", "^\\w{3}$"),
    change("gauges", "P/name/pattern", "^\\d+$"),
    change("gauges", "P/name/pattern", "(?i)^ABC$"),
    change("gauges", "P/name/pattern", "'[[:digit:]]'"),
    change("gauges", "P/name/pattern", "^[^\\D]+$"),
    change("gauges", "P/since/default", "'2023-02-29T10:20:30Z'"),
    change("gauges", "P/since/default", "'2024-02-29 10:20:30Z'"),
    change("gauges", "P/since/default", "'2024-02-29T24:20:30Z'"),
    change("gauges", "P/since/default", "'2024-02-29T10:20:30'"),
    change("gauges", "P/since/format", "date"),
    change("gauges", "P/network/default", "10.0.0.0/33"),
    change("gauges", "P/network/default", "fd00::/8"),
    change("gauges", "P/network/default", "10.0.0.0"),
    change(
        "gauges",
        "P/network",
        "{type: string, format: ipv4, default: 10.0.0.1}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: ipv4, default: '::1'}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: ipv6, default: '::1'}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: ipv6, default: 10.0.0.1}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: uuid, default: 7d3c0a0e-0000-4000-8000-000000000000}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: uuid5, default: 7d3c0a0e-0000-4000-8000-000000000000}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: uuid4, default: 7d3c0a0e-0000-4000-c000-000000000000}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: byte, default: aGk=}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: byte, default: aGk}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: hexcolor, default: '#ffg'}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: hexcolor, default: '#ffF'}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: duration, default: 1h30m}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: duration, default: never}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: hostname, default: a.example.test}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: string, format: nonsense, default: x}",
    ),
    change(
        "gauges",
        "P/network",
        "{type: boolean, format: date, default: x}",
    ),
    change("gauges", "P/enabled/default", "'yes'"),
    change("gauges", "P/enabled/format", "int32"),
    change("gauges", "P/limit/default", "true"),
    change(
        "gauges",
        "P/limit/anyOf",
        "[{type: integer}, {type: string}]",
    ),
    change(
        "gauges",
        "P/limit",
        "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], default: true}",
    ),
    change("gauges", "P/points/default", "[]"),
    change(
        "gauges",
        "P/points/default",
        "[{x: 1}, {x: 2}, {x: 3}, {x: 4}]",
    ),
    change("gauges", "P/points/default", "[{y: 1}]"),
    change("gauges", "P/points/default", "[{x: null}]"),
    change("gauges", "P/points/default", "[{x: 1, w: 2}]"),
    change("gauges", "P/points/default", "{x: 1}"),
    change("gauges", "P/points/default", "[null]"),
    change("gauges", "P/points/items/properties/z/default", "5"),
    change("gauges", "P/levels/default", "{}"),
    change("gauges", "P/levels/default", "{a: 1, b: 2, c: 3}"),
    change("gauges", "P/levels/default", "{a: x}"),
    change("gauges", "P/levels/additionalProperties", "true"),
    change(
        "gauges",
        "P/levels",
        "{type: object, default: {a: {b: 1}}, additionalProperties: true}",
    ),
    change(
        "gauges",
        "P/levels",
        "{type: object, default: {a: 1}, additionalProperties: false}",
    ),
    change("gauges", "P/mode/default", "medium"),
    change("gauges", "P/mode/default", "none"),
    change(
        "gauges",
        "P/mode/oneOf",
        "[{enum: [fast]}, {enum: [fast, slow]}]",
    ),
    change("gauges", "P/mode/anyOf", "[{maxLength: 3}, {minLength: 5}]"),
    change("gauges", "P/mode/allOf", "[{maxLength: 3}]"),
    change("gauges", "P/extra/default", "5"),
    change(
        "gauges",
        "P/extra/properties",
        "{any: {type: array, items: {type: object, properties: {c: {type: string}}}}}",
    ),
    change(
        "gauges",
        "P/extra/x-kubernetes-preserve-unknown-fields",
        GONE,
    ),
    change("gauges", "S/properties/spec/default", "{}"),
    change("gauges", "S/properties/spec/default", "{step: 7}"),
    change("gauges", "S/properties/spec/default", "{other: 7}"),
    change("gauges", "S/default", "{spec: {}}"),
    change(
        "gauges",
        "S/default",
        "{apiVersion: v1, kind: Gauge, spec: {step: 5}}",
    ),
    // Rules in CEL, but for what their expressions mean.
    change("guards", "P/level/x-kubernetes-validations/0/rule", "'  '"),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/rule",
        "\"self >=\\noldSelf\"",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/message",
        "'  '",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/message",
        "\"a\\nb\"",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/messageExpression",
        "'  '",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/reason",
        "Wrong",
    ),
    change("guards", "P/level/x-kubernetes-validations/0/reason", "''"),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/fieldPath",
        ".x",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/optionalOldSelf",
        "'true'",
    ),
    change(
        "guards",
        "P/level/x-kubernetes-validations/0/optionalOldSelf",
        "false",
    ),
    change(
        "guards",
        "P/maybe/x-kubernetes-validations/0/rule",
        "self > 0",
    ),
    change(
        "guards",
        "P/maybe/x-kubernetes-validations/0/rule",
        "self > 0 && 'oldSelf' != ''",
    ),
    change(
        "guards",
        "P/maybe/x-kubernetes-validations/0/rule",
        "'[1].all(oldSelf, oldSelf > 0) // oldSelf'",
    ),
    change(
        "guards",
        "P/list/items/x-kubernetes-validations/0/rule",
        "self == oldSelf",
    ),
    change(
        "guards",
        "P/list/items/x-kubernetes-validations/0/rule",
        "self != r'\\'",
    ),
    change("guards", "P/list/x-kubernetes-list-type", "set"),
    change("guards", "P/named/x-kubernetes-list-type", GONE),
    change("guards", "P/named/x-kubernetes-list-type", "atomic"),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".keys.a",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".keys['a/b\\'']",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".keys['a\\q']",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".keys['a'",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".keys.a.b",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        ".list[0]",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        "level",
    ),
    change(
        "guards",
        "S/properties/spec/x-kubernetes-validations/0/fieldPath",
        "'  '",
    ),
    change(
        "guards",
        "P/free",
        "{x-kubernetes-preserve-unknown-fields: true, x-kubernetes-validations: [{rule: 'true'}]}",
    ),
    change(
        "guards",
        "P/free",
        "{x-kubernetes-int-or-string: true, x-kubernetes-validations: [{rule: 'true'}]}",
    ),
    change("guards", "S/x-kubernetes-validations", "[{rule: 'true'}]"),
];

impl Change {
    /// Makes the change.
    pub(crate) fn apply(&self, document: &mut Value) {
        let schema = "/spec/versions/0/schema/openAPIV3Schema";
        let place = match self.place.split_at(1) {
            ("S", rest) => format!("{schema}{rest}"),
            ("P", rest) => format!("{schema}/properties/spec/properties{rest}"),
            _ => self.place.to_owned(),
        };
        let (parent, field) = place.rsplit_once('/').unwrap();
        let field = field.replace("~1", "/");
        let parent = parent_of(document, parent);
        match (parent, self.value) {
            (parent, GONE) => {
                let removed = parent.as_object_mut().unwrap().remove(&field);
                assert!(removed.is_some(), "{self:?}");
            }
            (Value::Array(list), text) => list[field.parse::<usize>().unwrap()] = value(text),
            (parent, text) => parent[field] = value(text),
        }
    }
}

fn value(text: &str) -> Value {
    schemas::yaml::from_slice(text.as_bytes()).unwrap()
}

/// The value at a pointer, made where it is not there.
fn parent_of<'v>(document: &'v mut Value, pointer: &str) -> &'v mut Value {
    let steps = pointer.split('/').skip(1);
    steps.fold(document, |value, step| match value {
        Value::Array(list) => &mut list[step.parse::<usize>().unwrap()],
        value => &mut value[step],
    })
}

/// Changes at random, the same ones from the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one, by a linear congruential generator.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % count
    }

    /// Changes one field, or two, of schemas anywhere in a definition, and says which.
    pub(crate) fn change(&mut self, document: &mut Value) -> String {
        let mut what = Vec::new();
        for _ in 0..=self.below(2) {
            let mut places = Vec::new();
            schemas_in(
                &document["spec"]["versions"][0],
                "/spec/versions/0",
                &mut places,
            );
            let place = &places[self.below(places.len())];
            let schema = document.pointer_mut(place).unwrap();
            let fields: Vec<String> = schema.as_object().unwrap().keys().cloned().collect();
            if self.below(4) == 0 && !fields.is_empty() {
                let field = &fields[self.below(fields.len())];
                schema.as_object_mut().unwrap().remove(field);
                what.push(format!("{place} without {field}"));
            } else {
                let (field, values) = FIELDS[self.below(FIELDS.len())];
                let text = values[self.below(values.len())];
                schema[field] = value(text);
                what.push(format!("{place} with {field}: {text}"));
            }
        }
        what.join(", ")
    }
}

/// Fields of schemas, and what may become of them.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "type",
        &[
            "string", "integer", "number", "boolean", "array", "object", "null",
        ],
    ),
    ("nullable", &["true", "false"]),
    (
        "default",
        &[
            "1",
            "a",
            "true",
            "[]",
            "{}",
            "{name: a}",
            "[1, 2]",
            "1.5",
            "null",
        ],
    ),
    ("enum", &["[1, 2]", "[a, b]", "[]", "[null, {}]"]),
    ("minimum", &["2", "0.5", "-3"]),
    ("maximum", &["2", "100"]),
    ("minLength", &["2", "0"]),
    ("maxLength", &["1", "30"]),
    ("pattern", &["^a", "'[0-9]+$'", "(", "a{2}{3}"]),
    ("format", &["int32", "date", "ipv4", "byte"]),
    ("minItems", &["1"]),
    ("maxProperties", &["0", "3"]),
    ("required", &["[name]", "[]", "[x, y]"]),
    (
        "items",
        &[
            "{type: string}",
            "{type: object}",
            "{}",
            "[{}]",
            "{type: array, items: {type: integer}}",
        ],
    ),
    (
        "properties",
        &[
            "{name: {type: string}}",
            "{}",
            "{metadata: {type: object}}",
            "{kind: {type: integer}}",
        ],
    ),
    (
        "additionalProperties",
        &["true", "false", "{type: integer}", "{}"],
    ),
    (
        "anyOf",
        &[
            "[{type: integer}, {type: string}]",
            "[{minLength: 1}]",
            "[{properties: {name: {maxLength: 2}}}]",
            "[]",
        ],
    ),
    ("oneOf", &["[{required: [name]}, {required: [x]}]", "[{}]"]),
    (
        "allOf",
        &[
            "[{anyOf: [{type: integer}, {type: string}]}]",
            "[{items: {minimum: 1}}]",
            "[{nullable: true}]",
        ],
    ),
    (
        "not",
        &["{enum: [1]}", "{}", "{type: string}", "{required: [name]}"],
    ),
    ("uniqueItems", &["true", "false"]),
    ("x-kubernetes-preserve-unknown-fields", &["true", "false"]),
    ("x-kubernetes-embedded-resource", &["true"]),
    ("x-kubernetes-int-or-string", &["true"]),
    ("x-kubernetes-list-type", &["atomic", "set", "map"]),
    ("x-kubernetes-list-map-keys", &["[name]", "[x]", "[]"]),
    ("x-kubernetes-map-type", &["atomic", "granular"]),
    (
        "x-kubernetes-validations",
        &["[{rule: 'true'}]", "[{rule: ''}]"],
    ),
    ("title", &["t"]),
];

/// The places of all schemas below one.
fn schemas_in(value: &Value, place: &str, places: &mut Vec<String>) {
    let Value::Object(map) = value else {
        return;
    };
    for (field, inner) in map {
        let below = format!("{place}/{field}");
        match (field.as_str(), inner) {
            ("openAPIV3Schema" | "items" | "additionalProperties" | "not", Value::Object(_)) => {
                places.push(below.clone());
                schemas_in(inner, &below, places);
            }
            ("schema", _) => schemas_in(inner, &below, places),
            ("properties", Value::Object(map)) => {
                for (name, inner) in map.iter().filter(|(_, it)| it.is_object()) {
                    let below = format!("{below}/{name}");
                    places.push(below.clone());
                    schemas_in(inner, &below, places);
                }
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                for (index, inner) in list.iter().enumerate() {
                    let below = format!("{below}/{index}");
                    places.push(below.clone());
                    schemas_in(inner, &below, places);
                }
            }
            _ => {}
        }
    }
}
