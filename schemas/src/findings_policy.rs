//! Findings policies of a publisher, kind `FindingsPolicy`: the severities of warnings, and ignored findings with a
//! reason and an end date. [`FindingsPolicy::from_slice`] parses a policy. Unknown fields are errors, because they are
//! misspelled ones. The existing ids are not known here.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{ManifestError, check_kind};
use crate::name::{NameError, checked_name, text_traits};
use crate::{API_VERSION, StatementTime, is_unprintable, limits, pattern, yaml};

/// A publisher's policy for warnings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingsPolicy {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `FindingsPolicy`.
    #[schemars(extend("const" = "FindingsPolicy"))]
    pub kind: String,
    /// Severities and ignores.
    pub spec: FindingsPolicySpec,
}

/// The handling of warnings. A policy cannot change errors, or findings of the groups signature, integrity and
/// container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FindingsPolicySpec {
    /// The severity of each warning, by id.
    #[serde(default)]
    pub severities: BTreeMap<FindingId, PolicySeverity>,
    /// The ignored findings. An ignore takes precedence over a severity.
    #[serde(default)]
    pub ignores: Vec<IgnoreRule>,
}

/// The severity of a warning under a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PolicySeverity {
    /// The warning rejects the archive, as an error does.
    Error,
    /// The warning is shown, but not counted as a warning.
    Note,
    /// The warning is ignored everywhere. The word is SARIF's: `off` is a boolean in YAML 1.1.
    #[serde(rename = "none")]
    Off,
}

/// Findings that are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IgnoreRule {
    /// The id of the findings.
    pub id: FindingId,
    /// The places where they are ignored. Default: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<PlacePattern>,
    /// The reason.
    pub reason: IgnoreReason,
    /// The last day on which they are ignored. Default: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<CalendarDate>,
}

checked_name!(
    /// The id of a kind of findings: `<group>.<name>`.
    FindingId,
    "id of a finding",
    "GROUP.NAME in lower case",
    |text| {
        let lower = |part: &str, others: &[u8]| {
            let is_good = |byte: u8| byte.is_ascii_lowercase() || others.contains(&byte);
            !part.is_empty() && part.bytes().all(is_good)
        };
        let parts = text.split_once('.');
        text.len() <= limits::FINDING_ID
            && parts.is_some_and(|(group, name)| lower(group, b"") && lower(name, b"-0123456789"))
    },
    pattern::FINDING_ID
);

checked_name!(
    /// The reason for which findings are ignored.
    IgnoreReason,
    "reason",
    "one line of words",
    |text| {
        !text.trim().is_empty()
            && text.chars().count() <= limits::IGNORE_TEXT
            && !text.contains(is_unprintable)
    },
    pattern::IGNORE_REASON
);

checked_name!(
    /// Places in an archive or in its source: `*` stands for any characters, also none, and all else for itself.
    PlacePattern,
    "pattern of places",
    "a path, in which `*` stands for any characters",
    |text| (1..=limits::IGNORE_TEXT).contains(&text.chars().count()) && !text.contains(is_unprintable),
    pattern::PLACES
);

impl PlacePattern {
    /// Returns whether the pattern matches the whole place.
    #[must_use]
    pub fn matches(&self, place: &str) -> bool {
        let mut parts = self.as_str().split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = place.strip_prefix(first) else {
            return false;
        };
        let Some(last) = parts.next_back() else {
            return rest.is_empty();
        };
        // The earliest match of each part leaves the longest text to the others.
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// A day of the calendar in UTC, spelled `YYYY-MM-DD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalendarDate(Date);

impl CalendarDate {
    /// Returns whether the day has ended at this time.
    #[must_use]
    pub fn is_over(self, now: StatementTime) -> bool {
        let now = now.to_string();
        // Both texts begin with a four-digit year, so their order is that of the dates.
        now.get(..10)
            .is_some_and(|today| today > self.to_string().as_str())
    }
}

impl FromStr for CalendarDate {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let date = text.parse().ok().map(Self);
        let date = date.filter(|date| date.0.year() >= 1000 && date.to_string() == text);
        date.ok_or_else(|| NameError::new("date", text, "YYYY-MM-DD, a day of the calendar"))
    }
}

impl fmt::Display for CalendarDate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_traits!(CalendarDate, "YYYY-MM-DD", pattern::DATE);

impl FindingsPolicy {
    /// Parses a policy.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a document of this kind.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ManifestError> {
        let policy: Self = yaml::from_slice(bytes)?;
        check_kind(&policy.api_version, &policy.kind, "FindingsPolicy")?;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: FindingsPolicy
spec:
  severities: {practice.latest: error, practice.template: none, operator.wildcard: note}
  ignores:
  - {id: operator.cluster-rule, place: 'operator/*', reason: it watches nodes, expires: 2030-01-31}
";

    #[test]
    fn a_policy_is_strict() {
        let policy = FindingsPolicy::from_slice(POLICY.as_bytes()).unwrap();
        assert_eq!(
            policy.spec.ignores[0].expires.unwrap().to_string(),
            "2030-01-31"
        );
        for (from, to, words) in [
            (
                "kind: FindingsPolicy",
                "kind: TrustPolicy",
                "FindingsPolicy",
            ),
            ("place:", "places:", "places"),
            ("reason: it watches nodes, ", "", "reason"),
            ("it watches nodes", "' '", "one line of words"),
            ("2030-01-31", "2030-02-30", "day of the calendar"),
            (
                "practice.latest: error",
                "practice.latest: warning",
                "warning",
            ),
            ("practice.latest: error", "latest: error", "GROUP.NAME"),
        ] {
            let changed = POLICY.replacen(from, to, 1);
            let error = FindingsPolicy::from_slice(changed.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(words), "{to}: {error}");
        }
    }

    #[test]
    fn a_pattern_is_for_the_whole_place() {
        let matches = |pattern: &str, place: &str| {
            let pattern: PlacePattern = pattern.parse().unwrap();
            pattern.matches(place)
        };
        for (pattern, place, expected) in [
            ("operator/role.yaml", "operator/role.yaml", true),
            ("operator/role.yaml", "operator/role.yaml: rules[0]", false),
            ("operator/*", "operator/crds/a.yaml", true),
            ("operator/*", "x/operator/a", false),
            ("*.yaml", "a.yaml", true),
            ("*.yaml", "a.yaml.gz", false),
            ("a*b*c", "aXbYbc", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("*", "", true),
            ("**", "x", true),
        ] {
            assert_eq!(matches(pattern, place), expected, "{pattern} {place}");
        }
    }

    #[test]
    fn a_date_is_over_when_its_day_is() {
        let date: CalendarDate = "2030-01-31".parse().unwrap();
        let over = |now: &str| date.is_over(now.parse().unwrap());
        assert!(!over("2030-01-30T00:00:00Z"));
        assert!(!over("2030-01-31T23:59:59Z"));
        assert!(over("2030-02-01T00:00:00Z"));
    }
}
