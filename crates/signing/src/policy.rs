//! The trust policies of a site ([`Policies`]). Each names some Solutions and the keys that must have signed them.
//!
//! Policies are never combined: exactly one applies to each Solution, the one with the closest pattern. If they were
//! combined, a policy with one key for all Solutions would weaken a stricter policy for a single Solution. Two policies
//! with the same pattern are refused, so the closest policy is always unique.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{KubernetesName, SolutionName, SolutionPattern, TrustPolicy, limits};

use crate::{KeyError, PublicKey, Trust, TrustError};

/// A set of trusted keys for some Solutions.
#[derive(Clone, Debug)]
pub struct Policy {
    name: KubernetesName,
    solutions: Vec<SolutionPattern>,
    trust: Trust,
}

/// All trust policies of a site.
#[derive(Clone, Debug, Default)]
pub struct Policies(Vec<Policy>);

/// The reason why policy documents are invalid or conflict with each other.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// A key that is not a valid public key.
    #[error("key {number} of policy `{policy}` is not a public key")]
    Key {
        /// The policy.
        policy: KubernetesName,
        /// The position of the key, counted from 1.
        number: usize,
        /// The cause.
        source: KeyError,
    },
    /// Keys and a threshold that do not form a valid trust.
    #[error("policy `{0}` is not valid")]
    Trust(KubernetesName, #[source] TrustError),
    /// A policy without keys or patterns, or with more than the limit.
    #[error("policy `{policy}` has {count} {what}; expected 1 to {most}")]
    Count {
        /// The policy.
        policy: KubernetesName,
        /// The kind of the counted elements.
        what: &'static str,
        /// The actual number.
        count: usize,
        /// The maximum number.
        most: usize,
    },
    /// More policies than [`limits::TRUST_POLICIES`].
    #[error("there are {0} policies; at most {max} are read", max = limits::TRUST_POLICIES)]
    Policies(usize),
    /// Two policies with the same name.
    #[error("two policies have the name `{0}`")]
    Name(KubernetesName),
    /// Two policies with the same pattern.
    #[error("policies `{first}` and `{second}` both apply to `{pattern}`, and only one may")]
    Pattern {
        /// The pattern.
        pattern: SolutionPattern,
        /// The first policy; the same as the second if it contains the pattern twice.
        first: KubernetesName,
        /// The second policy.
        second: KubernetesName,
    },
}

impl Policy {
    /// Reads the policy in a document.
    pub fn new(document: &TrustPolicy) -> Result<Self, PolicyError> {
        let policy = &document.metadata.name;
        let spec = &document.spec;
        for (what, count, most) in [
            ("keys", spec.keys.len(), limits::TRUST_KEYS),
            (
                "patterns of Solutions",
                spec.solutions.len(),
                limits::TRUST_PATTERNS,
            ),
        ] {
            if count == 0 || count > most {
                return Err(PolicyError::Count {
                    policy: policy.clone(),
                    what,
                    count,
                    most,
                });
            }
        }
        let key = |(index, key): (usize, &schemas::TrustedKey)| {
            PublicKey::from_pem(&key.pem).map_err(|source| PolicyError::Key {
                policy: policy.clone(),
                number: index + 1,
                source,
            })
        };
        let keys = spec.keys.iter().enumerate().map(key);
        let trust = Trust::new(keys.collect::<Result<_, _>>()?, spec.threshold);
        Ok(Self {
            name: policy.clone(),
            solutions: spec.solutions.clone(),
            trust: trust.map_err(|source| PolicyError::Trust(policy.clone(), source))?,
        })
    }

    /// Returns the name of the policy.
    #[must_use]
    pub fn name(&self) -> &KubernetesName {
        &self.name
    }

    /// The patterns of the Solutions that it applies to.
    #[must_use]
    pub fn solutions(&self) -> &[SolutionPattern] {
        &self.solutions
    }

    /// Its keys and threshold.
    #[must_use]
    pub fn trust(&self) -> &Trust {
        &self.trust
    }

    fn closeness(&self, solution: &SolutionName) -> Option<usize> {
        let fitting = self
            .solutions
            .iter()
            .filter(|pattern| pattern.matches(solution));
        fitting.map(SolutionPattern::closeness).max()
    }
}

impl Policies {
    /// Combines the policies of a site and checks that they do not conflict.
    pub fn new(policies: Vec<Policy>) -> Result<Self, PolicyError> {
        if policies.len() > limits::TRUST_POLICIES {
            return Err(PolicyError::Policies(policies.len()));
        }
        let mut names = BTreeSet::new();
        let mut patterns = BTreeMap::new();
        for policy in &policies {
            if !names.insert(&policy.name) {
                return Err(PolicyError::Name(policy.name.clone()));
            }
            for pattern in &policy.solutions {
                if let Some(first) = patterns.insert(pattern, &policy.name) {
                    return Err(PolicyError::Pattern {
                        pattern: pattern.clone(),
                        first: first.clone(),
                        second: policy.name.clone(),
                    });
                }
            }
        }
        Ok(Self(policies))
    }

