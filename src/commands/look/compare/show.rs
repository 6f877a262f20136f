//! What differs between two versions, for programs.

use importer::VersionComparison;
use schemars::JsonSchema;
use schemas::{Digest, KeyId, SolutionId};
use serde::Serialize;

use super::ComparedVersion;

/// The differences between two versions. The exit code is 1 if there are any.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ComparedArchives<'a> {
    /// Whether anything differs.
    pub(super) differs: bool,
    /// The first version.
    pub(super) before: ComparedArchive<'a>,
    /// The second version.
    pub(super) after: ComparedArchive<'a>,
    #[serde(flatten)]
    pub(super) comparison: &'a VersionComparison,
}

/// An archive.
#[derive(PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ComparedArchive<'a> {
    /// The id of the Solution, `<name>-<version>`.
    pub(super) solution: &'a SolutionId,
    /// SHA-256 of the signed statement.
    pub(super) archive_id: Digest,
    /// The keys that signed: for a file as the archive states, for an imported version as verified by the import.
    pub(super) signed_by: &'a [KeyId],
}

impl<'a> From<&'a ComparedVersion> for ComparedArchive<'a> {
    fn from(version: &'a ComparedVersion) -> Self {
        Self {
            solution: &version.accepted.statement().predicate.id,
            archive_id: version.accepted.archive_id(),
            signed_by: &version.signed_by,
        }
    }
}

impl<'a> ComparedArchives<'a> {
    /// Says whether anything differs.
    pub(super) fn of(
        versions: [&'a ComparedVersion; 2],
        comparison: &'a VersionComparison,
    ) -> Self {
        let [before, after] = versions.map(ComparedArchive::from);
        // Of an imported version only those are known who were trusted then: the same archive may have more.
        let same = before.archive_id == after.archive_id
            || (before.solution == after.solution && before.signed_by == after.signed_by);
        Self {
            differs: !same || !comparison.is_empty(),
            before,
            after,
            comparison,
        }
    }
}
