//! Foreign programs judge archives.
