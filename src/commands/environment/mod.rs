//! `solution environment`: labelled namespaces, made and removed.

pub(super) mod delete;
mod describe;
pub(super) mod list;

use clap::{Args, Subcommand};
use importer::{Adopt, Run};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace};
use serde::Serialize;

use self::delete::DeleteArguments;
use self::describe::DescribeArguments;
use self::list::ListArguments;
use super::change::change;
use super::give;
use crate::args::{ChangeArguments, ClusterArguments, Output, choose};
use crate::failure::{Failure, Outcome};
use crate::render;

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

pub(crate) fn run(command: Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Create(arguments) => create(arguments, output),
        Command::Delete(arguments) => delete::run(&arguments, output),
        Command::List(arguments) => list::run(&arguments, output),
        Command::Describe(arguments) => describe::run(&arguments, output),
    }
}

fn create(arguments: CreateArguments, output: Output) -> Result<Outcome, Failure> {
    let usual = || importer::default_namespace(&arguments.environment);
    let namespace = arguments.namespace.unwrap_or_else(usual);
    let adopt = choose(arguments.adopt.is_some(), Adopt::Allow, Adopt::Refuse);
    let description = arguments.description.as_deref();
    let environment = arguments.environment;
    change(
        &arguments.cluster,
        &arguments.wait,
        Run::Real,
        output,
        async |change| {
            importer::create_environment(change, &environment, &namespace, description, adopt).await
        },
    )?;
    let created = Created {
        environment,
        namespace,
    };
    Ok(give(output, &created, |it| {
        let (environment, namespace) = (&it.environment, &it.namespace);
        render::line!("environment {environment} exists, in namespace {namespace}");
    }))
}

/// A namespace that an environment has got.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Created {
    /// The environment.
    environment: EnvironmentName,
    /// The namespace.
    namespace: Namespace,
}
