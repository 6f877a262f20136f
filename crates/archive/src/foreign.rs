//! Signatures that were made elsewhere, in the forms in which devices and other signers give them.

use schemas::{Envelope, EnvelopeError, limits};
use signing::PublicKey;

/// Bytes of an Ed25519 signature.
const SIGNATURE: usize = 64;

/// Signatures that were made elsewhere.
#[derive(Debug)]
pub enum ForeignSignatures {
    /// One, by whichever key it is: the key tells.
    Raw(Vec<u8>),
    /// Those of a signed copy of the statement.
    Envelope(Envelope),
}

impl ForeignSignatures {
    /// Reads the 64 bytes of a signature, their base64, or an envelope. None if it is nothing of these.
    pub fn from_slice(bytes: &[u8]) -> Result<Option<Self>, EnvelopeError> {
        if bytes.len() == limits::ENVELOPE_SIZE {
            return Envelope::from_slice(bytes).map(|it| Some(Self::Envelope(it)));
        }
        let is_raw = |raw: &Vec<u8>| raw.len() == SIGNATURE;
        let raw = Some(bytes.to_vec()).filter(is_raw);
        let raw = raw.or_else(|| schemas::base64_text(bytes).filter(is_raw));
        Ok(raw.map(Self::Raw))
    }

    /// The signature of a key.
    #[must_use]
    pub fn by(&self, key: &PublicKey) -> Option<Vec<u8>> {
        match self {
            Self::Raw(bytes) => Some(bytes.clone()),
            Self::Envelope(envelope) => {
                let mut signatures = envelope.signatures();
                let by_key = signatures.find(|signature| signature.key_id == key.id());
                by_key.map(|signature| signature.bytes)
            }
        }
    }
}
