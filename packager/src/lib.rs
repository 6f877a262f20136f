//! Source directory to signed archive.
