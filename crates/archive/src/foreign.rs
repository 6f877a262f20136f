//! Signatures made by other programs or devices, in the forms in which these export them: [`ForeignSignatures`]. They
//! are attached to an archive after it was written, for example by a hardware key on another machine.

use schemas::{Envelope, EnvelopeError, limits};
use signing::PublicKey;

/// The size of an Ed25519 signature in bytes.
const SIGNATURE: usize = 64;

/// Signatures made by another program or device.
#[derive(Debug)]
pub enum ForeignSignatures {
    /// A single raw signature. It does not name its key.
    Raw(Vec<u8>),
    /// The signatures of a signed copy of the statement.
    Envelope(Envelope),
}

impl ForeignSignatures {
    /// Parses a raw signature of 64 bytes, its base64 text, or an envelope. None if the bytes are none of these.
    pub fn from_slice(bytes: &[u8]) -> Result<Option<Self>, EnvelopeError> {
        if bytes.len() == limits::ENVELOPE_SIZE {
            return Envelope::from_slice(bytes).map(|envelope| Some(Self::Envelope(envelope)));
        }
        let is_raw = |raw: &Vec<u8>| raw.len() == SIGNATURE;
        let raw = Some(bytes.to_vec()).filter(is_raw);
        let raw = raw.or_else(|| schemas::base64_text(bytes).filter(is_raw));
        Ok(raw.map(Self::Raw))
    }

    /// Returns the signature of a key. A raw signature is returned for every key.
    #[must_use]
    pub fn find_signature(&self, key: &PublicKey) -> Option<Vec<u8>> {
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
