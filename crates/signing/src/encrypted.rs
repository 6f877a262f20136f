//! Encrypted secret keys: PKCS#8 with PBES2 (RFC 8018), as written by `openssl genpkey -aes-256-cbc` and
//! `openssl pkcs8 -topk8`. [`open`] decrypts them, [`seal`] encrypts them.
//!
//! The file specifies the cost of its key derivation, so a hostile file could demand unlimited time or memory. The
//! specified cost is therefore compared with the limits before anything is derived. A wrong passphrase and a damaged
//! file cannot be distinguished, because the cipher has no checksum.

use pkcs8::der::asn1::{AnyRef, OctetStringRef};
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode as _, ErrorKind, SliceReader};
use pkcs8::pkcs5::pbes2::{HMAC_WITH_SHA1_OID, Kdf, PBES2_OID, Parameters, Pbkdf2Prf};
use pkcs8::pkcs5::{self, EncryptionScheme, scrypt};
use pkcs8::spki::AlgorithmIdentifierRef;
use pkcs8::{EncryptedPrivateKeyInfoRef, SecretDocument};
use zeroize::Zeroizing;

use crate::{KeyError, limits};

/// The label of an encrypted key's PEM block.
pub(crate) const LABEL: &str = "ENCRYPTED PRIVATE KEY";
/// The parameters of scrypt: log2(N), r and p. They use 16 MiB five times. OWASP rates this as equivalent to 128 MiB
/// once, and OpenSSL allows scrypt at most 32 MiB when it reads a key.
const SCRYPT: (u8, u32, u32) = (14, 8, 5);

/// The passphrase of an encrypted key. It is erased from memory on drop and never printed.
pub struct Passphrase(Zeroizing<Vec<u8>>);

impl Passphrase {
    /// Checks the length of a passphrase. It must not be empty, nor longer than OpenSSL can read.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Result<Self, KeyError> {
        match bytes.len() {
            0 => Err(KeyError::PassphraseEmpty),
            length if length > limits::PASSPHRASE => Err(KeyError::PassphraseSize),
            _ => Ok(Self(bytes)),
        }
    }
}

impl PartialEq for Passphrase {
    /// Compares two inputs of the same person. This is not a constant-time comparison, so it must not protect a secret.
    fn eq(&self, other: &Self) -> bool {
        *self.0 == *other.0
    }
}

impl std::fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a passphrase")
    }
}

/// Decrypts the PKCS#8 document in a PEM block with the label [`LABEL`].
pub(crate) fn open(pem: &str, passphrase: &Passphrase) -> Result<SecretDocument, KeyError> {
    let (_, document) = SecretDocument::from_pem(pem).map_err(|_| KeyError::Malformed)?;
    let info = EncryptedPrivateKeyInfoRef::try_from(document.as_bytes())
        .map_err(|error| unreadable_key_error(document.as_bytes(), &error))?;
    check_work(&info.encryption_algorithm)?;
    info.decrypt(passphrase.0.as_slice())
        .map_err(|error| match error {
            pkcs8::Error::EncryptedPrivateKey(pkcs5::Error::UnsupportedAlgorithm { oid }) => {
                KeyError::Encryption(oid.to_string())
            }
            _ => KeyError::Passphrase,
        })
}

/// Encrypts a PKCS#8 document and encodes it as a PEM block.
pub(crate) fn seal(der: &[u8], passphrase: &Passphrase) -> Result<Zeroizing<String>, KeyError> {
    let (mut salt, mut iv) = ([0; 16], [0; 16]);
    getrandom::fill(&mut salt).map_err(KeyError::Random)?;
    getrandom::fill(&mut iv).map_err(KeyError::Random)?;
    let (log_n, r, p) = SCRYPT;
    let made = scrypt::Params::new(log_n, r, p)
        .ok()
        .and_then(|work| Parameters::generate_scrypt_aes256cbc(work, &salt, iv).ok())
        .and_then(|parameters| {
            let data = parameters.encrypt(passphrase.0.as_slice(), der).ok()?;
            let info = EncryptedPrivateKeyInfoRef {
                encryption_algorithm: EncryptionScheme::Pbes2(parameters),
                encrypted_data: OctetStringRef::new(&data).ok()?,
            };
            let document = SecretDocument::encode_msg(&info).ok()?;
            document.to_pem(LABEL, LineEnding::LF).ok()
        });
    Ok(made.expect("48 bytes always have this form"))
}

/// Refuses unsupported schemes and key derivations whose cost exceeds the limits.
fn check_work(scheme: &EncryptionScheme) -> Result<(), KeyError> {
    let EncryptionScheme::Pbes2(parameters) = scheme else {
        return Err(KeyError::Encryption("PBES1".to_owned()));
    };
    let too_much = match &parameters.kdf {
        Kdf::Pbkdf2(work) if work.prf == Pbkdf2Prf::HmacWithSha1 => {
            return Err(KeyError::Encryption(format!(
                "PBKDF2 with SHA-1 ({HMAC_WITH_SHA1_OID})"
            )));
        }
        Kdf::Pbkdf2(work) => work.iteration_count > limits::PBKDF2_ITERATIONS,
        Kdf::Scrypt(work) => {
            // scrypt fills 128 * N * r bytes, p times (RFC 7914). The values are untrusted, so products saturate.
            let block = u64::from(work.block_size) * 128;
            let memory = work.cost_parameter.saturating_mul(block);
            let all = memory.saturating_mul(u64::from(work.parallelization));
            if !work.cost_parameter.is_power_of_two() || block == 0 || all == 0 {
                return Err(KeyError::Malformed);
            }
            memory > limits::SCRYPT_MEMORY || all > limits::SCRYPT_WORK
        }
        _ => return Err(KeyError::Encryption("an unknown key derivation".to_owned())),
    };
    if too_much {
        return Err(KeyError::Work);
    }
    Ok(())
}

