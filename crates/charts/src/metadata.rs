//! `Chart.yaml`, the metadata of a chart, read and validated by the rules of Helm (its `pkg/chart/v2/metadata.go`). A
//! chart that Helm would refuse is refused here as well.

use std::collections::BTreeMap;

use schemas::{ChartName, ChartVersion, is_unprintable, yaml};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::error::ChartProblem;
use crate::limits;
use crate::values::ParsedContent;

/// The fields of `Chart.yaml`. Serialized, they are the configuration of the artifact that `helm push` creates. The
/// order of the fields is therefore Helm's, and empty fields are left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChartMetadata {
    /// The name of the chart.
    #[serde(deserialize_with = "scalar")]
    pub name: String,
    /// The home page of the project.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub home: String,
    /// The addresses of the source code.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The version of the chart.
    #[serde(deserialize_with = "scalar")]
    pub version: String,
    /// The description of the chart in one sentence.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The keywords for searches.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The maintainers.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub maintainers: Vec<Maintainer>,
    /// The address of an icon.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// The version of the chart format: `v1` or `v2`.
    #[serde(deserialize_with = "scalar")]
    pub api_version: String,
    /// Not used by top-level charts.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// Not used by top-level charts.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub tags: String,
    /// The version of the installed application.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// True if the authors of the chart deprecated it.
    #[serde(
        deserialize_with = "or_empty",
        skip_serializing_if = "schemas::is_default"
    )]
    pub deprecated: bool,
    /// Annotations for other programs.
    #[serde(deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The supported versions of Kubernetes.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub kube_version: String,
    /// The dependencies of the chart.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Dependency>,
    /// The type of the chart: `application` (also if empty) or `library`.
    #[serde(
        rename = "type",
        deserialize_with = "scalar",
        skip_serializing_if = "String::is_empty"
    )]
    pub kind: String,
}

/// A maintainer of a chart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Maintainer {
    /// The name.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The email address.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub email: String,
    /// The home page.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// A dependency of a chart.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Dependency {
    /// The name of the chart.
    #[serde(deserialize_with = "scalar")]
    pub name: String,
    /// The accepted versions.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The repository of the dependency.
    #[serde(deserialize_with = "scalar")]
    pub repository: String,
    /// The value that enables the dependency.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub condition: String,
    /// The tags that enable the dependency.
    #[serde(deserialize_with = "scalars", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// A field for Helm's internal use, which charts do not set.
    #[serde(
        deserialize_with = "or_empty",
        skip_serializing_if = "schemas::is_default"
    )]
    pub enabled: bool,
    /// The values that the parent chart imports.
    #[serde(deserialize_with = "or_empty", skip_serializing_if = "Vec::is_empty")]
    pub import_values: Vec<Value>,
    /// The name of the dependency within the parent chart.
    #[serde(deserialize_with = "scalar", skip_serializing_if = "String::is_empty")]
    pub alias: String,
}

/// A text, or a number or Boolean that Go's YAML reader converts to text.
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

/// Deserializes a value, with null as the default.
fn or_empty<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// The fields of [`ChartMetadata`], [`Maintainer`] and [`Dependency`] in lower case, because Go's readers ignore the
/// case of keys.
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

/// The fields that are not entirely in lower case.
const SPELT: [&str; 3] = ["apiVersion", "appVersion", "kubeVersion"];

/// Returns a key that Go's readers take for a field with another spelling.
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

fn read_value(name: &'static str, bytes: &[u8]) -> Result<ParsedContent<Value>, ChartProblem> {
    if bytes.len() > limits::METADATA {
        let (size, most) = (bytes.len(), limits::METADATA);
        let words = format!("{name} has {size} bytes; at most {most} are read");
        return Err(ChartProblem::Budget(words));
    }
    let unreadable = |error| ChartProblem::Yaml(name, error);
    // Helm's rules apply only to files that the strict parser rejects, so that all other charts require only
    // `charts-1.0.0`.
    let (value, as_helm) = match yaml::from_slice::<Value>(bytes) {
        Ok(value) => (value, false),
        Err(_) => (yaml::go::from_slice(bytes).map_err(unreadable)?, true),
    };
    match misspelt(&value) {
        None => Ok(ParsedContent { value, as_helm }),
        Some(key) => Err(ChartProblem::Metadata(format!(
            "{name} has the field `{key}`, which some tools read as a different field"
        ))),
    }
}

impl ChartMetadata {
    /// Reads and validates `Chart.yaml` as Helm does for display.
    pub(crate) fn read(bytes: &[u8]) -> Result<ParsedContent<Self>, ChartProblem> {
        let ParsedContent { value, as_helm } = read_value("Chart.yaml", bytes)?;
        let metadata: Self = serde_json::from_value(value)
            .map_err(|error| ChartProblem::Metadata(format!("Chart.yaml: {error}")))?;
        let metadata = metadata.tidy();
        metadata.check()?;
        let value = metadata;
        Ok(ParsedContent { value, as_helm })
    }

    /// Adds the dependencies from the separate file of `v1` charts. Returns true if only Helm's own parser can read the
    /// file.
    pub(crate) fn require(&mut self, bytes: &[u8]) -> Result<bool, ChartProblem> {
        const FILE: &str = "requirements.yaml";
        let wrong = |words: String| ChartProblem::Metadata(format!("{FILE} {words}"));
        if self.api_version != "v1" {
            return Err(wrong("is only read with `apiVersion: v1`".to_owned()));
        }
        let ParsedContent { value, as_helm } = read_value(FILE, bytes)?;
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

    /// Normalizes the texts as Helm does before it shows or stores them.
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
        let people = self.maintainers.iter_mut().flat_map(|maintainer| {
            [
                &mut maintainer.name,
                &mut maintainer.email,
                &mut maintainer.url,
            ]
        });
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
        if self
            .dependencies
            .iter()
            .any(|dependency| dependency.name.is_empty())
        {
            return wrong("a dependency has no name".to_owned());
        }
        self.chart_version()?;
        self.chart_name().map(drop)
    }

    /// Returns the name as a registry accepts it.
    pub(crate) fn chart_name(&self) -> Result<ChartName, ChartProblem> {
        self.name.parse().map_err(ChartProblem::Name)
    }

    /// Returns the version as a registry accepts it.
    pub(crate) fn chart_version(&self) -> Result<ChartVersion, ChartProblem> {
        self.version.parse().map_err(ChartProblem::Name)
    }
}

/// Replaces white space by spaces, and removes unprintable characters.
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
