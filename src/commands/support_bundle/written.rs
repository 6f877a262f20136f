//! The result of writing a support bundle, for people and programs.

use std::path::Path;

use importer::{SupportFiles, UnreadFile};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::Output;
use crate::commands::give;
use crate::failure::Outcome;
use crate::render;

/// A support bundle was written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenBundle<'a> {
    /// The file.
    written: &'a Path,
    /// Bytes of it.
    size: usize,
    /// How many files it has.
    files: usize,
    /// The files that are missing.
    unread: &'a [UnreadFile],
}

/// A support bundle that was not written.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UnwrittenBundle<'a> {
    /// The file that was not written.
    pub(super) unwritten: &'a Path,
}

/// Shows the bundle that was written, and what is missing in it.
pub(super) fn show(path: &Path, files: &SupportFiles, size: usize, output: Output) -> Outcome {
    let written = WrittenBundle {
        written: path,
        size,
        files: files.files.len(),
        unread: &files.unread,
    };
    give(output, &written, |written| {
        for UnreadFile { path, why } in written.unread {
            render::note!("missing: {path}: {why}");
        }
        let (file, size) = (written.written.display(), render::bytes(size as u64));
        let count = render::count(written.files, "file");
        render::line!("written     {file} ({count}, {size})");
        render::note!(
            "next: inspect the logs in it before you send it; they may contain secrets that are not known"
        );
    })
}
