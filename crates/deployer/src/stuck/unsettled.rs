//! Objects that are not ready, with the reasons.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use super::Stuck;
use crate::limits;
use crate::object::ObjectRef;

/// The readiness of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", content = "why", rename_all = "camelCase")]
pub enum Settled {
    /// The object is ready.
    Ready,
    /// The object is not ready yet, for this reason.
    Pending(String),
    /// The object has failed for this reason and does not become ready without a change.
    Failed(String),
}

impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Pending(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Objects that do not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// The objects that were not ready at the end of the wait. Objects that ended the wait come first.
    pub objects: Vec<Unready>,
    /// The duration of the wait.
    pub after: Duration,
}

/// An object that does not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unready {
    /// The object.
    pub object: ObjectRef,
    /// The state according to the status of the object.
    pub state: Settled,
    /// The condition that its pods wait for, if known.
    pub awaited: Option<String>,
    /// The cause observed in its pods. Only the first [`limits::MAX_EXPLAINED`] workloads are inspected.
    pub cause: Option<Cause>,
}

/// The cause for which the pods of a workload do not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause.
    pub stuck: Stuck,
    /// The pod in which it was observed.
    pub pod: Option<String>,
    /// The cluster's message.
    pub detail: String,
    /// The end of the container's log.
    pub log: Option<String>,
}

impl Unsettled {
    /// Returns the first known cause.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.objects.iter().find_map(|one| one.cause.as_ref())
    }

    /// Checks whether an object has failed, so that a longer wait would not have helped.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|one| matches!(one.state, Settled::Failed(_)))
    }
}

impl fmt::Display for Unsettled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, one) in self.objects.iter().take(limits::MAX_NAMED).enumerate() {
            let before = if i == 0 { "" } else { "; " };
            write!(f, "{before}{one}")?;
        }
        match self.objects.len().saturating_sub(limits::MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for Unready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.state)?;
        match (&self.cause, &self.awaited) {
            (Some(cause), _) => {
                f.write_str(", ")?;
                cause.stuck.write(cause.pod.as_deref(), &cause.detail, f)
            }
            (None, Some(awaited)) => write!(f, ", {awaited}"),
            (None, None) => Ok(()),
        }
    }
}
