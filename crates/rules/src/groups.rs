//! Groups of the Kubernetes API.

/// The API group of roles and bindings.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io";
/// The API group of admission webhooks and policies.
pub(super) const ADMISSION: &str = "admissionregistration.k8s.io";
