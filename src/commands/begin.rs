//! A file to begin with, in which every field is explained.

use std::path::Path;

use anyhow::anyhow;
use schemars::JsonSchema;
use serde::Serialize;

use super::give;
use crate::args::Output;
use crate::failure::{Failure, Outcome};
use crate::{disk, render};

/// The file that was written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Begun<'a> {
    /// The path that was written.
    file: &'a Path,
}

/// Writes a file where there is none, and says with which verb it goes on.
pub(super) fn begin(
    path: &Path,
    template: &str,
    next: &str,
    output: Output,
) -> Result<Outcome, Failure> {
    let file = path.display();
    if path.exists() {
        return Err(Failure::no(anyhow!("`{file}` exists")).hint("choose another file name"));
    }
    disk::write_new(path, 0o644, template.as_bytes())?;
    Ok(give(output, &Begun { file: path }, |_| {
        render::line!("created `{file}`");
        render::note!("edit it, then run `solution {next} {file}`");
    }))
}
