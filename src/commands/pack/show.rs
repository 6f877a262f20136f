//! The result of packing, as people read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use packager::{ImageCandidate, Packed, PackedProgram, PackedSboms, Pinned};

use super::decisions::SourceDecisions;
use crate::render;

pub(super) fn show(packed: &Packed, decisions: Option<&SourceDecisions>) {
    let (path, size) = (packed.path.display(), render::bytes(packed.size));
    let images = render::images(packed.images, packed.referrers);
    let blobs = render::count(packed.blobs, "blob");
    render::line!("packed      {path} ({size}, {images}, {blobs})");
    for pinned in &packed.pinned {
        match decisions {
            Some(decisions) if pinned.subject.is_none() => decisions.show_image(pinned),
            None if pinned.is_to_tell() => show_image(pinned),
            _ => {}
        }
    }
    packed.programs.iter().for_each(show_program);
    packed.sboms.iter().for_each(show_sboms);
    render::line!("archive id  {}", packed.archive_id);
    show_candidates(&packed.candidates);
}

/// An image whose source can have another content by now.
fn show_image(pinned: &Pinned) {
    let source = pinned.from.to_string();
    let source = source.split('@').next().unwrap_or_default();
    let (place, digest) = (&pinned.place, &pinned.digest);
    render::line!("image       {place} from {source}@{digest}");
}

/// What to do with an archive that was created from a source.
pub(super) fn show_next(keys: &[PathBuf], out: &Path, decisions: &SourceDecisions) {
    let out = out.display();
    let check = match keys.first() {
        None => format!("sign the archive with `solution sign {out} --key KEY`"),
        Some(key) => {
            let public = Some(key.with_extension("pub")).filter(|path| path.is_file());
            let public = public.map(|path| path.display().to_string());
            let public = public.unwrap_or_else(|| "PUBLIC_KEY".to_owned());
            format!("run `solution validate {out} --key {public}`")
        }
    };
    let edit = match &decisions.tree {
        Some(saved) => {
            let saved = saved.display();
            format!("edit `{saved}/solution.yaml`, and run `solution pack {saved}`")
        }
        None => "run the same command with `--save-source DIR`".to_owned(),
    };
    render::note!("next: {check}; to change the source tree, {edit}");
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
pub(super) fn show_program(program: &PackedProgram) {
    let PackedProgram {
        name,
        version,
        architecture,
        digest,
    } = program;
    render::line!("program     {name} {version} for {architecture}, {digest}");
}
