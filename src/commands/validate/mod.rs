//! `solution validate`: everything that can be checked without a cluster.

pub(super) mod check;
pub(super) mod judging;
mod known;
mod vulnerabilities;
pub(super) mod words;

use std::path::PathBuf;

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use validator::{ArchiveVerdict, Depth, JudgedFindings, Signatures, Summary};

use self::judging::AskedJudging;
use self::known::VulnerabilityReport;
use self::vulnerabilities::VulnerabilityArguments;
use crate::args::{FindingsArguments, Output, TrustArguments};
use crate::failure::{Failure, Outcome};
use crate::review::Checked;
use crate::trust::Folder;
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
    judged: &'a JudgedFindings,
    /// Whether the archive is accepted. A policy for findings can only refuse more.
    verdict: ArchiveVerdict,
    /// The known vulnerabilities of its images, if a database was given and the archive is in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    vulnerabilities: Option<VulnerabilityReport>,
    /// Where policies were looked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    policy_folders: Vec<Folder>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let asked = AskedJudging::read(&arguments.findings, None)?;
    check::present(&arguments.archive)?;
    let judge = arguments.vulnerabilities.judge()?;
    let (signatures, policy_folders) = if arguments.skip_signature {
        (Signatures::Skip, Vec::new())
    } else {
        check::whose(&arguments.trust, None, output)?
    };
    let report = check::check(&arguments.archive, signatures, Depth::Everything, output)?;
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
        words::show(validated.summary, validated.verdict);
    });
    asked.review(Checked::Archive(&arguments.archive), judged)?;
    Ok(match validated.verdict {
        ArchiveVerdict::Accepted | ArchiveVerdict::Unvouched => Outcome::Yes,
        ArchiveVerdict::Refused => Outcome::No,
    })
}
