//! The Helm charts of an archive, as far as they can be shown.

use std::path::Path;

use ::charts::Chart;
use archive::Listed;
use schemars::JsonSchema;
use schemas::{ChartRelease, ImagePlace, ReleaseName, Strategy};
use serde::Serialize;

use super::sets;
use crate::failure::{self, Failure};
use crate::render;

/// A chart's description of itself. It has only its place if the chart cannot be read.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InspectedChart")]
pub(crate) struct ChartLine {
    /// The name of its release.
    name: ReleaseName,
    /// The place of its artifact among the images, NAME:TAG.
    artifact: ImagePlace,
    /// The version of the application.
    #[serde(skip_serializing_if = "String::is_empty")]
    app_version: String,
    /// The versions of Kubernetes that it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    kube_version: String,
    /// How many files it has below `crds/`, with those of the charts in it.
    definition_files: usize,
}

/// The lines of the charts.
pub(super) fn charts(
    archive: &Path,
    listed: &Listed,
    releases: &[ChartRelease],
) -> Result<Vec<ChartLine>, Failure> {
    if releases.len() > rules::limits::CHARTS {
        let what = "it has more charts than can be shown";
        return Err(failure::too_much(archive, what));
    }
    let line = |release: &ChartRelease| {
        let path = archive::chart_path(&release.name);
        let bytes = listed.read(path.as_str(), ::charts::limits::ARCHIVE_SIZE);
        let bytes = bytes.map_err(|error| failure::reading(archive, error))?;
        let chart = Chart::read(&bytes).ok();
        let said = |text: fn(&Chart) -> &String| chart.as_ref().map(text).cloned();
        Ok(ChartLine {
            name: release.name.clone(),
            artifact: release.place(),
            app_version: said(|it| &it.metadata.app_version).unwrap_or_default(),
            kube_version: said(|it| &it.metadata.kube_version).unwrap_or_default(),
            definition_files: chart.as_ref().map_or(0, |it| it.definitions),
        })
    };
    releases.iter().map(line).collect()
}

/// A chart, for people.
pub(super) fn show(release: &ChartRelease, line: &ChartLine) {
    let (name, chart, version) = (&release.name, &release.chart, &release.version);
    render::line!("chart       {name}  {chart} {version}");
    for (word, text) in [
        ("app       ", &line.app_version),
        ("Kubernetes", &line.kube_version),
    ] {
        if !text.is_empty() {
            render::line!("  {word} {text}");
        }
    }
    if line.definition_files > 0 {
        let files = render::count(line.definition_files, "file");
        render::line!("  CRDs      {files}");
    }
    if let Some(namespace) = &release.namespace {
        render::line!("  namespace {namespace}");
    }
    sets::show_place(&release.namespaces, release.when.as_ref());
    if !release.needs.is_empty() {
        render::line!("  needs     {}", render::list(&release.needs));
    }
    if release.strategy == Strategy::BootstrapOnly {
        render::line("  strategy  installed once, never upgraded");
    }
    if let Some(timeout) = &release.timeout {
        render::line!("  timeout   {timeout}");
    }
}
