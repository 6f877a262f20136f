//! The arguments of `solution pack`, with the types of their values. Invalid values are refused while the command line
//! is parsed, before anything is packed.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use packager::{ProgramFile, ProgramKind, SbomRequest};
use sbom::SbomFormat;
use schemas::{SolutionName, Tag, Version};

use crate::args::{FindingsArguments, MirrorArguments, PassphraseArguments, RegistryArguments};
use crate::commands::validate::check::JudgingOptions;
use crate::environment;
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
    /// Returns true if anything is checked.
    pub(crate) fn has_findings(&self) -> bool {
        !self.add_images
    }

    /// Returns the options for findings, including the policy next to `solution.yaml`.
    pub(super) fn judging(&self, directory: &Path) -> Result<JudgingOptions, Failure> {
        JudgingOptions::read(&self.findings, Some(directory))
    }
}

/// The compression of layers that are not compressed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(super) enum Compression {
    /// No compression
    #[default]
    None,
    /// For all container engines
    Gzip,
    /// Smaller, and faster to unpack
    Zstd,
}

impl From<Compression> for sources::Compression {
    fn from(compression: Compression) -> Self {
        match compression {
            Compression::None => Self::None,
            Compression::Gzip => Self::Gzip,
            Compression::Zstd => Self::Zstd,
        }
    }
}

/// The heading of flags that need a source to create a tree from.
const WITH_SOURCE: &str = "Only with SOURCE";

/// The choices for the source tree that is created.
#[derive(Args, Debug)]
pub(super) struct CreationArguments {
    /// The name of the Solution [default: from SOURCE]
    #[arg(long, value_name = "NAME", help_heading = WITH_SOURCE)]
    pub(super) name: Option<SolutionName>,

    /// The version of the Solution [default: from SOURCE]
    #[arg(long, value_name = "VERSION", help_heading = WITH_SOURCE)]
    pub(super) version: Option<Version>,

    /// A values file to package with the chart; may be repeated, and later files take precedence
    #[arg(long, value_name = "FILE", help_heading = WITH_SOURCE)]
    pub(super) values: Vec<PathBuf>,

    /// Keep the source tree in this directory, which must be empty or not exist
    #[arg(long, value_name = "DIR", help_heading = WITH_SOURCE)]
    pub(super) save_source: Option<PathBuf>,
}

/// Returns the documentation page to include: the named one, else that of the package.
pub(super) fn documentation(arguments: &Arguments) -> Result<Option<PathBuf>, Failure> {
    const PAGE: &str = "share/doc/solution/solution.html";
    let Some(named) = &arguments.include_docs else {
        return Ok(None);
    };
    if named.is_some() {
        return Ok(named.clone());
    }
    let places = environment::installed(&environment::own_program(), PAGE);
    let found = places.into_iter().find(|page| page.is_file());
    found.map(Some).ok_or_else(|| {
        let error = anyhow!("cannot include the documentation: `{PAGE}` not found");
        Failure::no(error).hint("install a package of `solution`, which contains it, or run `make book` in the source tree and use `--include-docs=target/solution.html`")
    })
}

/// Returns the programs to include.
pub(super) fn programs(arguments: &Arguments) -> Vec<ProgramFile> {
    let helm = arguments.include_helm.iter();
    let helm = helm.map(|helm| helm.as_included(ProgramKind::Helm));
    let tool = arguments.include_tool.iter();
    let tool = tool.map(|tool| tool.as_included(ProgramKind::Solution));
    helm.chain(tool).collect()
}

/// Whether SBOMs are made, and by what.
#[derive(Args, Debug)]
pub(super) struct SbomArguments {
    /// Include an SBOM of each image, from --with-referrers or generated by `syft` in this format
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["check", "add_images"])]
    sbom: Option<Sbom>,

    /// The `syft` program [default: `SYFT`, else `syft` on the PATH]
    #[arg(long, value_name = "FILE", requires = "sbom")]
    syft: Option<PathBuf>,
}

impl SbomArguments {
    /// Returns the requested SBOMs, if there are any.
    pub(super) fn request(&self) -> Option<SbomRequest> {
        self.sbom.map(|form| SbomRequest {
            format: form.into(),
            program: environment::chosen(self.syft.as_deref(), "SYFT", "syft"),
        })
    }
}

