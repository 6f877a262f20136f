//! A chart with the charts in it, from its archive.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemas::{ChartName, ChartVersion, merge_values};
use serde_json::{Map, Value};

use crate::archive::{self, ArchivedFile, Budget};
use crate::artifact::ChartArtifact;
use crate::asks::Asks;
use crate::error::{ArchiveProblem, ChartError, ChartProblem};
use crate::metadata::ChartMetadata;
use crate::values::{ValuesError, read_foreign, read_own_values};
use crate::{limits, schema, stored};

/// A chart that can be installed without anything from elsewhere.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The chart's own words of itself.
    pub metadata: ChartMetadata,
    /// Its name.
    pub name: ChartName,
    /// Its version.
    pub version: ChartVersion,
    /// The number of [`Self::definition_files`].
    pub definitions: usize,
    /// The things that its templates ask for, and those of the charts in it.
    pub asks: Asks,
    /// Whether only Helm's readers read all files of it and of the charts in it, and not those of `charts-1.0.0`.
    pub as_helm: bool,
    /// Something elsewhere that the schema of its values refers to, or that of a chart in it. Helm would fetch it, and so must
    /// not check values by schemas.
    pub remote_schema: Option<String>,
    values: Map<String, Value>,
    /// The values of the charts in it, those of each below its name.
    values_within: Map<String, Value>,
    /// The definitions of the charts in it, by their paths in this one.
    definitions_within: Vec<ArchivedFile>,
    files: Vec<ArchivedFile>,
}

/// A file of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartFile<'a> {
    /// Its path in the chart; what lies in another archive in it is below the path of that.
    pub path: &'a str,
    /// The content of the file, without a byte order mark.
    pub bytes: &'a [u8],
}

