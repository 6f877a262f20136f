//! `solution init --chart`: a source tree that carries a Helm chart.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use packager::ReadChart;
use release::PublishedChart;
use schemars::JsonSchema;
use schemas::{ChartName, ChartSource, ChartVersion, SolutionName, Version, limits};
use serde::Serialize;

use super::{Arguments, show_files, show_next, wishes, write};
use crate::args::Output;
use crate::commands::give;
use crate::commands::pack::{request, watch};
use crate::failure::{Failure, Outcome};
use crate::{environment, progress, render};

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

pub(super) fn run(arguments: &Arguments, called: &str, output: Output) -> Result<Outcome, Failure> {
    let values = values(&arguments.values)?;
    let paths = values.iter().map(|(path, _)| PathBuf::from(path));
    let paths = paths.collect();
    let mut files = BTreeMap::from_iter(values);
    let source = source(called)?;
    let chart = read(arguments, &source, output)?;
    let source = match source {
        ChartSource::File(_) | ChartSource::Dir(_) => {
            let path = format!("charts/{}-{}.tgz", chart.name, chart.version);
            files.insert(path.clone(), chart.archive);
            let signed = chart.provenance.map(|it| (format!("{path}.prov"), it));
            files.extend(signed);
            ChartSource::File(path.into())
        }
        elsewhere => elsewhere,
    };
    let published = PublishedChart {
        name: chart.name,
        version: chart.version,
        called: called.to_owned(),
        source,
        values: paths,
        files,
    };
    let tree = release::chart(&published, &wishes(arguments))?;
    let (directory, written) = write(arguments, &tree)?;
    let made = ChartTree {
        solution: tree.id.name(),
        version: tree.id.version(),
        chart: &published.name,
        chart_version: &published.version,
        source: &published.source,
        files: &written,
    };
    Ok(give(output, &made, |made| show(made, &directory)))
}

/// Where the chart is: in the notation of `solution.yaml`, or as a path of this disk.
fn source(called: &str) -> Result<ChartSource, Failure> {
    let notations = ["file:", "dir:", "oci:", "http:", "https:"];
    if notations
        .iter()
        .any(|notation| called.starts_with(notation))
    {
        return called.parse().map_err(Failure::usage);
    }
    Ok(on_disk(called.into()))
}

/// A chart of this disk, a directory or packed.
pub(super) fn on_disk(path: PathBuf) -> ChartSource {
    if path.is_dir() {
        ChartSource::Dir(path)
    } else {
        ChartSource::File(path)
    }
}

/// Reads a chart, wherever it is.
pub(super) fn read(
    arguments: &Arguments,
    source: &ChartSource,
    output: Output,
) -> Result<ReadChart, Failure> {
    let cache = request::cache_in(environment::cache(), &environment::scratch())?;
    let remote = request::remote(&arguments.reach, &arguments.mirrors)?;
    let read = progress::watched(output, "chart", watch::show, |watch| {
        packager::read_chart(source, &remote, cache.path(), watch)
    });
    Ok(read?)
}

/// The files with values, an earlier one before those that go before it: their names in the tree, and their bytes.
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

/// The bytes of a file with values.
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
