//! What a check has found, for people.

use rules::catalogue::{Severity, is_vulnerability};
use validator::{ArchiveVerdict, Finding, Report, SignatureRule, SourcePlace, Summary};

use crate::args::{Output, choose};
use crate::failure::Outcome;
use crate::render;

/// By what an archive was judged, and how: `policy acme: 2 of 3 keys signed, 2 needed`. Who signed an archive that is
/// refused stands in the finding.
pub(crate) fn in_words(judged: &SignatureRule, signed: usize) -> String {
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

/// What is known of an archive, and what is said of it.
pub(super) fn show(summary: &Summary, verdict: ArchiveVerdict) {
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

/// Says that the site needs Helm for the charts of an archive.
pub(crate) fn show_helm(included: bool) {
    let included = choose(included, "yes", "no");
    render::line!("needs       helm at the site (included: {included})");
}

/// The findings, if a person reads; of vulnerabilities, which have a table, only those that a policy refuses.
pub(crate) fn talk(findings: &[Finding], output: Output) {
    if output == Output::Human {
        let told = findings.iter();
        told.filter(|it| !is_vulnerability(it.id) || it.severity == Severity::Error)
            .for_each(show_finding);
    }
}

/// Says that an archive is not accepted, and what `follows`.
pub(crate) fn refuse(report: &Report, follows: &str, output: Output) -> Outcome {
    talk(report.findings(), output);
    render::result(output, report, |report| {
        let archive = &report.summary().archive;
        render::note!("error: `{archive}` is not accepted{follows}");
    });
    Outcome::No
}

/// One finding, for people.
fn show_finding(finding: &Finding) {
    let severity = finding.severity.word();
    let (id, message) = (finding.id, &finding.message);
    let source = finding.source.as_ref().map(SourcePlace::to_string);
    let place = source.unwrap_or_else(|| finding.place.clone());
    let colon = choose(place.is_empty(), "", ": ");
    render::note!("{severity}[{id}]: {place}{colon}{message}");
    render::note!("  hint: {}", finding.fix);
}
