//! The operator's files: one CRD per file, and the roles. [`read`] copies them byte for byte. They are only parsed to
//! report files that a site would refuse.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use archive::ArchiveFile;
use rules::catalogue::{operator as of_operator, source};
use rules::{self, DefinitionNames};
use schemas::{ArchivePath, OperatorScope, yaml};
use serde_json::Value;

use crate::error::PackError;
use crate::problems::SourceProblems;
use crate::source_files::SourceDocument;

/// The CRD directory and the roles file of an operator.
#[derive(Debug)]
pub(crate) struct OperatorPaths {
    pub(crate) crds: PathBuf,
    pub(crate) roles: PathBuf,
}

/// A file of the operator and its source.
#[derive(Debug)]
pub(crate) struct OperatorFile {
    pub(crate) file: ArchiveFile,
    pub(crate) document: SourceDocument,
}

/// Reads and checks the CRDs and roles.
pub(crate) fn read(
    paths: &OperatorPaths,
    scope: OperatorScope,
    problems: &mut SourceProblems<'_>,
) -> Result<Vec<OperatorFile>, PackError> {
    let roles = read_roles(&paths.roles, scope, problems)?;
    let size = roles.as_ref().map_or(0, |roles| roles.file.size);
    let mut files = read_crds(&paths.crds, size, problems)?;
    files.extend(roles);
    Ok(files)
}

/// Reads the CRDs. `size` is the total size of the other files in bytes.
fn read_crds(
    directory: &Path,
    mut size: u64,
    problems: &mut SourceProblems<'_>,
) -> Result<Vec<OperatorFile>, PackError> {
    let Some(paths) = yaml_files(directory, problems)? else {
        return Ok(Vec::new());
    };
    // The keys are in lower case, because sibling paths in an archive must not only differ in case.
    let mut files: BTreeMap<String, OperatorFile> = BTreeMap::new();
    let mut names = DefinitionNames::default();
    for path in &paths {
        let read = files::read(path, schemas::limits::YAML_SIZE);
        let Some(bytes) = problems.read("spec.crds", read)? else {
            continue;
        };
        size += bytes.len() as u64;
        if let Err(problem) = rules::check_files(paths.len(), size) {
            problems.at_file(problem.source_finding(), directory, None, &problem);
            break;
        }
        check_crd(path, &bytes, &mut names, problems);
        let document = SourceDocument::first(problems.files.relative_path(path));
        let Some(archived) = crd_path(path) else {
            let message = "has a name that is not valid in an archive";
            problems.at_file(&source::FILE_NAME, path, None, message);
            continue;
        };
        let file = ArchiveFile::from_bytes(archived, bytes);
        let key = file.path.as_str().to_lowercase();
        if let Some(one) = files.get(&key) {
            let archived = &file.path;
            let message = format_args!(
                "would be stored as `{archived}`, like `{}`",
                one.document.file
            );
            problems.at_file(&source::FILE_TWICE, path, None, message);
        } else {
            files.insert(key, OperatorFile { file, document });
        }
    }
    Ok(files.into_values().collect())
}

/// Returns the sorted `.yaml` and `.yml` files of a directory. Returns `None` and adds a finding if it does not exist
/// or has too many files.
fn yaml_files(
    directory: &Path,
    problems: &mut SourceProblems<'_>,
) -> Result<Option<Vec<PathBuf>>, PackError> {
    let failed = |source| files::failed(directory, source);
    let entries = fs::read_dir(directory).map_err(failed);
    let Some(entries) = problems.read("spec.crds", entries)? else {
        return Ok(None);
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_yaml(&path) {
            paths.push(path);
        }
        // The limit applies during the listing, so that a huge directory is not collected first.
        if let Err(problem) = rules::check_files(paths.len(), 0) {
            problems.at_file(problem.source_finding(), directory, None, &problem);
            return Ok(None);
        }
    }
    paths.sort();
    Ok(Some(paths))
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Returns the path of a CRD in the archive. Sites only accept files that end with `_crd.yaml`.
fn crd_path(path: &Path) -> Option<ArchivePath> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix("_crd").unwrap_or(&stem);
    archive::crd_path(stem).ok()
}

