//! `solution validate`: everything that can be checked without a cluster.

pub(super) mod check;
pub(super) mod words;

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use validator::{ArchiveVerdict, Depth, Report, Signatures};

use crate::args::{FindingsArguments, Output, TrustArguments};
use crate::failure::{Failure, Outcome};
use crate::render;
use crate::review::{Checked, Review};
use crate::trust::Folder;

/// Check an archive: signatures, every byte, manifest, images, operator files
#[derive(Args, Debug)]
#[command(after_help = "\
All findings are shown, each with its id and what to do. docs/findings.md lists the ids.

Examples:
  solution validate app.iso --key publisher.pub
  solution validate app.iso                      (by the policies of `solution trust`)
  solution validate app.iso --key a.pub --key b.pub --threshold 2 --output json
  solution validate app.iso --key publisher.pub --output junit > junit.xml
  solution validate /dev/sr0 --key publisher.pub")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,

    #[command(flatten)]
    trust: TrustArguments,

    /// Check everything but the signatures: nobody then vouches for the archive
    #[arg(long, conflicts_with_all = ["keys", "threshold"], help_heading = "Trust")]
    skip_signature: bool,

    #[command(flatten)]
    findings: FindingsArguments,
}

/// What a check says of an archive.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Validated<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Where policies were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_folders: Vec<Folder>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (signatures, policy_folders) = if arguments.skip_signature {
        (Signatures::Skip, Vec::new())
    } else {
        check::whose(&arguments.trust, None, output)?
    };
    let report = check::check(&arguments.archive, signatures, Depth::Everything, output)?;
    let validated = Validated {
        report: &report,
        policy_folders,
    };
    render::result(output, &validated, |validated| {
        words::show(validated.report);
    });
    let review = Review {
        checked: Checked::Archive(&arguments.archive),
        findings: report.findings(),
    };
    review.show(arguments.findings.format);
    Ok(match report.verdict() {
        ArchiveVerdict::Accepted | ArchiveVerdict::Unvouched => Outcome::Yes,
        ArchiveVerdict::Refused => Outcome::No,
    })
}
