//! `solution registry mirrors`: what nodes must be told, so that images are pulled from the site's registry under other names.

mod arguments;

use schemars::JsonSchema;
use serde::Serialize;
use shelf::{MirroredImage, Mirrors, NodeFile};

pub(crate) use self::arguments::Arguments;
use self::arguments::Runtime;
use super::give;
use super::validate::check::accept;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{cluster, registries, render};

/// The mirror configuration of nodes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownMirrors<'a> {
    /// The images that workloads ask for by a `ref`.
    images: &'a [MirroredImage],
    /// The Solutions whose images have a `ref`, and that were imported without mirrors.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    without_mirrors: &'a [String],
    /// The configuration files for nodes; none if no image has a `ref`.
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
        without_mirrors: &mirrors.without,
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
        let mirrors = Mirrors::of(id, &images, registry, arguments.layout.placement());
        return Ok(Some(mirrors?));
    }
    cluster::read(&arguments.cluster, async |cluster| {
        let (solution, version) = (arguments.solution.as_ref(), arguments.version.as_ref());
        Ok(Some(importer::mirrors(cluster, solution, version).await?))
    })
}

fn show(shown: &ShownMirrors<'_>, runtime: Runtime) {
    if !shown.without_mirrors.is_empty() {
        let without = render::list(shown.without_mirrors);
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
