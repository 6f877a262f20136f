//! `solution checksums sign`: one more signature over a list of checksums.

use std::path::PathBuf;

use anyhow::anyhow;
use archive::detached_path;
use clap::Args;
use schemars::JsonSchema;
use schemas::{Envelope, KeyId, PayloadType};
use serde::Serialize;

use super::{beside, list};
use crate::args::{Output, PassphraseArguments};
use crate::commands::give;
use crate::failure::{Failure, Outcome, cannot};
use crate::own::{self, Modes, Write};
use crate::{keys, render};

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

pub(super) fn run(arguments: &SignChecksums, output: Output) -> Result<Outcome, Failure> {
    let path = arguments.list.as_path();
    let (list, bytes) = list(path)?;
    let written = detached_path(path);
    let (mut envelope, write) = match beside(path)? {
        None => (unsigned(bytes)?, Write::New),
        Some(signed) if signed.payload() == bytes => (signed, Write::Replace),
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
    own::write(&written, &envelope.to_bytes(), modes, write).map_err(cannot("write", &written))?;
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
    Envelope::of(PayloadType::Checksums, list).map_err(Failure::no)
}
