//! The first stages of reading: the envelope at its fixed place, and the decision about its signatures. Nothing else of
//! the medium is looked at, except to say in better words why it is no archive.

use std::path::Path;
use std::sync::Arc;

use schemas::{Digest, Envelope, EnvelopeSignature, SolutionId, Statement};
use sha2::{Digest as _, Sha256};
use signing::{Signers, Trust};

use crate::OpenError;
use crate::layout::{CONTENTS_OFFSET, STATEMENT_OFFSET};
use crate::medium::{Drive, Medium};

/// An archive with an envelope in its one spelling. Nothing in it is trusted yet.
#[derive(Clone, Debug)]
pub struct Opened {
    pub(crate) medium: Arc<Medium>,
    pub(crate) envelope: Envelope,
}

/// An archive about whose signatures somebody has decided.
#[derive(Clone, Debug)]
pub struct Trusted {
    pub(crate) medium: Arc<Medium>,
    statement: Statement,
    archive_id: Digest,
    signers: Option<Signers>,
}

impl Opened {
    /// Opens a regular file or a block device and reads the envelope.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        Self::read(Medium::open(path)?)
    }

    /// Reads the envelope of what is open.
    pub fn read(medium: Medium) -> Result<Self, OpenError> {
        let claimed = medium.claimed_size()?;
        if medium.is_file() && medium.size < claimed.max(CONTENTS_OFFSET) {
            // An image by another tool may well be smaller than our smallest; it is not cut off.
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
        // Either end suffices, so that one damaged byte does not make our archive somebody else's.
        if !bytes.starts_with(b"{\"payload\":\"") && !bytes.ends_with(b" \n") {
            return Err(OpenError::Foreign(medium.path));
        }
        match Envelope::from_slice(&bytes) {
            Ok(envelope) => Ok(Self::from_envelope(medium, envelope)),
            Err(error) => Err(OpenError::Envelope {
                path: medium.path,
                source: error,
            }),
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

    /// Returns what the archive lies on.
    #[must_use]
    pub fn drive(&self) -> Drive {
        self.medium.drive()
    }

    /// Counts the signatures of another envelope too, one that lies beside the archive. Its payload must be the same
    /// bytes. A key that signed in both is counted once; with two different signatures it is refused.
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

    /// Returns the Solution that the statement claims to be about, before anybody has decided about its signatures.
    /// Only for choosing the trust to verify it with: what is verified then are these same bytes, so that a false claim
    /// is one that the chosen keys have signed.
    pub fn claimed_id(&self) -> Result<SolutionId, OpenError> {
        let statement =
            Statement::from_slice(self.envelope.payload()).map_err(OpenError::Statement)?;
        Ok(statement.predicate.id)
    }

    /// Verifies the signatures by the one rule, and parses exactly the bytes that were verified.
    pub fn verify(&self, trust: &Trust) -> Result<Trusted, OpenError> {
        let signers = signing::verify(&self.envelope, trust)?;
        self.trusted(Some(signers))
    }

    /// Goes on if this is the archive that was accepted before, by the signatures of these keys, if any: who signed was
    /// decided then.
    pub fn recognise(
        &self,
        accepted: Digest,
        signers: Option<Signers>,
    ) -> Result<Trusted, OpenError> {
        if self.archive_id() != accepted {
            let found = self.archive_id();
            return Err(OpenError::OtherArchive { accepted, found });
        }
        self.trusted(signers)
    }

    /// Goes on without anybody vouching for the archive: [`Trusted::signers`] is `None` from here on.
    pub fn skip_signature(&self) -> Result<Trusted, OpenError> {
        self.trusted(None)
    }

    fn trusted(&self, signers: Option<Signers>) -> Result<Trusted, OpenError> {
        let statement =
            Statement::from_slice(self.envelope.payload()).map_err(OpenError::Statement)?;
        Ok(Trusted {
            medium: Arc::clone(&self.medium),
            statement,
            archive_id: self.archive_id(),
            signers,
        })
    }
}

impl Trusted {
    /// Returns what the signers say of the archive.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns who signed; `None` when nobody vouches for the archive.
    #[must_use]
    pub fn signers(&self) -> Option<&Signers> {
        self.signers.as_ref()
    }

    /// The SHA-256 of the signed statement.
    #[must_use]
    pub fn archive_id(&self) -> Digest {
        self.archive_id
    }

    /// Returns what the archive lies on.
    #[must_use]
    pub fn drive(&self) -> Drive {
        self.medium.drive()
    }
}
