//! `solution status`: what is imported and what runs where.

pub(super) mod incomplete;

use clap::Args;
use importer::{ChangeReceipt, EnvironmentNamespace, OperatorStatus, Unseen, VersionStatus};
use schemars::JsonSchema;
use schemas::Namespace;
use serde::Serialize;

use crate::args::{Output, ReadArguments, choose};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

/// Show imported versions, environments, and whether their operators are ready
#[derive(Args, Debug)]
#[command(after_help = "\
Exits with 1 if an operator is not ready, or does not run the version that it should; it says why,
and what to do. What you may not see is named at the end; with 3 if an operator may be among it.

Examples:
  solution status
  solution status --namespace prod
  solution status --context site-b --output json")]
pub(crate) struct Arguments {
    /// Only this namespace of an environment: its administrator needs no rights beyond it
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// What is imported, and what runs where.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownStatus<'a> {
    /// The imported versions.
    versions: &'a [VersionStatus],
    /// The namespaces of environments.
    environments: &'a [EnvironmentNamespace],
    /// The operators that are deployed.
    operators: Vec<Hinted<'a>>,
    /// The changes of which a part may be there, the oldest first: they go on, were interrupted, or failed, and none
    /// since has made up for it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    incomplete: &'a [ChangeReceipt],
    /// What is said of environments in the cluster, and is not so.
    notes: &'a [String],
    /// What this user may not see.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    unseen: &'a [Unseen],
}

/// An operator, and what to do where it does not run as it should.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "HintedOperator")]
pub(crate) struct Hinted<'a> {
    #[serde(flatten)]
    operator: &'a OperatorStatus,
    /// What to do where it does not run as it should.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'static str>,
}

impl<'a> Hinted<'a> {
    pub(super) fn of(operator: &'a OperatorStatus) -> Self {
        Self {
            operator,
            hint: failure::of_operator(operator),
        }
    }
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let status = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::status(cluster, arguments.namespace.as_ref()).await?)
    })?;
    let operators = status.operators.iter().map(Hinted::of);
    let shown = ShownStatus {
        versions: &status.versions,
        environments: &status.environments,
        operators: operators.collect(),
        incomplete: &status.incomplete,
        notes: &status.notes,
        unseen: &status.unseen,
    };
    render::result(output, &shown, show);
    Ok(Outcome::of_ready(status.is_ready()))
}

fn show(status: &ShownStatus) {
    if status.versions.is_empty() && status.unseen.is_empty() {
        render::line("no Solution is imported");
    }
    for version in status.versions {
        let active = choose(version.active, ", CRDs active", "");
        let record = &version.record;
        let images = record.images.iter();
        let images = images.filter(|image| image.image.tag.subject().is_none());
        let images = render::count(images.count(), "image");
        let (name, version, endpoint) = (&record.name, &record.version, &record.endpoint);
        render::line!("{name} {version}  {images}{active}  from {endpoint}");
    }
    for space in status.environments {
        let of = if space.namespace.as_str() == space.environment.as_str() {
            String::new()
        } else {
            format!(" (namespace {})", space.namespace)
        };
        let going = choose(space.going, ", is being deleted", "");
        render::line!("environment {}{of}{going}", space.environment);
        let operators = status.operators.iter();
        let here = operators.filter(|it| it.operator.namespace == space.namespace);
        here.for_each(show_operator);
    }
    for receipt in status.incomplete {
        render::line(incomplete::in_words(receipt));
        render::line!("  hint: {}", incomplete::way_on(&receipt.outcome));
    }
    render::lines("note: ", status.notes);
    show_unseen(status.unseen);
}

/// What this user may not see, all of it together.
fn show_unseen(unseen: &[Unseen]) {
    if unseen.is_empty() {
        return;
    }
    render::line("not seen, for want of a right:");
    for Unseen { what, right } in unseen {
        render::line!("  {what} ({right})");
    }
    render::line("  hint: `solution rbac --verb status` prints the roles that give these rights");
}

pub(super) fn show_operator(Hinted { operator, hint }: &Hinted) {
    let ready = operator.ready;
    let ready = ready.map(|[ready, wanted]| format!("{ready}/{wanted} ready"));
    let said: Vec<String> = ready.into_iter().chain(operator.why.clone()).collect();
    let (solution, version, said) = (&operator.solution, &operator.version, said.join(": "));
    render::line!("  {solution} {version}  {said}");
    if let Some(hint) = hint {
        render::line!("    hint: {hint}");
    }
}

#[cfg(test)]
mod tests;
