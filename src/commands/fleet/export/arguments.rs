//! What `solution fleet export` takes.

use std::path::PathBuf;

use clap::Args;
use schemas::{KubernetesName, Namespace};

use super::super::reading::ReadingArguments;
use super::tool::GitOpsTool;
use crate::failure::Failure;

/// Export a fleet for Flux, Argo CD or Rancher Fleet
#[derive(Args, Debug)]
#[command(after_help = "\
The command renders the objects of each cluster like `solution render`. It pushes them to the registry of the \
cluster as an OCI artifact, with missing images, and prints the objects with which the tool applies them. A \
Bundle for Rancher Fleet contains the objects itself. The command writes nothing to clusters.

If one cluster is blocked, the command pushes nothing. It reports which features of `fleet apply` the tool does \
not have (consent, order, image pull tests, records).

The command leaves out Secrets with values, and lists them with their keys: create them in the clusters. A \
sensitive value in another object blocks the cluster.

Exit codes: 1 a cluster was refused, else 3 a cluster was skipped.

Examples:
  solution fleet export fleet.yaml --to flux --key publisher.pub --dry-run
  solution fleet export fleet.yaml --to flux --key publisher.pub --output-dir clusters
  solution fleet export fleet.yaml --to argocd --group prod --key publisher.pub \\
      | kubectl apply -f -")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) reading: ReadingArguments,

    /// The tool to export for
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(super) to: GitOpsTool,

    /// Write CLUSTER.yaml for each cluster to this directory; existing files are replaced [default: standard output]
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(super) output_dir: Option<PathBuf>,

    /// The namespace of the objects [default: flux-system, argocd or fleet-default]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The Secret (kubernetes.io/dockerconfigjson) in that namespace with Flux's registry credentials
    #[arg(long, value_name = "NAME")]
    pub(super) login_secret: Option<KubernetesName>,

    /// Show what would be pushed, and push nothing
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Skip clusters that cannot be reached; the exit code is then 3
    #[arg(long)]
    pub(super) skip_unreachable: bool,
}

impl Arguments {
    /// The namespace of the tool's objects.
    pub(super) fn namespace(&self) -> Namespace {
        let named = self.namespace.clone();
        named.unwrap_or_else(|| self.to.namespace())
    }

    /// Makes sure that nothing is asked for that the tool does not have.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.login_secret.is_some() && self.to != GitOpsTool::Flux {
            let name = self.to.name();
            let other = format!("cannot use `--login-secret` with {name}: it applies only to Flux");
            return Err(Failure::usage(other).hint("omit it"));
        }
        Ok(())
    }
}
