//! A file beside its list: whether it is there, and as the list says.

use std::fs::File;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;

use crate::args::choose;

/// How a file is compared with its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ListedState {
    /// It is as the list says.
    Same,
    /// It is another one.
    Different,
    /// It is not there.
    Missing,
}

/// Compares a file with its digest.
pub(super) fn compared(path: &Path, expected: Digest) -> io::Result<ListedState> {
    // Opening a pipe would wait for a writer, so look first.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ListedState::Missing),
        Err(error) => return Err(error),
        Ok(found) if !found.is_file() => return Ok(ListedState::Different),
        Ok(_) => {}
    }
    let found = files::digest_of(File::open(path)?)?;
    Ok(choose(
        found == expected,
        ListedState::Same,
        ListedState::Different,
    ))
}
