//! The releases of a helmfile, parsed from the output of `helmfile build`. In this output, Helmfile has rendered the
//! templates, selected the environment and the releases, and merged the files.
//!
//! [`HelmfileReleases::read`] rejects every field that it does not know, because an ignored field could change what is
//! installed.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use manifests::display_text;
use rules::limits::CHARTS;
use schemas::yaml::{self, YamlError};
use schemas::{
    ChartSource, ChartVersion, NameError, Namespace, ReleaseName, SetName, Timeout, list_quoted,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::notes::{Note, NoteWeight};

/// The first line of each document in the output, before the path of its file.
const SOURCE: &str = "---\n#  Source: ";

const OCI: &str = "oci://";

/// Fields that have no effect on a packaged release: those that Helmfile has already evaluated, and those about access
/// to charts and clusters, or about comparisons.
const PASSED_OVER: [&str; 20] = [
    "bases",
    "chartPath",
    "commonLabels",
    "defaultInherit",
    "diffArgs",
    "filepath",
    "helmBinary",
    "helmfiles",
    "inherit",
    "insecureSkipTLSVerify",
    "kubeContext",
    "kustomizeBinary",
    "labels",
    "lockFilePath",
    "missingFileHandler",
    "missingFileHandlerConfig",
    "plainHttp",
    "templates",
    "values",
    "waitForJobs",
];

/// Fields about the upgrade and rollback of a release, which an import decides instead.
const OF_IMPORTS: [&str; 9] = [
    "atomic",
    "cleanupOnFail",
    "disableOpenAPIValidation",
    "disableValidation",
    "disableValidationOnInstall",
    "historyMax",
    "rollbackOnFailure",
    "skipDeps",
    "skipRefresh",
];

/// The releases of a helmfile.
#[derive(Clone, Debug, Default)]
pub struct HelmfileReleases {
    /// The files that list releases.
    pub(crate) files: Vec<PathBuf>,
    /// The releases to package, in the helmfile's order.
    pub(crate) releases: Vec<ListedRelease>,
    /// The notes about releases and settings that are not packaged.
    pub(crate) notes: Vec<Note>,
}

/// A release to package.
#[derive(Clone, Debug)]
pub(crate) struct ListedRelease {
    pub(crate) name: ReleaseName,
    pub(crate) chart: ListedChart,
    /// The values of the release. Later entries override earlier ones.
    pub(crate) values: Vec<ListedValues>,
    pub(crate) namespace: Option<Namespace>,
    pub(crate) needs: Vec<SetName>,
    pub(crate) timeout: Option<Timeout>,
}

/// The location of a release's chart.
#[derive(Clone, Debug)]
pub(crate) enum ListedChart {
    /// A local chart, a directory or a `.tgz` file, and the version that the helmfile gives for it.
    Local(PathBuf, Option<String>),
    /// A chart in a registry or a repository.
    Elsewhere(ChartSource),
}

/// One entry of a release's values.
#[derive(Clone, Debug)]
pub(crate) enum ListedValues {
    /// A file.
    File(PathBuf),
    /// The values themselves.
    Inline(Map<String, Value>),
}

/// One document of the output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HelmfileState {
    #[serde(default)]
    releases: Vec<HelmfileRelease>,
    #[serde(default)]
    repositories: Vec<HelmfileRepository>,
    #[serde(default)]
    helm_defaults: InstallOptions,
    #[serde(default)]
    environments: BTreeMap<String, Value>,
    /// The values with which templates and conditions were evaluated.
    #[serde(default, rename = "renderedvalues")]
    rendered: Value,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct HelmfileRepository {
    name: String,
    url: String,
    #[serde(default)]
    oci: bool,
}

/// Options for the installation of a release.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct InstallOptions {
    create_namespace: Option<bool>,
    /// The time limit in seconds; 0 means Helm's default.
    timeout: Option<u64>,
    wait: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HelmfileRelease {
    name: String,
    chart: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    values: Vec<Value>,
    #[serde(default)]
    values_path_prefix: String,
    #[serde(default)]
    secrets: Vec<Value>,
    #[serde(default)]
    needs: Vec<String>,
    installed: Option<bool>,
    #[serde(default)]
    condition: String,
    #[serde(flatten)]
    how: InstallOptions,
}

impl HelmfileReleases {
    /// Returns whether a file name suggests a helmfile.
    #[must_use]
    pub fn is_named(name: &str) -> bool {
        let ends = [".yaml", ".yml"].iter().any(|end| name.ends_with(end));
        name.ends_with(".gotmpl") || (name.starts_with("helmfile") && ends)
    }

    /// Returns whether the content of a file is a helmfile and no Kubernetes object, which has a `kind`. Lines are
    /// compared, because a helmfile with templates is not valid YAML.
    #[must_use]
    pub fn is_in(bytes: &[u8]) -> bool {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        !lines.any(|line| line.starts_with(b"kind:"))
    }

    /// Parses the output of `helmfile build` for an environment.
    ///
    /// # Errors
    ///
    /// Fails if the output has unknown fields, refers to a secret store, or lists no release or too many of them.
    pub fn read(printed: &[u8], environment: &str) -> Result<Self, HelmfileError> {
        let printed = String::from_utf8_lossy(printed);
        let mut helmfile = Self::default();
        let mut left_out = BTreeSet::new();
        let text = format!("\n{printed}");
        for document in text.split(&format!("\n{SOURCE}")).skip(1) {
            let (path, state) = document.split_once('\n').unwrap_or((document, ""));
            let file = Path::new(path);
            let place = || format!("`{}`", display_text(path));
            let unreadable = |problem| HelmfileError::new(place(), problem);
            let state: Value = yaml::from_slice(state.as_bytes())
                .map_err(|source| unreadable(HelmfileProblem::Yaml(source)))?;
            let state: HelmfileState = serde_json::from_value(state)
                .map_err(|source| unreadable(HelmfileProblem::Form(source)))?;
            state.check(environment).map_err(unreadable)?;
            for release in &state.releases {
                let failed = |problem| {
                    let name = display_text(&release.name);
                    HelmfileError::new(format!("{}, release `{name}`", place()), problem)
                };
                if let Some(why) = release.why_not(&state).map_err(failed)? {
                    let note = Note::new(NoteWeight::Lost, display_text(&release.name), why);
                    helmfile.notes.push(note);
                    left_out.insert(release.name.clone());
                    continue;
                }
                let read = release.read(&state, file).map_err(failed)?;
                helmfile.notes.extend(release.notes(&state));
                helmfile.releases.push(read);
            }
            helmfile.files.push(file.to_owned());
        }
        let wrong = match helmfile.releases.len() {
            0 => Some(HelmfileProblem::Empty),
            many => (many > CHARTS).then_some(HelmfileProblem::Releases(many)),
        };
        if let Some(problem) = wrong {
            return Err(HelmfileError::new(
                "the output of Helmfile".to_owned(),
                problem,
            ));
        }
        helmfile.settle_needs(&left_out)?;
        Ok(helmfile)
    }

    /// Removes left-out releases from `needs`, with a note.
    ///
    /// # Errors
    ///
    /// Fails if two releases have the same name, or one needs a release that is not listed.
    fn settle_needs(&mut self, left_out: &BTreeSet<String>) -> Result<(), HelmfileError> {
        let mut listed = BTreeSet::new();
        let place = |name: &ReleaseName| format!("release `{name}`");
        for release in &self.releases {
            if !listed.insert(release.name.to_string()) {
                return Err(HelmfileError::new(
                    place(&release.name),
                    HelmfileProblem::Twice,
                ));
            }
        }
        for release in &mut self.releases {
            for needed in &release.needs {
                let needed = needed.as_str();
                if !listed.contains(needed) && !left_out.contains(needed) {
                    let problem = HelmfileProblem::Need(display_text(needed));
                    return Err(HelmfileError::new(place(&release.name), problem));
                }
                if left_out.contains(needed) {
                    let text = format!(
                        "needs `{needed}`, which is left out: install it at the site first"
                    );
                    self.notes
                        .push(Note::new(NoteWeight::Decide, release.name.as_str(), text));
                }
            }
            release.needs.retain(|name| listed.contains(name.as_str()));
        }
        Ok(())
    }
}

/// Returns whether a text has a reference to a secret store, as `ref+STORE://PATH`.
pub(crate) fn has_reference(text: &str) -> bool {
    text.match_indices("ref+").any(|(start, reference)| {
        let rest = &text[start + reference.len()..];
        let store = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
        store.len() < rest.len() && store.starts_with("://")
    })
}

/// Returns whether a template calls a function that reads a secret store.
pub(crate) fn asks_store(template: &str) -> bool {
    let functions = ["expandSecretRefs", "fetchSecretValue"];
    functions.iter().any(|function| template.contains(function))
}

type HelmfileResult<T> = Result<T, HelmfileProblem>;

/// Fails if fields that are not supported have a value other than an empty one.
fn check_others(others: &Map<String, Value>) -> HelmfileResult<()> {
    let says = |value: &Value| match value {
        Value::Null => false,
        Value::Bool(is_on) => *is_on,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    };
    let unread = others.iter().filter(|(field, value)| {
        let field = field.as_str();
        says(value) && !PASSED_OVER.contains(&field) && !OF_IMPORTS.contains(&field)
    });
    let unread: Vec<String> = unread.map(|(field, _)| display_text(field)).collect();
    if unread.is_empty() {
        return Ok(());
    }
    Err(HelmfileProblem::Fields(unread))
}

impl HelmfileState {
    fn check(&self, environment: &str) -> HelmfileResult<()> {
        check_others(&self.others)?;
        check_others(&self.helm_defaults.others)?;
        let secrets = self
            .environments
            .get(environment)
            .and_then(|environment| environment.get("secrets"));
        if secrets.is_some() || has_reference(&self.rendered.to_string()) {
            return Err(HelmfileProblem::Secret);
        }
        Ok(())
    }
}

impl HelmfileRelease {
    /// Returns the reason why the release is not installed, if it is not.
    fn why_not(&self, state: &HelmfileState) -> HelmfileResult<Option<String>> {
        if self.installed == Some(false) {
            return Ok(Some("`installed: false`".to_owned()));
        }
        if self.condition.is_empty() {
            return Ok(None);
        }
        let mut keys = self.condition.split('.');
        let value = keys.try_fold(&state.rendered, |value, key| value.get(key));
        let condition = display_text(&self.condition);
        match value {
            Some(Value::Bool(true)) => Ok(None),
            Some(Value::Bool(false)) => Ok(Some(format!("`condition: {condition}` is false"))),
            _ => Err(HelmfileProblem::Condition(condition)),
        }
    }

    fn read(&self, state: &HelmfileState, file: &Path) -> HelmfileResult<ListedRelease> {
        check_others(&self.how.others)?;
        if !self.secrets.is_empty() {
            return Err(HelmfileProblem::Secret);
        }
        let beside = file.parent().unwrap_or(Path::new("."));
        let values = self.values.iter().map(|value| self.value(value, beside));
        let mut needs: Vec<SetName> = Vec::new();
        for needed in &self.needs {
            // Helmfile writes `CONTEXT/NAMESPACE/NAME`.
            let name = name_of("needs", needed.rsplit('/').next().unwrap_or_default())?;
            if !needs.contains(&name) {
                needs.push(name);
            }
        }
        let timeout = self.how.timeout.or(state.helm_defaults.timeout);
        let timeout = timeout
            .filter(|seconds| *seconds != 0)
            .map(|seconds| format!("{seconds}s"));
        let namespace = Some(&self.namespace).filter(|name| !name.is_empty());
        Ok(ListedRelease {
            name: name_of("name", &self.name)?,
            chart: self.chart(&state.repositories, beside)?,
            values: values.collect::<HelmfileResult<_>>()?,
            namespace: namespace
                .map(|name| name_of("namespace", name))
                .transpose()?,
            needs,
            timeout: timeout.map(|text| name_of("timeout", &text)).transpose()?,
        })
    }

    fn value(&self, value: &Value, beside: &Path) -> HelmfileResult<ListedValues> {
        match value {
            Value::Object(_) if has_reference(&value.to_string()) => Err(HelmfileProblem::Secret),
            Value::Object(values) => Ok(ListedValues::Inline(values.clone())),
            // Helmfile downloads `SCHEME://` and `git::`, and expands glob patterns.
            Value::String(file) if !file.contains([':', '*', '?', '[']) => {
                let path = beside.join(format!("{}{file}", self.values_path_prefix));
                Ok(ListedValues::File(path))
            }
            other => Err(HelmfileProblem::Values(display_text(&other.to_string()))),
        }
    }

    /// Returns the location of the release's chart.
    ///
    /// # Errors
    ///
    /// Fails if the repository is not listed or has a login in its URL, and if the version is not exact.
    fn chart(
        &self,
        repositories: &[HelmfileRepository],
        beside: &Path,
    ) -> HelmfileResult<ListedChart> {
        let chart = self.chart.as_str();
        let elsewhere = || HelmfileProblem::Chart(display_text(chart));
        let begins = ["./", "../", "/"]
            .iter()
            .any(|start| chart.starts_with(start));
        let is_packed =
            !chart.contains(':') && Path::new(chart).extension().is_some_and(|end| end == "tgz");
        if begins || is_packed || [".", ".."].contains(&chart) {
            let version = Some(&self.version).filter(|version| !version.is_empty());
            return Ok(ListedChart::Local(beside.join(chart), version.cloned()));
        }
        let address = if chart.starts_with(OCI) {
            format!("{chart}:")
        } else {
            let (repository, name) = chart.split_once('/').ok_or_else(elsewhere)?;
            let found = repositories.iter().find(|known| known.name == repository);
            let HelmfileRepository { url, oci, .. } = found.ok_or_else(elsewhere)?;
            if url.contains('@') {
                return Err(HelmfileProblem::Login);
            }
            if *oci {
                let url = url.strip_prefix(OCI).unwrap_or(url).trim_end_matches('/');
                format!("{OCI}{url}/{name}:")
            } else {
                format!("{url}#{name}@")
            }
        };
        let version: ChartVersion = match self.version.parse() {
            Err(_) => return Err(HelmfileProblem::Version(display_text(&self.version))),
            Ok(version) => version,
        };
        name_of("chart", &format!("{address}{version}")).map(ListedChart::Elsewhere)
    }

    /// Returns notes about settings that an import does not follow.
    fn notes(&self, state: &HelmfileState) -> Vec<Note> {
        let defaults = &state.helm_defaults;
        let mut notes = Vec::new();
        let mut lost = |text: String| {
            notes.push(Note::new(NoteWeight::Lost, display_text(&self.name), text));
        };
        if self.how.create_namespace.or(defaults.create_namespace) == Some(false) {
            lost(
                "`createNamespace: false`: an import creates the namespace if it does not exist"
                    .to_owned(),
            );
        }
        if self.how.wait == Some(false) {
            lost("`wait: false`: an import waits until a release is ready before it installs the releases that need it".to_owned());
        }
        let says = |fields: &Map<String, Value>, field: &str| {
            let value = fields.get(field);
            value.is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
        };
        let others = OF_IMPORTS
            .iter()
            .filter(|field| says(&self.how.others, field) || says(&defaults.others, field));
        let others: Vec<&&str> = others.collect();
        if !others.is_empty() {
            let others = list_quoted(&others);
            lost(format!(
                "{others}: an import decides how a release is upgraded and rolled back"
            ));
        }
        notes
    }
}

/// Parses the value of a field.
fn name_of<T: FromStr<Err = NameError>>(field: &'static str, text: &str) -> HelmfileResult<T> {
    text.parse()
        .map_err(|wrong| HelmfileProblem::Name(field, wrong))
}

/// The error of a helmfile that cannot be converted, with its place.
#[derive(Debug)]
pub struct HelmfileError {
    place: String,
    /// The problem.
    pub problem: HelmfileProblem,
}

impl HelmfileError {
    pub(crate) fn new(place: String, problem: HelmfileProblem) -> Self {
        Self { place, problem }
    }
}

impl fmt::Display for HelmfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.place, self.problem)
    }
}

