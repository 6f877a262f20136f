//! What `solution pack` takes.

use std::path::{Path, PathBuf};

use clap::Args;

use super::compression::Compression;
use super::creation::CreationArguments;
use super::sbom::SbomArguments;
use super::size::Size;
use super::versioned::VersionedFile;
use crate::args::{FindingsArguments, MirrorArguments, PassphraseArguments, RegistryArguments};
use crate::commands::validate::judging::AskedJudging;
use crate::failure::Failure;

/// Pack a source tree, a chart or a release into a signed archive
#[derive(Args, Debug)]
#[command(after_help = "\
SOURCE is a Helm chart (a directory, a .tgz file, `oci://HOST/PATH:VERSION` or \
`https://REPOSITORY#NAME@VERSION`), a release (a YAML file or a directory of them), a helmfile or an upstream \
archive (ISO). `pack` then creates a temporary source tree as `solution init` does, adds the images, and packs \
it. To edit the tree, keep it with --save-source. A directory with solution.yaml is always a source tree.

The same inputs give the same bytes on any machine. SOURCE_DATE_EPOCH sets the time in the image; otherwise it \
is 1980-01-01.

Images from registries (`source: docker://HOST/REPOSITORY:TAG` or `@sha256:…`) are cached, and the next run \
continues interrupted downloads. Credentials are those of docker or podman. HTTPS_PROXY, http_proxy and NO_PROXY \
apply. Images from an engine (`docker-daemon:REF`) come from the socket of Docker or Podman, or from \
DOCKER_HOST.

Examples:
  solution pack oci://ghcr.io/stefanprodan/charts/podinfo:6.7.0 --key a.key
  solution pack ./podinfo-6.7.0.tgz --values values.yaml --key a.key
  solution pack cert-manager.yaml --key a.key --save-source cert-manager
  solution pack shop --key a.key --key b.key
  solution pack shop -o draft.iso --unsigned
  solution pack shop --check --files --output json
  solution pack shop --check --output sarif > solution.sarif
  solution pack shop --check --ignore 'practice.latest=the tag is signed'
  solution pack shop --add-images --check
  solution pack shop --key a.key --keyring charts.gpg --with-referrers
  solution pack shop --key a.key --include-helm linux-amd64/helm --include-docs
  solution pack shop --key a.key --registry-mirror docker.io=cache.example/hub")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Arguments {
    /// The source tree, a directory with solution.yaml [default: .], or the chart or release to create it from
    #[arg(value_name = "DIR|SOURCE")]
    pub(super) source: Option<PathBuf>,

    #[command(flatten)]
    pub(super) creation: CreationArguments,

    /// The archive to write [default: NAME-VERSION.iso in the current directory]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,

    /// A secret key (PEM) to sign with; may be repeated
    #[arg(
        long = "key",
        value_name = "KEY",
        required_unless_present_any = ["unsigned", "check", "add_images"],
        conflicts_with = "unsigned"
    )]
    pub(super) keys: Vec<PathBuf>,

    #[command(flatten)]
    pub(super) passphrase: PassphraseArguments,

    /// Leave the archive unsigned, to be signed later with `solution sign`
    #[arg(long)]
    pub(super) unsigned: bool,

    /// Show the contents and findings, and write no archive
    #[arg(long)]
    pub(super) check: bool,

    /// List every file with its size and digest
    #[arg(long, requires = "check")]
    pub(super) files: bool,

    /// Add the missing images of objects and charts to solution.yaml, and write no archive. With --check, also look
    /// up all images in the registries
    #[arg(long, conflicts_with_all = ["out", "keys", "unsigned", "files", "force", "no_render", "include_helm", "include_tool", "include_docs", "sarif", "junit"])]
    pub(super) add_images: bool,

    /// Show where charts name IMAGE (a reference, a repository, or the end of one) and how it is recognized
    #[arg(long, value_name = "IMAGE", conflicts_with = "no_render")]
    pub(super) why: Option<String>,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE", conflicts_with = "no_render")]
    pub(super) helm: Option<PathBuf>,

    /// Do not render charts, and do not check their images
    #[arg(long)]
    pub(super) no_render: bool,

    /// Verify the provenance of each chart with the public keys in this keyring (from `gpg --export`)
    #[arg(long, value_name = "FILE", conflicts_with = "no_render")]
    pub(super) keyring: Option<PathBuf>,

    /// Include this `helm` program (version 4 for Linux on amd64 or arm64) for --use-included-helm; may be repeated.
    /// VERSION is for a program that cannot run on this machine
    #[arg(long, value_name = "[VERSION=]FILE")]
    pub(super) include_helm: Vec<VersionedFile>,

    /// Include this `solution` program for sites that do not have it, in the same way as --include-helm
    #[arg(long, value_name = "[VERSION=]FILE")]
    pub(super) include_tool: Vec<VersionedFile>,

    /// Include the documentation of `solution` as one HTML page [default: that of the package]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    #[expect(clippy::option_option, reason = "a flag with an optional value")]
    pub(super) include_docs: Option<Option<PathBuf>>,

    /// Include the signatures and other referrers of the images, by cosign and OCI 1.1
    #[arg(long)]
    pub(super) with_referrers: bool,

    #[command(flatten)]
    pub(super) sbom: SbomArguments,

    /// Replace the archive if it exists
    #[arg(long)]
    pub(super) force: bool,

    /// Compress uncompressed layers of `docker-archive:` and `docker-daemon:` images
    #[arg(long, value_enum, default_value_t, value_name = "CODING")]
    pub(super) compression: Compression,

    /// The cache for downloaded, unpacked and compressed content [default: `solution` in `XDG_CACHE_HOME`, else in
    /// ~/.cache]
    #[arg(long, value_name = "DIR")]
    pub(super) cache_dir: Option<PathBuf>,

    /// Do not cache content for the next run
    #[arg(long, conflicts_with = "cache_dir")]
    pub(super) no_cache: bool,

    /// The limit for the unpacked size of all sources, such as `500M`, `10G` or `10Gi`
    #[arg(long, value_name = "SIZE", default_value_t = Size(sources::UNPACK_LIMIT))]
    pub(super) unpack_limit: Size,

    #[command(flatten)]
    pub(super) reach: RegistryArguments,

    #[command(flatten)]
    pub(super) mirrors: MirrorArguments,

    #[command(flatten)]
    pub(super) findings: FindingsArguments,
}

impl Arguments {
    /// Whether anything is checked.
    pub(crate) fn has_findings(&self) -> bool {
        !self.add_images
    }

    /// The judging of findings: also by the policy next to `solution.yaml`.
    pub(super) fn judging(&self, directory: &Path) -> Result<AskedJudging, Failure> {
        AskedJudging::read(&self.findings, Some(directory))
    }
}
