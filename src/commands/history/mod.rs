//! `solution history`: the changes in a cluster, with their authors and outcomes. With `--receipt`, it writes the
//! receipt of one change to a file.

pub(super) mod table;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use importer::{
    ChangeFilter, ChangeReceipt, History, KnownChange, ReceiptEnvelope, Revision, RevisionGap,
};
use schemars::JsonSchema;
use schemas::{EnvironmentName, KeyId, Namespace, SolutionName};
use serde::Serialize;
use signing::Trust;

use self::table::{Signature, show};
use super::give;
use crate::args::{Output, ReadArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, disk, render};

/// Show the changes made to the cluster
#[derive(Args, Debug)]
#[command(after_help = "\
Each change of the cluster by this program has a revision; the newest is first. PREVIOUS is the version that \
ran in the namespace until then. BY is the user that the API server authenticated, with the local user and host in \
brackets. `solution rollback --to REVISION` returns to a revision. A long reason of a failure is cut; \
--output json has all of it, and archives, choices and changed objects.

With --key, the command shows who signed each receipt (the --receipt-key of the change). Exit code 1 means that \
a receipt was changed or removed, cannot be read, is from another cluster, or is not signed by one of the keys. \
The command cannot detect that the newest receipts were removed.

Examples:
  solution history
  solution history example -e prod --limit 5
  solution history --key site.pub
  solution history --receipt 12 --out receipt-12.json
  solution history example --output json")]
pub(crate) struct Arguments {
    /// Show only changes of this Solution
    solution: Option<SolutionName>,

    /// Show only changes in this environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Show only changes in this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// Show only the newest N changes [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Verify the receipts with this public key (PEM); may be repeated
    #[arg(long = "key", value_name = "PUB")]
    keys: Vec<PathBuf>,

    /// Write the signed receipt of this revision to the file of --out
    #[arg(
        long,
        value_name = "REVISION",
        requires = "out",
        conflicts_with_all = ["solution", "environment", "namespace", "limit", "keys"]
    )]
    receipt: Option<Revision>,

    /// The file to create, which must not exist
    #[arg(long, value_name = "FILE", requires = "receipt")]
    out: Option<PathBuf>,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let wanted = ChangeFilter {
        solution: arguments.solution.clone(),
        environment: arguments.environment.clone(),
        namespace: arguments.namespace.clone(),
        limit: arguments.limit,
    };
    let trust = table::trust(&arguments.keys)?;
    let history = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::history(cluster, &wanted).await?)
    })?;
    if let (Some(revision), Some(out)) = (arguments.receipt, &arguments.out) {
        return write(&history, revision, out, output);
    }
    let shown = shown(&history, trust.as_ref());
    render::result(output, &shown, show);
    let is_answered = trust.is_none() || shown.is_proven();
    Ok(choose(is_answered, Outcome::Yes, Outcome::No))
}

/// The history of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownHistory<'a> {
    /// The changes, the newest first.
    pub(super) revisions: Vec<ShownChange<'a>>,
    /// Receipts that cannot be read: of a later program, or damaged.
    pub(super) unreadable: &'a [String],
    /// Of all receipts those that are not any more as the next one names them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(super) changed: &'a [Revision],
    /// Receipts that were removed, as far as the remaining ones show.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) missing: &'a [RevisionGap],
    /// Receipts that name another cluster and were copied here.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(super) foreign: &'a [Revision],
}

/// A change, and who signed its receipt.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownChange<'a> {
    #[serde(flatten)]
    pub(super) receipt: &'a ChangeReceipt,
    /// The state of its receipt's signature.
    pub(super) signature: Signature,
    /// The keys that made the signature, if it is valid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) signed_by: Vec<KeyId>,
    /// Whether keys are given.
    #[serde(skip)]
    pub(super) is_asked: bool,
}

impl ShownHistory<'_> {
    /// Returns true if every change has a valid signature by one of the keys, and no receipt is known to be missing.
    fn is_proven(&self) -> bool {
        let mut revisions = self.revisions.iter();
        revisions.all(|revision| revision.signature == Signature::Valid)
            && self.unreadable.is_empty()
            && self.changed.is_empty()
            && self.missing.is_empty()
            && self.foreign.is_empty()
    }
}

/// Returns a history with the signatures that these keys verify.
pub(super) fn shown<'a>(history: &'a History, trust: Option<&Trust>) -> ShownHistory<'a> {
    let changes = history.revisions.iter().map(|change| {
        let (signature, signed_by) = table::judge(&change.sealed, trust);
        ShownChange {
            receipt: &change.receipt,
            signature,
            signed_by,
            is_asked: trust.is_some(),
        }
    });
    ShownHistory {
        revisions: changes.collect(),
        unreadable: &history.unreadable,
        changed: &history.changed,
        missing: &history.missing,
        foreign: &history.foreign,
    }
}

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
fn write(
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

/// Returns the bytes of the signed envelope of a receipt.
fn envelope(change: &KnownChange) -> Result<Vec<u8>, Failure> {
    let revision = change.receipt.revision;
    match &change.sealed {
        ReceiptEnvelope::Yes(envelope) => Ok(envelope.to_bytes()),
        ReceiptEnvelope::No => Err(Failure::no(anyhow!(
            "the receipt of revision {revision} is not signed, so it cannot be verified outside the cluster"
        ))
        .hint("sign the receipts of future changes with `--receipt-key KEY`")),
        ReceiptEnvelope::Otherwise => Err(Failure::no(anyhow!(
            "the signature of the receipt of revision {revision} does not match it"
        ))
        .hint("check the signatures of all receipts with `solution history --key PUB`: the receipt or its signature was changed")),
    }
}
