//! What `solution registry mirrors` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use registry::RegistryAddress;
use schemas::{SolutionName, Version};
use shelf::Format;

use super::super::image_map::LayoutArguments;
use crate::args::{ReadArguments, RegistryArguments, TrustArguments};

/// Print the registry mirror configuration for nodes
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("archive")),
    after_help = "\
The configuration is for images whose `ref` names another registry. An import also pushes them to \
`<registry>/<prefix>/mirror/<host of ref>/<path of ref>`, so the configuration is the same for all versions. \
Nodes use the pull secret of the pod for the host of the `ref`, or their own credentials.

Examples:
  solution registry mirrors
  solution registry mirrors example 1.0.0 --format crio
  solution registry mirrors --format openshift | oc apply -f -
  solution registry mirrors --archive app.iso --key publisher.pub \\
      --registry registry.nodes/apps --ca-file ca.pem"
)]
pub(crate) struct Arguments {
    /// The name of the Solution [default: all imported Solutions]
    #[arg(conflicts_with = "archive")]
    pub(super) solution: Option<SolutionName>,

    /// The version [default: all imported versions]
    pub(super) version: Option<Version>,

    /// The container runtime of the nodes
    #[arg(long, value_name = "RUNTIME", value_enum, default_value_t = Runtime::Containerd)]
    pub(super) format: Runtime,

    /// Use this archive (a file or a block device) before it is imported
    #[arg(long, value_name = "FILE", requires = "registry")]
    pub(super) archive: Option<PathBuf>,

    /// The registry that nodes will pull from
    #[arg(long, value_name = "HOST[/PREFIX]", requires = "archive")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) layout: LayoutArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) trust: TrustArguments,

    #[command(flatten)]
    pub(super) cluster: ReadArguments,
}

/// What nodes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Runtime {
    /// hosts.toml for each registry
    Containerd,
    /// registries.yaml, also for RKE2
    K3s,
    /// A drop-in file for registries.conf, also for podman
    Crio,
    /// `ImageDigestMirrorSet` and `ImageTagMirrorSet` objects
    Openshift,
}

impl Runtime {
    pub(super) fn format(self) -> Format {
        match self {
            Self::Containerd => Format::Containerd,
            Self::K3s => Format::K3s,
            Self::Crio => Format::Crio,
            Self::Openshift => Format::Openshift,
        }
    }

    /// What is to be done with the files.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Containerd => {
                "containerd reads these files at every pull, if `config_path` of its registry configuration is /etc/containerd/certs.d"
            }
            Self::K3s => {
                "merge this into the file of each node (RKE2: /etc/rancher/rke2/registries.yaml), and restart k3s there"
            }
            Self::Crio => "CRI-O reads these files when it is reloaded (`systemctl reload crio`)",
            Self::Openshift => {
                "OpenShift updates nodes one after the other; put the registry's certificate authority into `additionalTrustedCA` of image.config.openshift.io/cluster"
            }
        }
    }
}
