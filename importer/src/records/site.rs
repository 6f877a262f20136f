//! The site configuration in the cluster: one ConfigMap for all environments ([`SiteFile`]), and one for each
//! environment with its own file. The files are validated when they are used ([`SiteTexts::held`]), so an invalid file
//! does not prevent commands that do not need it.

mod effective;
mod part;

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Object, ObjectRef};
use manifests::CheckedPatch;
use planner::vocabulary as v;
use schemars::JsonSchema;
use schemas::{
    EnvironmentName, Patch, ReleaseName, Site, SiteRule, SiteSpec, SolutionName, SolutionPattern,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use store::Record;

pub use self::effective::HeldSite;
#[cfg(test)]
pub(crate) use self::effective::tests;
pub(crate) use self::part::{NamedWorkloads, PartChoices, SourcedRule, fields, together};
use crate::model::error::Error;
use crate::model::layer::{SiteFileError, SiteLayer};
use crate::records::storage;

/// The data key of a file in its ConfigMap.
const KEY: &str = "site.yaml";

/// A validated site file.
#[derive(Clone, Debug)]
pub struct SiteFile {
    environment: Option<EnvironmentName>,
    text: String,
    layer: SiteLayer,
}

impl SiteFile {
    /// Reads the default file, or that of an environment.
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

    /// Returns the environment of the file; `None` for the default file.
    #[must_use]
    pub fn environment(&self) -> Option<&EnvironmentName> {
        self.environment.as_ref()
    }

    /// Returns a note for each release with values in the file that no imported version of its Solution has.
    pub(crate) fn releases_of_no_version(&self, imported: &[Record]) -> Vec<String> {
        let mut notes = Vec::new();
        for (solution, releases) in &self.layer.spec.charts {
            let versions = || imported.iter().filter(|record| record.name == *solution);
            let charts = || versions().flat_map(|record| &record.manifest.spec.charts);
            let is_unknown = |name: &&ReleaseName| charts().all(|chart| chart.name != **name);
            let unknown = releases.keys().filter(is_unknown);
            notes.extend(unknown.filter(|_| versions().next().is_some()).map(|name| {
                let file = &self.layer.name;
                format!("{file} has values for release `{name}`, which does not exist in any imported version of {solution}")
            }));
        }
        notes
    }

    /// Returns a note for each entry for a part that no imported version of its Solutions has.
    pub(crate) fn parts_of_no_version(&self, imported: &[Record]) -> Vec<String> {
        let rules = self.layer.spec.workloads.iter();
        let unknown = rules.filter_map(|rule| {
            let part = rule.part.as_ref()?.as_str();
            let of = |record: &&Record| rule.solutions.matches(&record.name);
            let mut versions = imported.iter().filter(of).peekable();
            let is_any = versions.peek().is_some();
            let has = |record: &Record| {
                let spec = &record.manifest.spec;
                let is_operator = spec.operator.is_some() && rule.is_the_operators();
                is_operator || spec.parts().any(|name| name == part)
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

    /// Returns the entries for a part or a workload of a single Solution, each with the Solution and its name in
    /// messages.
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
        storage::config_map(&config_map_name, labels, &json!({ KEY: self.text }))
    }
}

fn name(environment: Option<&EnvironmentName>) -> String {
    match environment {
        Some(environment) => format!("the site's file of {environment}"),
        None => "the site's file".to_owned(),
    }
}

/// Returns the name of a file's ConfigMap. Names of other records have other prefixes.
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

/// Returns the reference of an environment's file, or of the default file.
pub(crate) fn reference(environment: Option<&EnvironmentName>) -> ObjectRef {
    storage::reference(&config_map_name(environment))
}

/// The texts of the site files in a cluster, which are not validated yet.
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

    /// Returns the texts of files that are not stored in a cluster.
    pub(crate) fn of_files(files: &[SiteFile]) -> Self {
        let texts = files.iter();
        Self(
            texts
                .map(|file| (file.environment.clone(), file.text.clone()))
                .collect(),
        )
    }

    /// Returns the files that apply to an environment, the default one first.
    pub(crate) fn held(&self, environment: Option<&EnvironmentName>) -> Result<HeldSite, Error> {
        let mut files = Vec::new();
        let own = environment.map(|environment| Some(environment.clone()));
        for of in [None].into_iter().chain(own) {
            if let Some(text) = self.0.get(&of) {
                files.push(kept(text.clone(), of)?);
            }
        }
        Ok(HeldSite::new(files))
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
        is_kept.then(|| storage::reference(&name))
    }

    /// Checks whether a file is stored with the same text.
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
    Error::Site(file, source)
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

/// A patch of a site file.
#[derive(Clone, Debug)]
pub(crate) struct SitePatch {
    /// The name of the patch in messages.
    pub(crate) from: String,
    /// The patch as written in the file.
    pub(crate) said: Patch,
    pub(crate) patch: CheckedPatch,
}

/// Returns a note for each entry that sets fields for all workloads that only apply to operators.
#[must_use]
pub fn operators_alone(file: &SiteFile) -> Vec<String> {
    file.layer.operators_alone(|_| true)
}
