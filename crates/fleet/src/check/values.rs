//! Checks of the values of one layer. They need no cluster, so an expression is only parsed, and its facts are compared
//! with the known ones. [`wrong_values`] is the entry point.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{FactName, FactQuery, nearest};
use serde_json::{Map, Value};

use super::NEAR;
use crate::difference::within;
use crate::expression::ExpressionError;
use crate::file::ChosenSite;
use crate::strict::{self, Unfit};
use crate::template::{Template, has_expression};
use crate::{FACTS, FleetFault};

/// The fields of a site that a fleet can set.
const FIELDS: [&str; 5] = ["charts", "parameters", "patches", "pullSecret", "workloads"];

/// Fields of a site's file that a fleet sets in its entries of `clusters`.
const CLUSTERS_FIELDS: [&str; 3] = ["certificateAuthority", "pullRegistry", "registry"];

/// Variables that an expression may use as a whole. Fields that they lack are not required.
const WHOLE: [&str; 3] = ["cluster", "facts", "network"];

/// Returns the faults in the values of one layer, each with its JSON Pointer, and adds the facts that they use to
/// `used`.
pub(super) fn wrong_values(
    chosen: &ChosenSite<'_>,
    facts: &BTreeMap<FactName, FactQuery>,
    used: &mut BTreeSet<String>,
) -> Vec<(String, FleetFault)> {
    let mut judging = Judging {
        chosen,
        facts,
        used,
        found: Vec::new(),
    };
    judging.map(&chosen.site, "");
    judging.fields();
    judging.found
}

struct Judging<'a> {
    chosen: &'a ChosenSite<'a>,
    facts: &'a BTreeMap<FactName, FactQuery>,
    used: &'a mut BTreeSet<String>,
    found: Vec<(String, FleetFault)>,
}

impl Judging<'_> {
    fn wrong(&mut self, pointer: &str, fault: FleetFault) {
        self.found.push((pointer.to_owned(), fault));
    }

    /// Checks that the fields exist, and that values without expressions are valid.
    fn fields(&mut self) {
        let mut known = Map::new();
        for (field, value) in self.chosen.site.iter() {
            let (of, pointer) = (self.chosen.layer.clone(), within("", field));
            if FIELDS.contains(&field.as_str()) {
                known.insert(field.clone(), value.clone());
            } else if CLUSTERS_FIELDS.contains(&field.as_str()) {
                let field = field.clone();
                self.wrong(&pointer, FleetFault::ClustersField { of, field });
            } else {
                let near = nearest(field, FIELDS, NEAR);
                let field = field.clone();
                self.wrong(&pointer, FleetFault::UnknownField { of, field, near });
            }
        }
        for Unfit { pointer, why } in strict::judge(&known) {
            let of = self.chosen.layer.clone();
            let place = pointer.clone();
            self.wrong(&place, FleetFault::Value { of, pointer, why });
        }
    }

    fn map(&mut self, fields: &Map<String, Value>, path: &str) {
        for (key, value) in fields {
            let path = within(path, key);
            if has_expression(key) {
                let (of, key) = (self.chosen.layer.clone(), key.clone());
                self.wrong(&path, FleetFault::Key { of, key });
            }
            self.value(value, &path);
        }
    }

    fn value(&mut self, value: &Value, path: &str) {
        match value {
            Value::String(text) if has_expression(text) => self.text(text, path),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.value(item, &within(path, &at.to_string()));
                }
            }
            Value::Object(fields) => self.map(fields, path),
            _ => {}
        }
    }

    fn text(&mut self, text: &str, path: &str) {
        let template = match Template::parse(text) {
            Ok(template) => template,
            Err(source) => return self.unreadable(text, path, source),
        };
        for name in template.references() {
            self.used.insert(name.to_owned());
            if !self.is_fact(name) {
                let fault = FleetFault::UnknownFact {
                    text: text.to_owned(),
                    name: name.to_owned(),
                    near: self.near(name),
                };
                self.wrong(path, fault);
            }
        }
    }

    fn unreadable(&mut self, text: &str, path: &str, source: ExpressionError) {
        let text = text.to_owned();
        self.wrong(path, FleetFault::Expression(text, source));
    }

    fn is_fact(&self, name: &str) -> bool {
        let own = name.strip_prefix("facts.");
        let is_own = own.is_some_and(|own| self.facts.keys().any(|fact| fact.as_str() == own));
        is_own || FACTS.contains(&name) || WHOLE.contains(&name)
    }

    fn near(&self, name: &str) -> Option<String> {
        let own = self.facts.keys().map(|fact| format!("facts.{fact}"));
        let all: Vec<String> = FACTS.into_iter().map(str::to_owned).chain(own).collect();
        nearest(name, &all, NEAR).cloned()
    }
}
