//! `solution archive cat`: one file of an archive, as it lies there.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::anyhow;
use archive::{Listed, OpenError, Pieces};
use clap::Args;
use schemas::limits;

use super::listed::unknown;
use super::signers::SignerArguments;
use crate::args::Output;
use crate::failure::{self, Failure, Outcome};
use crate::render;

/// Bytes of a file that is verified before any of it is written: every document of an archive is smaller.
const WHOLE: u64 = limits::YAML_SIZE;

/// Print a file of an archive
#[derive(Args, Debug)]
#[command(after_help = "\
A terminal shows text with escapes (\\u{1b}) for control characters. Binary files, and files over 4 MiB, need a \
redirection to a file or program.

Exit code 1 means that the file differs from the digest in the archive. Files over 4 MiB are verified while they \
are written: use the output only if the exit code is 0.

Examples:
  solution archive cat app.iso manifest.yaml
  solution archive cat app.iso operator/deploy/role.yaml
  solution archive cat app.iso SHA256SUMS > SHA256SUMS
  solution archive cat app.iso images/shop/1.0.0/manifest.json | jq .layers")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    /// The file, with a path as in `solution archive ls`
    path: String,

    #[command(flatten)]
    signers: SignerArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if output == Output::Json {
        let hint = "omit `--output json`; to list the files in JSON, use `solution archive ls -R`";
        return Err(Failure::usage("cannot write a file's bytes as JSON").hint(hint));
    }
    let read = |error| failure::reading(&arguments.archive, error);
    let listed = arguments.signers.list(&arguments.archive)?;
    let pieces = listed.pieces(&arguments.path);
    let pieces = pieces.map_err(|error| match error {
        OpenError::NoSuchFile(_) => no_file(&listed, arguments),
        other => read(other),
    })?;
    let whole = || listed.read(&arguments.path, WHOLE).map_err(read);
    match (render::is_terminal(), pieces.left() <= WHOLE) {
        (true, true) => show(&whole()?, arguments)?,
        (true, false) => return Err(elsewhere(arguments, "large")),
        (false, true) => write(&whole()?).map(drop)?,
        (false, false) => stream(pieces, arguments)?,
    }
    arguments.signers.note();
    Ok(Outcome::Yes)
}

/// Shows a text at a terminal.
fn show(bytes: &[u8], arguments: &Arguments) -> Result<(), Failure> {
    let text = str::from_utf8(bytes).map_err(|_| elsewhere(arguments, "not text"))?;
    text.lines().for_each(render::line);
    Ok(())
}

/// What is not for a terminal.
fn elsewhere(arguments: &Arguments, what: &str) -> Failure {
    let path = &arguments.path;
    Failure::usage(format!("cannot write `{path}` to a terminal: it is {what}"))
        .hint("write it to a file (`> FILE`), or pipe it to another program (`| less`)")
}

/// Writes a large file while it is compared.
fn stream(mut pieces: Pieces<'_>, arguments: &Arguments) -> Result<(), Failure> {
    let failed = |error| {
        failure::reading(&arguments.archive, error)
            .hint("do not use the output: it is incomplete or damaged")
    };
    while let Some(piece) = pieces.piece().map_err(failed)? {
        if write(piece)?.is_break() {
            break;
        }
    }
    Ok(())
}

/// Writes bytes as they are to standard output, until nobody reads them any more.
pub(crate) fn write(bytes: &[u8]) -> Result<ControlFlow<()>, Failure> {
    let written = render::raw(bytes);
    written.map_err(|error| Failure::unknown(error).context("cannot write to standard output"))
}

/// Says that there is no such file.
fn no_file(listed: &Listed, arguments: &Arguments) -> Failure {
    let (archive, path) = (&arguments.archive, &arguments.path);
    match listed.contents().below(path) {
        Some(file) => {
            let archive = archive.display();
            let message = format!("`{path}` is a directory of `{archive}`");
            Failure::no(anyhow!(message)).hint(format!(
                "name one of its files, such as `{file}`; `solution archive ls` lists them"
            ))
        }
        None => unknown(listed, archive, path),
    }
}
