//! Where the chart of a release is, by the repositories that a helmfile lists.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use manifests::shown;
use schemas::{ChartSource, ChartVersion};

use super::error::{HelmfileError, HelmfileProblem};
use super::fields::Fields;
use crate::limits;

/// Where the chart of a release is.
#[derive(Clone, Debug)]
pub enum ListedChart {
    /// On this disk.
    Local {
        /// A directory or a packed chart, from the helmfile's directory.
        path: PathBuf,
        /// Its version, as the helmfile says.
        version: Option<String>,
    },
    /// In a registry or a repository.
    Elsewhere(ChartSource),
}

/// A repository of charts, or the part of a registry that has some.
pub(super) struct Repository<'a> {
    url: &'a str,
    oci: bool,
}

/// The repositories, by name.
pub(super) type Repositories<'a> = BTreeMap<&'a str, Repository<'a>>;

pub(super) fn repositories<'a>(file: &Fields<'a>) -> Result<Repositories<'a>, HelmfileError> {
    let mut repositories = BTreeMap::new();
    let listed = file.list("repositories", limits::HELMFILE_REPOSITORIES)?;
    for (number, value) in (1..).zip(listed) {
        let place = file.place.repository(number);
        let fields = Fields::of(&place, value)?;
        fields.only(&["name", "oci", "url"], &[])?;
        fields.no_template(None)?;
        let text = |field| {
            let missing = || fields.problem(HelmfileProblem::Missing(field));
            fields.text(field)?.ok_or_else(missing)
        };
        let (name, url) = (text("name")?, text("url")?);
        if url.contains('@') {
            return Err(fields.problem(HelmfileProblem::Login));
        }
        let oci = fields.boolean("oci")?.unwrap_or_default();
        if repositories.insert(name, Repository { url, oci }).is_some() {
            return Err(fields.problem(HelmfileProblem::Twice));
        }
    }
    Ok(repositories)
}

/// Where a release takes its chart from.
pub(super) fn chart(
    release: &Fields<'_>,
    repositories: &Repositories<'_>,
) -> Result<ListedChart, HelmfileError> {
    let chart = release.text("chart")?;
    let chart = chart.ok_or_else(|| release.problem(HelmfileProblem::Missing("chart")))?;
    if is_path(chart) {
        let version = release.text("version")?.map(ToOwned::to_owned);
        let path = chart.into();
        return Ok(ListedChart::Local { path, version });
    }
    let elsewhere = || release.problem(HelmfileProblem::Chart(shown(chart)));
    let address = if chart.starts_with(OCI) {
        format!("{chart}:")
    } else if chart.contains(':') {
        return Err(elsewhere());
    } else {
        let (repository, name) = chart.split_once('/').ok_or_else(elsewhere)?;
        let unknown = || release.problem(HelmfileProblem::Repository(shown(repository)));
        let repository = repositories.get(repository).ok_or_else(unknown)?;
        let Repository { url, oci } = repository;
        if *oci {
            let url = url.strip_prefix(OCI).unwrap_or(url).trim_end_matches('/');
            format!("{OCI}{url}/{name}:")
        } else {
            format!("{url}#{name}@")
        }
    };
    let address = format!("{address}{}", version(release)?);
    let source = release.name("chart", &address)?;
    Ok(ListedChart::Elsewhere(source))
}

const OCI: &str = "oci://";

/// Whether a chart is on this disk. A directory that is only named, Helmfile takes for a repository too.
fn is_path(chart: &str) -> bool {
    let begins = ["./", "../", "/"].iter().any(|it| chart.starts_with(it));
    let packed = Path::new(chart).extension().is_some_and(|end| end == "tgz");
    let packed = packed && !chart.contains(':');
    begins || packed || [".", ".."].contains(&chart)
}

/// The one version that a release has.
fn version(release: &Fields<'_>) -> Result<ChartVersion, HelmfileError> {
    let text = release.text("version")?;
    let text = text.ok_or_else(|| release.problem(HelmfileProblem::NoVersion))?;
    let range = |_| release.problem(HelmfileProblem::Range(shown(text)));
    text.parse().map_err(range)
}
