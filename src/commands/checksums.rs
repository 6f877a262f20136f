//! `solution checksums`: signs the list of a release's files, and verifies the list and the files next to it. It is for
//! the files of a release that are not archives, such as packages.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use archive::detached_path;
use clap::{Args, Subcommand};
use schemars::JsonSchema;
use schemas::{Checksums, Digest, Envelope, KeyId, PayloadType, limits};
use serde::Serialize;

use super::give;
use super::history::table;
use crate::args::{Output, PassphraseArguments, choose};
use crate::disk::{self, Modes, WriteMode};
use crate::failure::{Failure, Outcome, cannot};
use crate::{keys, render};

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
        Command::Sign(arguments) => sign(arguments, output),
        Command::Verify(arguments) => verify(arguments, output),
    }
}

/// Reads a list, and returns its bytes too.
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

/// Returns the envelope with the signatures next to a list, if there is one.
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

/// Sign a list of checksums
#[derive(Args, Debug)]
#[command(after_help = "\
The command does not read the files in the list. Signatures by other keys are kept.

Examples:
  solution checksums sign SHA256SUMS --key release.key
  solution checksums sign SHA256SUMS --key release.key --passphrase-file passphrase.txt")]
pub(crate) struct SignChecksums {
    /// The list, in the format of `sha256sum`
    list: PathBuf,

    /// A secret key (PEM) to sign with; may be repeated
    #[arg(long = "key", value_name = "KEY", required = true)]
    keys: Vec<PathBuf>,

    #[command(flatten)]
    passphrase: PassphraseArguments,
}

/// A list of checksums was signed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SignedChecksums {
    /// The number of files in the list.
    files: usize,
    /// The keys that signed.
    key_ids: Vec<KeyId>,
    /// The file that has the signatures.
    written: PathBuf,
}

fn sign(arguments: &SignChecksums, output: Output) -> Result<Outcome, Failure> {
    let path = arguments.list.as_path();
    let (list, bytes) = list(path)?;
    let written = detached_path(path);
    let (mut envelope, write) = match beside(path)? {
        None => (unsigned(bytes)?, WriteMode::New),
        Some(signed) if signed.payload() == bytes => (signed, WriteMode::Replace),
        Some(_) => {
            let other = anyhow!("`{}` belongs to another list", written.display());
            return Err(
                Failure::no(other).hint("if the list is new, remove the file and sign again")
            );
        }
    };
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    for key in &keys {
        let signature = key.sign(PayloadType::Checksums, envelope.payload());
        envelope.add(signature).map_err(Failure::no)?;
    }
    let modes = Modes {
        file: 0o644,
        folder: 0o777,
    };
    disk::write_atomically(&written, &envelope.to_bytes(), modes, write)
        .map_err(cannot("write", &written))?;
    let signed = SignedChecksums {
        files: list.files().len(),
        key_ids: keys.iter().map(|key| key.public().id()).collect(),
        written,
    };
    Ok(give(output, &signed, |signed| {
        render::line!("signed      {}", render::count(signed.files, "file"));
        render::line!("written to  {}", signed.written.display());
        render::lines("key id      ", &signed.key_ids);
    }))
}

fn unsigned(list: Vec<u8>) -> Result<Envelope, Failure> {
    Envelope::unsigned(PayloadType::Checksums, list).map_err(Failure::no)
}

/// Verify a signed list of checksums and its files
#[derive(Args, Debug)]
#[command(after_help = "\
The command reads those files of the list that are in its directory; at least one must exist. Exit code 1 means \
that a file differs, or that none of the keys signed the list. In the second case, the command does not read the \
files.

Examples:
  solution checksums verify SHA256SUMS --key release.pub
  solution checksums verify SHA256SUMS --key a.pub --key b.pub --output json")]
pub(crate) struct VerifyChecksums {
    /// The list, with its signatures in `<LIST>.dsse.json` next to it
    list: PathBuf,

