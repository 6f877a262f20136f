//! `solution fleet init`: a file to begin with.

use std::path::PathBuf;

use clap::Args;

use crate::args::Output;
use crate::commands::begin::begin;
use crate::failure::{Failure, Outcome};

/// Two clusters, and every field explained.
const TEMPLATE: &str = include_str!("template.yaml");

/// Write a fleet's file in which every field is explained
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution fleet init
  solution fleet init shops.yaml")]
pub(crate) struct Arguments {
    /// The file, which must not exist
    #[arg(default_value = "fleet.yaml")]
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    begin(&arguments.file, TEMPLATE, "fleet check", output)
}
