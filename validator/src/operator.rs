//! Checks of `operator/`: the custom resource definitions and the roles. [`check`] applies the rules of the API server,
//! so that a site learns about invalid files here and not in the middle of an upgrade.

use archive::{OpenError, ROLE};
use schemas::{ContentsEntry, DocumentCost, OperatorScope, Solution, limits, yaml};
use serde_json::Value;

use crate::definitions::PackagedDefinition;
use crate::files::ListedFiles;
use crate::finding::{Findings, report};
use rules::DefinitionNames;
use rules::catalogue::operator::{IGNORED, UNEXPECTED, YAML};
use rules::catalogue::practice::TEMPLATE;

const DIRECTORY: &str = "operator/";

/// The documents in the operator's files.
#[derive(Debug, Default)]
pub(crate) struct OperatorFiles {
    pub(crate) definitions: Vec<PackagedDefinition>,
    pub(crate) roles: Vec<Value>,
    /// The total size of the files in bytes.
    pub(crate) size: u64,
    /// The cost of the documents.
    pub(crate) cost: DocumentCost,
}

/// Reads and checks the files of the operator. `solution` is `None` if the manifest could not be read.
pub(crate) fn check(
    files: &ListedFiles<'_>,
    solution: Option<&Solution>,
    findings: &mut Findings,
) -> Result<OperatorFiles, OpenError> {
    // The signed list contains all sizes, so the limits are checked before any file is read.
    let size: u64 = files
        .below(DIRECTORY)
        .fold(0, |sum, entry| sum.saturating_add(entry.size));
    let definitions = files
        .below(DIRECTORY)
        .filter(|entry| archive::is_crd(&entry.path))
        .count();
    if let Err(problem) = rules::check_files(definitions, size) {
        report([problem], "operator", findings);
        return Ok(OperatorFiles::default());
    }
    let mut loading = FileLoading {
        files,
        loaded: OperatorFiles {
            size,
            ..OperatorFiles::default()
        },
    };
    for entry in files.below(DIRECTORY) {
        loading.load(entry, findings)?;
        if let Err(problem) = rules::check_cost(loading.loaded.cost) {
            report([problem], "operator", findings);
            return Ok(OperatorFiles::default());
        }
    }
    let loaded = loading.loaded;
    let mut names = DefinitionNames::default();
    for PackagedDefinition { path, document } in &loaded.definitions {
        let path = path.as_str();
        report(rules::definition(document), path, findings);
        report(names.add(document, path), path, findings);
    }
    let definitions = loaded
        .definitions
        .iter()
        .map(|definition| &definition.document);
    let problems = rules::roles(&loaded.roles, definitions, scope(solution));
    report(problems, ROLE, findings);
    let operator = solution.and_then(|solution| solution.spec.operator.as_ref());
    report(rules::kept_names(operator, &loaded.roles), ROLE, findings);
    if let Some(solution) = solution.filter(|solution| solution.spec.operator.is_none()) {
        // Sets of manifests may include definitions without an operator.
        let with_sets = !solution.spec.manifests.is_empty();
        let unexpected = |entry: &&ContentsEntry| !(with_sets && archive::is_crd(&entry.path));
        if files.below(DIRECTORY).find(unexpected).is_some() {
            let message = "manifest.yaml has no spec.operator";
            findings.add(&UNEXPECTED, "operator", message);
        }
    }
    Ok(loaded)
}

fn scope(solution: Option<&Solution>) -> OperatorScope {
    solution
        .and_then(|solution| solution.spec.operator.as_ref())
        .map(|operator| operator.scope)
        .unwrap_or_default()
}

/// The state of reading the files.
struct FileLoading<'a> {
    files: &'a ListedFiles<'a>,
    loaded: OperatorFiles,
}

