//! What a publisher makes of what was found: which warnings weigh more or less, which are ignored and why, and what is
//! shown. One pure decision about findings. A report stays what it is, and with it what may be used of an archive: no site
//! asks here.
//!
//! What protects a site cannot be judged away: errors, and what is found of container, signature and integrity. An id gets
//! into a [`Judging`] only by [`judgeable`].

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

/// The groups that no policy touches.
const PROTECTED: [&str; 3] = ["container", "signature", "integrity"];
/// Letters that an id may have other than the one that was meant.
const NEAR: usize = 3;

/// How findings are judged. The default shows each with the weight that it has.
#[derive(Clone, Debug, Default)]
pub struct Judging {
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

/// The reason why something cannot be asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JudgingFault {
    /// There is no such finding, or group.
    #[error("`{id}` is not a known finding{}", near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The id or group.
        id: String,
        /// The id that may be meant.
        near: Option<&'static str>,
    },
    /// The finding belongs to a group that no policy touches.
    #[error(
        "`{0}` is about the origin and integrity of an archive: a policy cannot ignore it or change its severity"
    )]
    Protected(&'static str),
    /// The finding is an error already.
    #[error("`{0}` is an error: a policy cannot ignore it or lower its severity")]
    IsError(&'static str),
}

/// A fault of a policy, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct PolicyProblem {
    /// The line of the file.
    pub line: u64,
    /// What is wrong.
    pub fault: JudgingFault,
}

/// The reason why bytes are no policy for findings.
#[derive(Debug, thiserror::Error)]
pub enum UnusablePolicy {
    /// The bytes are no such document.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// The lines of the document cannot be told.
    #[error(transparent)]
    Lines(#[from] YamlError),
    /// The policy asks for what it cannot have.
    #[error("has entries that no policy may have")]
    Faults(Vec<PolicyProblem>),
}

/// The findings, after the policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JudgedFindings {
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

impl Judging {
    /// Judges by a policy too.
    pub fn add_policy(&mut self, bytes: &[u8]) -> Result<(), UnusablePolicy> {
        let spec = FindingsPolicy::from_slice(bytes)?.spec;
        let lines = Lines::of(bytes)?;
        let severities = spec.severities.keys();
        let severities = severities.map(|id| (id, format!("/spec/severities/{id}")));
        let ignores = spec.ignores.iter().enumerate();
        let ignores = ignores.map(|(at, it)| (&it.id, format!("/spec/ignores/{at}/id")));
        let problems = severities.chain(ignores).filter_map(|(id, pointer)| {
            let fault = judgeable(id).err()?;
            let line = lines.line(&pointer);
            Some(PolicyProblem { line, fault })
        });
        let mut problems: Vec<PolicyProblem> = problems.collect();
        if !problems.is_empty() {
            problems.sort_by_key(|it| it.line);
            return Err(UnusablePolicy::Faults(problems));
        }
        self.severities.extend(spec.severities);
        let by = IgnoredBy::Policy;
        let ignores = spec.ignores.into_iter().map(|rule| Ignore { rule, by });
        self.ignores.extend(ignores);
        Ok(())
    }

