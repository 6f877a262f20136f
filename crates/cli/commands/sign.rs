//! `solution sign`: one more signature, in place.

use std::path::{Path, PathBuf};

use archive::OpenError;
use clap::Args;
use serde::Serialize;

use super::support;
use crate::args::Output;
use crate::exit::{Failure, Outcome};
use crate::render;

/// Add a signature to an archive, in place
#[derive(Args, Debug)]
#[command(after_help = "\
Look at the archive first (`solution validate`, `solution inspect`): a signature says that you vouch for it.
The archive id stays the same; the checksum of the file changes.

Examples:
  solution sign app.iso --key reviewer.key")]
pub(crate) struct Arguments {
    /// The archive
    archive: PathBuf,

    /// The secret key (PEM) to sign with
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signed {
    archive_id: String,
    key_id: String,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let key = support::secret_key(&arguments.key)?;
    let id = archive::add_signature(&arguments.archive, &key)
        .map_err(|error| failure(&arguments.archive, error))?;
    let signed = Signed {
        archive_id: id.to_string(),
        key_id: key.public().id().to_string(),
    };
    render::result(output, &signed, |signed| {
        render::line(format!("signed      {}", arguments.archive.display()));
        render::line(format!("archive id  {}", signed.archive_id));
        render::line(format!("key id      {}", signed.key_id));
    });
    Ok(Outcome::Yes)
}

fn failure(archive: &Path, error: OpenError) -> Failure {
    let context = format!("cannot sign `{}`", archive.display());
    match error {
        // The archive is good, and has the signature already.
        OpenError::Sign(_) => Failure::no(error).context(context),
        error if error.is_refusal() => Failure::no(error)
            .context(context)
            .hint("`solution validate` says what is wrong with it, and what to do"),
        error => Failure::unknown(error).context(context),
    }
}
