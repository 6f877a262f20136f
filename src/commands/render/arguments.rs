//! What `solution render` takes.

use std::path::PathBuf;

use clap::Args;
use importer::{HelmFrom, SecretValues};
use registry::RegistryAddress;
use schemas::{ApiName, EnvironmentName, KubernetesVersion, Namespace, Version};

use crate::args::{IncludedHelmArguments, ReadArguments, RegistryArguments, choose};
use crate::commands::import::SignerArguments;
use crate::commands::meant::Meant;
use crate::commands::parameters::ParameterArguments;
use crate::failure::Failure;

/// Print the objects of a deployment as YAML
#[derive(Args, Debug)]
#[command(after_help = "\
The objects are those that `solution import` or `solution deploy` would apply, with image addresses, the site \
configuration, patches, parameters and pull secrets. They do not include fields that only the server sets, or \
the records of an import. The command writes nothing to the cluster.

Objects with random values are marked, because they differ in each rendering. Values of Secrets and of sensitive \
parameters are hidden without --show-secrets. A value that a template computes from them, such as a hash, is not \
recognized as secret.

With --no-cluster, the cluster is empty and serves the kinds of Kubernetes and those of --api-versions. \
Capacity, nodes and storage are not checked.

A word without dots and slashes is the name of an imported Solution; anything else is a file.

Examples:
  solution render app.iso --key publisher.pub -e prod
  solution render example 1.0.0 -e prod --output-dir rendered
  solution render app.iso --key publisher.pub -e prod --no-cluster --kube-version 1.36 \\
      --site-file site.yaml --api-versions monitoring.coreos.com/v1/ServiceMonitor")]
pub(crate) struct Arguments {
    /// The archive (a file or a block device), or the name of an imported Solution
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: PathBuf,

    /// The version of the imported Solution [default: the newest imported version]
    pub(super) version: Option<Version>,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: EnvironmentName,

    /// The namespace of the environment [default: its namespace, else the name of the environment]
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    /// Write each object to a file in this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,

    /// Show the values of Secrets and sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
    #[arg(long, value_name = "ID", conflicts_with = "no_cluster")]
    pub(super) accept: Vec<String>,

    #[command(flatten)]
    pub(super) without: WithoutCluster,

    #[command(flatten)]
    pub(super) signers: SignerArguments,

    /// The registry for the images [default: from the site configuration, else where a version of the Solution was
    /// pushed]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) parameters: ParameterArguments,

    #[command(flatten)]
    pub(super) cluster: ReadArguments,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE")]
    pub(super) helm: Option<PathBuf>,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

/// What stands for a cluster where there is none.
#[derive(Args, Debug)]
pub(crate) struct WithoutCluster {
    /// Render for an empty cluster instead of contacting one
    #[arg(long, requires = "kube_version", conflicts_with_all = ["kubeconfig", "context", "timeout", "version"])]
    pub(super) no_cluster: bool,

    /// The Kubernetes version of the cluster
    #[arg(long, value_name = "VERSION", requires = "no_cluster")]
    pub(super) kube_version: Option<KubernetesVersion>,

    /// Additional API versions or kinds of the cluster, such as `example.com/v1/Shop`; may be repeated
    #[arg(
        long,
        value_name = "GROUP/VERSION[/KIND]",
        requires = "no_cluster",
        value_delimiter = ','
    )]
    pub(super) api_versions: Vec<ApiName>,

    /// The site configuration for all environments
    #[arg(long, value_name = "FILE", requires = "no_cluster")]
    pub(super) site_file: Option<PathBuf>,

    /// The site configuration of the environment
    #[arg(long, value_name = "FILE", requires = "no_cluster")]
    pub(super) environment_site_file: Option<PathBuf>,
}

impl Arguments {
    /// What is meant by the first words.
    pub(super) fn meant(&self) -> Result<Meant<'_>, Failure> {
        Meant::by(&self.what, self.version.as_ref())
    }

    /// Whether values are shown that nobody is to see.
    pub(super) fn secrets(&self) -> SecretValues {
        choose(self.show_secrets, SecretValues::Shown, SecretValues::Masked)
    }

    /// Whose `helm` renders charts.
    pub(super) fn helm_from(&self) -> HelmFrom {
        self.included.helm_from()
    }
}
