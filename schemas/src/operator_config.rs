//! The configuration that an operator gets, `OperatorConfig`: the addresses of its Solution's images in upstream's
//! strict format. Unknown fields would make an operator fail, so none are added.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{API_VERSION, ImagePlace, Version};

/// The file that `--config` names, in the key `operator.yaml` of a `ConfigMap`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OperatorConfig {
    /// Always the project's API group and version.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// Always `OperatorConfig`.
    #[schemars(extend("const" = "OperatorConfig"))]
    pub kind: String,
    /// The registry addresses of each imported version.
    pub repositories: BTreeMap<Version, Vec<Repository>>,
}

/// The registry address of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Repository {
    /// The address that nodes pull from: `HOST[/PREFIX]/<name>-<version>`.
    pub endpoint: String,
    /// The images, as `name:tag`.
    pub images: Vec<ImagePlace>,
}

impl OperatorConfig {
    /// Returns the document for these repositories.
    #[must_use]
    pub fn new(repositories: BTreeMap<Version, Vec<Repository>>) -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "OperatorConfig".to_owned(),
            repositories,
        }
    }
}
