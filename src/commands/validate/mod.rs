//! `solution validate`: everything that can be checked without a cluster. All findings are reported at once, each with
//! its fix.

pub(super) mod check;
mod vulnerabilities;

use std::path::PathBuf;

use clap::Args;
use rules::catalogue::{Severity, is_vulnerability};
use schemars::JsonSchema;
use serde::Serialize;
use validator::{
    ArchiveVerdict, CheckDepth, EvaluatedFindings, Finding, Report, SignaturePolicy, SignatureRule,
    SourcePlace, Summary,
};

use self::check::JudgingOptions;
use self::vulnerabilities::{VulnerabilityArguments, VulnerabilityReport};
use crate::args::{FindingsArguments, Output, TrustArguments};
use crate::failure::{Failure, Outcome};
use crate::review::Checked;
use crate::trust::PolicyDirectory;
use crate::{environment, render};

/// Validate an archive and its signatures
#[derive(Args, Debug)]
#[command(mut_arg("output", |argument| argument.short('o')), after_help = "\
The command shows all findings, each with its id and how to fix it.

Examples:
  solution validate app.iso --key publisher.pub
  solution validate app.iso                      (by the policies of `solution trust`)
  solution validate app.iso --key a.pub --key b.pub --threshold 2 --output json
  solution validate app.iso --key publisher.pub --output junit > junit.xml
  solution validate app.iso --key publisher.pub --findings-policy solution.policy.yaml
  solution validate app.iso --key publisher.pub --select images,operator.wildcard
  solution validate app.iso --key publisher.pub --vulnerabilities vulnerability-db.tar.zst \\
      --vex app.openvex.json
  solution validate /dev/sr0 --key publisher.pub")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device)
    archive: PathBuf,

    #[command(flatten)]
    trust: TrustArguments,

    /// Validate everything except the signatures
    #[arg(long, conflicts_with_all = ["keys", "threshold"])]
    skip_signature: bool,

    #[command(flatten)]
    vulnerabilities: VulnerabilityArguments,

    #[command(flatten)]
    findings: FindingsArguments,
}

/// The result of validating an archive.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Validated<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(flatten)]
    judged: &'a EvaluatedFindings,
    /// Whether the archive is accepted. A policy for findings can only refuse more.
    verdict: ArchiveVerdict,
    /// The known vulnerabilities of its images, if a database was given and the archive is in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    vulnerabilities: Option<VulnerabilityReport>,
    /// Where policies were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_folders: Vec<PolicyDirectory>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let asked = JudgingOptions::read(&arguments.findings, None)?;
    check::present(&arguments.archive)?;
    let judge = arguments.vulnerabilities.judge()?;
    let (signatures, policy_folders) = if arguments.skip_signature {
        (SignaturePolicy::Skip, Vec::new())
    } else {
        check::effective_trust(&arguments.trust, None, output)?
    };
    let report = check::check(
        &arguments.archive,
        signatures,
        CheckDepth::Everything,
        output,
    )?;
    let now = environment::now().map_err(Failure::unknown)?;
    let vulnerabilities = match &judge {
        Some(judge) if report.verdict() != ArchiveVerdict::Refused => {
            let archive_id = report.summary().archive_id;
            Some(judge.report(&arguments.archive, archive_id, now, output)?)
        }
        _ => None,
    };
    let mut findings = report.findings().to_vec();
    findings.extend(
        vulnerabilities
            .iter()
            .flat_map(VulnerabilityReport::findings),
    );
    let judged = &asked.judge(&findings, now);
    let validated = Validated {
        summary: report.summary(),
        judged,
        verdict: judged.verdict(report.verdict()),
        vulnerabilities,
        policy_folders,
    };
    asked.tell(judged, output);
    render::result(output, &validated, |validated| {
        if let Some(report) = &validated.vulnerabilities {
            report.show(validated.judged);
        }
        show(validated.summary, validated.verdict);
    });
    asked.review(Checked::Archive(&arguments.archive), judged)?;
    Ok(match validated.verdict {
        ArchiveVerdict::Accepted | ArchiveVerdict::Unvouched => Outcome::Yes,
        ArchiveVerdict::Refused => Outcome::No,
    })
}

/// Describes the rule for signatures and its result: `policy acme: 2 of 3 keys signed, 2 needed`. The signers of a
/// refused archive are in the finding.
pub(super) fn in_words(judged: &SignatureRule, signed: usize) -> String {
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

/// Shows the summary of an archive and its verdict.
fn show(summary: &Summary, verdict: ArchiveVerdict) {
    let name = match (&summary.solution, &summary.version) {
        (Some(solution), Some(version)) => format!("{solution} {version}"),
        _ => summary.archive.clone(),
    };
    if let Some(id) = &summary.archive_id {
        render::line!("archive id  {id}");
    }
    render::lines("signed by   ", &summary.signers);
    if let Some(judged) = &summary.judged {
        render::line!("checked by  {}", in_words(judged, summary.signers.len()));
    }
    let held = match (summary.images, summary.files, summary.size) {
        (Some(images), Some(files), Some(size)) => {
            let images = render::images(images, summary.referrers.unwrap_or_default());
            let files = render::count(files, "file");
            format!(" ({images}, {files}, {})", render::bytes(size))
        }
        _ => String::new(),
    };
    if summary.bytes_behind > 0 {
        let behind = render::bytes(summary.bytes_behind);
        render::line!("note        {behind} follow the archive on the media and were not read");
    }
    if let Some(included) = summary.helm_included {
        show_helm(included);
    }
    render::line(match verdict {
        ArchiveVerdict::Accepted => format!("valid: {name}{held}"),
        ArchiveVerdict::Unvouched => {
            format!("intact: {name}{held}, but not verified: signatures were not checked")
        }
        ArchiveVerdict::Refused => format!("refused: {name}"),
    });
}

/// Notes that the site needs Helm for the charts of an archive.
pub(super) fn show_helm(included: bool) {
    let included = if included { "yes" } else { "no" };
    render::line!("needs       helm at the site (included: {included})");
}

/// Prints the findings to people. Vulnerabilities have a table, so only those that a policy refuses are printed.
pub(super) fn print_findings(findings: &[Finding], output: Output) {
    if output == Output::Human {
        let told = findings.iter();
        told.filter(|finding| !is_vulnerability(finding.id) || finding.severity == Severity::Error)
            .for_each(show_finding);
    }
}

/// Reports that an archive is not accepted, with the consequence `follows`.
pub(super) fn refuse(report: &Report, follows: &str, output: Output) -> Outcome {
    print_findings(report.findings(), output);
    render::result(output, report, |report| {
        let archive = &report.summary().archive;
        render::note!("error: `{archive}` is not accepted{follows}");
    });
    Outcome::No
}

/// Shows one finding to people.
fn show_finding(finding: &Finding) {
    let severity = finding.severity.word();
    let (id, message) = (finding.id, &finding.message);
    let source = finding.source.as_ref().map(SourcePlace::to_string);
    let place = source.unwrap_or_else(|| finding.place.clone());
    let colon = if place.is_empty() { "" } else { ": " };
    render::note!("{severity}[{id}]: {place}{colon}{message}");
    render::note!("  hint: {}", finding.fix);
}
