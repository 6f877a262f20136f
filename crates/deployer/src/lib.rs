//! Kubernetes: compare, apply, wait, remove.
