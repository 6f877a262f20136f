//! The reasons why rollouts, objects and nodes do not become ready, with their messages. The types are the payload of
//! [`Error`](crate::Error). [`PodProblem`] is the cause that a diagnosis of pods has found, and [`Readiness`] the
//! readiness of an object.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::limits;
use crate::object::ObjectRef;

/// The reason why a rollout does not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutFailure {
    /// The Deployment's namespace.
    pub namespace: String,
    /// The Deployment.
    pub deployment: String,
    /// The pod in which the cause was observed.
    pub pod: Option<String>,
    /// The cause.
    pub stuck: PodProblem,
    /// The cluster's message.
    pub detail: String,
    /// The end of the crashed container's log.
    pub log: Option<String>,
}

impl fmt::Display for RolloutFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, deployment) = (&self.namespace, &self.deployment);
        write!(
            f,
            "Deployment {namespace}/{deployment} does not become ready: "
        )?;
        self.stuck.write(self.pod.as_deref(), &self.detail, f)
    }
}

impl std::error::Error for RolloutFailure {}

/// The reason why a pod does not get its image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullFailure {
    /// The pod.
    pub pod: String,
    /// The node of the pod, if it has one.
    pub node: Option<String>,
    /// The cause.
    pub stuck: PodProblem,
    /// The cluster's message.
    pub detail: String,
}

impl fmt::Display for PullFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stuck.write(Some(&self.pod), &self.detail, f)
    }
}

impl std::error::Error for PullFailure {}

/// The reason why pods do not become ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(
    tag = "stuck",
    content = "problem",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[schemars(rename = "Stuck")]
pub enum PodProblem {
    /// The node cannot pull an image.
    Pull(PullProblem),
    /// A `ConfigMap`, Secret or key that the pod uses does not exist.
    Configuration,
    /// The container crashes repeatedly.
    Crash {
        /// The last exit code of the container.
        exit_code: i64,
    },
    /// The container exceeds its memory limit.
    OutOfMemory,
    /// The program in the image was built for another architecture.
    WrongMachine,
    /// The image does not contain the program to start.
    NoProgram,
    /// The node cannot create the container.
    Node,
    /// The namespace's quota is used up.
    Quota,
    /// The PodSecurity level of the namespace does not allow the pods.
    PodSecurity,
    /// The API server rejects the pods for another reason.
    PodRefused,
    /// No node can run the pod.
    Unschedulable,
    /// The container is running but does not become ready.
    NotReady,
    /// No error is visible.
    NoCause,
}

/// The reason why an image cannot be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PullProblem {
    /// The node does not trust the certificate authority of the registry.
    UnknownAuthority,
    /// The registry's certificate is not valid, for example expired or for another name.
    Certificate,
    /// The registry speaks plain HTTP, but the node expects HTTPS.
    PlainHttp,
    /// The registry requires credentials or does not accept the ones it got.
    Unauthorized,
    /// The registry requires credentials, and the node could not read the pull secret.
    SecretUnread,
    /// The registry does not have the image.
    NotFound,
    /// The image does not support the node's platform.
    Platform,
    /// The registry refuses the connection.
    Refused,
    /// The node cannot resolve the registry's name.
    NoSuchHost,
    /// The registry does not respond in time.
    TimedOut,
    /// The image reference is not valid.
    BadReference,
    /// Another problem.
    Other,
}

/// The likelihood that a cause is temporary. The order starts with permanent causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Transience {
    /// The cause is permanent and is reported immediately.
    Never,
    /// The cause may be temporary and is reported if it persists.
    Perhaps,
    /// The cause is normal for a while and is reported on timeout.
    Likely,
}

impl PodProblem {
    pub(crate) fn transience(&self) -> Transience {
        match self {
            Self::Pull(problem) => problem.transience(),
            Self::Configuration
            | Self::Node
            | Self::Quota
            | Self::PodRefused
            | Self::Unschedulable => Transience::Perhaps,
            Self::NotReady | Self::NoCause => Transience::Likely,
            Self::Crash { .. }
            | Self::OutOfMemory
            | Self::WrongMachine
            | Self::NoProgram
            | Self::PodSecurity => Transience::Never,
        }
    }

    /// Writes the cause, the pod in which it was observed, and the cluster's message.
    pub(crate) fn write(
        &self,
        pod: Option<&str>,
        detail: &str,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        write!(f, "{self}")?;
        if let Some(pod) = pod {
            write!(f, ", pod {pod}")?;
        }
        if detail.is_empty() {
            return Ok(());
        }
        write!(f, ": {detail}")
    }

    pub(crate) fn has_log(&self) -> bool {
        matches!(
            self,
            Self::Crash { .. } | Self::OutOfMemory | Self::NotReady
        )
    }
}

