//! The evaluation of findings by a publisher's policy: it changes the severity of warnings, ignores them with a reason,
//! and selects the displayed findings. The entry point is [`FindingRules::evaluate`]. A [`crate::Report`] is not affected, so a
//! policy cannot make an archive acceptable, and imports do not use policies.
//!
//! A policy cannot change errors or findings about the container, signature and integrity, because these protect the
//! site. `changeable_finding` enforces this for every id that enters a [`FindingRules`].

use std::collections::BTreeMap;

use rules::catalogue::{FINDINGS, FindingInfo, Severity, finding_group, is_vulnerability};
use schemars::JsonSchema;
use schemas::yaml::{Lines, YamlError};
use schemas::{
    FindingId, FindingsPolicy, IgnoreReason, IgnoreRule, ManifestError, PolicySeverity,
    StatementTime, nearest,
};
use serde::Serialize;

use crate::finding::Finding;
use crate::report::ArchiveVerdict;

/// The groups of findings that no policy can change.
const PROTECTED: [&str; 3] = ["container", "signature", "integrity"];
/// The maximum edit distance between an unknown id and a suggested one.
const NEAR: usize = 3;

/// The rules for the evaluation of findings. The default shows each finding with its own severity.
#[derive(Clone, Debug, Default)]
pub struct FindingRules {
    selected: Vec<String>,
    severities: BTreeMap<FindingId, PolicySeverity>,
    ignores: Vec<Ignore>,
}

#[derive(Clone, Debug)]
struct Ignore {
    rule: IgnoreRule,
    by: IgnoredBy,
}

/// The origin of an ignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IgnoredBy {
    /// The policy.
    Policy,
    /// An option of this validation.
    Request,
}

/// The reason why an id cannot be used in a policy or option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindingIdError {
    /// There is no finding or group with this name.
    #[error("`{id}` is not a known finding{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The given id or group.
        id: String,
        /// A similar known id.
        near: Option<&'static str>,
    },
    /// The finding belongs to a group that no policy can change.
    #[error(
        "`{0}` is about the origin and integrity of an archive: a policy cannot ignore it or change its severity"
    )]
    Protected(&'static str),
    /// The finding is an error already.
    #[error("`{0}` is an error: a policy cannot ignore it or lower its severity")]
    IsError(&'static str),
}

/// A fault of a policy and its line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct PolicyProblem {
    /// The line in the file.
    pub line: u64,
    /// The reason for the fault.
    pub fault: FindingIdError,
}

/// The reason why bytes are not a valid findings policy.
#[derive(Debug, thiserror::Error)]
pub enum UnusablePolicy {
    /// The bytes are not a valid document.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// The line numbers of the document cannot be determined.
    #[error(transparent)]
    Lines(#[from] YamlError),
    /// The policy contains entries that are not allowed.
    #[error("has entries that no policy may have")]
    Faults(Vec<PolicyProblem>),
}

/// The findings, after the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "JudgedFindings")]
pub struct EvaluatedFindings {
    /// The findings, each with its severity by the policy.
    pub findings: Vec<Finding>,
    /// The ignored findings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<IgnoredFinding>,
    /// The ignores that had no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused_ignores: Vec<UnusedIgnore>,
}

/// A finding that is ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IgnoredFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// The reason; missing if the policy ignores all findings with the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<IgnoreReason>,
    /// The origin of the ignore.
    pub by: IgnoredBy,
}

/// An ignore that had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnusedIgnore {
    /// The id of the findings.
    pub ignore: IgnoreRule,
    /// The origin of the ignore.
    pub by: IgnoredBy,
    /// The reason.
    pub why: IgnoreUnused,
}

/// The reason why an ignore had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IgnoreUnused {
    /// Its last day is over.
    Expired,
    /// There was no such finding.
    NotFound,
}

