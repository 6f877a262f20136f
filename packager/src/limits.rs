//! The named limits of what is read from a source directory beside those of the documents themselves
//! ([`schemas::limits`]), each with its reason.

/// Files in the directory of CRDs: the largest operators in use bring some two hundred.
pub(crate) const CRD_FILES: usize = 10_000;
/// Bytes of all CRDs and roles, since they are kept in memory: ten times the largest operators in use, and what
/// `solution validate` reads.
pub(crate) const OPERATOR_BYTES: u64 = 64 * 1024 * 1024;
