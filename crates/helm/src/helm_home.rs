//! The private directory of a run of Helm: [`HelmHome`]. Helm uses it instead of every place with files of the user.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use process::Scratch;

/// The variables with the locations of Helm's files, and the subdirectory for each.
const PLACES: [(&str, &str); 6] = [
    ("HOME", ""),
    ("HELM_CACHE_HOME", "cache"),
    ("HELM_CONFIG_HOME", "config"),
    ("HELM_DATA_HOME", "data"),
    ("HELM_PLUGINS", "plugins"),
    ("KUBECACHEDIR", "kube"),
];

/// A private directory that is deleted on drop.
#[derive(Debug)]
pub struct HelmHome(Scratch);

impl HelmHome {
    /// Creates an empty directory.
    pub fn new() -> io::Result<Self> {
        let home = Self(Scratch::new(&tempfile::env::temp_dir())?);
        for (_, directory) in PLACES.iter().filter(|(_, directory)| !directory.is_empty()) {
            DirBuilder::new().mode(0o700).create(home.path(directory))?;
        }
        Ok(home)
    }

    /// Returns a path in the directory.
    #[must_use]
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a new file that only this user can read, and creates its parent directories.
    pub fn write(&self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<PathBuf> {
        let path = self.path(name);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let mut new = OpenOptions::new();
        new.write(true).create_new(true).mode(0o600);
        new.open(&path)?.write_all(bytes)?;
        Ok(path)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static OsStr, PathBuf)> + '_ {
        let place =
            |(name, directory): (&'static str, &str)| (OsStr::new(name), self.path(directory));
        PLACES.into_iter().map(place)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn nobody_else_can_look_into_it() {
        let home = HelmHome::new().unwrap();
        for directory in ["", "cache", "plugins"] {
            let metadata = home.path(directory).metadata().unwrap();
            assert_eq!(metadata.permissions().mode() & 0o777, 0o700, "{directory}");
        }
    }
}
