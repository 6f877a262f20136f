//! The programs that an archive includes: read once, so that what says its version is what is packed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use archive::{Architecture, ArchiveFile, FileSource, helm_path};
use helm::{Helm, ProgramSource};
use schemars::JsonSchema;
use schemas::Digest;
use serde::{Serialize, Serializer};
use validator::limits;

use crate::error::PackError;

/// A `helm` that is included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IncludedHelm {
    /// The processor that it is for.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String", extend("enum" = Architecture::ALL.map(Architecture::as_str)))]
    pub architecture: Architecture,
    /// The version, as the program says it. It is missing if the program is for another processor than this machine
    /// has, where nobody can ask it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
fn as_text<S: Serializer>(it: &Architecture, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(it.as_str())
}

/// A `helm` that was read.
#[derive(Debug)]
pub(crate) struct LoadedHelm {
    pub(crate) included: IncludedHelm,
    digest: Digest,
    bytes: Arc<[u8]>,
}

impl LoadedHelm {
    /// Returns it as a file of the archive.
    pub(crate) fn file(&self) -> ArchiveFile {
        ArchiveFile {
            path: helm_path(self.included.architecture),
            size: self.bytes.len() as u64,
            digest: self.digest,
            source: FileSource::Bytes(Arc::clone(&self.bytes)),
        }
    }
}

/// Reads the programs, and has those say their version that can run here, as a copy in `scratch`.
pub(crate) fn load(paths: &[PathBuf], scratch: &Path) -> Result<Vec<LoadedHelm>, PackError> {
    let mut loaded: Vec<LoadedHelm> = Vec::new();
    for path in paths {
        let helm = read(path, scratch)?;
        let architecture = helm.included.architecture;
        let mut before = loaded.iter();
        if before.any(|it| it.included.architecture == architecture) {
            return Err(PackError::HelmTwice(architecture));
        }
        loaded.push(helm);
    }
    loaded.sort_by_key(|it| it.included.architecture);
    Ok(loaded)
}

fn read(path: &Path, scratch: &Path) -> Result<LoadedHelm, PackError> {
    let bytes = files::read(path, limits::PROGRAM_SIZE)?;
    let architecture = Architecture::of_executable(&bytes);
    let architecture = architecture.ok_or_else(|| PackError::NoExecutable(path.to_owned()))?;
    let digest = files::digest(&bytes);
    let version = if Architecture::here() == Some(architecture) {
        Some(
            version(&bytes, digest, scratch).map_err(|source| PackError::IncludedHelm {
                path: path.to_owned(),
                source,
            })?,
        )
    } else {
        None
    };
    Ok(LoadedHelm {
        included: IncludedHelm {
            architecture,
            version,
        },
        digest,
        bytes: bytes.into(),
    })
}

fn version(bytes: &[u8], digest: Digest, scratch: &Path) -> Result<String, helm::HelmError> {
    let read = |buf: &mut [u8], offset: u64| {
        let from = usize::try_from(offset).expect("it is an offset in memory");
        buf.copy_from_slice(&bytes[from..][..buf.len()]);
        Ok(())
    };
    let source = ProgramSource {
        size: bytes.len() as u64,
        digest,
        read: &read,
    };
    Ok(Helm::copied(&source, scratch)?.version().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The beginning of an executable for Linux on `aarch64`, which this machine cannot run.
    fn elsewhere() -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01\x00".to_vec();
        bytes.extend([0; 8]);
        bytes.extend([
            2,
            0,
            if cfg!(target_arch = "aarch64") {
                62
            } else {
                183
            },
            0,
        ]);
        bytes
    }

    #[test]
    fn one_for_another_processor_is_taken_and_not_asked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("helm");
        fs::write(&path, elsewhere()).unwrap();
        let loaded = load(std::slice::from_ref(&path), directory.path()).unwrap();
        let [helm] = &loaded[..] else {
            panic!("one was given");
        };
        assert_eq!(helm.included.version, None);
        assert_ne!(Some(helm.included.architecture), Architecture::here());
        assert_eq!(helm.file().digest, files::digest(&elsewhere()));
        let error = load(&[path.clone(), path], directory.path()).unwrap_err();
        assert!(matches!(error, PackError::HelmTwice(_)), "{error}");
    }

    #[test]
    fn what_is_no_helm_is_refused_by_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("helm");
        fs::write(&path, "#!/bin/sh\necho v4.3.1\n").unwrap();
        let error = load(std::slice::from_ref(&path), directory.path()).unwrap_err();
        assert!(matches!(error, PackError::NoExecutable(it) if it == path));
        // A program that runs, and says nothing like a version.
        fs::copy("/proc/self/exe", &path).unwrap();
        let error = load(std::slice::from_ref(&path), directory.path()).unwrap_err();
        assert!(matches!(error, PackError::IncludedHelm { .. }), "{error}");
    }
}
