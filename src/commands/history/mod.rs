//! `solution history`: what was changed in the cluster, by whom, and what became of it.

pub(super) mod shown;
pub(super) mod signature;
pub(super) mod table;
pub(super) mod written;

use std::path::PathBuf;

use clap::Args;
use importer::{Revision, Wanted};
use schemas::{EnvironmentName, Namespace, SolutionName};

use self::shown::shown;
use self::table::show;
use crate::args::{Output, ReadArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, render};

/// Show what was changed in the cluster, by whom, and what became of it
#[derive(Args, Debug)]
#[command(after_help = "\
The newest change comes first. Every change of the cluster by this program has a revision, unless
nothing had to be changed. BEFORE is what ran in the namespace until then; `solution rollback --to
REVISION` goes back to what a revision deployed. With --output json, each revision also has its
archive, its choices, and the objects that were written and removed.

Whoever may write in the records' namespace could change a receipt. With --key it is said of each
who signed it (--receipt-key of the verb that made it); exits with 1 if one is not signed with one of
the keys, cannot be read, was changed or removed, or names another cluster. That the newest were
removed cannot be told.

BY is the user that the API server authenticated, and in brackets the local user and host.

Examples:
  solution history
  solution history example -e prod --limit 5
  solution history --key site.pub
  solution history --receipt 12 --out receipt-12.json
  solution history example --output json")]
pub(crate) struct Arguments {
    /// Only changes of this Solution
    solution: Option<SolutionName>,

    /// Only changes in this environment
    #[arg(short, long, value_name = "NAME")]
    environment: Option<EnvironmentName>,

    /// Only changes in this namespace
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// Only so many, the newest [default: all that are kept]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// A public key (PEM) whose signature of receipts counts; may be repeated
    #[arg(long = "key", value_name = "PUB")]
    keys: Vec<PathBuf>,

    /// Write the signed receipt of this revision into the file that --out names, for `solution receipt verify`
    #[arg(
        long,
        value_name = "REVISION",
        requires = "out",
        conflicts_with_all = ["solution", "environment", "namespace", "limit", "keys"]
    )]
    receipt: Option<Revision>,

    /// Where the receipt goes: a file that does not exist yet
    #[arg(long, value_name = "FILE", requires = "receipt")]
    out: Option<PathBuf>,

    #[command(flatten)]
    cluster: ReadArguments,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let wanted = Wanted {
        solution: arguments.solution.clone(),
        environment: arguments.environment.clone(),
        namespace: arguments.namespace.clone(),
        limit: arguments.limit,
    };
    let trust = signature::trust(&arguments.keys)?;
    let history = cluster::read(&arguments.cluster, async |cluster| {
        Ok(importer::history(cluster, &wanted).await?)
    })?;
    if let (Some(revision), Some(out)) = (arguments.receipt, &arguments.out) {
        return written::write(&history, revision, out, output);
    }
    let shown = shown(&history, trust.as_ref());
    render::result(output, &shown, show);
    let is_answered = trust.is_none() || shown.is_proven();
    Ok(choose(is_answered, Outcome::Yes, Outcome::No))
}