impl Error for HelmfileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

/// A problem of a helmfile. Its texts are already escaped for display.
#[derive(Debug, thiserror::Error)]
pub enum HelmfileProblem {
    /// The text is not YAML.
    #[error("is not valid YAML")]
    Yaml(#[source] YamlError),
    /// The document does not have the form of Helmfile's output.
    #[error("does not have the expected form")]
    Form(#[source] serde_json::Error),
    /// The helmfile installs no release.
    #[error("lists no release to install")]
    Empty,
    /// The helmfile has more releases than a Solution can have charts.
    #[error("lists {0} releases to install; a Solution has at most {CHARTS} charts")]
    Releases(usize),
    /// Fields that are not supported.
    #[error("has unsupported fields: {}", list_quoted(.0))]
    Fields(Vec<String>),
    /// A value that is not valid for this field in a Solution.
    #[error("has a `{0}` that is not valid in a Solution")]
    Name(&'static str, #[source] NameError),
    /// Two releases have the same name.
    #[error("has the same name as another release")]
    Twice,
    /// The version is missing, a range, or the latest.
    #[error("has `version: {0}`, which is not an exact version")]
    Version(String),
    /// A chart from a repository that is not listed, or from an unsupported location.
    #[error(
        "has `chart: {0}`, which is not a path, a chart of one of `repositories`, or an oci:// address"
    )]
    Chart(String),
    /// The repository's URL has a login, which would be written into the tree.
    #[error("takes its chart from a repository with a login in its `url`")]
    Login,
    /// Values from a remote location, or from a glob pattern.
    #[error("takes values from {0}, which is not a local file")]
    Values(String),
    /// Values that are encrypted, or that come from a secret store.
    #[error("takes values from a secret store, or has `secrets`")]
    Secret,
    /// The release needs a release that is not listed.
    #[error("needs `{0}`, which is not listed")]
    Need(String),
    /// A condition whose value is not in the output.
    #[error("has `condition: {0}`, which no value sets")]
    Condition(String),
}
