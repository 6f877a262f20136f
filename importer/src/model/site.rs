//! The site's file as the cluster keeps it: one ConfigMap for all environments, and one for each that has its own. What
//! they hold is read strictly whenever it counts, and never in the way of anything else.

mod held;
mod part;

use std::collections::{BTreeMap, BTreeSet};

use change::vocabulary as v;
use deployer::{Object, ObjectRef};
use manifests::CheckedPatch;
use schemars::JsonSchema;
use schemas::{
    EnvironmentName, Patch, ReleaseName, Site, SiteRule, SiteSpec, SolutionName, SolutionPattern,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use shelf::Record;

pub use self::held::HeldSite;
#[cfg(test)]
pub(crate) use self::held::tests;
pub(crate) use self::part::{NamedWorkloads, PartChoices, SourcedRule, fields, together};
use crate::model::config_map;
use crate::model::error::Error;
use crate::model::layer::{SiteFileError, SiteLayer};

/// The key of a file in its ConfigMap.
const KEY: &str = "site.yaml";

/// A text that was found to be a site's file.
#[derive(Clone, Debug)]
pub struct SiteFile {
    environment: Option<EnvironmentName>,
    text: String,
    layer: SiteLayer,
}

impl SiteFile {
    /// Reads the default file, or one of an environment.
    pub fn read(text: String, environment: Option<EnvironmentName>) -> Result<Self, SiteFileError> {
        let spec = Site::from_slice(text.as_bytes())?.spec;
        let name = name(environment.as_ref());
        let layer = match &environment {
            Some(_) => SiteLayer::of_environment(name, spec)?,
            None => SiteLayer::new(name, spec)?,
        };
        Ok(Self {
            environment,
            text,
            layer,
        })
    }

    /// The environment that it is of; none for the default file.
    #[must_use]
    pub fn environment(&self) -> Option<&EnvironmentName> {
        self.environment.as_ref()
    }

    /// Says of each release that the file has values for, of a Solution that is imported, that no version of it has it.
    pub(crate) fn releases_of_no_version(&self, imported: &[Record]) -> Vec<String> {
        let mut notes = Vec::new();
        for (solution, releases) in &self.layer.spec.charts {
            let versions = || imported.iter().filter(|it| it.name == *solution);
            let charts = || versions().flat_map(|it| &it.manifest.spec.charts);
            let is_unknown = |name: &&ReleaseName| charts().all(|it| it.name != **name);
            let unknown = releases.keys().filter(is_unknown);
            notes.extend(unknown.filter(|_| versions().next().is_some()).map(|name| {
                let file = &self.layer.name;
                format!("{file} has values for release `{name}`, which does not exist in any imported version of {solution}")
            }));
        }
        notes
    }

    /// Says of each entry for workloads of a part, of a Solution that is imported, that no version of it has the part.
    pub(crate) fn parts_of_no_version(&self, imported: &[Record]) -> Vec<String> {
        let rules = self.layer.spec.workloads.iter();
        let unknown = rules.filter_map(|rule| {
            let part = rule.part.as_ref()?.as_str();
            let of = |it: &&Record| rule.solutions.matches(&it.name);
            let mut versions = imported.iter().filter(of).peekable();
            let is_any = versions.peek().is_some();
            let has = |it: &Record| {
                let spec = &it.manifest.spec;
                let is_operator = spec.operator.is_some() && rule.is_the_operators();
                is_operator || spec.parts().any(|it| it == part)
            };
            let is_unknown = is_any && !versions.any(has);
            is_unknown.then(|| {
                let from = self.layer.sourced(rule);
                format!("{from} has no effect: no imported version has the set of manifests or chart `{part}`")
            })
        });
        unknown.collect()
    }

    /// Returns the choices of the file.
    pub(crate) fn spec(&self) -> &SiteSpec {
        &self.layer.spec
    }

    /// Returns the entries for one Solution that name a part or a workload, each with the Solution and its name in messages.
    pub(crate) fn naming(&self) -> impl Iterator<Item = (&SolutionName, String, &SiteRule)> {
        self.layer.naming()
    }

    /// Returns the Solutions that the file names.
    pub(crate) fn solutions(&self) -> BTreeSet<&SolutionName> {
        let SiteSpec {
            parameters,
            charts,
            patches,
            workloads,
            ..
        } = &self.layer.spec;
        let of_workloads = workloads.iter().filter_map(|rule| match &rule.solutions {
            SolutionPattern::Name(name) => Some(name),
            _ => None,
        });
        let named = parameters.keys().chain(charts.keys()).chain(patches.keys());
        named.chain(of_workloads).collect()
    }

    /// Returns the name of the file in messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.layer.name.clone()
    }

    pub(crate) fn to_object(&self) -> Value {
        let mut labels = json!({ v::RECORD: "site" });
        if let Some(environment) = &self.environment {
            labels[v::ENVIRONMENT] = json!(environment);
        }
        let config_map_name = config_map_name(self.environment.as_ref());
        config_map::config_map(&config_map_name, labels, &json!({ KEY: self.text }))
    }
}

