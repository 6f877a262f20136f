//! The errors of an import that could not read its inputs or could not finish: [`Error`]. A plan that must not be
//! applied has a [`crate::Blocker`] instead.
//!
//! [`FailedPull`] is the error of a pod that could not pull its image, with the containerd files that nodes lack for
//! the site's registry. [`Use`] is a use of objects that are to be removed, and [`EvenIfUsed`] decides whether it
//! prevents the removal.

use std::{error, fmt};

use kubernetes::{Object, PodProblem, PullProblem};
use planner::OwnershipConflict;
use schemars::JsonSchema;
use schemas::{ExpansionError, KubernetesName, NameError, Namespace};
use serde::Serialize;
use store::NodeFile;

use crate::model::blocker::Blocker;

/// The error of a failed operation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the registry.
    #[error(transparent)]
    Registry(#[from] registry::Error),
    /// An error about an archive in a registry.
    #[error(transparent)]
    Store(store::Error),
    /// An error of the cluster.
    #[error(transparent)]
    Cluster(#[from] kubernetes::Error),
    /// A generated object is invalid.
    #[error("cannot build an object for the cluster")]
    Object(#[from] kubernetes::ObjectError),
    /// A record in the cluster cannot be read.
    #[error("cannot read the record in {0}")]
    Record(String, #[source] schemas::json::JsonError),
    /// A record in the cluster was written in the format of a newer program.
    #[error("cannot read the record in {object}: unknown format {format}")]
    Format {
        /// The object with the record.
        object: String,
        /// The format.
        format: String,
    },
    /// A name in an object of the cluster is invalid.
    #[error("cannot read {0}")]
    Name(String, #[source] NameError),
    /// A site file in the cluster is invalid.
    #[error("cannot use {0}")]
    Site(String, #[source] Box<crate::SiteFileError>),
    /// The rules of a role cannot be read.
    #[error("cannot read the rules of {0}")]
    Rules(String, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// The repository name of an image is too long or invalid.
    #[error("cannot derive valid repository names for the images")]
    Repository(#[from] registry::AddressError),
    /// `$(image:…)` cannot be expanded.
    #[error("cannot expand the operator's command line or environment")]
    Expand(#[from] ExpandError),
    /// The new version did not become ready and was rolled back.
    #[error("version {version} did not become ready and was rolled back to version {previous}")]
    RolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The running version.
        previous: schemas::Version,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// The new version did not become ready, and the rollback failed.
    #[error(
        "version {version} did not become ready, and the rollback to version {previous} failed: {restoring}"
    )]
    NotRolledBack {
        /// The version that failed.
        version: schemas::Version,
        /// The previous version.
        previous: schemas::Version,
        /// The error of the rollback.
        restoring: Box<Error>,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// The new version did not become ready and was not rolled back, because an earlier change had left a mixture of
    /// two versions.
    #[error(
        "version {version} did not become ready and was not rolled back to version {previous}: an earlier change to version {coming} was interrupted and left parts of both versions"
    )]
    Mixed {
        /// The version that failed.
        version: schemas::Version,
        /// The version before the earlier change.
        previous: schemas::Version,
        /// The target version of the earlier change.
        coming: Box<schemas::Version>,
        /// The error of the new version.
        source: Box<Error>,
    },
    /// Nodes cannot pull an image, or the test pod could not be created. The deployment was not changed.
    #[error(transparent)]
    Unpulled(Box<FailedPull>),
    /// A placeholder of an object in the archive cannot be resolved.
    #[error("cannot replace a placeholder")]
    Placeholder(#[from] manifests::ResolveError),
    /// The stored record of a Helm release cannot be read.
    #[error("cannot read the Helm release in {0}")]
    Release(String, #[source] helm::StoredError),
    /// The rendered objects of a chart, or those that Helm has stored, cannot be read.
    #[error("cannot read the objects of the {0}")]
    Rendered(String, #[source] manifests::RenderedError),
    /// Helm failed to change a release, or could not be run.
    #[error("cannot change the {0} as planned")]
    Helm(String, #[source] helm::HelmError),
    /// A release did not become ready.
    #[error("the {release} did not become ready ({said})")]
    Unready {
        /// The release.
        release: String,
        /// The error of Helm.
        said: helm::HelmError,
        /// The problem of the release's objects while Helm waited, before it rolled them back.
        source: Box<kubernetes::Error>,
    },
    /// A webhook of the release is not served.
    #[error("{webhook} {policy}: {lacking}")]
    Unserved {
        /// The configuration.
        webhook: String,
        /// The failure policy of the webhook.
        policy: FailurePolicy,
        /// The missing part of the webhook's backend.
        lacking: String,
    },
    /// The sets that a Solution applies before its removal did not finish. Nothing of the Solution was removed.
    #[error("cannot remove {0}: the sets of manifests for the removal did not finish")]
    Cleanup(schemas::SolutionName, #[source] Box<kubernetes::Error>),
    /// The cluster has no namespace `kube-system`, whose uid identifies it in plans.
    #[error("cannot identify the cluster: it has no namespace kube-system")]
    NoIdentity,
    /// The plan contains a password, which must not be written to a file.
    #[error("cannot write the plan to a file: it contains a password")]
    Password,
    /// The plan contains the value of a sensitive parameter.
    #[error(
        "cannot write the plan to a file: it contains the value of the sensitive parameter `{0}`"
    )]
    Sensitive(schemas::ParameterName),
    /// The plan contains a secret value of a chart.
    #[error(
        "cannot write the plan to a file: it contains the value of `{0}`, which looks like a password"
    )]
    SecretValue(String),
    /// The system provides no random bytes.
    #[error("cannot generate the value of a parameter")]
    Random(#[source] getrandom::Error),
    /// The system provides no port on the loopback interface, no file, or no random bytes.
    #[error("cannot start the proxy between helm and the API server")]
    Gate(#[source] std::io::Error),
    /// The request is refused, possibly for multiple reasons.
    #[error("{0}")]
    Blocked(Box<crate::RemovalBlocked>),
    /// The request is refused.
    #[error(transparent)]
    Refused(#[from] crate::Blocker),
}

/// The reaction of the API server if a webhook does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It rejects the request.
    Fail,
    /// It accepts the request without the webhook.
    Ignore,
}

impl fmt::Display for FailurePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fail => "would reject every request that it matches",
            Self::Ignore => "would miss every request that it matches",
        })
    }
}

/// The reason why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// No image has this name.
    #[error("`$(image:{0})` is not an image of the Solution")]
    Unknown(String),
    /// Multiple images have this name, with different tags.
    #[error("`$(image:{0})` matches multiple images")]
    Ambiguous(String),
    /// The expression is invalid.
    #[error(transparent)]
    Grammar(#[from] ExpansionError),
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Registry(error) => Self::Registry(error),
            store::Error::Repository(error) => Self::Repository(error),
            store::Error::Refused(blocker) => Self::Refused(blocker.into()),
            other => Self::Store(other),
        }
    }
}

impl Error {
    /// Checks whether the error is about the registry.
    #[must_use]
    pub fn is_about_the_registry(&self) -> bool {
        matches!(
            self,
            Self::Registry(_) | Self::Store(_) | Self::Repository(_)
        )
    }
}

impl From<OwnershipConflict> for Error {
    fn from(object: OwnershipConflict) -> Self {
        Self::Refused(object.into())
    }
}

/// A test pod that could not pull its image.
#[derive(Debug)]
pub struct FailedPull {
    /// The image, by the address that nodes use.
    pub image: String,
    /// The architecture of the node; `None` if nodes cannot be read.
    pub architecture: Option<String>,
    /// The target namespace of the deployment.
    pub namespace: Namespace,
    /// The pull secret of the pod.
    pub secret: Option<KubernetesName>,
    /// The registry, by the address that nodes use.
    pub host: String,
    /// The certificate authorities of the registry in PEM, if the push was configured with them.
    pub authorities: Option<String>,
    /// The error of the pull.
    pub source: kubernetes::Error,
}

impl fmt::Display for FailedPull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot pull {} in a test pod", self.image)?;
        if let Some(architecture) = &self.architecture {
            write!(f, " on {architecture}")?;
        }
        f.write_str("; the deployment was not changed")
    }
}

