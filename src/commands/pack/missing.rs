//! Images that are missing from `solution.yaml`: who runs them, and the lines that add them.

use std::path::Path;

use packager::{MissingImage, PackError, image_lines};
use schemas::{SolutionSource, limits};

use crate::failure::Failure;

/// What is quoted of an answer.
const LINES: &str = "lines for spec.images of solution.yaml";

/// The failure of a pack, with the lines that mend it where lines do.
pub(super) fn failure(error: PackError, directory: &Path) -> Failure {
    match error {
        PackError::MissingImages(missing) => {
            let lines = lines(&missing, directory);
            let said = missing
                .iter()
                .take(limits::LISTED)
                .map(said)
                .collect::<Vec<_>>();
            let more = missing.len() - said.len();
            let more = (more > 0).then(|| format!("and {more} more"));
            let failure = Failure::from(PackError::MissingImages(missing));
            let reasons = said.into_iter().chain(more);
            reasons.fold(failure, Failure::because).quote(LINES, lines)
        }
        PackError::Unwritten(lines) => {
            Failure::from(PackError::Unwritten(String::new())).quote(LINES, lines)
        }
        error => error.into(),
    }
}

fn said(missing: &MissingImage) -> String {
    let (place, pointer) = (&missing.place, &missing.pointer);
    format!("{place}: {pointer} is `{}`", missing.reference)
}

/// The lines for the images that are not there; other places are kept free as far as `solution.yaml` can be read.
fn lines(missing: &[MissingImage], directory: &Path) -> String {
    let bytes = files::read(&directory.join("solution.yaml"), limits::MANIFEST_SIZE);
    let source = bytes
        .ok()
        .and_then(|bytes| SolutionSource::from_slice(&bytes).ok());
    let images = source.map(|source| source.spec.images).unwrap_or_default();
    image_lines(missing, &images)
}
