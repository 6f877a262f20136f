//! `solution pack --add-images`: images that objects and charts need and `solution.yaml` does not list are written into it.

use std::path::Path;

use packager::Added;

use super::why::Why;
use super::{Arguments, refused, request};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, progress, render};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let cache = request::cache(arguments, &environment::scratch())?;
    let asked = arguments.judging()?;
    let request = request::request(
        arguments,
        Vec::new(),
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    let why = Why::new(arguments.why.as_deref());
    let show_event = |bar: &progress::Bar, event| why.show(bar, event);
    let added = progress::watched(output, "check", show_event, |watch| {
        packager::add_images(&request, watch)
    });
    why.tell();
    match added {
        Ok(added) => {
            let now = environment::now().map_err(Failure::unknown)?;
            asked.tell(&asked.judge(&added.findings, now), output);
            Ok(give(output, &added, show))
        }
        Err(error) => refused::end(error, arguments, &asked, output),
    }
}

fn show(added: &Added) {
    for image in &added.added {
        render::line!("added       {} from {}", image.place(), image.source);
    }
    render::note(match added.added.len() {
        0 => "nothing was missing: every image that an object or a chart needs is listed",
        _ => "solution.yaml lists them now; the next `solution pack` brings them",
    });
}
