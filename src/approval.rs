//! Who must have signed a plan before it is carried out.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use schemas::Envelope;
use signing::Trust;

use crate::args::Output;
use crate::failure::{self, Failure};
use crate::{keys, render};

/// Who must have signed a plan.
#[derive(Args, Debug)]
pub(crate) struct ApprovalArguments {
    /// A public key (PEM) that must have signed the plan; may be repeated
    #[arg(long, value_name = "PUB", requires = "plan")]
    approved_by: Vec<PathBuf>,

    /// The number of --approved-by keys that must have signed [default: all]
    #[arg(long, value_name = "N", requires = "approved_by")]
    approvals: Option<NonZeroUsize>,
}

/// Everybody who must have signed the plan did.
pub(crate) fn check_approval(
    path: &Path,
    envelope: &Envelope,
    arguments: &ApprovalArguments,
    output: Output,
) -> Result<(), Failure> {
    let signatures = envelope.signatures().len();
    if arguments.approved_by.is_empty() {
        if signatures > 0 && output == Output::Human {
            render::note("warning: the plan's signatures are not verified without `--approved-by`");
        }
        return Ok(());
    }
    let keys = arguments.approved_by.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let all = NonZeroUsize::new(keys.len());
    let trust = Trust::new(keys, arguments.approvals.or(all)).map_err(failure::approvers)?;
    let signers =
        signing::verify(envelope, &trust).map_err(|error| failure::not_approved(path, &error))?;
    if output == Output::Human {
        for key in signers.trusted {
            render::note!("approved by key {key}");
        }
    }
    Ok(())
}
