//! Checks of `operator/`: the custom resource definitions and the roles, as far as the API server would judge them.
//!
//! A site learns here, and not from the API server in the middle of an upgrade, that a file is wrong.

mod definition;
mod role;

use schemas::{ArchivePath, ContentsEntry, OperatorScope, Solution, limits, yaml};
use serde_json::Value;

use crate::catalogue::operator::{BUDGET, CRD_COUNT, IGNORED, UNEXPECTED, YAML};
use crate::catalogue::practice::TEMPLATE;
use crate::error::CheckError;
use crate::files::Files;
use crate::finding::Findings;
use crate::limits::OPERATOR_FILES;

const ROLE: &str = "operator/deploy/role.yaml";
const DEFINITIONS: &str = "operator/deploy/crds/";
const DEFINITION_SUFFIX: &str = "_crd.yaml";

/// A custom resource definition, with the file it stands in.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Its file.
    pub path: ArchivePath,
    /// The document.
    pub document: Value,
}

/// What the files of an operator hold.
#[derive(Debug, Default)]
pub(crate) struct OperatorFiles {
    pub(crate) definitions: Vec<Definition>,
    pub(crate) roles: Vec<Value>,
}

/// Reads and checks the files of the operator. `solution` is none when the manifest could not be read.
pub(crate) fn check(
    files: &Files<'_>,
    solution: Option<&Solution>,
    findings: &mut Findings,
) -> Result<OperatorFiles, CheckError> {
    let mut loaded = OperatorFiles::default();
    let size: u64 = files
        .below("operator/")
        .fold(0, |sum, entry| sum.saturating_add(entry.size));
    if size > OPERATOR_FILES {
        let message =
            format_args!("the files have {size} bytes; at most {OPERATOR_FILES} are read");
        findings.add(&BUDGET, "operator", message);
        return Ok(loaded);
    }
    for entry in files.below("operator/") {
        load(files, entry, &mut loaded, findings)?;
    }
    definition::check_all(&loaded.definitions, findings);
    role::check_all(&loaded, scope(solution), findings);
    let any = files.below("operator/").next().is_some();
    if any && solution.is_some_and(|solution| solution.spec.operator.is_none()) {
        findings.add(
            &UNEXPECTED,
            "operator",
            "manifest.yaml has no spec.operator",
        );
    }
    Ok(loaded)
}

fn scope(solution: Option<&Solution>) -> OperatorScope {
    solution
        .and_then(|solution| solution.spec.operator.as_ref())
        .map(|operator| operator.scope)
        .unwrap_or_default()
}

fn load(
    files: &Files<'_>,
    entry: &ContentsEntry,
    loaded: &mut OperatorFiles,
    findings: &mut Findings,
) -> Result<(), CheckError> {
    let path = entry.path.as_str();
    if path == ROLE {
        loaded.roles = documents(files, entry, findings)?.unwrap_or_default();
        return Ok(());
    }
    let definition = path
        .strip_prefix(DEFINITIONS)
        .is_some_and(|name| name.ends_with(DEFINITION_SUFFIX) && !name.contains('/'));
    if !definition {
        findings.add(&IGNORED, path, "is neither a definition nor role.yaml");
        return Ok(());
    }
    let Some(mut documents) = documents(files, entry, findings)? else {
        return Ok(());
    };
    match (documents.pop(), documents.len()) {
        (Some(document), 0) => loaded.definitions.push(Definition {
            path: entry.path.clone(),
            document,
        }),
        (last, others) => {
            let count = others + usize::from(last.is_some());
            findings.add(&CRD_COUNT, path, format_args!("holds {count} documents"));
        }
    }
    Ok(())
}

fn documents(
    files: &Files<'_>,
    entry: &ContentsEntry,
    findings: &mut Findings,
) -> Result<Option<Vec<Value>>, CheckError> {
    let Some(bytes) = files.read(entry, limits::YAML_SIZE, &YAML, findings)? else {
        return Ok(None);
    };
    if bytes
        .windows(2)
        .any(|pair| matches!(pair, b"{{" | b"{%" | b"{#"))
    {
        findings.add(
            &TEMPLATE,
            &entry.path,
            "would be run as a template by upstream's import",
        );
    }
    match yaml::documents(&bytes) {
        Ok(documents) => Ok(Some(documents)),
        Err(error) => {
            findings.add(&YAML, &entry.path, error);
            Ok(None)
        }
    }
}

/// The text at a JSON pointer.
fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

#[cfg(test)]
mod tests {
    use schemas::{Contents, Digest};

    use super::*;
    use crate::files::ReadProblem;

    /// What the list says is enough: nothing is read.
    #[test]
    fn the_bytes_of_all_files_are_bounded() {
        let entries = (0..17).map(|number| ContentsEntry {
            path: format!("{DEFINITIONS}x{number}{DEFINITION_SUFFIX}")
                .parse()
                .unwrap(),
            size: limits::YAML_SIZE,
            digest: Digest::new([number; 32]),
        });
        let contents = Contents::new(entries.collect()).unwrap();
        let read = |path: &str, _| -> Result<_, ReadProblem> { panic!("{path} was read") };
        let mut findings = Findings::default();
        check(&Files::new(&contents, &read), None, &mut findings).unwrap();
        let ids: Vec<&str> = findings
            .into_sorted()
            .iter()
            .map(|finding| finding.id)
            .collect();
        assert_eq!(ids, ["operator.budget"]);
    }
}
