//! Key pairs and their PEM files: PKCS#8 for secret keys (RFC 5958, RFC 8410), `SubjectPublicKeyInfo` for public keys.
//!
//! These are the risks of key files, with the defence for each:
//! - Another algorithm, or the wrong half of a pair: refused here with an error that names it.
//! - An encrypted key that takes unlimited time to decrypt: limited in `encrypted`.
//! - A point of small order, for which one signature fits many messages: refused by `PublicKey::checked`.
//! - A second encoding of the same point, by which one key would count twice: refused by `PublicKey::checked`.
//! - Secrets in messages: `Debug` only prints key ids.
//! - Secrets left in memory: every value that contains one erases itself on drop.

use std::fmt;

use ed25519_dalek::pkcs8::spki::SubjectPublicKeyInfoRef;
use ed25519_dalek::pkcs8::spki::der::pem::{LineEnding, decode_label};
use ed25519_dalek::pkcs8::{
    DecodePublicKey as _, Document, EncodePrivateKey as _, EncodePublicKey as _, KeypairBytes,
    ObjectIdentifier, PrivateKeyInfoRef, SecretDocument,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use schemas::{Digest, EnvelopeSignature, KeyId, PayloadType};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::encrypted::{self, Passphrase};
use crate::{KeyError, limits, pre_authentication_encoding};

/// A publisher's secret key. It is erased from memory on drop and never printed.
#[derive(Clone)]
pub struct SecretKey(SigningKey);

/// A validated public key: Ed25519, not weak, and in its canonical encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: VerifyingKey,
    id: KeyId,
}

impl SecretKey {
    /// Generates a new key.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut_slice()).map_err(KeyError::Random)?;
        Ok(Self(SigningKey::from_bytes(&seed)))
    }

    /// Reads unencrypted PKCS#8 PEM. [`KeyError::Encrypted`] means that [`SecretKey::from_encrypted_pem`] may be able
    /// to read it.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        match label(pem)? {
            "PRIVATE KEY" => {}
            "PUBLIC KEY" => return Err(KeyError::SecretExpected),
            other => return Err(refuse_label(other)),
        }
        let (_, document) = SecretDocument::from_pem(pem).map_err(|_| KeyError::Malformed)?;
        Self::from_document(&document)
    }

    /// Reads encrypted PKCS#8 PEM.
    pub fn from_encrypted_pem(pem: &str, passphrase: &Passphrase) -> Result<Self, KeyError> {
        match label(pem)? {
            encrypted::LABEL => Self::from_document(&encrypted::open(pem, passphrase)?),
            "PUBLIC KEY" => Err(KeyError::SecretExpected),
            other => Err(refuse_label(other)),
        }
    }

    fn from_document(document: &SecretDocument) -> Result<Self, KeyError> {
        let info =
            PrivateKeyInfoRef::try_from(document.as_bytes()).map_err(|_| KeyError::Malformed)?;
        check_algorithm(&info.algorithm.oid)?;
        SigningKey::try_from(info)
            .map(Self)
            .map_err(|_| KeyError::Malformed)
    }

    /// Encodes PKCS#8 PEM, version 1. OpenSSL 3.0 refuses version 2, which includes the public key.
    ///
    /// # Panics
    ///
    /// Never: 32 bytes always have a PKCS#8 encoding.
    #[must_use]
    pub fn to_pem(&self) -> Zeroizing<String> {
        self.pair()
            .to_pkcs8_pem(LineEnding::LF)
            .expect("32 bytes always have a PKCS#8 form")
    }

    /// Encodes encrypted PKCS#8 PEM: PBES2 with scrypt and AES-256-CBC, which OpenSSL 1.1 and later can read.
    ///
    /// # Panics
    ///
    /// Never: 32 bytes always have a PKCS#8 encoding.
    pub fn to_encrypted_pem(&self, passphrase: &Passphrase) -> Result<Zeroizing<String>, KeyError> {
        let document = self.pair().to_pkcs8_der();
        let document = document.expect("32 bytes always have a PKCS#8 form");
        encrypted::seal(document.as_bytes(), passphrase)
    }

    /// Returns the key without its public half, which selects version 1 of PKCS#8.
    fn pair(&self) -> KeypairBytes {
        KeypairBytes {
            secret_key: self.0.to_bytes(),
            public_key: None,
        }
    }

    /// The public key of the pair.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey::with_id(self.0.verifying_key())
    }

    /// Signs the payload of an envelope together with its type. Ed25519 is deterministic: the same key and payload give
    /// the same bytes.
    #[must_use]
    pub fn sign(&self, payload_type: PayloadType, payload: &[u8]) -> EnvelopeSignature {
        let message = pre_authentication_encoding(payload_type.as_str(), payload);
        EnvelopeSignature {
            key_id: self.public().id(),
            bytes: self.0.sign(&message).to_bytes().to_vec(),
        }
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret key of {}", self.public().id.short())
    }
}