/// Returns the documents of a file, or adds a finding if it is not valid YAML.
fn documents(path: &Path, bytes: &[u8], problems: &mut SourceProblems<'_>) -> Option<Vec<Value>> {
    let read = yaml::documents(bytes);
    read.map_err(|error| problems.at_yaml(&of_operator::YAML, path, &error))
        .ok()
}

fn check_crd(
    path: &Path,
    bytes: &[u8],
    names: &mut DefinitionNames,
    problems: &mut SourceProblems<'_>,
) {
    let Some(documents) = documents(path, bytes, problems) else {
        return;
    };
    let document = SourceDocument::first(problems.files.relative_path(path));
    match rules::only_document(documents) {
        Ok(crd) => {
            let twice = names.add(&crd, &format!("`{}`", document.file));
            let found = rules::definition(&crd).into_iter().chain(twice);
            problems.of_document(found, &document);
        }
        Err(problem) => problems.of_document([problem], &document),
    }
}

fn read_roles(
    path: &Path,
    scope: OperatorScope,
    problems: &mut SourceProblems<'_>,
) -> Result<Option<OperatorFile>, PackError> {
    let read = files::read(path, schemas::limits::YAML_SIZE);
    let Some(bytes) = problems.read("spec.roles", read)? else {
        return Ok(None);
    };
    if let Some(documents) = documents(path, &bytes, problems) {
        // The effect of custom resources on roles only results in warnings, which the check of the draft archive
        // reports.
        let found = rules::roles(&documents, [].into_iter(), scope);
        problems.of_documents(found, path);
    }
    let role = archive::ROLE.parse();
    let role = role.expect("the path is inside the grammar");
    Ok(Some(OperatorFile {
        file: ArchiveFile::from_bytes(role, bytes),
        document: SourceDocument::first(problems.files.relative_path(path)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source_files::SourceFiles;
    use crate::testing::{self, CRD, ROLE, bytes};

    fn files(crds: &[(&str, &str)], role: &str) -> Result<Vec<ArchiveFile>, PackError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crds");
        fs::create_dir(&path).unwrap();
        for (name, text) in crds {
            fs::write(path.join(name), text).unwrap();
        }
        let roles = directory.path().join("role.yaml");
        fs::write(&roles, role).unwrap();
        let paths = OperatorPaths { crds: path, roles };
        let files = SourceFiles {
            directory: directory.path().to_owned(),
        };
        let mut problems = SourceProblems::new(&files);
        let read = read(&paths, OperatorScope::default(), &mut problems)?;
        problems.refuse()?;
        Ok(read.into_iter().map(|operator| operator.file).collect())
    }

    fn refused(crds: &[(&str, &str)], role: &str) -> String {
        testing::refused(files(crds, role))
    }

    #[test]
    fn crds_get_the_name_that_sites_look_for() {
        let other = CRD.replace("demos", "others");
        let third = CRD.replace("demos", "thirds");
        let files = files(
            &[
                ("a.yaml", CRD),
                ("b_crd.yml", &other),
                ("c_crd.yaml", &third),
                ("notes.md", "x"),
            ],
            ROLE,
        )
        .unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "operator/deploy/crds/a_crd.yaml",
                "operator/deploy/crds/b_crd.yaml",
                "operator/deploy/crds/c_crd.yaml",
                "operator/deploy/role.yaml"
            ]
        );
        assert_eq!(bytes(&files[0]), CRD.as_bytes());
        assert_eq!(bytes(&files[3]), ROLE.as_bytes());
    }

    #[test]
    fn files_that_would_be_one_are_refused() {
        let other = CRD.replace("demos", "others");
        assert_eq!(
            refused(&[("a.yaml", CRD), ("A_crd.yaml", &other)], ROLE),
            "crds/a.yaml: [source.file-twice] would be stored as `operator/deploy/crds/a_crd.yaml`, like `crds/A_crd.yaml`"
        );
        assert_eq!(
            refused(&[("a.yaml", CRD), ("b.yaml", CRD)], ROLE),
            "crds/b.yaml:4: [operator.crd-repeated] defines `demos.demo.test`, which is also defined in `crds/a.yaml`"
        );
    }

    #[test]
    fn a_crd_file_holds_one_crd() {
        let said = |text: &str| refused(&[("a.yaml", text)], ROLE);
        let two = format!("{CRD}---\n{CRD}");
        assert_eq!(
            said(&two),
            "crds/a.yaml:1: [operator.crd-count] holds 2 documents"
        );
        assert_eq!(
            said(""),
            "crds/a.yaml: [operator.crd-count] holds 0 documents"
        );
        assert_eq!(
            said(ROLE),
            "crds/a.yaml:2: [operator.crd-kind] holds `rbac.authorization.k8s.io/v1` `Role`"
        );
        let old = CRD.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
        assert!(said(&old).contains("v1beta1"));
        let renamed = CRD.replace("name: demos.demo.test", "name: demo.test");
        assert_eq!(
            said(&renamed),
            "crds/a.yaml:4: [operator.crd-name] the name is `demo.test`, not `demos.demo.test`"
        );
        let webhook = CRD.replace("  scope:", "  conversion: {strategy: Webhook}\n  scope:");
        assert_eq!(
            said(&webhook),
            "crds/a.yaml:7: [operator.crd-conversion] spec.conversion names a webhook"
        );
        let twice = format!("{CRD}kind: X\n");
        assert!(said(&twice).contains("[operator.yaml] duplicate key `kind`"));
        assert_eq!(
            refused(&[("-a.yaml", CRD)], ROLE),
            "crds/-a.yaml: [source.file-name] has a name that is not valid in an archive"
        );
    }

    #[test]
    fn only_roles_are_roles() {
        assert!(files(&[], "# none\n").is_ok());
        let binding = ROLE.replace("kind: Role", "kind: RoleBinding");
        assert!(
            refused(&[], &binding).ends_with(
                "role.yaml:2: [operator.role-kind] document 1 is `rbac.authorization.k8s.io/v1` `RoleBinding`"
            )
        );
        for other in ["a: 1\n", "[1]\n"] {
            assert!(refused(&[], other).contains("document 1 is `` ``"));
        }
        let twice = format!("{ROLE}---\n{ROLE}");
        assert!(refused(&[], &twice).contains("Role `demo` occurs twice"));
    }

    /// A role name that is not a valid path segment is refused, because the API server refuses it too.
    #[test]
    fn a_role_has_a_name_that_a_path_can_hold() {
        for name in ["''", "a/b", "..", "\"a\\tb\"", "\"a\\u0085\""] {
            let named = ROLE.replace("name: demo", &format!("name: {name}"));
            let message = refused(&[], &named);
            assert!(
                message.contains("document 1 has no usable name"),
                "{message}"
            );
        }
        assert!(files(&[], &ROLE.replace("name: demo", "name: 'system:a b'")).is_ok());
    }

    /// The API server refuses the name of this definition; `init --from` must not accept it either.
    #[test]
    fn a_crd_has_the_name_of_an_object() {
        for plural in ["Demos", "a:b"] {
            let message = refused(&[("a.yaml", &CRD.replace("demos", plural))], ROLE);
            assert!(message.contains("is not a DNS subdomain"), "{message}");
        }
        let nameless = CRD.replace("name: demos.demo.test", "x: y");
        let message = refused(&[("a.yaml", &nameless)], ROLE);
        assert!(message.contains("metadata.name"), "{message}");
    }

    /// All files together have the size limit of `validate`, including the roles.
    #[test]
    fn the_files_are_bounded_together() {
        let large = "#".repeat(usize::try_from(schemas::limits::YAML_SIZE).unwrap());
        let crds: Vec<(String, String)> = (0..16)
            .map(|number| {
                let crd = CRD.replace("demos", &format!("demos{number}"));
                (format!("{number}.yaml"), crd.clone() + &large[crd.len()..])
            })
            .collect();
        let crds: Vec<(&str, &str)> = crds.iter().map(|(name, text)| (&**name, &**text)).collect();
        let message = refused(&crds, ROLE);
        let size = rules::limits::OPERATOR_FILES + ROLE.len() as u64;
        assert!(
            message.contains(&format!("the files have {size} bytes")),
            "{message}"
        );
    }
}
