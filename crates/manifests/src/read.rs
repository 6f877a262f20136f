//! Manifest files: one file, or the YAML and JSON files of a directory. Symbolic links are followed only to files of
//! the same directory.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::ManifestsError;
use crate::{display_text, limits};

/// A file with manifests.
#[derive(Clone, Debug)]
pub struct ManifestFile {
    /// The name of the file for messages.
    pub name: String,
    /// The bytes of the file.
    pub bytes: Vec<u8>,
}

/// The files that were read, and those that were skipped.
#[derive(Debug)]
pub struct ManifestFiles {
    /// The name of the file or directory for messages.
    pub name: String,
    /// The files in the order of their paths.
    pub files: Vec<ManifestFile>,
    /// The skipped files.
    pub passed_over: Vec<SkippedFile>,
}

/// A file of a directory that is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// The path below the directory, which is safe to show.
    pub file: String,
    /// The reason.
    pub why: &'static str,
}

/// Reads a file, or the `.yaml`, `.yml` and `.json` files below a directory.
pub fn read(path: &Path) -> Result<ManifestFiles, ManifestsError> {
    let root = fs::canonicalize(path).map_err(|source| files::failed(path, source))?;
    let name = root
        .file_name()
        .unwrap_or(root.as_os_str())
        .to_string_lossy()
        .into_owned();
    let mut read = ManifestFiles {
        name,
        files: Vec::new(),
        passed_over: Vec::new(),
    };
    if !root.is_dir() {
        let bytes = files::read(path, schemas::limits::YAML_STREAM_SIZE)?;
        if is_packed(&bytes) {
            return Err(ManifestsError::Packed(path.display().to_string()));
        }
        let name = read.name.clone();
        read.files.push(ManifestFile { name, bytes });
        return Ok(read);
    }
    let shown_path = path.display().to_string();
    if root.join("Chart.yaml").exists() {
        return Err(ManifestsError::Chart(shown_path));
    }
    let mut left = limits::FILES_SIZE;
    for path in paths(&root, &mut read.passed_over, &shown_path)? {
        // Each file may use only the rest of the total, so that no more than the total is ever read.
        let bytes = files::read(&path, schemas::limits::YAML_STREAM_SIZE.min(left))?;
        left -= bytes.len() as u64;
        let name = relative_path(&root, &path);
        read.files.push(ManifestFile { name, bytes });
    }
    if read.files.is_empty() {
        let what = "no `.yaml`, `.yml` or `.json` file".to_owned();
        return Err(ManifestsError::Directory {
            directory: shown_path,
            what,
        });
    }
    Ok(read)
}

/// Checks whether a file is compressed (gzip, zstd, xz), a zip or a tar.
fn is_packed(bytes: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 4] = [
        b"\x1f\x8b",
        b"\x28\xb5\x2f\xfd",
        b"\xfd7zXZ\0",
        b"PK\x03\x04",
    ];
    // The magic of a ustar header (POSIX.1-1988) follows name, mode, owner, size, time, checksum and link name.
    let tar = bytes.get(257..262) == Some(b"ustar");
    tar || BEGINNINGS
        .iter()
        .any(|beginning| bytes.starts_with(beginning))
}

/// Returns the manifest files below a directory, sorted by path.
fn paths(
    root: &Path,
    passed_over: &mut Vec<SkippedFile>,
    shown_root: &str,
) -> Result<Vec<PathBuf>, ManifestsError> {
    let too_much = |what: String| ManifestsError::Directory {
        directory: shown_root.to_owned(),
        what,
    };
    let mut open = vec![(root.to_owned(), 0)];
    let mut found = Vec::new();
    let mut entries = 0;
    while let Some((directory, depth)) = open.pop() {
        let failed = |source| files::failed(&directory, source);
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            entries += 1;
            if entries > limits::ENTRIES {
                return Err(too_much(format!("more than {} entries", limits::ENTRIES)));
            }
            let metadata =
                fs::symlink_metadata(&path).map_err(|source| files::failed(&path, source))?;
            if metadata.is_dir() {
                if depth == limits::DEPTH {
                    let what = format!("directories more than {} levels deep", limits::DEPTH);
                    return Err(too_much(what));
                }
                open.push((path, depth + 1));
            } else if let Some(why) = why_not(&path, root, metadata.is_symlink()) {
                let file = display_text(&relative_path(root, &path));
                passed_over.push(SkippedFile { file, why });
            } else {
                found.push(path);
            }
        }
        if found.len() > limits::FILES {
            let what = format!("more than {} files with manifests", limits::FILES);
            return Err(too_much(what));
        }
    }
    found.sort();
    passed_over.sort_by(|one, other| one.file.cmp(&other.file));
    Ok(found)
}

