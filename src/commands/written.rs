//! The result of verbs that write files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// The written files.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Files {
    /// The files that were written.
    pub(in crate::commands) files: Vec<PathBuf>,
}
