//! `solution pack`: packs a source directory into one signed archive. This module builds the request and writes the
//! archive. With `--add-images`, it adds the images to `solution.yaml` that objects and charts need and the file does
//! not list. The author reviews the added lines, because a chart may name images that are never used.

mod arguments;
mod check;
mod decisions;
mod from_source;
mod source;

use std::path::Path;

use archive::Overwrite;
use packager::{AddedImages, ChartRenderer, PackError, PackRequest, Signing};
use schemars::JsonSchema;
use serde::Serialize;
use signing::SecretKey;
use sources::CacheOptions;
use validator::FindingRules;

pub(crate) use self::arguments::Arguments;
use self::check::EvidenceFilter;
#[cfg(test)]
pub(crate) use self::check::RefusedPack;
use self::decisions::SourceDecisions;
use self::from_source::pack_source;
use self::source::{Input, PackTree};
use super::give;
use super::source_access::{Cache, cache_in, remote};
use crate::args::{Output, choose};
use crate::failure::{Failure, Outcome};
use crate::review::Checked;
use crate::{environment, helm, interrupt, keys, progress_bar, render};

/// A result, and the source that it comes from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WithSource<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    /// With SOURCE: what the archive is created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceDecisions>,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let tree = match Input::of(arguments)? {
        Input::Source(source) => return pack_source(arguments, &source, output),
        Input::Tree(directory) => PackTree::existing(directory),
    };
    if arguments.add_images {
        return add_images(arguments, &tree, output);
    }
    // Ask for the passphrase first, so that a wrong one is not reported only after a long pack.
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    if arguments.check {
        if let Some(out) = &arguments.out {
            archive::check_target(out, overwrite(arguments))?;
        }
        let cache = cache(arguments, &environment::scratch())?;
        return check::run(arguments, keys, &tree, &cache, output);
    }
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| tree.default_archive());
    interrupt::note(tree.interrupted(&out));
    let beside = out.parent().filter(|path| !path.as_os_str().is_empty());
    let cache = cache(arguments, beside.unwrap_or(Path::new(".")))?;
    write(arguments, keys, tree, &out, &cache, output)
}

fn write(
    arguments: &Arguments,
    keys: Vec<SecretKey>,
    mut tree: PackTree,
    out: &Path,
    cache: &Cache,
    output: Output,
) -> Result<Outcome, Failure> {
    let asked = arguments.judging(&tree.directory)?;
    let directory = &tree.directory;
    let request = request(
        arguments,
        directory,
        keys,
        out,
        cache.path(),
        asked.judging(),
    )?;
    let why = EvidenceFilter::new(arguments.why.as_deref(), tree.decisions.is_some());
    let show_event = |bar: &progress_bar::ProgressDisplay, event| why.show(bar, event);
    let packed = progress_bar::watched(output, "pack", show_event, |watch| {
        packager::pack(&request, watch)
    });
    why.tell();
    let packed = match packed {
        Ok(packed) => packed,
        Err(error) => return check::end(error, arguments, &tree, &asked, output),
    };
    asked.tell(&packed.judged, output);
    asked.review(Checked::Tree(&tree.directory), &packed.judged)?;
    if let Some(decisions) = &mut tree.decisions {
        decisions.add_images(&packed.pinned, &why.evidence());
    }
    let result = WithSource {
        result: &packed,
        source: tree.decisions.as_ref(),
    };
    Ok(give(output, &result, |result| {
        decisions::show(result.result, result.source);
        if let Some(decisions) = result.source {
            decisions::show_next(&arguments.keys, out, decisions);
        }
    }))
}

/// Returns the cache. If it is not kept, it is a temporary directory in `beside`.
fn cache(arguments: &Arguments, beside: &Path) -> Result<Cache, Failure> {
    let kept = arguments.cache_dir.clone().or_else(environment::cache);
    cache_in(kept.filter(|_| !arguments.no_cache), beside)
}

/// Returns the request, with all choices of the user.
fn request(
    arguments: &Arguments,
    directory: &Path,
    keys: Vec<SecretKey>,
    out: &Path,
    cache: &Path,
    judging: FindingRules,
) -> Result<PackRequest, Failure> {
    Ok(PackRequest {
        directory: directory.to_owned(),
        output: out.to_owned(),
        // The parser ensures that only a check has neither a key nor `--unsigned`.
        signing: choose(keys.is_empty(), Signing::Unsigned, Signing::Keys(keys)),
        overwrite: overwrite(arguments),
        compression: arguments.compression.into(),
        time: environment::source_date().map_err(Failure::usage)?,
        now: environment::now().map_err(Failure::unknown)?,
        judging,
        threads: environment::threads(),
        cache: CacheOptions {
            directory: cache.to_owned(),
            unpack_limit: arguments.unpack_limit.0,
        },
        with_referrers: arguments.with_referrers,
        remote: remote(&arguments.reach, &arguments.mirrors)?,
        renderer: choose(
            arguments.no_render,
            ChartRenderer::Nothing,
            ChartRenderer::Helm(helm::program(arguments.helm.as_deref())),
        ),
        keyring: arguments.keyring.clone(),
        programs: arguments::programs(arguments),
        documentation: arguments::documentation(arguments)?,
        sboms: arguments.sbom.request(),
        scratch: environment::scratch(),
    })
}

/// Returns the policy for an existing archive.
fn overwrite(arguments: &Arguments) -> Overwrite {
    choose(arguments.force, Overwrite::Replace, Overwrite::Refuse)
}

fn add_images(arguments: &Arguments, tree: &PackTree, output: Output) -> Result<Outcome, Failure> {
    let cache = cache(arguments, &environment::scratch())?;
    let asked = arguments.judging(&tree.directory)?;
    let request = request(
        arguments,
        &tree.directory,
        Vec::new(),
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    let why = EvidenceFilter::new(arguments.why.as_deref(), false);
    let show_event = |bar: &progress_bar::ProgressDisplay, event| why.show(bar, event);
    let done = progress_bar::watched(output, "check", show_event, |watch| {
        if arguments.check {
            let done = packager::add_and_preview(&request, watch);
            return done.map(|(added, preview)| (added, Some(preview)));
        }
        packager::add_images(&request, watch).map(|added| (added, None))
    });
    why.tell();
    let (mut added, preview) = match done {
        Ok(done) => done,
        Err(error) => return check::end(error, arguments, tree, &asked, output),
    };
    let now = environment::now().map_err(Failure::unknown)?;
    let (judged, outcome) = match preview {
        None => (asked.judge(&added.findings, now), Outcome::Yes),
        Some(Ok(preview)) => (preview.judged, check::outcome(preview.verdict)),
        Some(Err(PackError::Refused(judged))) => (*judged, Outcome::No),
        Some(Err(PackError::RefusedSource(refused))) => {
            (asked.judge(&refused.findings, now), Outcome::No)
        }
        Some(Err(error)) => {
            // The lines are already in the file, even if the check has failed.
            if output == Output::Human {
                show_added(&added);
            }
            return Err(error.into());
        }
    };
    asked.tell(&judged, output);
    if arguments.check {
        added.findings = judged.findings;
    }
    render::result(output, &added, |added| {
        show_added(added);
        if matches!(outcome, Outcome::No) {
            render::note(check::REFUSED);
        }
    });
    Ok(outcome)
}

fn show_added(added: &AddedImages) {
    for image in &added.added {
        render::line!("added       {} from {}", image.place(), image.source);
    }
    render::note(match added.added.len() {
        0 => "nothing to add: every image that an object or a chart needs is listed",
        _ => "added to solution.yaml; the next `solution pack` packages them",
    });
}
