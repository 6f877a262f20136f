//! `solution pack SOURCE`: a source tree is created, its images are added, and it is packed, in one run.

use std::path::{Path, PathBuf};

use packager::Event;
use process::Scratch;
use release::Wishes;

use super::decisions::SourceDecisions;
use super::request::{self, Cache};
use super::tree::{self, PackTree};
use super::{Arguments, preview, refused, watch, write};
use crate::args::Output;
use crate::commands::init::choices::TreeChoices;
use crate::commands::init::source::Source;
use crate::commands::init::{HelmfileArguments, Taken};
use crate::failure::{Failure, Outcome};
use crate::{environment, interrupt, keys, progress};

pub(super) fn run(
    arguments: &Arguments,
    source: &Source,
    output: Output,
) -> Result<Outcome, Failure> {
    // A wrong passphrase and a file that exists are known at once, not after a download.
    let keys = keys::secret(&arguments.keys, &arguments.passphrase)?;
    if let Some(out) = &arguments.out {
        archive::check_target(out, request::overwrite(arguments))?;
    }
    let temporary = tree::temporary(&arguments.creation)?;
    let cache = request::cache(arguments, &environment::scratch())?;
    let tree = create(arguments, source, temporary.as_ref(), &cache, output)?;
    let out = arguments.out.clone();
    let out = out.unwrap_or_else(|| tree.default_archive());
    interrupt::note(tree.interrupted(&out));
    match add_images(arguments, &tree, &cache, output) {
        Ok(None) if arguments.check => preview::run(arguments, keys, &tree, &cache, output),
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
        wishes: Wishes {
            name: creation.name.clone(),
            version: creation.version.clone(),
            deployment: None,
        },
        values: &creation.values,
        taken: Taken::Manifests,
        helmfile: &HelmfileArguments::default(),
        remote: request::remote(&arguments.reach, &arguments.mirrors)?,
        cache: cache.path(),
        output,
    };
    let created = source.create(&choices, |tree| {
        if arguments.out.is_none() && !arguments.check {
            let out = PathBuf::from(format!("{}.iso", tree.id));
            archive::check_target(&out, request::overwrite(arguments))?;
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

/// Adds the images that the tree lacks. Gives the outcome if the tree is refused.
fn add_images(
    arguments: &Arguments,
    tree: &PackTree,
    cache: &Cache,
    output: Output,
) -> Result<Option<Outcome>, Failure> {
    let asked = arguments.judging(&tree.directory)?;
    let request = request::request(
        arguments,
        &tree.directory,
        Vec::new(),
        Path::new(""),
        cache.path(),
        asked.judging(),
    )?;
    // Packing reports the remarks on the source.
    let show_event = |bar: &progress::Bar, event: Event| {
        if !event.is_remark() {
            watch::show(bar, event);
        }
    };
    let added = progress::watched(output, "images", show_event, |watch| {
        packager::add_images(&request, watch)
    });
    match added {
        Ok(_) => Ok(None),
        Err(error) => refused::end(error, arguments, tree, &asked, output).map(Some),
    }
}