fn name(environment: Option<&EnvironmentName>) -> String {
    match environment {
        Some(environment) => format!("the site's file of {environment}"),
        None => "the site's file".to_owned(),
    }
}

/// Records of versions and namespaces never have such a name: theirs begin with other words.
fn config_map_name(environment: Option<&EnvironmentName>) -> String {
    match environment {
        Some(environment) => format!("site-{environment}"),
        None => "site".to_owned(),
    }
}

/// Returns the reference of the default file.
pub(crate) fn default_reference() -> ObjectRef {
    reference(None)
}

/// Returns the reference of an environment's file; the default one where none is named.
pub(crate) fn reference(environment: Option<&EnvironmentName>) -> ObjectRef {
    config_map::reference(&config_map_name(environment))
}

/// The texts of the site's files that a cluster keeps, unread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SiteTexts(BTreeMap<Option<EnvironmentName>, String>);

impl SiteTexts {
    pub(crate) fn from_objects<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let mut texts = BTreeMap::new();
        for object in objects {
            let label = object.labels().get(v::ENVIRONMENT).copied();
            let Ok(environment) = label.map(str::parse).transpose() else {
                continue;
            };
            if object.name() == config_map_name(environment.as_ref()) {
                texts.insert(environment, text(object));
            }
        }
        Self(texts)
    }

    /// Returns the texts of files that no cluster keeps.
    pub(crate) fn of_files(files: &[SiteFile]) -> Self {
        let texts = files.iter();
        Self(
            texts
                .map(|it| (it.environment.clone(), it.text.clone()))
                .collect(),
        )
    }

    /// The files that count for an environment, the default one first.
    pub(crate) fn held(&self, environment: Option<&EnvironmentName>) -> Result<HeldSite, Error> {
        let mut files = Vec::new();
        let own = environment.map(|environment| Some(environment.clone()));
        for of in [None].into_iter().chain(own) {
            if let Some(text) = self.0.get(&of) {
                files.push(kept(text.clone(), of)?);
            }
        }
        Ok(HeldSite::of(files))
    }

    /// Returns every file.
    pub(crate) fn all(&self) -> Result<Vec<SiteFile>, Error> {
        let texts = self.0.iter();
        let file = |(of, text): (&Option<EnvironmentName>, &String)| kept(text.clone(), of.clone());
        texts.map(file).collect()
    }

    /// Returns the reference of an environment's own file, if there is one.
    pub(crate) fn own_of(&self, environment: &EnvironmentName) -> Option<ObjectRef> {
        let environment = Some(environment.clone());
        let name = config_map_name(environment.as_ref());
        let is_kept = self.0.contains_key(&environment);
        is_kept.then(|| config_map::reference(&name))
    }

    /// Whether a file is kept as it is.
    pub(crate) fn has(&self, file: &SiteFile) -> bool {
        self.0.get(&file.environment) == Some(&file.text)
    }
}

fn text(object: &Object) -> String {
    let text = object.as_value()["data"][KEY].as_str();
    text.unwrap_or_default().to_owned()
}

fn kept(text: String, environment: Option<EnvironmentName>) -> Result<SiteFile, Error> {
    let file = name(environment.as_ref());
    SiteFile::read(text, environment).map_err(|source| unusable(file, source))
}

fn unusable(file: String, source: SiteFileError) -> Error {
    let source = Box::new(source);
    Error::Site { file, source }
}

/// A value that a site chose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SiteValue {
    /// The field, and of maps the key.
    pub field: String,
    /// The value.
    pub value: Value,
    /// The source of the value.
    pub from: String,
}

/// A patch of a site's file.
#[derive(Clone, Debug)]
pub(crate) struct SitePatch {
    /// The name of the patch in messages.
    pub(crate) from: String,
    /// The patch as the file has it.
    pub(crate) said: Patch,
    pub(crate) patch: CheckedPatch,
}

/// Says of each entry that chooses for all workloads what only makes sense for one that operators alone get it.
#[must_use]
pub fn operators_alone(file: &SiteFile) -> Vec<String> {
    file.layer.operators_alone(|_| true)
}
