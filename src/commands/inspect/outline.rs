//! What a version defines and may do, for people.

use std::path::Path;

use archive::{Listed, Opened, Trusted};
use importer::{DefinedResource, DefinedVersion, PlannedRight, VersionOutline};

use crate::commands::look::listed::unvouched;
use crate::failure::{self, Failure};
use crate::render;

/// Lists an archive, and says what it defines and may do as far as its documents can be relied on.
pub(super) fn listed(
    archive: &Path,
    opened: &Opened,
) -> Result<(Listed, Option<VersionOutline>), Failure> {
    if let Ok(accepted) = unvouched(archive, opened.archive_id())? {
        let outline = VersionOutline::of(&accepted)?;
        return Ok((accepted.into_listed(), Some(outline)));
    }
    let listed = opened.skip_signature().and_then(Trusted::list);
    let listed = listed.map_err(|error| failure::reading(archive, error))?;
    Ok((listed, None))
}

/// An outline; none where the archive is not in order.
pub(super) fn show(outline: Option<&VersionOutline>) {
    let Some(VersionOutline {
        definitions,
        rights,
    }) = outline
    else {
        return render::note(
            "CRDs and rights cannot be shown: run `solution validate` to see the problems of the archive",
        );
    };
    render::lines("defines     ", definitions.iter().map(definition));
    for it in rights {
        render::line!("may         {}", right(it));
    }
}

/// A custom resource.
pub(crate) fn definition(resource: &DefinedResource) -> String {
    let DefinedResource {
        name,
        kind,
        scope,
        versions,
    } = resource;
    let versions = render::list(versions.iter().map(version));
    format!("{name}  {kind}, {}: {versions}", scope.to_lowercase())
}

fn version(version: &DefinedVersion) -> String {
    let words = [
        (version.served, "served"),
        (!version.served, "not served"),
        (version.storage, "stored"),
        (version.deprecated, "deprecated"),
    ];
    let words = words.into_iter().filter(|(is, _)| *is);
    let words = render::list(words.map(|(_, word)| word));
    format!("{} ({words})", version.name)
}

/// A right, with the danger that it brings.
pub(crate) fn right(PlannedRight { right, danger }: &PlannedRight) -> String {
    danger
        .as_ref()
        .map_or_else(|| right.clone(), |danger| format!("{right} (! {danger})"))
}
