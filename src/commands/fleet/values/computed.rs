//! What the clusters of a fleet choose, for programs.

use std::collections::BTreeMap;
use std::fmt;

use fleet::{ComputedSite, FleetFile, ValueOrigin};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::super::compute::{ComputedDeployment, ComputedMember};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// The values of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetValues<'a> {
    /// The fleet's name.
    pub(super) fleet: &'a str,
    /// The clusters, in the order of the file.
    pub(super) clusters: &'a [ComputedCluster],
}

/// A cluster and its values.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComputedCluster {
    /// The cluster's name.
    pub(super) name: String,
    /// The reason why it could not be queried; null if it was.
    pub(super) problem: Option<InTheWay>,
    /// Objects that this user may not read, so that expressions cannot use them.
    pub(super) unseen: Vec<String>,
    /// The deployments there.
    pub(super) deployments: Vec<ComputedValues>,
    #[serde(skip)]
    pub(super) outcome: Outcome,
}

/// The values of a cluster for a Solution in an environment.
#[derive(PartialEq, Serialize, JsonSchema)]
pub(crate) struct ComputedValues {
    /// The Solution, its version and the environment, as `NAME VERSION in ENVIRONMENT`.
    pub(super) deployment: String,
    /// The values, each with where it comes from.
    pub(super) values: Vec<ComputedValue>,
    /// The values as the `spec` of a site's file. In JSON `values` has them.
    #[serde(skip)]
    pub(super) spec: Value,
    /// The values that cannot be computed.
    pub(super) errors: Vec<String>,
}

/// A value, and where it comes from.
#[derive(PartialEq, Serialize, JsonSchema)]
pub(crate) struct ComputedValue {
    /// Its place in the `spec` of a site's file: a JSON Pointer.
    pointer: String,
    /// The value.
    value: Value,
    /// Who chose it: `fleet`, `solution NAME in ENVIRONMENT`, `group NAME` or `cluster NAME`.
    from: String,
    /// The line of the file.
    line: u64,
    /// The expression that it was computed from; null if it is a literal.
    expression: Option<String>,
}

impl ComputedCluster {
    pub(super) fn of(file: &FleetFile, at: usize, found: Result<ComputedMember, Failure>) -> Self {
        let name = file.spec().clusters[at].name.to_string();
        match found {
            Err(failure) => Self {
                name,
                outcome: failure.outcome(),
                problem: Some(InTheWay::from(&failure)),
                unseen: Vec::new(),
                deployments: Vec::new(),
            },
            Ok(member) => {
                let deployments = member.deployments.into_iter();
                let deployments = deployments.map(|it| ComputedValues::of(file, it));
                let deployments: Vec<ComputedValues> = deployments.collect();
                let is_whole = deployments.iter().all(|it| it.errors.is_empty());
                Self {
                    name,
                    outcome: if is_whole { Outcome::Yes } else { Outcome::No },
                    problem: None,
                    unseen: member.found.unseen,
                    deployments,
                }
            }
        }
    }
}

impl ComputedValues {
    fn of(file: &FleetFile, computed: ComputedDeployment) -> Self {
        let deployment = file.spec().solutions[computed.solution].to_string();
        match computed.values {
            Ok(ComputedSite { site, origins }) => {
                let spec = serde_json::to_value(site).unwrap_or_default();
                Self {
                    deployment,
                    values: values(&spec, origins),
                    spec,
                    errors: Vec::new(),
                }
            }
            Err(errors) => Self {
                deployment,
                values: Vec::new(),
                spec: Value::Null,
                errors: errors.iter().map(ToString::to_string).collect(),
            },
        }
    }
}

/// The values of a site, one by one.
fn values(site: &Value, origins: BTreeMap<String, ValueOrigin>) -> Vec<ComputedValue> {
    // What is empty, or as it is by default, chooses nothing.
    let value = |(pointer, origin): (String, ValueOrigin)| {
        Some(ComputedValue {
            value: site.pointer(&pointer)?.clone(),
            from: origin.layer.to_string(),
            line: origin.line,
            expression: origin.expression,
            pointer,
        })
    };
    origins.into_iter().filter_map(value).collect()
}

impl fmt::Display for ComputedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pointer,
            value,
            from,
            line,
            expression,
        } = self;
        write!(f, "{pointer} {value} ({from}, line {line}")?;
        if let Some(expression) = expression {
            write!(f, ": {expression}")?;
        }
        f.write_str(")")
    }
}
