//! Groups of arguments that multiple verbs share. Parsing checks only their grammar; the verbs check their meaning.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use importer::TimeLimits;
use registry::RegistryAddress;
use schemas::{FindingId, IgnoreReason, SolutionId};

/// Returns `given` if a flag or another condition is true, else `otherwise`.
pub(crate) fn choose<T>(is_given: bool, given: T, otherwise: T) -> T {
    if is_given { given } else { otherwise }
}

/// Returns the first of these flags that is given.
pub(crate) fn first_given<'a>(flags: &[(bool, &'a str)]) -> Option<&'a str> {
    let mut given = flags.iter().filter(|(is_given, _)| *is_given);
    given.next().map(|(_, flag)| *flag)
}

/// The audience of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people.
    Human,
    /// For programs.
    Json,
}

/// How results are shown, as it is typed. Review tools read findings, and what collects metrics reads a status: other
/// verbs do not offer their formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables and text for people
    #[default]
    #[value(alias = "human")]
    Table,
    /// One line of JSON
    Json,
    /// YAML with the fields of the JSON
    Yaml,
    /// SARIF 2.1.0 for code review tools; text for people goes to standard error.
    #[value(hide = true)]
    Sarif,
    /// JUnit XML for test report tools; text for people goes to standard error.
    #[value(hide = true)]
    Junit,
    /// Metrics in the Prometheus text format.
    #[value(hide = true)]
    Metrics,
}

impl Format {
    /// Returns the parser of formats for verbs that report findings.
    pub(crate) fn of_findings() -> impl TypedValueParser<Value = Self> {
        Self::only(|format| format != Self::Metrics)
    }

    /// Returns the parser of formats for a status.
    pub(crate) fn of_status() -> impl TypedValueParser<Value = Self> {
        Self::only(|format| !format.is_for_findings())
    }

    fn only(is_offered: fn(Self) -> bool) -> impl TypedValueParser<Value = Self> {
        let offered = Self::value_variants().iter();
        let offered = offered.filter(|format| is_offered(**format));
        let offered = offered.filter_map(|format| Some(format.to_possible_value()?.hide(false)));
        PossibleValuesParser::new(offered)
            .map(|word| Self::from_str(&word, false).expect("it is one of these"))
    }

    /// Returns true if the format can only show findings.
    pub(crate) fn is_for_findings(self) -> bool {
        matches!(self, Self::Sarif | Self::Junit)
    }

    /// Returns the audience of output other than findings. With a format for a review tool, people read it on standard
    /// error.
    pub(crate) fn output(self) -> Output {
        match self {
            Self::Json | Self::Yaml => Output::Json,
            Self::Table | Self::Sarif | Self::Junit | Self::Metrics => Output::Human,
        }
    }
}

/// How findings are judged and shown, by the verbs that have some.
#[derive(Args, Debug)]
pub(crate) struct FindingsArguments {
    /// Show only findings with these ids or in these groups, and all errors
    #[arg(long, value_name = "ID|GROUP", value_delimiter = ',')]
    pub(crate) select: Vec<String>,

    /// Ignore the warning with this id, for this reason; may be repeated
    #[arg(long, value_name = "ID=REASON")]
    pub(crate) ignore: Vec<IgnoredId>,

    /// The findings policy, which changes severities and ignores findings [default: for `pack`, solution.policy.yaml
    /// next to solution.yaml]
    #[arg(long, value_name = "FILE")]
    pub(crate) findings_policy: Option<PathBuf>,

    // This argument replaces the global one of the same name, and adds the formats that only these verbs have.
    /// The format of results on standard output
    #[arg(
        id = "output",
        long = "output",
        value_parser = Format::of_findings(),
        default_value = "table",
        value_name = "FORMAT"
    )]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) reports: ReportFiles,
}

/// Files for review tools, whatever standard output shows.
#[derive(Args, Clone, Debug)]
pub(crate) struct ReportFiles {
    /// Also write the findings to this SARIF file; an existing file is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) sarif: Option<PathBuf>,

