//! Paths of the files in a source tree that packages a release.

/// The file that defines the Solution.
pub(crate) const SOURCE: &str = "solution.yaml";
/// The file with the notes. It exists only if there are notes.
pub(crate) const NOTES: &str = "NOTES.md";
/// The directory with the release's files.
pub(crate) const MANIFESTS: &str = "manifests";
/// The directory with a copy of the tree as it was drafted. It is the common ancestor in later merges.
pub(crate) const DRAFT: &str = ".solution-init";

/// Returns whether a path is below [`MANIFESTS`].
pub(crate) fn is_manifest(path: &str) -> bool {
    path.strip_prefix(MANIFESTS)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the path of the drafted copy of a file.
pub(crate) fn draft(path: &str) -> String {
    format!("{DRAFT}/{path}")
}