impl fmt::Display for PodProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Pull(problem) => return write!(f, "the image cannot be pulled: {problem}"),
            Self::Crash { exit_code } => {
                return write!(f, "the container crashes with exit code {exit_code}");
            }
            Self::Configuration => "a ConfigMap, Secret or key that the pod uses is missing",
            Self::OutOfMemory => "the container runs out of memory",
            Self::WrongMachine => "the program was built for another architecture",
            Self::NoProgram => "the image does not contain the program to start",
            Self::Node => "the node cannot create the container",
            Self::Quota => "the namespace's quota is used up",
            Self::PodSecurity => "the PodSecurity level of the namespace does not allow the pods",
            Self::PodRefused => "the API server rejects the pods",
            Self::Unschedulable => "no node can run the pod",
            Self::NotReady => "the container is running but not ready",
            Self::NoCause => "not ready in time, without a visible error",
        };
        f.write_str(text)
    }
}

impl PullProblem {
    fn transience(self) -> Transience {
        match self {
            Self::UnknownAuthority
            | Self::Certificate
            | Self::PlainHttp
            | Self::Unauthorized
            | Self::NotFound
            | Self::Platform
            | Self::BadReference => Transience::Never,
            Self::SecretUnread
            | Self::Refused
            | Self::NoSuchHost
            | Self::TimedOut
            | Self::Other => Transience::Perhaps,
        }
    }
}

impl fmt::Display for PullProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnknownAuthority => "the node does not trust the registry's certificate (x509)",
            Self::Certificate => "the registry's certificate is not valid (x509)",
            Self::PlainHttp => "the registry speaks plain HTTP, but the node expects HTTPS",
            Self::Unauthorized => "the registry does not accept the credentials",
            Self::SecretUnread => "the node could not read the pull secret",
            Self::NotFound => "the registry does not have the image",
            Self::Platform => "the image does not support the node's platform",
            Self::Refused => "the registry refuses the connection",
            Self::NoSuchHost => "the node cannot resolve the registry's name",
            Self::TimedOut => "the registry does not respond",
            Self::BadReference => "the image reference is not valid",
            Self::Other => "the cause is unknown",
        })
    }
}

/// A node that is not ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadyNode {
    /// The name of the node.
    pub name: String,
    /// The reason that the node reports.
    pub why: String,
}

/// The nodes that are not ready; empty if no node has joined the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct UnreadyNodes {
    /// The first of them; empty if no schedulable node has joined.
    pub nodes: Vec<UnreadyNode>,
    /// The number of further nodes.
    pub more: usize,
}

impl UnreadyNodes {
    /// Keeps the first [`limits::MAX_NAMED`] nodes.
    pub(crate) fn new(mut nodes: Vec<UnreadyNode>) -> Self {
        let more = nodes.len().saturating_sub(limits::MAX_NAMED);
        nodes.truncate(limits::MAX_NAMED);
        Self { nodes, more }
    }
}

impl fmt::Display for UnreadyNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nodes.is_empty() {
            return f.write_str("no schedulable node has joined");
        }
        for (at, UnreadyNode { name, why }) in self.nodes.iter().enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{name}: {why}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The readiness of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "state", content = "why", rename_all = "camelCase")]
#[schemars(rename = "Settled")]
pub enum Readiness {
    /// The object is ready.
    Ready,
    /// The object is not ready yet, for this reason.
    Pending(String),
    /// The object has failed for this reason and does not become ready without a change.
    Failed(String),
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("ready"),
            Self::Pending(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

/// Objects that do not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadyObjects {
    /// The objects that were not ready at the end of the wait. Objects that ended the wait come first.
    pub objects: Vec<UnreadyObject>,
    /// The duration of the wait.
    pub after: Duration,
}

/// An object that does not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadyObject {
    /// The object.
    pub object: ObjectRef,
    /// The state according to the status of the object.
    pub state: Readiness,
    /// The condition that its pods wait for, if known.
    pub awaited: Option<String>,
    /// The cause observed in its pods. Only the first [`limits::MAX_EXPLAINED`] workloads are inspected.
    pub cause: Option<Cause>,
}

/// The cause for which the pods of a workload do not become ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// The cause.
    pub stuck: PodProblem,
    /// The pod in which it was observed.
    pub pod: Option<String>,
    /// The cluster's message.
    pub detail: String,
    /// The end of the container's log.
    pub log: Option<String>,
}

impl UnreadyObjects {
    /// Returns the first known cause.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.objects.iter().find_map(|object| object.cause.as_ref())
    }

    /// Checks whether an object has failed, so that a longer wait would not have helped.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|object| matches!(object.state, Readiness::Failed(_)))
    }
}

impl fmt::Display for UnreadyObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, object) in self.objects.iter().take(limits::MAX_NAMED).enumerate() {
            let before = if i == 0 { "" } else { "; " };
            write!(f, "{before}{object}")?;
        }
        match self.objects.len().saturating_sub(limits::MAX_NAMED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl fmt::Display for UnreadyObject {
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
