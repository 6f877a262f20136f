//! What `solution fleet export` takes.

use std::path::PathBuf;

use clap::Args;
use schemas::{KubernetesName, Namespace};

use super::super::reading::ReadingArguments;
use super::tool::GitOpsTool;
use crate::failure::Failure;

/// Hand what a fleet's file says over to Flux, Argo CD or Rancher Fleet
#[derive(Args, Debug)]
#[command(after_help = "\
For each cluster and each Solution there the objects are rendered as `solution render` does it, with
the values that the file has for the cluster. They are pushed as an OCI artifact to the cluster's
registry, with the images that it lacks, and the objects are printed by which the tool applies them:
an OCIRepository and a Kustomization (flux), an Application (argocd), or a Bundle that holds
everything by itself (fleet). Nothing is written to any cluster.

As with `apply`, one cluster in which something is in the way keeps all as they are. What the tool
does not do (consent, order, proof of pulls, records) is told.

No Secret with values leaves this machine: each is left out, and named with its keys, to be made in
the cluster. An object of another kind with a sensitive value in it is in the way.

Exits with 1 if a cluster is refused, else with 3 if one was left out.

Examples:
  solution fleet export fleet.yaml --to flux --key publisher.pub --dry-run
  solution fleet export fleet.yaml --to flux --key publisher.pub --output-dir clusters
  solution fleet export fleet.yaml --to argocd --group prod --key publisher.pub | kubectl apply -f -")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) reading: ReadingArguments,

    /// The tool
    #[arg(long, value_enum, value_name = "TOOL")]
    pub(super) to: GitOpsTool,

    /// Write the objects to files of this directory, CLUSTER.yaml for each cluster, in the place of those that are there
    #[arg(long, value_name = "DIR", conflicts_with = "dry_run")]
    pub(super) output_dir: Option<PathBuf>,

    /// The namespace of the objects [default: flux-system, argocd or fleet-default]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// The Secret in that namespace with which Flux logs in to the registry (kubernetes.io/dockerconfigjson)
    #[arg(long, value_name = "NAME")]
    pub(super) login_secret: Option<KubernetesName>,

    /// Stop before anything is pushed, and show what would be
    #[arg(long)]
    pub(super) dry_run: bool,

    /// Leave out clusters that cannot be reached; they are named, and the exit code is 3
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
