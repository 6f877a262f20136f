//! The operator's files: CRDs, one in each file, and Roles. They are copied byte for byte; they are parsed only to
//! refuse what no site could use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use schemas::{ArchivePath, yaml};
use serde_json::Value;

use crate::error::PackError;
use crate::limits;
use files::{self, ReadError};

/// A file of the operator as it will lie in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OperatorFile {
    /// Its path in the archive.
    pub(crate) path: ArchivePath,
    /// Its bytes, unchanged.
    pub(crate) bytes: Vec<u8>,
}

/// Reads the directory of CRDs and the file of roles, and checks both.
pub(crate) fn read(crds: &Path, roles: &Path) -> Result<Vec<OperatorFile>, PackError> {
    let mut files = read_crds(crds)?;
    files.push(read_roles(roles)?);
    Ok(files)
}

fn read_crds(directory: &Path) -> Result<Vec<OperatorFile>, PackError> {
    // The keys compare without upper and lower case, as siblings in an archive must differ.
    let mut files: BTreeMap<String, (PathBuf, OperatorFile)> = BTreeMap::new();
    let mut names: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut left = limits::OPERATOR_BYTES;
    for path in yaml_files(directory)? {
        let bytes = files::read(&path, schemas::limits::YAML_SIZE)?;
        left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let problem = format!(
                "its files have more than {} bytes together",
                limits::OPERATOR_BYTES
            );
            refuse(directory, problem)
        })?;
        let name = check_crd(&path, &bytes)?;
        if let Some(one) = names.insert(name.clone(), path.clone()) {
            return Err(twice(
                one,
                path,
                format!("the CustomResourceDefinition `{name}`"),
            ));
        }
        let file = OperatorFile {
            path: crd_path(&path)?,
            bytes,
        };
        let key = file.path.as_str().to_lowercase();
        let what = format!("the name `{}` in the archive", file.path);
        if let Some((one, _)) = files.insert(key, (path.clone(), file)) {
            return Err(twice(one, path, what));
        }
    }
    Ok(files.into_values().map(|(_, file)| file).collect())
}

fn twice(one: PathBuf, other: PathBuf, what: String) -> PackError {
    PackError::OperatorTwice { one, other, what }
}

