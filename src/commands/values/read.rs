//! What there is to choose, from the archive.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;
use archive::{Listed, Opened, Trusted};
use charts::{Chart, ChartError, read_values};
use schemars::JsonSchema;
use schemas::{
    ChartName, ChartRelease, ChartVersion, Parameter, ParameterName, ReleaseName, SiteValues,
    Solution, SolutionName, Version, limits, merge_values,
};
use serde::Serialize;
use serde_json::{Map, Value};
use validator::Accepted;

use crate::failure::{self, Failure};

/// What a version lets a site choose. Of a file nothing is verified.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SiteChoices {
    /// The name of the Solution.
    pub(super) solution: SolutionName,
    /// The version of the Solution.
    pub(super) version: Version,
    /// What it asks of a site.
    pub(super) parameters: BTreeMap<ParameterName, Parameter>,
    /// The releases of its charts.
    pub(super) releases: Vec<ReleaseValues>,
}

/// The values of a release.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseValues {
    /// The name of the release.
    pub(super) name: ReleaseName,
    /// The name of its chart.
    pub(super) chart: ChartName,
    /// The version of its chart.
    pub(super) version: ChartVersion,
    /// Its values where a site says nothing: the publisher's, with placeholders, over the chart's own.
    pub(super) values: Map<String, Value>,
    /// The values that its publisher means a site to choose.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub(super) site_values: SiteValues,
    /// The publisher's alone.
    #[serde(skip)]
    pub(super) published: Map<String, Value>,
    /// The chart's own, as they are written, with comments.
    #[serde(skip)]
    pub(super) text: String,
}

/// Reads what there is to choose.
pub(super) fn choices(path: &Path) -> Result<SiteChoices, Failure> {
    let listed = Opened::open(path)
        .and_then(|opened| opened.skip_signature())
        .and_then(Trusted::list)
        .map_err(|error| failure::reading(path, error))?;
    let manifest = read(path, &listed, archive::MANIFEST, limits::MANIFEST_SIZE)?;
    let manifest = Solution::from_slice(&manifest).map_err(|error| unusable(path, error))?;
    let spec = manifest.spec;
    if spec.charts.len() > rules::limits::CHARTS {
        let what = "there are more charts than can be shown";
        return Err(failure::too_much(path, what));
    }
    let releases = spec
        .charts
        .iter()
        .map(|it| listed_release(path, &listed, it));
    Ok(SiteChoices {
        solution: listed.statement().predicate.id.name().clone(),
        version: spec.version,
        parameters: spec.parameters,
        releases: releases.collect::<Result<_, _>>()?,
    })
}

/// Reads what there is to choose from an archive that was accepted.
pub(super) fn of_accepted(accepted: &Accepted) -> Result<SiteChoices, Failure> {
    let spec = &accepted.manifest().spec;
    let releases = accepted.charts().iter().map(|it| {
        let wrong =
            |error: ChartError| Failure::no(anyhow!(error).context("the chart cannot be read"));
        release(&it.release, &it.archive, it.values.clone()).map_err(wrong)
    });
    Ok(SiteChoices {
        solution: accepted.statement().predicate.id.name().clone(),
        version: spec.version.clone(),
        parameters: spec.parameters.clone(),
        releases: releases.collect::<Result<_, _>>()?,
    })
}

fn listed_release(
    path: &Path,
    listed: &Listed,
    release: &ChartRelease,
) -> Result<ReleaseValues, Failure> {
    let bytes = archive::chart_path(&release.name);
    let bytes = read(path, listed, bytes.as_str(), charts::limits::ARCHIVE_SIZE)?;
    let given = archive::chart_values_path(&release.name);
    let published = if listed.contents().get(given.as_str()).is_some() {
        let bytes = read(path, listed, given.as_str(), limits::YAML_SIZE)?;
        read_values(&bytes).map_err(|error| unusable(path, error))?
    } else {
        Map::new()
    };
    self::release(release, &bytes, published).map_err(|error| unusable(path, error))
}

/// The values of a release, with its chart's archive and the publisher's values.
fn release(
    release: &ChartRelease,
    archive: &[u8],
    published: Map<String, Value>,
) -> Result<ReleaseValues, ChartError> {
    let chart = Chart::read(archive)?;
    let mut values = chart.default_values();
    merge_values(&mut values, &published);
    Ok(ReleaseValues {
        name: release.name.clone(),
        chart: release.chart.clone(),
        version: release.version.clone(),
        values,
        site_values: release.site_values.clone(),
        published,
        text: chart.values_text().to_owned(),
    })
}

fn read(path: &Path, listed: &Listed, file: &str, most: u64) -> Result<Vec<u8>, Failure> {
    listed
        .read(file, most)
        .map_err(|error| failure::reading(path, error))
}

fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Failure {
    let words = format!("`{}` cannot be read", path.display());
    Failure::no(anyhow!(error).context(words))
        .hint("`solution validate` says what is wrong with the archive")
}
