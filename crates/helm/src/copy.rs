//! A private copy of a program from an untrusted source, such as an archive. The copy is only run if it has the signed
//! digest, byte for byte.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use process::Scratch;
use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::error::HelmError;
use crate::{limits, run};

/// A function that fills a buffer with the bytes at an offset.
type ProgramReader<'a> = dyn Fn(&mut [u8], u64) -> io::Result<()> + 'a;

/// The source of a program.
pub struct ProgramSource<'a> {
    /// The size of the program in bytes.
    pub size: u64,
    /// The signed digest.
    pub digest: Digest,
    /// Reads the program. The bytes need not be verified.
    pub read: &'a ProgramReader<'a>,
}

impl fmt::Debug for ProgramSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a program of {} bytes, {}", self.size, self.digest)
    }
}

/// A program in a private directory, which is deleted on drop.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    program: PathBuf,
    _directory: Scratch,
}

impl PrivateCopy {
    /// Copies a program into a new directory in `scratch`. If the copy does not have the signed digest, it fails and
    /// deletes the copy.
    pub(crate) fn new(source: &ProgramSource<'_>, scratch: &Path) -> Result<Self, HelmError> {
        let directory = Scratch::new(scratch);
        let directory = directory.map_err(|error| run::failed(scratch, error))?;
        let program = directory.path().join("helm");
        let found = write(source, &program).map_err(|error| run::failed(&program, error))?;
        if found != source.digest {
            return Err(HelmError::Altered {
                expected: Box::new(source.digest),
                found: Box::new(found),
            });
        }
        Ok(Self {
            program,
            _directory: directory,
        })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }
}

/// Writes the program and returns the digest of the written bytes. No other user can modify the file meanwhile: its
/// directory is private, and the file is newly created.
fn write(source: &ProgramSource<'_>, path: &Path) -> io::Result<Digest> {
    let mut new = OpenOptions::new();
    let mut file = new.write(true).create_new(true).mode(0o700).open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; limits::COPIED_AT_ONCE];
    let mut offset = 0;
    while offset < source.size {
        let left = usize::try_from(source.size - offset).unwrap_or(usize::MAX);
        let piece = &mut buffer[..left.min(limits::COPIED_AT_ONCE)];
        (source.read)(piece, offset)?;
        hash.update(&*piece);
        file.write_all(piece)?;
        offset += piece.len() as u64;
    }
    Ok(Digest::new(hash.finalize().into()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::Helm;

    /// Copies `bytes` with the digest of `signed`.
    fn copied(bytes: &[u8], signed: &[u8], scratch: &Path) -> Result<Helm, HelmError> {
        let read = |buf: &mut [u8], offset: u64| {
            let from = usize::try_from(offset).unwrap();
            buf.copy_from_slice(&bytes[from..from + buf.len()]);
            Ok(())
        };
        let source = ProgramSource {
            size: bytes.len() as u64,
            digest: Digest::new(Sha256::digest(signed).into()),
            read: &read,
        };
        Helm::copy_from(&source, scratch)
    }

    /// Returns a script that is larger than the copy buffer.
    fn script(text: &str) -> Vec<u8> {
        let padding = "#".repeat(limits::COPIED_AT_ONCE);
        format!("#!/bin/sh\n{text}\n{padding}\n").into_bytes()
    }

    fn entries(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn what_was_signed_is_run_from_a_place_of_its_own_and_goes_with_its_last_clone() {
        let scratch = tempfile::tempdir().unwrap();
        let script = script("echo v4.3.1");
        let helm = copied(&script, &script, scratch.path()).unwrap();
        assert_eq!(helm.version(), "v4.3.1");
        let program = helm.program().to_owned();
        assert!(program.starts_with(scratch.path()), "{program:?}");
        for path in [&program, program.parent().unwrap()] {
            let mode = path.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{path:?}");
        }
        let clone = helm.clone();
        drop(helm);
        assert_eq!(fs::read(&program).unwrap(), script);
        drop(clone);
        assert_eq!(entries(scratch.path()), 0);
    }

    #[test]
    fn nothing_else_is_run_and_nothing_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let trace = scratch.path().join("ran");
        let altered = script(&format!("touch {}; echo v4.3.1", trace.display()));
        let error = copied(&altered, &script("echo v4.3.1"), scratch.path()).unwrap_err();
        assert!(matches!(error, HelmError::Altered { .. }), "{error}");
        assert_eq!(entries(scratch.path()), 0);
        let other = script("echo v3.1.0");
        let error = copied(&other, &other, scratch.path()).unwrap_err();
        assert!(matches!(error, HelmError::NotHelm4 { .. }), "{error}");
        assert_eq!(entries(scratch.path()), 0);
        let error = copied(&other, &other, &scratch.path().join("none")).unwrap_err();
        assert!(matches!(error, HelmError::Run(..)), "{error}");
    }
}
