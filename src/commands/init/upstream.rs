//! `solution init --from ARCHIVE`: a source tree from an upstream archive.

use std::path::{Path, PathBuf};

use archive::Medium;
use release::SourceTree;
use release::upstream::{UpstreamArchive, is_image};

use super::choices::{CreatedTree, TreeChoices};
use crate::failure::Failure;
use crate::progress;

/// Opens an ISO image. The reader of any other file reports why it cannot be read.
pub(super) fn image(from: &Path) -> Option<Medium> {
    let medium = Medium::open(from).ok();
    medium.filter(is_image)
}

/// Creates the tree of an archive.
pub(super) fn create(
    from: &Path,
    medium: &Medium,
    choices: &TreeChoices<'_>,
    place: impl FnOnce(&SourceTree) -> Result<PathBuf, Failure>,
) -> Result<CreatedTree, Failure> {
    let called = from.file_name().unwrap_or_default().to_string_lossy();
    let archive = UpstreamArchive::read(medium, medium.size())?;
    let conversion = archive.convert(&called, &choices.wishes)?;
    let directory = place(&conversion.tree)?;
    let written = progress::watched(
        choices.output,
        "convert",
        |bar, progress| bar.show("convert", progress),
        |watch| conversion.write(&directory, watch),
    )?;
    Ok(CreatedTree {
        directory,
        tree: conversion.tree,
        chart: None,
        written,
    })
}