    /// Returns the policy that applies to a Solution.
    #[must_use]
    pub fn for_solution(&self, solution: &SolutionName) -> Option<&Policy> {
        let fitting = self.0.iter().filter_map(|policy| {
            policy
                .closeness(solution)
                .map(|closeness| (closeness, policy))
        });
        fitting
            // The maximum is unique: two matching patterns of the same closeness are equal, which `new` refuses.
            .max_by_key(|(closeness, _)| *closeness)
            .map(|(_, policy)| policy)
    }

    /// Returns whether the site has no policy.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the policies in their order.
    #[must_use = "this only makes an iterator"]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Policy> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use schemas::{TrustSpec, TrustedKey};

    use super::*;
    use crate::SecretKey;

    fn pem() -> String {
        SecretKey::generate().unwrap().public().to_pem()
    }

    fn document(name: &str, solutions: &[&str], keys: &[String], threshold: usize) -> TrustPolicy {
        let key = |pem: &String| TrustedKey {
            comment: None,
            pem: pem.clone(),
        };
        let spec = TrustSpec {
            solutions: solutions.iter().map(|text| text.parse().unwrap()).collect(),
            threshold: std::num::NonZeroUsize::new(threshold),
            keys: keys.iter().map(key).collect(),
        };
        TrustPolicy::new(name.parse().unwrap(), spec)
    }

    fn policy(name: &str, solutions: &[&str]) -> Policy {
        Policy::new(&document(name, solutions, &[pem()], 0)).unwrap()
    }

    #[test]
    fn the_closest_pattern_counts_and_nothing_else() {
        let policies = Policies::new(vec![
            policy("all", &["*"]),
            policy("acme", &["other", "acme-*"]),
            policy("shop", &["acme-shop"]),
            policy("shops", &["acme-shop-*"]),
        ])
        .unwrap();
        for (solution, expected) in [
            ("anything", "all"),
            ("acme", "all"),
            ("acmeevil", "all"),
            ("acme-db", "acme"),
            ("other", "acme"),
            ("acme-shop", "shop"),
            ("acme-shop-eu", "shops"),
        ] {
            let found = policies.for_solution(&solution.parse().unwrap()).unwrap();
            assert_eq!(found.name().as_str(), expected, "{solution}");
        }
        let scoped = Policies::new(vec![policy("acme", &["acme-*"])]).unwrap();
        assert!(scoped.for_solution(&"shop".parse().unwrap()).is_none());
        assert!(
            Policies::default()
                .for_solution(&"a".parse().unwrap())
                .is_none()
        );
    }

    #[test]
    fn policies_that_do_not_go_together_are_refused() {
        let refused = |policies: Vec<Policy>| Policies::new(policies).unwrap_err().to_string();
        let twice = refused(vec![policy("a", &["x", "y"]), policy("b", &["z", "y"])]);
        assert_eq!(
            twice,
            "policies `a` and `b` both apply to `y`, and only one may"
        );
        let itself = refused(vec![policy("a", &["x", "x"])]);
        assert!(itself.contains("`a` and `a`"), "{itself}");
        let name = refused(vec![policy("a", &["x"]), policy("a", &["y"])]);
        assert!(name.contains("two policies have the name `a`"), "{name}");
        let many: Vec<Policy> = (0..=limits::TRUST_POLICIES)
            .map(|number| Policy {
                name: format!("p{number}").parse().unwrap(),
                ..policy("x", &["x"])
            })
            .collect();
        assert!(refused(many).contains("257 policies"));
    }

    #[test]
    fn a_policy_that_makes_no_trust_is_refused() {
        let refused = |document: &TrustPolicy| Policy::new(document).unwrap_err();
        let (one, two) = (pem(), pem());
        let both = [one.clone(), two.clone()];
        assert!(matches!(
            refused(&document("a", &["x"], &both, 0)),
            PolicyError::Trust(_, TrustError::ThresholdMissing(2))
        ));
        assert!(matches!(
            refused(&document("a", &["x"], &both, 3)),
            PolicyError::Trust(_, TrustError::ThresholdTooHigh { .. })
        ));
        assert!(matches!(
            refused(&document("a", &["x"], &[one.clone(), one.clone()], 2)),
            PolicyError::Trust(_, TrustError::Repeated(_))
        ));
        assert!(matches!(
            refused(&document("a", &["x"], &[one, "x".to_owned()], 1)),
            PolicyError::Key { number: 2, .. }
        ));
        let counts = [
            document("a", &["x"], &[], 1),
            document("a", &[], &both, 1),
            document("a", &["x"], &vec![two; limits::TRUST_KEYS + 1], 1),
            document("a", &["x"; limits::TRUST_PATTERNS + 1], &both, 1),
        ];
        for document in counts {
            assert!(matches!(refused(&document), PolicyError::Count { .. }));
        }
    }
}
