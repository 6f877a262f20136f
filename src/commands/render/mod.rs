//! `solution render`: the objects that deploying a version would apply. It writes nothing, and with `--no-cluster` it
//! does not even connect.

pub(super) mod show;

use std::path::PathBuf;

use clap::Args;
use importer::{
    CreateEnvironment, ImaginedSite, ManifestsOrBlockers, PushDestination, RenderedManifests,
    Request, SecretValues, SiteFile,
};
use registry::RegistryAddress;
use schemas::{ApiName, EnvironmentName, KubernetesVersion, Namespace, Version};
use validator::AcceptedArchive;

use super::blocked::report_blockers;
use super::import::{self, ResolvedRegistry, SignerArguments};
use super::imported_version::{SolutionRef, read_imported_version};
use super::parameters::ParameterArguments;
use super::site;
use crate::args::{IncludedHelmArguments, Output, ReadArguments, RegistryArguments, choose};
use crate::failure::{Failure, Outcome};
use crate::{cluster, helm};

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
    what: PathBuf,

    /// The version of the imported Solution [default: the newest imported version]
    version: Option<Version>,

    /// The name of the environment
    #[arg(short, long, value_name = "NAME")]
    environment: EnvironmentName,

    /// The namespace of the environment [default: its namespace, else the name of the environment]
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<Namespace>,

    /// Write each object to a file in this directory, which must be new or empty
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,

    /// Show the values of Secrets and sensitive parameters
    #[arg(long)]
    show_secrets: bool,

    /// Consent to chart templates that read outside the environment, by the id that the refusal shows; may be
    /// repeated
    #[arg(long, value_name = "ID", conflicts_with = "no_cluster")]
    accept: Vec<String>,

    #[command(flatten)]
    without: OfflineArguments,

    #[command(flatten)]
    signers: SignerArguments,

    /// The registry for the images [default: from the site configuration, else where a version of the Solution was
    /// pushed]
    #[arg(long, value_name = "HOST[/PREFIX]")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    parameters: ParameterArguments,

    #[command(flatten)]
    cluster: ReadArguments,

    /// The `helm` program, version 4 [default: `HELM`, else that of the package, else `helm` on the PATH]
    #[arg(long, value_name = "FILE")]
    helm: Option<PathBuf>,

    #[command(flatten)]
    included: IncludedHelmArguments,
}

/// What stands for a cluster where there is none.
#[derive(Args, Debug)]
pub(crate) struct OfflineArguments {
    /// Render for an empty cluster instead of contacting one
    #[arg(long, requires = "kube_version", conflicts_with_all = ["kubeconfig", "context", "timeout", "version"])]
    no_cluster: bool,

    /// The Kubernetes version of the cluster
    #[arg(long, value_name = "VERSION", requires = "no_cluster")]
    kube_version: Option<KubernetesVersion>,

    /// Additional API versions or kinds of the cluster, such as `example.com/v1/Shop`; may be repeated
    #[arg(
        long,
        value_name = "GROUP/VERSION[/KIND]",
        requires = "no_cluster",
        value_delimiter = ','
    )]
    api_versions: Vec<ApiName>,

    /// The site configuration for all environments
    #[arg(long, value_name = "FILE", requires = "no_cluster")]
    site_file: Option<PathBuf>,

    /// The site configuration of the environment
    #[arg(long, value_name = "FILE", requires = "no_cluster")]
    environment_site_file: Option<PathBuf>,
}

impl Arguments {
    /// Parses the first words as a reference to a Solution.
    fn meant(&self) -> Result<SolutionRef<'_>, Failure> {
        SolutionRef::by(&self.what, self.version.as_ref())
    }

    /// Returns the policy for sensitive values, which are masked by default.
    fn secrets(&self) -> SecretValues {
        choose(self.show_secrets, SecretValues::Shown, SecretValues::Masked)
    }
}

/// The result of rendering; none if the archive is not accepted, which the program has reported.
type RenderSource = Option<ManifestsOrBlockers>;

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        show::check_directory(directory)?;
    }
    let rendered = match &arguments.without.kube_version {
        Some(version) => imagined(arguments, version, output)?,
        None => in_cluster(arguments, output)?,
    };
    match rendered {
        None => Ok(Outcome::No),
        Some(Err(blockers)) => Ok(report_blockers(output, show::NothingRendered {}, &blockers)),
        Some(Ok(rendered)) => show::all(&rendered, arguments, output),
    }
}

