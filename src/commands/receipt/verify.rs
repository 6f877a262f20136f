//! `solution receipt verify`: whether one of the keys signed a receipt, which cluster it is of, and what it says.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use importer::{ChangeReceipt, Sealed};
use schemas::{ClusterUid, Envelope, PayloadType, limits};

use super::show::{ExpectedCluster, VerifiedReceipt, show};
use crate::args::{Output, ReadArguments, choose};
use crate::commands::history::shown::ShownChange;
use crate::commands::history::signature::{self, Signature};
use crate::failure::{self, Failure, Outcome};
use crate::{cluster, render};

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
pub(crate) struct Verify {
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

impl Verify {
    /// Returns the UID of the cluster that the receipt is to be of, if any is asked for.
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
            let message = format!(
                "`{}` is signed, but was written by a newer version of `solution`",
                file.display()
            );
            return Err(Failure::no(anyhow!(message)).hint("use a newer version of `solution`"));
        }
        (true, receipt) => receipt,
        (false, _) => None,
    };
    let named = receipt.as_ref().map(|receipt| &receipt.origin.cluster_uid);
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
        change: receipt.as_ref().map(|receipt| ShownChange {
            receipt,
            signature,
            signed_by,
            is_asked: true,
        }),
    };
    render::result(output, &verified, show);
    Ok(choose(is_valid && is_of_cluster, Outcome::Yes, Outcome::No))
}