    /// Ignores all findings with this id too.
    pub fn ignore(&mut self, id: FindingId, reason: IgnoreReason) -> Result<(), JudgingFault> {
        judgeable(&id)?;
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

    /// Shows findings with this id or of this group, and beside them only errors and others that are selected.
    pub fn select(&mut self, word: &str) -> Result<(), JudgingFault> {
        let mut known = FINDINGS.iter();
        if !known.any(|info| info.id == word || info.group() == word) {
            return Err(unknown(word));
        }
        self.selected.push(word.to_owned());
        Ok(())
    }

    /// Judges what was found, at this time.
    #[must_use]
    pub fn judge(&self, findings: &[Finding], now: StatementTime) -> JudgedFindings {
        let mut judged = JudgedFindings::default();
        for finding in findings {
            match self.decide(finding, now) {
                Decision::Ignored { reason, by } => judged.ignored.push(IgnoredFinding {
                    finding: finding.clone(),
                    reason: reason.cloned(),
                    by,
                }),
                Decision::Counts(severity) if self.shows(finding, severity) => {
                    let finding = finding.clone();
                    judged.findings.push(Finding {
                        severity,
                        ..finding
                    });
                }
                Decision::Counts(_) => {}
            }
        }
        judged.unused_ignores = self.unused(findings, now);
        judged
    }

    fn decide(&self, finding: &Finding, now: StatementTime) -> Decision<'_> {
        if finding.severity == Severity::Error {
            return Decision::Counts(Severity::Error);
        }
        let mut ignores = self.ignores.iter();
        if let Some(ignore) = ignores.find(|it| it.matches(finding) && !it.is_over(now)) {
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

    fn shows(&self, finding: &Finding, severity: Severity) -> bool {
        let group = finding_group(finding.id);
        let mut selected = self.selected.iter();
        severity == Severity::Error
            || self.selected.is_empty()
            || selected.any(|it| it == finding.id || it == group)
    }

    fn unused(&self, findings: &[Finding], now: StatementTime) -> Vec<UnusedIgnore> {
        let is_error = |finding: &Finding| finding.severity == Severity::Error;
        // After an error, much may not have been looked at.
        let is_whole = !findings.iter().any(is_error);
        let unused = self.ignores.iter().filter_map(|ignore| {
            let is_found = || findings.iter().any(|finding| ignore.matches(finding));
            let why = if ignore.is_over(now) {
                IgnoreUnused::Expired
            } else if is_whole && !is_vulnerability(ignore.rule.id.as_str()) && !is_found() {
                // Most checks ask no database, and the next one says something else.
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

impl JudgedFindings {
    /// What is said of an archive of whose report this is made.
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

/// The warning that an id is of, which alone can be judged.
fn judgeable(id: &FindingId) -> Result<&'static FindingInfo, JudgingFault> {
    let mut known = FINDINGS.iter();
    match known.find(|info| info.id == id.as_str()) {
        None => Err(unknown(id.as_str())),
        Some(info) if PROTECTED.contains(&info.group()) => Err(JudgingFault::Protected(info.id)),
        Some(info) if info.severity == Severity::Error => Err(JudgingFault::IsError(info.id)),
        Some(info) => Ok(info),
    }
}

fn unknown(id: &str) -> JudgingFault {
    JudgingFault::Unknown {
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

    fn judging(spec: &str) -> Judging {
        let mut judging = Judging::default();
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

    /// What counts, as `id=severity`, and the places that are ignored.
    fn shown(judged: &JudgedFindings) -> (Vec<String>, Vec<&str>) {
        let counts = judged.findings.iter();
        let counts = counts.map(|it| format!("{}={}", it.id, it.severity.word()));
        let ignored = judged.ignored.iter();
        (
            counts.collect(),
            ignored.map(|it| it.finding.place.as_str()).collect(),
        )
    }

    #[test]
    fn nothing_that_protects_a_site_can_be_judged() {
        let mut judging = Judging::default();
        let reason: IgnoreReason = "because".parse().unwrap();
        for info in FINDINGS {
            let id: FindingId = info.id.parse().unwrap();
            let is_protected =
                PROTECTED.contains(&info.group()) || info.severity == Severity::Error;
            let ignored = judging.ignore(id, reason.clone());
            assert_eq!(ignored.is_err(), is_protected, "{}", info.id);
            for severity in ["note", "none", "error"] {
                let text = format!("{HEAD}  severities:\n    {}: {severity}\n", info.id);
                let policy = Judging::default().add_policy(text.as_bytes());
                assert_eq!(policy.is_err(), is_protected, "{}", info.id);
            }
        }
        // Whatever is ignored, an error counts.
        let error = finding(&operator::YAML, "x");
        let all = judging.judge(std::slice::from_ref(&error), now());
        assert_eq!(all.findings, [error]);
        assert_eq!(
            all.verdict(ArchiveVerdict::Accepted),
            ArchiveVerdict::Refused
        );
    }

    #[test]
    fn a_fault_names_its_line() {
        let spec = "  severities:\n    practice.latets: note\n  ignores:\n  - {id: signature.skipped, reason: x}\n  - reason: x\n    id: operator.yaml\n";
        let error = Judging::default().add_policy(format!("{HEAD}{spec}").as_bytes());
        let Err(UnusablePolicy::Faults(problems)) = error else {
            panic!("{error:?}");
        };
        let near = Some(practice::LATEST.id);
        let id = "practice.latets".to_owned();
        let expected = [
            (5, JudgingFault::Unknown { id, near }),
            (7, JudgingFault::Protected("signature.skipped")),
            (9, JudgingFault::IsError("operator.yaml")),
        ];
        let expected = expected.map(|(line, fault)| PolicyProblem { line, fault });
        assert_eq!(problems, expected);
    }

    #[test]
    fn severities_and_ignores_are_taken_together() {
        let judging = judging(
            "  severities: {practice.latest: error, operator.wildcard: note}\n  ignores:\n  - {id: practice.latest, place: 'images/db/*', reason: ours}\n",
        );
        let judged = judging.judge(&found(), now());
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
        let judged = judging("  severities: {practice.latest: none}\n").judge(&found(), now());
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
        let judged = judging.judge(&found(), now());
        let (counts, ignored) = shown(&judged);
        assert_eq!(counts, ["practice.latest=warning"; 2]);
        assert_eq!(ignored, ["operator/role.yaml"]);
        let unused = judged.unused_ignores.iter();
        let unused: Vec<_> = unused.map(|it| (it.ignore.id.as_str(), it.why)).collect();
        let expired = ("practice.latest", IgnoreUnused::Expired);
        assert_eq!(
            unused,
            [expired, ("practice.template", IgnoreUnused::NotFound)]
        );
        // What an error has kept from being looked at may be there.
        let broken = [found(), vec![finding(&operator::YAML, "x")]].concat();
        let unused = judging.judge(&broken, now()).unused_ignores;
        assert_eq!(unused.len(), 1);
    }

    #[test]
    fn a_selection_hides_warnings_and_no_error() {
        let mut judging = judging("  severities: {practice.latest: error}\n");
        judging.select("operator.yaml").unwrap();
        let judged = judging.judge(&found(), now());
        assert_eq!(shown(&judged).0, ["practice.latest=error"; 2]);
        judging.select("operator").unwrap();
        assert_eq!(judging.judge(&found(), now()).findings.len(), 3);
        assert!(judging.select("operators").is_err());
    }
}
