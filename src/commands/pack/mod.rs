//! `solution pack`: a source directory becomes one signed archive.

mod add;
mod arguments;
mod compression;
mod creation;
mod decisions;
mod from_source;
mod included;
mod input;
mod preview;
mod refused;
pub(crate) mod request;
mod sbom;
mod show;
mod shown_decisions;
mod size;
mod tree;
mod versioned;
pub(crate) mod watch;
mod why;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use signing::SecretKey;

pub(crate) use self::arguments::Arguments;
use self::decisions::SourceDecisions;
use self::input::Input;
#[cfg(test)]
pub(crate) use self::refused::RefusedPack;
use self::request::Cache;
use self::tree::PackTree;
use self::why::Why;
use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::review::Checked;
use crate::{environment, interrupt, keys, progress};

/// A result, and the source that it comes from.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WithSource<'a, T> {
    #[serde(flatten)]
    result: &'a T,
    /// With SOURCE: what the archive is created from.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a SourceDecisions>,
}

pub(crate) fn run(arguments: &Arguments, output: Output) -> Result<Outcome, Failure> {
    let tree = match Input::of(arguments)? {
        Input::Source(source) => return from_source::run(arguments, &source, output),
        Input::Tree(directory) => PackTree::existing(directory),
    };
    if arguments.add_images {
        return add::run(arguments, &tree, output);
    }
    // A wrong passphrase is known at once, not after a long pack.
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    if arguments.check {
        if let Some(out) = &arguments.out {
            archive::check_target(out, request::overwrite(arguments))?;
        }
        let cache = request::cache(arguments, &environment::scratch())?;
        return preview::run(arguments, keys, &tree, &cache, output);
    }
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| tree.default_archive());
    interrupt::note(tree.interrupted(&out));
    let beside = out.parent().filter(|path| !path.as_os_str().is_empty());
    let cache = request::cache(arguments, beside.unwrap_or(Path::new(".")))?;
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
    let request = request::request(
        arguments,
        directory,
        keys,
        out,
        cache.path(),
        asked.judging(),
    )?;
    let why = Why::new(arguments.why.as_deref(), tree.decisions.is_some());
    let show_event = |bar: &progress::Bar, event| why.show(bar, event);
    let packed = progress::watched(output, "pack", show_event, |watch| {
        packager::pack(&request, watch)
    });
    why.tell();
    let packed = match packed {
        Ok(packed) => packed,
        Err(error) => return refused::end(error, arguments, &tree, &asked, output),
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
        show::show(result.result, result.source);
        if let Some(decisions) = result.source {
            show::show_next(&arguments.keys, out, decisions);
        }
    }))
}
