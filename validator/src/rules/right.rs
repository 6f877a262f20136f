//! One right: verbs on one resource or path, within a reach.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::danger::{Danger, RBAC, TABLE};
use super::part::{Part, Resource, Thing};
use super::{group_of, kind_of, text, words};

/// Where a right holds.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// In this namespace.
    Namespace(String),
    /// In all namespaces, and on what is in none.
    Cluster,
}

impl Reach {
    /// Returns where a binding gives what it gives; none if the object is no binding.
    pub(super) fn of(binding: &Value) -> Option<Self> {
        match (group_of(binding), kind_of(binding).1) {
            (RBAC, "ClusterRoleBinding") => Some(Self::Cluster),
            (RBAC, "RoleBinding") => {
                let namespace = text(binding, "/metadata/namespace").unwrap_or_default();
                Some(Self::Namespace(namespace.to_owned()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(name) => write!(f, "of namespace {name}"),
            Self::Cluster => f.write_str("in the whole cluster"),
        }
    }
}

/// Verbs on one resource of one group, or on one path, for all objects or for those of some names, within a reach.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Right {
    /// Where it holds.
    pub(super) reach: Reach,
    /// What it is a right to.
    pub(super) object: Things,
    /// What may be done with that.
    pub(super) verbs: BTreeSet<String>,
}

/// What a right is to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) enum Things {
    /// A resource of the API.
    Resource {
        /// The API group; empty for the core group.
        group: String,
        /// The resource, such as `pods` or `pods/log`.
        resource: String,
        /// The only objects meant; all when empty.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        names: BTreeSet<String>,
    },
    /// A path of the server.
    Url(String),
}

impl Right {
    /// Where it holds.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// What it is without saying where: `read all Secrets`.
    #[must_use]
    pub fn what(&self) -> String {
        words::what(self)
    }

    /// The gravest thing that it makes possible, if it is in the table.
    #[must_use]
    pub fn danger(&self) -> Option<&'static Danger> {
        TABLE.iter().find(|danger| danger.is_given_by(self))
    }

    /// Its parts, each a verb on one thing.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let things: Vec<Thing<'_>> = match &self.object {
            Things::Url(url) => vec![Thing::Url(url)],
            Things::Resource {
                group,
                resource,
                names,
            } => {
                let thing = |name| Thing::Resource {
                    group,
                    resource: Resource::new(resource),
                    name,
                };
                if names.is_empty() {
                    vec![thing(None)]
                } else {
                    names.iter().map(|name| thing(Some(name))).collect()
                }
            }
        };
        things.into_iter().flat_map(move |thing| {
            self.verbs.iter().map(move |verb| Part {
                reach: &self.reach,
                thing,
                verb,
            })
        })
    }
}

/// In plain words.
impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words::write(self, f)
    }
}