    /// Also write the findings to this JUnit XML file; an existing file is replaced
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

/// An ignored finding with its reason, in the form of the command line: `ID=REASON`.
#[derive(Clone, Debug)]
pub(crate) struct IgnoredId {
    pub(crate) id: FindingId,
    pub(crate) reason: IgnoreReason,
}

impl FromStr for IgnoredId {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (id, reason) = text.split_once('=').context("expected ID=REASON")?;
        Ok(Self {
            id: id.parse()?,
            reason: reason.parse()?,
        })
    }
}

/// Which cluster.
#[derive(Args, Debug)]
pub(crate) struct ClusterArguments {
    /// The kubeconfig file [default: the files in `KUBECONFIG`, else ~/.kube/config, else the service account of the
    /// pod]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig [default: the current context]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

/// How a cluster is changed: how long is waited, for somebody else who changes it and for the cluster itself, and who
/// signs the receipt.
#[derive(Args, Debug, Default)]
pub(crate) struct ChangeArguments {
    /// Wait up to SECONDS until another change to the environment or cluster is complete, or 3600 with only `--wait`
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3600",
        value_parser = seconds()
    )]
    pub(crate) wait: Option<u64>,

    #[command(flatten)]
    longest: TimeoutArguments,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE")]
    pub(crate) helm: Option<PathBuf>,

    /// Sign the receipt of the change with this secret key (PEM)
    #[arg(long, value_name = "KEY")]
    pub(crate) receipt_key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) passphrase: PassphraseArguments,
}

impl ChangeArguments {
    /// Returns the longest time for each wait until the cluster has the requested state.
    pub(crate) fn timeout(&self) -> Duration {
        self.longest.timeout()
    }

    /// Returns the time limits of the change to the cluster.
    pub(crate) fn limits(&self) -> TimeLimits {
        self.longest.limits()
    }
}

/// Whether charts are installed by what an archive includes.
#[derive(Args, Debug)]
pub(crate) struct IncludedHelmArguments {
    /// Install charts with the `helm` program in the archive. It runs on this machine with all of your permissions
    #[arg(long, conflicts_with = "helm")]
    pub(crate) use_included_helm: bool,
}

/// The default time limit of one wait for the cluster.
const WAIT: Duration = Duration::from_mins(5);

/// How long is waited for the cluster.
#[derive(Args, Debug, Default)]
pub(crate) struct TimeoutArguments {
    /// The limit in seconds for answers from the cluster, or for the whole change [default: 300 for each wait, and
    /// for charts what the archive says]
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    timeout: Option<u64>,
}

impl TimeoutArguments {
    /// Returns the time limit of one wait.
    pub(crate) fn timeout(&self) -> Duration {
        self.limits().wait
    }

    /// Returns the time limit of one wait, and of all waits together if the user set one.
    fn limits(&self) -> TimeLimits {
        let total = self.timeout.map(Duration::from_secs);
        TimeLimits {
            wait: total.unwrap_or(WAIT),
            total,
        }
    }
}

/// Which cluster is read, and how long its answer may take.
#[derive(Args, Debug)]
pub(crate) struct ReadArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    #[command(flatten)]
    pub(crate) longest: TimeoutArguments,
}

/// Returns the parser of a waiting time in seconds, at most a day.
pub(crate) fn seconds() -> RangedU64ValueParser<u64> {
    clap::value_parser!(u64).range(1..=86_400)
}

/// How a verb removes from a cluster.
#[derive(Args, Debug)]
pub(crate) struct RemovalArguments {
    /// Skip the confirmation; required without a terminal
    #[arg(long)]
    pub(crate) yes: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    #[command(flatten)]
    pub(crate) progress: ProgressArguments,

    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    #[command(flatten)]
    pub(crate) wait: ChangeArguments,
}

/// How registries are reached.
#[derive(Args, Debug)]
pub(crate) struct RegistryArguments {
    /// A CA certificate (PEM) to trust for the registry; may be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Vec<std::path::PathBuf>,

    /// The directory with CA certificates (`*.crt`) and client certificates (`NAME.cert` and `NAME.key`) [default:
    /// `HOST[:PORT]` in ~/.config/containers/certs.d, /etc/containers/certs.d or /etc/docker/certs.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) cert_dir: Option<std::path::PathBuf>,

