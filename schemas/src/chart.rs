//! Helm charts of a Solution: [`ChartRelease`] for the releases in `spec.charts` of an archive, and [`SourceChart`]
//! for those of `solution.yaml`. The archive's form is complete, while the source's form names files and registries.

mod site_values;
mod source;

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::name::{checked_name, is_dns_label, is_repository_component};
use crate::{
    Condition, ImageName, ImagePlace, ImageReference, Namespace, OwnNamespace, SetName, Strategy,
    Tag, limits, pattern,
};

pub use site_values::{SiteValues, ValuePointer};
pub use source::{ChartPin, ChartSource, OciChart, RepositoryChart};

checked_name! {
    /// The name of a release of a chart. Helm allows dots too, but charts name Services by it, which have none.
    ReleaseName, "name of a release", "a DNS label of at most 53 characters, Helm's limit: lower-case letters, digits and `-`, no `-` at either end",
    |text| text.len() <= limits::RELEASE_NAME && is_dns_label(text), pattern::RELEASE_NAME
}
checked_name! {
    /// A chart's own name: what `Chart.yaml` says, and what its repository in a registry is called.
    ChartName, "name of a chart", "lower-case letters and digits, with single `.`, `_` and `-` between them, at most 63",
    |text| text.len() <= limits::CHART_NAME && is_repository_component(text), pattern::CHART_NAME
}
checked_name! {
    /// A chart's own version.
    ChartVersion, "version of a chart", "semantic versioning such as 1.2.3, v1.2.3, 1.2.3-rc.1 or 1.2.3+build, at most 103 characters",
    is_chart_version
}
checked_name! {
    /// The time that Helm waits for each of its steps, in its own notation.
    Timeout, "timeout", "a whole number from 1 to 99999 and s, m or h, such as 300s or 10m",
    is_timeout, pattern::TIMEOUT
}

checked_name! {
    /// A version of Kubernetes that a site may have. `kubectl version` prints it with a `v`.
    KubernetesVersion, "version of Kubernetes", "1, its minor version and perhaps a patch, such as 1.36 or 1.36.2, in quotes",
    is_kubernetes_version, pattern::KUBERNETES_VERSION; without "v"
}

fn is_kubernetes_version(text: &str) -> bool {
    let is_number = |part: &str| {
        (1..=3).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let parts: Vec<&str> = text.split('.').collect();
    match parts[..] {
        ["1", minor] => is_number(minor),
        ["1", minor, patch] => is_number(minor) && is_number(patch),
        _ => false,
    }
}

impl KubernetesVersion {
    /// Returns the three numbers of the version. A missing patch is 0.
    ///
    /// # Panics
    ///
    /// Never: a version consists of two or three numbers of at most three digits.
    #[must_use]
    pub fn numbers(&self) -> [u64; 3] {
        let mut numbers = self.as_str().split('.').map(|part| {
            let number: Result<u64, _> = part.parse();
            number.expect("it is made of numbers")
        });
        [0; 3].map(|none| numbers.next().unwrap_or(none))
    }
}

/// Returns whether a text is a chart's version. Helm also accepts `v1.2.3`, and some well-known charts use this form.
fn is_chart_version(text: &str) -> bool {
    text.len() <= limits::PATH_COMPONENT
        && semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).is_ok()
}

fn is_timeout(text: &str) -> bool {
    let number = text.strip_suffix(['s', 'm', 'h']).unwrap_or_default();
    (1..=5).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !number.starts_with('0')
}

impl Timeout {
    /// Returns the timeout as a duration.
    ///
    /// # Panics
    ///
    /// Never: a timeout is a number of at most five digits and a unit.
    #[must_use]
    pub fn duration(&self) -> Duration {
        let (number, unit) = self.as_str().split_at(self.as_str().len() - 1);
        let number: u64 = number.parse().expect("it begins with digits");
        Duration::from_secs(match unit {
            "s" => number,
            "m" => number * 60,
            _ => number * 3600,
        })
    }
}