impl PublicKey {
    /// Reads `SubjectPublicKeyInfo` PEM.
    pub fn from_pem(pem: &str) -> Result<Self, KeyError> {
        match label(pem)? {
            "PUBLIC KEY" => {}
            "PRIVATE KEY" | encrypted::LABEL => return Err(KeyError::PublicExpected),
            other => return Err(refuse_label(other)),
        }
        let (_, document) = Document::from_pem(pem).map_err(|_| KeyError::Malformed)?;
        let info = SubjectPublicKeyInfoRef::try_from(document.as_bytes())
            .map_err(|_| KeyError::Malformed)?;
        check_algorithm(&info.algorithm.oid)?;
        let key = VerifyingKey::from_public_key_der(document.as_bytes())
            .map_err(|_| KeyError::Malformed)?;
        Self::checked(key)
    }

    /// Encodes `SubjectPublicKeyInfo` PEM, as `openssl pkey -pubout` does.
    ///
    /// # Panics
    ///
    /// Never: 32 bytes always have this encoding.
    #[must_use]
    pub fn to_pem(&self) -> String {
        self.key
            .to_public_key_pem(LineEnding::LF)
            .expect("32 bytes always have a SubjectPublicKeyInfo form")
    }

    /// The SHA-256 of the `SubjectPublicKeyInfo` in DER.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }

    /// Returns whether this key made a signature over a payload of this type, regardless of the key that the signature
    /// names. It applies the strict rule of RFC 8032 5.1.7: one encoding for each signature, and no points of small
    /// order.
    #[must_use]
    pub fn verifies(
        &self,
        payload_type: PayloadType,
        payload: &[u8],
        signature: &EnvelopeSignature,
    ) -> bool {
        let message = pre_authentication_encoding(payload_type.as_str(), payload);
        Signature::from_slice(&signature.bytes)
            .is_ok_and(|signature| self.key.verify_strict(&message, &signature).is_ok())
    }

    fn checked(key: VerifyingKey) -> Result<Self, KeyError> {
        if key.is_weak() || !is_canonical(key.as_bytes()) {
            return Err(KeyError::Weak);
        }
        Ok(Self::with_id(key))
    }

    fn with_id(key: VerifyingKey) -> Self {
        let der = key
            .to_public_key_der()
            .expect("32 bytes always have a SubjectPublicKeyInfo form");
        let id = KeyId::new(Digest::new(Sha256::digest(der.as_bytes()).into()));
        Self { key, id }
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "public key {}", self.id.short())
    }
}

/// Returns whether the y coordinate is below the field's prime 2^255 - 19 (RFC 8032 5.1.3 step 1). The decoder reduces
/// larger values instead of refusing them, so that two texts would represent the same key.
fn is_canonical(bytes: &[u8; 32]) -> bool {
    let top = bytes[31] & 0x7f;
    !(top == 0x7f && bytes[1..31].iter().all(|byte| *byte == 0xff) && bytes[0] >= 0xed)
}

/// Returns the label of the only PEM block in a text.
fn label(pem: &str) -> Result<&str, KeyError> {
    if pem.len() > limits::PEM_SIZE {
        return Err(KeyError::Size(pem.len()));
    }
    // With more than one block, it would be ambiguous which key is meant.
    if pem.matches("-----BEGIN ").count() != 1 {
        return Err(KeyError::NotPem);
    }
    decode_label(pem.as_bytes()).map_err(|_| KeyError::NotPem)
}

fn refuse_label(label: &str) -> KeyError {
    match label {
        encrypted::LABEL => KeyError::Encrypted,
        "RSA PRIVATE KEY" | "RSA PUBLIC KEY" => KeyError::Algorithm("RSA".to_owned()),
        "EC PRIVATE KEY" => KeyError::Algorithm("ECDSA".to_owned()),
        "DSA PRIVATE KEY" => KeyError::Algorithm("DSA".to_owned()),
        // The label is text of an untrusted file.
        other => KeyError::Label(other.chars().take(80).collect()),
    }
}