/// The `.yaml` and `.yml` files of a directory, sorted.
fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>, PackError> {
    let failed = |source| files::failed(directory, source);
    let entries = fs::read_dir(directory).map_err(failed).map_err(|error| {
        missing(
            error,
            "spec.crds",
            directory,
            "make the directory; it may be empty when the operator has no CRDs",
        )
    })?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if is_yaml(&path) {
            paths.push(path);
        }
        if paths.len() > limits::CRD_FILES {
            let problem = format!("holds more than {} YAML files", limits::CRD_FILES);
            return Err(refuse(directory, problem));
        }
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

fn refuse(path: &Path, problem: impl Into<String>) -> PackError {
    PackError::OperatorFile {
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// The path of a CRD in the archive: sites only take files that end in `_crd.yaml`.
fn crd_path(path: &Path) -> Result<ArchivePath, PackError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix("_crd").unwrap_or(&stem);
    let parsed = archive::crd_path(stem);
    parsed.map_err(|_| {
        refuse(path, "the file's name cannot be used in an archive; rename it to at most 90 of letters, digits, `.`, `_` and `-`, beginning with a letter or a digit")
    })
}

fn documents(path: &Path, bytes: &[u8]) -> Result<Vec<Value>, PackError> {
    yaml::documents(bytes).map_err(|source| PackError::Yaml {
        path: path.to_owned(),
        source,
    })
}

/// Checks a file with a CRD, and gives the CRD's name.
fn check_crd(path: &Path, bytes: &[u8]) -> Result<String, PackError> {
    let documents = documents(path, bytes)?;
    let [crd] = documents.as_slice() else {
        let found = documents.len();
        return Err(refuse(
            path,
            format!(
                "holds {found} documents instead of exactly one CustomResourceDefinition; give each a file of its own"
            ),
        ));
    };
    if kind(crd) != ("apiextensions.k8s.io/v1", "CustomResourceDefinition") {
        return Err(refuse(
            path,
            format!(
                "holds {}, not an `apiextensions.k8s.io/v1` `CustomResourceDefinition`; move it to another directory",
                described(crd)
            ),
        ));
    }
    let conversion = &crd["spec"]["conversion"];
    if conversion["strategy"] == "Webhook" || conversion.get("webhook").is_some() {
        return Err(refuse(
            path,
            "converts by webhook, which would have to name one of many namespaces; serve versions that need no conversion",
        ));
    }
    let name = name(path, crd)?;
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let expected = format!(
        "{}.{}",
        text(&crd["spec"]["names"]["plural"]),
        text(&crd["spec"]["group"])
    );
    if name != expected {
        return Err(refuse(
            path,
            format!(
                "has the name `{name}`, which must be `<spec.names.plural>.<spec.group>`, here `{expected}`"
            ),
        ));
    }
    Ok(name.to_owned())
}

fn read_roles(path: &Path) -> Result<OperatorFile, PackError> {
    let bytes = files::read(path, schemas::limits::YAML_SIZE).map_err(|error| {
        missing(
            error,
            "spec.roles",
            path,
            "make the file; it may hold only comments when the operator needs no rights",
        )
    })?;
    let mut seen = BTreeSet::new();
    for role in documents(path, &bytes)? {
        let ("rbac.authorization.k8s.io/v1", kind @ ("Role" | "ClusterRole")) = kind(&role) else {
            return Err(refuse(
                path,
                format!(
                    "holds {}; only `Role` and `ClusterRole` of `rbac.authorization.k8s.io/v1` can be here, bindings and accounts are made at the site",
                    described(&role)
                ),
            ));
        };
        let what = format!("the {kind} `{}`", name(path, &role)?);
        if !seen.insert(what.clone()) {
            return Err(refuse(path, format!("holds {what} twice; keep one")));
        }
    }
    Ok(OperatorFile {
        path: archive::ROLE
            .parse()
            .expect("the path is inside the grammar"),
        bytes,
    })
}

fn kind(object: &Value) -> (&str, &str) {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    (text("apiVersion"), text("kind"))
}

fn described(object: &Value) -> String {
    let cut = |text: &str| text.chars().take(80).collect::<String>();
    match kind(object) {
        (_, "") => "a document without `kind`".to_owned(),
        (api_version, kind) => format!("`{}` `{}`", cut(api_version), cut(kind)),
    }
}

fn name<'a>(path: &Path, object: &'a Value) -> Result<&'a str, PackError> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    // What Kubernetes asks of a name that is part of a URL; only RBAC objects may have more than a DNS subdomain.
    if name.is_empty()
        || name.len() > 253
        || name == "."
        || name == ".."
        || name.contains(['/', '%'])
    {
        return Err(refuse(
            path,
            format!("{} has no usable `metadata.name`", described(object)),
        ));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{CRD, ROLE};

    fn files(crds: &[(&str, &str)], role: &str) -> Result<Vec<OperatorFile>, PackError> {
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
        assert_eq!(files[0].bytes, CRD.as_bytes());
        assert_eq!(files[3].bytes, ROLE.as_bytes());
    }

    #[test]
    fn files_that_would_be_one_are_refused() {
        let other = CRD.replace("demos", "others");
        assert!(
            refused(&[("a.yaml", CRD), ("A_crd.yaml", &other)], ROLE)
                .contains("both have the name")
        );
        assert!(
            refused(&[("a.yaml", CRD), ("b.yaml", CRD)], ROLE)
                .contains("both have the CustomResourceDefinition `demos.demo.test`")
        );
    }

    #[test]
    fn a_crd_file_holds_one_crd() {
        let two = format!("{CRD}---\n{CRD}");
        assert!(
            refused(&[("a.yaml", &two)], ROLE).contains("holds 2 documents instead of exactly one")
        );
        assert!(refused(&[("a.yaml", "")], ROLE).contains("holds 0 documents"));
        assert!(
            refused(&[("a.yaml", ROLE)], ROLE)
                .contains("holds `rbac.authorization.k8s.io/v1` `Role`, not")
        );
        let old = CRD.replace("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1");
        assert!(refused(&[("a.yaml", &old)], ROLE).contains("v1beta1"));
        let renamed = CRD.replace("name: demos.demo.test", "name: demo.test");
        assert!(refused(&[("a.yaml", &renamed)], ROLE).contains("here `demos.demo.test`"));
        let webhook = format!("{CRD}  conversion: {{strategy: Webhook}}\n");
        assert!(refused(&[("a.yaml", &webhook)], ROLE).contains("converts by webhook"));
        let twice = format!("{CRD}kind: X\n");
        assert!(refused(&[("a.yaml", &twice)], ROLE).contains("a.yaml` is not usable YAML"));
        assert!(refused(&[("-a.yaml", CRD)], ROLE).contains("the file's name cannot be used"));
    }

    #[test]
    fn only_roles_are_roles() {
        assert!(files(&[], "# none\n").is_ok());
        let binding = ROLE.replace("kind: Role", "kind: RoleBinding");
        assert!(
            refused(&[], &binding)
                .contains("holds `rbac.authorization.k8s.io/v1` `RoleBinding`; only")
        );
        assert!(refused(&[], "a: 1\n").contains("holds a document without `kind`"));
        assert!(refused(&[], "[1]\n").contains("without `kind`"));
        let twice = format!("{ROLE}---\n{ROLE}");
        assert!(refused(&[], &twice).contains("holds the Role `demo` twice"));
        let nameless = ROLE.replace("name: demo", "name: ''");
        assert!(refused(&[], &nameless).contains("has no usable `metadata.name`"));
    }
}