impl FindingRules {
    /// Adds the rules of a policy.
    ///
    /// # Errors
    ///
    /// Fails and adds nothing if the document is invalid, or if an entry is not allowed. [`UnusablePolicy::Faults`]
    /// contains all such entries.
    pub fn add_policy(&mut self, bytes: &[u8]) -> Result<(), UnusablePolicy> {
        let spec = FindingsPolicy::from_slice(bytes)?.spec;
        let lines = Lines::parse(bytes)?;
        let severities = spec.severities.keys();
        let severities = severities.map(|id| (id, format!("/spec/severities/{id}")));
        let ignores = spec.ignores.iter().enumerate();
        let ignores = ignores.map(|(at, rule)| (&rule.id, format!("/spec/ignores/{at}/id")));
        let problems = severities.chain(ignores).filter_map(|(id, pointer)| {
            let fault = changeable_finding(id).err()?;
            let line = lines.line(&pointer);
            Some(PolicyProblem { line, fault })
        });
        let mut problems: Vec<PolicyProblem> = problems.collect();
        if !problems.is_empty() {
            problems.sort_by_key(|problem| problem.line);
            return Err(UnusablePolicy::Faults(problems));
        }
        self.severities.extend(spec.severities);
        let by = IgnoredBy::Policy;
        let ignores = spec.ignores.into_iter().map(|rule| Ignore { rule, by });
        self.ignores.extend(ignores);
        Ok(())
    }

    /// Ignores all findings with this id.
    ///
    /// # Errors
    ///
    /// Fails if the id is unknown, protected or an error.
    pub fn ignore(&mut self, id: FindingId, reason: IgnoreReason) -> Result<(), FindingIdError> {
        changeable_finding(&id)?;
        let rule = IgnoreRule {
            id,
            place: None,
            reason,
            expires: None,
        };
        let by = IgnoredBy::Request;
        self.ignores.push(Ignore { rule, by });
        Ok(())
    }

    /// Limits the displayed findings to those with this id or group, other selected ones, and errors.
    ///
    /// # Errors
    ///
    /// Fails if there is no such id or group.
    pub fn select(&mut self, word: &str) -> Result<(), FindingIdError> {
        let mut known = FINDINGS.iter();
        if !known.any(|info| info.id == word || info.group() == word) {
            return Err(unknown(word));
        }
        self.selected.push(word.to_owned());
        Ok(())
    }

    /// Applies the rules to findings. Ignores are compared with `now` to find expired ones.
    #[must_use]
    pub fn evaluate(&self, findings: &[Finding], now: StatementTime) -> EvaluatedFindings {
        let mut judged = EvaluatedFindings::default();
        for finding in findings {
            match self.decide(finding, now) {
                Decision::Ignored { reason, by } => judged.ignored.push(IgnoredFinding {
                    finding: finding.clone(),
                    reason: reason.cloned(),
                    by,
                }),
                Decision::Counts(severity) if self.is_shown(finding, severity) => {
                    let finding = finding.clone();
                    judged.findings.push(Finding {
                        severity,
                        ..finding
                    });
                }
                Decision::Counts(_) => {}
            }
        }
        judged.unused_ignores = self.unused_ignores(findings, now);
        judged
    }

    fn decide(&self, finding: &Finding, now: StatementTime) -> Decision<'_> {
        // Errors protect the site, so no rule applies to them.
        if finding.severity == Severity::Error {
            return Decision::Counts(Severity::Error);
        }
        let mut ignores = self.ignores.iter();
        if let Some(ignore) = ignores.find(|ignore| ignore.matches(finding) && !ignore.is_over(now))
        {
            return Decision::Ignored {
                reason: Some(&ignore.rule.reason),
                by: ignore.by,
            };
        }
        let mut severities = self.severities.iter();
        let severity = severities.find(|(id, _)| id.as_str() == finding.id);
        match severity.map(|(_, severity)| severity) {
            Some(PolicySeverity::Error) => Decision::Counts(Severity::Error),
            Some(PolicySeverity::Note) => Decision::Counts(Severity::Note),
            Some(PolicySeverity::Off) => Decision::Ignored {
                reason: None,
                by: IgnoredBy::Policy,
            },
            None => Decision::Counts(finding.severity),
        }
    }

    fn is_shown(&self, finding: &Finding, severity: Severity) -> bool {
        let group = finding_group(finding.id);
        let mut selected = self.selected.iter();
        severity == Severity::Error
            || self.selected.is_empty()
            || selected.any(|word| word == finding.id || word == group)
    }

    fn unused_ignores(&self, findings: &[Finding], now: StatementTime) -> Vec<UnusedIgnore> {
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        // After an error, checks may have been skipped, so a missing finding proves nothing.
        let is_whole = !findings.iter().any(is_error);
        let unused = self.ignores.iter().filter_map(|ignore| {
            let is_found = || findings.iter().any(|finding| ignore.matches(finding));
            let why = if ignore.is_over(now) {
                IgnoreUnused::Expired
            } else if is_whole && !is_vulnerability(ignore.rule.id.as_str()) && !is_found() {
                // Ignores of vulnerabilities are never reported as unused: most checks do not use a vulnerability
                // database, and its content changes.
                IgnoreUnused::NotFound
            } else {
                return None;
            };
            Some(UnusedIgnore {
                ignore: ignore.rule.clone(),
                by: ignore.by,
                why,
            })
        });
        unused.collect()
    }
}

