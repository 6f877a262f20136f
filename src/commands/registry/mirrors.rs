//! `solution registry mirrors`: writes the files with which nodes pull images from the site's registry under their
//! original names. Workloads that name other registries then need no changes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use registry::RegistryAddress;
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;
use store::{Format, Mirrors, NodeFile};

use crate::args::{Output, ReadArguments, RegistryArguments, TrustArguments};
use crate::commands::give;
use crate::commands::image_map::LayoutArguments;
use crate::commands::validate::check::accept;
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries, render};

/// Print the registry mirror configuration for nodes
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("archive")),
    after_help = "\
The configuration is for images whose `ref` names another registry. An import also pushes them to \
`<registry>/<prefix>/mirror/<host of ref>/<path of ref>`, so the configuration is the same for all versions. \
Nodes use the pull secret of the pod for the host of the `ref`, or their own credentials.

Examples:
  solution registry mirrors
  solution registry mirrors example 1.0.0 --format crio
  solution registry mirrors --format openshift | oc apply -f -
  solution registry mirrors --archive app.iso --key publisher.pub \\
      --registry registry.nodes/apps --ca-file ca.pem"
)]
pub(crate) struct Arguments {
    /// The name of the Solution [default: all imported Solutions]
    #[arg(conflicts_with = "archive")]
    solution: Option<SolutionName>,

    /// The version [default: all imported versions]
    version: Option<Version>,

    /// The container runtime of the nodes
    #[arg(long, value_name = "RUNTIME", value_enum, default_value_t = Runtime::Containerd)]
    format: Runtime,

    /// Use this archive (a file or a block device) before it is imported
    #[arg(long, value_name = "FILE", requires = "registry")]
    archive: Option<PathBuf>,

    /// The registry that nodes will pull from
    #[arg(long, value_name = "HOST[/PREFIX]", requires = "archive")]
    registry: Option<RegistryAddress>,

    #[command(flatten)]
    layout: LayoutArguments,

    #[command(flatten)]
    reach: RegistryArguments,

    #[command(flatten)]
    trust: TrustArguments,

    #[command(flatten)]
    cluster: ReadArguments,
}

/// What nodes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Runtime {
    /// hosts.toml for each registry
    Containerd,
    /// registries.yaml, also for RKE2
    K3s,
    /// A drop-in file for registries.conf, also for podman
    Crio,
    /// `ImageDigestMirrorSet` and `ImageTagMirrorSet` objects
    Openshift,
}

impl Runtime {
    fn format(self) -> Format {
        match self {
            Self::Containerd => Format::Containerd,
            Self::K3s => Format::K3s,
            Self::Crio => Format::Crio,
            Self::Openshift => Format::Openshift,
        }
    }

    /// Returns the advice on where to put the files.
    fn advice(self) -> &'static str {
        match self {
            Self::Containerd => {
                "containerd reads these files at every pull, if `config_path` of its registry configuration is /etc/containerd/certs.d"
            }
            Self::K3s => {
                "merge this into the file of each node (RKE2: /etc/rancher/rke2/registries.yaml), and restart k3s there"
            }
            Self::Crio => "CRI-O reads these files when it is reloaded (`systemctl reload crio`)",
            Self::Openshift => {
                "OpenShift updates nodes one after the other; put the registry's certificate authority into `additionalTrustedCA` of image.config.openshift.io/cluster"
            }
        }
    }
}

/// The mirror configuration of nodes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MirrorConfiguration {
    #[serde(flatten)]
    mirrors: Mirrors,
    /// The configuration files for nodes; none if no image has a `ref`.
    files: Vec<NodeFile>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some(mirrors) = mirrors(arguments, output)? else {
        return Ok(Outcome::No);
    };
    let options = registries::options(&arguments.reach)?;
    let ca = registries::authorities(&options);
    let files = mirrors.files(arguments.format.format(), options.plain_http, ca.as_deref());
    let shown = MirrorConfiguration {
        mirrors,
        files: files.map_err(store::Error::Refused)?,
    };
    Ok(give(output, &shown, |shown| show(shown, arguments.format)))
}

/// Returns the mirrors for the images of an archive or of imported versions. None if the archive is not accepted, which
/// the program has reported.
fn mirrors(arguments: &Arguments, output: Output) -> Result<Option<Mirrors>, Failure> {
    if let (Some(archive), Some(registry)) = (&arguments.archive, &arguments.registry) {
        let Some(accepted) = accept(archive, &arguments.trust, "", output)? else {
            return Ok(None);
        };
        let id = &accepted.statement().predicate.id;
        let images = store::recorded(&accepted);
        let mirrors = Mirrors::new(id, &images, registry, arguments.layout.placement());
        return Ok(Some(mirrors?));
    }
    cluster::read(&arguments.cluster, async |cluster| {
        let (solution, version) = (arguments.solution.as_ref(), arguments.version.as_ref());
        Ok(Some(importer::mirrors(cluster, solution, version).await?))
    })
}

fn show(shown: &MirrorConfiguration, runtime: Runtime) {
    if !shown.mirrors.without.is_empty() {
        let without = render::list(&shown.mirrors.without);
        render::note!(
            "warning: {without}: the registry has no mirror repositories of these images"
        );
    } else if shown.files.is_empty() {
        return render::note("no image has a `ref`, so nodes need no mirror configuration");
    }
    let lines = shown.files.iter().flat_map(NodeFile::lines);
    lines.for_each(render::line);
    render::note!("hint: {}", runtime.advice());
}