impl FileLoading<'_> {
    fn load(&mut self, entry: &ContentsEntry, findings: &mut Findings) -> Result<(), OpenError> {
        let path = entry.path.as_str();
        if path == ROLE {
            self.loaded.roles = self.documents(entry, findings)?.unwrap_or_default();
            return Ok(());
        }
        if !archive::is_crd(&entry.path) {
            findings.add(&IGNORED, path, "is neither a CRD file nor role.yaml");
            return Ok(());
        }
        let Some(documents) = self.documents(entry, findings)? else {
            return Ok(());
        };
        match rules::only_document(documents) {
            Ok(document) => self.loaded.definitions.push(PackagedDefinition {
                path: entry.path.clone(),
                document,
            }),
            Err(problem) => report([problem], path, findings),
        }
        Ok(())
    }

    fn documents(
        &mut self,
        entry: &ContentsEntry,
        findings: &mut Findings,
    ) -> Result<Option<Vec<Value>>, OpenError> {
        let Some(bytes) = self.files.read(entry, limits::YAML_SIZE, &YAML, findings)? else {
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
            Ok(documents) => {
                for document in &documents {
                    self.loaded.cost.add(document);
                }
                Ok(Some(documents))
            }
            Err(error) => {
                findings.add(&YAML, &entry.path, error);
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use progress::Cancel;
    use schemas::{Contents, Digest};

    use super::*;
    use crate::files::ReadProblem;
    use rules::limits::OPERATOR_DEFINITIONS;

    fn definitions(count: usize, size: u64) -> Contents {
        let entries = (0..count).map(|number| ContentsEntry {
            path: archive::crd_path(&format!("x{number}")).unwrap(),
            size,
            digest: Digest::new([u8::try_from(number % 256).unwrap(); 32]),
        });
        Contents::new(entries.collect()).unwrap()
    }

    /// Returns the findings for `count` definitions of the same size and bytes. With `None`, a read of the files
    /// panics.
    fn found(count: usize, size: u64, bytes: Option<&[u8]>) -> Vec<(&'static str, String)> {
        let contents = definitions(count, size);
        let read = |path: &str, _| -> Result<_, ReadProblem> {
            match bytes {
                Some(bytes) => Ok(bytes.to_vec()),
                None => panic!("{path} was read"),
            }
        };
        let mut findings = Findings::default();
        let loaded = check(
            &ListedFiles::new(&contents, &read, Cancel::never()),
            None,
            &mut findings,
        )
        .unwrap();
        assert!(loaded.definitions.is_empty());
        let findings = findings.into_sorted().into_iter();
        findings
            .map(|finding| (finding.id, finding.message))
            .collect()
    }

    fn over_budget(found: &[(&str, String)], words: &str) {
        assert!(
            matches!(found, [("operator.budget", message)] if message.contains(words)),
            "{found:?}"
        );
    }

    /// The sizes in the list suffice, so no file is read.
    #[test]
    fn the_files_are_bounded_before_they_are_read() {
        over_budget(&found(17, limits::YAML_SIZE, None), "bytes");
        over_budget(&found(OPERATOR_DEFINITIONS + 1, 1, None), "CRDs");
    }

    #[test]
    fn what_the_files_hold_is_bounded() {
        let values = format!("[{}]", "0,".repeat(200_000));
        over_budget(&found(11, 1, Some(values.as_bytes())), "values");
        let aliases = format!("[&a {}{}]", "x".repeat(1_000_000), ", *a".repeat(39));
        over_budget(&found(2, 1, Some(aliases.as_bytes())), "text");
    }

    /// Each role is within the limit, but all roles together exceed it.
    #[test]
    fn what_rules_come_to_is_bounded_for_all_roles_together() {
        let list = |letter: &str| {
            let names: Vec<String> = (0..45).map(|number| format!("{letter}{number}")).collect();
            names.join(",")
        };
        let lists = ["g", "r", "v"].map(list);
        let [groups, resources, verbs] = &lists;
        let role = |name: usize| {
            format!(
                "{{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {{name: r{name}}}, \
                rules: [{{apiGroups: [{groups}], resources: [{resources}], verbs: [{verbs}]}}]}}\n---\n"
            )
        };
        let entry = |text: &str| ContentsEntry {
            path: ROLE.parse().unwrap(),
            size: text.len() as u64,
            digest: Digest::new([0; 32]),
        };
        for (roles, expected) in [(1, &[][..]), (2, &["operator.budget"])] {
            let text: String = (0..roles).map(role).collect();
            let contents = Contents::new(vec![entry(&text)]).unwrap();
            let read = |_: &str, _| -> Result<_, ReadProblem> { Ok(text.clone().into_bytes()) };
            let mut findings = Findings::default();
            check(
                &ListedFiles::new(&contents, &read, Cancel::never()),
                None,
                &mut findings,
            )
            .unwrap();
            let ids: Vec<_> = findings
                .into_sorted()
                .iter()
                .map(|finding| finding.id)
                .collect();
            assert_eq!(ids, expected);
        }
    }
}
