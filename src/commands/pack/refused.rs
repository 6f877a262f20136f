//! What a pack comes to that makes no archive: all that is wrong, and the lines for images that are missing.

use std::path::Path;

use packager::{MissingImage, PackError, image_lines};
use schemars::JsonSchema;
use schemas::{SolutionSource, limits};
use serde::Serialize;
use validator::{ArchiveVerdict, JudgedFindings};

use super::Arguments;
use crate::args::Output;
use crate::commands::validate::judging::AskedJudging;
use crate::failure::{Failure, Outcome, Quote};
use crate::{environment, render};

/// What is quoted of an answer.
const LINES: &str = "lines for spec.images of solution.yaml";

/// An archive that would not be accepted and was not written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RefusedPack<'a> {
    /// The requested path, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a Path>,
    /// Whether the archive would be accepted.
    verdict: ArchiveVerdict,
    /// The findings about it or about the source tree.
    #[serde(flatten)]
    judged: &'a JudgedFindings,
    /// The lines for `spec.images` of `solution.yaml` that list the images which are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    image_lines: Option<String>,
}

/// Says what is wrong with a source tree or its archive; any other error is a failure.
pub(super) fn end(
    error: PackError,
    arguments: &Arguments,
    asked: &AskedJudging,
    output: Output,
) -> Result<Outcome, Failure> {
    match error {
        PackError::Refused(judged) => {
            let words = "because it would have errors";
            refuse(arguments, asked, &judged, None, words, output)
        }
        PackError::RefusedSource(refused) => {
            let now = environment::now().map_err(Failure::unknown)?;
            let judged = asked.judge(&refused.findings, now);
            let missing = Some(&refused.missing).filter(|missing| !missing.is_empty());
            let lines = missing.map(|missing| lines(missing, &arguments.directory));
            let words = "because the source tree has errors";
            refuse(arguments, asked, &judged, lines, words, output)
        }
        PackError::Unwritten(lines) => {
            Err(Failure::from(PackError::Unwritten(String::new())).quote(LINES, lines))
        }
        error => Err(error.into()),
    }
}

fn refuse(
    arguments: &Arguments,
    asked: &AskedJudging,
    judged: &JudgedFindings,
    image_lines: Option<String>,
    why: &str,
    output: Output,
) -> Result<Outcome, Failure> {
    asked.tell(judged, output);
    let refused = RefusedPack {
        archive: arguments.out.as_deref(),
        verdict: ArchiveVerdict::Refused,
        judged,
        image_lines,
    };
    render::result(output, &refused, |refused| {
        if let Some(text) = &refused.image_lines {
            let (what, text) = (LINES, text.clone());
            Quote { what, text }.lines().for_each(render::note);
        }
        if let Some(archive) = refused.archive {
            let archive = archive.display();
            render::note!("refused: `{archive}` was not written, {why}");
        } else {
            render::note!("refused: no archive was written, {why}");
        }
    });
    asked.review(arguments.checked(), judged)?;
    Ok(Outcome::No)
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
