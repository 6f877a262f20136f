//! The outline of a version by its archive alone, without a cluster: the custom resources that it defines, and what its
//! operator and its objects may do. Of charts only the definitions in `crds/` are told: the rest is made by Helm.

use std::borrow::Cow;

use deployer::Object;
use manifests::{Definition, is_definition, text};
use rules::{Right, When};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use validator::Accepted;

use crate::model::error::Error;
use crate::plan::consent;
use crate::plan::crd::Users;
use crate::plan::rights::manifests::WantedRights;
use crate::plan::summary::PlannedRight;

/// A custom resource that a version defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinedResource {
    /// The name of its definition.
    pub name: String,
    /// The kind of its objects.
    pub kind: String,
    /// Whether its objects are in namespaces or belong to the whole cluster.
    pub scope: String,
    /// The versions of its API, in the order of the definition.
    pub versions: Vec<DefinedVersion>,
}

/// A version of the API of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DefinedVersion {
    /// Its name, such as `v1`.
    pub name: String,
    /// Whether clients can use it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// Whether it is deprecated.
    #[serde(skip_serializing_if = "schemas::is_default")]
    pub deprecated: bool,
}

impl From<&Value> for DefinedResource {
    fn from(document: &Value) -> Self {
        let is = |version: &Value, field: &str| version[field] == true;
        let version = |it: &Value| DefinedVersion {
            name: text(it, "/name").to_owned(),
            served: is(it, "served"),
            storage: is(it, "storage"),
            deprecated: is(it, "deprecated"),
        };
        let definition = Definition(document);
        Self {
            name: text(document, "/metadata/name").to_owned(),
            kind: definition.kind().to_owned(),
            scope: text(document, "/spec/scope").to_owned(),
            versions: definition.versions().iter().map(version).collect(),
        }
    }
}

/// The outline of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VersionOutline {
    /// The custom resources that it defines, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<DefinedResource>,
    /// The rights of its operator and its objects, in an environment and a namespace that are both called `any`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rights: Vec<PlannedRight>,
}

impl VersionOutline {
    /// Makes the outline of an archive.
    pub fn of(accepted: &Accepted) -> Result<Self, Error> {
        let definitions = definitions(accepted).map(|it| DefinedResource::from(it.document));
        let mut definitions: Vec<DefinedResource> = definitions.collect();
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            definitions,
            rights: planned(&rights(accepted)?),
        })
    }
}

/// A definition, and who needs what it serves.
pub(crate) struct VersionDefinition<'a> {
    pub(crate) document: &'a Value,
    pub(crate) users: Users,
}

/// Every definition of a version: those of the operator and of `crds/` in charts, and those in sets.
pub(crate) fn definitions(accepted: &Accepted) -> impl Iterator<Item = VersionDefinition<'_>> {
    let shared = accepted.crds().iter().map(|it| VersionDefinition {
        document: &it.document,
        users: Users::Everywhere,
    });
    let objects = accepted.sets().iter().flat_map(|set| &set.objects);
    let of_sets = objects.map(|object| &object.document);
    let of_sets = of_sets.filter(|document| is_definition(document));
    let of_charts = accepted.converted_crds().map(|it| &it.document);
    shared.chain(of_sets.chain(of_charts).map(|document| VersionDefinition {
        document,
        users: Users::Here,
    }))
}

/// The rights of the operator and of the objects of sets, as far as these bind them.
pub(crate) fn rights(accepted: &Accepted) -> Result<Vec<Right>, Error> {
    let objects: Vec<Object> = WantedRights::objects_of(accepted)?;
    consent::held(&objects)
}

/// Rights in plain words. In an environment of its own nobody else's objects are in danger.
pub(crate) fn planned(rights: &[Right]) -> Vec<PlannedRight> {
    let planned = |right: &Right| PlannedRight {
        right: right.to_string(),
        danger: right
            .danger()
            .filter(|danger| danger.when == When::Always)
            .map(|danger| Cow::Borrowed(danger.words)),
    };
    rights.iter().map(planned).collect()
}