    /// Use HTTP without TLS [default: only for a registry on this machine]
    #[arg(long)]
    pub(crate) plain_http: bool,
}

/// Whether repositories are created.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CreationArguments {
    /// Create missing repositories in Amazon ECR, with the credentials in `AWS_ACCESS_KEY_ID` and
    /// `AWS_SECRET_ACCESS_KEY`. Other registries are not affected
    #[arg(long)]
    pub(crate) create_repositories: bool,
}

/// The mirrors that registries are reached by.
#[derive(Args, Debug)]
pub(crate) struct MirrorArguments {
    /// Fetch content of the registry HOST from MIRROR, such as a pull-through cache; may be repeated. `docker.io` is
    /// Docker Hub
    #[arg(long, value_name = "HOST=MIRROR[/PREFIX]", value_parser = mirror)]
    pub(crate) registry_mirror: Vec<(RegistryAddress, RegistryAddress)>,
}

/// Parses a registry and its mirror.
fn mirror(text: &str) -> Result<(RegistryAddress, RegistryAddress), String> {
    let (host, mirror) = text
        .split_once('=')
        .ok_or("expected HOST=MIRROR[/PREFIX]")?;
    let address = |text: &str| {
        let address = text.parse::<RegistryAddress>();
        address.map_err(|error| error.to_string())
    };
    let (host, mirror) = (address(host)?, address(mirror)?);
    if host.prefix().is_some() {
        return Err("HOST must not have a path: a mirror is for a whole registry".to_owned());
    }
    Ok((host, mirror))
}

/// Where programs are told what happens.
#[derive(Args, Debug)]
pub(crate) struct ProgressArguments {
    /// Write progress events to this file or pipe, one JSON object per line; `-` is standard error
    #[arg(long, value_name = "FILE")]
    pub(crate) progress: Option<PathBuf>,
}

/// Whether a cluster that is away is waited for.
#[derive(Args, Debug)]
pub(crate) struct ArrivalArguments {
    /// Wait up to SECONDS until the API server and the nodes are ready, or 600 with only `--wait-for-cluster`
    #[arg(
        long,
        value_name = "SECONDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "600",
        value_parser = seconds()
    )]
    wait_for_cluster: Option<u64>,
}

impl ArrivalArguments {
    /// Returns the time limit for each cluster that is away, if the command waits for clusters.
    pub(crate) fn longest(&self) -> Option<Duration> {
        self.wait_for_cluster.map(Duration::from_secs)
    }
}

/// Where logins are kept.
#[derive(Args, Debug)]
pub(crate) struct LoginFileArguments {
    /// The file with registry credentials [default: `REGISTRY_AUTH_FILE`, else config.json in `DOCKER_CONFIG`, else
    /// podman's auth.json or docker's config.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) authfile: Option<PathBuf>,
}

/// Whose signatures count.
#[derive(Args, Debug)]
pub(crate) struct TrustArguments {
    /// A public key (PEM) to trust; may be repeated with --threshold [default: the policy for the Solution in
    /// `solution trust list`]
    #[arg(long = "key", value_name = "PUB")]
    pub(crate) keys: Vec<std::path::PathBuf>,

    /// The number of keys that must have signed
    #[arg(long, value_name = "N")]
    pub(crate) threshold: Option<std::num::NonZeroUsize>,
}

/// Whose signatures count, and which archive needs none.
#[derive(Args, Debug)]
pub(crate) struct SignatureArguments {
    #[command(flatten)]
    pub(crate) trust: TrustArguments,

    /// Accept the Solution with this id (`<name>-<version>`) without a signature
    #[arg(long, value_name = "ID")]
    pub(crate) allow_unsigned: Option<SolutionId>,
}

impl SignatureArguments {
    /// Returns both options in the form in which a check takes them.
    pub(crate) fn judging(&self) -> (&TrustArguments, Option<SolutionId>) {
        (&self.trust, self.allow_unsigned.clone())
    }
}

/// Where the passphrase of an encrypted key comes from.
#[derive(Args, Debug, Default)]
pub(crate) struct PassphraseArguments {
    /// The file with the passphrase of the secret key in its first line, or `-` for standard input [default:
    /// `SOLUTION_KEY_PASSPHRASE`, else a prompt]
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}
