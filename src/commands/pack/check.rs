//! `solution pack --check`: previews an archive and its verdict. `--why` lists the places that name an image. A refused
//! pack reports all problems and the lines for missing images.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use packager::{Event, ImageEvidence, ImagePreview, MissingImage, PackError, Preview, image_lines};
use schemars::JsonSchema;
use serde::Serialize;
use signing::SecretKey;
use validator::{ArchiveVerdict, EvaluatedFindings};

use super::decisions::{describe_evidence, show_program};
use super::source::{PackTree, read_source};
use super::{Arguments, WithSource, request};
use crate::args::{Output, choose};
use crate::commands::inspect;
use crate::commands::source_access::{self, Cache};
use crate::commands::validate::check::JudgingOptions;
use crate::failure::{Failure, Outcome, Quote};
use crate::progress_bar::{self, ProgressDisplay};
use crate::review::Checked;
use crate::{environment, render};

/// The note on a tree that cannot be packed.
pub(super) const REFUSED: &str = "refused: `solution pack` would not write an archive";

pub(super) fn run(
    arguments: &Arguments,
    keys: Vec<SecretKey>,
    tree: &PackTree,
    cache: &Cache,
    output: Output,
) -> Result<Outcome, Failure> {
    let asked = arguments.judging(&tree.directory)?;
    let request = request(
        arguments,
        &tree.directory,
        keys,
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    let why = EvidenceFilter::new(arguments.why.as_deref(), false);
    let show_event = |bar: &progress_bar::ProgressDisplay, event| why.show(bar, event);
    let preview = progress_bar::watched(output, "check", show_event, |watch| {
        packager::preview(&request, watch)
    });
    why.tell();
    let mut preview = match preview {
        Ok(preview) => preview,
        Err(error) => return end(error, arguments, tree, &asked, output),
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

/// Returns the outcome of a check.
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
    let own = preview
        .images
        .iter()
        .filter(|image| image.subject.is_none());
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
    inspect::show_files(&preview.files);
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
    let kind = inspect::kind(image.artifact_type.as_deref(), &image.platforms);
    let what = choose(image.subject.is_some(), "referrer", "image");
    render::line!("{what:<11} {}  {size}{shared}  {kind}", image.place);
    render::line!("  from      {}  {}", image.source, image.digest);
    if let Some(reference) = &image.reference {
        render::line!("  ref       {reference}");
    }
}

/// The introduction of the quoted lines.
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
    judged: &'a EvaluatedFindings,
    /// The lines for `spec.images` of `solution.yaml` that list the images which are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    image_lines: Option<String>,
}

/// Reports the findings if the source tree or its archive is refused; any other error is a failure.
pub(super) fn end(
    error: PackError,
    arguments: &Arguments,
    tree: &PackTree,
    asked: &JudgingOptions,
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
    asked: &JudgingOptions,
    judged: &EvaluatedFindings,
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

/// Returns lines of `solution.yaml` for the missing images. They avoid the places of listed images, if the file can be
/// read.
fn lines(missing: &[MissingImage], directory: &Path) -> String {
    let source = read_source(directory);
    let images = source.map(|source| source.spec.images).unwrap_or_default();
    image_lines(missing, &images)
}

/// The places that name a requested image.
pub(super) struct EvidenceFilter<'a> {
    image: Option<&'a str>,
    /// True if the evidence of all images is kept.
    keeps_all: bool,
    /// True if a chart was rendered, so that its images are known.
    rendered: AtomicBool,
    /// A chart may be loaded twice, so each place is kept once.
    found: Mutex<BTreeSet<ImageEvidence>>,
}

impl<'a> EvidenceFilter<'a> {
    pub(super) fn new(image: Option<&'a str>, keeps_all: bool) -> Self {
        Self {
            image,
            keeps_all,
            rendered: AtomicBool::new(false),
            found: Mutex::default(),
        }
    }

    /// Shows one event, and keeps the evidence about the image.
    pub(super) fn show(&self, bar: &ProgressDisplay, event: Event) {
        if matches!(event, Event::Rendering(_)) {
            self.rendered.store(true, Ordering::Relaxed);
        }
        match event {
            Event::Named(evidence) => {
                if self.keeps_all || self.is_asked(&evidence) {
                    self.found
                        .lock()
                        .expect("no holder panics")
                        .insert(evidence);
                }
            }
            event => source_access::show_progress(bar, event),
        }
    }

    fn is_asked(&self, evidence: &ImageEvidence) -> bool {
        self.image.is_some_and(|image| evidence.is_about(image))
    }

    /// Returns all evidence that was kept.
    pub(super) fn evidence(&self) -> Vec<ImageEvidence> {
        let found = self.found.lock().expect("no holder panics");
        found.iter().cloned().collect()
    }

    /// Prints the places that name the requested image.
    pub(super) fn tell(&self) {
        let Some(image) = self.image else {
            return;
        };
        let found = self.found.lock().expect("no holder panics");
        if !self.rendered.load(Ordering::Relaxed) {
            render::note!("cannot find `{image}`: no chart was rendered");
        } else if !found.iter().any(|evidence| self.is_asked(evidence)) {
            render::note!("no chart names `{image}`");
        }
        for evidence in found.iter().filter(|evidence| self.is_asked(evidence)) {
            let reference = &evidence.reference;
            render::note!("`{reference}` is named by {}", describe_evidence(evidence));
        }
    }
}
