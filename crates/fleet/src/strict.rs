//! Strict parsing of site values from a fleet, with the rules for a site configuration. Each part is parsed separately,
//! so that every fault is reported with its place. [`read`] parses evaluated values, and [`judge`] checks values that
//! still have expressions.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemas::{NameError, SiteSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::difference::within;
use crate::template::has_expression;

/// A part that is not valid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfit {
    /// The place within the values, as a JSON Pointer.
    pub(crate) pointer: String,
    /// The reason.
    pub(crate) why: String,
}

/// Parses evaluated values.
///
/// # Errors
///
/// Returns all parts that are not valid.
pub(crate) fn read(values: &Map<String, Value>) -> Result<SiteSpec, Vec<Unfit>> {
    let mut reading = Reading::default();
    let spec = reading.checked(values);
    if reading.unfit.is_empty() {
        Ok(spec)
    } else {
        Err(reading.unfit)
    }
}

/// Returns the parts that are not valid. Parts with expressions are skipped.
pub(crate) fn judge(values: &Map<String, Value>) -> Vec<Unfit> {
    let mut reading = Reading {
        passes_over_expressions: true,
        ..Reading::default()
    };
    reading.checked(values);
    reading.unfit
}

#[derive(Default)]
struct Reading {
    unfit: Vec<Unfit>,
    passes_over_expressions: bool,
}

impl Reading {
    /// Returns the parts that can be parsed, and checks that they are consistent.
    fn checked(&mut self, values: &Map<String, Value>) -> SiteSpec {
        let spec = self.spec(values);
        if self.unfit.is_empty()
            && let Err(error) = spec.check()
        {
            self.wrong("", error.to_string());
        }
        spec
    }

    fn spec(&mut self, values: &Map<String, Value>) -> SiteSpec {
        let mut spec = SiteSpec::default();
        for (field, value) in values {
            let pointer = within("", field);
            match field.as_str() {
                "pullSecret" => spec.pull_secret = self.one(value, &pointer),
                "workloads" => spec.workloads = self.list(value, &pointer),
                "parameters" => {
                    spec.parameters = self.map(value, &pointer, |reading, value, pointer| {
                        Some(reading.map(value, pointer, Self::one))
                    });
                }
                "charts" => {
                    spec.charts = self.map(value, &pointer, |reading, value, pointer| {
                        Some(reading.map(value, pointer, Self::one))
                    });
                }
                "patches" => {
                    spec.patches = self.map(value, &pointer, |reading, value, pointer| {
                        Some(reading.list(value, pointer))
                    });
                }
                _ => self.wrong(&pointer, "there is no such field".to_owned()),
            }
        }
        spec
    }

    fn wrong(&mut self, pointer: &str, why: String) {
        let pointer = pointer.to_owned();
        self.unfit.push(Unfit { pointer, why });
    }

    fn one<T: DeserializeOwned>(&mut self, value: &Value, pointer: &str) -> Option<T> {
        if self.passes_over_expressions && is_open(value) {
            return None;
        }
        let read = T::deserialize(value);
        read.map_err(|error| self.wrong(pointer, error.to_string()))
            .ok()
    }

    fn list<T: DeserializeOwned>(&mut self, value: &Value, pointer: &str) -> Vec<T> {
        let Value::Array(items) = value else {
            self.other_than("a list", value, pointer);
            return Vec::new();
        };
        let items = items.iter().enumerate();
        let read = items.filter_map(|(at, item)| self.one(item, &within(pointer, &at.to_string())));
        read.collect()
    }

    fn map<K: FromStr<Err = NameError> + Ord, V>(
        &mut self,
        value: &Value,
        pointer: &str,
        mut each: impl FnMut(&mut Self, &Value, &str) -> Option<V>,
    ) -> BTreeMap<K, V> {
        let Value::Object(fields) = value else {
            self.other_than("a map", value, pointer);
            return BTreeMap::new();
        };
        let mut all = BTreeMap::new();
        for (key, value) in fields {
            let pointer = within(pointer, key);
            match key.parse::<K>() {
                Ok(key) => all.extend(each(self, value, &pointer).map(|value| (key, value))),
                Err(error) => self.wrong(&pointer, error.to_string()),
            }
        }
        all
    }

    fn other_than(&mut self, expected: &str, value: &Value, pointer: &str) {
        if !(self.passes_over_expressions && is_open(value)) {
            self.wrong(pointer, format!("expected {expected}"));
        }
    }
}

/// Returns whether a value, or one within it, has expressions.
fn is_open(value: &Value) -> bool {
    match value {
        Value::String(text) => has_expression(text),
        Value::Array(items) => items.iter().any(is_open),
        Value::Object(fields) => fields.values().any(is_open),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Map<String, Value> {
        schemas::yaml::from_slice(text.as_bytes()).unwrap()
    }

    #[test]
    fn all_that_is_wrong_is_told_with_its_place() {
        let wrong = values(
            "{pullSecret: A_B,
              parameters: {Shop: {size: 1}, shop: {size: 1}, cart: 5},
              charts: {shop: {db: {value: {}}}},
              workloads: [{set: {replicas: 2}}, {set: {image: x}}, {set: {env: {A: 1}}}],
              patches: {shop: {}}, registry: r.test}",
        );
        let unfit = read(&wrong).unwrap_err();
        let places: Vec<&str> = unfit.iter().map(|part| part.pointer.as_str()).collect();
        let expected = [
            "/charts/shop/db",
            "/parameters/Shop",
            "/parameters/cart",
            "/patches/shop",
            "/pullSecret",
            "/registry",
            "/workloads/1",
            "/workloads/2",
        ];
        assert_eq!(places, expected, "{unfit:?}");
        assert!(unfit[6].why.contains("unknown field `image`"), "{unfit:?}");
        assert!(unfit[7].why.contains("expected a string"), "{unfit:?}");
    }

    #[test]
    fn what_contradicts_itself_is_refused_as_in_a_sites_file() {
        let twice = values("{workloads: [{set: {}}, {set: {}}]}");
        let unfit = read(&twice).unwrap_err();
        assert_eq!(unfit[0].why, "two entries in `workloads` are for *");
        assert_eq!(judge(&twice), unfit);
    }

    #[test]
    fn what_is_not_computed_yet_is_passed_over_and_nothing_else() {
        let open = values(
            "{workloads: [{set: {replicas: '${nodes.count}'}}, {set: {image: x}}],
              parameters: '${facts.all}', charts: {shop: {db: {values: {a: '${1}'}}}}, pullSecret: '${facts.secret}'}",
        );
        let unfit = judge(&open);
        assert_eq!(unfit.len(), 1, "{unfit:?}");
        assert_eq!(unfit[0].pointer, "/workloads/1");
        assert_eq!(read(&open).unwrap_err().len(), 4);
    }
}
