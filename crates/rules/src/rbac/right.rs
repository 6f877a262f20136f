//! A right: verbs on one resource or path, within a reach. Equal verbs on multiple names of a resource are one right,
//! so that lists of rights are short enough to read.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rbac::part::{Resource, RightPart, Target};
use crate::rbac::reach::Reach;

/// Verbs on one resource of one group, or on one path, for all objects or for those of some names, within a reach.
/// [`std::fmt::Display`] says it in plain words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Right {
    /// The scope of the right.
    pub(crate) reach: Reach,
    /// The resource or path of the right.
    pub(crate) object: Targets,
    /// The verbs.
    pub(crate) verbs: BTreeSet<String>,
}

/// The resource or path of a right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Things")]
pub(crate) enum Targets {
    /// A resource of the API.
    Resource {
        /// The API group; empty for the core group.
        group: String,
        /// The resource, such as `pods` or `pods/log`.
        resource: String,
        /// The names of the objects; empty means all objects.
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        names: BTreeSet<String>,
    },
    /// A path of the API server.
    Url(String),
}

impl Right {
    /// Returns the reach of the right.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Returns the parts of the right, each with one verb on one resource or path.
    pub(crate) fn parts(&self) -> impl Iterator<Item = RightPart<'_>> {
        let things: Vec<Target<'_>> = match &self.object {
            Targets::Url(url) => vec![Target::Url(url)],
            Targets::Resource {
                group,
                resource,
                names,
            } => {
                let thing = |name| Target::Resource {
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
            self.verbs.iter().map(move |verb| RightPart {
                reach: &self.reach,
                thing,
                verb,
            })
        })
    }
}
