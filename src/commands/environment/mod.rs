//! `solution environment`: creates, lists and describes environments, which are labelled namespaces. A namespace that
//! differs from its record is reported.

pub(super) mod delete;

use clap::{Args, Subcommand};
use importer::{
    AdoptionPolicy, Consent, DeployedOperator, Description, EnvironmentNamespace, Identity,
    NamespaceDescription, Origin, Quota,
};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace};
use serde::Serialize;

use self::delete::DeleteArguments;
use super::change::change;
use super::give;
use super::status::Hinted;
use super::status::show::{self, show_operator};
use crate::args::{ChangeArguments, ClusterArguments, Output, ReadArguments, choose};
use crate::cluster;
use crate::failure::{Failure, Outcome};
use crate::render::{self, Row};

/// Manage environments and their namespaces
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(CreateArguments),
    Delete(DeleteArguments),
    List(ListArguments),
    Describe(DescribeArguments),
}

/// Create an environment, or add a namespace to one
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution environment create test --description 'for the testers'
  solution environment create prod --namespace shop")]
pub(crate) struct CreateArguments {
    /// The name of the environment
    environment: EnvironmentName,

    /// The namespace of the environment [default: the name of the environment]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The description of the environment
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Adopt an existing namespace that belongs to no environment. It is kept when the environment is deleted
    #[arg(long, value_name = "WHAT", value_parser = ["namespace"])]
    adopt: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    wait: ChangeArguments,
}

pub(super) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Create(arguments) => create(arguments, output),
        Command::Delete(arguments) => delete::run(&arguments, output),
        Command::List(arguments) => list(&arguments, output),
        Command::Describe(arguments) => describe(&arguments, output),
    }
}

fn create(arguments: CreateArguments, output: Output) -> Result<Outcome, Failure> {
    let usual = || importer::default_namespace(&arguments.environment);
    let namespace = arguments.namespace.unwrap_or_else(usual);
    let adopt = choose(
        arguments.adopt.is_some(),
        AdoptionPolicy::Allow,
        AdoptionPolicy::Refuse,
    );
    let description = arguments.description.as_deref();
    let environment = arguments.environment;
    let dry_run = false;
    change(
        &arguments.cluster,
        &arguments.wait,
        dry_run,
        output,
        async |change| {
            importer::create_environment(change, &environment, &namespace, description, adopt).await
        },
    )?;
    let created = CreatedEnvironment {
        environment,
        namespace,
    };
    Ok(give(output, &created, |created_environment| {
        let (environment, namespace) = (
            &created_environment.environment,
            &created_environment.namespace,
        );
        render::line!("environment {environment} exists, in namespace {namespace}");
    }))
}

/// A namespace that an environment has got.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CreatedEnvironment {
    /// The environment.
    environment: EnvironmentName,
    /// The namespace.
    namespace: Namespace,
}

/// The headings of the list.
const TITLES: [&str; 5] = [
    "ENVIRONMENT",
    "NAMESPACE",
    "STATUS",
    "SOLUTIONS",
    "DESCRIPTION",
];

/// List environments and their namespaces
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution environment list --output json")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    cluster: ReadArguments,
}

/// The environments of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Environments {
    /// Each of their namespaces.
    environments: Vec<EnvironmentNamespace>,
}

fn list(arguments: &ListArguments, output: Output) -> Result<Outcome, Failure> {
    let environments = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::environments(cluster).await?)
    })?;
    let listed = Environments { environments };
    Ok(give(output, &listed, |listed| {
        show_list(&listed.environments);
    }))
}

fn show_list(spaces: &[EnvironmentNamespace]) {
    if spaces.is_empty() {
        return render::line("no environments; create one with `solution environment create NAME`");
    }
    let rows: Vec<_> = spaces.iter().map(row).collect();
    render::table(TITLES, &rows);
}

