//! `solution pack`: a source directory becomes one signed archive.

mod add;
mod arguments;
mod compression;
mod preview;
mod refused;
pub(crate) mod request;
mod sbom;
mod size;
mod versioned;
pub(crate) mod watch;
mod why;

use std::collections::BTreeMap;
use std::path::Path;

use packager::{ImageCandidate, Packed, PackedProgram, PackedSboms};

pub(crate) use self::arguments::Arguments;
#[cfg(test)]
pub(crate) use self::refused::RefusedPack;
use self::why::Why;
use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{interrupt, keys, progress, render};

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    if arguments.add_images {
        return add::run(arguments, output);
    }
    match &arguments.out {
        Some(out) if !arguments.check => write(arguments, out, output),
        _ => preview::run(arguments, output),
    }
}

fn write(arguments: &Arguments, out: &Path, output: Output) -> Result<Outcome, Failure> {
    // A wrong passphrase is known at once, not after a long pack.
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    interrupt::note(format!(
        "interrupted: `{}` was not written; run the same command again: cached content is not downloaded again",
        out.display()
    ));
    let beside = out.parent().filter(|path| !path.as_os_str().is_empty());
    let cache = request::cache(arguments, beside.unwrap_or(Path::new(".")))?;
    let asked = arguments.judging()?;
    let request = request::request(arguments, keys, out, cache.path(), asked.judging())?;
    let why = Why::new(arguments.why.as_deref());
    let show_event = |bar: &progress::Bar, event| why.show(bar, event);
    let packed = progress::watched(output, "pack", show_event, |watch| {
        packager::pack(&request, watch)
    });
    why.tell();
    let packed = match packed {
        Ok(packed) => packed,
        Err(error) => return refused::end(error, arguments, &asked, output),
    };
    asked.tell(&packed.judged, output);
    asked.review(arguments.checked(), &packed.judged)?;
    Ok(give(output, &packed, show))
}

fn show(packed: &Packed) {
    let (path, size) = (packed.path.display(), render::bytes(packed.size));
    let images = render::images(packed.images, packed.referrers);
    let blobs = render::count(packed.blobs, "blob");
    render::line!("packed      {path} ({size}, {images}, {blobs})");
    for pinned in packed.pinned.iter().filter(|pinned| pinned.is_to_tell()) {
        let source = pinned.from.to_string();
        let source = source.split('@').next().unwrap_or_default();
        let (place, digest) = (&pinned.place, &pinned.digest);
        render::line!("image       {place} from {source}@{digest}");
    }
    packed.programs.iter().for_each(show_program);
    packed.sboms.iter().for_each(show_sboms);
    render::line!("archive id  {}", packed.archive_id);
    show_candidates(&packed.candidates);
}

/// References in programs, by image and program.
fn show_candidates(candidates: &[ImageCandidate]) {
    let mut programs: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    for it in candidates {
        let references = programs.entry((&it.image, &it.file)).or_default();
        references.push(&it.reference);
    }
    for ((image, file), references) in &programs {
        let references = schemas::listed(references);
        render::note!(
            "warning: the program `{file}` of {image} contains the image references {references} and may start these images"
        );
    }
    if !programs.is_empty() {
        render::note!(
            "add the images that these programs start to spec.images, with the tag that the program uses; list the others in `unusedImages` of a chart"
        );
    }
}

/// The SBOMs that were made, and what has none by us.
fn show_sboms(sboms: &PackedSboms) {
    let made = render::count(sboms.made, "document");
    let (format, syft) = (sboms.format, &sboms.syft);
    let others = [
        (sboms.kept, "kept unchanged"),
        (sboms.skipped, "skipped: not an image"),
    ];
    let others = others.iter().filter(|(count, _)| *count > 0);
    let others = others.map(|(count, why)| format!("; {count} {why}"));
    let others: String = others.collect();
    render::line!("sboms       {made} in {format}, by syft {syft}{others}");
}

/// A program that is included.
fn show_program(program: &PackedProgram) {
    let PackedProgram {
        name,
        version,
        architecture,
        digest,
    } = program;
    render::line!("program     {name} {version} for {architecture}, {digest}");
}
