//! The operator's container: command, arguments and variables as `spec.operator` has them, and every field of the
//! release's Deployment that has no place there.

use std::collections::{BTreeMap, BTreeSet};

use schemas::{EnvVar, ImageReference, OperatorTemplate, SecurityContext};
use serde_json::Value;

use crate::error::ReleaseError;
use crate::fields;
use crate::images::{DraftImages, FoundImages};
use crate::limits;
use crate::naming;
use crate::notes::{Note, Weight};
use crate::template;
use manifests::reference::Hint;
use manifests::{ManifestsError, Object, list, shown, text};

/// What an import tells every operator about where it runs.
const NAMESPACE: &str = "POD_NAMESPACE";
const NAME: &str = "POD_NAME";
const WATCH: &str = "WATCH_NAMESPACE";
/// What OLM writes on its pods.
const OLM_TARGETS: &str = "metadata.annotations['olm.targetNamespaces']";

/// An argument or a variable.
#[derive(Debug)]
struct Text {
    /// That of the variable, or of the flag that the argument has or is the value of; empty if there is none.
    name: String,
    value: String,
}

impl Text {
    fn new(name: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    /// What the name says about the value.
    fn hint(&self) -> Hint {
        Hint::of(&self.name)
    }
}

/// What runs in the operator's container.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) image: String,
    command: Vec<Text>,
    args: Vec<Text>,
    env: Vec<Text>,
    pub(crate) security: SecurityContext,
    /// What else the release says of its pods.
    pub(crate) template: Option<OperatorTemplate>,
    /// Whether the operator is told to watch one namespace only.
    pub(crate) watches_own: bool,
    /// Whether the release has a word on `WATCH_NAMESPACE`.
    pub(crate) says_what_to_watch: bool,
    pub(crate) notes: Vec<Note>,
}

/// How many the pod has of what it has most of.
fn most(pod: &Value) -> usize {
    let all = std::iter::once(pod).chain(list(pod, "/containers"));
    let fields = all.filter_map(Value::as_object).flatten();
    let lists = fields.filter_map(|(_, value)| value.as_array());
    lists.map(Vec::len).max().unwrap_or_default()
}

/// Reads the container of a workload.
pub(crate) fn read(
    workload: &Object<'_>,
    objects: &[Object<'_>],
    own_allowed: bool,
) -> Result<Container, ReleaseError> {
    let none = || ReleaseError::NoContainer {
        place: workload.place.clone(),
        workload: workload.title(),
    };
    let pod = workload
        .value
        .pointer("/spec/template/spec")
        .ok_or_else(none)?;
    let what = "arguments, variables or volumes of one operator";
    ManifestsError::check(&workload.place, most(pod), limits::RELEASE_FIELDS, what)?;
    let container = choose(&workload.value, pod).ok_or_else(none)?;
    let image = text(container, "/image");
    if image.is_empty() {
        return Err(none());
    }
    if image.parse::<ImageReference>().is_err() {
        return Err(ReleaseError::Workload {
            place: workload.place.clone(),
            what: format!(
                "{} has `{}` for an image, which is not a valid reference; write one",
                workload.title(),
                shown(image)
            ),
        });
    }
    let mut config_maps: BTreeMap<&str, Vec<&Object<'_>>> = BTreeMap::new();
    for map in objects.iter().filter(|it| it.kind() == "ConfigMap") {
        config_maps.entry(map.name()).or_default().push(map);
    }
    let mut reading = Reading {
        config_maps,
        namespace: workload.namespace(),
        own_allowed,
        watches_own: false,
        carried: Vec::new(),
        notes: Vec::new(),
    };
    let env = reading.environment(container);
    let command = texts(list(container, "/command"));
    let args = texts(list(container, "/args"));
    reading.watches_own |= args.iter().any(|arg| names_watched(&arg.value));
    let security = fields::security(pod, container, &mut reading.notes);
    fields::unfit(&workload.value, pod, container, &mut reading.notes);
    Ok(Container {
        image: image.to_owned(),
        command,
        args,
        env,
        security,
        template: template::template(&workload.value, pod, container, reading.carried),
        watches_own: reading.watches_own,
        says_what_to_watch: list(container, "/env")
            .iter()
            .any(|variable| text(variable, "/name") == WATCH),
        notes: reading.notes,
    })
}

/// The container that is the operator, as kubectl would choose it: the one that the annotation names, the one that
/// builders of operators call `manager`, else the first.
pub(crate) fn choose<'a>(workload: &Value, pod: &'a Value) -> Option<&'a Value> {
    let containers = list(pod, "/containers");
    let wished = workload
        .pointer("/spec/template/metadata/annotations")
        .and_then(|annotations| annotations.get("kubectl.kubernetes.io/default-container"))
        .and_then(Value::as_str);
    let called = |name: &str| {
        containers
            .iter()
            .find(|container| text(container, "/name") == name)
    };
    wished
        .and_then(called)
        .or_else(|| called("manager"))
        .or_else(|| containers.first())
}

