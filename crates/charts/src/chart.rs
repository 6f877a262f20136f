//! A chart with its subcharts, read and validated from its archive. [`Chart::read`] is the entry point.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemas::{ChartName, ChartVersion, merge_values};
use serde_json::{Map, Value};

use crate::archive::{self, ArchivedFile, Budget};
use crate::artifact::ChartArtifact;
use crate::error::{ArchiveProblem, ChartError, ChartProblem};
use crate::metadata::ChartMetadata;
use crate::template_inputs::TemplateInputs;
use crate::values::{ValuesError, read_foreign, read_own_values};
use crate::{limits, schema, stored};

/// A chart that can be installed without any other file.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The content of the chart's `Chart.yaml`.
    pub metadata: ChartMetadata,
    /// The name of the chart.
    pub name: ChartName,
    /// The version of the chart.
    pub version: ChartVersion,
    /// The number of [`Self::definition_files`].
    pub definitions: usize,
    /// The inputs that the templates of the chart and its subcharts use besides their values.
    pub asks: TemplateInputs,
    /// True if a file of the chart or a subchart can be read only by Helm's own parsers. Such a chart requires
    /// `charts-1.1.0` instead of `charts-1.0.0` (docs/reference/format-charts.md).
    pub as_helm: bool,
    /// A remote reference in the schema of the chart's values or of a subchart's values. Helm would fetch it, and must
    /// therefore not validate values.
    pub remote_schema: Option<String>,
    values: Map<String, Value>,
    /// The values of the subcharts, each below its name.
    values_within: Map<String, Value>,
    /// The CRDs of the subcharts, with their paths in this chart.
    definitions_within: Vec<ArchivedFile>,
    files: Vec<ArchivedFile>,
}

/// A file of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartFile<'a> {
    /// The path in the chart. A file in a nested archive is below the path of that archive.
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
    /// Reads the archive of a chart, with all subcharts.
    ///
    /// # Errors
    ///
    /// Fails if the archive is unsafe, exceeds a limit of [`limits`], or is not an installable chart.
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

    /// Returns the artifact of the chart. `archive` is the archive that it was read from.
    #[must_use]
    pub fn artifact(&self, archive: &[u8]) -> ChartArtifact {
        ChartArtifact::new(&self.metadata, archive)
    }

    /// Returns the minimal number of bytes that Helm stores for a release with these values. Helm can store at most
    /// [`limits::RELEASE`].
    #[must_use]
    pub fn stored_size(&self, given: &Map<String, Value>) -> usize {
        self.release_size(given, "")
    }

    /// Returns the size of [`Self::stored_size`], including the rendered manifest.
    #[must_use]
    pub fn release_size(&self, given: &Map<String, Value>, manifest: &str) -> usize {
        let (metadata, files) = (&self.metadata, &self.files);
        stored::size(metadata, files, &self.values, given, manifest)
    }

    /// Returns the default values: those of the subcharts below their names, overridden by those of this chart.
    #[must_use]
    pub fn default_values(&self) -> Map<String, Value> {
        let mut values = self.values_within.clone();
        merge_values(&mut values, &self.values);
        values
    }

    /// Returns the text of the chart's `values.yaml` with its comments, or an empty text if it does not exist.
    #[must_use]
    pub fn values_text(&self) -> &str {
        self.text("values.yaml")
    }

    /// Returns the text of the schema of the chart's values, or an empty text if it does not exist.
    pub(crate) fn schema_text(&self) -> &str {
        self.text("values.schema.json")
    }

    /// Returns the texts of the chart's own templates.
    pub(crate) fn templates(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let templates = self.files.iter();
        let templates = templates.filter(|file| file.path.starts_with("templates/"));
        templates.map(|file| String::from_utf8_lossy(&file.bytes))
    }

    /// Returns the content of a file. Files in nested archives are not available.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let mut files = self.files.iter();
        let file = files.find(|file| file.path == path)?;
        Some(&file.bytes)
    }

    fn text(&self, path: &str) -> &str {
        // These files were parsed as YAML or JSON, which is UTF-8.
        let text = self.file(path).map(str::from_utf8);
        text.and_then(Result::ok).unwrap_or_default()
    }

    /// Returns the files that Helm installs as CRDs: those in `crds/`, followed by those of the
    /// subcharts, including subcharts that the values disable.
    pub fn definition_files(&self) -> impl Iterator<Item = ChartFile<'_>> {
        let own = self.files.iter().filter(|file| is_definition(&file.path));
        own.chain(&self.definitions_within).map(ChartFile::from)
    }

    /// Returns the default values and CRDs, which are all that a parent chart keeps of a subchart
    /// at this path.
    fn into_kept(mut self, path: &str) -> (Map<String, Value>, impl Iterator<Item = ArchivedFile>) {
        merge_values(&mut self.values_within, &self.values);
        let own = self
            .files
            .into_iter()
            .filter(|file| is_definition(&file.path));
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
    let schema = find("values.schema.json")
        .map(|file| schema::check(&file.bytes))
        .transpose()?;
    as_helm |= schema.as_ref().is_some_and(|schema| schema.as_helm);
    let mut remote_schema = schema.and_then(|schema| schema.value);
    let mut present = BTreeSet::new();
    let mut values_within = Map::new();
    let mut definitions_within = Vec::new();
    let own = files.iter().filter(|file| is_rendered(&file.path));
    let mut asks = own.fold(TemplateInputs::default(), |asks, file| {
        asks | TemplateInputs::from_template(&file.bytes)
    });
    for (name, files) in group_by_first_component(&files) {
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
        let below = alias(&metadata, &name).unwrap_or(&name).clone();
        let (values, definitions) = chart.into_kept(&path);
        values_within.insert(below, values.into());
        definitions_within.extend(definitions);
        present.insert(name);
    }
    let mut needed = metadata.dependencies.iter();
    if let Some(missing) = needed.find(|dependency| !present.contains(&dependency.name)) {
        return Err(ChartProblem::Dependency(missing.name.clone()).into());
    }
    let own = files.iter().filter(|file| is_definition(&file.path));
    let mut read = own.clone().map(|file| read_foreign(&file.bytes));
    // Files that cannot be read at all are reported by the rules for CRDs.
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

/// Returns the alias of a dependency, if it has one. Only the first of multiple aliases is used. With all aliases, nested
/// charts could multiply exponentially.
fn alias<'m>(metadata: &'m ChartMetadata, name: &str) -> Option<&'m String> {
    let mut dependencies = metadata.dependencies.iter();
    let dependency = dependencies.find(|dependency| dependency.name == name)?;
    Some(&dependency.alias).filter(|alias| !alias.is_empty())
}

