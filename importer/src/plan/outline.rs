//! The outline of a version from its archive alone, without a cluster: its custom resources, and the rights of its
//! operator and objects ([`VersionOutline`]). Of charts it only contains the CRDs in `crds/`, since Helm renders the
//! rest.

use std::borrow::Cow;

use kubernetes::Object;
use manifests::{Definition, is_definition, text};
use rules::{DangerScope, Right};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use validator::AcceptedArchive;

use crate::decide::rights::manifests::WantedRights;
use crate::model::error::Error;
use crate::objects::crd::Users;
use crate::objects::effects;
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
        let version = |version: &Value| DefinedVersion {
            name: text(version, "/name").to_owned(),
            served: is(version, "served"),
            storage: is(version, "storage"),
            deprecated: is(version, "deprecated"),
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
    /// Returns the outline of an archive.
    pub fn of(accepted: &AcceptedArchive) -> Result<Self, Error> {
        let definitions =
            definitions(accepted).map(|definition| DefinedResource::from(definition.document));
        let mut definitions: Vec<DefinedResource> = definitions.collect();
        definitions.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            definitions,
            rights: planned(&rights(accepted)?),
        })
    }
}

/// A CRD, and the operators that use the API versions that it serves.
pub(crate) struct VersionDefinition<'a> {
    pub(crate) document: &'a Value,
    pub(crate) users: Users,
}

/// Returns every CRD of a version: those of the operator, of `crds/` in charts, and of sets.
pub(crate) fn definitions(
    accepted: &AcceptedArchive,
) -> impl Iterator<Item = VersionDefinition<'_>> {
    let shared = accepted.crds().iter().map(|definition| VersionDefinition {
        document: &definition.document,
        users: Users::Everywhere,
    });
    let objects = accepted.sets().iter().flat_map(|set| &set.objects);
    let of_sets = objects.map(|object| &object.document);
    let of_sets = of_sets.filter(|document| is_definition(document));
    let of_charts = accepted
        .converted_crds()
        .map(|definition| &definition.document);
    shared.chain(of_sets.chain(of_charts).map(|document| VersionDefinition {
        document,
        users: Users::Here,
    }))
}

/// Returns the rights of the operator and of the objects of sets, within the reach of their bindings.
pub(crate) fn rights(accepted: &AcceptedArchive) -> Result<Vec<Right>, Error> {
    let objects: Vec<Object> = WantedRights::objects_of(accepted)?;
    effects::held(&objects)
}

/// Returns the rights in plain words. Dangers for other users of a namespace are left out, because an environment's own
/// namespace has none.
pub(crate) fn planned(rights: &[Right]) -> Vec<PlannedRight> {
    let planned = |right: &Right| PlannedRight {
        right: right.to_string(),
        danger: right
            .danger()
            .filter(|danger| danger.when == DangerScope::Always)
            .map(|danger| Cow::Borrowed(danger.words)),
    };
    rights.iter().map(planned).collect()
}
