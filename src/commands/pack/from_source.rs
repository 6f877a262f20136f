//! `solution pack SOURCE`: creates a source tree, adds its images and packs it, in one run. The tree is temporary,
//! unless the author saves it for later changes.

use std::path::{Path, PathBuf};

use packager::Event;
use process::Scratch;
use release::InitOptions;

pub(crate) use super::arguments::Arguments;
use super::decisions::SourceDecisions;
use super::source::{PackTree, temporary};
use super::{cache, check, overwrite, request, write};
use crate::args::Output;
use crate::commands::init::HelmfileArguments;
use crate::commands::init::arguments::TreeChoices;
use crate::commands::init::source::Source;
use crate::commands::source_access::{self, Cache, remote};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, keys, progress_bar};

pub(super) fn pack_source(
    arguments: &Arguments,
    source: &Source,
    output: Output,
) -> Result<Outcome, Failure> {
    // Check the passphrase and the output file first, so that a mistake is not reported only after a download.
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    if let Some(out) = &arguments.out {
        archive::check_target(out, overwrite(arguments))?;
    }
    let temporary = temporary(&arguments.creation)?;
    let cache = cache(arguments, &environment::scratch())?;
    let tree = create(arguments, source, temporary.as_ref(), &cache, output)?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| tree.default_archive());
    interrupt::note(tree.interrupted(&out));
    match add_images(arguments, &tree, &cache, output) {
        Ok(None) if arguments.check => check::run(arguments, keys, &tree, &cache, output),
        Ok(None) => write(arguments, keys, tree, &out, &cache, output),
        Ok(Some(refused)) => Ok(refused),
        Err(failure) => Err(failure),
    }
}

/// Creates the tree, and shows the decisions about it.
fn create(
    arguments: &Arguments,
    source: &Source,
    temporary: Option<&Scratch>,
    cache: &Cache,
    output: Output,
) -> Result<PackTree, Failure> {
    let creation = &arguments.creation;
    let choices = TreeChoices {
        options: InitOptions {
            name: creation.name.clone(),
            version: creation.version.clone(),
        },
        values: &creation.values,
        helmfile: &HelmfileArguments::default(),
        remote: remote(&arguments.reach, &arguments.mirrors)?,
        cache: cache.path(),
        output,
    };
    let created = source.create(&choices, |tree| {
        if arguments.out.is_none() && !arguments.check {
            let out = PathBuf::from(format!("{}.iso", tree.id));
            archive::check_target(&out, overwrite(arguments))?;
        }
        let saved = creation.save_source.clone();
        let name = tree.id.name().as_str();
        Ok(saved
            .or_else(|| Some(temporary?.path().join(name)))
            .unwrap_or_default())
    })?;
    let named = arguments.source.as_deref().unwrap_or(Path::new("."));
    let from = named.display().to_string();
    let decisions = SourceDecisions::new(source, from, &created, creation);
    if output == Output::Human {
        decisions.show();
    }
    Ok(PackTree {
        directory: created.directory,
        decisions: Some(decisions),
    })
}

/// Adds the missing images to the tree. Returns an outcome if the tree is refused.
fn add_images(
    arguments: &Arguments,
    tree: &PackTree,
    cache: &Cache,
    output: Output,
) -> Result<Option<Outcome>, Failure> {
    let asked = arguments.judging(&tree.directory)?;
    let request = request(
        arguments,
        &tree.directory,
        Vec::new(),
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    // Packing reports the remarks on the source, so they are not shown twice.
    let show_event = |bar: &progress_bar::ProgressDisplay, event: Event| {
        if !event.is_remark() {
            source_access::show_progress(bar, event);
        }
    };
    let added = progress_bar::watched(output, "images", show_event, |watch| {
        packager::add_images(&request, watch)
    });
    match added {
        Ok(_) => Ok(None),
        Err(error) => check::end(error, arguments, tree, &asked, output).map(Some),
    }
}
