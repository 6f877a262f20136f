//! The signed message: the pre-authentication encoding of DSSE, which binds the payload's type and length to its
//! bytes. A signature for one type of payload is therefore never valid for another one.

/// Encodes a message (DSSE protocol 1.0.0, "Signature Definition"): `DSSEv1 SP LEN(type) SP type SP LEN(body) SP body`.
/// The lengths are decimal numbers.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_specification() {
        // The example in the DSSE protocol document.
        let encoded = pre_authentication_encoding("http://example.com/HelloWorld", b"hello world");
        assert_eq!(
            encoded,
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
    }
}
