//! `solution fleet init`: a file to begin with.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{disk, render};

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

/// The fleet that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BegunFleet<'a> {
    /// The path that was written.
    file: &'a Path,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let file = arguments.file.display();
    if arguments.file.exists() {
        return Err(Failure::no(anyhow!("`{file}` exists")).hint("name another file"));
    }
    disk::write_new(&arguments.file, 0o644, TEMPLATE.as_bytes())?;
    let begun = BegunFleet {
        file: &arguments.file,
    };
    Ok(give(output, &begun, |_| {
        render::line!("`{file}` is written");
        render::note!("edit it, then `solution fleet check {file}`");
    }))
}
