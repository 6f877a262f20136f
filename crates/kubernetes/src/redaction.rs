//! Redaction of messages from a cluster: from its server, its nodes and the programs in its pods. They may quote
//! content that was sent, and thus secrets.

use crate::error::Error;
use crate::failure::{Readiness, UnreadyNodes, UnreadyObjects};
use crate::rollout::state::AwaitedCondition;
use crate::wait::ObjectStatus;

/// A function that redacts a text.
pub type Redact<'a> = &'a dyn Fn(&str) -> String;

/// A value that may contain messages from a cluster.
pub trait Redactable {
    /// Redacts the messages. Names of objects are kept.
    fn reword(&mut self, reword: Redact<'_>);
}

impl Redactable for String {
    fn reword(&mut self, reword: Redact<'_>) {
        *self = reword(self);
    }
}

impl<T: Redactable> Redactable for Option<T> {
    fn reword(&mut self, reword: Redact<'_>) {
        if let Some(words) = self {
            words.reword(reword);
        }
    }
}

impl Redactable for Error {
    fn reword(&mut self, reword: Redact<'_>) {
        match self {
            Self::Forbidden { message, .. }
            | Self::NotFound { message, .. }
            | Self::Changed { message, .. }
            | Self::Invalid { message, .. }
            | Self::Server { message, .. }
            | Self::Answer {
                problem: message, ..
            } => message.reword(reword),
            Self::Conflict { conflicts, .. } => {
                // The path of a field in a set contains values.
                let fields = conflicts.iter_mut().map(|conflict| &mut conflict.field);
                fields.for_each(|field| field.reword(reword));
            }
            Self::StillThere { objects, .. } => {
                for object in objects {
                    object.reword(reword);
                }
            }
            Self::Rollout(failure) => {
                failure.detail.reword(reword);
                failure.log.reword(reword);
            }
            Self::Pull(failure) => failure.detail.reword(reword),
            Self::UnreadyObjects(unsettled) => unsettled.reword(reword),
            Self::NodesNotReady { nodes, .. } => nodes.reword(reword),
            Self::NoKubeconfig(_)
            | Self::ReadKubeconfig(..)
            | Self::Kubeconfig(..)
            | Self::Identity(_)
            | Self::Expiry(_)
            | Self::Credentials { .. }
            | Self::Setup(..)
            | Self::Unreachable { .. }
            | Self::Untrusted { .. }
            | Self::Timeout { .. }
            | Self::Unauthorized { .. }
            | Self::NoSuchKind(_)
            | Self::Scope { .. }
            | Self::TooMany { .. }
            | Self::LeaseHeld(_)
            | Self::LeaseLost { .. } => {}
        }
    }
}

impl Redactable for UnreadyObjects {
    fn reword(&mut self, reword: Redact<'_>) {
        for unready in &mut self.objects {
            unready.state.reword(reword);
            unready.awaited.reword(reword);
            if let Some(cause) = &mut unready.cause {
                cause.detail.reword(reword);
                cause.log.reword(reword);
            }
        }
    }
}

impl Redactable for UnreadyNodes {
    fn reword(&mut self, reword: Redact<'_>) {
        for node in &mut self.nodes {
            node.why.reword(reword);
        }
    }
}

impl Redactable for Readiness {
    fn reword(&mut self, reword: Redact<'_>) {
        match self {
            Self::Ready => {}
            Self::Pending(why) | Self::Failed(why) => why.reword(reword),
        }
    }
}

impl Redactable for ObjectStatus {
    fn reword(&mut self, reword: Redact<'_>) {
        self.state.reword(reword);
        self.awaited.reword(reword);
    }
}

impl Redactable for AwaitedCondition {
    fn reword(&mut self, reword: Redact<'_>) {
        match self {
            Self::Cause { detail, .. } => detail.reword(reword),
            Self::Notice
            | Self::Pods
            | Self::Node { .. }
            | Self::Image { .. }
            | Self::Start { .. }
            | Self::Former { .. }
            | Self::Unseen => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::failure::{Cause, UnreadyObject};
    use crate::failure::{PodProblem, RolloutFailure};
    use crate::object::ObjectRef;
    use crate::{FieldConflict, PullFailure};

    const SECRET: &str = "hunter2";

    fn said() -> String {
        format!("password `{SECRET}` is wrong")
    }

    fn unsettled() -> UnreadyObjects {
        let cause = Cause {
            stuck: PodProblem::Crash { exit_code: 1 },
            pod: None,
            detail: said(),
            log: Some(said()),
        };
        let unready = |state| UnreadyObject {
            object: ObjectRef::namespaced("batch/v1", "Job", "n", "job"),
            state,
            awaited: Some(said()),
            cause: Some(cause.clone()),
        };
        UnreadyObjects {
            objects: vec![
                unready(Readiness::Failed(said())),
                unready(Readiness::Pending(said())),
            ],
            after: Duration::ZERO,
        }
    }

    #[test]
    fn whatever_a_cluster_says_can_be_said_otherwise() {
        let doing = || "apply it".to_owned();
        let rollout = RolloutFailure {
            namespace: "n".to_owned(),
            deployment: "d".to_owned(),
            pod: None,
            stuck: PodProblem::NotReady,
            detail: said(),
            log: Some(said()),
        };
        let pull = PullFailure {
            pod: "p".to_owned(),
            node: None,
            stuck: PodProblem::NotReady,
            detail: said(),
        };
        let field = FieldConflict {
            field: format!(".spec.hosts[v:\"{SECRET}\"]"),
            manager: "kubectl".to_owned(),
        };
        let (conflicts, message) = (vec![field], said());
        let errors = [
            Error::Forbidden {
                doing: doing(),
                message: message.clone(),
            },
            Error::NotFound {
                doing: doing(),
                message: message.clone(),
            },
            Error::Changed {
                doing: doing(),
                message: message.clone(),
            },
            Error::Invalid {
                doing: doing(),
                message: message.clone(),
            },
            Error::Server {
                doing: doing(),
                status: 500,
                message: message.clone(),
            },
            Error::Answer {
                doing: doing(),
                problem: message.clone(),
            },
            Error::Conflict {
                doing: doing(),
                conflicts,
            },
            Error::StillThere {
                objects: vec![said()],
                after: Duration::ZERO,
            },
            Error::Rollout(Box::new(rollout)),
            Error::Pull(Box::new(pull)),
            Error::UnreadyObjects(Box::new(unsettled())),
        ];
        for mut error in errors {
            assert!(format!("{error:?}").contains(SECRET));
            error.reword(&|words| words.replace(SECRET, "***"));
            let left = format!("{error:?}");
            assert!(left.contains("***") && !left.contains(SECRET), "{left}");
        }
    }

    #[test]
    fn so_can_what_is_waited_for() {
        let awaited = || {
            Some(AwaitedCondition::Cause {
                stuck: PodProblem::NotReady,
                pod: None,
                detail: said(),
            })
        };
        let mut status = ObjectStatus {
            object: ObjectRef::namespaced("apps/v1", "Deployment", "n", "d"),
            state: Readiness::Pending(said()),
            awaited: awaited(),
        };
        let reword: Redact<'_> = &|words| words.replace(SECRET, "***");
        status.reword(reword);
        let left = format!("{status:?}");
        assert!(!left.contains(SECRET), "{left}");
    }
}
