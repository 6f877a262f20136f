//! What `solution init` takes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemas::{SolutionName, Version};

use crate::args::{MirrorArguments, RegistryArguments};

/// The heading of what only says something about a release.
const WITH_FROM: &str = "Only with --from";

/// The heading of what only says something about a chart.
const WITH_CHART: &str = "Only with --chart";

/// The heading of what says something about either.
const WITH_EITHER: &str = "Only with --from or --chart";

/// Write a ready-to-pack source tree: from a template, from the manifests of a release, from a helmfile, from an archive of upstream's, or for a Helm chart
#[derive(Args, Debug)]
#[command(after_help = "\
With --from, the release's rendered manifests lie in the tree as they are, and solution.yaml lists every image that \
they name, with where it comes from, and the release's namespaces. If something is left to decide, NOTES.md says what.

With --chart, the tree carries a Helm chart as it is: one in a registry or repository is only named, and downloaded when \
packing; one on this disk is copied. To carry what it renders to instead: \
helm template NAME CHART --include-crds > release.yaml, and --from release.yaml

With --from and a helmfile (helmfile*.yaml, without `kind`), the tree carries the chart and values of each release that it lists, as the program `helmfile` says: it expands templates, \
with your environment and your files. Hooks, secrets and whatever else is not taken over are refused.

With --from and an archive of upstream's (an ISO image by mkisofs or xorriso), the tree has its images byte for byte, its operator's CRDs \
and roles, and what its manifest says with upstream's defaults. Whoever packs the tree signs it.

With --as operator, the release has a Deployment that takes its configuration as imports give it, and an import runs it as solution.yaml says; \
NOTES.md says what was chosen, what to decide, and what of the release was left out.

Examples:
  solution init shop
  solution init --from cert-manager.yaml
  solution init --from cert-manager-v1.17.0.yaml cert-manager --update
  solution init --from bundle.yaml prometheus --version 0.77.1
  solution init --from helmfile.yaml shop --version 1.0.0
  solution init --from example-solution-1.0.3.iso
  solution init --chart oci://ghcr.io/stefanprodan/charts/podinfo:6.7.0
  solution init --chart https://stefanprodan.github.io/podinfo#podinfo@6.7.0 --values values.yaml web
  solution init --chart ./podinfo-6.7.0.tgz web --version 1.0.0
  solution init --from shop-operator.yaml --as operator")]
pub(crate) struct Arguments {
    /// The directory; its name becomes the Solution's [default with --from and --chart: the name of the release, archive or chart]
    #[arg(value_name = "DIR", required_unless_present_any = ["from", "chart"])]
    pub(super) directory: Option<PathBuf>,

    /// The release: a file of YAML documents, or a directory of them; a helmfile; or an archive of upstream's (ISO)
    #[arg(long, value_name = "FILE|DIR")]
    pub(super) from: Option<PathBuf>,

    /// The chart: a directory, a packed chart (.tgz), `oci://HOST/PATH:VERSION`, `oci://HOST/PATH@sha256:DIGEST`, or
    /// `https://REPOSITORY#NAME@VERSION` from a repository of charts
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["from", "taken", "update", "deployment"])]
    pub(super) chart: Option<String>,

    /// A file with values for the chart, which is copied; may be repeated, and a later one takes precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_CHART, requires = "chart")]
    pub(super) values: Vec<PathBuf>,

    /// What the release becomes: all its objects as they are, or an operator that an import runs [default: manifests]
    #[arg(long = "as", value_enum, value_name = "WHAT", help_heading = WITH_FROM)]
    pub(super) taken: Option<Taken>,

    /// Renew the tree in DIR, made of an earlier release, for this one: merge it with what was edited, by git, and show what changed
    #[arg(long, help_heading = WITH_FROM, requires = "from", conflicts_with_all = ["name", "deployment"])]
    pub(super) update: bool,

    /// The Solution's name [default: what an archive says; else that of DIR, else what the release or chart says]
    #[arg(long, value_name = "NAME", help_heading = WITH_EITHER)]
    pub(super) name: Option<SolutionName>,

    /// The Solution's version [default: what the release or chart says]
    #[arg(long, value_name = "VERSION", help_heading = WITH_EITHER)]
    pub(super) version: Option<Version>,

    /// With --as operator: the Deployment that is the operator, if the release has several
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
#[derive(Args, Debug)]
pub(super) struct HelmfileArguments {
    /// The program `helmfile` [default: the one that HELMFILE names, else the first on the path]
    #[arg(long = "helmfile", value_name = "FILE", requires = "from")]
    pub(super) program: Option<PathBuf>,

    /// The environment of the helmfile that is meant [default: Helmfile's own choice]
    #[arg(long = "helmfile-environment", value_name = "NAME", requires = "from")]
    pub(super) environment: Option<String>,

    /// Labels of the releases that are meant, such as `tier=front`; may be repeated, and each chooses more
    #[arg(long = "helmfile-selector", value_name = "LABELS", requires = "from")]
    pub(super) selectors: Vec<String>,
}

/// What a release becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Taken {
    /// Its objects are carried and applied as they are
    #[default]
    Manifests,
    /// Its operator is run by the import
    Operator,
}