/// Renders with the state of a cluster.
fn in_cluster(arguments: &Arguments, output: Output) -> Result<RenderSource, Failure> {
    let Some(meant) = accepted(arguments, output)? else {
        return Ok(None);
    };
    cluster::read(&arguments.cluster, async |cluster| {
        let (accepted, images, client) = match meant {
            SolutionRef::Imported(name, version) => {
                let reach = &arguments.reach;
                let Some(kept) =
                    read_imported_version(cluster, &name, version, reach, output).await?
                else {
                    return Ok(None);
                };
                let images = ResolvedRegistry {
                    registry: kept.registry,
                    pull_registry: Some(kept.pull_registry),
                };
                (kept.archive.accepted, images, Some(kept.client))
            }
            SolutionRef::Archive(accepted) => {
                let id = &accepted.statement().predicate.id;
                let images = ResolvedRegistry::of(arguments.registry.as_ref(), cluster, id).await?;
                (*accepted, images, None)
            }
        };
        let (request, secrets) = (request(arguments, images)?, arguments.secrets());
        let found =
            RenderedManifests::in_cluster(cluster, &accepted, client, request, secrets).await?;
        Ok(Some(found))
    })
}

/// Renders for a simulated cluster, without any connection.
fn imagined(
    arguments: &Arguments,
    kubernetes: &KubernetesVersion,
    output: Output,
) -> Result<RenderSource, Failure> {
    if let SolutionRef::Imported(name, _) = arguments.meant()? {
        let failure = format!(
            "cannot render `{name}` without a cluster: it is the name of an imported Solution"
        );
        return Err(Failure::usage(failure).hint("name an archive file, such as `./app.iso`"));
    }
    let files = site_files(arguments)?;
    let Some(SolutionRef::Archive(accepted)) = accepted(arguments, output)? else {
        return Ok(None);
    };
    let named = arguments.registry.clone();
    let images = PushDestination::of_files(named, &files).ok_or_else(|| {
        Failure::usage(
            "no registry is set, neither with `--registry` nor in the site configuration",
        )
        .hint("set one with `--registry HOST[/PREFIX]`")
    })?;
    let site = ImaginedSite {
        kubernetes: kubernetes.clone(),
        api_versions: arguments.without.api_versions.clone(),
        files,
    };
    let request = request(arguments, images.into())?;
    cluster::block_on(async {
        let secrets = arguments.secrets();
        let found = RenderedManifests::imagined(&site, &accepted, request, secrets).await?;
        Ok(Some(found))
    })
}

/// Returns the source to render; none if an archive is not accepted, which the program has reported.
fn accepted(
    arguments: &Arguments,
    output: Output,
) -> Result<Option<SolutionRef<'_, Box<AcceptedArchive>>>, Failure> {
    let meant = arguments.meant()?;
    meant.accepted(&arguments.signers, "nothing was rendered", output)
}

/// Reads the site configurations that the user names.
fn site_files(arguments: &Arguments) -> Result<Vec<SiteFile>, Failure> {
    let without = &arguments.without;
    let default = without
        .site_file
        .iter()
        .map(|site_file| site::read(site_file, None));
    let own = without.environment_site_file.iter();
    let own = own.map(|file| site::read(file, Some(&arguments.environment)));
    default.chain(own).collect()
}

fn request(arguments: &Arguments, images: ResolvedRegistry) -> Result<Request, Failure> {
    let target = import::target(
        &arguments.environment,
        arguments.namespace.clone(),
        &arguments.parameters,
    )?;
    let mut request = import::reader_request(target, images, arguments.signers.allowed())?;
    request.context.helm = helm::installer(arguments.helm.as_deref());
    request.allowed.create = CreateEnvironment::Allow;
    request.accepted = arguments.accept.iter().cloned().collect();
    request.use_included_helm = arguments.included.use_included_helm;
    Ok(request)
}