impl<'a> From<&'a ArchivedFile> for ChartFile<'a> {
    fn from(ArchivedFile { path, bytes }: &'a ArchivedFile) -> Self {
        Self { path, bytes }
    }
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
            let words = "Chart.yaml: type is `library`, which cannot be installed";
            return Err(ChartProblem::Metadata(words.to_owned()).into());
        }
        Ok(chart)
    }

    /// The artifact of it; `archive` is what it was read from.
    #[must_use]
    pub fn artifact(&self, archive: &[u8]) -> ChartArtifact {
        ChartArtifact::new(&self.metadata, archive)
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

    /// The values that apply where nobody gives others: those of the charts in it below their names, this one's over
    /// them.
    #[must_use]
    pub fn default_values(&self) -> Map<String, Value> {
        let mut values = self.values_within.clone();
        merge_values(&mut values, &self.values);
        values
    }

    /// Its own default values as they are written, with their comments; nothing where it has no such file.
    #[must_use]
    pub fn values_text(&self) -> &str {
        self.text("values.yaml")
    }

    /// The schema of its values as it is written; nothing where it has none.
    pub(crate) fn schema_text(&self) -> &str {
        self.text("values.schema.json")
    }

    /// The texts of its own templates.
    pub(crate) fn templates(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let templates = self.files.iter();
        let templates = templates.filter(|file| file.path.starts_with("templates/"));
        templates.map(|file| String::from_utf8_lossy(&file.bytes))
    }

    /// The content of the file with this path; none of files in archives in it.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let mut files = self.files.iter();
        let file = files.find(|file| file.path == path)?;
        Some(&file.bytes)
    }

    fn text(&self, path: &str) -> &str {
        // It was read as YAML or JSON, which is UTF-8.
        let text = self.file(path).map(str::from_utf8);
        text.and_then(Result::ok).unwrap_or_default()
    }

    /// The files that Helm takes for definitions of custom resources: those in `crds/`, and behind them those of the
    /// charts in it, whatever values turn off.
    pub fn definition_files(&self) -> impl Iterator<Item = ChartFile<'_>> {
        let own = self.files.iter().filter(|it| is_definition(&it.path));
        own.chain(&self.definitions_within).map(ChartFile::from)
    }

    /// Its default values and its definitions, which are all that is kept of a chart at this path of another.
    fn into_kept(mut self, path: &str) -> (Map<String, Value>, impl Iterator<Item = ArchivedFile>) {
        merge_values(&mut self.values_within, &self.values);
        let own = self.files.into_iter();
        let own = own.filter(|it| is_definition(&it.path));
        let files = own
            .chain(self.definitions_within)
            .map(move |file| ArchivedFile {
                path: format!("{path}/{}", file.path),
                bytes: file.bytes,
            });
        (self.values_within, files)
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

fn read_files(
    files: Vec<ArchivedFile>,
    budget: &mut Budget,
    depth: usize,
) -> Result<Chart, ChartError> {
    if depth > limits::DEPTH {
        let words = format!(
            "has charts that are nested more than {} levels deep",
            limits::DEPTH
        );
        return Err(ChartProblem::Budget(words).into());
    }
    let find = |path: &str| files.iter().find(|file| file.path == path);
    let metadata = find("Chart.yaml").ok_or(ChartProblem::NoMetadata)?;
    let metadata = ChartMetadata::read(&metadata.bytes)?;
    let (mut metadata, mut as_helm) = (metadata.value, metadata.as_helm);
    if let Some(requirements) = find("requirements.yaml") {
        as_helm |= metadata.require(&requirements.bytes)?;
    }
    let values = find("values.yaml").map(|file| read_own_values(&file.bytes));
    let values = values.transpose().map_err(|error| match error {
        ValuesError::Yaml(error) => ChartProblem::Yaml("values.yaml", error),
        ValuesError::Shape => ChartProblem::Values,
    })?;
    as_helm |= values.as_ref().is_some_and(|values| values.as_helm);
    let schema = find("values.schema.json").map(|file| schema::check(&file.bytes));
    let schema = schema.transpose()?;
    as_helm |= schema.as_ref().is_some_and(|schema| schema.as_helm);
    let mut remote_schema = schema.and_then(|schema| schema.value);
    let mut present = BTreeSet::new();
    let mut values_within = Map::new();
    let mut definitions_within = Vec::new();
    let own = files.iter().filter(|it| is_rendered(&it.path));
    let mut asks = own.fold(Asks::default(), |asks, file| asks | Asks::of(&file.bytes));
    for (name, files) in within(&files) {
        let inner = |mut error: ChartError| {
            error.within.insert(0, name.to_owned());
            error
        };
        let chart = read_inner(name, &files, budget, depth + 1).map_err(inner)?;
        asks = asks | chart.asks;
        as_helm |= chart.as_helm;
        remote_schema = remote_schema.or_else(|| chart.remote_schema.clone());
        let path = format!("charts/{name}");
        let name = chart.metadata.name.clone();
        // Only the first of several aliases: with all of them, charts in charts could multiply without end.
        let dependency = metadata.dependencies.iter().find(|it| it.name == name);
        let alias = dependency.map(|it| &it.alias).filter(|it| !it.is_empty());
        let below = alias.unwrap_or(&name).clone();
        let (values, definitions) = chart.into_kept(&path);
        values_within.insert(below, values.into());
        definitions_within.extend(definitions);
        present.insert(name);
    }
    let mut needed = metadata.dependencies.iter();
    if let Some(missing) = needed.find(|it| !present.contains(&it.name)) {
        return Err(ChartProblem::Dependency(missing.name.clone()).into());
    }
    let own = files.iter().filter(|it| is_definition(&it.path));
    let mut read = own.clone().map(|file| read_foreign(&file.bytes));
    // What cannot be read at all is found where the definitions are judged.
    as_helm |= read.any(|read| read.is_ok_and(|read| read.as_helm));
    let own = own.count();
    Ok(Chart {
        name: metadata.chart_name()?,
        version: metadata.chart_version()?,
        metadata,
        definitions: own + definitions_within.len(),
        asks,
        as_helm,
        remote_schema,
        values: values.map(|values| values.value).unwrap_or_default(),
        values_within,
        definitions_within,
        files,
    })
}

/// Whether Helm takes a chart's file for definitions of custom resources (its `pkg/chart/v2/chart.go`).
fn is_definition(path: &str) -> bool {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let ends = ["yaml", "yml", "json"];
    path.starts_with("crds/") && ends.iter().any(|it| it.eq_ignore_ascii_case(end))
}

/// Whether a file of a chart is a template, or has what templates take for one.
fn is_rendered(path: &str) -> bool {
    path.starts_with("templates/") || path == "values.yaml"
}

/// Returns the files in `charts/`, by their first name; by Helm's rule, names that begin with `_` or `.` are no charts,
/// and neither are provenance files.
fn within(files: &[ArchivedFile]) -> BTreeMap<&str, Vec<&ArchivedFile>> {
    let mut charts: BTreeMap<&str, Vec<&ArchivedFile>> = BTreeMap::new();
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
    files: &[&ArchivedFile],
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
    let below = |file: &&ArchivedFile| {
        let path = file.path.strip_prefix(&prefix)?.to_owned();
        let bytes = file.bytes.clone();
        Some(ArchivedFile { path, bytes })
    };
    read_files(files.iter().filter_map(below).collect(), budget, depth)
}
