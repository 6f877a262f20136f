//! `Chart.yaml`: what a chart says of itself, with Helm's own rules (its `pkg/chart/v2/metadata.go`).

use std::collections::BTreeMap;

use schemas::{ChartName, ChartVersion, is_unprintable, yaml};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::ChartProblem;
use crate::limits;
use crate::values::AsRead;

/// The fields of `Chart.yaml`. Serialised, they are the configuration of the artifact that `helm push` makes: the order
/// of fields is Helm's, and what is empty is left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartMetadata {
    /// The chart's name.
    #[serde(deserialize_with = "scalar")]
    pub name: String,
    /// The page of the project.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// The addresses of its source.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The chart's version.
    #[serde(deserialize_with = "scalar")]
    pub version: String,
    /// The description of the chart, in a sentence.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The maintainers.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Maintainer>,
    /// The address of a picture.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// `v1` or `v2`.
    #[serde(deserialize_with = "scalar")]
    pub api_version: String,
    /// Not used by charts of their own.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Not used by charts of their own.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of what it installs.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Whether the chart's authors advise against it.
    #[serde(
        deserialize_with = "or_empty",
        skip_serializing_if = "schemas::is_default"
    )]
    pub deprecated: bool,
    /// Notes that other programs read.
    #[serde(deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The versions of Kubernetes that it is for.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The charts that it needs.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// `application` or `library`; empty for the first.
    #[serde(
        rename = "type",
        deserialize_with = "scalar",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
}

/// Somebody who maintains a chart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Maintainer {
    /// The name.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The address of mail.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// A page.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A chart that another needs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Dependency {
    /// The chart's name.
    #[serde(deserialize_with = "scalar")]
    pub name: String,
    /// The versions of it that are meant.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The repository that it was taken from.
    #[serde(deserialize_with = "scalar")]
    pub repository: String,
    /// The value that turns it on.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// The tags that turn it on.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Not read from `Chart.yaml` by anybody who writes it.
    #[serde(
        deserialize_with = "or_empty",
        skip_serializing_if = "schemas::is_default"
    )]
    pub enabled: bool,
    /// The values of it that the other takes.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub import_values: Vec<Value>,
    /// Another name for it.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// A text, or a number or truth value that stands for one, as Go's reader of YAML makes one of it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Bool(bool),
    Integer(i64),
    Float(f64),
}

impl Scalar {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Bool(value) => value.to_string(),
            Self::Integer(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
        }
    }
}

fn scalar<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let scalar = Option::<Scalar>::deserialize(deserializer)?;
    Ok(scalar.map(Scalar::into_text).unwrap_or_default())
}

fn scalars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let scalars = Option::<Vec<Scalar>>::deserialize(deserializer)?;
    let scalars = scalars.unwrap_or_default().into_iter();
    Ok(scalars.map(Scalar::into_text).collect())
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let texts = Option::<BTreeMap<String, Option<Scalar>>>::deserialize(deserializer)?;
    let texts = texts.unwrap_or_default().into_iter();
    let text = |scalar: Option<Scalar>| scalar.map(Scalar::into_text).unwrap_or_default();
    Ok(texts.map(|(key, scalar)| (key, text(scalar))).collect())
}

/// Nothing is as good as leaving the field out.
fn or_empty<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Every field of [`ChartMetadata`], [`Maintainer`] and [`Dependency`], in small letters: Go's readers know them however
/// they are spelt.
const FIELDS: [&str; 24] = [
    "alias",
    "annotations",
    "apiversion",
    "appversion",
    "condition",
    "dependencies",
    "deprecated",
    "description",
    "email",
    "enabled",
    "home",
    "icon",
    "import-values",
    "keywords",
    "kubeversion",
    "maintainers",
    "name",
    "repository",
    "sources",
    "tags",
    "type",
    "url",
    "values",
    "version",
];

/// The spellings of those that are not all small.
const SPELT: [&str; 3] = ["apiVersion", "appVersion", "kubeVersion"];

/// A field that Go's readers take for another.
fn misspelt(value: &Value) -> Option<&str> {
    let of_list = |key: &str| value.get(key).and_then(Value::as_array);
    let lists = ["maintainers", "dependencies"]
        .into_iter()
        .filter_map(of_list);
    let objects = lists.flatten().chain([value]).filter_map(Value::as_object);
    let mut keys = objects.flat_map(|object| object.keys());
    let wrong = |key: &&String| {
        let small = key.to_lowercase();
        FIELDS.contains(&small.as_str()) && small != **key && !SPELT.contains(&key.as_str())
    };
    keys.find(wrong).map(String::as_str)
}

