//! `solution fleet values`: shows the values of each cluster, computed from the fleet's file and the facts of the
//! cluster. It shows the origin of each value, because several layers of the file can set it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use clap::Args;
use fleet::{ComputedSite, FleetFile, Members, ValueOrigin};
use schemars::JsonSchema;
use schemas::{API_VERSION, yaml};
use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::SelectionArguments;
use super::check::{read, refused};
use super::connection::Connections;
use super::file_source::{ComputedDeployment, ComputedMember, compute};
use super::{note_problem, worst};
use crate::args::{Output, ReadArguments};
use crate::commands::blocked::ShownBlocker;
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show the values of each cluster of a fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command prints a site configuration (YAML) for each Solution in an environment. Clusters with equal values \
share one. It reads what expressions need from the clusters; a cluster that does not answer within --timeout \
does not hide the others. It writes nothing.

--kubeconfig and --context select the cluster with the Cluster API objects in the file.

Exit codes: 1 a value cannot be computed or a cluster has another UID than in the file, else 3 a cluster cannot \
be reached.

Examples:
  solution fleet values fleet.yaml
  solution fleet values fleet.yaml --explain
  solution fleet values fleet.yaml --cluster 'par*' --group prod")]
pub(crate) struct Arguments {
    /// The fleet file (`fleet.yaml`)
    file: PathBuf,

    /// Show the source and the expression of each value
    #[arg(long)]
    explain: bool,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = read(&arguments.file)?;
    if let Some(outcome) = refused(&file, &arguments.file, output) {
        return Ok(outcome);
    }
    let places = arguments.selection.resolve(&file)?;
    let reaching = Connections::to_read(&file, &arguments.file, &arguments.cluster)?;
    let members = Members::of(file.spec());
    let found = cluster::block_on(async {
        let found = reaching.each(&places, async |at, member| {
            compute(&file, &members, at, member).await
        });
        Ok(found.await)
    })?;
    let all = places.iter().zip(found);
    let all = all.map(|(at, computed)| ComputedCluster::of(&file, *at, computed));
    let all: Vec<ComputedCluster> = all.collect();
    Ok(show(&file, &all, arguments.explain, output))
}

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
    pub(super) problem: Option<ShownBlocker>,
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
                problem: Some(ShownBlocker::from(&failure)),
                unseen: Vec::new(),
                deployments: Vec::new(),
            },
            Ok(member) => {
                let deployments = member.deployments.into_iter();
                let deployments =
                    deployments.map(|deployment| ComputedValues::of(file, deployment));
                let deployments: Vec<ComputedValues> = deployments.collect();
                let is_whole = deployments
                    .iter()
                    .all(|deployment| deployment.errors.is_empty());
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

/// Returns the single values of a site configuration.
fn values(site: &Value, origins: BTreeMap<String, ValueOrigin>) -> Vec<ComputedValue> {
    // Empty and default values have no effect, and a site does not contain them.
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

pub(super) fn show(
    file: &FleetFile,
    clusters: &[ComputedCluster],
    explain: bool,
    output: Output,
) -> Outcome {
    let all = FleetValues {
        fleet: file.document().metadata.name.as_str(),
        clusters,
    };
    render::result(output, &all, |all| {
        if explain {
            explained(all.clusters);
        } else {
            documents(all.clusters);
        }
        problems(all.clusters);
    });
    worst(clusters.iter().map(|cluster| cluster.outcome))
}

/// Prints the site configuration of each deployment, once for clusters with equal values.
fn documents(clusters: &[ComputedCluster]) {
    let all = clusters.iter().flat_map(|cluster| {
        let deployments = cluster.deployments.iter();
        deployments.map(move |deployment| (deployment, cluster.name.as_str()))
    });
    let is_same = |one: &ComputedValues, other: &ComputedValues| {
        (&one.deployment, &one.spec, &one.errors) == (&other.deployment, &other.spec, &other.errors)
    };
    for (deployment, names) in grouped(all, is_same) {
        let names = render::list(names);
        let ComputedValues {
            deployment,
            spec,
            errors,
            ..
        } = deployment;
        for error in errors {
            render::note!("error: {names}: {deployment}: {error}");
        }
        if errors.is_empty() {
            render::line!("---");
            render::line!("# {deployment} on {names}");
            let document = json!({ "apiVersion": API_VERSION, "kind": "Site", "spec": spec });
            render::lines("", yaml::to_string(&document).lines());
        }
    }
}

/// Prints each value with its origin, once for clusters with equal values and origins.
fn explained(clusters: &[ComputedCluster]) {
    let asked = clusters.iter().filter(|cluster| cluster.problem.is_none());
    let all = asked.map(|cluster| (cluster.deployments.as_slice(), cluster.name.as_str()));
    for (deployments, names) in grouped(all, |one, other| one == other) {
        render::line!("{}", render::list(names));
        for ComputedValues {
            deployment,
            values,
            errors,
            ..
        } in deployments
        {
            render::line!("  {deployment}");
            render::lines("    ", values);
            render::lines("    error: ", errors);
        }
    }
}

/// Groups the names of equal items, in the order of the first name.
fn grouped<'a, T: ?Sized>(
    all: impl Iterator<Item = (&'a T, &'a str)>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<(&'a T, Vec<&'a str>)> {
    let mut groups: Vec<(&T, Vec<&str>)> = Vec::new();
    for (one, name) in all {
        match groups.iter_mut().find(|(other, _)| is_same(one, other)) {
            Some((_, names)) => names.push(name),
            None => groups.push((one, vec![name])),
        }
    }
    groups
}

/// Reports the clusters that could not be queried, and the facts that could not be read.
fn problems(clusters: &[ComputedCluster]) {
    let mut unseen: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cluster in clusters {
        for why in &cluster.unseen {
            unseen.entry(why).or_default().push(&cluster.name);
        }
        note_problem(&cluster.name, cluster.problem.as_ref());
    }
    for (why, names) in unseen {
        render::note!("note: {}: {why}", render::list(names));
    }
}
