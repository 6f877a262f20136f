//! A file beside its list: whether it is there, and as the list says.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use schemars::JsonSchema;
use schemas::Digest;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::args::choose;

/// Bytes that are hashed at once.
const BUFFER: usize = 1024 * 1024;

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
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let found = Digest::new(hash.finalize().into());
    Ok(choose(
        found == expected,
        ListedState::Same,
        ListedState::Different,
    ))
}
