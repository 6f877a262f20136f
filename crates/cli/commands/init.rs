//! `solution init`: a source tree to begin with.

use std::path::PathBuf;

use clap::Args;

use super::support;
use crate::args::Output;
use crate::exit::{Failure, Outcome};
use crate::render;

/// Write a ready-to-pack source tree: solution.yaml with comments, an example CRD, roles
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  solution init shop")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the Solution's
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let written = packager::init(&arguments.directory).map_err(support::pack_failure)?;
    render::result(output, &written, |written| {
        for path in written {
            render::line(path.display().to_string());
        }
        let directory = arguments.directory.display();
        render::note(format!(
            "next: put your images in place as {directory}/README.md says, then `solution pack {directory} -o FILE --key KEY`"
        ));
    });
    Ok(Outcome::Yes)
}
