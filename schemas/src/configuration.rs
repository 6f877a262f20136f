//! The desired Solutions of a site, kind `SolutionsConfiguration`: the archives to import, and the active version of
//! each Solution. [`SolutionsConfiguration::from_slice`] parses a file. Unknown fields are errors, because they are
//! misspelled ones.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::manifest::{ManifestError, check_kind};
use crate::name::{NameError, SolutionName, text_traits};
use crate::{API_VERSION, Version, limits, pattern, yaml};

/// The desired Solutions of a site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SolutionsConfiguration {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `SolutionsConfiguration`.
    #[schemars(extend("const" = "SolutionsConfiguration"))]
    pub kind: String,
    /// Paths of archives: files or optical drives. A relative path starts at the directory of this document.
    #[serde(default)]
    #[schemars(length(max = limits::CONFIGURED_ARCHIVES), inner(length(min = 1)), extend("uniqueItems" = true))]
    pub archives: Vec<String>,
    /// For each Solution, the version whose CRDs are in the cluster.
    #[serde(default)]
    pub active: BTreeMap<SolutionName, ActiveVersion>,
}

/// The active version of a Solution.
#[derive(Clone, PartialEq, Eq)]
pub enum ActiveVersion {
    /// The newest imported version, by semantic versioning.
    Latest,
    /// This version.
    Version(Version),
}

impl FromStr for ActiveVersion {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        let parsed = text.parse().map(Self::Version);
        parsed.map_err(|_| {
            NameError::new("active version", text, "a version such as 1.2.3, or latest")
        })
    }
}

impl fmt::Display for ActiveVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Version(version) => version.fmt(f),
        }
    }
}

text_traits!(
    ActiveVersion,
    "a version of the Solution, or latest",
    pattern::ACTIVE_VERSION
);

/// The error of a document that is not a configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// The bytes are not a document of this kind.
    #[error(transparent)]
    Document(#[from] ManifestError),
    /// The document has too many archives.
    #[error("{0} archives are listed, and at most {max} can be", max = limits::CONFIGURED_ARCHIVES)]
    TooMany(usize),
    /// A path is empty.
    #[error("the path of an archive is empty")]
    NoPath,
    /// A path is listed twice.
    #[error("`{0}` is listed twice")]
    Twice(String),
}

impl SolutionsConfiguration {
    /// Parses a configuration.
    ///
    /// # Errors
    ///
    /// Fails if the file is too large, not a document of this kind, or has too many, empty or repeated paths.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, ConfigurationError> {
        let configuration: Self = yaml::from_slice(bytes).map_err(ManifestError::from)?;
        let (api_version, kind) = (&configuration.api_version, &configuration.kind);
        check_kind(api_version, kind, "SolutionsConfiguration")?;
        let archives = &configuration.archives;
        if archives.len() > limits::CONFIGURED_ARCHIVES {
            return Err(ConfigurationError::TooMany(archives.len()));
        }
        let mut sorted: Vec<&String> = archives.iter().collect();
        sorted.sort();
        if sorted.first().is_some_and(|path| path.is_empty()) {
            return Err(ConfigurationError::NoPath);
        }
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(ConfigurationError::Twice(pair[0].clone())),
            None => Ok(configuration),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIGURATION: &str = "
apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionsConfiguration
archives:
- /srv/archives/shop-1.0.0.iso
- shop-1.1.0.iso
active:
  shop: latest
  cart: 2.0.0-rc.1
";

    #[test]
    fn a_configuration_lists_archives_and_active_versions() {
        let read = SolutionsConfiguration::from_slice(CONFIGURATION.as_bytes()).unwrap();
        assert_eq!(
            read.archives,
            ["/srv/archives/shop-1.0.0.iso", "shop-1.1.0.iso"]
        );
        let active: Vec<String> = read
            .active
            .iter()
            .map(|(k, v)| format!("{k} {v}"))
            .collect();
        assert_eq!(active, ["cart 2.0.0-rc.1", "shop latest"]);
        // A file as upstream creates it.
        let (head, _) = CONFIGURATION.split_once("archives").unwrap();
        for rest in ["archives: []\nactive: {}\n", ""] {
            let read = SolutionsConfiguration::from_slice(format!("{head}{rest}").as_bytes());
            let read = read.unwrap();
            assert!(read.archives.is_empty() && read.active.is_empty());
        }
    }

    #[test]
    fn a_configuration_is_strict() {
        for (from, to, words) in [
            ("archives:", "archive:", "archive"),
            ("latest", "newest", "or latest"),
            ("2.0.0-rc.1", "2.0", "active version"),
            ("shop: latest", "Shop: latest", "Solution"),
            ("cart:", "shop:", "shop"),
            (
                "SolutionsConfiguration",
                "SolutionConfig",
                "SolutionsConfiguration",
            ),
            ("solutions.metalk8s", "metalk8s", "v1alpha1"),
            ("- shop-1.1.0.iso", "- ''", "path of an archive is empty"),
            (
                "- shop-1.1.0.iso",
                "- /srv/archives/shop-1.0.0.iso",
                "`/srv/archives/shop-1.0.0.iso` is listed twice",
            ),
        ] {
            let changed = CONFIGURATION.replacen(from, to, 1);
            let error = SolutionsConfiguration::from_slice(changed.as_bytes()).unwrap_err();
            assert!(error.to_string().contains(words), "{to}: {error}");
        }
        let archives: Vec<String> = (0..=limits::CONFIGURED_ARCHIVES)
            .map(|n| format!("- {n}.iso\n"))
            .collect();
        let many = CONFIGURATION.replacen("- shop-1.1.0.iso\n", &archives.concat(), 1);
        let error = SolutionsConfiguration::from_slice(many.as_bytes()).unwrap_err();
        assert!(matches!(error, ConfigurationError::TooMany(_)), "{error}");
    }
}
