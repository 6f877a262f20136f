//! Key files: a public key has one id, and is read back as the same key after writing. A secret key signs, and its
//! public key verifies.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schemas::PayloadType;
use signing::{PublicKey, SecretKey};

fuzz_target!(|text: &str| {
    if let Ok(key) = PublicKey::from_pem(text) {
        let again = PublicKey::from_pem(&key.to_pem()).expect("what is written is a key");
        assert_eq!(again.id(), key.id());
    }
    if let Ok(secret) = SecretKey::from_pem(text) {
        let signature = secret.sign(PayloadType::Statement, b"payload");
        assert!(
            secret
                .public()
                .verifies(PayloadType::Statement, b"payload", &signature)
        );
        assert!(
            !secret
                .public()
                .verifies(PayloadType::Statement, b"Payload", &signature)
        );
    }
});
