//! `solution fleet init`: a file to begin with, or a hub.

use std::path::PathBuf;

use clap::Args;

use super::hub::prepare;
use crate::args::Output;
use crate::commands::begin::begin;
use crate::failure::{Failure, Outcome};

/// Two clusters, and every field explained.
const TEMPLATE: &str = include_str!("template.yaml");

/// Write a fleet's file in which every field is explained, or prepare a hub
#[derive(Args, Debug)]
#[command(after_help = "\
A hub is a cluster that shows how far fleets are, as objects of the kind SolutionRollout, and shares
pauses, approvals and soak times between administrators (`fleet apply --hub`). With --hub its CRD is
put there, and no file is written.

Examples:
  solution fleet init
  solution fleet init shops.yaml
  solution fleet init --hub management
  solution fleet init --print | kubectl --context management apply --server-side -f -")]
pub(crate) struct Arguments {
    /// The file, which must not exist
    #[arg(default_value = "fleet.yaml")]
    file: PathBuf,

    /// Put the CRD of a hub in the cluster of this context of the kubeconfig
    #[arg(long, value_name = "CONTEXT", conflicts_with = "file")]
    hub: Option<String>,

    /// The kubeconfig file of the hub [default: the files in KUBECONFIG, else ~/.kube/config]
    #[arg(long, value_name = "FILE", requires = "hub")]
    kubeconfig: Option<PathBuf>,

    /// Print the CRD of a hub, and change nothing
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
