//! The DSSE envelope: it has one spelling, so an accepted envelope is written back to the same bytes. Only the
//! publisher's envelope has a signature by the publisher.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use schemas::{Envelope, Statement};
use signing::{SecretKey, Trust};

/// The secret key whose 32 bytes are all 7. A seed contains its signature.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH
-----END PRIVATE KEY-----
";

/// The payload that the key has signed.
const SIGNED: &[u8] = b"payload";

fn trust() -> &'static Trust {
    static TRUST: OnceLock<Trust> = OnceLock::new();
    TRUST.get_or_init(|| {
        let key = SecretKey::from_pem(KEY).expect("the key is one");
        Trust::new(vec![key.public()], None).expect("one key needs no threshold")
    })
}

fuzz_target!(|text: &[u8]| {
    let size = schemas::limits::ENVELOPE_SIZE;
    if text.len() >= size {
        assert!(text.len() == size || Envelope::from_slice(text).is_err());
        return;
    }
    // The target adds the padding: the fuzzer need not find 65,000 spaces.
    let mut bytes = text.to_vec();
    bytes.resize(size - 1, b' ');
    bytes.push(b'\n');
    let Ok(envelope) = Envelope::from_slice(&bytes) else {
        return;
    };
    assert_eq!(envelope.to_bytes(), bytes);
    if signing::verify(&envelope, trust()).is_ok() {
        assert_eq!(envelope.payload(), SIGNED, "a forged signature");
    }
    let _ = Statement::from_slice(envelope.payload());
});