impl From<ReleaseName> for SetName {
    /// Converts the name of a release to that of a set. Charts and sets share one namespace of names.
    fn from(name: ReleaseName) -> Self {
        name.as_str()
            .parse()
            .expect("a release is named by a DNS label, as a set is")
    }
}

impl ChartVersion {
    /// Returns the tag of this version in a registry. Helm writes `+` as `_`, because tags cannot have `+` and versions
    /// have no `_`.
    ///
    /// # Panics
    ///
    /// Never: except for `+`, versions have only characters of tags, and are short enough.
    #[must_use]
    pub fn tag(&self) -> Tag {
        let tag = self.as_str().replace('+', "_");
        tag.parse().expect("a version without `+` is a tag")
    }
}

/// A release of a chart: `/charts/<name>/` of an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartRelease {
    /// The name of the release.
    pub name: ReleaseName,
    /// The name of the chart.
    pub chart: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The namespace of the release. Default: the environment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The namespaces that belong to the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnNamespace>,
    /// The condition under which the release is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// Whether later deployments change the release.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// The charts and sets that must be ready before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// The timeout of each of Helm's steps. Default: Helm's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// The values that a site should choose. This is documentation, not a restriction.
    #[serde(
        default,
        rename = "siteValues",
        skip_serializing_if = "crate::is_default"
    )]
    pub site_values: SiteValues,
}

impl ChartRelease {
    /// Returns the namespace of the release in an environment with this namespace.
    #[must_use]
    pub fn namespace_in<'a>(&'a self, environments: &'a Namespace) -> &'a Namespace {
        let named = self.namespace.as_ref();
        let own = self.namespaces.iter().find(|own| Some(&own.name) == named);
        match own {
            Some(own) => own.in_environment(environments),
            None => named.unwrap_or(environments),
        }
    }

    /// Returns the place of the chart's artifact among the images.
    ///
    /// # Panics
    ///
    /// Never: the name of a chart is a component of a repository's name.
    #[must_use]
    pub fn place(&self) -> ImagePlace {
        let name: Result<ImageName, _> = format!("charts/{}", self.chart).parse();
        ImagePlace {
            name: name.expect("the name of a chart is a component of a repository's"),
            tag: self.version.tag(),
        }
    }
}

