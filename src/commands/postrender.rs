//! `solution postrender`: called by Helm, and by nobody else, with all that it is about to send.

use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Outcome};
use crate::render;

/// Finish what Helm is about to send, and refuse what its plan did not show
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
