//! One release of a helmfile.

use std::path::PathBuf;

use manifests::shown;
use schemas::{Namespace, ReleaseName, SetName, Timeout};
use serde_json::{Map, Value};

use super::TEMPLATE;
use super::chart::{self, ListedChart, Repositories};
use super::error::{HelmfileError, HelmfilePlace, HelmfileProblem};
use super::fields::Fields;
use crate::limits;
use crate::notes::{Note, Weight};

/// A release that is to be carried.
#[derive(Clone, Debug)]
pub struct ListedRelease {
    /// Its name.
    pub name: ReleaseName,
    /// Where its chart is.
    pub chart: ListedChart,
    /// Its values, an earlier one before those that go before it.
    pub values: Vec<ListedValues>,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) needs: Vec<SetName>,
    pub(crate) timeout: Option<Timeout>,
}

/// Values of a release.
#[derive(Clone, Debug)]
pub enum ListedValues {
    /// A file, from the helmfile's directory.
    File(PathBuf),
    /// They stand in the helmfile.
    Inline(Map<String, Value>),
}

/// What a helmfile says for all releases.
pub(super) struct Around<'a> {
    pub(super) repositories: Repositories<'a>,
    pub(super) defaults: Defaults,
    /// The values that all templates were expanded with, if they were.
    pub(super) rendered: Option<&'a Value>,
}

/// How Helm installs.
#[derive(Default)]
pub(super) struct Defaults {
    create_namespace: Option<bool>,
    /// Seconds.
    timeout: Option<u64>,
    wait: Option<bool>,
}

const HOW: [&str; 3] = ["createNamespace", "timeout", "wait"];

const READ: [&str; 12] = [
    "chart",
    "condition",
    "createNamespace",
    "installed",
    "labels",
    "name",
    "namespace",
    "needs",
    "timeout",
    "values",
    "version",
    "wait",
];

impl Defaults {
    fn of(fields: &Fields<'_>) -> Result<Self, HelmfileError> {
        Ok(Self {
            create_namespace: fields.boolean("createNamespace")?,
            timeout: fields.whole_number("timeout")?,
            wait: fields.boolean("wait")?,
        })
    }

    /// What holds for a release that says this itself.
    fn below(&self, own: &Self) -> Self {
        Self {
            create_namespace: own.create_namespace.or(self.create_namespace),
            // Helmfile takes 0 for Helm's own.
            timeout: own.timeout.or(self.timeout).filter(|it| *it != 0),
            wait: own.wait.or(self.wait),
        }
    }

    /// What of it is otherwise where a Solution is deployed.
    fn notes(&self, name: &str, notes: &mut Vec<Note>) {
        let others = [
            (
                self.create_namespace,
                "`createNamespace: false`: its namespace is made if it is not there",
            ),
            (
                self.wait,
                "`wait: false`: whatever needs a release comes when that is ready",
            ),
        ];
        let others = others.into_iter().filter(|(said, _)| *said == Some(false));
        notes.extend(others.map(|(_, text)| Note::new(Weight::Lost, name, text)));
    }
}

/// What holds for all releases. `helmfile build` writes out every switch that is off.
pub(super) fn defaults(file: &Fields<'_>) -> Result<Defaults, HelmfileError> {
    let Some(value) = file.get("helmDefaults") else {
        return Ok(Defaults::default());
    };
    let place = file.place.defaults();
    let fields = Fields::of(&place, value)?;
    let off: Vec<&str> = fields.off().collect();
    fields.only(&HOW, &off)?;
    fields.no_template(None)?;
    Defaults::of(&fields)
}

/// What becomes of a release.
pub(super) enum Listed {
    Carried(Box<ListedRelease>),
    /// One of this name is not installed.
    LeftOut(String),
}

