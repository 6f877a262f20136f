//! The objects by which a tool applies what is exported of a deployment.

pub(super) mod argocd;
pub(super) mod flux;
pub(super) mod rancher;

use schemas::{ClusterName, Digest, KubernetesName, Namespace};

/// The objects of a tool, as far as they are the same for all tools.
pub(super) struct Consumer<'a> {
    /// Their name.
    pub(super) name: String,
    /// The namespace that they lie in.
    pub(super) namespace: Namespace,
    /// The cluster that the deployment is for.
    pub(super) cluster: &'a ClusterName,
    /// The namespace of the environment there.
    pub(super) environment: &'a Namespace,
    /// The names of those that come before.
    pub(super) behind: Vec<String>,
    /// The Secret with which the tool logs in to the registry.
    pub(super) login_secret: Option<&'a KubernetesName>,
}

/// What is pushed, as a tool finds it.
pub(super) struct ArtifactSource<'a> {
    /// The repository with its host.
    pub(super) address: &'a str,
    /// The digest of the artifact.
    pub(super) digest: Digest,
    /// The certificate authorities (PEM) that signed the registry's certificate; nothing if they are known anyway.
    pub(super) authorities: String,
    /// Whether the registry has no TLS.
    pub(super) plain_http: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn consumer<'a>(
        cluster: &'a ClusterName,
        environment: &'a Namespace,
    ) -> Consumer<'a> {
        Consumer {
            name: "shop".to_owned(),
            namespace: "gitops".parse().unwrap(),
            cluster,
            environment,
            behind: vec!["cart".to_owned()],
            login_secret: None,
        }
    }

    pub(super) fn source() -> ArtifactSource<'static> {
        ArtifactSource {
            address: "registry.test/apps/shop",
            digest: Digest::new([7; 32]),
            authorities: String::new(),
            plain_http: false,
        }
    }
}
