//! `solution init --from ARCHIVE`: a source tree from an archive of upstream's.

use std::path::Path;

use archive::Medium;
use release::Wishes;
use release::upstream::{UpstreamArchive, is_image};

use super::Arguments;
use super::release::made;
use crate::args::{Output, first_given};
use crate::failure::{Failure, Outcome};
use crate::{interrupt, progress};

/// Opens what is given, if it is an ISO image. Whoever reads it as something else says why it cannot be read at all.
pub(super) fn image(from: &Path) -> Option<Medium> {
    let medium = Medium::open(from).ok();
    medium.filter(is_image)
}

pub(super) fn run(
    arguments: &Arguments,
    from: &Path,
    medium: &Medium,
    output: Output,
) -> Result<Outcome, Failure> {
    let about_a_release = [
        (arguments.update, "--update"),
        (arguments.taken.is_some(), "--as"),
        (arguments.deployment.is_some(), "--deployment"),
    ];
    if let Some(option) = first_given(&about_a_release) {
        let message = format!("cannot use `{option}` with an archive: it applies to manifests");
        return Err(Failure::usage(message).hint(format!("omit `{option}`")));
    }
    let wishes = Wishes {
        name: arguments.name.clone(),
        version: arguments.version.clone(),
        deployment: None,
    };
    let called = from.file_name().unwrap_or_default().to_string_lossy();
    let archive = UpstreamArchive::read(medium, medium.size())?;
    let conversion = archive.convert(&called, &wishes)?;
    let named = arguments.directory.clone();
    let directory = named.unwrap_or_else(|| conversion.tree.id.name().as_str().into());
    interrupt::note(format!(
        "interrupted: `{}` was not changed; remove the directory `.solution-….part` in it or next to it, and run the same command again",
        directory.display()
    ));
    let written = progress::watched(
        output,
        "convert",
        |bar, progress| bar.show("convert", progress),
        |watch| conversion.write(&directory, watch),
    )?;
    Ok(made(&conversion.tree, &directory, &written, output))
}
