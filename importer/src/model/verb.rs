//! The command that a change was made with: [`Verb`].

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verb {
    /// A version was imported, and activated and deployed if requested.
    Import,
    /// The CRDs of an imported version were activated.
    Activate,
    /// An imported version was deployed.
    Deploy,
    /// An earlier version was deployed again.
    Rollback,
    /// An operator was removed.
    Undeploy,
    /// CRDs were removed.
    Deactivate,
    /// The record of a version was removed.
    Unimport,
    /// A Solution was deleted.
    Delete,
    /// A namespace was added to an environment.
    CreateEnvironment,
    /// An environment was deleted.
    DeleteEnvironment,
    /// A site configuration was stored.
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
