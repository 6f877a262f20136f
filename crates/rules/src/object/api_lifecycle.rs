//! Deprecated and removed APIs of Kubernetes, checked against the versions of Kubernetes that a Solution allows. The
//! table `api_lifecycle.txt` is derived from the lifecycle markers in the sources of Kubernetes.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use schemas::{Condition, KubernetesVersion, VersionRange};
use serde_json::Value;

use crate::document::kind_of;
use crate::finding::problem::Problem;

/// The table of lifecycles, which a test compares with the sources of Kubernetes.
const TABLE: &str = include_str!("api_lifecycle.txt");
/// The minor version of Kubernetes whose lifecycle markers are in the table. Removals that the table lists for later
/// versions are plans, which may change.
const KNOWN: u64 = 36;
/// The minor versions that are considered: from the oldest that an import accepts to one that will not be reached soon.
const MINORS: RangeInclusive<u64> = 22..=199;
/// The number of patch versions that are tried for each minor version, more than any has.
const PATCHES: u64 = 64;

/// The minor versions in which an API is deprecated and removed.
#[derive(Clone, Copy, Debug)]
struct Lifecycle {
    deprecated: u64,
    removed: u64,
    /// The API that serves the kind instead.
    replacement: Option<&'static str>,
}

fn table() -> &'static BTreeMap<(&'static str, &'static str), Lifecycle> {
    static LIFECYCLES: LazyLock<BTreeMap<(&str, &str), Lifecycle>> = LazyLock::new(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let parsed = lines.map(|line| {
            let mut words = line.split(' ');
            let mut next = || words.next().expect("each line of the table has five words");
            let key = (next(), next());
            let mut number = || next().parse().expect("minor versions are numbers");
            let (deprecated, removed) = (number(), number());
            let replacement = Some(next()).filter(|api| *api != "-");
            let lifecycle = Lifecycle {
                deprecated,
                removed,
                replacement,
            };
            (key, lifecycle)
        });
        parsed.collect()
    });
    &LIFECYCLES
}

/// The minor versions of Kubernetes that a Solution allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PossibleMinors {
    oldest: u64,
    newest: u64,
}

impl PossibleMinors {
    /// Returns the minor versions in a range, or all that an import accepts. Returns `None` if the range contains none
    /// of them.
    #[must_use]
    pub fn of(range: Option<&VersionRange>) -> Option<Self> {
        let is_one = |minor: &u64| {
            let has = |range: &VersionRange| {
                (0..PATCHES).any(|patch| range.contains_numbers([1, *minor, patch]))
            };
            range.is_none_or(has)
        };
        let mut minors = MINORS.filter(is_one);
        let oldest = minors.next()?;
        let newest = minors.next_back().unwrap_or(oldest);
        Some(Self { oldest, newest })
    }

    /// Returns the minor version of a single version.
    #[must_use]
    pub fn only(version: &KubernetesVersion) -> Self {
        let [_, minor, _] = version.numbers();
        Self {
            oldest: minor,
            newest: minor,
        }
    }
}

