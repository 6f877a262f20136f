//! What a fleet's file comes to for one Solution in one environment of one cluster: its values, and where each came from.
//!
//! The closest place is filled in first, and the others below it: what something closer decides is not computed at all, so
//! that a cluster without some fact can choose the value by itself.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{ClusterName, SiteSpec, SolutionName};
use serde_json::{Map, Value, json};

use crate::difference::within;
use crate::expression::Evaluator;
use crate::facts::is_known;
use crate::file::ChosenSite;
use crate::strict::{self, Unfit};
use crate::template::{Template, has_expression};
use crate::{ExpressionError, Facts, FleetFile, FleetLayer, Members};

/// The fields that have values by the names of Solutions.
pub(crate) const BY_SOLUTION: [&str; 3] = ["charts", "parameters", "patches"];

/// A Solution in an environment of a cluster, by the places of both in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deployed {
    /// The cluster.
    pub cluster: usize,
    /// The entry of `solutions`.
    pub solution: usize,
}

/// What a site chooses, computed.
#[derive(Debug)]
pub struct ComputedSite {
    /// The values.
    pub site: SiteSpec,
    /// Where each came from, by its JSON Pointer within the values.
    pub origins: BTreeMap<String, ValueOrigin>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// Who chose it.
    pub layer: FleetLayer,
    /// The line of the file.
    pub line: u64,
    /// The text that it was computed from, if it has expressions.
    pub expression: Option<String>,
}

/// The reason why a value cannot be computed for a cluster, and where it stands.
#[derive(Debug, thiserror::Error)]
#[error("{file}, line {line}, cluster {cluster}: {fault}")]
pub struct ComputeError {
    /// The name of the file.
    pub file: String,
    /// The line of the file.
    pub line: u64,
    /// The cluster.
    pub cluster: ClusterName,
    /// What is wrong.
    pub fault: ComputeFault,
}

/// The reason why a value cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeFault {
    /// Something is not known of the cluster.
    #[error("`{text}` needs `{fact}`, which is not known for this cluster")]
    Absent {
        /// The text with the expression.
        text: String,
        /// The fact.
        fact: String,
    },
    /// An expression has no value.
    #[error("`{text}`: {error}")]
    Expression {
        /// The text with the expression.
        text: String,
        /// The reason.
        error: ExpressionError,
    },
    /// The facts of the cluster cannot be used.
    #[error(transparent)]
    Facts(ExpressionError),
    /// A value is none that a site can choose.
    #[error("`{pointer}` (from {from}): {why}")]
    Value {
        /// The place of the value.
        pointer: String,
        /// Who chose it, or parts of it.
        from: String,
        /// The reason.
        why: String,
    },
}

/// Computes the values of a Solution in an environment of a cluster; all that is wrong is told at once.
pub fn compute(
    file: &FleetFile,
    members: &Members<'_>,
    deployed: Deployed,
    facts: &Facts,
) -> Result<ComputedSite, Vec<ComputeError>> {
    let spec = file.spec();
    let solution = &spec.solutions[deployed.solution].name;
    let cluster = &spec.clusters[deployed.cluster].name;
    let variables = facts.variables();
    let evaluator = Evaluator::new(&variables).map_err(|error| {
        let line = file.line(&format!("/spec/clusters/{}", deployed.cluster));
        let fault = ComputeFault::Facts(error);
        vec![error_of(file, cluster, line, fault)]
    })?;
    let mut filling = Filling {
        file,
        cluster,
        solution,
        variables,
        evaluator,
        origins: BTreeMap::new(),
        closed: BTreeSet::new(),
        errors: Vec::new(),
    };
    let mut values = Map::new();
    for mut chosen in closest_first(file, members, deployed) {
        for field in BY_SOLUTION {
            if let Some(mut values) = chosen.site.get(field).cloned() {
                filling.keep_own(&mut values);
                let site = chosen.site.to_mut();
                if values == json!({}) {
                    // It chooses for others alone.
                    site.remove(field);
                } else {
                    site.insert(field.to_owned(), values);
                }
            }
        }
        filling.fill(&chosen, &chosen.site, &mut values, "");
    }
    if !filling.errors.is_empty() {
        return Err(filling.errors);
    }
    match strict::read(&values) {
        Ok(site) => Ok(ComputedSite {
            site,
            origins: filling.origins,
        }),
        Err(unfit) => Err(unfit.into_iter().map(|it| filling.unfit(it)).collect()),
    }
}

