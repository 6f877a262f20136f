//! The verb that was asked for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The verb that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A version was imported, perhaps activated and deployed.
    Import,
    /// The CRDs of an imported version were activated.
    Activate,
    /// An imported version was deployed.
    Deploy,
    /// A version that ran before was deployed again.
    Rollback,
    /// An operator was removed.
    Undeploy,
    /// CRDs were removed.
    Deactivate,
    /// A version was forgotten.
    Unimport,
    /// All of a Solution was removed.
    Delete,
    /// An environment got a namespace.
    CreateEnvironment,
    /// An environment was removed.
    DeleteEnvironment,
    /// A site's file was kept.
    SetSite,
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Import => "import",
            Self::Activate => "activate",
            Self::Deploy => "deploy",
            Self::Rollback => "rollback",
            Self::Undeploy => "undeploy",
            Self::Deactivate => "deactivate",
            Self::Unimport => "unimport",
            Self::Delete => "delete",
            Self::CreateEnvironment => "environment create",
            Self::DeleteEnvironment => "environment delete",
            Self::SetSite => "site set",
        })
    }
}
