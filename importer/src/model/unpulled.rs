//! The error of a pod that could not pull its image ([`Unpulled`]), and the containerd files that nodes lack for the
//! site's registry.

use std::{error, fmt};

use deployer::{PullProblem, Stuck};
use schemas::{KubernetesName, Namespace};
use shelf::NodeFile;

/// A test pod that could not pull its image.
#[derive(Debug)]
pub struct Unpulled {
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
    pub source: deployer::Error,
}

impl fmt::Display for Unpulled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot pull {} in a test pod", self.image)?;
        if let Some(architecture) = &self.architecture {
            write!(f, " on {architecture}")?;
        }
        f.write_str("; the deployment was not changed")
    }
}

impl error::Error for Unpulled {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Unpulled {
    /// Returns the files that containerd lacks on every node, if the registry's authority is unknown there or the
    /// registry uses plain HTTP. The result is empty for other problems.
    #[must_use]
    pub fn files(&self) -> Vec<NodeFile> {
        let deployer::Error::Pull(failure) = &self.source else {
            return Vec::new();
        };
        match failure.stuck {
            Stuck::Pull(PullProblem::UnknownAuthority) => {
                hosts(&self.host, "https", self.authorities.as_deref())
            }
            Stuck::Pull(PullProblem::PlainHttp) => hosts(&self.host, "http", None),
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
    let mut files = vec![NodeFile::at(format!("{directory}/hosts.toml"), text)];
    files.extend(ca.map(|ca| NodeFile::at(format!("{directory}/site-ca.crt"), ca)));
    files
}

#[cfg(test)]
mod tests {
    use deployer::PullFailure;

    use super::*;

    fn files(problem: PullProblem, authorities: Option<&str>) -> Vec<String> {
        let unpulled = Unpulled {
            image: "r.test:5000/app@sha256:0".to_owned(),
            architecture: None,
            namespace: "prod".parse().unwrap(),
            secret: None,
            host: "r.test:5000".to_owned(),
            authorities: authorities.map(str::to_owned),
            source: deployer::Error::Pull(Box::new(PullFailure {
                pod: "pull".to_owned(),
                node: None,
                stuck: Stuck::Pull(problem),
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
