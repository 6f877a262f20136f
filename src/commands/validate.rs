//! `solution validate`: everything that can be checked without a cluster.

use std::path::{Path, PathBuf};

use clap::Args;
use schemas::{Envelope, SolutionId};
use serde::Serialize;
use validator::{
    AllowUnsigned, Depth, Finding, Judged, Report, Severity, Signatures, Trusting, Verdict,
};

use crate::args::{Output, TrustArguments};
use crate::failure::{self, Failure, Outcome};
use crate::trust::Folder;
use crate::{environment, keys, progress, render, trust};

/// Check an archive: signatures, every byte, manifest, images, operator files
#[derive(Args, Debug)]
#[command(after_help = "\
All findings are shown, each with its id and what to do. docs/findings.md lists the ids.

Examples:
  solution validate app.iso --key publisher.pub
  solution validate app.iso                      (by the policies of `solution trust`)
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

/// A report, and where the policies were looked for that it is judged by.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Validated<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_folders: Vec<Folder>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let (signatures, policy_folders) = if arguments.skip_signature {
        (Signatures::Skip, Vec::new())
    } else {
        whose(&arguments.trust, None, output)?
    };
    let report = check(&arguments.archive, signatures, Depth::Everything, output)?;
    let validated = Validated {
        report: &report,
        policy_folders,
    };
    render::result(output, &validated, |validated| show(validated.report));
    Ok(match report.verdict() {
        Verdict::Accepted | Verdict::Unvouched => Outcome::Yes,
        Verdict::Refused => Outcome::No,
    })
}

/// Whose signatures count: the keys of the command line, or the policies.
pub(super) fn signatures(
    arguments: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<Signatures, Failure> {
    whose(arguments, allow, output).map(|(signatures, _)| signatures)
}

/// Whose signatures count, and where policies were looked for, which is said too.
fn whose(
    arguments: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<(Signatures, Vec<Folder>), Failure> {
    let (trust, folders) = if arguments.keys.is_empty() {
        let (policies, folders) = trust::policies()?;
        let any = !policies.is_empty();
        (any.then_some(Trusting::Policies(policies)), folders)
    } else {
        (Some(Trusting::Keys(keys::trusted(arguments)?)), Vec::new())
    };
    if trust.is_none() && allow.is_none() {
        return Err(Failure::usage("no public key is given or trusted on this machine, so no signature can be trusted")
            .hint("give the publisher's key with `--key`, or trust it with `solution trust add`; `validate --skip-signature` checks everything else")
            .hint(trust::in_words(&folders)));
    }
    trust::say(&folders, output);
    let signatures = Signatures::Check {
        trust,
        allow_unsigned: allow.map(AllowUnsigned),
    };
    Ok((signatures, folders))
}

/// Checks an archive, with progress.
pub(super) fn check(
    archive: &Path,
    signatures: Signatures,
    depth: Depth,
    output: Output,
) -> Result<Report, Failure> {
    let options = validator::Options {
        signatures,
        detached: detached(archive)?,
        depth,
        threads: environment::threads(),
        now: Some(environment::now().map_err(Failure::unknown)?),
    };
    let report = progress::watched(
        output,
        "check",
        |bar, progress| bar.show("check", progress),
        |watch| validator::check(archive, &options, watch),
    );
    report.map_err(|error| {
        Failure::unknown(error).context(format!("cannot check `{}`", archive.display()))
    })
}

/// Signatures that lie beside the archive, in `<archive>.dsse.json`.
fn detached(archive: &Path) -> Result<Vec<Envelope>, Failure> {
    archive::read_detached(archive)
        .map(|envelope| envelope.into_iter().collect())
        .map_err(|error| failure::beside(archive, error))
}

/// By what an archive was judged, and how: `policy acme: 2 of 3 keys signed, 2 needed`. Who signed an archive that is
/// refused stands in the finding.
pub(super) fn in_words(judged: &Judged, signed: usize) -> String {
    let by = match &judged.policy {
        Some(policy) => format!("policy {policy}"),
        None => "--key".to_owned(),
    };
    let keys = render::count(judged.keys, "key");
    let needed = judged.threshold;
    match signed {
        0 => format!("{by}: {needed} of {keys} must have signed"),
        _ => format!("{by}: {signed} of {keys} signed, {needed} needed"),
    }
}

fn show(report: &Report) {
    talk_of(report, Output::Human);
    let summary = report.summary();
    let name = match (&summary.solution, &summary.version) {
        (Some(solution), Some(version)) => format!("{solution} {version}"),
        _ => summary.archive.clone(),
    };
    if let Some(id) = &summary.archive_id {
        render::line!("archive id  {id}");
    }
    for signer in &summary.signers {
        render::line!("signed by   {signer}");
    }
    if let Some(judged) = &summary.judged {
        render::line!("judged by   {}", in_words(judged, summary.signers.len()));
    }
    let held = match (summary.images, summary.files, summary.size) {
        (Some(images), Some(files), Some(size)) => {
            format!(
                " ({}, {}, {})",
                render::count(images, "image"),
                render::count(files, "file"),
                render::bytes(size)
            )
        }
        _ => String::new(),
    };
    if summary.bytes_behind > 0 {
        render::line!(
            "note        the medium goes on for {} behind the archive; they were not read",
            render::bytes(summary.bytes_behind)
        );
    }
    render::line(match report.verdict() {
        Verdict::Accepted => format!("valid: {name}{held}"),
        Verdict::Unvouched => {
            format!("intact: {name}{held}, but nobody vouches for it: signatures were not checked")
        }
        Verdict::Refused => format!("refused: {name}"),
    });
}

/// The findings, if a person reads.
pub(super) fn talk_of(report: &Report, output: Output) {
    if output == Output::Human {
        report.findings().iter().for_each(show_finding);
    }
}

/// One finding, for people.
fn show_finding(finding: &Finding) {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = if finding.place.is_empty() {
        String::new()
    } else {
        format!("{}: ", finding.place)
    };
    let (id, message) = (finding.id, &finding.message);
    render::note!("{severity}[{id}]: {place}{message}");
    render::note!("  hint: {}", finding.fix);
}
