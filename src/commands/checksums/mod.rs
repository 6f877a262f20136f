//! `solution checksums`: the files of a release, as whoever made them signed.

pub(super) mod sign;
mod state;
pub(super) mod verify;

use std::path::Path;

use anyhow::Context as _;
use archive::detached_path;
use clap::Subcommand;
use schemas::{Checksums, Envelope, PayloadType, limits};

use self::sign::SignChecksums;
use self::verify::VerifyChecksums;
use crate::args::Output;
use crate::failure::{Failure, Outcome};

/// Sign and verify lists of checksums
#[derive(Debug, Subcommand)]
#[command(after_help = "\
The signatures are in `<LIST>.dsse.json` next to the list. openssl can verify them, too.

Examples:
  sha256sum *.deb *.rpm > SHA256SUMS
  solution checksums sign SHA256SUMS --key release.key
  solution checksums verify SHA256SUMS --key release.pub")]
pub(crate) enum Command {
    Sign(SignChecksums),
    Verify(VerifyChecksums),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Sign(arguments) => sign::run(arguments, output),
        Command::Verify(arguments) => verify::run(arguments, output),
    }
}

/// A list, and its bytes.
fn list(path: &Path) -> Result<(Checksums, Vec<u8>), Failure> {
    let bytes = files::read(path, limits::CHECKSUMS_SIZE as u64)?;
    let list = Checksums::from_slice(&bytes)
        .with_context(|| format!("`{}` is not a list of checksums", path.display()))
        .map_err(|error| {
            Failure::no(error)
                .hint("create it again with `sha256sum FILE... > SHA256SUMS` in the directory of the files")
        })?;
    Ok((list, bytes))
}

/// The envelope beside a list; none if there is none.
fn beside(path: &Path) -> Result<Option<Envelope>, Failure> {
    let path = detached_path(path);
    let bytes = match files::read(&path, limits::CHECKSUMS_SIZE as u64) {
        Err(error) if error.is_missing() => return Ok(None),
        bytes => bytes?,
    };
    let envelope = Envelope::from_slice_of(PayloadType::Checksums, &bytes)
        .with_context(|| {
            format!(
                "`{}` does not contain signatures of a list of checksums",
                path.display()
            )
        })
        .map_err(Failure::no)?;
    Ok(Some(envelope))
}
