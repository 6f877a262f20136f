//! What is signed: DSSE's pre-authentication encoding, which binds the payload's type and length to its bytes.

use schemas::{EnvelopeSignature, PAYLOAD_TYPE};

use crate::SecretKey;

/// DSSE protocol 1.0.0, "Signature Definition": `DSSEv1 SP LEN(type) SP type SP LEN(body) SP body`, lengths in decimal.
#[must_use]
pub fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut encoded = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    )
    .into_bytes();
    encoded.extend_from_slice(payload);
    encoded
}

impl SecretKey {
    /// Signs the payload of an archive's envelope. Ed25519 is deterministic: the same key and payload give the same
    /// bytes.
    #[must_use]
    pub fn sign(&self, payload: &[u8]) -> EnvelopeSignature {
        EnvelopeSignature {
            key_id: self.public().id(),
            bytes: self.sign_bytes(&pre_authentication_encoding(PAYLOAD_TYPE, payload)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The example of the DSSE protocol document.
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
        assert_eq!(
            encoded,
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }
}
