//! The operator's files: CRDs, one in each file, and Roles. They are copied byte for byte; they are parsed only to
//! refuse what no site could use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use archive::ArchiveFile;
use files::ReadError;
use rules::{self, DefinitionNames};
use schemas::{ArchivePath, yaml};
use serde_json::Value;

use crate::error::PackError;

/// Reads the directory of CRDs and the file of roles, and checks both.
pub(crate) fn read(crds: &Path, roles: &Path) -> Result<Vec<ArchiveFile>, PackError> {
    let roles = read_roles(roles)?;
    let mut files = read_crds(crds, roles.size)?;
    files.push(roles);
    Ok(files)
}

/// Reads the CRDs; `size` is what the other files have in bytes.
fn read_crds(directory: &Path, mut size: u64) -> Result<Vec<ArchiveFile>, PackError> {
    // The keys compare without upper and lower case, as siblings in an archive must differ.
    let mut files: BTreeMap<String, (PathBuf, ArchiveFile)> = BTreeMap::new();
    let mut names = DefinitionNames::default();
    let paths = yaml_files(directory)?;
    let count = paths.len();
    for path in paths {
        let bytes = files::read(&path, schemas::limits::YAML_SIZE)?;
        size += bytes.len() as u64;
        rules::check_files(count, size).map_err(PackError::in_file(directory))?;
        check_crd(&path, &bytes, &mut names)?;
        let file = ArchiveFile::from_bytes(crd_path(&path)?, bytes);
        let key = file.path.as_str().to_lowercase();
        if let Some((one, file)) = files.insert(key, (path.clone(), file)) {
            return Err(PackError::FileTwice {
                one,
                other: path,
                path: file.path,
            });
        }
    }
    Ok(files.into_values().map(|(_, file)| file).collect())
}

/// The `.yaml` and `.yml` files of a directory, sorted.
fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>, PackError> {
    let failed = |source| files::failed(directory, source);
    let entries = fs::read_dir(directory).map_err(failed).map_err(|error| {
        missing(
            error,
            "spec.crds",
            directory,
            "create the directory; it may be empty if the operator has no CRDs",
        )
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_yaml(&path) {
            paths.push(path);
        }
        rules::check_files(paths.len(), 0).map_err(PackError::in_file(directory))?;
    }
    paths.sort();
    Ok(paths)
}

fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn missing(error: ReadError, field: &'static str, path: &Path, mend: &'static str) -> PackError {
    if !error.is_missing() {
        return error.into();
    }
    PackError::NoOperatorFiles {
        field,
        path: path.to_owned(),
        mend,
    }
}

/// The path of a CRD in the archive: sites only take files that end in `_crd.yaml`.
fn crd_path(path: &Path) -> Result<ArchivePath, PackError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix("_crd").unwrap_or(&stem);
    archive::crd_path(stem).map_err(|_| PackError::FileName(path.to_owned()))
}

fn documents(path: &Path, bytes: &[u8]) -> Result<Vec<Value>, PackError> {
    yaml::documents(bytes).map_err(|source| PackError::Yaml {
        path: path.to_owned(),
        source,
    })
}

fn check_crd(path: &Path, bytes: &[u8], names: &mut DefinitionNames) -> Result<(), PackError> {
    let crd = rules::only_document(documents(path, bytes)?).map_err(PackError::in_file(path))?;
    let own = rules::identify_definition(&crd).into_iter().next();
    let problem = own.or_else(|| names.add(&crd, &path.to_string_lossy()));
    problem.map_or(Ok(()), |problem| Err(PackError::in_file(path)(problem)))
}

