//! `solution validate`: everything that can be checked without a cluster.

use std::path::{Path, PathBuf};

use clap::Args;
use schemas::SolutionId;
use validator::{Depth, Report, Severity, Trusted, Verdict};

use super::support;
use crate::args::{Output, TrustArguments};
use crate::exit::{Failure, Outcome};
use crate::{environment, progress, render};

/// Check an archive: signatures, every byte, manifest, images, operator files
#[derive(Args, Debug)]
#[command(after_help = "\
All findings are shown, each with its id and what to do. docs/findings.md lists the ids.

Examples:
  solution validate app.iso --key publisher.pub
  solution validate app.iso --key a.pub --key b.pub --threshold 2 --output json
  solution validate /dev/sr0 --key publisher.pub")]
pub(crate) struct Arguments {
    /// The archive: a file, or the device of a disc
    archive: PathBuf,

    #[command(flatten)]
    trust: TrustArguments,

    /// Check everything but the signatures; the archive is then nobody's word
    #[arg(long, conflicts_with_all = ["keys", "threshold"], help_heading = "Trust")]
    skip_signature: bool,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let trust = if arguments.skip_signature { Trusted::Skip } else { trust(&arguments.trust, None)? };
    let report = check(&arguments.archive, trust, Depth::Everything, output)?;
    render::result(output, &report, show);
    Ok(match report.verdict() {
        Verdict::Accepted | Verdict::Unvouched => Outcome::Yes,
        Verdict::Refused => Outcome::No,
    })
}

/// Whose signatures count, from the command line.
pub(super) fn trust(arguments: &TrustArguments, allow: Option<SolutionId>) -> Result<Trusted, Failure> {
    match (arguments.keys.is_empty(), allow) {
        (false, _) => support::trust(arguments).map(Trusted::Keys),
        (true, Some(id)) => Ok(Trusted::AllowUnsigned(id)),
        (true, None) => Err(Failure::usage("no public key is given, so nobody's signature counts")
            .hint("give the publisher's key with `--key`; `validate --skip-signature` checks everything else")),
    }
}

/// Checks an archive, with progress.
pub(super) fn check(archive: &Path, trust: Trusted, depth: Depth, output: Output) -> Result<Report, Failure> {
    let size = std::fs::metadata(archive).map_or(0, |metadata| metadata.len());
    let bar = progress::bytes(output, "check", size);
    let options = validator::Options {
        trust,
        depth,
        threads: environment::threads(),
        cancel: environment::interrupted()?,
    };
    let report = validator::check(archive, &options, &|done| bar.set_position(done));
    bar.finish_and_clear();
    report.map_err(|error| {
        Failure::unknown(error).context(format!("cannot check `{}`", archive.display()))
    })
}

fn show(report: &Report) {
    show_findings(report);
    let summary = report.summary();
    let name = match (&summary.solution, &summary.version) {
        (Some(solution), Some(version)) => format!("{solution} {version}"),
        _ => summary.archive.clone(),
    };
    if let Some(id) = &summary.archive_id {
        render::line(format!("archive id  {id}"));
    }
    for signer in &summary.signers {
        render::line(format!("signed by   {}", signer.0));
    }
    let held = match (summary.images, summary.files, summary.size) {
        (Some(images), Some(files), Some(size)) => {
            format!(" ({}, {}, {})", render::count(images, "image"), render::count(files, "file"), render::bytes(size))
        }
        _ => String::new(),
    };
    render::line(match report.verdict() {
        Verdict::Accepted => format!("valid: {name}{held}"),
        Verdict::Unvouched => format!("intact: {name}{held}, but nobody vouches for it: signatures were not checked"),
        Verdict::Refused => format!("refused: {name}"),
    });
}

/// The findings, for people.
pub(super) fn show_findings(report: &Report) {
    for finding in report.findings() {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = if finding.place.is_empty() { String::new() } else { format!("{}: ", finding.place) };
        render::note(format!("{severity}[{}]: {place}{}\n  hint: {}", finding.id, finding.message, finding.fix));
    }
}
