//! `solution pack --add-images`: images that objects and charts need and `solution.yaml` does not list are written into it.

use std::path::Path;

use packager::Added;
use validator::Judging;

use super::{Arguments, missing, request, watch};
use crate::args::Output;
use crate::commands::give;
use crate::failure::{Failure, Outcome};
use crate::{environment, progress, render};

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let cache = request::cache(arguments, &environment::scratch())?;
    let judging = Judging::default();
    let request = request::request(arguments, Vec::new(), Path::new(""), cache.path(), judging)?;
    let added = progress::watched(output, "check", watch::show, |watch| {
        packager::add_images(&request, watch)
    });
    let added = added.map_err(|error| missing::failure(error, &arguments.directory))?;
    Ok(give(output, &added, show))
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
