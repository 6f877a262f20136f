//! The registry configuration of a node.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::site::variable;

/// A registry in the node's configuration. It is removed when the test ends.
pub(crate) struct NodeRegistry(PathBuf);

impl NodeRegistry {
    /// Writes the printed files for a registry to the node.
    pub(crate) fn configure(host: &str, files: &Value) -> Self {
        let told = Self(Path::new(&variable("SOLUTION_TEST_NODE_HOSTS")).join(host));
        fs::create_dir(&told.0).unwrap();
        for file in files.as_array().unwrap() {
            let path = Path::new(file["path"].as_str().unwrap());
            let directory = Path::new("/etc/containerd/certs.d").join(host);
            assert_eq!(path.parent(), Some(directory.as_path()));
            let text = file["text"].as_str().unwrap();
            fs::write(told.0.join(path.file_name().unwrap()), text).unwrap();
        }
        told
    }
}

impl Drop for NodeRegistry {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
