//! The check of an archive by keys or trust policies, and the options for evaluating its findings. `validate` and
//! `import` use it.

use std::path::{Path, PathBuf};

use archive::{Medium, OpenError};
use schemas::{SolutionId, StatementTime, limits};
use validator::{
    AcceptedArchive, AllowUnsigned, CheckDepth, EvaluatedFindings, Finding, FindingRules,
    IgnoreUnused, IgnoredBy, Report, SignaturePolicy, TrustedKeys, UnusedIgnore,
};

use super::{print_findings, refuse};
use crate::args::{FindingsArguments, Format, Output, ReportFiles, TrustArguments};
use crate::failure::{self, Failure, Outcome, cannot};
use crate::review::{self, Checked, Review};
use crate::trust::{self, PolicyDirectory};
use crate::{environment, keys, progress_bar, render};

/// Returns the effective trust and the searched policy directories, and reports them.
pub(crate) fn effective_trust(
    arguments: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<(SignaturePolicy, Vec<PolicyDirectory>), Failure> {
    let (trust, folders) = if arguments.keys.is_empty() {
        if arguments.threshold.is_some() {
            return Err(failure::no_keys());
        }
        let (policies, folders) = trust::policies()?;
        let any = !policies.is_empty();
        (any.then_some(TrustedKeys::Policies(policies)), folders)
    } else {
        (
            Some(TrustedKeys::Keys(keys::trusted(arguments)?)),
            Vec::new(),
        )
    };
    if trust.is_none() && allow.is_none() {
        return Err(failure::nobody_trusted().hint(trust::in_words(&folders)));
    }
    trust::print_policy(&folders, output);
    let signatures = SignaturePolicy::Check {
        trust,
        allow_unsigned: allow.map(AllowUnsigned),
    };
    Ok((signatures, folders))
}

/// Refuses the path of a missing archive, before keys are read.
pub(super) fn present(archive: &Path) -> Result<(), Failure> {
    match Medium::probe(archive) {
        Err(error @ OpenError::Open(..)) => Err(cannot("check", archive)(error)),
        // An existing file that is no archive is reported by the check.
        _ => Ok(()),
    }
}

/// Checks an archive without its layers, with the effective keys or policies.
pub(crate) fn documents(
    archive: &Path,
    trust: &TrustArguments,
    allow: Option<SolutionId>,
    output: Output,
) -> Result<Report, Failure> {
    present(archive)?;
    let signatures = effective_trust(trust, allow, output)?.0;
    check(archive, signatures, CheckDepth::Documents, output)
}

/// Checks an archive that must be signed. Returns none if it is not accepted; the program then reports that and what
/// `follows`.
pub(crate) fn accept(
    archive: &Path,
    trust: &TrustArguments,
    follows: &str,
    output: Output,
) -> Result<Option<AcceptedArchive>, Failure> {
    let report = documents(archive, trust, None, output)?;
    let findings = report.findings().to_vec();
    let accepted = report.accept();
    let accepted = accepted.map_err(|report| refuse(&report, follows, output));
    Ok(accepted.inspect(|_| print_findings(&findings, output)).ok())
}

/// Checks an archive, with progress.
pub(crate) fn check(
    archive: &Path,
    signatures: SignaturePolicy,
    depth: CheckDepth,
    output: Output,
) -> Result<Report, Failure> {
    let detached = archive::read_detached(archive);
    let detached = detached.map_err(|error| failure::beside(archive, error))?;
    let options = validator::CheckOptions {
        signatures,
        detached: detached.into_iter().collect(),
        depth,
        threads: environment::threads(),
        now: Some(environment::now().map_err(Failure::unknown)?),
    };
    let report = progress_bar::watched(
        output,
        "check",
        |bar, progress| bar.show("check", progress),
        |watch| validator::check(archive, &options, watch),
    );
    report.map_err(cannot("check", archive))
}

/// The name of the findings policy next to `solution.yaml`.
const BESIDE: &str = "solution.policy.yaml";

/// The options for evaluating and showing findings.
#[derive(Debug)]
pub(crate) struct JudgingOptions {
    judging: FindingRules,
    policy: Option<PathBuf>,
    format: Format,
    reports: ReportFiles,
}

impl JudgingOptions {
    /// Reads the options, with the named policy, else the one next to `solution.yaml`.
    pub(crate) fn read(
        arguments: &FindingsArguments,
        sources: Option<&Path>,
    ) -> Result<Self, Failure> {
        let mut asked = Self {
            judging: FindingRules::default(),
            policy: None,
            format: arguments.format,
            reports: arguments.reports.clone(),
        };
        review::remove_earlier(&asked.reports)?;
        for word in &arguments.select {
            asked
                .judging
                .select(word)
                .map_err(failure::misjudged("--select"))?;
        }
        // Rules on the command line have precedence over rules in a policy file.
        for ignored in arguments.ignore.iter().cloned() {
            let ignored = asked.judging.ignore(ignored.id, ignored.reason);
            ignored.map_err(failure::misjudged("--ignore"))?;
        }
        let beside = sources.filter(|directory| directory.is_dir());
        let beside = beside.map(|directory| directory.join(BESIDE));
        let named = arguments.findings_policy.clone();
        let is_named = named.is_some();
        if let Some(path) = named.or(beside) {
            match files::read(&path, limits::MANIFEST_SIZE) {
                Err(error) if error.is_missing() && !is_named => {}
                Err(error) if error.is_missing() => {
                    return Err(Failure::new(Outcome::Usage, error));
                }
                bytes => asked.add_policy(path, &bytes?)?,
            }
        }
        Ok(asked)
    }

    fn add_policy(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), Failure> {
        let added = self.judging.add_policy(bytes);
        added.map_err(|error| failure::findings_policy(&path, error))?;
        self.policy = Some(path);
        Ok(())
    }

    /// Returns the rules, for an archive that is not written yet.
    pub(crate) fn judging(&self) -> FindingRules {
        self.judging.clone()
    }

    /// Evaluates findings.
    pub(crate) fn judge(&self, findings: &[Finding], now: StatementTime) -> EvaluatedFindings {
        self.judging.evaluate(findings, now)
    }

    /// Prints the findings to people.
    pub(crate) fn tell(&self, judged: &EvaluatedFindings, output: Output) {
        print_findings(&judged.findings, output);
        if output == Output::Human {
            render::notes("note: ", self.notes(judged));
        }
    }

    /// Writes the findings for review tools.
    pub(crate) fn review(
        &self,
        checked: Checked<'_>,
        judged: &EvaluatedFindings,
    ) -> Result<(), Failure> {
        let notes = self.notes(judged);
        let review = Review {
            checked,
            judged,
            notes: &notes,
        };
        review.give(self.format, &self.reports)
    }

    /// Returns notes on the number of ignored findings, and on ignore rules that match nothing.
    fn notes(&self, judged: &EvaluatedFindings) -> Vec<String> {
        let both = [IgnoredBy::Policy, IgnoredBy::Request].into_iter();
        let counts = both.filter_map(|by| {
            let count = judged
                .ignored
                .iter()
                .filter(|ignored| ignored.by == by)
                .count();
            let found = render::count(count, "finding");
            (count > 0).then(|| format!("{found} ignored by {}", self.name(by)))
        });
        let unused = judged
            .unused_ignores
            .iter()
            .map(|ignore| self.unused(ignore));
        counts.chain(unused).collect()
    }

    fn unused(&self, unused: &UnusedIgnore) -> String {
        let (by, id) = (self.name(unused.by), &unused.ignore.id);
        let place = unused.ignore.place.as_ref();
        let place = place
            .map(|place| format!(" in `{place}`"))
            .unwrap_or_default();
        match (unused.why, unused.ignore.expires) {
            (IgnoreUnused::Expired, Some(last)) => {
                format!(
                    "{by} ignored `{id}`{place} until {last}; this has expired, so it is reported again"
                )
            }
            (IgnoreUnused::Expired | IgnoreUnused::NotFound, _) => {
                format!("{by} ignores `{id}`{place}, but there is no such finding")
            }
        }
    }

    fn name(&self, by: IgnoredBy) -> String {
        match (by, &self.policy) {
            (IgnoredBy::Policy, Some(path)) => path.display().to_string(),
            _ => "--ignore".to_owned(),
        }
    }
}
