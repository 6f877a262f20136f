//! Rights that a user lacks, as parts of the rules that would give them.

use deployer::{Access, RulePart};

use super::Obstacle;

/// A right that a user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRight {
    /// The namespace in which it is needed; the whole cluster if there is none.
    pub(crate) namespace: Option<String>,
    /// The part of a rule that gives it.
    pub(crate) part: RulePart,
}

impl From<&Access> for MissingRight {
    fn from(access: &Access) -> Self {
        Self {
            namespace: access.namespace.clone(),
            part: access.part(),
        }
    }
}

impl Obstacle {
    /// The obstacle that a user lacks this right.
    pub(crate) fn denied(access: &Access) -> Self {
        Self::Denied {
            right: access.to_string(),
            missing: Box::new(access.into()),
        }
    }

    /// Returns the right that the user lacks, if that is the obstacle.
    #[must_use]
    pub fn missing_right(&self) -> Option<&MissingRight> {
        match self {
            Self::Denied { missing, .. }
            | Self::ProofDenied { missing, .. }
            | Self::GrantNotHeld { missing, .. } => Some(missing.as_ref()),
            _ => None,
        }
    }
}
