//! `solution fleet init`: creates a fleet's file, or prepares a cluster as a hub. A hub needs the CRD of the object
//! that shows the progress of a rollout.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use schemars::JsonSchema;
use schemas::yaml;
use serde::Serialize;
use serde_json::Value;

use crate::args::{ClusterArguments, Output};
use crate::commands::{create_from_template, give};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// A template with two clusters, in which every field is explained.
const TEMPLATE: &str = include_str!("template.yaml");

/// Create a fleet file with every field explained, or prepare a hub
#[derive(Args, Debug)]
#[command(after_help = "\
A hub is a cluster that shows the progress of fleets as objects of the kind SolutionRollout. Administrators \
share pauses, approvals and soak times through it (`fleet apply --hub`). With --hub, the command installs the \
CRD in that cluster and writes no file.

Examples:
  solution fleet init
  solution fleet init shops.yaml
  solution fleet init --hub management
  solution fleet init --print | kubectl --context management apply --server-side -f -")]
pub(crate) struct Arguments {
    /// The file to create, which must not exist
    #[arg(default_value = "fleet.yaml")]
    file: PathBuf,

    /// Install the CRD of the hub in the cluster of this kubeconfig context
    #[arg(long, value_name = "CONTEXT", conflicts_with = "file")]
    hub: Option<String>,

    /// The kubeconfig file of the hub [default: the files in `KUBECONFIG`, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "hub")]
    kubeconfig: Option<PathBuf>,

    /// Print the CRD of the hub, and change nothing
    #[arg(long, conflicts_with_all = ["file", "hub"])]
    print: bool,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if arguments.print {
        return Ok(print_definition(output));
    }
    match &arguments.hub {
        Some(hub) => prepare_hub(hub, arguments.kubeconfig.clone(), output),
        None => create_from_template(&arguments.file, TEMPLATE, "fleet check", output),
    }
}

/// The time limit until the cluster serves the kind.
const SERVED: Duration = Duration::from_mins(1);

/// A cluster that can be a hub.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PreparedHub<'a> {
    /// The context of the cluster; null if none was changed.
    hub: Option<&'a str>,
    /// Whether the CRD is another one than before.
    changed: bool,
    /// The CRD.
    definition: &'a Value,
}

/// Installs the CRD in the cluster of a context.
fn prepare_hub(hub: &str, kubeconfig: Option<PathBuf>, output: Output) -> Result<Outcome, Failure> {
    let way = ClusterArguments {
        kubeconfig,
        context: Some(hub.to_owned()),
    };
    let changed = cluster::block_on(async {
        let cluster = cluster::connect(&way).await?;
        Ok(importer::prepare_hub(&cluster, SERVED).await?)
    })?;
    let prepared = PreparedHub {
        hub: Some(hub),
        changed,
        definition: importer::hub_definition(),
    };
    Ok(give(output, &prepared, |prepared| {
        let words = if prepared.changed {
            "now serves"
        } else {
            "serves"
        };
        render::line!("`{hub}` {words} the kind SolutionRollout");
        render::note!("print the roles for its users with `solution site rbac --verb fleet-hub`");
    }))
}

/// Prints the CRD.
fn print_definition(output: Output) -> Outcome {
    let printed = PreparedHub {
        hub: None,
        changed: false,
        definition: importer::hub_definition(),
    };
    give(output, &printed, |hub| {
        yaml::to_string(hub.definition)
            .lines()
            .for_each(render::line);
    })
}
