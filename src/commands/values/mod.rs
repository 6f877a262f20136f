//! `solution values`: what an archive lets a site choose, as a site's file.

mod draft;
mod parameter;
pub(super) mod read;

use std::path::PathBuf;

use clap::Args;

use super::{give, inspect};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Show what an archive lets a site choose: its parameters and the values of its charts, as a site's file
#[derive(Args, Debug)]
#[command(after_help = "\
Everything stands behind a `#`: take it from what is to be chosen, leave the rest out, and give the file to `solution \
site set`. The words beside a chart's values are its publisher's.

Examples:
  solution values app.iso > site.yaml
  solution values app.iso --output json | jq '.releases[].values'")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let choices = read::choices(&arguments.archive)?;
    Ok(give(output, &choices, |choices| {
        draft::lines(choices).iter().for_each(render::line);
        render::note(inspect::NOT_VERIFIED);
    }))
}