/// Returns the error for a document that cannot be parsed. It names the unsupported scheme if the document has one.
fn unreadable_key_error(document: &[u8], error: &pkcs8::Error) -> KeyError {
    let unknown = match error {
        pkcs8::Error::Asn1(error) => match error.kind() {
            ErrorKind::OidUnknown { oid } => Some(oid),
            _ => None,
        },
        _ => None,
    };
    let outer = AnyRef::from_der(document).ok();
    let named = outer.and_then(|outer| {
        let mut fields = SliceReader::new(outer.value()).ok()?;
        AlgorithmIdentifierRef::decode(&mut fields).ok()
    });
    match (unknown, named) {
        (Some(oid), _) => KeyError::Encryption(oid.to_string()),
        (None, Some(scheme)) if scheme.oid != PBES2_OID => {
            KeyError::Encryption(scheme.oid.to_string())
        }
        _ => KeyError::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use pkcs8::pkcs5::pbes2::{Pbkdf2Params, ScryptParams};

    use super::*;
    use crate::SecretKey;

    fn passphrase(text: &str) -> Passphrase {
        Passphrase::new(Zeroizing::new(text.into())).unwrap()
    }

    /// Reads an encrypted key with this key derivation and meaningless data.
    fn asking(kdf: Kdf) -> Result<SecretKey, KeyError> {
        let parameters = Parameters {
            kdf,
            encryption: pkcs5::pbes2::EncryptionScheme::Aes256Cbc { iv: [0; 16] },
        };
        let info = EncryptedPrivateKeyInfoRef {
            encryption_algorithm: EncryptionScheme::Pbes2(parameters),
            encrypted_data: OctetStringRef::new(&[0; 64]).unwrap(),
        };
        let document = SecretDocument::encode_msg(&info).unwrap();
        let pem = document.to_pem(LABEL, LineEnding::LF).unwrap();
        SecretKey::from_encrypted_pem(&pem, &passphrase("x"))
    }

    fn pbkdf2(iterations: u32) -> Kdf {
        let mut work = Pbkdf2Params::hmac_sha256(1, &[0; 16]).unwrap();
        work.iteration_count = iterations;
        work.into()
    }

    fn scrypt(n: u64, r: u16, p: u16) -> Kdf {
        let work = scrypt::Params::new(4, 8, 1).unwrap();
        let mut work = ScryptParams::from_params_and_salt(work, &[0; 16]).unwrap();
        (work.cost_parameter, work.block_size, work.parallelization) = (n, r, p);
        work.into()
    }

    #[test]
    fn an_encrypted_key_opens_with_its_passphrase_only() {
        let key = SecretKey::generate().unwrap();
        let pem = key.to_encrypted_pem(&passphrase("right")).unwrap();
        let again = SecretKey::from_encrypted_pem(&pem, &passphrase("right")).unwrap();
        assert_eq!(again.public(), key.public());
        for wrong in ["wrong", "righ", "right ", "right\n"] {
            let refused = SecretKey::from_encrypted_pem(&pem, &passphrase(wrong)).unwrap_err();
            assert!(matches!(refused, KeyError::Passphrase), "{refused}");
        }
        let other = key.to_encrypted_pem(&passphrase("right")).unwrap();
        assert_ne!(*pem, *other, "salt and vector are new each time");
        let plain = SecretKey::from_encrypted_pem(&key.to_pem(), &passphrase("right"));
        assert!(matches!(plain, Err(KeyError::Label(_))));
    }

    #[test]
    fn work_beyond_the_limits_is_refused_before_it_is_done() {
        let most = limits::PBKDF2_ITERATIONS;
        for kdf in [
            pbkdf2(most + 1),
            pbkdf2(100_000_000),
            // More memory than allowed: slightly, and by a product that overflows.
            scrypt(1 << 19, 8, 1),
            scrypt(1 << 63, u16::MAX, u16::MAX),
            // Little memory, but filled very often.
            scrypt(1 << 14, 8, u16::MAX),
        ] {
            let refused = asking(kdf).unwrap_err();
            assert!(matches!(refused, KeyError::Work), "{refused}");
        }
    }

    #[test]
    fn work_that_makes_no_sense_is_malformed() {
        for kdf in [
            scrypt(0, 8, 1),
            scrypt(3, 8, 1),
            scrypt(16, 0, 1),
            scrypt(16, 8, 0),
        ] {
            let refused = asking(kdf).unwrap_err();
            assert!(matches!(refused, KeyError::Malformed), "{refused}");
        }
        // The derivation is within the limits, but the data does not decrypt.
        for kdf in [scrypt(16, 8, 1), pbkdf2(1)] {
            let refused = asking(kdf).unwrap_err();
            assert!(matches!(refused, KeyError::Passphrase), "{refused}");
        }
    }

    #[test]
    fn a_passphrase_has_a_length() {
        let new = |length| Passphrase::new(Zeroizing::new(vec![b'x'; length]));
        assert!(matches!(new(0), Err(KeyError::PassphraseEmpty)));
        assert!(new(limits::PASSPHRASE).is_ok());
        let longer = new(limits::PASSPHRASE + 1);
        assert!(matches!(longer, Err(KeyError::PassphraseSize)));
        assert_eq!(format!("{:?}", new(3).unwrap()), "a passphrase");
    }
}
