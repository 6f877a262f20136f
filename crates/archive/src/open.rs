//! The first stages of reading: [`OpenedArchive::open`] reads the envelope at its fixed offset, and [`OpenedArchive::verify`] checks
//! its signatures. Other parts of the file are read only to explain why it is not an archive.

use std::path::Path;
use std::sync::Arc;

use schemas::{Digest, Envelope, EnvelopeSignature, SolutionId, Statement};
use sha2::{Digest as _, Sha256};
use signing::{Signers, Trust};

use crate::OpenError;
use crate::layout::{CONTENTS_OFFSET, STATEMENT_OFFSET};
use crate::medium::{Drive, Medium};

/// An archive with a well-formed envelope. Nothing in it is trusted yet.
#[derive(Clone, Debug)]
pub struct OpenedArchive {
    pub(crate) medium: Arc<Medium>,
    pub(crate) envelope: Envelope,
}

/// An archive whose signatures were verified or deliberately skipped.
#[derive(Clone, Debug)]
pub struct TrustedArchive {
    pub(crate) medium: Arc<Medium>,
    statement: Statement,
    archive_id: Digest,
    signers: Option<Signers>,
}

impl OpenedArchive {
    /// Opens a regular file or a block device and reads the envelope.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::read(Medium::open(path)?)
    }

    /// Reads the envelope of an opened medium.
    pub fn read(medium: Medium) -> Result<Self, OpenError> {
        let claimed = medium.claimed_size()?;
        if medium.is_file() && medium.size < claimed.max(CONTENTS_OFFSET) {
            // An image of another tool can be smaller than any archive. It is foreign, not truncated.
            if claimed <= medium.size {
                return Err(OpenError::Foreign(medium.path));
            }
            return Err(OpenError::Truncated {
                expected: claimed,
                found: medium.size,
                path: medium.path,
            });
        }
        let mut bytes = vec![0; schemas::limits::ENVELOPE_SIZE];
        medium.read(&mut bytes, STATEMENT_OFFSET)?;
        // One of both ends suffices: an archive of which one byte is damaged shall not be reported as another tool's
        // image.
        if !bytes.starts_with(b"{\"payload\":\"") && !bytes.ends_with(b" \n") {
            return Err(OpenError::Foreign(medium.path));
        }
        match Envelope::from_slice(&bytes) {
            Ok(envelope) => Ok(Self::from_envelope(medium, envelope)),
            Err(error) => Err(OpenError::Envelope(medium.path, error)),
        }
    }

    pub(crate) fn from_envelope(medium: Medium, envelope: Envelope) -> Self {
        Self {
            medium: Arc::new(medium),
            envelope,
        }
    }

    /// The envelope.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// The SHA-256 of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        Digest::new(Sha256::digest(self.envelope.payload()).into())
    }

    /// Returns the kind of drive that the archive is stored on.
    #[must_use]
    pub fn drive(&self) -> Drive {
        self.medium.drive()
    }

    /// Adds the signatures of a detached envelope. Its payload must have the same bytes. A key that signed in both is
    /// counted once; two different signatures of one key are refused.
    pub fn attach(&mut self, detached: &Envelope) -> Result<(), OpenError> {
        if detached.payload() != self.envelope.payload() {
            return Err(OpenError::OtherPayload);
        }
        let known: Vec<EnvelopeSignature> = self.envelope.signatures().collect();
        detached
            .signatures()
            .filter(|signature| !known.contains(signature))
            .try_for_each(|signature| self.envelope.add(signature))
            .map_err(OpenError::Sign)
    }

    /// Returns the Solution that the unverified statement claims to describe. Use it only to select the trusted keys:
    /// the subsequent verification covers the same bytes, so a false claim would need a signature by the selected keys.
    pub fn claimed_id(&self) -> Result<SolutionId, OpenError> {
        let statement =
            Statement::from_slice(self.envelope.payload()).map_err(OpenError::Statement)?;
        Ok(statement.predicate.id)
    }

    /// Verifies the signatures and parses the verified bytes.
    pub fn verify(&self, trust: &Trust) -> Result<TrustedArchive, OpenError> {
        let signers = signing::verify(&self.envelope, trust)?;
        self.trusted(Some(signers))
    }

    /// Continues if this is the archive that was accepted earlier. `signers` are the keys that were verified then, if
    /// any.
    pub fn recognise(
        &self,
        accepted: Digest,
        signers: Option<Signers>,
    ) -> Result<TrustedArchive, OpenError> {
        if self.archive_id() != accepted {
            let found = self.archive_id();
            return Err(OpenError::OtherArchive { accepted, found });
        }
        self.trusted(signers)
    }

    /// Continues without verifying signatures: [`TrustedArchive::signers`] is `None` from then on.
    pub fn skip_signature(&self) -> Result<TrustedArchive, OpenError> {
        self.trusted(None)
    }

    fn trusted(&self, signers: Option<Signers>) -> Result<TrustedArchive, OpenError> {
        let statement =
            Statement::from_slice(self.envelope.payload()).map_err(OpenError::Statement)?;
        Ok(TrustedArchive {
            medium: Arc::clone(&self.medium),
            statement,
            archive_id: self.archive_id(),
            signers,
        })
    }
}

impl TrustedArchive {
    /// The signed statement.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns the keys whose signatures were verified; `None` if verification was skipped.
    #[must_use]
    pub fn signers(&self) -> Option<&Signers> {
        self.signers.as_ref()
    }

    /// The SHA-256 of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.archive_id
    }

    /// Returns the kind of drive that the archive is stored on.
    #[must_use]
    pub fn drive(&self) -> Drive {
        self.medium.drive()
    }
}
