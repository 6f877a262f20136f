//! `solution pack --check`: what would go into an archive, and whether it would be accepted.

use std::path::Path;

use packager::{ImagePreview, Preview};
use signing::SecretKey;
use validator::ArchiveVerdict;

use super::request::Cache;
use super::show::show_program;
use super::tree::PackTree;
use super::why::Why;
use super::{Arguments, WithSource, refused, request};
use crate::args::{Output, choose};
use crate::commands::inspect;
use crate::failure::{Failure, Outcome};
use crate::review::Checked;
use crate::{progress, render};

/// The note on a tree of which no archive is made.
pub(super) const REFUSED: &str = "refused: `solution pack` would not write an archive";

pub(super) fn run(
    arguments: &Arguments,
    keys: Vec<SecretKey>,
    tree: &PackTree,
    cache: &Cache,
    output: Output,
) -> Result<Outcome, Failure> {
    let asked = arguments.judging(&tree.directory)?;
    let request = request::request(
        arguments,
        &tree.directory,
        keys,
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    let why = Why::new(arguments.why.as_deref(), false);
    let show_event = |bar: &progress::Bar, event| why.show(bar, event);
    let preview = progress::watched(output, "check", show_event, |watch| {
        packager::preview(&request, watch)
    });
    why.tell();
    let mut preview = match preview {
        Ok(preview) => preview,
        Err(error) => return refused::end(error, arguments, tree, &asked, output),
    };
    asked.tell(&preview.judged, output);
    if !arguments.files {
        preview.files.clear();
    }
    let result = WithSource {
        result: &preview,
        source: tree.decisions.as_ref(),
    };
    render::result(output, &result, |result| show(result.result));
    asked.review(Checked::Tree(&tree.directory), &preview.judged)?;
    Ok(outcome(preview.verdict))
}

/// How a check ends.
pub(super) fn outcome(verdict: ArchiveVerdict) -> Outcome {
    match verdict {
        ArchiveVerdict::Refused => Outcome::No,
        _ => Outcome::Yes,
    }
}

fn show(preview: &Preview) {
    render::line!("solution    {}", preview.id);
    let most = choose(preview.to_compress == 0, "", "at most ");
    let [size, bytes] = [preview.size, preview.blob_bytes].map(render::bytes);
    let own = preview.images.iter().filter(|it| it.subject.is_none());
    let images = render::images(own.count(), preview.referrers);
    let blobs = render::count(preview.blobs, "blob");
    render::line!("size        {most}{size} ({images}, {blobs} of {bytes})");
    if preview.to_compress != 0 {
        let bytes = render::bytes(preview.to_compress);
        render::line!("compress    {bytes} first; the digests of these images are not known yet");
    }
    if preview.to_download != 0 {
        render::line!("download    {} first", render::bytes(preview.to_download));
    }
    preview.images.iter().for_each(show_image);
    preview.programs.iter().for_each(show_program);
    inspect::words::show_files(&preview.files);
    render::note(match preview.verdict {
        ArchiveVerdict::Refused => REFUSED,
        _ => "no archive was written",
    });
}

fn show_image(image: &ImagePreview) {
    let shared = match image.size - image.own {
        0 => String::new(),
        shared => format!(" ({} shared)", render::bytes(shared)),
    };
    let size = render::bytes(image.size);
    let kind = inspect::words::kind(image.artifact_type.as_deref(), &image.platforms);
    let what = choose(image.subject.is_some(), "referrer", "image");
    render::line!("{what:<11} {}  {size}{shared}  {kind}", image.place);
    render::line!("  from      {}  {}", image.source, image.digest);
    if let Some(reference) = &image.reference {
        render::line!("  ref       {reference}");
    }
}