/// Checks whether Helm installs a file as CRDs (Helm's `pkg/chart/v2/chart.go`).
fn is_definition(path: &str) -> bool {
    let end = path.rsplit_once('.').map_or("", |(_, end)| end);
    let ends = ["yaml", "yml", "json"];
    path.starts_with("crds/")
        && ends
            .iter()
            .any(|extension| extension.eq_ignore_ascii_case(end))
}

/// Checks whether a file is a template, or contains text that templates may render with `tpl`.
fn is_rendered(path: &str) -> bool {
    path.starts_with("templates/") || path == "values.yaml"
}

/// Returns the files in `charts/`, grouped by the first element of their paths. As in Helm, names that begin with `_`
/// or `.` and provenance files are not charts.
fn group_by_first_component(files: &[ArchivedFile]) -> BTreeMap<&str, Vec<&ArchivedFile>> {
    let mut charts: BTreeMap<&str, Vec<&ArchivedFile>> = BTreeMap::new();
    for file in files {
        let Some(below) = file.path.strip_prefix("charts/") else {
            continue;
        };
        let name = below.split('/').next().unwrap_or(below);
        let ends_as = |end: &str| {
            let last = file.path.rsplit('/').next().unwrap_or_default();
            last.rsplit_once('.')
                .is_some_and(|(_, extension)| extension == end)
        };
        if !name.starts_with(['_', '.']) && !ends_as("prov") {
            charts.entry(name).or_default().push(file);
        }
    }
    charts
}

/// Reads a subchart in `charts/`, which is an archive or a directory.
fn read_inner(
    name: &str,
    files: &[&ArchivedFile],
    budget: &mut Budget,
    depth: usize,
) -> Result<Chart, ChartError> {
    let prefix = format!("charts/{name}/");
    if name
        .rsplit_once('.')
        .is_some_and(|(_, extension)| extension == "tgz")
    {
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