fn read_roles(path: &Path) -> Result<ArchiveFile, PackError> {
    let bytes = files::read(path, schemas::limits::YAML_SIZE).map_err(|error| {
        missing(
            error,
            "spec.roles",
            path,
            "create the file; it may hold only comments if the operator needs no rights",
        )
    })?;
    if let Some(problem) = rules::identify_roles(&documents(path, &bytes)?).next() {
        return Err(PackError::in_file(path)(problem));
    }
    let role = archive::ROLE.parse();
    let role = role.expect("the path is inside the grammar");
    Ok(ArchiveFile::from_bytes(role, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CRD, ROLE, bytes};

    fn files(crds: &[(&str, &str)], role: &str) -> Result<Vec<ArchiveFile>, PackError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("crds");
        fs::create_dir(&path).unwrap();
        for (name, text) in crds {
            fs::write(path.join(name), text).unwrap();
        }
        let roles = directory.path().join("role.yaml");
        fs::write(&roles, role).unwrap();
        read(&path, &roles)
    }

    fn refused(crds: &[(&str, &str)], role: &str) -> String {
        files(crds, role).unwrap_err().to_string()
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
        assert!(
            refused(&[("a.yaml", CRD), ("A_crd.yaml", &other)], ROLE)
                .contains("both have the name")
        );
        let twice = refused(&[("a.yaml", CRD), ("b.yaml", CRD)], ROLE);
        assert!(
            twice.contains("b.yaml`: defines `demos.demo.test`, as /")
                && twice.ends_with("/a.yaml does"),
            "{twice}"
        );
    }

    #[test]
    fn a_crd_file_holds_one_crd() {
        let two = format!("{CRD}---\n{CRD}");
        assert!(refused(&[("a.yaml", &two)], ROLE).ends_with("a.yaml`: holds 2 documents"));
        assert!(refused(&[("a.yaml", "")], ROLE).contains("holds 0 documents"));
        assert!(
            refused(&[("a.yaml", ROLE)], ROLE)
                .ends_with("a.yaml`: holds `rbac.authorization.k8s.io/v1` `Role`")
        );
        let old = CRD.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
        assert!(refused(&[("a.yaml", &old)], ROLE).contains("v1beta1"));
        let renamed = CRD.replace("name: demos.demo.test", "name: demo.test");
        assert!(refused(&[("a.yaml", &renamed)], ROLE).contains("not `demos.demo.test`"));
        let webhook = format!("{CRD}  conversion: {{strategy: Webhook}}\n");
        let error = files(&[("a.yaml", &webhook)], ROLE).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("a.yaml`: spec.conversion names a webhook")
        );
        let PackError::Problem { problem, .. } = error else {
            panic!("{error}")
        };
        assert!(problem.fix().unwrap().starts_with("use `strategy: None`"));
        let twice = format!("{CRD}kind: X\n");
        assert!(refused(&[("a.yaml", &twice)], ROLE).contains("a.yaml` is not usable YAML"));
        assert!(refused(&[("-a.yaml", CRD)], ROLE).contains("has a name that cannot be used"));
    }

    #[test]
    fn only_roles_are_roles() {
        assert!(files(&[], "# none\n").is_ok());
        let binding = ROLE.replace("kind: Role", "kind: RoleBinding");
        assert!(
            refused(&[], &binding).ends_with(
                "role.yaml`: document 1 is `rbac.authorization.k8s.io/v1` `RoleBinding`"
            )
        );
        for other in ["a: 1\n", "[1]\n"] {
            assert!(refused(&[], other).contains("document 1 is `` ``"));
        }
        let twice = format!("{ROLE}---\n{ROLE}");
        assert!(refused(&[], &twice).contains("Role `demo` occurs twice"));
    }

    /// A segment of a path that the API server refuses is refused, as by `validate`.
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

    /// A name that no API server takes for a definition, in a draft of `init --from` neither.
    #[test]
    fn a_crd_has_the_name_of_an_object() {
        for plural in ["Demos", "a:b"] {
            let message = refused(&[("a.yaml", &CRD.replace("demos", plural))], ROLE);
            assert!(message.ends_with("is not a DNS subdomain"), "{message}");
        }
        let nameless = CRD.replace("name: demos.demo.test", "x: y");
        assert!(refused(&[("a.yaml", &nameless)], ROLE).contains("`metadata.name` is missing"));
    }

    /// The files may be as large as those that `validate` reads, and the roles count too.
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