enum Decision<'a> {
    Ignored {
        reason: Option<&'a IgnoreReason>,
        by: IgnoredBy,
    },
    Counts(Severity),
}

impl Ignore {
    fn matches(&self, finding: &Finding) -> bool {
        // The pattern of a rule may match the place in the archive or the source file.
        let source = finding.source.as_ref().map(|source| source.file.as_str());
        let mut places = [Some(finding.place.as_str()), source].into_iter().flatten();
        let is_there = self.rule.place.as_ref();
        self.rule.id.as_str() == finding.id
            && is_there.is_none_or(|pattern| places.any(|place| pattern.matches(place)))
    }

    fn is_over(&self, now: StatementTime) -> bool {
        self.rule.expires.is_some_and(|last| last.is_over(now))
    }
}

impl EvaluatedFindings {
    /// Returns the verdict on an archive after the policy. `of_report` is the verdict of its report.
    #[must_use]
    pub fn verdict(&self, of_report: ArchiveVerdict) -> ArchiveVerdict {
        let mut findings = self.findings.iter();
        if findings.any(|finding| finding.severity == Severity::Error) {
            ArchiveVerdict::Refused
        } else {
            of_report
        }
    }
}

/// Returns the catalogue entry of an id whose findings a policy can change.
fn changeable_finding(id: &FindingId) -> Result<&'static FindingInfo, FindingIdError> {
    let mut known = FINDINGS.iter();
    match known.find(|info| info.id == id.as_str()) {
        None => Err(unknown(id.as_str())),
        Some(info) if PROTECTED.contains(&info.group()) => Err(FindingIdError::Protected(info.id)),
        Some(info) if info.severity == Severity::Error => Err(FindingIdError::IsError(info.id)),
        Some(info) => Ok(info),
    }
}

fn unknown(id: &str) -> FindingIdError {
    FindingIdError::Unknown {
        id: id.to_owned(),
        near: nearest(id, FINDINGS.iter().map(|info| info.id), NEAR),
    }
}

#[cfg(test)]
mod tests {
    use rules::catalogue::{operator, practice};

    use super::*;
    use crate::finding::SourcePlace;

    const HEAD: &str =
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: FindingsPolicy\nspec:\n";

    fn now() -> StatementTime {
        "2030-01-15T12:00:00Z".parse().unwrap()
    }

    fn judging(spec: &str) -> FindingRules {
        let mut judging = FindingRules::default();
        judging
            .add_policy(format!("{HEAD}{spec}").as_bytes())
            .unwrap();
        judging
    }

    fn finding(info: &FindingInfo, place: &str) -> Finding {
        Finding {
            id: info.id,
            severity: info.severity,
            place: place.to_owned(),
            message: "m".to_owned(),
            source: None,
            fix: info.fix,
        }
    }

    fn found() -> Vec<Finding> {
        let source = Some(SourcePlace {
            file: "roles.yaml".to_owned(),
            line: Some(3),
            column: None,
        });
        vec![
            Finding {
                source,
                ..finding(&operator::WILDCARD, "operator/role.yaml")
            },
            finding(&practice::LATEST, "images/app/latest"),
            finding(&practice::LATEST, "images/db/latest"),
        ]
    }

    /// Returns the counted findings as `id=severity`, and the places of the ignored ones.
    fn shown(judged: &EvaluatedFindings) -> (Vec<String>, Vec<&str>) {
        let counts = judged.findings.iter();
        let counts = counts.map(|judged| format!("{}={}", judged.id, judged.severity.word()));
        let ignored = judged.ignored.iter();
        (
            counts.collect(),
            ignored
                .map(|judged| judged.finding.place.as_str())
                .collect(),
        )
    }

