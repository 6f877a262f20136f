//! The OCI distribution protocol, verified while sent.
