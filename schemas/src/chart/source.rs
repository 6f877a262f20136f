//! The sources of charts in `solution.yaml`. A chart in a registry or repository is pinned by an exact version or
//! digest, so that a newer one is never packaged unnoticed.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::name::text_traits;
use crate::{ChartName, ChartVersion, Digest, ImageReference, NameError, pattern};

/// The source of a chart: below the directory of `solution.yaml`, or elsewhere.
#[derive(Clone, PartialEq, Eq)]
pub enum ChartSource {
    /// `file:FILE`: a chart as `helm package` writes it.
    File(PathBuf),
    /// `dir:DIR`: the directory of a chart.
    Dir(PathBuf),
    /// `oci://HOST/PATH:VERSION` or `oci://HOST/PATH@sha256:…`: a registry.
    Oci(OciChart),
    /// `https://REPOSITORY#NAME@VERSION`: a repository of charts, whose address `helm repo add` would take.
    Repository(RepositoryChart),
}

/// A chart in a repository of charts: a web site with an `index.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryChart {
    /// The repository's address.
    pub url: String,
    /// The chart's name.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
}

/// A chart in a registry, as `helm push` puts it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciChart {
    /// The host and path, the chart's name included.
    pub repository: String,
    /// The version or digest that picks one of those in it.
    pub pin: ChartPin,
}

/// The version or digest that names one chart in the repository of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChartPin {
    /// The version of the chart.
    Version(ChartVersion),
    /// The digest of its artifact.
    Digest(Digest),
}

const NOTATIONS: &str = "file:FILE, dir:DIR, oci://HOST/PATH:VERSION, oci://HOST/PATH@sha256:DIGEST or https://REPOSITORY#NAME@VERSION";

impl FromStr for ChartSource {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || NameError::new("chart source", text, NOTATIONS);
        let (notation, rest) = text.split_once(':').ok_or_else(refuse)?;
        match notation {
            "file" if !rest.is_empty() => Ok(Self::File(rest.into())),
            "dir" if !rest.is_empty() => Ok(Self::Dir(rest.into())),
            "oci" => {
                let chart = rest.strip_prefix("//").ok_or_else(refuse)?;
                Ok(Self::Oci(chart.parse()?))
            }
            "https" | "http" => {
                let chart = repository_chart(text)?.ok_or_else(refuse)?;
                Ok(Self::Repository(chart))
            }
            _ => Err(refuse()),
        }
    }
}

/// Parses `https://REPOSITORY#NAME@VERSION`; `None` for other texts. The address is not validated here, but by the
/// client that uses it.
fn repository_chart(text: &str) -> Result<Option<RepositoryChart>, NameError> {
    let Some((url, chart)) = text.split_once('#') else {
        return Ok(None);
    };
    let (_, address) = url.split_once("://").unwrap_or_default();
    // A login would be written to files next to the archive, and everything after `?` would be lost when a chart is
    // looked up.
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '\\');
    if address.is_empty() || address.starts_with('/') || !address.chars().all(is_plain) {
        return Ok(None);
    }
    let Some((name, version)) = chart.split_once('@') else {
        return Ok(None);
    };
    Ok(Some(RepositoryChart {
        url: url.to_owned(),
        name: name.parse()?,
        version: version.parse()?,
    }))
}

impl FromStr for OciChart {
    type Err = NameError;

    /// Parses the text after `oci://`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const GRAMMAR: &str = "HOST/PATH:VERSION or HOST/PATH@sha256:DIGEST";
        let refuse = || NameError::new("chart in a registry", text, GRAMMAR);
        let (repository, pin) = match text.split_once('@') {
            Some((repository, digest)) => {
                let digest = digest.parse().map_err(|_| refuse())?;
                (repository, ChartPin::Digest(digest))
            }
            None => match text.rsplit_once(':') {
                Some((repository, version)) if !version.contains('/') => {
                    (repository, ChartPin::Version(version.parse()?))
                }
                _ => return Err(refuse()),
            },
        };
        // Unlike in an image reference, the host is required.
        let name: ImageReference = repository.parse()?;
        if !repository.contains('/') || name.tag().is_some() {
            return Err(refuse());
        }
        let repository = repository.to_owned();
        Ok(Self { repository, pin })
    }
}

impl fmt::Display for ChartSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "file:{}", file.display()),
            Self::Dir(directory) => write!(f, "dir:{}", directory.display()),
            Self::Oci(OciChart { repository, pin }) => match pin {
                ChartPin::Version(version) => write!(f, "oci://{repository}:{version}"),
                ChartPin::Digest(digest) => write!(f, "oci://{repository}@{digest}"),
            },
            Self::Repository(RepositoryChart { url, name, version }) => {
                write!(f, "{url}#{name}@{version}")
            }
        }
    }
}

text_traits!(
    ChartSource,
    "file:FILE, dir:DIR, oci://HOST/PATH:VERSION, oci://HOST/PATH@sha256:DIGEST or https://REPOSITORY#NAME@VERSION",
    pattern::CHART_SOURCE
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_round_trips() {
        let digest = "5".repeat(64);
        for text in [
            "file:charts/web-1.0.0.tgz",
            "dir:charts/web",
            "oci://r.test/web:1.0.0",
            "oci://r.test:5000/charts/web:v1.0.0+b.2",
            "oci://localhost/web:1.0.0",
            &format!("oci://r.test:5000/charts/web@sha256:{digest}"),
            "https://r.test#web@1.0.0",
            "https://r.test:444/charts/~a/#web@v1.0.0+b.2",
            "http://localhost:80/charts#web@1.0.0",
        ] {
            assert_eq!(text.parse::<ChartSource>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_is_left_out_and_nothing_floats() {
        let digest = "5".repeat(64);
        for text in [
            "",
            "file:",
            "dir",
            "charts/web",
            "oci:r.test/web:1.0.0",
            "oci://web:1.0.0",
            "oci://r.test/web",
            "oci://r.test:5000/web",
            "oci://r.test/web:latest",
            "oci://r.test/web:1.0",
            "oci://r.test/web:1.x",
            "oci://r.test/web:",
            "oci://r.test/Web:1.0.0",
            "oci://u:p@r.test/web:1.0.0",
            "oci://r.test/web:1.0.0:1.0.0",
            &format!("oci://r.test/web:1.0.0@sha256:{digest}"),
            "oci://r.test/web@sha256:5",
            "https://r.test/charts",
            "https://r.test/charts#web",
            "https://r.test/charts#web@",
            "https://r.test/charts#web@1",
            "https://r.test/charts#web@^1.0.0",
            "https://r.test/charts#@1.0.0",
            "https://r.test/charts#web@1.0.0#a",
            "https://#web@1.0.0",
            "https:///charts#web@1.0.0",
            "https:r.test#web@1.0.0",
            "https://u:p@r.test/#web@1.0.0",
            "https://r.test/?a#web@1.0.0",
            "https://r.test/a b#web@1.0.0",
            "ftp://r.test/#web@1.0.0",
        ] {
            assert!(text.parse::<ChartSource>().is_err(), "{text}");
        }
    }
}
