//! The manifest sets, parameters and Helm charts of an archive. They are read from the archive's files, and nothing is
//! rendered.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use ::charts::Chart;
use archive::ListedArchive;
use schemars::JsonSchema;
use schemas::{
    ChartRelease, Condition, ContentsEntry, ImagePlace, ObjectSet, OwnNamespace, Parameter,
    ParameterFormat, ParameterName, ParameterType, Phase, ReleaseName, SetName, Strategy, limits,
    yaml,
};
use serde::Serialize;
use serde_json::Value;

use crate::args::choose;
use crate::failure::{self, Failure};
use crate::render;

/// How many objects of each kind a set has.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InspectedSet")]
pub(crate) struct SetLine {
    /// The name of the set.
    name: SetName,
    /// How many objects it has of each kind.
    #[schemars(with = "BTreeMap<String, NonZeroUsize>")]
    objects: BTreeMap<String, usize>,
}

/// Returns the lines of the manifest sets.
pub(super) fn sets(
    archive: &Path,
    listed: &ListedArchive,
    sets: &[ObjectSet],
) -> Result<Vec<SetLine>, Failure> {
    let entries = below(listed);
    let size = entries
        .iter()
        .fold(0, |sum: u64, entry| sum.saturating_add(entry.size));
    let most = rules::limits::OBJECTS;
    if entries.len() > most || size > rules::limits::OBJECT_FILES {
        let what = "it has more objects than can be shown";
        return Err(failure::too_much(archive, what));
    }
    let mut counts: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    for ContentsEntry { path, .. } in entries {
        let set = path.as_str().split('/').nth(1).unwrap_or_default();
        let bytes = listed.read(path.as_str(), limits::YAML_SIZE);
        let bytes = bytes.map_err(|error| failure::reading(archive, error))?;
        let kinds = counts.entry(set).or_default();
        *kinds.entry(kind(&bytes)).or_default() += 1;
    }
    let line = |set: &ObjectSet| SetLine {
        name: set.name.clone(),
        objects: counts.remove(set.name.as_str()).unwrap_or_default(),
    };
    Ok(sets.iter().map(line).collect())
}

fn below(listed: &ListedArchive) -> Vec<&ContentsEntry> {
    let prefix = format!("{}/", archive::MANIFESTS);
    let entries = listed.contents().entries().iter();
    entries
        .filter(|entry| entry.path.as_str().starts_with(&prefix))
        .collect()
}

/// Returns the kind of an object; `?` if the document has none.
fn kind(bytes: &[u8]) -> String {
    let document: Option<Value> = yaml::from_slice(bytes).ok();
    let kind = document
        .as_ref()
        .map(|document| manifests::text(document, "/kind"));
    let kind = kind.filter(|kind| !kind.is_empty() && kind.len() <= 63);
    kind.unwrap_or("?").to_owned()
}

/// Shows a manifest set to people.
pub(super) fn show_sets(set: &ObjectSet, line: &SetLine) {
    let total = render::count(line.objects.values().sum(), "object");
    let kinds = line
        .objects
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"));
    let kinds: Vec<String> = kinds.collect();
    let colon = if kinds.is_empty() { "" } else { ": " };
    render::line!(
        "set         {}  {total}{colon}{}",
        set.name,
        kinds.join(", ")
    );
    show_place(&set.namespaces, set.when.as_ref());
    if !set.needs.is_empty() {
        render::line!("  needs     {}", render::list(&set.needs));
    }
    if set.strategy == Strategy::BootstrapOnly {
        render::line("  strategy  installed once, never upgraded");
    }
    if set.phase == Phase::Remove {
        render::line("  phase     applied before the Solution is removed");
    }
}

/// Shows the namespaces that a set or a release declares, and the condition under which it is deployed.
fn show_place(namespaces: &[OwnNamespace], when: Option<&Condition>) {
    for namespace in namespaces {
        let fixed = choose(namespace.fixed, " at every site", "");
        render::line!("  namespace {}{fixed}", namespace.name);
    }
    match when {
        Some(Condition::Parameter(name)) => render::line!("  when      parameter {name} is true"),
        Some(Condition::Api(api)) => render::line!("  when      the cluster serves {api}"),
        None => {}
    }
}

/// Shows a parameter to people.
pub(super) fn show_parameter(name: &ParameterName, parameter: &Parameter) {
    let kind = match parameter.kind {
        ParameterType::String => "string",
        ParameterType::Integer => "integer",
        ParameterType::Number => "number",
        ParameterType::Boolean => "boolean",
        ParameterType::Array => "array",
        ParameterType::Object => "object",
    };
    let format = parameter.format.map_or("", ParameterFormat::words);
    let comma = if format.is_empty() { "" } else { ", " };
    let value = match (&parameter.default, &parameter.generate) {
        (Some(_), _) if parameter.sensitive => "has a default".to_owned(),
        (Some(default), _) => format!("default {default}"),
        (None, Some(generate)) => format!("generated at the site, {} characters", generate.length),
        (None, None) => "required".to_owned(),
    };
    let sensitive = choose(parameter.sensitive, ", sensitive", "");
    let text = parameter.description.as_deref().unwrap_or_default();
    let line = format!("parameter   {name}  {kind}{comma}{format}{sensitive}, {value}  {text}");
    render::line(line.trim_end());
}

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

/// Returns the lines of the charts.
pub(super) fn charts(
    archive: &Path,
    listed: &ListedArchive,
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
            app_version: said(|chart| &chart.metadata.app_version).unwrap_or_default(),
            kube_version: said(|chart| &chart.metadata.kube_version).unwrap_or_default(),
            definition_files: chart.as_ref().map_or(0, |chart| chart.definitions),
        })
    };
    releases.iter().map(line).collect()
}

/// Shows a chart to people.
pub(super) fn show_charts(release: &ChartRelease, line: &ChartLine) {
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
    show_place(&release.namespaces, release.when.as_ref());
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
