//! Versions of Solutions: semantic versioning 2.0.0, restricted to versions that are valid in Kubernetes labels and
//! image tags ([`Version`]), version ranges, and the id of a Solution's version ([`SolutionId`]). Build metadata is
//! refused, because `+` is not valid in labels and tags.

use std::fmt;
use std::str::FromStr;

use crate::limits::{self, VERSION_RANGE};
use crate::name::{NameError, SolutionName};

/// A lower-case semantic version without build metadata, ordered by semver 2.0.0 clause 11.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

impl FromStr for Version {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let grammar =
            "lower-case semantic versioning without `v` and `+build`, such as 1.2.3 or 1.2.3-rc.1";
        let refuse = || NameError::new("version", text, grammar);
        if text.len() > limits::SOLUTION_ID || text.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(refuse());
        }
        let version = semver::Version::parse(text).map_err(|_| refuse())?;
        if version.build.is_empty() {
            Ok(Self(version))
        } else {
            Err(refuse())
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

crate::name::text_traits!(
    Version,
    "Lower-case semantic version without build metadata",
    crate::pattern::VERSION
);

/// The id `<name>-<version>`, by which registries and file systems name a Solution's version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SolutionId {
    name: SolutionName,
    version: Version,
}

impl SolutionId {
    /// Returns the id of a Solution's version.
    ///
    /// # Errors
    ///
    /// Fails if it exceeds [`limits::SOLUTION_ID`] characters.
    pub fn new(name: SolutionName, version: Version) -> Result<Self, NameError> {
        let id = Self { name, version };
        let text = id.to_string();
        if text.len() > limits::SOLUTION_ID {
            let grammar = "a name and version of at most 54 characters together";
            return Err(NameError::new("Solution id", &text, grammar));
        }
        Ok(id)
    }

    /// Returns the name of the Solution.
    #[must_use]
    pub fn name(&self) -> &SolutionName {
        &self.name
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }
}

impl FromStr for SolutionId {
    type Err = NameError;

    /// Splits at the first hyphen that a valid version follows.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = text.match_indices('-').find_map(|(at, _)| {
            let (name, version) = (text[..at].parse().ok()?, text[at + 1..].parse().ok()?);
            Self::new(name, version).ok()
        });
        id.ok_or_else(|| NameError::new("Solution id", text, "<name>-<version>"))
    }
}

impl fmt::Display for SolutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.name, self.version)
    }
}

crate::name::text_traits!(SolutionId, "<name>-<version>");

/// A range of versions in the notation of Cargo and npm (`>=1.2, <2`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct VersionRange(semver::VersionReq);

impl VersionRange {
    /// Returns whether a version is in the range. A pre-release is only if the range names a pre-release of the same
    /// version.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        self.0.matches(&version.0)
    }

    /// Returns whether the version with these three numbers is in the range.
    #[must_use]
    pub fn contains_numbers(&self, [major, minor, patch]: [u64; 3]) -> bool {
        self.0.matches(&semver::Version::new(major, minor, patch))
    }
}

impl FromStr for VersionRange {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let grammar =
            "comparisons with versions without `v`, joined by commas, such as `>=1.2.0, <2`";
        let refuse = || NameError::new("version range", text, grammar);
        if text.len() > VERSION_RANGE {
            return Err(refuse());
        }
        let range = semver::VersionReq::parse(text).map_err(|_| refuse())?;
        // The normal form is written to files, so it must be within the limit, too.
        if range.to_string().len() > VERSION_RANGE {
            return Err(refuse());
        }
        Ok(Self(range))
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

crate::name::text_traits!(VersionRange, "Comparisons joined by commas");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_split_where_the_version_begins() {
        for (text, name, version) in [
            ("shop-1.0.0", "shop", "1.0.0"),
            ("my-shop-2-1.0.0-rc.1", "my-shop-2", "1.0.0-rc.1"),
        ] {
            let id: SolutionId = text.parse().unwrap();
            assert_eq!(id.name().as_str(), name);
            assert_eq!(id.version().to_string(), version);
            assert_eq!(id.to_string(), text);
        }
        for text in ["shop", "-1.0.0", "shop-", "shop-1"] {
            assert!(text.parse::<SolutionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn versions_are_ordered_as_semver_says() {
        let texts = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.10",
            "1.10.0",
        ];
        let mut versions: Vec<Version> = texts.iter().map(|text| text.parse().unwrap()).collect();
        versions.reverse();
        versions.sort();
        let sorted: Vec<String> = versions.iter().map(ToString::to_string).collect();
        assert_eq!(sorted, texts);
    }

    #[test]
    fn other_versions_are_refused() {
        for text in [
            "",
            "1",
            "1.0",
            "v1.0.0",
            "1.0.0+build",
            "1.0.0-RC.1",
            "01.0.0",
            "1.0.0_1",
            "latest",
        ] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_range_contains_its_versions() {
        let range: VersionRange = ">=1.0.0, <2".parse().unwrap();
        assert!(range.contains(&"1.9.9".parse().unwrap()));
        assert!(!range.contains(&"2.0.0".parse().unwrap()));
        assert!("about 2".parse::<VersionRange>().is_err());
    }

    #[test]
    fn the_normal_form_of_a_range_is_a_range() {
        // A space after each comma, and a comparator before each version, make 32 comparisons longer than their text.
        let text = |count| vec!["1.10.11"; count].join(",");
        assert!(text(32).len() <= VERSION_RANGE);
        assert!(text(32).parse::<VersionRange>().is_err());
        let range: VersionRange = text(24).parse().unwrap();
        assert_eq!(range.to_string().parse(), Ok(range));
    }

    #[test]
    fn ids_fit_upstreams_labels() {
        let id = |name: &str, version: &str| {
            SolutionId::new(name.parse().unwrap(), version.parse().unwrap())
        };
        assert_eq!(id("example", "1.0.0").unwrap().to_string(), "example-1.0.0");
        assert!(id(&"a".repeat(48), "1.0.0").is_ok());
        assert!(id(&"a".repeat(49), "1.0.0").is_err());
    }
}
