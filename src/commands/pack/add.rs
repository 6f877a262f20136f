//! `solution pack --add-images`: images that objects and charts need and `solution.yaml` does not list are written into it.

use std::path::Path;

use packager::{Added, PackError};

use super::tree::PackTree;
use super::why::Why;
use super::{Arguments, preview, refused, request};
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{environment, progress, render};

pub(super) fn run(
    arguments: &Arguments,
    tree: &PackTree,
    output: Output,
) -> Result<Outcome, Failure> {
    let cache = request::cache(arguments, &environment::scratch())?;
    let asked = arguments.judging(&tree.directory)?;
    let request = request::request(
        arguments,
        &tree.directory,
        Vec::new(),
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    let why = Why::new(arguments.why.as_deref(), false);
    let show_event = |bar: &progress::Bar, event| why.show(bar, event);
    let done = progress::watched(output, "check", show_event, |watch| {
        if arguments.check {
            let done = packager::add_and_preview(&request, watch);
            return done.map(|(added, preview)| (added, Some(preview)));
        }
        packager::add_images(&request, watch).map(|added| (added, None))
    });
    why.tell();
    let (mut added, preview) = match done {
        Ok(done) => done,
        Err(error) => return refused::end(error, arguments, tree, &asked, output),
    };
    let now = environment::now().map_err(Failure::unknown)?;
    let (judged, outcome) = match preview {
        None => (asked.judge(&added.findings, now), Outcome::Yes),
        Some(Ok(preview)) => (preview.judged, preview::outcome(preview.verdict)),
        Some(Err(PackError::Refused(judged))) => (*judged, Outcome::No),
        Some(Err(PackError::RefusedSource(refused))) => {
            (asked.judge(&refused.findings, now), Outcome::No)
        }
        Some(Err(error)) => {
            // The file has them, whatever ended the check.
            if output == Output::Human {
                show(&added);
            }
            return Err(error.into());
        }
    };
    asked.tell(&judged, output);
    if arguments.check {
        added.findings = judged.findings;
    }
    render::result(output, &added, |added| {
        show(added);
        if matches!(outcome, Outcome::No) {
            render::note(preview::REFUSED);
        }
    });
    Ok(outcome)
}

fn show(added: &Added) {
    for image in &added.added {
        render::line!("added       {} from {}", image.place(), image.source);
    }
    render::note(match added.added.len() {
        0 => "nothing to add: every image that an object or a chart needs is listed",
        _ => "added to solution.yaml; the next `solution pack` packages them",
    });
}
