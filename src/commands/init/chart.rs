//! `solution init --chart`: creates a source tree that packages a Helm chart. The chart is in the tree, or
//! `solution.yaml` refers to it in a registry or repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use packager::ReadChart;
use release::{PublishedChart, SourceTree};
use schemars::JsonSchema;
use schemas::{ChartName, ChartSource, ChartVersion, SolutionName, Version, limits};
use serde::Serialize;

use super::arguments::{CreatedTree, TreeChoices};
use super::{show_files, show_next};
use crate::args::Output;
use crate::commands::{give, source_access};
use crate::failure::{Failure, Outcome};
use crate::{progress_bar, render};

/// With a chart: the created source tree.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChartTree<'a> {
    /// The name of the Solution.
    solution: &'a SolutionName,
    /// The version of the Solution.
    version: &'a Version,
    /// The chart's own name.
    chart: &'a ChartName,
    /// The chart's own version.
    chart_version: &'a ChartVersion,
    /// Where solution.yaml takes the chart from.
    source: &'a ChartSource,
    /// The files that were written.
    files: &'a [PathBuf],
}

/// Creates the tree of a chart, which the command line names in this way.
pub(super) fn tree(
    source: &ChartSource,
    called: &str,
    choices: &TreeChoices<'_>,
) -> Result<(PublishedChart, SourceTree), Failure> {
    let values = values(choices.values)?;
    let paths = values.iter().map(|(path, _)| PathBuf::from(path));
    let paths = paths.collect();
    let mut files = BTreeMap::from_iter(values);
    let chart = read(source, choices)?;
    let source = match source {
        ChartSource::File(_) | ChartSource::Dir(_) => {
            let path = format!("charts/{}-{}.tgz", chart.name, chart.version);
            files.insert(path.clone(), chart.archive);
            let signed = chart
                .provenance
                .map(|signature| (format!("{path}.prov"), signature));
            files.extend(signed);
            ChartSource::File(path.into())
        }
        elsewhere => elsewhere.clone(),
    };
    let published = PublishedChart {
        name: chart.name,
        version: chart.version,
        called: called.to_owned(),
        source,
        values: paths,
        files,
    };
    let tree = release::chart(&published, &choices.options)?;
    Ok((published, tree))
}

/// Outputs the created tree.
pub(super) fn give_created(
    created: &CreatedTree,
    published: &PublishedChart,
    output: Output,
) -> Outcome {
    let id = &created.tree.id;
    let made = ChartTree {
        solution: id.name(),
        version: id.version(),
        chart: &published.name,
        chart_version: &published.version,
        source: &published.source,
        files: &created.written,
    };
    give(output, &made, |made| show(made, &created.directory))
}

/// Returns a chart on this disk, which is a directory or a packed file.
pub(super) fn on_disk(path: PathBuf) -> ChartSource {
    if path.is_dir() {
        ChartSource::Dir(path)
    } else {
        ChartSource::File(path)
    }
}

/// Reads a chart from the disk, a registry or a repository.
pub(super) fn read(source: &ChartSource, choices: &TreeChoices<'_>) -> Result<ReadChart, Failure> {
    let read = progress_bar::watched(
        choices.output,
        "chart",
        source_access::show_progress,
        |watch| packager::read_chart(source, &choices.remote, choices.cache, watch),
    );
    Ok(read?)
}

/// Reads the values files in their order, in which later files take precedence. Returns their names in the tree and
/// their bytes.
fn values(given: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut read = Vec::new();
    for (number, path) in (1..).zip(given) {
        let bytes = values_of(path)?;
        let name = match given.len() {
            1 => "values.yaml".to_owned(),
            _ => format!("values-{number}.yaml"),
        };
        read.push((name, bytes));
    }
    Ok(read)
}

/// Reads the bytes of a values file.
fn values_of(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = files::read(path, limits::YAML_SIZE)?;
    charts::read_values(&bytes)
        .with_context(|| format!("`{}` does not contain values of a chart", path.display()))
        .map_err(Failure::no)?;
    Ok(bytes)
}

fn show(made: &ChartTree<'_>, directory: &Path) {
    show_files(made.files);
    let (solution, version) = (made.solution, made.version);
    let (chart, chart_version) = (made.chart, made.chart_version);
    render::note!("{solution} {version}: chart {chart} {chart_version}");
    show_next(directory);
}
