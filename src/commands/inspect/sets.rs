//! The sets of objects of an archive, and the parameters, as far as they can be shown.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;

use archive::Listed;
use schemars::JsonSchema;
use schemas::{
    Condition, ContentsEntry, ObjectSet, OwnNamespace, Parameter, ParameterFormat, ParameterName,
    ParameterType, Phase, SetName, Strategy, limits, yaml,
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

/// The lines of the sets.
pub(super) fn sets(
    archive: &Path,
    listed: &Listed,
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

fn below(listed: &Listed) -> Vec<&ContentsEntry> {
    let prefix = format!("{}/", archive::MANIFESTS);
    let entries = listed.contents().entries().iter();
    entries
        .filter(|entry| entry.path.as_str().starts_with(&prefix))
        .collect()
}

/// The kind of an object; `?` of what is none.
fn kind(bytes: &[u8]) -> String {
    let document: Option<Value> = yaml::from_slice(bytes).ok();
    let kind = document.as_ref().map(|it| manifests::text(it, "/kind"));
    let kind = kind.filter(|kind| !kind.is_empty() && kind.len() <= 63);
    kind.unwrap_or("?").to_owned()
}

/// A set, for people.
pub(super) fn show(set: &ObjectSet, line: &SetLine) {
    let total = render::count(line.objects.values().sum(), "object");
    let kinds = line
        .objects
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"));
    let kinds: Vec<String> = kinds.collect();
    let colon = choose(kinds.is_empty(), "", ": ");
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

/// The namespaces that a set or a release calls its own, and on what it depends, for people.
pub(super) fn show_place(namespaces: &[OwnNamespace], when: Option<&Condition>) {
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

/// A parameter, for people.
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
    let format = choose(format.is_empty(), "", ", ").to_owned() + format;
    let value = match (&parameter.default, &parameter.generate) {
        (Some(_), _) if parameter.sensitive => "has a default".to_owned(),
        (Some(default), _) => format!("default {default}"),
        (None, Some(generate)) => format!("generated at the site, {} characters", generate.length),
        (None, None) => "required".to_owned(),
    };
    let sensitive = choose(parameter.sensitive, ", sensitive", "");
    let text = parameter.description.as_deref().unwrap_or_default();
    let line = format!("parameter   {name}  {kind}{format}{sensitive}, {value}  {text}");
    render::line(line.trim_end());
}
