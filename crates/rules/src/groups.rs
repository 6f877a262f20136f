//! Groups of the Kubernetes API.

/// Roles and bindings.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io";
/// Admission webhooks and policies.
pub(super) const ADMISSION: &str = "admissionregistration.k8s.io";
