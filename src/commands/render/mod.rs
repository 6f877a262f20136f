//! `solution render`: the objects that deploying a version would apply.

mod arguments;
mod request;
pub(super) mod show;

use importer::{ImaginedSite, ManifestsOrObstacles, PushDestination, RenderedManifests};
use schemas::KubernetesVersion;

pub(crate) use self::arguments::Arguments;
use self::request::{accepted, request, site_files};
use super::kept::kept;
use super::meant::{ImagesAt, Meant};
use super::refusal::found;
use crate::args::Output;
use crate::cluster;
use crate::failure::{Failure, Outcome};

/// What was found out; nothing where an archive is not accepted, which was said.
type Found = Option<ManifestsOrObstacles>;

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if let Some(directory) = &arguments.output_dir {
        show::check_directory(directory)?;
    }
    let rendered = match &arguments.without.kube_version {
        Some(version) => imagined(arguments, version, output)?,
        None => in_cluster(arguments, output)?,
    };
    match rendered {
        None => Ok(Outcome::No),
        Some(Err(obstacles)) => Ok(found(output, show::NothingRendered {}, &obstacles)),
        Some(Ok(rendered)) => show::all(&rendered, arguments, output),
    }
}

/// Renders for a cluster as it is.
fn in_cluster(arguments: &Arguments, output: Output) -> Result<Found, Failure> {
    let Some(meant) = accepted(arguments, output)? else {
        return Ok(None);
    };
    cluster::read(&arguments.cluster, async |cluster| {
        let (accepted, images, client) = match meant {
            Meant::Imported(name, version) => {
                let reach = &arguments.reach;
                let Some(kept) = kept(cluster, &name, version, reach, output).await? else {
                    return Ok(None);
                };
                let images = ImagesAt {
                    registry: kept.registry,
                    pull_registry: Some(kept.pull_registry),
                };
                (kept.archive.accepted, images, Some(kept.client))
            }
            Meant::Archive(accepted) => {
                let id = &accepted.statement().predicate.id;
                let images = ImagesAt::of(arguments.registry.as_ref(), cluster, id).await?;
                (*accepted, images, None)
            }
        };
        let (request, secrets) = (request(arguments, images)?, arguments.secrets());
        let found =
            RenderedManifests::in_cluster(cluster, &accepted, client, request, secrets).await?;
        Ok(Some(found))
    })
}

/// Renders for a cluster that is only imagined.
fn imagined(
    arguments: &Arguments,
    kubernetes: &KubernetesVersion,
    output: Output,
) -> Result<Found, Failure> {
    if let Meant::Imported(name, _) = arguments.meant()? {
        let failure = format!(
            "cannot render `{name}` without a cluster: it is the name of an imported Solution"
        );
        return Err(Failure::usage(failure).hint("name an archive file, such as `./app.iso`"));
    }
    let files = site_files(arguments)?;
    let Some(Meant::Archive(accepted)) = accepted(arguments, output)? else {
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