impl error::Error for FailedPull {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

impl FailedPull {
    /// Returns the files that containerd lacks on every node, if the registry's authority is unknown there or the
    /// registry uses plain HTTP. The result is empty for other problems.
    #[must_use]
    pub fn files(&self) -> Vec<NodeFile> {
        let kubernetes::Error::Pull(failure) = &self.source else {
            return Vec::new();
        };
        match failure.stuck {
            PodProblem::Pull(PullProblem::UnknownAuthority) => {
                hosts(&self.host, "https", self.authorities.as_deref())
            }
            PodProblem::Pull(PullProblem::PlainHttp) => hosts(&self.host, "http", None),
            _ => Vec::new(),
        }
    }
}

/// Returns containerd's `hosts.toml` (see its docs/hosts.md) and the authority that it names. containerd ignores a file
/// without a `[host]` table (containerd issue 10027). The fields before that table are for the registry itself, which
/// containerd tries last. The authority must be set there too; otherwise a missing image would be reported as an
/// unknown authority.
fn hosts(host: &str, scheme: &str, ca: Option<&str>) -> Vec<NodeFile> {
    let directory = format!("/etc/containerd/certs.d/{host}");
    let url = format!("{scheme}://{host}");
    let [outer, inner] = match scheme {
        // The path is relative to the directory of `hosts.toml`.
        "https" => ["ca = \"site-ca.crt\"\n", "  ca = \"site-ca.crt\"\n"],
        _ => [""; 2],
    };
    let text = format!(
        "server = \"{url}\"\n{outer}\n[host.\"{url}\"]\n  capabilities = [\"pull\", \"resolve\"]\n{inner}"
    );
    let mut files = vec![NodeFile::new(format!("{directory}/hosts.toml"), text)];
    files.extend(ca.map(|ca| NodeFile::new(format!("{directory}/site-ca.crt"), ca)));
    files
}

/// An object that uses something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Use {
    /// The kind of the object.
    pub kind: String,
    /// The namespace of the object, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name of the object.
    pub name: String,
    /// The image that it runs. It is missing for other uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

impl Use {
    pub(crate) fn new(object: &Object) -> Self {
        Self {
            kind: object.gvk().kind.clone(),
            namespace: object.namespace().map(str::to_owned),
            name: object.name().to_owned(),
            image: None,
        }
    }
}

impl std::fmt::Display for Use {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// The effect of uses on a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvenIfUsed {
    /// Uses prevent the removal.
    Refuse,
    /// Uses do not prevent the removal, because the user has named the Solution or version to remove.
    Allow,
}

impl EvenIfUsed {
    /// Returns the blockers that remain.
    pub(crate) fn without(self, mut blockers: Vec<Blocker>) -> Vec<Blocker> {
        blockers.retain(|blocker| self == Self::Refuse || !blocker.is_use());
        blockers
    }
}

/// The reasons that prevent a removal. Nothing was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalBlocked {
    /// The blockers; never empty.
    pub blockers: Vec<Blocker>,
    /// The objects that use the Solution or version to remove.
    pub uses: Vec<Use>,
}