fn check_algorithm(oid: &ObjectIdentifier) -> Result<(), KeyError> {
    let text = oid.to_string();
    let name = match text.as_str() {
        "1.3.101.112" => return Ok(()),
        "1.3.101.110" => "X25519",
        "1.3.101.111" => "X448",
        "1.3.101.113" => "Ed448",
        "1.2.840.10045.2.1" => "ECDSA",
        "1.2.840.113549.1.1.1" => "RSA",
        "1.2.840.113549.1.1.10" => "RSA-PSS",
        "1.2.840.10040.4.1" => "DSA",
        other => other,
    };
    Err(KeyError::Algorithm(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Created by `openssl genpkey -algorithm ed25519`.
    const SECRET: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIBCKVJxSXKb/AfXOFpMjXlJNl6xEu+G2JCEnwgx1Kt1N
-----END PRIVATE KEY-----
";
    /// Derived from it by `openssl pkey -pubout`.
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAH54whvCLRxp8UDkHmB8dT2UMPVPorSrsFCoktuTIPqQ=
-----END PUBLIC KEY-----
";
    /// The output of `openssl pkey -pubout -outform DER | sha256sum` for this key.
    const ID: &str = "91a7e27ec25e8d3cbb53c0d15227bb20c1032fdce1421c31e934e48ceca44b72";

    fn public_pem(bytes: [u8; 32]) -> String {
        let mut der = b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00".to_vec();
        der.extend_from_slice(&bytes);
        let document = Document::try_from(der).unwrap();
        document.to_pem("PUBLIC KEY", LineEnding::LF).unwrap()
    }

    #[test]
    fn the_files_of_openssl_are_read_and_written_byte_for_byte() {
        let secret = SecretKey::from_pem(SECRET).unwrap();
        let public = PublicKey::from_pem(PUBLIC).unwrap();
        assert_eq!(secret.to_pem().as_str(), SECRET);
        assert_eq!(public.to_pem(), PUBLIC);
        assert_eq!(secret.public(), public);
        assert_eq!(public.id().to_string(), ID);
    }

    #[test]
    fn new_keys_differ_and_survive_their_files() {
        let (one, other) = (
            SecretKey::generate().unwrap(),
            SecretKey::generate().unwrap(),
        );
        assert_ne!(one.public(), other.public());
        let again = SecretKey::from_pem(&one.to_pem()).unwrap();
        assert_eq!(again.public(), one.public());
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = SecretKey::from_pem(SECRET).unwrap();
        assert_eq!(
            format!("{secret:?}"),
            format!("secret key of {}", &ID[..12])
        );
    }

    #[test]
    fn the_wrong_file_is_called_by_its_name() {
        let secret = |pem: &str| SecretKey::from_pem(pem).unwrap_err();
        let public = |pem: &str| PublicKey::from_pem(pem).unwrap_err();
        assert!(matches!(secret(PUBLIC), KeyError::SecretExpected));
        assert!(matches!(public(SECRET), KeyError::PublicExpected));
        let encrypted = SECRET.replace("PRIVATE", "ENCRYPTED PRIVATE");
        assert!(matches!(secret(&encrypted), KeyError::Encrypted));
        let rsa = SECRET.replace("PRIVATE", "RSA PRIVATE");
        assert!(secret(&rsa).to_string().contains("algorithm RSA"));
        let certificate = PUBLIC.replace("PUBLIC KEY", "CERTIFICATE");
        assert!(matches!(public(&certificate), KeyError::Label(_)));
        assert!(matches!(secret(""), KeyError::NotPem));
        assert!(matches!(secret("c2VjcmV0"), KeyError::NotPem));
        assert!(matches!(
            public(&format!("{PUBLIC}{PUBLIC}")),
            KeyError::NotPem
        ));
        assert!(matches!(
            secret(&" ".repeat(limits::PEM_SIZE + 1)),
            KeyError::Size(_)
        ));
        assert!(matches!(
            public(&PUBLIC.replace("MCow", "MCoA")),
            KeyError::Malformed
        ));
        // Changing the last byte of the algorithm's OID turns Ed25519 into Ed448.
        let ed448 = PUBLIC.replace("MCowBQYDK2Vw", "MCowBQYDK2Vx");
        assert!(public(&ed448).to_string().contains("Ed448"));
    }

    #[test]
    fn keys_that_anybody_can_sign_for_are_refused() {
        let mut one = [0; 32];
        one[0] = 1;
        let mut minus_one = [0xff; 32];
        (minus_one[0], minus_one[31]) = (0xec, 0x7f);
        let order_4 = [0; 32];
        let order_8: [u8; 32] = std::array::from_fn(|index| {
            let hex = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a";
            u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap()
        });
        for point in [one, minus_one, order_4, order_8] {
            let refused = PublicKey::from_pem(&public_pem(point));
            assert!(matches!(refused, Err(KeyError::Weak)), "{point:02x?}");
        }
    }

    #[test]
    fn keys_in_a_second_spelling_are_refused() {
        let mut decoded = 0;
        for low in 0xed..=0xff {
            for sign in [0x7f, 0xff] {
                let mut spelling = [0xff; 32];
                (spelling[0], spelling[31]) = (low, sign);
                // Not every coordinate belongs to a point; those that do not are malformed anyway.
                match PublicKey::from_pem(&public_pem(spelling)) {
                    Err(KeyError::Weak) => decoded += 1,
                    Err(KeyError::Malformed) => {}
                    other => panic!("{spelling:02x?}: {other:?}"),
                }
            }
        }
        assert!(decoded > 10, "{decoded}");
    }
}