fn row(space: &EnvironmentNamespace) -> Row<5> {
    let deployed = space.solutions.iter();
    let deployed = render::list(deployed.map(|(name, version)| format!("{name} {version}")));
    let description = &space.description;
    Row::from([
        space.environment.to_string(),
        space.namespace.to_string(),
        choose(space.going, "being deleted", "active").to_owned(),
        render::cell((!deployed.is_empty()).then_some(deployed)),
        render::cell((!description.is_empty()).then_some(description)),
    ])
}

/// Show an environment in detail
#[derive(Args, Debug)]
#[command(after_help = "\
Exit code 1 means that an operator is not ready or runs another version, or that a change is incomplete. Exit \
code 3 means that you do not have the permissions to see the environment.

Examples:
  solution environment describe prod
  solution environment describe prod --output json")]
pub(crate) struct DescribeArguments {
    /// The name of the environment
    environment: EnvironmentName,

    #[command(flatten)]
    cluster: ReadArguments,
}

fn describe(arguments: &DescribeArguments, output: Output) -> Result<Outcome, Failure> {
    let described = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::describe_environment(cluster, &arguments.environment).await?)
    })?;
    render::result(output, &described, show_description);
    Ok(Outcome::of_ready(described.is_ready()))
}

fn show_description(described: &Description) {
    render::line!("environment {}", described.environment);
    described.namespaces.iter().for_each(namespace);
    for receipt in &described.incomplete {
        render::line(show::in_words(receipt));
        render::line!("  hint: {}", show::way_on(&receipt.outcome));
    }
    render::lines("note: ", &described.notes);
}

fn namespace(space: &NamespaceDescription) {
    let origin = match space.origin {
        Origin::Created => "created for the environment",
        Origin::Adopted => "adopted",
    };
    render::line!("namespace {}  {origin}{}", space.namespace, words(space));
    if !space.description.is_empty() {
        render::line!("  description   {}", space.description);
    }
    let uid = space.uid.as_deref().unwrap_or("none recorded");
    render::line!("  uid           {uid}");
    let level = space.pod_security.as_deref();
    render::line!(
        "  PodSecurity   {}",
        level.unwrap_or("no label (the cluster's default applies)")
    );
    match &space.quotas {
        Some(quotas) => quotas.iter().for_each(quota),
        None => render::line("  quota         unknown: this user may not list quotas"),
    }
    if space.operators.is_empty() {
        render::line("  nothing deployed");
    }
    space.operators.iter().for_each(operator);
}

/// Describes how a namespace differs from its record.
fn words(space: &NamespaceDescription) -> &'static str {
    match space.identity {
        Identity::Recorded => "",
        Identity::Unfinished => ", not finished",
        Identity::Going => ", is being deleted",
        Identity::Replaced => ", was deleted and created again by another user",
        Identity::Gone => ", does not exist",
    }
}

fn quota(quota: &Quota) {
    let amount = |(resource, hard): (&String, &serde_json::Value)| {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
        let used = quota
            .used
            .get(resource)
            .map_or_else(|| "?".to_owned(), text);
        format!("{resource} {used} of {}", text(hard))
    };
    let amounts = render::list(quota.hard.iter().map(amount));
    render::line!("  quota         {}: {amounts}", quota.name);
}

fn operator(deployed: &DeployedOperator) {
    show_operator(&Hinted::of(&deployed.operator));
    if let Some(secret) = &deployed.pull_secret {
        render::line!("    pull secret {secret}");
    }
    if let Some(name) = &deployed.fleet_cluster {
        render::line!("    cluster     {name} in its fleet");
    }
    for (name, value) in &deployed.parameters {
        render::line!("    parameter   {name} {value}");
    }
    let accepted = deployed.accepted.as_ref();
    if let Some(Consent {
        id, by, at, lines, ..
    }) = accepted
    {
        render::line!("    {by} accepted these effects outside the environment at {at} (id {id}):");
        render::lines("      ", lines);
    }
}
