//! The paths under which a registry has the images of a Solution.

use schemars::JsonSchema;
use serde::Serialize;

/// No Solution id is this component, since each has a version with dots: no reference can name a place of its images.
pub(crate) const BELOW: &str = "mirror";

/// Under which paths a registry has the images of a Solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Layout")]
pub enum PathLayout {
    /// Below the Solution's id, as operators are told; an image with a `ref` a second time, below `mirror/<host>`.
    #[default]
    Solution,
    /// Under the path that its `ref` has at its own registry, without the host. Nothing is there a second time.
    Ref,
}

impl PathLayout {
    /// The part of the path that all images of another registry share. No host has an underscore.
    pub(crate) fn below(self, host: &str) -> Option<String> {
        match self {
            Self::Solution => Some(format!("{BELOW}/{}", host.replace(':', "_"))),
            Self::Ref => None,
        }
    }
}
