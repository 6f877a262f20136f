//! A program to include, as it is typed.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use packager::{ProgramFile, ProgramKind};
use schemas::Tag;

/// A program, and the version that it is said to be.
#[derive(Clone, Debug)]
pub(super) struct VersionedFile {
    version: Option<Tag>,
    path: PathBuf,
}

impl VersionedFile {
    /// Returns it as what is to be included.
    pub(super) fn as_included(&self, kind: ProgramKind) -> ProgramFile {
        ProgramFile {
            kind,
            path: self.path.clone(),
            version: self.version.clone(),
        }
    }
}

impl FromStr for VersionedFile {
    type Err = Infallible;

    /// Reads `[VERSION=]FILE`. A version is a tag with a digit; `./1=file` is a file.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let split = text.split_once('=').and_then(|(version, path)| {
            let version: Tag = version.parse().ok()?;
            let is_version = version.as_str().bytes().any(|byte| byte.is_ascii_digit());
            is_version.then_some((version, path))
        });
        let (version, path) = split.map_or((None, text), |(version, path)| (Some(version), path));
        Ok(Self {
            version,
            path: path.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Option<String>, String) {
        let Ok(file) = text.parse::<VersionedFile>();
        let version = file.version.map(|it| it.to_string());
        (version, file.path.display().to_string())
    }

    #[test]
    fn a_version_stands_before_a_path() {
        assert_eq!(read("helm"), (None, "helm".to_owned()));
        let of = |version: &str| Some(version.to_owned());
        assert_eq!(read("v4.3.1=helm"), (of("v4.3.1"), "helm".to_owned()));
        assert_eq!(read("4=a=b"), (of("4"), "a=b".to_owned()));
        for path in ["./4=helm", "a=b", "=helm", "a/4.0=b"] {
            assert_eq!(read(path), (None, path.to_owned()));
        }
    }
}
