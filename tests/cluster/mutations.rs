//! Mutations of definitions: listed ones for the rules of `solution` and of the API server, and random ones.

use serde_json::Value;

/// A change of one field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// The definition to change.
    pub(crate) base: &'static str,
    /// The field, as a JSON pointer. `S` stands for the schema of the first version, `P` for the properties of its
    /// `spec`.
    place: &'static str,
    /// The new value in YAML, or `None` to remove the field.
    value: Option<&'static str>,
    /// True if only the API server rejects the definition.
    pub(crate) is_left_to_server: bool,
}

/// Returns the listed changes.
pub(crate) fn listed() -> impl Iterator<Item = Change> {
    let lines = include_str!("../data/definitions/changes.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let (is_left_to_server, line) = match line.strip_prefix("server ") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let (base, change) = line.split_once(' ').unwrap();
        let (place, value) = match change.split_once(" = ") {
            Some((place, value)) => (place, Some(value)),
            None => (change, None),
        };
        Change {
            base,
            place,
            value,
            is_left_to_server,
        }
    })
}

impl Change {
    /// Applies the change.
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
            (parent, None) => {
                let removed = parent.as_object_mut().unwrap().remove(&field);
                assert!(removed.is_some(), "{self:?}");
            }
            (Value::Array(list), Some(text)) => list[field.parse::<usize>().unwrap()] = value(text),
            (parent, Some(text)) => parent[field] = value(text),
        }
    }
}

fn value(text: &str) -> Value {
    schemas::yaml::from_slice(text.as_bytes()).unwrap()
}

/// Returns the parent of a pointer, and creates missing objects.
fn parent_of<'v>(document: &'v mut Value, pointer: &str) -> &'v mut Value {
    let steps = pointer.split('/').skip(1);
    steps.fold(document, |value, step| match value {
        Value::Array(list) => &mut list[step.parse::<usize>().unwrap()],
        value => &mut value[step],
    })
}

/// A generator of random changes. The same seed gives the same changes.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number below `count`, by a linear congruential generator.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % count
    }

    /// Changes one or two fields of schemas anywhere in a definition, and returns a description.
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

/// Fields of schemas, and their possible values.
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

/// Collects the pointers of all schemas below one.
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
                for (name, inner) in map.iter().filter(|(_, schema)| schema.is_object()) {
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
