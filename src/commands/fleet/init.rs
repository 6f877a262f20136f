//! `solution fleet init`: a file to begin with, or a hub.

use std::path::PathBuf;

use clap::Args;

use super::hub::prepare;
use crate::args::Output;
use crate::commands::begin::begin;
use crate::failure::{Failure, Outcome};

/// Two clusters, and every field explained.
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
        return Ok(prepare::print(output));
    }
    match &arguments.hub {
        Some(hub) => prepare::prepare(hub, arguments.kubeconfig.clone(), output),
        None => begin(&arguments.file, TEMPLATE, "fleet check", output),
    }
}
