//! Archives on disk, and checks of them.

use std::fs;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;

use archive::{Overwrite, STATEMENT_OFFSET, UnsignedArchive};
use progress::{Cancel, Watch};
use schemas::{Envelope, PayloadType};
use signing::{SecretKey, Trust};
use tempfile::TempDir;
use validator::{CheckDepth, CheckOptions, Report, SignaturePolicy, check};

use crate::source::Source;

const THREADS: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Returns the publisher's key.
pub(crate) fn key() -> &'static SecretKey {
    static KEY: OnceLock<SecretKey> = OnceLock::new();
    KEY.get_or_init(|| SecretKey::generate().unwrap())
}

/// An archive in a temporary directory.
pub(crate) struct Archive {
    directory: TempDir,
}

impl Archive {
    pub(crate) fn signed(source: &Source) -> Self {
        Self::signed_by(source.unsigned(), &[key()])
    }

    pub(crate) fn signed_by(unsigned: UnsignedArchive, keys: &[&SecretKey]) -> Self {
        let archive = Self::unsigned(unsigned);
        let mut envelope = archive.envelope();
        for key in keys {
            envelope
                .add(key.sign(PayloadType::Statement, envelope.payload()))
                .unwrap();
        }
        archive.put_envelope(&envelope)
    }

    pub(crate) fn unsigned(unsigned: UnsignedArchive) -> Self {
        let archive = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let watch = Watch::silent(Cancel::never());
        unsigned
            .leave_unsigned()
            .write(&archive.path(), Overwrite::Refuse, THREADS, &watch)
            .and_then(|draft| draft.publish(watch.cancel))
            .unwrap();
        archive
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let archive = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::write(archive.path(), bytes).unwrap();
        archive
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("example.iso")
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    pub(crate) fn envelope(&self) -> Envelope {
        let bytes = self.bytes();
        let start = usize::try_from(STATEMENT_OFFSET).unwrap();
        Envelope::from_slice(&bytes[start..start + schemas::limits::ENVELOPE_SIZE]).unwrap()
    }

    pub(crate) fn put_envelope(self, envelope: &Envelope) -> Self {
        self.put(
            usize::try_from(STATEMENT_OFFSET).unwrap(),
            &envelope.to_bytes(),
        )
    }

    pub(crate) fn put(self, offset: usize, bytes: &[u8]) -> Self {
        let mut image = self.bytes();
        image[offset..offset + bytes.len()].copy_from_slice(bytes);
        fs::write(self.path(), image).unwrap();
        self
    }

    pub(crate) fn report(&self) -> Report {
        self.report_with(&options())
    }

    pub(crate) fn report_with(&self, options: &CheckOptions) -> Report {
        check(&self.path(), options, &Watch::silent(Cancel::never())).unwrap()
    }
}

/// Returns options that trust the publisher's key and read everything.
pub(crate) fn options() -> CheckOptions {
    CheckOptions {
        signatures: SignaturePolicy::Check {
            trust: Some(Trust::new(vec![key().public()], None).unwrap().into()),
            allow_unsigned: None,
        },
        detached: Vec::new(),
        depth: CheckDepth::Everything,
        threads: THREADS,
        now: None,
    }
}

pub(crate) fn ids(report: &Report) -> Vec<&'static str> {
    report.findings().iter().map(|finding| finding.id).collect()
}
