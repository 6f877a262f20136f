//! `solution mirrors`: what nodes must be told, so that images are pulled from the site's registry under other names.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use registry::RegistryAddress;
use schemars::JsonSchema;
use schemas::{SolutionName, Version};
use serde::Serialize;
use shelf::{Format, MirroredImage, Mirrors, NodeFile};

use super::give;
use super::image_map::LayoutArguments;
use super::validate::check::accept;
use crate::args::{Output, ReadArguments, RegistryArguments, TrustArguments};
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries, render};

/// Print what nodes need to pull images from the site's registry by the names that workloads ask for
#[derive(Args, Debug)]
#[command(
    mut_arg("repository_layout", |argument| argument.requires("archive")),
    after_help = "\
For images whose `ref` names another registry. An import pushes each also to
`<registry>/<prefix>/mirror/<host of ref>/<path of ref>`, so what nodes are told stays the same from
version to version. Where the registry wants a login, nodes send that of the pod's pull secret for
the host of the `ref`, or their own.

Examples:
  solution mirrors
  solution mirrors example 1.0.0 --format crio
  solution mirrors --format openshift | oc apply -f -
  solution mirrors --archive app.iso --key publisher.pub --registry registry.nodes/apps --ca-file ca.pem"
)]
pub(crate) struct Arguments {
    /// The Solution's name [default: all that are imported]
    #[arg(conflicts_with = "archive")]
    solution: Option<SolutionName>,

    /// The version [default: all that are imported]
    version: Option<Version>,

    /// What nodes run
    #[arg(long, value_name = "RUNTIME", value_enum, default_value_t = Runtime::Containerd)]
    format: Runtime,

    /// For an archive that is yet to be imported
    #[arg(long, value_name = "FILE", requires = "registry")]
    archive: Option<PathBuf>,

    /// Where nodes will pull its images from
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
    /// registries.yaml, which RKE2 reads too
    K3s,
    /// A drop-in for registries.conf, which podman reads too
    Crio,
    /// Objects of `OpenShift`: `ImageDigestMirrorSet` and `ImageTagMirrorSet`
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

    /// What is to be done with the files.
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
                "nodes are changed one after the other; an authority of the registry goes into `additionalTrustedCA` of image.config.openshift.io/cluster"
            }
        }
    }
}

/// What nodes are told.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ShownMirrors<'a> {
    /// The images that workloads ask for by a `ref`.
    images: &'a [MirroredImage],
    /// The files that tell it to nodes; none if no image has a `ref`.
    files: Vec<NodeFile>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let Some(mirrors) = mirrors(arguments, output)? else {
        return Ok(Outcome::No);
    };
    let options = registries::options(&arguments.reach)?;
    let ca = registries::authorities(&options);
    let files = mirrors.files(arguments.format.format(), options.plain_http, ca.as_deref());
    let shown = ShownMirrors {
        images: &mirrors.images,
        files: files.map_err(shelf::Error::Refused)?,
    };
    Ok(give(output, &shown, |shown| show(shown, arguments.format)))
}

/// Of an archive that is accepted, or of what is imported. None if it is not accepted, which is said.
fn mirrors(arguments: &Arguments, output: Output) -> Result<Option<Mirrors>, Failure> {
    if let (Some(archive), Some(registry)) = (&arguments.archive, &arguments.registry) {
        let Some(accepted) = accept(archive, &arguments.trust, "", output)? else {
            return Ok(None);
        };
        let id = &accepted.statement().predicate.id;
        let images = shelf::recorded(&accepted);
        let mirrors = Mirrors::of(id, &images, registry, arguments.layout.layout());
        return Ok(Some(mirrors?));
    }
    cluster::read(&arguments.cluster, async |cluster| {
        let (solution, version) = (arguments.solution.as_ref(), arguments.version.as_ref());
        Ok(Some(importer::mirrors(cluster, solution, version).await?))
    })
}

fn show(shown: &ShownMirrors<'_>, runtime: Runtime) {
    if shown.files.is_empty() {
        return render::note("no image has a `ref`, so nodes need nothing");
    }
    let lines = shown.files.iter().flat_map(NodeFile::lines);
    lines.for_each(render::line);
    render::note!("hint: {}", runtime.advice());
}