/// A chart of `solution.yaml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceChart {
    /// The name of the release.
    pub name: ReleaseName,
    /// The source of the chart.
    pub source: ChartSource,
    /// Values files, below the directory of `solution.yaml`. A later file overrides an earlier one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<PathBuf>,
    /// Additional sets of values that a site may choose, each a list of files on top of `values`. The images are
    /// complete for each set. The files are not packaged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub render: Vec<Vec<PathBuf>>,
    /// References that the chart names but that no pod pulls. These images need not be packaged.
    #[serde(
        default,
        rename = "unusedImages",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub unused_images: Vec<ImageReference>,
    /// The namespace of the release. Default: the environment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// The namespaces that belong to the release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<OwnNamespace>,
    /// The condition under which the release is installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
    /// Whether later deployments change the release.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub strategy: Strategy,
    /// The charts and sets that must be ready before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<SetName>,
    /// The timeout of each of Helm's steps. Default: Helm's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
    /// The values that a site should choose. This is documentation, not a restriction.
    #[serde(
        default,
        rename = "siteValues",
        skip_serializing_if = "crate::is_default"
    )]
    pub site_values: SiteValues,
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::str::FromStr;

    use super::*;
    use crate::{NameError, yaml};

    fn refused<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text:?} was accepted");
        }
    }

    fn accepted<T: FromStr<Err = NameError> + fmt::Display>(texts: &[&str]) {
        for text in texts {
            assert_eq!(text.parse::<T>().unwrap().to_string(), *text);
        }
    }

    #[test]
    fn releases_and_charts_are_named_as_helm_and_registries_do() {
        accepted::<ReleaseName>(&["a", "web-1", &"a".repeat(53)]);
        refused::<ReleaseName>(&["", "-a", "A", "a_b", "a.b", &"a".repeat(54)]);
        accepted::<ChartName>(&["podinfo", "kube-prometheus-stack", "a_b", "a.b"]);
        refused::<ChartName>(&["", "A", "a/b", "..", "a..b", "-a", &"a".repeat(64)]);
        accepted::<ChartVersion>(&["1.2.3", "v1.2.3", "1.2.3-rc.1+build.5", "1.2.3-RC"]);
        refused::<ChartVersion>(&["", "1", "1.2", "vv1.2.3", "1.2.3_a", "01.2.3", "latest"]);
        accepted::<Timeout>(&["1s", "10m", "99999h"]);
        accepted::<KubernetesVersion>(&["1.36", "1.36.2", "1.0", "1.999.0"]);
        let printed: KubernetesVersion = "v1.36.2".parse().unwrap();
        assert_eq!(printed.as_str(), "1.36.2");
        let numbers = |text: &str| text.parse::<KubernetesVersion>().unwrap().numbers();
        assert_eq!(
            (numbers("1.36"), numbers("1.36.2")),
            ([1, 36, 0], [1, 36, 2])
        );
        refused::<KubernetesVersion>(&[
            "",
            "1",
            "1.",
            "2.0",
            "vv1.36",
            "1.036",
            "1.36.",
            "1.36.2-eks",
            "1.36.2.1",
            "1.1000",
            "1.x",
        ]);
        refused::<Timeout>(&["", "s", "10", "0s", "010m", "1d", "1h30m", "-1s", "100000s"]);
    }

    #[test]
    fn the_artifact_of_a_chart_has_a_place_among_the_images() {
        let release = "{name: web, chart: podinfo, version: v1.2.3+build.5}";
        let release: ChartRelease = yaml::from_slice(release.as_bytes()).unwrap();
        let place = release.place().to_string();
        assert_eq!(place, "charts/podinfo:v1.2.3_build.5");
        assert_eq!(SetName::from(release.name).as_str(), "web");
    }

    #[test]
    fn a_release_is_where_its_namespace_is_in_the_environment() {
        let space = |more: &str| {
            let release = format!("{{name: web, chart: web, version: 1.0.0{more}}}");
            let release: ChartRelease = yaml::from_slice(release.as_bytes()).unwrap();
            release.namespace_in(&"prod".parse().unwrap()).to_string()
        };
        assert_eq!(space(""), "prod");
        assert_eq!(space(", namespace: own"), "own");
        assert_eq!(space(", namespace: own, namespaces: [{name: own}]"), "prod");
        let fixed = ", namespace: own, namespaces: [{name: own, fixed: true}]";
        assert_eq!(space(fixed), "own");
    }

    #[test]
    fn a_chart_has_further_sets_of_values_and_images_that_it_does_not_need() {
        let source = "{name: web, source: 'dir:web', render: [[a.yaml], [b.yaml, c.yaml]], unusedImages: ['r.test/a:1']}";
        let chart: SourceChart = yaml::from_slice(source.as_bytes()).unwrap();
        assert_eq!(chart.render[1], ["b.yaml", "c.yaml"].map(PathBuf::from));
        assert_eq!(chart.unused_images[0].as_str(), "r.test/a:1");
    }

    #[test]
    fn unknown_fields_are_refused() {
        let source = "{name: web, source: 'dir:web', rendered: [a.yaml]}";
        let error = yaml::from_slice::<SourceChart>(source.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("rendered"), "{error}");
        let release = "{name: web, chart: web, version: 1.0.0, source: 'dir:web'}";
        assert!(yaml::from_slice::<ChartRelease>(release.as_bytes()).is_err());
    }
}
