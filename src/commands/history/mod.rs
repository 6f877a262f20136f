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