    #[test]
    fn nothing_that_protects_a_site_can_be_judged() {
        let mut judging = FindingRules::default();
        let reason: IgnoreReason = "because".parse().unwrap();
        for info in FINDINGS {
            let id: FindingId = info.id.parse().unwrap();
            let is_protected =
                PROTECTED.contains(&info.group()) || info.severity == Severity::Error;
            let ignored = judging.ignore(id, reason.clone());
            assert_eq!(ignored.is_err(), is_protected, "{}", info.id);
            for severity in ["note", "none", "error"] {
                let text = format!("{HEAD}  severities:\n    {}: {severity}\n", info.id);
                let policy = FindingRules::default().add_policy(text.as_bytes());
                assert_eq!(policy.is_err(), is_protected, "{}", info.id);
            }
        }
        // An error counts in spite of an ignore.
        let error = finding(&operator::YAML, "x");
        let all = judging.evaluate(std::slice::from_ref(&error), now());
        assert_eq!(all.findings, [error]);
        assert_eq!(
            all.verdict(ArchiveVerdict::Accepted),
            ArchiveVerdict::Refused
        );
    }

    #[test]
    fn a_fault_names_its_line() {
        let spec = "  severities:\n    practice.latets: note\n  ignores:\n  - {id: signature.skipped, reason: x}\n  - reason: x\n    id: operator.yaml\n";
        let error = FindingRules::default().add_policy(format!("{HEAD}{spec}").as_bytes());
        let Err(UnusablePolicy::Faults(problems)) = error else {
            panic!("{error:?}");
        };
        let near = Some(practice::LATEST.id);
        let id = "practice.latets".to_owned();
        let expected = [
            (5, FindingIdError::Unknown { id, near }),
            (7, FindingIdError::Protected("signature.skipped")),
            (9, FindingIdError::IsError("operator.yaml")),
        ];
        let expected = expected.map(|(line, fault)| PolicyProblem { line, fault });
        assert_eq!(problems, expected);
    }

    #[test]
    fn severities_and_ignores_are_taken_together() {
        let judging = judging(
            "  severities: {practice.latest: error, operator.wildcard: note}\n  ignores:\n  - {id: practice.latest, place: 'images/db/*', reason: ours}\n",
        );
        let judged = judging.evaluate(&found(), now());
        let counts = ["operator.wildcard=note", "practice.latest=error"];
        assert_eq!(
            shown(&judged),
            (counts.map(str::to_owned).into(), vec!["images/db/latest"])
        );
        assert_eq!(judged.ignored[0].reason.as_ref().unwrap().as_str(), "ours");
        assert_eq!(
            judged.verdict(ArchiveVerdict::Accepted),
            ArchiveVerdict::Refused
        );
        assert_eq!(judged.unused_ignores, []);
    }

    #[test]
    fn what_is_off_is_ignored_without_a_reason() {
        let judged = judging("  severities: {practice.latest: none}\n").evaluate(&found(), now());
        assert_eq!(shown(&judged).1, ["images/app/latest", "images/db/latest"]);
        assert_eq!(judged.ignored[0].reason, None);
        assert_eq!(
            judged.verdict(ArchiveVerdict::Unvouched),
            ArchiveVerdict::Unvouched
        );
    }

    #[test]
    fn an_ignore_that_is_over_or_for_nothing_is_told() {
        let judging = judging(
            "  ignores:\n  - {id: practice.latest, reason: x, expires: 2030-01-14}\n  - {id: operator.wildcard, place: roles.yaml, reason: x, expires: 2030-01-15}\n  - {id: practice.template, reason: x}\n",
        );
        let judged = judging.evaluate(&found(), now());
        let (counts, ignored) = shown(&judged);
        assert_eq!(counts, ["practice.latest=warning"; 2]);
        assert_eq!(ignored, ["operator/role.yaml"]);
        let unused = judged.unused_ignores.iter();
        let unused: Vec<_> = unused
            .map(|ignore| (ignore.ignore.id.as_str(), ignore.why))
            .collect();
        let expired = ("practice.latest", IgnoreUnused::Expired);
        assert_eq!(
            unused,
            [expired, ("practice.template", IgnoreUnused::NotFound)]
        );
        // After an error, the missing findings may still exist.
        let broken = [found(), vec![finding(&operator::YAML, "x")]].concat();
        let unused = judging.evaluate(&broken, now()).unused_ignores;
        assert_eq!(unused.len(), 1);
    }

    #[test]
    fn a_selection_hides_warnings_and_no_error() {
        let mut judging = judging("  severities: {practice.latest: error}\n");
        judging.select("operator.yaml").unwrap();
        let judged = judging.evaluate(&found(), now());
        assert_eq!(shown(&judged).0, ["practice.latest=error"; 2]);
        judging.select("operator").unwrap();
        assert_eq!(judging.evaluate(&found(), now()).findings.len(), 3);
        assert!(judging.select("operators").is_err());
    }
}