/// The form of SBOMs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sbom {
    /// SPDX JSON
    Spdx,
    /// CycloneDX JSON
    Cyclonedx,
}

impl From<Sbom> for SbomFormat {
    fn from(form: Sbom) -> Self {
        match form {
            Sbom::Spdx => Self::Spdx,
            Sbom::Cyclonedx => Self::CycloneDx,
        }
    }
}

/// A number of bytes, with decimal units (`500M`, `10G`) as for disks, or binary units (`10Gi`) as in Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(pub(super) u64);

/// Each unit, with its number of bytes.
const UNITS: [(&str, u64); 9] = [
    ("Ti", 1 << 40),
    ("T", 1_000_000_000_000),
    ("Gi", 1 << 30),
    ("G", 1_000_000_000),
    ("Mi", 1 << 20),
    ("M", 1_000_000),
    ("Ki", 1 << 10),
    ("k", 1000),
    ("", 1),
];

const SYNTAX: &str = "expected a whole number and a unit, such as `500M`, `10G` or `10Gi`";
const TOO_LARGE: &str = "the size is too large";

impl FromStr for Size {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let end = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, _)| *name == unit);
        let (_, bytes) = unit.filter(|_| end != 0).ok_or(SYNTAX)?;
        let number: u64 = number.parse().map_err(|_| TOO_LARGE)?;
        number.checked_mul(*bytes).map(Self).ok_or(TOO_LARGE)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, bytes): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*bytes);
        let (name, bytes) = UNITS.iter().find(whole).unwrap_or(&("", 1));
        write!(f, "{}{name}", self.0 / bytes)
    }
}

/// A program file, with the version that the user states for it.
#[derive(Clone, Debug)]
pub(super) struct VersionedFile {
    version: Option<Tag>,
    path: PathBuf,
}

impl VersionedFile {
    /// Converts it to a program to include.
    pub(super) fn as_included(&self, kind: ProgramKind) -> ProgramFile {
        ProgramFile {
            kind,
            path: self.path.clone(),
            version: self.version.clone(),
        }
    }
}

impl FromStr for VersionedFile {
    type Err = Infallible;

    /// Reads `[VERSION=]FILE`. A version is a tag with a digit; `./1=file` is a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let split = text.split_once('=').and_then(|(version, path)| {
            let version: Tag = version.parse().ok()?;
            let is_version = version.as_str().bytes().any(|byte| byte.is_ascii_digit());
            is_version.then_some((version, path))
        });
        let (version, path) = split.map_or((None, text), |(version, path)| (Some(version), path));
        Ok(Self {
            version,
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_with_the_units_of_kubernetes() {
        for (text, bytes) in [
            ("0", 0),
            ("1", 1),
            ("500M", 500_000_000),
            ("10G", 10_000_000_000),
            ("64Gi", 64 << 30),
            ("3k", 3000),
            ("3Ki", 3072),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in [
            "", "G", "-1", "+1", "1.5G", "1 G", "1GB", "1g", "1K", "0x10", "१",
        ] {
            assert_eq!(text.parse::<Size>(), Err(SYNTAX), "{text}");
        }
        for text in ["18446744073709551616", "18446745T", "16777216Ti"] {
            assert_eq!(text.parse::<Size>(), Err(TOO_LARGE), "{text}");
        }
    }

    fn read(text: &str) -> (Option<String>, String) {
        let Ok(file) = text.parse::<VersionedFile>();
        let version = file.version.map(|version| version.to_string());
        (version, file.path.display().to_string())
    }

    #[test]
    fn a_version_stands_before_a_path() {
        assert_eq!(read("helm"), (None, "helm".to_owned()));
        let of = |version: &str| Some(version.to_owned());
        assert_eq!(read("v4.3.1=helm"), (of("v4.3.1"), "helm".to_owned()));
        assert_eq!(read("4=a=b"), (of("4"), "a=b".to_owned()));
        for path in ["./4=helm", "a=b", "=helm", "a/4.0=b"] {
            assert_eq!(read(path), (None, path.to_owned()));
        }
    }
}