    /// A public key (PEM) to trust; may be repeated, and one signature is enough
    #[arg(long = "key", value_name = "PUB", required = true)]
    keys: Vec<PathBuf>,
}

/// The result of comparing files with a signed list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VerifiedChecksums<'a> {
    /// The list that was read.
    list: &'a Path,
    /// Whether one of the keys signed it, at least one of its files exists, and none differs.
    valid: bool,
    /// Those of the given keys that signed it.
    signed_by: Vec<KeyId>,
    /// Its files, unless none of the keys signed it.
    files: Vec<ListedFile>,
}

/// A file of a list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListedFile {
    /// Its name.
    name: String,
    /// The expected digest.
    digest: Digest,
    /// A description of the text.
    state: ListedState,
}

fn verify(arguments: &VerifyChecksums, output: Output) -> Result<Outcome, Failure> {
    let path = arguments.list.as_path();
    let trust = table::trust(&arguments.keys)?.expect("a key is required");
    let (list, bytes) = list(path)?;
    let envelope = beside(path)?.ok_or_else(|| {
        let missing = detached_path(path);
        Failure::no(anyhow!("`{}` is not signed", path.display()))
            .hint(format!("put its signatures into `{}`", missing.display()))
    })?;
    let is_of_list = envelope.payload() == bytes;
    let signers = signing::verify(&envelope, &trust)
        .ok()
        .filter(|_| is_of_list);
    let signed_by = signers.map(|signers| signers.trusted).unwrap_or_default();
    let mut files = Vec::new();
    if !signed_by.is_empty() {
        let folder = path.parent().unwrap_or(Path::new(""));
        for (name, digest) in list.files() {
            let place = folder.join(name);
            let state = compared(&place, digest).map_err(cannot("read", &place))?;
            let name = name.to_owned();
            files.push(ListedFile {
                name,
                digest,
                state,
            });
        }
    }
    let verified = VerifiedChecksums {
        list: path,
        valid: are_valid(&files),
        signed_by,
        files,
    };
    render::result(output, &verified, show);
    Ok(Outcome::from(verified.valid))
}

/// Returns true if at least one listed file is unchanged and none differs. Missing files are not an error, because a
/// user rarely downloads all of them.
fn are_valid(files: &[ListedFile]) -> bool {
    let any = |state| files.iter().any(|file| file.state == state);
    any(ListedState::Same) && !any(ListedState::Different)
}

fn show(verified: &VerifiedChecksums<'_>) {
    let list = verified.list.display();
    let named = |state| {
        let files = verified
            .files
            .iter()
            .filter(move |file| file.state == state);
        files.map(|file| file.name.as_str())
    };
    render::lines("same       ", named(ListedState::Same));
    render::lines("different  ", named(ListedState::Different));
    render::lines("missing    ", named(ListedState::Missing));
    if verified.valid {
        render::line!(
            "valid: `{list}` and its files in this directory are unchanged since they were signed"
        );
    } else if verified.signed_by.is_empty() {
        render::note!("error: `{list}` has no valid signature by one of these keys");
        render::note(
            "hint: get the list and its signatures again, and the public key through another channel",
        );
    } else if named(ListedState::Different).next().is_some() {
        render::note!("error: files differ from the signed list `{list}`");
        render::note("hint: get these files again");
    } else {
        render::note!("error: none of the files in `{list}` exists in its directory");
        render::note("hint: copy the list into the directory of the files");
    }
}

/// How a file is compared with its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ListedState {
    /// It is as the list says.
    Same,
    /// It is another one.
    Different,
    /// It is not there.
    Missing,
}

/// Compares a file with its digest.
fn compared(path: &Path, expected: Digest) -> io::Result<ListedState> {
    // Opening a pipe would wait for a writer, so check the type first.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ListedState::Missing),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => return Ok(ListedState::Different),
        Ok(_) => {}
    }
    let found = files::digest_of(File::open(path)?)?;
    Ok(choose(
        found == expected,
        ListedState::Same,
        ListedState::Different,
    ))
}