/// Who chooses for a Solution in an environment of a cluster.
fn closest_first<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    deployed: Deployed,
) -> Vec<ChosenSite<'a>> {
    let mut all = vec![
        file.site_of_fleet(),
        file.site_of_solution(deployed.solution),
    ];
    let groups = members.groups_of(deployed.cluster).into_iter();
    all.extend(groups.map(|at| file.site_of_group(at)));
    all.push(file.site_of_cluster(deployed.cluster));
    all.reverse();
    all
}

fn error_of(
    file: &FleetFile,
    cluster: &ClusterName,
    line: u64,
    fault: ComputeFault,
) -> ComputeError {
    ComputeError {
        file: file.name().to_owned(),
        line,
        cluster: cluster.clone(),
        fault,
    }
}

/// Values that are filled in, the closest place first.
struct Filling<'a> {
    file: &'a FleetFile,
    cluster: &'a ClusterName,
    solution: &'a SolutionName,
    variables: Map<String, Value>,
    evaluator: Evaluator,
    origins: BTreeMap<String, ValueOrigin>,
    /// The maps below which something replaced what is farther: nothing of that is added to them.
    closed: BTreeSet<String>,
    errors: Vec<ComputeError>,
}

impl Filling<'_> {
    /// Fills in what is not decided yet.
    fn fill(
        &mut self,
        chosen: &ChosenSite<'_>,
        from: &Map<String, Value>,
        into: &mut Map<String, Value>,
        path: &str,
    ) {
        if !from.is_empty() {
            // An empty map that is filled is no value of its own any more.
            self.origins.remove(path);
        }
        for (key, value) in from {
            let path = within(path, key);
            match (into.get_mut(key), value) {
                (None, value) => {
                    let computed = self.computed(chosen, value, &path);
                    into.extend(computed.map(|value| (key.clone(), value)));
                }
                (Some(Value::Object(_)), _) if self.closed.contains(&path) => {}
                (Some(Value::Object(into)), Value::Object(from)) => {
                    self.fill(chosen, from, into, &path);
                }
                (Some(Value::Object(into)), Value::String(text)) if has_expression(text) => {
                    match self.evaluated(chosen, text, &path) {
                        Some(Value::Object(from)) => {
                            let origin = self.origin(chosen, &path, Some(text));
                            self.add(&origin, from, into, &path);
                        }
                        _ => drop(self.closed.insert(path)),
                    }
                }
                (Some(Value::Object(_)), _) => drop(self.closed.insert(path)),
                (Some(_), _) => {}
            }
        }
    }

    /// Fills in what an expression gave.
    fn add(
        &mut self,
        origin: &ValueOrigin,
        from: Map<String, Value>,
        into: &mut Map<String, Value>,
        path: &str,
    ) {
        if !from.is_empty() {
            self.origins.remove(path);
        }
        for (key, value) in from {
            let path = within(path, &key);
            match (into.get_mut(&key), value) {
                (None, value) => {
                    self.record(origin, &value, &path);
                    into.insert(key, value);
                }
                (Some(Value::Object(_)), _) if self.closed.contains(&path) => {}
                (Some(Value::Object(into)), Value::Object(from)) => {
                    self.add(origin, from, into, &path);
                }
                (Some(Value::Object(_)), _) => drop(self.closed.insert(path)),
                (Some(_), _) => {}
            }
        }
    }

    /// Computes a value with all that is within it.
    fn computed(&mut self, chosen: &ChosenSite<'_>, value: &Value, path: &str) -> Option<Value> {
        match value {
            Value::String(text) if has_expression(text) => {
                let value = self.evaluated(chosen, text, path)?;
                let origin = self.origin(chosen, path, Some(text));
                self.record(&origin, &value, path);
                Some(value)
            }
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                let computed = items
                    .map(|(at, item)| self.computed(chosen, item, &within(path, &at.to_string())));
                // All are computed, so that all errors are told.
                let computed: Vec<Option<Value>> = computed.collect();
                computed
                    .into_iter()
                    .collect::<Option<_>>()
                    .map(Value::Array)
            }
            Value::Object(fields) if !fields.is_empty() => {
                let mut computed = Map::new();
                self.fill(chosen, fields, &mut computed, path);
                Some(Value::Object(computed))
            }
            plain => {
                let origin = self.origin(chosen, path, None);
                self.record(&origin, plain, path);
                Some(plain.clone())
            }
        }
    }

    /// Computes a text with expressions.
    fn evaluated(&mut self, chosen: &ChosenSite<'_>, text: &str, path: &str) -> Option<Value> {
        let line = self.file.line(&format!("{}{path}", chosen.pointer));
        let text = || text.to_owned();
        let template = match Template::parse(&text()) {
            Ok(template) => template,
            Err(error) => {
                let text = text();
                return self.wrong(line, ComputeFault::Expression { text, error });
            }
        };
        let absent = template.references().into_iter();
        let absent: Vec<String> = absent
            .filter(|fact| !is_known(fact, &self.variables))
            .map(str::to_owned)
            .collect();
        if !absent.is_empty() {
            for fact in absent {
                let text = text();
                self.wrong(line, ComputeFault::Absent { text, fact });
            }
            return None;
        }
        match template.evaluate(&self.evaluator) {
            Ok(mut value) => {
                if BY_SOLUTION.iter().any(|field| within("", field) == path) {
                    self.keep_own(&mut value);
                }
                Some(value)
            }
            Err(error) => {
                let text = text();
                self.wrong(line, ComputeFault::Expression { text, error })
            }
        }
    }

    /// Leaves of values by the names of Solutions only those of this one.
    fn keep_own(&self, values: &mut Value) {
        if let Value::Object(all) = values {
            all.retain(|name, _| name == self.solution.as_str());
        }
    }

    fn origin(&self, chosen: &ChosenSite<'_>, path: &str, text: Option<&str>) -> ValueOrigin {
        ValueOrigin {
            layer: chosen.layer.clone(),
            line: self.file.line(&format!("{}{path}", chosen.pointer)),
            expression: text.map(str::to_owned),
        }
    }

    /// Remembers where a value and all that is within it came from.
    fn record(&mut self, origin: &ValueOrigin, value: &Value, path: &str) {
        match value {
            Value::Array(items) if !items.is_empty() => {
                for (at, item) in items.iter().enumerate() {
                    self.record(origin, item, &within(path, &at.to_string()));
                }
            }
            Value::Object(fields) if !fields.is_empty() => {
                for (key, value) in fields {
                    self.record(origin, value, &within(path, key));
                }
            }
            _ => drop(self.origins.insert(path.to_owned(), origin.clone())),
        }
    }

    fn wrong(&mut self, line: u64, fault: ComputeFault) -> Option<Value> {
        let error = error_of(self.file, self.cluster, line, fault);
        self.errors.push(error);
        None
    }

    /// A value that cannot be chosen, with who chose what of it.
    fn unfit(&self, Unfit { pointer, why }: Unfit) -> ComputeError {
        let is_in = |place: &str| {
            let rest = place.strip_prefix(pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let origins = self.origins.iter().filter(|(place, _)| is_in(place));
        let origins: Vec<&ValueOrigin> = origins.map(|(_, origin)| origin).collect();
        let mut layers: Vec<String> = Vec::new();
        for origin in &origins {
            let layer = origin.layer.to_string();
            if !layers.contains(&layer) {
                layers.push(layer);
            }
        }
        let line = origins.first().map_or(0, |origin| origin.line);
        let from = layers.join(", ");
        let fault = ComputeFault::Value { pointer, from, why };
        error_of(self.file, self.cluster, line, fault)
    }
}

#[cfg(test)]
mod tests;
