//! The arguments of `solution init`. The help has a section for each kind of source, because most flags apply to one
//! kind only. The choices for a source tree are here too, because `solution pack` creates trees with the same choices.

use std::path::{Path, PathBuf};

use clap::Args;
use release::{InitOptions, PublishedChart, SourceTree};
use schemas::{SolutionName, Version};
use sources::Remote;

use crate::args::{MirrorArguments, Output, RegistryArguments};

/// The heading of flags that apply only to a release.
const WITH_FROM: &str = "Only with --from";

/// The heading of flags that apply only to a chart.
const WITH_CHART: &str = "Only with a chart";

/// The heading of flags that apply to a release or a chart.
const WITH_EITHER: &str = "Only with --from or --chart";

/// Create a source tree to pack
#[derive(Args, Debug)]
#[command(after_help = "\
With --from and a release, the tree contains the manifests unchanged. solution.yaml lists their images and \
namespaces, and NOTES.md lists open decisions.

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
  solution init --chart ./podinfo-6.7.0.tgz web --version 1.0.0")]
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
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["from", "update"])]
    pub(super) chart: Option<String>,

    /// A values file to copy for the chart; may be repeated, and later files take precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_CHART)]
    pub(super) values: Vec<PathBuf>,

    /// Update the tree in DIR to this release, keep your edits (a merge with git) and show the changes
    #[arg(long, help_heading = WITH_FROM, requires = "from", conflicts_with = "name")]
    pub(super) update: bool,

    /// The name of the Solution [default: from the archive, else DIR, else from the release or chart]
    #[arg(long, value_name = "NAME", help_heading = WITH_EITHER)]
    pub(super) name: Option<SolutionName>,

    /// The version of the Solution [default: from the release or chart]
    #[arg(long, value_name = "VERSION", help_heading = WITH_EITHER)]
    pub(super) version: Option<Version>,

    /// The form of a release. Earlier versions had `operator` in addition to `manifests`
    #[arg(long = "as", value_name = "FORM", hide = true)]
    pub(super) form: Option<String>,

    /// The Deployment of an operator in earlier versions
    #[arg(long, value_name = "NAME", hide = true)]
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

/// The choices for a source tree, and the access to charts.
#[derive(Debug)]
pub(crate) struct TreeChoices<'a> {
    /// The name and version, if the user chose them.
    pub(crate) options: InitOptions,
    /// The values files of a chart; later files take precedence.
    pub(crate) values: &'a [PathBuf],
    /// The choices for a helmfile.
    pub(crate) helmfile: &'a HelmfileArguments,
    /// The ways to reach charts that are not on this disk.
    pub(crate) remote: Remote,
    /// The cache for downloaded charts.
    pub(crate) cache: &'a Path,
    /// The form of progress.
    pub(crate) output: Output,
}

/// A source tree that was created.
#[derive(Debug)]
pub(crate) struct CreatedTree {
    /// The directory.
    pub(crate) directory: PathBuf,
    /// The tree.
    pub(crate) tree: SourceTree,
    /// The chart that it packages, if it was created from one.
    pub(crate) chart: Option<PublishedChart>,
    /// The files that were written.
    pub(crate) written: Vec<PathBuf>,
}
