//! What `solution pack` takes.

use std::path::PathBuf;

use clap::Args;

use super::compression::Compression;
use super::sbom::SbomArguments;
use super::size::Size;
use super::versioned::VersionedFile;
use crate::args::{FindingsArguments, MirrorArguments, PassphraseArguments, RegistryArguments};
use crate::commands::validate::judging::AskedJudging;
use crate::failure::Failure;
use crate::review::Checked;

/// Pack images, operator and manifest into one signed ISO image
#[derive(Args, Debug)]
#[command(after_help = "\
The same inputs give the same bytes: on any machine, in any directory. SOURCE_DATE_EPOCH sets the time \
in the image, otherwise it is 1980-01-01.

Images of registries (`source: docker://HOST/REPOSITORY:TAG` or `@sha256:…`) are downloaded into a \
cache: an interrupted download continues in the next run, and what did not change is not downloaded again. \
Logins are those of docker or podman; HTTPS_PROXY, http_proxy and NO_PROXY are respected. Images of an \
engine (`docker-daemon:REF`) come from Docker's or podman's socket, which DOCKER_HOST can name.

Examples:
  solution pack -o app.iso --key publisher.key
  solution pack shop -o shop-1.0.0.iso --key a.key --key b.key
  solution pack shop -o draft.iso --unsigned
  solution pack shop --check
  solution pack shop --check --files --output json
  solution pack shop --check --output sarif > solution.sarif
  solution pack shop --check --ignore 'practice.latest=the tag is signed'
  solution pack shop --add-images
  solution pack shop --add-images --check
  solution pack shop -o shop.iso --key a.key --keyring charts.gpg
  solution pack shop -o shop.iso --key a.key --include-helm linux-amd64/helm --include-tool linux-amd64/solution
  solution pack shop -o shop.iso --key a.key --with-referrers
  solution pack shop -o shop.iso --key a.key --sbom spdx
  solution pack shop -o app.iso --key publisher.key --compression zstd --cache-dir /var/cache/solution
  solution pack shop -o shop.iso --key a.key --ca-file registry-ca.pem
  solution pack shop -o shop.iso --key a.key --registry-mirror docker.io=cache.example/hub")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Arguments {
    /// The directory with solution.yaml
    #[arg(default_value = ".", value_name = "DIR")]
    pub(super) directory: PathBuf,

    /// The archive to write
    #[arg(
        short = 'o',
        long,
        value_name = "FILE",
        required_unless_present_any = ["check", "add_images"]
    )]
    pub(super) out: Option<PathBuf>,

    /// A secret key (PEM, perhaps encrypted) to sign with; may be repeated
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

    /// Show what would go in, and whether it would be accepted, and write no archive
    #[arg(long)]
    pub(super) check: bool,

    /// Show every file with its size and digest
    #[arg(long, requires = "check")]
    pub(super) files: bool,

    /// Write the images that objects and charts need and solution.yaml does not list into it, and write no archive. With
    /// `--check`, ask the registries for all images too, and report everything that a pack would refuse
    #[arg(long, conflicts_with_all = ["out", "keys", "unsigned", "files", "force", "no_render", "include_helm", "include_tool", "sarif", "junit"])]
    pub(super) add_images: bool,

    /// Show every place in the charts that names IMAGE, and why it counts: a reference, a repository, or the end of one
    #[arg(long, value_name = "IMAGE", conflicts_with = "no_render")]
    pub(super) why: Option<String>,

    /// The program `helm`, version 4, for charts [default: `HELM`, else `helm` on the path]
    #[arg(long, value_name = "FILE", conflicts_with = "no_render")]
    pub(super) helm: Option<PathBuf>,

    /// Render no charts, and so do not look for the images that they need
    #[arg(long)]
    pub(super) no_render: bool,

    /// Have `helm` verify that each chart was signed by one of the public keys in this keyring (as `gpg --export` writes
    /// it), by its provenance file
    #[arg(long, value_name = "FILE", conflicts_with = "no_render")]
    pub(super) keyring: Option<PathBuf>,

    /// Include this program `helm`, version 4, for sites that have none: an executable for Linux on amd64 or arm64, as its
    /// project publishes it; may be repeated, once for each. One that cannot run here has the version of the one that can, or
    /// the one that VERSION says. A site runs it only with `--use-included-helm`
    #[arg(long, value_name = "[VERSION=]FILE")]
    pub(super) include_helm: Vec<VersionedFile>,

    /// Include the tool itself likewise, for sites that do not have it yet; README.txt says how to take it from the medium
    #[arg(long, value_name = "[VERSION=]FILE")]
    pub(super) include_tool: Vec<VersionedFile>,

    /// Bring signatures and what else refers to the images too, as far as registries and OCI layouts have any: cosign's, and
    /// referrers by OCI 1.1
    #[arg(long)]
    pub(super) with_referrers: bool,

    #[command(flatten)]
    pub(super) sbom: SbomArguments,

    /// Replace the archive if it exists
    #[arg(long)]
    pub(super) force: bool,

    /// What to do with layers that are not compressed, of `docker-archive:` and `docker-daemon:` sources; a registry's
    /// or a layout's images are never changed
    #[arg(long, value_enum, default_value_t, value_name = "CODING")]
    pub(super) compression: Compression,

    /// Where downloaded, unpacked and compressed contents are kept for the next run [default: `solution` in
    /// `XDG_CACHE_HOME` or `~/.cache`]
    #[arg(long, value_name = "DIR")]
    pub(super) cache_dir: Option<PathBuf>,

    /// Keep nothing for the next run
    #[arg(long, conflicts_with = "cache_dir")]
    pub(super) no_cache: bool,

    /// How much all sources together may unpack to, such as `500M`, `10G` or `10Gi`
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

    /// How what is found is judged: also by the policy beside `solution.yaml`.
    pub(super) fn judging(&self) -> Result<AskedJudging, Failure> {
        AskedJudging::read(&self.findings, Some(&self.directory))
    }

    /// What is checked.
    pub(super) fn checked(&self) -> Checked<'_> {
        Checked::Tree(&self.directory)
    }
}
