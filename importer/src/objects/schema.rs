//! The comparison of a CRD's schemas with those of the active one: [`narrowings`]. A pure function that walks each
//! schema once.
//!
//! The schemas are structural (Kubernetes: "Specifying a structural schema"), so `properties`, `items` and
//! `additionalProperties` are the only keywords to descend into. Validation rules (CEL), patterns, formats and
//! combinations of schemas are compared as text: a difference is reported without knowing its meaning.

use std::collections::{BTreeSet, VecDeque};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::limits;
use crate::objects::crd::versions;
use crate::objects::narrowing::{
    INT_OR_STRING_TYPE, InvalidValue, LOWER, Narrowing, SchemaStep, UPPER,
};

/// The keywords that exclude a bound itself, each with the keyword of the bound.
const EXCLUSIVE: [(&str, &str); 2] = [
    ("exclusiveMaximum", "maximum"),
    ("exclusiveMinimum", "minimum"),
];
/// The keywords that are only compared as text.
const AS_TEXT: [&str; 10] = [
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
const UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const RULES: &str = "x-kubernetes-validations";
/// The fields that every object has, regardless of its schema.
const OF_OBJECTS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The schema of unspecified values: every value is valid and kept.
static ANYTHING: LazyLock<Value> = LazyLock::new(|| json!({ UNKNOWN: true }));

/// Returns everything that the versions of a CRD no longer accept or keep, for versions that both CRDs have.
pub(crate) fn narrowings(before: &Value, after: &Value) -> Vec<Narrowing> {
    let mut all = Vec::new();
    // No client reads objects in a version that is not served.
    for old in versions(before).filter(|old| old["served"] == true) {
        let name = &old["name"];
        let Some(new) = versions(after).find(|new| new["name"] == *name) else {
            continue;
        };
        let mut walk = Walk {
            api: name.as_str().unwrap_or_default(),
            found: &mut all,
            open: VecDeque::new(),
        };
        let [old, new] = [old, new].map(|version| &version["schema"]["openAPIV3Schema"]);
        walk.compare(old, new);
    }
    all
}

/// A pair of schemas to compare.
struct Pair<'a> {
    path: Vec<SchemaStep>,
    old: &'a Value,
    new: &'a Value,
}

struct Walk<'a, 'f> {
    api: &'f str,
    found: &'f mut Vec<Narrowing>,
    open: VecDeque<Pair<'a>>,
}

