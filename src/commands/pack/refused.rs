//! What a pack comes to that makes no archive: all that is wrong, and the lines for images that are missing.

use std::path::Path;

use packager::{MissingImage, PackError, image_lines};
use schemars::JsonSchema;
use serde::Serialize;
use validator::{ArchiveVerdict, JudgedFindings};

use super::Arguments;
use super::tree::{PackTree, read_source};
use crate::args::Output;
use crate::commands::validate::judging::AskedJudging;
use crate::failure::{Failure, Outcome, Quote};
use crate::review::Checked;
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
    tree: &PackTree,
    asked: &AskedJudging,
    output: Output,
) -> Result<Outcome, Failure> {
    match error {
        PackError::Refused(judged) => {
            let words = "because it would have errors";
            refuse(arguments, tree, asked, &judged, None, words, output)
        }
        PackError::RefusedSource(refused) => {
            let now = environment::now().map_err(Failure::unknown)?;
            let judged = asked.judge(&refused.findings, now);
            let missing = Some(&refused.missing).filter(|missing| !missing.is_empty());
            let lines = missing.map(|missing| lines(missing, &tree.directory));
            let words = "because the source tree has errors";
            refuse(arguments, tree, asked, &judged, lines, words, output)
        }
        PackError::Unwritten(lines) => {
            Err(Failure::from(PackError::Unwritten(String::new())).quote(LINES, lines))
        }
        error => Err(tree.continued(error.into())),
    }
}

fn refuse(
    arguments: &Arguments,
    tree: &PackTree,
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
        if let Some(next) = tree.continuation() {
            render::note!("next: {next}");
        }
    });
    asked.review(Checked::Tree(&tree.directory), judged)?;
    Ok(Outcome::No)
}

/// The lines for the images that are not there; other places are kept free as far as `solution.yaml` can be read.
fn lines(missing: &[MissingImage], directory: &Path) -> String {
    let source = read_source(directory);
    let images = source.map(|source| source.spec.images).unwrap_or_default();
    image_lines(missing, &images)
}
