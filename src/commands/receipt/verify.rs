//! `solution receipt verify`: whether a receipt is as one of these keys signed it, and what it says.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::Args;
use importer::{ChangeReceipt, Sealed};
use schemars::JsonSchema;
use schemas::{Envelope, PayloadType, limits};
use serde::Serialize;

use crate::args::{Output, choose};
use crate::commands::history::shown::ShownChange;
use crate::commands::history::signature::{self, Signature};
use crate::commands::history::table;
use crate::failure::{Failure, Outcome};
use crate::render;

/// Say whether a receipt is as one of these keys signed it, and what was changed
#[derive(Args, Debug)]
#[command(after_help = "\
`solution history --receipt N --out FILE` writes such a file at a site. Exits with 1 if none of the
keys signed it; what it says is then not to be believed, and not shown.

Examples:
  solution receipt verify receipt-12.json --key site.pub
  solution receipt verify receipt-12.json --key a.pub --key b.pub --output json")]
pub(crate) struct Verify {
    /// The file with the signed receipt
    file: PathBuf,

    /// A public key (PEM) whose signature counts; may be repeated, and one is enough
    #[arg(long = "key", value_name = "PUB", required = true)]
    keys: Vec<PathBuf>,
}

/// What a receipt proves.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedReceipt<'a> {
    /// The file that was read.
    file: &'a Path,
    /// Whether one of the keys signed it.
    valid: bool,
    /// What was changed; null if none of the keys signed it.
    change: Option<ShownChange<'a>>,
}

pub(super) fn run(arguments: &Verify, output: Output) -> Result<Outcome, Failure> {
    let file = arguments.file.as_path();
    let trust = signature::trust(&arguments.keys)?;
    let bytes = files::read(file, limits::RECEIPT_SIZE as u64)?;
    let envelope = Envelope::from_slice_of(PayloadType::Receipt, &bytes)
        .with_context(|| format!("`{}` is not the signed receipt of a change", file.display()))
        .map_err(Failure::no)?;
    let receipt = ChangeReceipt::from_slice(envelope.payload());
    let sealed = Sealed::Yes(Box::new(envelope));
    let (signature, signed_by) = signature::judge(&sealed, trust.as_ref());
    let is_valid = signature == Signature::Valid;
    // Of what nobody signed nothing is believed, not even that it is of a later program.
    let receipt = match (is_valid, receipt) {
        (true, None) => {
            let message = format!("`{}` is signed, and of a later program", file.display());
            return Err(Failure::no(anyhow!(message)).hint("use a newer version of `solution`"));
        }
        (true, receipt) => receipt,
        (false, _) => None,
    };
    let verified = VerifiedReceipt {
        file,
        valid: is_valid,
        change: receipt.as_ref().map(|receipt| ShownChange {
            receipt,
            signature,
            signed_by,
            is_asked: true,
        }),
    };
    render::result(output, &verified, show);
    Ok(choose(is_valid, Outcome::Yes, Outcome::No))
}

fn show(verified: &VerifiedReceipt<'_>) {
    let file = verified.file.display();
    match &verified.change {
        Some(change) => {
            table::table(table::TITLES, &[change], |_, cells| cells);
            render::lines("written     ", &change.receipt.written);
            render::lines("removed     ", &change.receipt.removed);
            render::line!("valid: `{file}` is as it was signed");
        }
        None => render::note!(
            "error: `{file}` is not as one of these keys signed it\n  hint: get the file again from the site, and its public key through another channel"
        ),
    }
}