/// Returns the path of a file below a directory.
fn relative_path(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

/// Returns the reason to skip a file of the directory.
fn why_not(path: &Path, root: &Path, link: bool) -> Option<&'static str> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let extension = path.extension().and_then(OsStr::to_str);
    if !matches!(extension, Some("yaml" | "yml" | "json")) {
        Some("is neither .yaml, .yml nor .json")
    } else if matches!(name.as_ref(), "kustomization.yaml" | "kustomization.yml") {
        Some(
            "is a kustomization, not a manifest; if it changes the manifests, pass the output of `kubectl kustomize` instead of the directory",
        )
    } else if link
        && !fs::canonicalize(path).is_ok_and(|target| target.starts_with(root) && target.is_file())
    {
        Some("is a link that leads out of the directory, or to no file")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(directory: &Path, name: &str) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "kind: X\n").unwrap();
    }

    fn names(read: &ManifestFiles) -> Vec<&str> {
        read.files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn a_directory_is_read_in_the_order_of_its_paths_and_what_is_not_is_told() {
        let parent = tempfile::tempdir().unwrap();
        let (root, outside) = (
            parent.path().join("release"),
            parent.path().join("secret.yaml"),
        );
        for name in [
            "b.yaml",
            "a/z.yml",
            "a/b/c.json",
            "LICENSE",
            "kustomization.yaml",
        ] {
            write(&root, name);
        }
        fs::write(&outside, "kind: Secret\n").unwrap();
        symlink("b.yaml", root.join("c.yaml")).unwrap();
        symlink("../secret.yaml", root.join("d.yaml")).unwrap();
        symlink(&outside, root.join("e.yaml")).unwrap();
        symlink("nowhere", root.join("f.yaml")).unwrap();
        symlink("..", root.join("up.yaml")).unwrap();
        symlink(".", root.join("here")).unwrap();
        let release = read(&root).unwrap();
        assert_eq!(release.name, "release");
        assert_eq!(
            names(&release),
            ["a/b/c.json", "a/z.yml", "b.yaml", "c.yaml"]
        );
        let told: Vec<&str> = release
            .passed_over
            .iter()
            .map(|passed| passed.file.as_str())
            .collect();
        assert_eq!(
            told,
            [
                "LICENSE",
                "d.yaml",
                "e.yaml",
                "f.yaml",
                "here",
                "kustomization.yaml",
                "up.yaml"
            ]
        );
        assert!(release.passed_over[5].why.contains("kubectl kustomize"));
    }

    #[test]
    fn what_is_no_release_is_refused_with_what_to_do() {
        let parent = tempfile::tempdir().unwrap();
        let refused = |name: &str| {
            let error = read(&parent.path().join(name)).unwrap_err();
            error.to_string()
        };
        write(parent.path(), "chart/Chart.yaml");
        assert!(refused("chart").contains("helm template"));
        fs::create_dir(parent.path().join("empty")).unwrap();
        assert!(refused("empty").contains("contains no `.yaml`, `.yml` or `.json` file"));
        write(
            parent.path(),
            &format!("deep/{}x.yaml", "d/".repeat(limits::DEPTH + 1)),
        );
        assert!(refused("deep").contains("more than 8 levels deep"));
        for number in 0..=limits::FILES {
            write(parent.path(), &format!("many/{number}.yaml"));
        }
        assert!(refused("many").contains("more than 2000 files"));
        assert!(refused("missing").contains("cannot read"));
        let mut tar = vec![0; 1024];
        tar[257..262].copy_from_slice(b"ustar");
        for (name, bytes) in [
            ("chart-1.0.0.tgz", &b"\x1f\x8b\x08\0\0"[..]),
            ("release.tar", &tar),
            ("release.zip", b"PK\x03\x04\x14\0"),
        ] {
            fs::write(parent.path().join(name), bytes).unwrap();
            let message = refused(name);
            assert!(message.contains("helm template NAME "), "{message}");
            assert!(message.contains("unpack anything else"), "{message}");
        }
        let large = fs::File::create(parent.path().join("large.yaml")).unwrap();
        large
            .set_len(schemas::limits::YAML_STREAM_SIZE + 1)
            .unwrap();
        assert!(refused("large.yaml").contains("at most 33554432 are read"));
    }
}
