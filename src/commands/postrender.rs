//! `solution postrender`: called by Helm, and by nobody else; it answers with what is to be sent.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::render;

/// Pass on to Helm what its plan showed
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The directory of the run
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let done = importer::postrender(&arguments.directory, io::stdin().lock(), render::stream());
    done.map_err(Failure::no)?;
    Ok(Outcome::Yes)
}
