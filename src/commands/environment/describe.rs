//! `solution environment describe`.

use clap::Args;
use importer::{
    Consent, DeployedOperator, Description, Identity, NamespaceDescription, Origin, Quota,
};
use schemas::EnvironmentName;

use crate::args::{Output, ReadArguments};
use crate::commands::status::operator::show_operator;
use crate::commands::status::{Hinted, incomplete};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

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

pub(super) fn run(arguments: &DescribeArguments, output: Output) -> Result<Outcome, Failure> {
    let described = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::describe_environment(cluster, &arguments.environment).await?)
    })?;
    render::result(output, &described, show);
    Ok(Outcome::of_ready(described.is_ready()))
}

fn show(described: &Description) {
    render::line!("environment {}", described.environment);
    described.namespaces.iter().for_each(namespace);
    for receipt in &described.incomplete {
        render::line(incomplete::in_words(receipt));
        render::line!("  hint: {}", incomplete::way_on(&receipt.outcome));
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

/// What has become of a namespace, where it is not as it was recorded.
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