/// Reads a release.
pub(super) fn read(
    file: &HelmfilePlace,
    number: usize,
    value: &Value,
    around: &Around<'_>,
    notes: &mut Vec<Note>,
) -> Result<Listed, HelmfileError> {
    let place = match value.get("name").and_then(Value::as_str) {
        Some(name) => file.release(name),
        None => file.release_number(number),
    };
    let fields = Fields::of(&place, value)?;
    let name = fields.text("name")?;
    let name = name.ok_or_else(|| fields.problem(HelmfileProblem::Missing("name")))?;
    // What is not installed may be written in any way.
    if let Some(why) = why_not(&fields, around.rendered)? {
        notes.push(Note::new(Weight::Lost, shown(name), why));
        return Ok(Listed::LeftOut(name.to_owned()));
    }
    fields.only(&READ, &[])?;
    // What `helmfile build` leaves of a template in values is text for the chart.
    fields.no_template(around.rendered.map(|_| "values"))?;
    let how = around.defaults.below(&Defaults::of(&fields)?);
    how.notes(name, notes);
    let name: ReleaseName = fields.name("name", name)?;
    let namespace = fields.text("namespace")?;
    let namespace = namespace.map(|text| fields.name("namespace", text));
    let timeout = how
        .timeout
        .map(|it| fields.name("timeout", &format!("{it}s")));
    Ok(Listed::Carried(Box::new(ListedRelease {
        name,
        chart: chart::chart(&fields, &around.repositories)?,
        values: values(&fields)?,
        namespace: namespace.transpose()?,
        needs: needs(&fields)?,
        timeout: timeout.transpose()?,
    })))
}

/// Why a release is not installed.
fn why_not(
    release: &Fields<'_>,
    rendered: Option<&Value>,
) -> Result<Option<String>, HelmfileError> {
    if release.boolean("installed")? == Some(false) {
        return Ok(Some("`installed: false`".to_owned()));
    }
    let Some(condition) = release.text("condition")? else {
        return Ok(None);
    };
    let undecided = || release.problem(HelmfileProblem::Condition(shown(condition)));
    let holds = holds(condition, rendered).ok_or_else(undecided)?;
    Ok((!holds).then(|| format!("`condition: {}` does not hold", shown(condition))))
}

/// Whether a condition holds, by Helmfile's rule for these values; none if it cannot be told.
fn holds(condition: &str, rendered: Option<&Value>) -> Option<bool> {
    let (path, "enabled") = condition.rsplit_once('.')? else {
        return None;
    };
    let mut keys = path.split('.');
    let part = keys.try_fold(rendered?, |value, key| value.get(key))?;
    let enabled = part.as_object()?.get("enabled");
    Some(enabled.and_then(Value::as_bool) == Some(true))
}

fn values(release: &Fields<'_>) -> Result<Vec<ListedValues>, HelmfileError> {
    let listed = release.list("values", limits::HELMFILE_VALUES)?;
    let one = |value: &Value| match value {
        Value::Object(_) if has_reference(&value.to_string()) => {
            Err(release.problem(HelmfileProblem::Secret))
        }
        Value::Object(values) => Ok(ListedValues::Inline(values.clone())),
        Value::String(file) if file.ends_with(TEMPLATE) => {
            Err(release.problem(HelmfileProblem::ValuesTemplate(shown(file))))
        }
        // Helmfile fetches `SCHEME://` and `git::`.
        Value::String(file) if file.contains([':', '*', '?', '[']) || file.is_empty() => {
            Err(release.problem(HelmfileProblem::ValuesElsewhere(shown(file))))
        }
        Value::String(file) => Ok(ListedValues::File(file.into())),
        _ => Err(release.problem(HelmfileProblem::Form {
            field: "values",
            expected: "a list of files and mappings",
        })),
    };
    listed.iter().map(one).collect()
}

/// The names of the releases that are there before, without the contexts and namespaces that Helmfile looks for them in.
fn needs(release: &Fields<'_>) -> Result<Vec<SetName>, HelmfileError> {
    let mut needs = Vec::new();
    for value in release.list("needs", limits::HELMFILE_RELEASES)? {
        let text = value.as_str().ok_or_else(|| {
            let (field, expected) = ("needs", "a list of releases");
            release.problem(HelmfileProblem::Form { field, expected })
        })?;
        let name = text.rsplit('/').next().unwrap_or_default();
        let name: SetName = release.name("needs", name)?;
        if !needs.contains(&name) {
            needs.push(name);
        }
    }
    Ok(needs)
}

/// Whether values refer to a store, as `ref+STORE://PATH`, from which Helmfile takes what stands there.
pub(super) fn has_reference(text: &str) -> bool {
    text.match_indices("ref+").any(|(start, reference)| {
        let rest = &text[start + reference.len()..];
        let store = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        store.len() < rest.len() && store.starts_with("://")
    })
}
