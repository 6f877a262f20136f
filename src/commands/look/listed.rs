//! An archive whose files are read without asking who signed it.

use std::path::Path;

use anyhow::anyhow;
use archive::{Listed, Medium};
use schemas::Digest;
use validator::{Accepted, AcceptedBefore, Report};

use crate::failure::{self, Failure};
use crate::{interrupt, render};

/// Files that are named when another was asked for.
const SUGGESTED: usize = 3;

/// Says that there is no such file, and which one may have been meant.
pub(super) fn unknown(listed: &Listed, archive: &Path, path: &str) -> Failure {
    let archive = archive.display();
    let alike = listed.contents().alike(path).take(SUGGESTED);
    let alike = render::list(alike.map(|file| format!("`{file}`")));
    let failure = Failure::no(anyhow!("`{archive}` has no file `{path}`"));
    match alike.as_str() {
        "" => failure.hint("list the files with `solution archive ls -R`"),
        _ => failure.hint(format!(
            "did you mean {alike}? `solution archive ls -R` lists all files"
        )),
    }
}

/// Checks the documents of an archive as an import does, whoever signed it: it stands in for nothing but itself. The report
/// if they are not in order.
pub(crate) fn unvouched(
    archive: &Path,
    archive_id: Digest,
) -> Result<Result<Accepted, Box<Report>>, Failure> {
    let itself = AcceptedBefore {
        archive_id,
        signers: Vec::new(),
    };
    let report = Medium::open(archive)
        .and_then(|medium| validator::check_accepted(medium, itself, interrupt::cancel()));
    let report = report.map_err(|error| failure::reading(archive, error))?;
    Ok(report.accept())
}
