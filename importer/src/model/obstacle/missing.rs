//! Missing rights of a user, as parts of the RBAC rules that would grant them.

use deployer::{Access, RulePart};

use super::Obstacle;

/// A missing right of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRight {
    /// The namespace in which it is needed; `None` for the whole cluster.
    pub(crate) namespace: Option<String>,
    /// The part of a rule that grants it.
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
    /// Returns the obstacle that a user lacks this right.
    pub(crate) fn denied(access: &Access) -> Self {
        Self::Denied {
            right: access.to_string(),
            missing: Box::new(access.into()),
        }
    }

    /// Returns the missing right, if that is the obstacle.
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