fn texts(values: &[Value]) -> Vec<Text> {
    let mut before = "";
    let mut texts = Vec::new();
    for value in values.iter().filter_map(Value::as_str) {
        let flag = value.starts_with('-');
        let name = match value.split_once('=') {
            Some((name, _)) if flag => name,
            _ if before.starts_with('-') && !before.contains('=') => before,
            _ => "",
        };
        texts.push(Text::new(name, value));
        before = value;
    }
    texts
}

fn names_watched(arg: &str) -> bool {
    let flag = arg.trim_start_matches('-').split_once('=');
    flag.is_some_and(|(flag, value)| {
        flag.contains("watch-namespace") && !value.trim_matches(['"', '\'']).is_empty()
    })
}

struct Reading<'a> {
    /// The release's ConfigMaps by name.
    config_maps: BTreeMap<&'a str, Vec<&'a Object<'a>>>,
    namespace: &'a str,
    /// Whether the release allows its operator to watch only the namespace that it runs in.
    own_allowed: bool,
    watches_own: bool,
    /// Variables that stand in the template.
    carried: Vec<Value>,
    notes: Vec<Note>,
}

/// A variable: its name, its value if it has one, and what it is where only its pod knows that.
type Variable<'a> = (String, Option<String>, Option<&'a Value>);

/// What becomes of a variable.
enum Fate {
    /// It has this value.
    Value(String),
    /// An import sets it.
    Given,
    /// Only its pod knows it.
    Carried,
    /// It cannot be had.
    Lost(Weight, String),
}

impl Reading<'_> {
    /// The variables with a value; of several of one name the last counts.
    fn environment(&mut self, container: &Value) -> Vec<Text> {
        let mut variables: Vec<Variable<'_>> = Vec::new();
        self.whole_maps(container, &mut variables);
        for variable in list(container, "/env") {
            let name = text(variable, "/name");
            if name.contains(WATCH) {
                self.note_watching(variable);
            }
            let (value, pod) = match self.fate(name, variable) {
                Fate::Value(value) => (Some(value), None),
                Fate::Given => (None, None),
                Fate::Carried => (None, Some(variable)),
                Fate::Lost(weight, why) => {
                    let about = format!("variable `{}`", shown(name));
                    self.notes.push(Note::new(weight, about, why));
                    (None, None)
                }
            };
            variables.push((name.to_owned(), value, pod));
        }
        let mut known = BTreeSet::new();
        variables.reverse();
        variables.retain(|(name, ..)| known.insert(name.clone()));
        variables.reverse();
        let carried = variables.iter().filter_map(|(_, _, pod)| *pod);
        self.carried = carried.cloned().collect();
        let plain = variables.into_iter();
        plain
            .filter_map(|(name, value, _)| {
                Some(Text {
                    name,
                    value: value?,
                })
            })
            .collect()
    }

    fn note_watching(&mut self, variable: &Value) {
        let value = text(variable, "/value");
        let field = text(variable, "/valueFrom/fieldRef/fieldPath");
        self.watches_own |= field == "metadata.namespace"
            || (field == OLM_TARGETS && self.own_allowed)
            || !value.is_empty();
    }

    /// `envFrom`: all values of a ConfigMap that the release brings.
    fn whole_maps(&mut self, container: &Value, variables: &mut Vec<Variable<'_>>) {
        for source in list(container, "/envFrom") {
            let prefix = text(source, "/prefix");
            let map = self.config_map(text(source, "/configMapRef/name"));
            let data = map
                .and_then(|map| map.value.get("data"))
                .and_then(Value::as_object)
                .filter(|data| variables.len() + data.len() <= limits::RELEASE_FIELDS);
            let Some(data) = data else {
                let what = "takes variables from a ConfigMap or Secret that the release does not bring, or too many; write those that are needed into spec.operator.env";
                self.notes
                    .push(Note::new(Weight::Decide, "field `envFrom`", what));
                continue;
            };
            for (key, value) in data
                .iter()
                .filter_map(|(key, value)| Some((key, value.as_str()?)))
            {
                variables.push((format!("{prefix}{key}"), Some(value.to_owned()), None));
            }
        }
    }

    fn config_map(&self, name: &str) -> Option<&Object<'_>> {
        let mut named = self.config_maps.get(name)?.iter();
        let here = |map: &&&Object<'_>| {
            let namespace = map.namespace();
            namespace == self.namespace || namespace.is_empty() || self.namespace.is_empty()
        };
        named.find(here).copied()
    }

    fn fate(&self, name: &str, variable: &Value) -> Fate {
        let Some(source) = variable.get("valueFrom").filter(|source| !source.is_null()) else {
            return match variable.get("value") {
                None | Some(Value::Null) => Fate::Value(String::new()),
                Some(Value::String(value)) => Fate::Value(value.clone()),
                Some(_) => Fate::Lost(
                    Weight::Decide,
                    "has a value that is not a string; write it into spec.operator.env in quotes"
                        .to_owned(),
                ),
            };
        };
        if let Some(field) = source
            .pointer("/fieldRef/fieldPath")
            .and_then(Value::as_str)
        {
            return self.field(name, field);
        }
        if source.get("resourceFieldRef").is_some() {
            return Fate::Carried;
        }
        if source.get("configMapKeyRef").is_some() {
            let map = self.config_map(text(source, "/configMapKeyRef/name"));
            let data = map.and_then(|map| map.value.get("data"));
            let value = data.and_then(|data| data.get(text(source, "/configMapKeyRef/key")));
            if let Some(value) = value.and_then(Value::as_str) {
                return Fate::Value(value.to_owned());
            }
        }
        let from = source.as_object().and_then(|source| source.keys().next());
        let from = shown(from.map_or("nothing", String::as_str));
        Fate::Lost(
            Weight::Decide,
            format!(
                "comes from `{from}`, and no site has that; write a plain value into spec.operator.env, or the variable into spec.operator.template and say where its source comes from"
            ),
        )
    }

    fn field(&self, name: &str, field: &str) -> Fate {
        let given = |standard: &str| {
            if name == standard {
                Fate::Given
            } else {
                Fate::Value(format!("$({standard})"))
            }
        };
        match field {
            "metadata.namespace" if name == WATCH => Fate::Given,
            "metadata.namespace" => given(NAMESPACE),
            "metadata.name" => given(NAME),
            OLM_TARGETS if self.own_allowed && name == WATCH => Fate::Given,
            OLM_TARGETS if self.own_allowed => given(NAMESPACE),
            OLM_TARGETS => Fate::Value(String::new()),
            _ => Fate::Carried,
        }
    }
}

