//! The creation of a new source directory. [`init()`] writes the files that `solution pack` reads, with comments that
//! explain each field.

use std::path::{Path, PathBuf};

use schemas::{SolutionId, SolutionName};

use crate::error::PackError;

/// The file templates by path in the directory.
const FILES: [(&str, &str); 5] = [
    (
        "solution.yaml",
        include_str!("../templates/init/solution.yaml"),
    ),
    (
        "operator/deploy/crds/examples_crd.yaml",
        include_str!("../templates/init/crd.yaml"),
    ),
    (
        "operator/deploy/role.yaml",
        include_str!("../templates/init/role.yaml"),
    ),
    ("README.md", include_str!("../templates/init/README.md")),
    (".gitignore", include_str!("../templates/init/gitignore")),
];

/// Writes a source tree into a directory and returns the paths of the files. The directory is created if it does not
/// exist. Its name becomes the name of the Solution if it is a valid one; otherwise the name is `example`.
///
/// # Errors
///
/// Writes nothing if one of the files exists.
pub fn init(directory: &Path) -> Result<Vec<PathBuf>, PackError> {
    let name = name(directory);
    let paths: Vec<PathBuf> = FILES.iter().map(|(path, _)| directory.join(path)).collect();
    // All paths are checked first, so that nothing is written if one of them exists.
    if let Some(path) = paths.iter().find(|path| path.symlink_metadata().is_ok()) {
        return Err(PackError::Exists(path.clone()));
    }
    for (path, (_, template)) in paths.iter().zip(FILES) {
        let text = template
            .replace("@NAME@", name.as_str())
            .replace("@PLURAL@", "examples");
        files::create(path, text.as_bytes())
            .map_err(|source| PackError::Init(path.clone(), source))?;
    }
    Ok(paths)
}

/// Returns the directory's name as a Solution name if it is valid, and `example` otherwise. A name can also be too long
/// together with the version.
fn name(directory: &Path) -> SolutionName {
    let version = "0.1.0".parse().expect("0.1.0 is a version");
    let name = directory
        .file_name()
        .and_then(|name| name.to_str()?.parse().ok());
    name.and_then(|name| SolutionId::new(name, version).ok())
        .map_or_else(
            || "example".parse().expect("`example` is a name"),
            |id| id.name().clone(),
        )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::testing::load;

    #[test]
    fn what_is_written_can_be_loaded() {
        let parent = tempfile::tempdir().unwrap();
        for (directory, name) in [
            ("storage", "storage"),
            ("Not A Name", "example"),
            ("true", "true"),
        ] {
            let directory = parent.path().join(directory);
            let written = init(&directory).unwrap();
            assert_eq!(written.len(), 5);
            let loaded = load(&directory).unwrap();
            assert_eq!(loaded.id.to_string(), format!("{name}-0.1.0"));
            assert_eq!(loaded.operator.len(), 2);
            for path in written {
                let text = fs::read_to_string(path).unwrap();
                assert!(!text.contains('@'), "{text}");
            }
        }
    }

    #[test]
    fn every_field_that_the_template_leaves_out_can_be_written() {
        let directory = tempfile::tempdir().unwrap();
        init(directory.path()).unwrap();
        let path = directory.path().join("solution.yaml");
        let text = fs::read_to_string(&path).unwrap();
        let mut fields = 0;
        let lines = text.lines().map(|line| {
            let (indent, comment) = line.split_at(line.len() - line.trim_start().len());
            let field = comment.strip_prefix("# ").filter(|text| {
                let text = text.trim_start().trim_start_matches("- ");
                text.split_once(':')
                    .is_some_and(|(key, _)| key.bytes().all(|b| b.is_ascii_alphabetic()))
            });
            let field = field.filter(|field| !field.starts_with("To "));
            fields += usize::from(field.is_some());
            field.map_or(line.to_owned(), |field| format!("{indent}{field}"))
        });
        let text: String = lines.map(|line| line + "\n").collect();
        fs::write(
            &path,
            text.replace("$(image:example-server)", "$(image:example-operator)"),
        )
        .unwrap();
        assert_eq!(fields, 10, "{text}");
        load(directory.path()).unwrap();
    }

    #[test]
    fn nothing_is_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(".gitignore"), "mine").unwrap();
        let message = init(directory.path()).unwrap_err().to_string();
        assert!(
            message.ends_with(".gitignore` already exists; nothing was written"),
            "{message}"
        );
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
