//! `solution history`: the changes in a cluster, with their authors and outcomes. With `--receipt`, it writes the
//! receipt of one change to a file.

pub(super) mod table;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use importer::{ChangeFilter, History, KnownChange, ReceiptEnvelope, Revision};
use schemars::JsonSchema;
use schemas::{EnvironmentName, Namespace, SolutionName};
use serde::Serialize;

use self::table::show;
use super::give;
use crate::args::{Output, ReadArguments};
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
    let mut history = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::history(cluster, &wanted).await?)
    })?;
    if let (Some(revision), Some(out)) = (arguments.receipt, &arguments.out) {
        return write(&history, revision, out, output);
    }
    if let Some(trust) = &trust {
        let changes = history.revisions.iter_mut();
        changes.for_each(|change| table::verify(change, trust));
    }
    render::result(output, &history, |history| show(history, trust.is_some()));
    let is_answered = trust.is_none() || history.is_proven();
    Ok(Outcome::from(is_answered))
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
