//! Trust policies of a site, kind `TrustPolicy`: the trusted keys for Solutions, and the number of keys that must have
//! signed. [`TrustPolicy::from_slice`] parses a policy. Unknown fields are errors, because they are misspelled ones.

use std::fmt::{self, Write as _};
use std::num::NonZeroUsize;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{ManifestError, check_kind};
use crate::name::{NameError, SolutionName, text_traits};
use crate::{API_VERSION, KubernetesName, limits, pattern, yaml};

/// A site's policy for the archives of some Solutions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustPolicy {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `TrustPolicy`.
    #[schemars(extend("const" = "TrustPolicy"))]
    pub kind: String,
    /// The policy's name.
    pub metadata: TrustMetadata,
    /// Keys, threshold, Solutions.
    pub spec: TrustSpec,
}

/// The policy's metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustMetadata {
    /// The policy's name, which is also the name of its file: `<name>.yaml`.
    pub name: KubernetesName,
}

/// The requirements of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TrustSpec {
    /// The Solutions. If multiple policies match a Solution, the most specific pattern applies: an exact name takes
    /// precedence over a prefix, a longer prefix over a shorter one, and `*` comes last.
    #[schemars(length(min = 1, max = limits::TRUST_PATTERNS))]
    pub solutions: Vec<SolutionPattern>,
    /// The number of keys that must have signed. Optional if there is a single key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<NonZeroUsize>,
    /// The trusted keys.
    #[schemars(length(min = 1, max = limits::TRUST_KEYS))]
    pub keys: Vec<TrustedKey>,
}

/// A trusted key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedKey {
    /// The owner of the key, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The public key, `SubjectPublicKeyInfo` in PEM.
    pub pem: String,
}

/// The Solutions that a policy is for: one name, all that begin with a prefix that ends in a hyphen, or all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SolutionPattern {
    /// All Solutions: `*`.
    All,
    /// The Solutions with a prefix: `acme-*`. Without the hyphen `acme*` would be `acmeevil` too.
    Prefix(SolutionName),
    /// The Solution with this name: `shop`.
    Name(SolutionName),
}

impl SolutionPattern {
    /// Returns whether the pattern matches this Solution.
    #[must_use]
    pub fn matches(&self, name: &SolutionName) -> bool {
        match self {
            Self::All => true,
            Self::Prefix(prefix) => name
                .as_str()
                .strip_prefix(prefix.as_str())
                .is_some_and(|rest| rest.starts_with('-')),
            Self::Name(only) => only == name,
        }
    }

    /// Returns the specificity of the pattern. Two different patterns that match the same name never have the same
    /// specificity.
    #[must_use]
    pub fn closeness(&self) -> usize {
        match self {
            Self::All => 0,
            Self::Prefix(prefix) => prefix.as_str().len(),
            Self::Name(_) => usize::MAX,
        }
    }
}

impl FromStr for SolutionPattern {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "*" {
            return Ok(Self::All);
        }
        let parsed = match text.strip_suffix("-*") {
            Some(prefix) => prefix.parse().map(Self::Prefix),
            None => text.parse().map(Self::Name),
        };
        parsed.map_err(|_| NameError::new("pattern of Solutions", text, "a name, PREFIX-* or *"))
    }
}

impl fmt::Display for SolutionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Prefix(prefix) => write!(f, "{prefix}-*"),
            Self::Name(name) => f.write_str(name.as_str()),
        }
    }
}

text_traits!(
    SolutionPattern,
    "the name of a Solution, PREFIX-* or *",
    pattern::SOLUTIONS
);

impl TrustPolicy {
    /// Returns a policy with this name and specification.
    #[must_use]
    pub fn new(name: KubernetesName, spec: TrustSpec) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "TrustPolicy".to_owned(),
            metadata: TrustMetadata { name },
            spec,
        }
    }

    /// Parses a policy.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not a document of this kind.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ManifestError> {
        let policy: Self = yaml::from_slice(bytes)?;
        check_kind(&policy.api_version, &policy.kind, "TrustPolicy")?;
        Ok(policy)
    }

    /// Returns the text of the policy's file. Keys are written as PEM, line by line, so that people can compare and
    /// edit them.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut without = self.clone();
        let keys = std::mem::take(&mut without.spec.keys);
        // `keys` is empty here, so the text ends with `[]`. The keys are written in its place, line by line.
        let text = yaml::to_string(&without);
        let text = text.trim_end().strip_suffix("[]").unwrap_or(&text);
        let mut text = format!("{}\n", text.trim_end());
        for key in &keys {
            let mut dash = "    - ";
            if let Some(comment) = &key.comment {
                let comment = serde_json::Value::from(comment.as_str());
                let _ = writeln!(text, "{dash}comment: {comment}");
                dash = "      ";
            }
            let _ = writeln!(text, "{dash}pem: |");
            for line in key.pem.lines() {
                let _ = writeln!(text, "        {line}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> SolutionPattern {
        text.parse().unwrap()
    }

    #[test]
    fn patterns_are_names_prefixes_or_all() {
        for text in ["shop", "acme-*", "acme-shop-*", "*", "0-*"] {
            assert_eq!(pattern(text).to_string(), text);
        }
        for text in [
            "", "acme*", "*-acme", "-*", "a*b", "**", "Acme-*", "acme--*x", "a.b", "acme-",
        ] {
            assert!(text.parse::<SolutionPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_prefix_ends_where_a_word_ends() {
        let name = |text: &str| text.parse::<SolutionName>().unwrap();
        let cases = [
            ("*", "shop", true),
            ("shop", "shop", true),
            ("shop", "shop-2", false),
            ("acme-*", "acme-shop", true),
            ("acme-*", "acme", false),
            ("acme-*", "acmeevil", false),
            ("acme-*", "not-acme-shop", false),
        ];
        for (text, solution, matches) in cases {
            assert_eq!(
                pattern(text).matches(&name(solution)),
                matches,
                "{text} {solution}"
            );
        }
        let closeness = ["*", "a-*", "acme-*", "acme-shop-*", "acme-shop"];
        let closeness = closeness.map(|text| pattern(text).closeness());
        assert!(closeness.is_sorted_by(|a, b| a < b), "{closeness:?}");
    }

    const POLICY: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: TrustPolicy
metadata: {name: acme}
spec:
  solutions: [shop, 'acme-*']
  threshold: 1
  keys: [{pem: \"x\\ny\\n\", comment: 'who: \\\" # she'}, {pem: \"z\\n\"}]
";

    #[test]
    fn a_policy_is_strict_and_comes_back_as_it_was_written() {
        let policy = TrustPolicy::from_slice(POLICY.as_bytes()).unwrap();
        assert_eq!(
            TrustPolicy::from_slice(policy.to_text().as_bytes()).unwrap(),
            policy
        );
        for (from, to, words) in [
            ("threshold", "treshold", "treshold"),
            ("comment:", "coment:", "coment"),
            ("'acme-*'", "'acme*'", "PREFIX-*"),
            ("threshold: 1", "threshold: 0", "zero"),
            ("kind: TrustPolicy", "kind: Trust", "TrustPolicy"),
            ("name: acme", "name: ../acme", "object name"),
        ] {
            let changed = POLICY.replacen(from, to, 1);
            let error = TrustPolicy::from_slice(changed.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(words), "{to}: {error}");
        }
    }
}