/// Returns the problem of an object's API in these versions. An object that is applied only if its API is served has
/// none.
#[must_use]
pub fn api_lifecycle(
    document: &Value,
    when: Option<&Condition>,
    minors: Option<PossibleMinors>,
) -> Option<Problem> {
    let (api, kind) = kind_of(document);
    let lifecycle = table().get(&(api, kind))?;
    let only_where = match when {
        Some(Condition::Api(condition)) => {
            let condition = condition.to_string();
            condition == api || condition == format!("{api}/{kind}")
        }
        _ => false,
    };
    let PossibleMinors { oldest, newest } = minors.filter(|_| !only_where)?;
    let Lifecycle {
        deprecated,
        removed,
        replacement,
    } = *lifecycle;
    // The replacement may have been replaced as well.
    let newest_api =
        std::iter::successors(replacement, |api| table().get(&(api, kind))?.replacement);
    let instead = newest_api
        .last()
        .map(|api| format!("; use {api}"))
        .unwrap_or_default();
    let said = |what: &str| format!("{kind} of {api} {what}{instead}");
    // A conditional object may never be applied, so its API is not reported as removed.
    if removed <= oldest.min(KNOWN) && when.is_none() {
        let what = format!(
            "was removed in Kubernetes 1.{removed}, and the Solution allows no earlier version"
        );
        Some(Problem::ApiRemoved(said(&what)))
    } else if removed <= newest.min(KNOWN) {
        let what = format!("was removed in Kubernetes 1.{removed}, which the Solution allows");
        Some(Problem::ApiDeprecated(said(&what)))
    } else if deprecated <= newest.min(KNOWN) {
        let what = format!("is deprecated since Kubernetes 1.{deprecated}");
        Some(Problem::ApiDeprecated(said(&what)))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(api: &str, kind: &str, range: Option<&str>, when: &Value) -> Option<String> {
        let range = range.map(|range| range.parse().unwrap());
        let when: Option<Condition> = serde_json::from_value(when.clone()).unwrap();
        let document = json!({"apiVersion": api, "kind": kind});
        let problem = api_lifecycle(&document, when.as_ref(), PossibleMinors::of(range.as_ref()))?;
        Some(format!("{}: {problem}", problem.finding()?.id))
    }

    #[test]
    fn the_versions_that_are_allowed_decide() {
        let budget = |range| found("policy/v1beta1", "PodDisruptionBudget", range, &Value::Null);
        let removed = "PodDisruptionBudget of policy/v1beta1 was removed in Kubernetes 1.25";
        for (range, finding) in [
            (
                Some(">=1.25"),
                Some(format!("manifests.api-removed: {removed}, and the Solution allows no earlier version; use policy/v1")),
            ),
            (
                Some(">=1.24.5"),
                Some(format!("manifests.api-deprecated: {removed}, which the Solution allows; use policy/v1")),
            ),
            (
                None,
                Some(format!("manifests.api-deprecated: {removed}, which the Solution allows; use policy/v1")),
            ),
            (
                Some(">=1.22, <1.25"),
                Some("manifests.api-deprecated: PodDisruptionBudget of policy/v1beta1 is deprecated since Kubernetes 1.21; use policy/v1".to_owned()),
            ),
            (Some(">=9"), None),
        ] {
            assert_eq!(budget(range), finding, "{range:?}");
        }
        let psp = found(
            "policy/v1beta1",
            "PodSecurityPolicy",
            Some("~1.30"),
            &Value::Null,
        );
        assert!(
            psp.unwrap()
                .ends_with("the Solution allows no earlier version")
        );
        let schema = |when: &Value| {
            let api = "flowcontrol.apiserver.k8s.io/v1beta1";
            found(api, "FlowSchema", Some(">=1.30"), when).unwrap()
        };
        let said = schema(&Value::Null);
        assert!(said.starts_with("manifests.api-removed"), "{said}");
        assert!(
            said.ends_with("; use flowcontrol.apiserver.k8s.io/v1"),
            "{said}"
        );
        // The set is optional, so no site has to apply it.
        let said = schema(&json!({"parameter": "legacy"}));
        assert!(said.starts_with("manifests.api-deprecated"), "{said}");
        assert_eq!(
            found("policy/v1", "PodDisruptionBudget", None, &Value::Null),
            None
        );
        assert_eq!(found("policy/v1beta1", "Other", None, &Value::Null), None);
    }

    /// A planned removal may still be cancelled.
    #[test]
    fn plans_are_no_removals() {
        let claim = found(
            "resource.k8s.io/v1beta1",
            "ResourceClaim",
            Some(">=1.40"),
            &Value::Null,
        );
        assert!(
            claim
                .unwrap()
                .contains("is deprecated since Kubernetes 1.35")
        );
        let later = found(
            "storagemigration.k8s.io/v1beta1",
            "StorageVersionMigration",
            None,
            &Value::Null,
        );
        assert_eq!(later, None);
    }

    #[test]
    fn a_set_that_asks_for_the_api_is_only_installed_with_it() {
        for (api, is_found) in [
            ("policy/v1beta1", false),
            ("policy/v1beta1/PodDisruptionBudget", false),
            ("policy/v1beta1/PodSecurityPolicy", true),
            ("policy/v1", true),
        ] {
            let when = json!({"api": api});
            let found = found(
                "policy/v1beta1",
                "PodDisruptionBudget",
                Some(">=1.25"),
                &when,
            );
            assert_eq!(found.is_some(), is_found, "{api}");
        }
    }
}