impl std::fmt::Display for RemovalBlocked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = self.blockers.iter().map(ToString::to_string).collect();
        f.write_str(&words.join("; "))
    }
}

/// Refuses the removal if there are blockers.
pub(crate) fn check_free(blockers: Vec<Blocker>, uses: &[Use]) -> Result<(), Error> {
    if blockers.is_empty() {
        return Ok(());
    }
    let uses = uses.to_vec();
    Err(Error::Blocked(Box::new(RemovalBlocked { blockers, uses })))
}

impl Blocker {
    /// Returns the blocker that these objects use something; `None` if there are none.
    pub(crate) fn used(name: &str, uses: &[Use]) -> Option<Self> {
        (!uses.is_empty()).then(|| Self::Used {
            name: name.to_owned(),
            objects: uses.iter().map(ToString::to_string).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use kubernetes::PullFailure;

    use super::*;

    fn files(problem: PullProblem, authorities: Option<&str>) -> Vec<String> {
        let unpulled = FailedPull {
            image: "r.test:5000/app@sha256:0".to_owned(),
            architecture: None,
            namespace: "prod".parse().unwrap(),
            secret: None,
            host: "r.test:5000".to_owned(),
            authorities: authorities.map(str::to_owned),
            source: kubernetes::Error::Pull(Box::new(PullFailure {
                pod: "pull".to_owned(),
                node: None,
                stuck: PodProblem::Pull(problem),
                detail: String::new(),
            })),
        };
        let files = unpulled.files();
        files.iter().flat_map(NodeFile::lines).collect()
    }

    #[test]
    fn nodes_are_told_of_the_authority_or_of_plain_http_and_of_nothing_else() {
        let hosts = |scheme: &str, ca: [&[&str]; 2]| {
            let path = "# /etc/containerd/certs.d/r.test:5000/hosts.toml";
            let server = format!("server = \"{scheme}://r.test:5000\"");
            let host = format!("[host.\"{scheme}://r.test:5000\"]");
            let first = [path, &server];
            let then = ["", &host, "  capabilities = [\"pull\", \"resolve\"]"];
            let lines = [&first[..], ca[0], &then, ca[1]].concat();
            lines.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let unknown = |authorities| files(PullProblem::UnknownAuthority, authorities);
        let twice = [&["ca = \"site-ca.crt\""][..], &["  ca = \"site-ca.crt\""]];
        let with_ca = hosts("https", twice);
        assert_eq!(unknown(None), with_ca);
        let beside = ["# /etc/containerd/certs.d/r.test:5000/site-ca.crt", "PEM"];
        let beside = beside.map(str::to_owned);
        assert_eq!(unknown(Some("PEM\n")), [&with_ca[..], &beside].concat());
        assert_eq!(
            files(PullProblem::PlainHttp, Some("PEM\n")),
            hosts("http", [&[]; 2])
        );
        assert!(files(PullProblem::Unauthorized, Some("PEM\n")).is_empty());
    }
}
