//! The named limits of a draft, each with its reason. What is read of a release is bounded by `manifests`.

/// Images that a draft finds: the largest operators in use name some hundred.
pub(crate) const RELEASE_IMAGES: usize = 2_000;
/// Deployments among which the operator is looked for: the largest releases in use have ten.
pub(crate) const RELEASE_WORKLOADS: usize = 100;
/// Arguments, variables, volumes of one operator: the largest in use have two hundred.
pub(crate) const RELEASE_FIELDS: usize = 10_000;
