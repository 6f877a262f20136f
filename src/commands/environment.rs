//! `solution environment`: labelled namespaces, made and removed.

use clap::{Args, Subcommand};
use importer::{Adopt, DeletedEnvironment, Left, Resources, Run};
use schemas::{EnvironmentName, Namespace};
use serde::Serialize;

use super::change::change;
use crate::args::{ClusterArguments, Output, RemovalArguments, WaitArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Create, delete and list environments: namespaces in which operators run
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(CreateArguments),
    Delete(DeleteArguments),
    List(ListArguments),
}

/// Make an environment, or add a namespace to one
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution environment create test --description 'for the testers'
  solution environment create prod --namespace shop")]
pub(crate) struct CreateArguments {
    /// The environment's name
    environment: EnvironmentName,

    /// The namespace [default: the environment's name]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,

    /// Take over an existing namespace that belongs to no environment; it stays when the environment is deleted
    #[arg(long, value_name = "WHAT", value_parser = ["namespace"])]
    adopt: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,

    #[command(flatten)]
    wait: WaitArguments,
}

/// Remove an environment in which nothing is deployed
#[derive(Args, Debug)]
#[command(after_help = "\
Namespaces that were made for the environment are deleted with everything in them; adopted ones stay.
Custom resources of Solutions, workloads and volumes in them are named, and deleted only with
--delete-resources.

Examples:
  solution environment delete test --dry-run
  solution environment delete test
  solution environment delete test --delete-resources")]
pub(crate) struct DeleteArguments {
    /// The environment's name
    environment: EnvironmentName,

    /// Delete custom resources of Solutions, workloads and volumes that are left, too
    #[arg(long)]
    delete_resources: bool,

    #[command(flatten)]
    removal: RemovalArguments,
}

/// List environments and their namespaces
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution environment list --output json")]
pub(crate) struct ListArguments {
    #[command(flatten)]
    cluster: ClusterArguments,
}

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Create(arguments) => create(arguments, output),
        Command::Delete(arguments) => delete(&arguments, output),
        Command::List(arguments) => list(&arguments, output),
    }
}

#[derive(Serialize)]
struct Created {
    environment: EnvironmentName,
    namespace: Namespace,
}

fn create(arguments: CreateArguments, output: Output) -> Result<Outcome, Failure> {
    let namespace = arguments
        .namespace
        .unwrap_or_else(|| importer::default_namespace(&arguments.environment));
    let adopt = choose(arguments.adopt.is_some(), Adopt::Allow, Adopt::Refuse);
    let description = arguments.description.as_deref();
    let environment = arguments.environment;
    let cluster = (&arguments.cluster, &arguments.wait);
    change(cluster, Run::Real, output, async |change| {
        importer::create_environment(change, &environment, &namespace, description, adopt).await
    })?;
    let created = Created {
        environment,
        namespace,
    };
    render::result(output, &created, |created| {
        render::line!(
            "environment {} is there, in namespace {}",
            created.environment,
            created.namespace
        );
    });
    Ok(Outcome::Yes)
}

#[derive(Serialize)]
struct Deleted<'a> {
    namespaces: &'a [Left],
    resources: &'a [String],
    #[serde(rename = "dryRun")]
    dry_run: bool,
}

fn delete(arguments: &DeleteArguments, output: Output) -> Result<Outcome, Failure> {
    let resources = choose(
        arguments.delete_resources,
        Resources::Delete,
        Resources::Keep,
    );
    let removal = &arguments.removal;
    let run = removal.dry_run.run();
    let deleted = change(
        (&removal.cluster, &removal.wait),
        run,
        output,
        async |change| {
            importer::delete_environment(change, &arguments.environment, resources).await
        },
    )?;
    let result = Deleted {
        namespaces: &deleted.namespaces,
        resources: &deleted.resources,
        dry_run: run == Run::Dry,
    };
    render::result(output, &result, |_| show_deleted(&deleted, run));
    Ok(Outcome::Yes)
}

fn show_deleted(deleted: &DeletedEnvironment, run: Run) {
    let verb = match run {
        Run::Real => "is",
        Run::Dry => "would be",
    };
    for resource in &deleted.resources {
        render::line!("{resource} {verb} deleted");
    }
    for space in &deleted.namespaces {
        render::line(match space {
            Left::Deleted(namespace) => format!("namespace {namespace} {verb} deleted"),
            Left::Released(namespace) => {
                format!(
                    "namespace {namespace} was not made for the environment and stays, without its marks"
                )
            }
            Left::Gone(namespace) => format!("namespace {namespace} was gone already"),
        });
    }
    render::dry(run);
}

fn list(arguments: &ListArguments, output: Output) -> Result<Outcome, Failure> {
    let status = cluster::status(&arguments.cluster)?;
    render::result(output, &status.environments, |spaces| {
        if spaces.is_empty() {
            render::line("no environment; `solution environment create NAME` makes one");
        }
        for space in spaces {
            let runs = space.solutions.iter();
            let runs = runs.map(|(name, version)| format!("{name} {version}"));
            let mut runs = runs.collect::<Vec<_>>().join(", ");
            if runs.is_empty() {
                runs.push_str("nothing deployed");
            }
            render::line!(
                "{}  namespace {}  {runs}  {}",
                space.environment,
                space.namespace,
                space.description
            );
        }
    });
    Ok(Outcome::Yes)
}
