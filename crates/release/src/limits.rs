//! The named limits of what is read of a release, each with its reason. Bytes of all files together, values and text of
//! all documents are those that `solution validate` reads of an operator.

pub(crate) use validator::limits::{
    OPERATOR_FILES as RELEASE_BYTES, OPERATOR_TEXT as RELEASE_TEXT,
    OPERATOR_VALUES as RELEASE_VALUES,
};

/// Files of a release: the largest directories of manifests in use have some five hundred.
pub(crate) const RELEASE_FILES: usize = 2_000;
/// Entries that are looked at in a release's directories, so that a home directory given by mistake ends soon.
pub(crate) const RELEASE_ENTRIES: usize = 20_000;
/// Levels of directories below a release's: bundles have one.
pub(crate) const RELEASE_DEPTH: usize = 8;
/// Objects of a release: the largest in use have some five hundred.
pub(crate) const RELEASE_OBJECTS: usize = 10_000;
/// Images that a draft finds: the largest operators in use name some hundred.
pub(crate) const RELEASE_IMAGES: usize = 2_000;
/// Deployments among which the operator is looked for: the largest releases in use have ten.
pub(crate) const RELEASE_WORKLOADS: usize = 100;
/// Arguments, variables, volumes of one operator: the largest in use have two hundred.
pub(crate) const RELEASE_FIELDS: usize = 10_000;
