//! `solution receipt`: verifies the receipt of a change without its cluster, and shows its content. The content is
//! shown only if the signature is valid.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use clap::{Args, Subcommand};
use importer::{ChangeReceipt, KnownChange, ReceiptEnvelope, ReceiptSignature};
use schemars::JsonSchema;
use schemas::{ClusterUid, Envelope, PayloadType, limits};
use serde::Serialize;

use super::history::table;
use crate::args::{Output, ReadArguments};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

/// Verify signed receipts of changes
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  solution history --receipt 12 --out receipt-12.json    (at the site)
  solution receipt verify receipt-12.json --key site.pub")]
pub(crate) enum Command {
    Verify(VerifyArguments),
}

pub(super) fn run(command: &Command, output: Output) -> Result<Outcome, Failure> {
    match command {
        Command::Verify(arguments) => verify(arguments, output),
    }
}

/// The cluster that a receipt is expected to be of.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ExpectedCluster {
    /// The UID of the cluster's namespace kube-system.
    uid: ClusterUid,
    /// Whether the receipt is of this cluster; null if it does not name its cluster.
    matches: Option<bool>,
}

/// The result of verifying a receipt.
#[derive(Serialize, JsonSchema)]
pub(crate) struct VerifiedReceipt<'a> {
    /// The file that was read.
    file: &'a Path,
    /// Whether one of the keys signed it.
    valid: bool,
    /// The cluster that it was compared with, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<ExpectedCluster>,
    /// The change; null if none of the keys signed it.
    change: Option<KnownChange>,
}

/// Shows the facts that a receipt proves.
fn show(verified: &VerifiedReceipt<'_>) {
    let file = verified.file.display();
    let Some(change) = &verified.change else {
        render::note!("error: `{file}` has no valid signature by one of these keys");
        render::note(
            "hint: get the file again from the site, and its public key through another channel",
        );
        return;
    };
    let command = || format!("solution receipt verify {file} --key PUB -o yaml");
    render::table(table::TITLES, &table::rows(change, true, command));
    render::lines("written     ", &change.receipt.written);
    render::lines("removed     ", &change.receipt.removed);
    let origin = &change.receipt.origin;
    let named = origin.cluster_uid.as_ref().map(ClusterUid::as_str);
    render::line!("cluster     {}", named.unwrap_or("not recorded"));
    render::lines("fleet       ", &origin.fleet);
    render::line!("valid: `{file}` is unchanged since it was signed");
    show_cluster(verified.cluster.as_ref(), named);
}

/// Shows the reason why a receipt is not from the requested cluster.
fn show_cluster(expected: Option<&ExpectedCluster>, named: Option<&str>) {
    match (expected, named) {
        (Some(expected), Some(named)) if expected.matches == Some(false) => {
            let uid = &expected.uid;
            render::note!("error: the receipt belongs to another cluster: UID {named}, not {uid}");
            render::note("hint: get the receipt from the cluster in question");
        }
        (Some(_), None) => {
            render::note("error: cannot check the cluster of the receipt: cluster not recorded");
            render::note(
                "hint: create receipts with a version later than 1.0.0 and the right to read the namespace kube-system: otherwise they do not record the cluster",
            );
        }
        _ => {}
    }
}

/// Verify the signature of a receipt and show the change
#[derive(Args, Debug)]
#[command(
    mut_arg("kubeconfig", |argument| argument.requires("cluster")),
    mut_arg("context", |argument| argument.requires("cluster")),
    after_help = "\
`solution history --receipt N --out FILE` writes the file at a site. Exit code 1 means that none of the keys \
signed the receipt; its content is then not shown. With --cluster, it can also mean that the receipt is from \
another cluster, or names no cluster (version 1.0.0).

Examples:
  solution receipt verify receipt-12.json --key site.pub
  solution receipt verify r.json --key site.pub --cluster 8b1ecb6e-0000-4000-8000-000000000000
  solution receipt verify receipt-12.json --key site.pub --cluster --context site-b
  solution receipt verify receipt-12.json --key a.pub --key b.pub --output json")]
pub(crate) struct VerifyArguments {
    /// The file with the receipt
    file: PathBuf,

    /// A public key (PEM) to trust; may be repeated, and one signature is enough
    #[arg(long = "key", value_name = "PUB", required = true)]
    keys: Vec<PathBuf>,

    /// Verify that the receipt is from the cluster with this UID of its kube-system namespace [without UID: the
    /// cluster of the kubeconfig]
    #[arg(long, value_name = "UID", num_args = 0..=1)]
    #[expect(
        clippy::option_option,
        reason = "clap's form of an option with an optional value"
    )]
    cluster: Option<Option<ClusterUid>>,

    #[command(flatten)]
    reading: ReadArguments,
}

impl VerifyArguments {
    /// Returns the UID of the cluster that the receipt must be from, if the user requires one.
    fn expected(&self) -> Result<Option<ClusterUid>, Failure> {
        match &self.cluster {
            None => Ok(None),
            Some(Some(uid)) => Ok(Some(uid.clone())),
            Some(None) => cluster::read(&self.reading, async |cluster| {
                let uid = importer::cluster_uid(cluster).await;
                uid.map_err(failure::member)
            })
            .map(Some),
        }
    }
}

fn verify(arguments: &VerifyArguments, output: Output) -> Result<Outcome, Failure> {
    let file = arguments.file.as_path();
    let trust = table::trust(&arguments.keys)?.expect("a key is required");
    let bytes = files::read(file, limits::RECEIPT_SIZE as u64)?;
    let envelope = Envelope::from_slice_of(PayloadType::Receipt, &bytes)
        .with_context(|| format!("`{}` is not the signed receipt of a change", file.display()))
        .map_err(Failure::no)?;
    let receipt = ChangeReceipt::from_slice(envelope.payload());
    let signers = signing::verify(&envelope, &trust).ok();
    let is_valid = signers.is_some();
    // The content is not trusted without a valid signature, not even the version of its format.
    let change = match (signers, receipt) {
        (Some(_), None) => {
            let message = format!(
                "`{}` is signed, but was written by a newer version of `solution`",
                file.display()
            );
            return Err(Failure::no(anyhow!(message)).hint("use a newer version of `solution`"));
        }
        (Some(signers), Some(receipt)) => Some(KnownChange {
            receipt,
            sealed: ReceiptEnvelope::Yes(Box::new(envelope)),
            signature: ReceiptSignature::Valid,
            signed_by: signers.trusted,
        }),
        (None, _) => None,
    };
    let named = change
        .as_ref()
        .map(|change| &change.receipt.origin.cluster_uid);
    let expected = match (named, arguments.expected()?) {
        (Some(named), Some(uid)) => Some(ExpectedCluster {
            matches: named.as_ref().map(|named| *named == uid),
            uid,
        }),
        _ => None,
    };
    let is_of_cluster = expected
        .as_ref()
        .is_none_or(|cluster| cluster.matches == Some(true));
    let verified = VerifiedReceipt {
        file,
        valid: is_valid,
        cluster: expected,
        change,
    };
    render::result(output, &verified, show);
    Ok(Outcome::from(is_valid && is_of_cluster))
}