impl Container {
    /// Finds the images that the operator's texts name.
    pub(crate) fn scan(&self, images: &mut FoundImages, title: &str) {
        images.scan(&self.image, Hint::Image, &format!("{title}, its container"));
        for text in self.command.iter().chain(&self.args) {
            let flag = text.value.split('=').next().unwrap_or_default();
            let asker = format!("{title}, argument `{}`", shown(flag));
            images.scan(&text.value, text.hint(), &asker);
        }
        for text in &self.env {
            let asker = format!("{title}, variable `{}`", shown(&text.name));
            images.scan(&text.value, text.hint(), &asker);
        }
    }

    /// The command, if the release has one.
    pub(crate) fn command(&self, images: &DraftImages) -> Vec<String> {
        expanded(&self.command, images)
    }

    pub(crate) fn args(&self, images: &DraftImages) -> Vec<String> {
        expanded(&self.args, images)
    }

    pub(crate) fn env(&self, images: &DraftImages) -> Vec<EnvVar> {
        let variable = |text: &Text| EnvVar {
            name: text.name.clone(),
            value: images.expandable(&text.value, text.hint()),
        };
        self.env.iter().map(variable).collect()
    }

    /// Says which arguments and variables name one of these namespaces, which the site will call otherwise.
    pub(crate) fn note_namespaces(&self, namespaces: &BTreeSet<&str>, notes: &mut Vec<Note>) {
        let texts = self.command.iter().chain(&self.args);
        let arguments = texts.map(|text| ("argument", &text.value, text));
        let variables = self.env.iter();
        let variables = variables.map(|text| ("variable", &text.name, text));
        for (what, about, text) in arguments.chain(variables) {
            let Some(namespace) = naming::namespace(&text.name, &text.value, namespaces) else {
                continue;
            };
            let about = format!("{what} `{}`", shown(about));
            notes.push(Note::new(Weight::Decide, about, format!("holds `{}`, a namespace of the release; the operator will run in another, so write `$({NAMESPACE})` where its own is meant", shown(namespace))));
        }
    }
}

fn expanded(texts: &[Text], images: &DraftImages) -> Vec<String> {
    let expand = |text: &Text| images.expandable(&text.value, text.hint());
    texts.iter().map(expand).collect()
}
