//! The values that a fleet gives to one Solution in one environment of one cluster, and the origin of each. [`compute`]
//! is the entry point.
//!
//! The layer with the highest precedence is filled in first, and lower layers only add missing values. An overridden
//! expression is therefore never evaluated, so a cluster that lacks a fact can override the values that need it.

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

/// The fields of a site that are maps by Solution name.
pub(crate) const BY_SOLUTION: [&str; 3] = ["charts", "parameters", "patches"];

/// A deployment of a Solution in a cluster, as indexes into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeploymentIndex {
    /// The cluster.
    pub cluster: usize,
    /// The entry of `solutions`.
    pub solution: usize,
}

/// Evaluated site values.
#[derive(Debug)]
pub struct ComputedSite {
    /// The values.
    pub site: SiteSpec,
    /// The origin of each value, by its JSON Pointer within the values.
    pub origins: BTreeMap<String, ValueOrigin>,
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueOrigin {
    /// The layer that set it.
    pub layer: FleetLayer,
    /// The line of the file.
    pub line: u64,
    /// The text with expressions from which it was evaluated, if any.
    pub expression: Option<String>,
}

/// The error of a value that cannot be evaluated for a cluster, with its place.
#[derive(Debug, thiserror::Error)]
#[error("{file}, line {line}, cluster {cluster}: {fault}")]
pub struct ComputeError {
    /// The name of the file.
    pub file: String,
    /// The line of the file.
    pub line: u64,
    /// The cluster.
    pub cluster: ClusterName,
    /// The fault.
    pub fault: ComputeFault,
}

/// The fault of a value that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeFault {
    /// A required fact about the cluster is unknown.
    #[error("`{text}` needs `{fact}`, which is not known for this cluster")]
    Absent {
        /// The text with the expression.
        text: String,
        /// The fact.
        fact: String,
    },
    /// The evaluation of an expression failed.
    #[error("`{text}`: {error}")]
    Expression {
        /// The text with the expression.
        text: String,
        /// The reason.
        error: ExpressionError,
    },
    /// The facts of the cluster are not valid.
    #[error(transparent)]
    Facts(ExpressionError),
    /// The value is not valid for a site.
    #[error("`{pointer}` (from {from}): {why}")]
    Value {
        /// The place of the value.
        pointer: String,
        /// The layers that set it or parts of it.
        from: String,
        /// The reason.
        why: String,
    },
}

/// Evaluates the values of a deployment.
///
/// # Errors
///
/// Returns all faults at once, each with its line.
pub fn compute(
    file: &FleetFile,
    members: &Members<'_>,
    deployed: DeploymentIndex,
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
                    // The layer only has values for other Solutions. An empty map would count as a value.
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
        Err(unfit) => Err(unfit.into_iter().map(|part| filling.unfit(part)).collect()),
    }
}

/// Returns the layers of a deployment, the highest precedence first.
fn closest_first<'a>(
    file: &'a FleetFile,
    members: &Members<'_>,
    deployed: DeploymentIndex,
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

/// The state while layers are merged, the highest precedence first.
struct Filling<'a> {
    file: &'a FleetFile,
    cluster: &'a ClusterName,
    solution: &'a SolutionName,
    variables: Map<String, Value>,
    evaluator: Evaluator,
    origins: BTreeMap<String, ValueOrigin>,
    /// Maps for which a lower layer has a value of another type. This value hides the maps of all layers below it, so
    /// nothing is added any more.
    closed: BTreeSet<String>,
    errors: Vec<ComputeError>,
}

impl Filling<'_> {
    /// Adds the values of a layer that no higher layer has set.
    fn fill(
        &mut self,
        chosen: &ChosenSite<'_>,
        from: &Map<String, Value>,
        into: &mut Map<String, Value>,
        path: &str,
    ) {
        if !from.is_empty() {
            // An empty map is recorded as a value. It is none once it gets entries.
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

    /// Adds the entries of a map that an expression returned.
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

    /// Evaluates a value and all values within it.
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
                // All items are evaluated before the result is checked, so that all errors are reported.
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

    /// Evaluates a text with expressions.
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

    /// Removes the entries of other Solutions.
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

    /// Records the origin of a value and of all values within it.
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

    /// Returns the error of an invalid value, with the layers that set its parts.
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
