//! `solution history --receipt`: the receipt of one change into a file, for whoever has no access to the cluster.

use std::path::Path;

use anyhow::anyhow;
use importer::{History, KnownChange, Revision, Sealed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::disk;
use crate::failure::{Failure, Outcome};
use crate::render;

/// With `--receipt`: where the receipt was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WrittenReceipt<'a> {
    /// The number of the change.
    #[schemars(range(min = 1))]
    revision: Revision,
    /// The file that has its signed receipt.
    written: &'a Path,
}

/// Writes the signed receipt of a change.
pub(super) fn write(
    history: &History,
    revision: Revision,
    out: &Path,
    output: Output,
) -> Result<Outcome, Failure> {
    let mut changes = history.revisions.iter();
    let change = changes.find(|change| change.receipt.revision == revision);
    let change = change.ok_or_else(|| {
        Failure::no(anyhow!("the cluster has no receipt of revision {revision}"))
            .hint("list the receipts of the cluster with `solution history`")
    })?;
    disk::write_new(out, 0o644, &envelope(change)?)?;
    let written = WrittenReceipt {
        revision,
        written: out,
    };
    Ok(give(output, &written, |written| {
        let file = written.written.display();
        render::line!("the receipt of revision {revision} is in `{file}`");
        render::note!(
            "next: verify it with `solution receipt verify {file} --key PUB` and the signer's public key"
        );
    }))
}

/// The bytes of the envelope beside a receipt.
fn envelope(change: &KnownChange) -> Result<Vec<u8>, Failure> {
    let revision = change.receipt.revision;
    match &change.sealed {
        Sealed::Yes(envelope) => Ok(envelope.to_bytes()),
        Sealed::No => Err(Failure::no(anyhow!(
            "the receipt of revision {revision} is not signed, so it cannot be verified outside the cluster"
        ))
        .hint("sign the receipts of future changes with `--receipt-key KEY`")),
        Sealed::Otherwise => Err(Failure::no(anyhow!(
            "the signature of the receipt of revision {revision} does not match it"
        ))
        .hint("check the signatures of all receipts with `solution history --key PUB`: the receipt or its signature was changed")),
    }
}
