//! The causes for which a rollout does not complete, with their messages.

pub(crate) mod nodes;
pub(crate) mod unsettled;

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

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
    pub stuck: Stuck,
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
    pub stuck: Stuck,
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
pub enum Stuck {
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
pub(crate) enum Passing {
    /// The cause is permanent and is reported immediately.
    Never,
    /// The cause may be temporary and is reported if it persists.
    Perhaps,
    /// The cause is normal for a while and is reported on timeout.
    Likely,
}

impl Stuck {
    pub(crate) fn passing(&self) -> Passing {
        match self {
            Self::Pull(problem) => problem.passing(),
            Self::Configuration
            | Self::Node
            | Self::Quota
            | Self::PodRefused
            | Self::Unschedulable => Passing::Perhaps,
            Self::NotReady | Self::NoCause => Passing::Likely,
            Self::Crash { .. }
            | Self::OutOfMemory
            | Self::WrongMachine
            | Self::NoProgram
            | Self::PodSecurity => Passing::Never,
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

impl fmt::Display for Stuck {
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
    fn passing(self) -> Passing {
        match self {
            Self::UnknownAuthority
            | Self::Certificate
            | Self::PlainHttp
            | Self::Unauthorized
            | Self::NotFound
            | Self::Platform
            | Self::BadReference => Passing::Never,
            Self::SecretUnread
            | Self::Refused
            | Self::NoSuchHost
            | Self::TimedOut
            | Self::Other => Passing::Perhaps,
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
