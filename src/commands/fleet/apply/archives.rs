//! The archives that a fleet's file names: each is opened and verified once, for all clusters.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use fleet::FleetFile;
use schemas::FleetSolution;

use super::Arguments;
use crate::args::Output;
use crate::commands::import::{self, Acceptance};
use crate::failure::Failure;

/// The accepted archives, by the entries of `solutions` that name them.
pub(super) type Archives = BTreeMap<usize, Arc<Acceptance>>;

/// Verifies the archives of these entries; none if one is not accepted, which is said.
pub(super) fn accept_all(
    arguments: &Arguments,
    file: &FleetFile,
    entries: impl IntoIterator<Item = usize>,
    output: Output,
) -> Result<Option<Archives>, Failure> {
    let folder = arguments.file.parent().unwrap_or(Path::new(""));
    let mut by_path: BTreeMap<&str, Arc<Acceptance>> = BTreeMap::new();
    let mut archives = Archives::new();
    for entry in entries {
        let solution = &file.spec().solutions[entry];
        let Some(path) = solution.archive.as_deref() else {
            continue;
        };
        let archive = if let Some(archive) = by_path.get(path) {
            Arc::clone(archive)
        } else {
            let path = &folder.join(path);
            let follows = "no cluster was changed";
            let accepted = import::accept(path, &arguments.signers, follows, output)?;
            let Some(accepted) = accepted else {
                return Ok(None);
            };
            Arc::new(accepted)
        };
        check_is(solution, &archive, path)?;
        by_path.insert(path, Arc::clone(&archive));
        archives.insert(entry, archive);
    }
    Ok(Some(archives))
}

/// Makes sure that an archive is of the version that its entry names.
fn check_is(solution: &FleetSolution, archive: &Acceptance, path: &str) -> Result<(), Failure> {
    let id = &archive.accepted.statement().predicate.id;
    let FleetSolution { name, version, .. } = solution;
    if id.name() == name && id.version() == version {
        return Ok(());
    }
    let (found, version_found) = (id.name(), id.version());
    let other = anyhow!("`{path}` is of {found} {version_found}, and not of {name} {version}");
    Err(Failure::no(other).hint("correct `name`, `version` or `archive` of the entry"))
}
