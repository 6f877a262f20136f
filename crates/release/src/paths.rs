//! What lies where in a tree that carries a release.

/// The file that says what the Solution is.
pub(crate) const SOURCE: &str = "solution.yaml";
/// What is left to decide, if anything is.
pub(crate) const NOTES: &str = "NOTES.md";
/// What was taken from the release.
pub(crate) const RECORD: &str = ".solution-init.json";
/// The directory of the release's files.
pub(crate) const MANIFESTS: &str = "manifests";

/// Whether a file is the release's.
pub(crate) fn is_manifest(path: &str) -> bool {
    path.strip_prefix(MANIFESTS)
        .is_some_and(|rest| rest.starts_with('/'))
}
