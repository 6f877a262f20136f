//! A chart with the charts in it, from its archive.

use std::collections::BTreeMap;

use schemas::{ChartName, ChartVersion};
use serde_json::{Map, Value};

use crate::archive::{self, Budget, File};
use crate::artifact::Artifact;
use crate::error::{ArchiveProblem, ChartError, ChartProblem};
use crate::metadata::{Dependency, Metadata};
use crate::values::{coalesce, read_values};
use crate::{limits, schema, stored};

/// A chart that can be installed without anything from elsewhere.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it says of itself.
    pub metadata: Metadata,
    /// Its name.
    pub name: ChartName,
    /// Its version.
    pub version: ChartVersion,
    /// How many files with definitions of custom resources it has in `crds/`, with those of the charts in it.
    pub definitions: usize,
    values: Map<String, Value>,
    /// Those of the charts in it, by the names under which it has them, if they are known.
    within: Option<Map<String, Value>>,
    files: Vec<File>,
}

impl Chart {
    /// Reads a chart's archive, and those in it.
    pub fn read(archive: &[u8]) -> Result<Self, ChartError> {
        if archive.len() as u64 > limits::ARCHIVE_SIZE {
            let (size, most) = (archive.len(), limits::ARCHIVE_SIZE);
            let words = format!("has {size} bytes; at most {most} are read");
            return Err(ChartProblem::Budget(words).into());
        }
        let chart = read_archive(archive, &mut Budget::default(), 0)?;
        if chart.metadata.kind == "library" {
            let words = "Chart.yaml: type is `library`: such a chart only serves other charts";
            return Err(ChartProblem::Metadata(words.to_owned()).into());
        }
        Ok(chart)
    }

    /// The artifact of it; `archive` is what it was read from.
    #[must_use]
    pub fn artifact(&self, archive: &[u8]) -> Artifact {
        Artifact::new(&self.metadata, archive)
    }

    /// Bytes that Helm stores of a release with these values, at least; [`limits::RELEASE`] is the most that it can.
    #[must_use]
    pub fn stored_size(&self, given: &Map<String, Value>) -> usize {
        self.release_size(given, "")
    }

    /// As [`Self::stored_size`], with what it renders to.
    #[must_use]
    pub fn release_size(&self, given: &Map<String, Value>, manifest: &str) -> usize {
        let (metadata, files) = (&self.metadata, &self.files);
        stored::size(metadata, files, &self.values, given, manifest)
    }
}

impl Chart {
    /// Its values with those of the charts in it, as far as these are known.
    #[must_use]
    pub fn all_values(&self) -> Map<String, Value> {
        let mut all = self.within.clone().unwrap_or_default();
        coalesce(&mut all, &self.values);
        all
    }
}

fn read_archive(archive: &[u8], budget: &mut Budget, depth: usize) -> Result<Chart, ChartError> {
    let (directory, files) = archive::unpack(archive, budget)?;
    let chart = read_files(files, budget, depth)?;
    if directory != chart.metadata.name {
        let named = chart.metadata.name;
        return Err(ChartProblem::from(ArchiveProblem::Directory(directory, named)).into());
    }
    Ok(chart)
}

fn read_files(files: Vec<File>, budget: &mut Budget, depth: usize) -> Result<Chart, ChartError> {
    if depth > limits::DEPTH {
        let words = format!("has more than {} charts within one another", limits::DEPTH);
        return Err(ChartProblem::Budget(words).into());
    }
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let metadata = find("Chart.yaml").ok_or(ChartProblem::NoMetadata)?;
    let mut metadata = Metadata::read(&metadata.bytes)?;
    if let Some(requirements) = find("requirements.yaml") {
        metadata.require(&requirements.bytes)?;
    }
    let values = find("values.yaml").map(|file| read_values(&file.bytes));
    let values = values.transpose().map_err(|_| ChartProblem::Values)?;
    if let Some(file) = find("values.schema.json") {
        schema::check(&file.bytes)?;
    }
    let mut definitions = files
        .iter()
        .filter(|it| it.path.starts_with("crds/"))
        .count();
    let mut present = BTreeMap::new();
    for (name, files) in within(&files) {
        let inner = |mut error: ChartError| {
            error.within.insert(0, name.to_owned());
            error
        };
        let chart = read_inner(name, &files, budget, depth + 1).map_err(inner)?;
        definitions += chart.definitions;
        present.insert(chart.metadata.name.clone(), chart.all_values());
    }
    let mut needed = metadata.dependencies.iter();
    if let Some(missing) = needed.find(|it| !present.contains_key(&it.name)) {
        return Err(ChartProblem::Dependency(missing.name.clone()).into());
    }
    Ok(Chart {
        name: metadata.chart_name()?,
        version: metadata.chart_version()?,
        definitions,
        values: values.unwrap_or_default(),
        within: named(present, &metadata.dependencies),
        metadata,
        files,
    })
}

/// The values of charts within a chart by the names under which it has them; none where only Helm knows what becomes of
/// them: a chart that is there under several names, or one whose values the chart itself takes over.
fn named(
    present: BTreeMap<String, Map<String, Value>>,
    dependencies: &[Dependency],
) -> Option<Map<String, Value>> {
    if dependencies.iter().any(|it| !it.import_values.is_empty()) {
        return None;
    }
    let mut named = Map::new();
    for (name, values) in present {
        let mut uses = dependencies.iter().filter(|it| it.name == name);
        let key = match uses.next().map(|it| it.alias.as_str()) {
            None | Some("") => name.clone(),
            Some(alias) => alias.to_owned(),
        };
        if uses.next().is_some() {
            return None;
        }
        named.insert(key, Value::Object(values));
    }
    Some(named)
}

/// What lies in `charts/`, by its first name; by Helm's rule, names that begin with `_` or `.` are no charts, and neither
/// are provenance files.
fn within(files: &[File]) -> BTreeMap<&str, Vec<&File>> {
    let mut charts: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in files {
        let Some(below) = file.path.strip_prefix("charts/") else {
            continue;
        };
        let name = below.split('/').next().unwrap_or(below);
        let ends_as = |end: &str| {
            let last = file.path.rsplit('/').next().unwrap_or_default();
            last.rsplit_once('.').is_some_and(|(_, it)| it == end)
        };
        if !name.starts_with(['_', '.']) && !ends_as("prov") {
            charts.entry(name).or_default().push(file);
        }
    }
    charts
}

/// A chart in `charts/`: an archive, or a directory.
fn read_inner(
    name: &str,
    files: &[&File],
    budget: &mut Budget,
    depth: usize,
) -> Result<Chart, ChartError> {
    let prefix = format!("charts/{name}/");
    if name.rsplit_once('.').is_some_and(|(_, it)| it == "tgz") {
        return match files {
            [file] if !file.path.starts_with(&prefix) => read_archive(&file.bytes, budget, depth),
            _ => Err(ChartProblem::from(ArchiveProblem::Path(prefix)).into()),
        };
    }
    let below = |file: &&File| {
        let path = file.path.strip_prefix(&prefix)?.to_owned();
        let bytes = file.bytes.clone();
        Some(File { path, bytes })
    };
    read_files(files.iter().filter_map(below).collect(), budget, depth)
}