impl<'a> Walk<'a, '_> {
    fn compare(&mut self, old: &'a Value, new: &'a Value) {
        let path = Vec::new();
        self.open.push_back(Pair { path, old, new });
        while let Some(pair) = self.open.pop_front() {
            if pair.old == pair.new {
                continue;
            }
            // Schemas come from archives, so both their number of narrowings and their depth are limited.
            if self.found.len() >= limits::NARROWINGS {
                return self.lose(&[], InvalidValue::Uncompared);
            }
            if pair.path.len() >= limits::SCHEMA_DEPTH {
                self.lose(&pair.path, InvalidValue::Uncompared);
                continue;
            }
            self.pair(&pair);
        }
    }

    fn lose(&mut self, path: &[SchemaStep], lost: InvalidValue) {
        let (api, path) = (self.api.to_owned(), path.to_vec());
        self.found.push(Narrowing { api, path, lost });
    }

    fn pair(&mut self, pair: &Pair<'a>) {
        let Pair { path, old, new } = pair;
        let (was, is) = (type_of(old), type_of(new));
        if let Some(is) = is
            && was != Some(is)
            && !widened(was, is)
        {
            // The inner fields do not matter once the type differs.
            return self.lose(path, InvalidValue::Type(is.to_owned()));
        }
        self.values(pair);
        self.required(pair);
        self.fields(pair);
        if let (Some(old), Some(new)) = (old.get("items"), new.get("items")) {
            self.descend(path, SchemaStep::Items, old, new);
        }
    }

    fn descend(&mut self, path: &[SchemaStep], step: SchemaStep, old: &'a Value, new: &'a Value) {
        let path = [path, &[step]].concat();
        self.open.push_back(Pair { path, old, new });
    }

    /// Compares the keywords about the value itself.
    fn values(&mut self, Pair { path, old, new }: &Pair<'a>) {
        let said = |schema: &Value, keyword: &str| schema[keyword] == true;
        if said(old, "nullable") && !said(new, "nullable") {
            self.lose(path, InvalidValue::Null);
        }
        if let Some(now) = new["enum"].as_array() {
            let before = old["enum"].as_array();
            if before.is_none_or(|before| before.iter().any(|value| !now.contains(value))) {
                self.lose(path, InvalidValue::Enum(now.clone()));
            }
        }
        let bound = |schema: &Value, keyword: &str| schema[keyword].as_f64();
        for keyword in UPPER {
            if let Some(now) = bound(new, keyword)
                && bound(old, keyword).is_none_or(|before| now < before)
            {
                self.lose(path, InvalidValue::Bound(keyword, now));
            }
        }
        for keyword in LOWER {
            if let Some(now) = bound(new, keyword)
                && bound(old, keyword).is_none_or(|before| now > before)
            {
                self.lose(path, InvalidValue::Bound(keyword, now));
            }
        }
        for (keyword, of) in EXCLUSIVE {
            if let Some(now) = bound(new, of)
                && said(new, keyword)
                && !said(old, keyword)
            {
                self.lose(path, InvalidValue::Bound(keyword, now));
            }
        }
        for keyword in AS_TEXT {
            let now = &new[keyword];
            if !now.is_null() && *now != false && *now != old[keyword] {
                self.lose(path, InvalidValue::Text(keyword));
            }
        }
        let before: BTreeSet<&str> = rules(old).collect();
        for rule in rules(new).filter(|rule| !before.contains(rule)) {
            self.lose(path, InvalidValue::Rule(rule.to_owned()));
        }
    }

    fn required(&mut self, Pair { path, old, new }: &Pair<'a>) {
        let before: BTreeSet<&str> = required(old).collect();
        for field in required(new).filter(|field| !before.contains(field)) {
            // The API server sets fields with a default.
            if new["properties"][field].get("default").is_none() {
                self.lose(path, InvalidValue::Required(field.to_owned()));
            }
        }
    }

    /// Compares the keywords about fields and their content.
    fn fields(&mut self, Pair { path, old, new }: &Pair<'a>) {
        let (kept, keeps) = (keeps_unknown(old), keeps_unknown(new));
        let [before, after] = [old, new].map(|schema| {
            let values = schema.get("additionalProperties");
            values.filter(|values| values.is_object())
        });
        let is_object = path.is_empty() || old[EMBEDDED] == true;
        let own = |name: &str| is_object && OF_OBJECTS.contains(&name);
        for (name, old) in properties(old).filter(|(name, _)| !own(name)) {
            let step = SchemaStep::Field(name.clone());
            match new["properties"].get(name).or(after) {
                Some(now) => self.descend(path, step, old, now),
                None if keeps => {}
                None => self.lose(&[path, &[step][..]].concat(), InvalidValue::Field),
            }
        }
        // The schema of fields that have no schema by name.
        let unnamed = before.or(kept.then_some(&*ANYTHING));
        if let Some(unnamed) = unnamed {
            let known = &old["properties"];
            let named = properties(new).filter(|(name, _)| known.get(name).is_none());
            for (name, now) in named.filter(|(name, _)| !own(name)) {
                self.descend(path, SchemaStep::Field(name.clone()), unnamed, now);
            }
        }
        match (unnamed, after) {
            (Some(unnamed), Some(after)) => self.descend(path, SchemaStep::Values, unnamed, after),
            (Some(_), None) if !keeps => {
                let known = properties(new).map(|(name, _)| name.as_str());
                let of_objects = OF_OBJECTS.into_iter().filter(|_| is_object);
                let known = known.chain(of_objects).map(str::to_owned).collect();
                self.lose(path, InvalidValue::Unknown(known));
            }
            _ => {}
        }
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let fields = schema["required"].as_array().into_iter().flatten();
    fields.filter_map(Value::as_str)
}

