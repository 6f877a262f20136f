//! What `solution init` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemas::{SolutionName, Version};

use crate::args::{MirrorArguments, RegistryArguments};

/// The heading of what only says something about a release.
const WITH_FROM: &str = "Only with --from";

/// The heading of what only says something about a chart.
const WITH_CHART: &str = "Only with a chart";

/// The heading of what says something about either.
const WITH_EITHER: &str = "Only with --from or --chart";

/// Create a source tree to pack
#[derive(Args, Debug)]
#[command(after_help = "\
With --from and a release, the tree contains the manifests unchanged. solution.yaml lists their images and \
namespaces, and NOTES.md lists open decisions. With --as operator, the import deploys the operator of the \
release. The operator must be a Deployment that reads its configuration as an import provides it.

With --from and a helmfile (helmfile*.yaml), the tree contains the chart and the values of each release. The \
`helmfile` program expands templates with your environment and files. Hooks, secrets and other unsupported \
settings are refused.

With --from and an upstream archive (an ISO image by mkisofs or xorriso), the tree contains its images \
unchanged, the CRDs and roles of its operator, and its manifest with the upstream defaults. You sign the new \
archive.

With --chart, `solution pack` downloads a chart from a registry or repository; a local chart is copied. To \
package the rendered manifests instead, run `helm template NAME CHART --include-crds > release.yaml` and use \
--from release.yaml.

Examples:
  solution init shop
  solution init --from cert-manager.yaml
  solution init --from cert-manager-v1.17.0.yaml cert-manager --update
  solution init --from bundle.yaml prometheus --version 0.77.1
  solution init --from helmfile.yaml shop --version 1.0.0
  solution init --from example-solution-1.0.3.iso
  solution init --chart oci://ghcr.io/stefanprodan/charts/podinfo:6.7.0
  solution init --chart https://stefanprodan.github.io/podinfo#podinfo@6.7.0 \\
      --values values.yaml web
  solution init --chart ./podinfo-6.7.0.tgz web --version 1.0.0
  solution init --from shop-operator.yaml --as operator")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the name of the Solution [default with --from and --chart: the name of the
    /// release, archive or chart]
    #[arg(value_name = "DIR", required_unless_present_any = ["from", "chart"])]
    pub(super) directory: Option<PathBuf>,

    /// The release: YAML documents (a file or a directory), a helmfile, an upstream archive (ISO), or a chart as for
    /// --chart
    #[arg(long, value_name = "SOURCE")]
    pub(super) from: Option<PathBuf>,

    /// The chart: a directory, a .tgz file, `oci://HOST/PATH:VERSION`, `oci://HOST/PATH@sha256:DIGEST` or
    /// `https://REPOSITORY#NAME@VERSION`
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["from", "taken", "update", "deployment"])]
    pub(super) chart: Option<String>,

    /// A values file to copy for the chart; may be repeated, and later files take precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_CHART)]
    pub(super) values: Vec<PathBuf>,

    /// Package the release as manifests or as an operator [default: manifests]
    #[arg(long = "as", value_enum, value_name = "WHAT", help_heading = WITH_FROM)]
    pub(super) taken: Option<Taken>,

    /// Update the tree in DIR to this release, keep your edits (a merge with git) and show the changes
    #[arg(long, help_heading = WITH_FROM, requires = "from", conflicts_with_all = ["name", "deployment"])]
    pub(super) update: bool,

    /// The name of the Solution [default: from the archive, else DIR, else from the release or chart]
    #[arg(long, value_name = "NAME", help_heading = WITH_EITHER)]
    pub(super) name: Option<SolutionName>,

    /// The version of the Solution [default: from the release or chart]
    #[arg(long, value_name = "VERSION", help_heading = WITH_EITHER)]
    pub(super) version: Option<Version>,

    /// The Deployment of the operator, if the release has multiple Deployments (with --as operator)
    #[arg(long, value_name = "NAME", help_heading = WITH_FROM)]
    pub(super) deployment: Option<String>,

    #[command(flatten)]
    pub(super) helmfile: HelmfileArguments,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) mirrors: MirrorArguments,
}

/// How a helmfile is read.
#[derive(Args, Debug, Default)]
pub(crate) struct HelmfileArguments {
    /// The `helmfile` program [default: `HELMFILE`, else `helmfile` on the PATH]
    #[arg(long = "helmfile", value_name = "FILE", requires = "from")]
    pub(super) program: Option<PathBuf>,

    /// The helmfile environment [default: Helmfile's default]
    #[arg(long = "helmfile-environment", value_name = "NAME", requires = "from")]
    pub(super) environment: Option<String>,

    /// The labels of releases to select, such as `tier=front`; may be repeated to select more
    #[arg(long = "helmfile-selector", value_name = "LABELS", requires = "from")]
    pub(super) selectors: Vec<String>,
}

/// What a release becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Taken {
    /// The objects are applied unchanged
    #[default]
    Manifests,
    /// The import deploys the operator
    Operator,
}
