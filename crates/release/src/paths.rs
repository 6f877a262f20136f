//! Paths of the files in a tree that carries a release.

/// The file that says what the Solution is.
pub(crate) const SOURCE: &str = "solution.yaml";
/// The file that says what is left to decide, if anything is.
pub(crate) const NOTES: &str = "NOTES.md";
/// The directory of the release's files.
pub(crate) const MANIFESTS: &str = "manifests";
/// The directory with the tree as it was made, before anybody edited it.
pub(crate) const DRAFT: &str = ".solution-init";

/// Whether a file is the release's.
pub(crate) fn is_manifest(path: &str) -> bool {
    path.strip_prefix(MANIFESTS)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns where the draft of a file lies.
pub(crate) fn draft(path: &str) -> String {
    format!("{DRAFT}/{path}")
}
