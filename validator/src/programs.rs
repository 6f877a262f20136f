//! Checks of `bin/`: the programs that an archive includes (docs/format-programs.md). None of them is run.

use archive::{Architecture, Feature, MANIFEST, OpenError, PROGRAMS, helm_path};
use schemas::Capability;

use crate::files::ListedFiles;
use crate::finding::Findings;
use crate::limits;
use rules::catalogue::programs::{CAPABILITY, EXECUTABLE, SIZE, UNEXPECTED};

const DIRECTORY: &str = "bin/";

/// Checks all programs, and returns for which processors there is a `helm`. Without the capability these are files like any
/// other: format 1 gives them no meaning.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    requires: &[Capability],
    findings: &mut Findings,
) -> Result<Vec<Architecture>, OpenError> {
    let capability = Feature::Programs.capability();
    if !requires.contains(&capability) {
        return Ok(Vec::new());
    }
    if files.below(DIRECTORY).next().is_none() {
        let message =
            format_args!("has no programs, but the signed statement requires `{capability}`");
        findings.add(&CAPABILITY, MANIFEST, message);
    }
    let mut found = Vec::new();
    for entry in files.below(DIRECTORY) {
        files.go_on()?;
        let mut all = Architecture::ALL.into_iter();
        let Some(architecture) = all.find(|it| helm_path(*it) == entry.path) else {
            let message = format_args!("is no program that this version knows below {PROGRAMS}/");
            findings.add(&UNEXPECTED, &entry.path, message);
            continue;
        };
        let Some(bytes) = files.read(entry, limits::PROGRAM_SIZE, &SIZE, findings)? else {
            continue;
        };
        if Architecture::of_executable(&bytes) == Some(architecture) {
            found.push(architecture);
        } else {
            let message = format_args!("is no executable for Linux on {architecture}");
            findings.add(&EXECUTABLE, &entry.path, message);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use schemas::{Contents, ContentsEntry, Digest};
    use watch::Cancel;

    use super::*;

    #[test]
    fn what_is_too_large_is_not_read() {
        let entry = ContentsEntry {
            path: helm_path(Architecture::Amd64),
            size: limits::PROGRAM_SIZE + 1,
            digest: Digest::new([0; 32]),
        };
        let contents = Contents::new(vec![entry]).unwrap();
        let read = |path: &str, _| panic!("{path} was read");
        let files = ListedFiles::new(&contents, &read, Cancel::never());
        let mut findings = Findings::default();
        let requires = [Feature::Programs.capability()];
        let found = check(&files, &requires, &mut findings).unwrap();
        assert_eq!(found, []);
        let ids: Vec<_> = findings.into_sorted().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, ["programs.size"]);
    }
}