fn read_value(name: &'static str, bytes: &[u8]) -> Result<AsRead<Value>, ChartProblem> {
    if bytes.len() > limits::METADATA {
        let (size, most) = (bytes.len(), limits::METADATA);
        let words = format!("{name} has {size} bytes; at most {most} are read");
        return Err(ChartProblem::Budget(words));
    }
    let unreadable = |error| ChartProblem::Yaml(name, error);
    let (value, as_helm) = match yaml::from_slice::<Value>(bytes) {
        Ok(value) => (value, false),
        Err(_) => (yaml::go::from_slice(bytes).map_err(unreadable)?, true),
    };
    match misspelt(&value) {
        None => Ok(AsRead { value, as_helm }),
        Some(key) => Err(ChartProblem::Metadata(format!(
            "{name} has the field `{key}`, which some tools read as a different field"
        ))),
    }
}

impl ChartMetadata {
    /// Reads `Chart.yaml`, as Helm does where it looks at a chart.
    pub(crate) fn read(bytes: &[u8]) -> Result<AsRead<Self>, ChartProblem> {
        let AsRead { value, as_helm } = read_value("Chart.yaml", bytes)?;
        let metadata: Self = serde_json::from_value(value)
            .map_err(|error| ChartProblem::Metadata(format!("Chart.yaml: {error}")))?;
        let metadata = metadata.tidy();
        metadata.check()?;
        let value = metadata;
        Ok(AsRead { value, as_helm })
    }

    /// Adds the dependencies that charts of `v1` have in a file of their own; says whether only Helm reads it.
    pub(crate) fn require(&mut self, bytes: &[u8]) -> Result<bool, ChartProblem> {
        const FILE: &str = "requirements.yaml";
        let wrong = |words: String| ChartProblem::Metadata(format!("{FILE} {words}"));
        if self.api_version != "v1" {
            return Err(wrong("is only read with `apiVersion: v1`".to_owned()));
        }
        let AsRead { value, as_helm } = read_value(FILE, bytes)?;
        let mut value = match value {
            Value::Object(fields) => fields,
            Value::Null => return Ok(as_helm),
            _ => return Err(wrong("is not a mapping".to_owned())),
        };
        let dependencies = value.remove("dependencies").unwrap_or_default();
        if let Some(field) = value.keys().next() {
            return Err(wrong(format!("has the field `{field}`")));
        }
        let dependencies: Option<Vec<Dependency>> =
            serde_json::from_value(dependencies).map_err(|error| wrong(format!(": {error}")))?;
        self.dependencies = dependencies.unwrap_or_default();
        *self = std::mem::take(self).tidy();
        self.check()?;
        Ok(as_helm)
    }

    /// Makes of texts what Helm makes of them before it shows or stores them.
    fn tidy(mut self) -> Self {
        let texts = [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ];
        let lists = self.sources.iter_mut().chain(&mut self.keywords);
        let people = self.maintainers.iter_mut();
        let people = people.flat_map(|it| [&mut it.name, &mut it.email, &mut it.url]);
        texts.into_iter().chain(lists).chain(people).for_each(tidy);
        for dependency in &mut self.dependencies {
            tidy(&mut dependency.name);
            tidy(&mut dependency.version);
            tidy(&mut dependency.repository);
            tidy(&mut dependency.condition);
            dependency.tags.iter_mut().for_each(tidy);
        }
        self
    }

    fn check(&self) -> Result<(), ChartProblem> {
        let wrong = |words: String| Err(ChartProblem::Metadata(format!("Chart.yaml: {words}")));
        if !matches!(self.api_version.as_str(), "v1" | "v2") {
            return wrong(format!(
                "apiVersion is `{}`, not v1 or v2",
                self.api_version
            ));
        }
        if !matches!(self.kind.as_str(), "" | "application" | "library") {
            return wrong(format!("type is `{}`", self.kind));
        }
        if self.dependencies.len() > limits::DEPENDENCIES {
            let (count, most) = (self.dependencies.len(), limits::DEPENDENCIES);
            return wrong(format!("has {count} dependencies; at most {most} are read"));
        }
        if self.dependencies.iter().any(|it| it.name.is_empty()) {
            return wrong("a dependency has no name".to_owned());
        }
        self.chart_version()?;
        self.chart_name().map(drop)
    }

    /// The name, as registries can have it.
    pub(crate) fn chart_name(&self) -> Result<ChartName, ChartProblem> {
        self.name.parse().map_err(ChartProblem::Name)
    }

    /// The version, as registries can have it.
    pub(crate) fn chart_version(&self) -> Result<ChartVersion, ChartProblem> {
        self.version.parse().map_err(ChartProblem::Name)
    }
}

/// Spaces for white space, and nothing for what is not seen.
fn tidy(text: &mut String) {
    let plain = |c: char| match c {
        c if c.is_whitespace() => Some(' '),
        c if is_unprintable(c) => None,
        c => Some(c),
    };
    if text.contains(|c| plain(c) != Some(c)) {
        *text = text.chars().filter_map(plain).collect();
    }
}