fn rules(schema: &Value) -> impl Iterator<Item = &str> {
    let rules = schema[RULES].as_array().into_iter().flatten();
    rules.filter_map(|rule| rule["rule"].as_str())
}

fn keeps_unknown(schema: &Value) -> bool {
    schema[UNKNOWN] == true || schema["additionalProperties"] == true
}

fn type_of(schema: &Value) -> Option<&str> {
    if schema[INT_OR_STRING] == true {
        return Some(INT_OR_STRING_TYPE);
    }
    schema["type"].as_str()
}

fn widened(was: Option<&str>, is: &str) -> bool {
    matches!(
        (was, is),
        (Some("integer"), "number") | (Some("integer" | "string"), INT_OR_STRING_TYPE)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(schema: &Value) -> Value {
        let schema = json!({ "openAPIV3Schema": schema });
        let version = json!({ "name": "v1", "served": true, "schema": schema });
        json!({ "spec": { "versions": [version] } })
    }

    /// Returns the losses between two schemas, each with its path.
    fn lost(before: &Value, after: &Value) -> Vec<String> {
        let found = narrowings(&crd(before), &crd(after)).into_iter();
        let mut found: Vec<String> = found
            .map(|narrowing| format!("{} {narrowing}", narrowing.path()))
            .collect();
        found.sort();
        found
    }

    /// Checks that a change of a field is a narrowing with these words. The reverse change must be none, unless the
    /// value has only been replaced.
    fn assert_lost(before: &Value, after: &Value, words: &str) {
        let inner = |schema: &Value| json!({ "properties": { "a": schema } });
        let [before, after] = [before, after].map(inner);
        assert_eq!(lost(&before, &after), [format!(".a {words}")]);
        let back = lost(&after, &before);
        let other = ["integer", "2, 3", "pattern is"];
        let other = other.iter().any(|text| words.contains(text));
        assert_eq!(back.is_empty(), !other, "{words}: {back:?}");
    }

    #[test]
    fn bounds_are_compared_with_those_before() {
        for (before, after, words) in [
            (
                json!({ "maximum": 3 }),
                json!({ "maximum": 2 }),
                "maximum is now 2",
            ),
            (json!({}), json!({ "maxLength": 2 }), "maxLength is now 2"),
            (
                json!({ "minItems": 1 }),
                json!({ "minItems": 2 }),
                "minItems is now 2",
            ),
        ] {
            assert_lost(&before, &after, words);
        }
        let exclusive = json!({ "minimum": 1, "exclusiveMinimum": true });
        assert_lost(
            &json!({ "minimum": 1 }),
            &exclusive,
            "exclusiveMinimum is now 1",
        );
    }

    #[test]
    fn types_and_values_are_compared_with_those_before() {
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
        assert_lost(&text, &number, "the type is now integer");
        assert_lost(&json!({}), &text, "the type is now string");
        let [some, others] = [[1, 2], [2, 3]].map(|values| json!({ "enum": values }));
        assert_lost(&some, &others, "only 2, 3 are taken now");
        assert_lost(&json!({}), &some, "only 1, 2 are taken now");
        assert_lost(
            &json!({ "nullable": true }),
            &json!({}),
            "null is no longer taken",
        );
        let required = json!({ "required": ["x"] });
        assert_lost(&json!({}), &required, "the field x is required now");
        let words = "unknown fields are no longer kept";
        assert_lost(&json!({ UNKNOWN: true }), &json!({}), words);
    }

    #[test]
    fn patterns_and_rules_are_compared_as_text() {
        let [pattern, other] = ["a", "b"].map(|pattern| json!({ "pattern": pattern }));
        assert_lost(&pattern, &other, "pattern is new or another one");
        for keyword in ["format", "oneOf"] {
            let words = format!("{keyword} is new or another one");
            assert_lost(&json!({}), &json!({ keyword: "date" }), &words);
        }
        let rule = json!({ RULES: [{ "rule": "self > 1" }] });
        assert_lost(&json!({}), &rule, "a rule is new: self > 1");
    }

    #[test]
    fn what_only_widens_or_describes_takes_nothing_away() {
        let before = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "integer", "maximum": 3, "enum": [1] },
            "b": { "type": "string", "description": "old", "pattern": "a" },
            "m": { "properties": { "x": {} } },
        } });
        let after = json!({ "type": "object", "required": ["c"], "properties": {
            "a": { "type": "number", "maximum": 4.0, "enum": [1, 2] },
            "b": { "x-kubernetes-int-or-string": true, "description": "new" },
            "c": { "default": 1, "type": "integer" },
            "m": { "additionalProperties": {} },
        } });
        assert_eq!(lost(&before, &after), [] as [&str; 0]);
    }

    #[test]
    fn fields_are_found_wherever_they_are_nested() {
        let of = |leaf: Value| {
            let list = json!({ "items": { "properties": { "leaf": leaf } } });
            json!({ "properties": { "spec": { "additionalProperties": list } } })
        };
        let removed = of(Value::Null).to_string().replace(r#""leaf":null"#, "");
        let removed = serde_json::from_str(&removed).unwrap();
        assert_eq!(
            lost(&of(json!({})), &removed),
            [".spec[*][].leaf the field is removed"]
        );
        let odd = json!({ "properties": { "a.b/c": {} } });
        assert_eq!(lost(&odd, &json!({})), ["[a.b/c] the field is removed"]);
    }

    #[test]
    fn what_every_object_has_is_never_lost() {
        let before = json!({ "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "kind": { "type": "string" }, "metadata": { "type": "object" } } });
        let after = json!({ "properties": { "apiVersion": { "type": "string" } } });
        let narrowings = narrowings(&crd(&before), &crd(&after));
        let object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a" } });
        let object = kubernetes::Object::new(object).unwrap();
        assert_eq!(narrowings.len(), 1);
        assert!(!narrowings[0].hits(&object));
    }

    #[test]
    fn fields_that_nobody_specified_before_may_hold_anything() {
        let before = json!({ "x-kubernetes-preserve-unknown-fields": true });
        let after = json!({ "x-kubernetes-preserve-unknown-fields": true, "properties": { "a": { "type": "string" } } });
        assert_eq!(lost(&before, &after), [".a the type is now string"]);
    }

    #[test]
    fn a_map_that_becomes_a_structure_keeps_what_it_names() {
        let map = json!({ "additionalProperties": { "type": "string" } });
        let named =
            json!({ "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } });
        let words = [
            ". unknown fields are no longer kept",
            ".b the type is now integer",
        ];
        assert_eq!(lost(&map, &named), words);
    }

    #[test]
    fn versions_that_are_not_served_are_not_compared() {
        let field = json!({ "properties": { "a": {} } });
        let mut before = crd(&field);
        before["spec"]["versions"][0]["served"] = json!(false);
        assert_eq!(narrowings(&before, &crd(&json!({}))), []);
    }

    #[test]
    fn what_is_too_deep_or_too_much_is_not_compared_and_that_is_told() {
        let nested = |leaf: Value| {
            (0..=limits::SCHEMA_DEPTH).fold(leaf, |inner, _| json!({ "items": inner }))
        };
        let deep = lost(&nested(json!({})), &nested(json!({ "maximum": 1 })));
        assert_eq!(deep.len(), 1, "{deep:?}");
        assert!(deep[0].ends_with("[] what is deeper or follows was not compared"));
        let fields = (0..2 * limits::NARROWINGS).map(|n| (n.to_string(), json!({ "enum": [1] })));
        let fields: serde_json::Map<String, Value> = fields.collect();
        let many = json!({ "properties": fields });
        let before = many.to_string().replace(r#""enum":[1]"#, "");
        let found = narrowings(&crd(&serde_json::from_str(&before).unwrap()), &crd(&many));
        assert_eq!(found.len(), limits::NARROWINGS + 1);
        let object = json!({ "apiVersion": "v1", "kind": "A", "metadata": { "name": "a" } });
        let object = kubernetes::Object::new(object).unwrap();
        assert!(found.last().unwrap().hits(&object));
    }
}
