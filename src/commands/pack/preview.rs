//! `solution pack --check`: what would go into an archive, and whether it would be accepted.

use std::path::Path;

use packager::{ImagePreview, Preview};
use serde::Serialize;
use validator::{Finding, Verdict};

use super::{Arguments, cache, findings, overwrite, request, show_event};
use crate::args::Output;
use crate::commands::support;
use crate::failure::{Failure, Outcome};
use crate::{environment, progress, render};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checked<'a> {
    solution: String,
    verdict: Verdict,
    /// Bytes of the archive.
    size: u64,
    images: Vec<ImageLine>,
    blobs: usize,
    blob_bytes: u64,
    /// Bytes of layers whose compressed size is not known yet.
    to_compress: u64,
    /// Bytes of layers that are not in the cache yet.
    to_download: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileLine>>,
    findings: Vec<&'a Finding>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageLine {
    image: String,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    source: String,
    digest: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<String>,
    platforms: Vec<String>,
    /// Bytes of all that the image has.
    size: u64,
    /// As many of these as no other image of the Solution has.
    own: u64,
}

#[derive(Serialize)]
struct FileLine {
    path: String,
    size: u64,
    digest: String,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let keys = support::secret_keys(&arguments.keys, &arguments.passphrase)?;
    if let Some(out) = &arguments.out {
        archive::check_target(out, overwrite(arguments))?;
    }
    let cache = cache(arguments, &environment::scratch())?;
    let request = request(arguments, keys, Path::new(""), cache.path())?;
    let preview = progress::watched(output, "check", show_event, |watch| {
        packager::preview(&request, watch)
    })?;
    let findings = findings(&preview.report, output);
    let checked = checked(&preview, findings, arguments.files);
    render::result(output, &checked, show);
    Ok(match checked.verdict {
        Verdict::Refused => Outcome::No,
        _ => Outcome::Yes,
    })
}

fn checked<'a>(preview: &Preview, findings: Vec<&'a Finding>, files: bool) -> Checked<'a> {
    Checked {
        solution: preview.id.to_string(),
        // That nobody signed is not for a check to say.
        verdict: match preview.report.verdict() {
            Verdict::Refused => Verdict::Refused,
            _ => Verdict::Accepted,
        },
        size: preview.size,
        images: preview.images.iter().map(image_line).collect(),
        blobs: preview.blobs,
        blob_bytes: preview.blob_bytes,
        to_compress: preview.to_compress,
        to_download: preview.to_download,
        files: files.then(|| preview.files.iter().map(file_line).collect()),
        findings,
    }
}

fn image_line(image: &ImagePreview) -> ImageLine {
    ImageLine {
        image: image.place.to_string(),
        reference: image.reference.as_ref().map(ToString::to_string),
        source: image.source.clone(),
        digest: image.digest.to_string(),
        artifact_type: image.artifact_type.clone(),
        platforms: image.platforms.iter().map(ToString::to_string).collect(),
        size: image.size,
        own: image.own,
    }
}

fn file_line(file: &schemas::ContentsEntry) -> FileLine {
    FileLine {
        path: file.path.to_string(),
        size: file.size,
        digest: file.digest.to_string(),
    }
}

fn show(checked: &Checked<'_>) {
    render::line!("solution    {}", checked.solution);
    let most = if checked.to_compress == 0 {
        ""
    } else {
        "at most "
    };
    render::line!(
        "size        {most}{} ({}, {} of {})",
        render::bytes(checked.size),
        render::count(checked.images.len(), "image"),
        render::count(checked.blobs, "blob"),
        render::bytes(checked.blob_bytes)
    );
    if checked.to_compress != 0 {
        let bytes = render::bytes(checked.to_compress);
        render::line!("compress    {bytes} first; then the digests of their images are known");
    }
    if checked.to_download != 0 {
        render::line!("download    {} first", render::bytes(checked.to_download));
    }
    for image in &checked.images {
        show_image(image);
    }
    for file in checked.files.iter().flatten() {
        render::line!("{:>14}  {}  {}", file.size, file.digest, file.path);
    }
    render::note(match checked.verdict {
        Verdict::Refused => "refused: `solution pack` would write no archive",
        _ => "no archive was written",
    });
}

fn show_image(image: &ImageLine) {
    let shared = match image.size - image.own {
        0 => String::new(),
        shared => format!(" ({} shared)", render::bytes(shared)),
    };
    let size = render::bytes(image.size);
    let kind = match &image.artifact_type {
        Some(kind) => kind.clone(),
        None => image.platforms.join(", "),
    };
    render::line!("image       {}  {size}{shared}  {kind}", image.image);
    render::line!("  from      {}  {}", image.source, image.digest);
    if let Some(reference) = &image.reference {
        render::line!("  ref       {reference}");
    }
}
