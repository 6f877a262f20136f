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

/// Print the objects that deploying a version would apply, as YAML
#[derive(Args, Debug)]
#[command(after_help = "\
For review, for policy engines, for whoever else is to apply them. The objects are those that
`solution import` or `solution deploy` would send, one by one: with the addresses of images, the
site's file, patches, parameters and pull secrets in them, and charts as Helm renders them. What only
the server adds is not in them, nor are the records that an import keeps. Nothing is written.

An object is marked in which a template or a parameter that is generated makes something random: it
differs in each rendering. Values of Secrets, and sensitive parameters as they stand, are left out
unless --show-secrets is given; what a template computes of one (a hash, an encoding) is not known
to be secret.

With --no-cluster an empty cluster is imagined, with Kubernetes' own kinds and those that
--api-versions names; whether the real one has room, nodes or storage is then not judged.

A word without dots and slashes is the name of an imported Solution, anything else is a file.

Examples:
  solution render app.iso --key publisher.pub -e prod
  solution render example 1.0.0 -e prod --output-dir rendered
  solution render app.iso --key publisher.pub -e prod --no-cluster --kube-version 1.36 \\
      --site-file site.yaml --api-versions monitoring.coreos.com/v1/ServiceMonitor")]
pub(crate) struct Arguments {
    /// An archive, or the name of an imported Solution
    #[arg(value_name = "ARCHIVE|NAME")]
    pub(super) what: PathBuf,

    /// The version of the imported Solution [default: the newest that is imported]
    pub(super) version: Option<Version>,

    /// The environment
    #[arg(short, long, value_name = "NAME")]
    pub(super) environment: EnvironmentName,

    /// The namespace of the environment [default: the one that it has, else its name]
    #[arg(short, long, value_name = "NAME")]
    pub(super) namespace: Option<Namespace>,

    /// Write each object to a file of this directory, which is new or empty
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,

    /// Show the values of Secrets and of sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Let the templates of charts read what they ask for outside of the environment, by the id shown when it is refused
    #[arg(long, value_name = "ID", conflicts_with = "no_cluster")]
    pub(super) accept: Vec<String>,

    #[command(flatten)]
    pub(super) without: WithoutCluster,

    #[command(flatten)]
    pub(super) signers: SignerArguments,

    /// Where the archive's images would be pushed [default: that of the site's file, else where a version of the Solution was
    /// pushed to]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    pub(super) registry: Option<RegistryAddress>,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) parameters: ParameterArguments,

    #[command(flatten)]
    pub(super) cluster: ReadArguments,

    /// The program `helm`, version 4, for charts [default: `HELM`, else `helm` on the path]
    #[arg(long, value_name = "FILE")]
    pub(super) helm: Option<PathBuf>,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

/// What stands for a cluster where there is none.
#[derive(Args, Debug)]
pub(crate) struct WithoutCluster {
    /// Ask no cluster, and imagine an empty one
    #[arg(long, requires = "kube_version", conflicts_with_all = ["kubeconfig", "context", "timeout", "version"])]
    pub(super) no_cluster: bool,

    /// The version of Kubernetes that it has
    #[arg(long, value_name = "VERSION", requires = "no_cluster")]
    pub(super) kube_version: Option<KubernetesVersion>,

    /// What it serves besides Kubernetes' own kinds; kinds count as those of namespaces
    #[arg(
        long,
        value_name = "GROUP/VERSION[/KIND]",
        requires = "no_cluster",
        value_delimiter = ','
    )]
    pub(super) api_versions: Vec<ApiName>,

    /// The site's file for all environments
    #[arg(long, value_name = "FILE", requires = "no_cluster")]
    pub(super) site_file: Option<PathBuf>,

    /// The site's file for the environment
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
