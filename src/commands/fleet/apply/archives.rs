//! The archives that a fleet's file names: each is opened and verified once, for all clusters.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use fleet::{FleetFile, Members};
use schemas::FleetSolution;

use crate::args::Output;
use crate::commands::import::{self, Acceptance, SignerArguments};
use crate::failure::Failure;

/// The accepted archives, by the entries of `solutions` that name them.
pub(in crate::commands::fleet) type Archives = BTreeMap<usize, Arc<Acceptance>>;

/// Verifies the archives that these clusters run; none if one is not accepted, which is said.
pub(in crate::commands::fleet) fn accept_all(
    file: &FleetFile,
    path: &Path,
    places: &[usize],
    signers: &SignerArguments,
    output: Output,
) -> Result<Option<Archives>, Failure> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let members = Members::of(file.spec());
    let mut by_path: BTreeMap<&str, Arc<Acceptance>> = BTreeMap::new();
    let mut archives = Archives::new();
    for (entry, solution) in file.spec().solutions.iter().enumerate() {
        let clusters = members.of_solution(solution);
        if !places.iter().any(|at| clusters.contains(at)) {
            continue;
        }
        let Some(path) = solution.archive.as_deref() else {
            continue;
        };
        let archive = if let Some(archive) = by_path.get(path) {
            Arc::clone(archive)
        } else {
            let path = &folder.join(path);
            let follows = "no cluster was changed";
            let accepted = import::accept(path, signers, follows, output)?;
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
    let other = anyhow!("`{path}` contains {found} {version_found} instead of {name} {version}");
    Err(Failure::no(other).hint("correct `name`, `version` or `archive` of the entry"))
}
