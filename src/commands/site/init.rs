//! `solution site init`: a file to begin with.

use std::path::PathBuf;

use clap::Args;

use crate::args::Output;
use crate::commands::begin::begin;
use crate::failure::{Failure, Outcome};

/// Every field, explained.
const TEMPLATE: &str = include_str!("template.yaml");

/// Create a site configuration with every field explained
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution site init
  solution site init prod.yaml")]
pub(crate) struct Arguments {
    /// The file to create, which must not exist
    #[arg(default_value = "site.yaml")]
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    begin(&arguments.file, TEMPLATE, "site set", output)
}
