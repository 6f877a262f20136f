//! A pod that could not pull, and what nodes must be told of the site's registry, where they cannot pull from it.

use std::{error, fmt};

use deployer::{PullProblem, Stuck};
use schemas::{KubernetesName, Namespace};
use shelf::NodeFile;

/// A pod that did not come to its image.
#[derive(Debug)]
pub struct Unpulled {
    /// The image, as nodes know it.
    pub image: String,
    /// The architecture of the node; none where nodes cannot be seen.
    pub architecture: Option<String>,
    /// The namespace that the version was to be deployed in.
    pub namespace: Namespace,
    /// The Secret that the pod was to pull with.
    pub secret: Option<KubernetesName>,
    /// The registry, as nodes know it.
    pub host: String,
    /// Its certificate authorities, PEM, as far as whoever pushes was told of them.
    pub authorities: Option<String>,
    /// The error that the pull failed with.
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
    /// The files that containerd lacks on every node: where the registry's authority is not known there, or it is asked
    /// by HTTPS and speaks plain HTTP. None where files are not what is missing.
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

/// containerd's `hosts.toml` (its docs/hosts.md), and beside it the authority that it names. A file without any `[host]` is
/// not read (containerd's issue 10027). What stands before it is for the registry as such, which is asked last: were the
/// authority not named there too, an image that is missing would be told as an authority that is not known.
fn hosts(host: &str, scheme: &str, ca: Option<&str>) -> Vec<NodeFile> {
    let directory = format!("/etc/containerd/certs.d/{host}");
    let url = format!("{scheme}://{host}");
    let [outer, inner] = match scheme {
        // Beside this file.
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
