//! The public keys of a provider ([`KeySet`]; RFC 7517), and the verification of signatures.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, EcdsaVerificationAlgorithm,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde_json::Value;

use super::error::{Check, Error, Object};
use super::transport::Answer;

/// The largest number of keys.
const MOST: usize = 100;
/// The smallest and the largest size of RSA keys, in bytes.
const RSA_SIZES: std::ops::RangeInclusive<usize> = 256..=1024;

#[derive(Deserialize)]
struct Document {
    keys: Vec<Value>,
}

#[derive(Deserialize)]
struct Jwk {
    kid: String,
    kty: String,
    #[serde(rename = "use")]
    usage: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The public keys of a provider.
#[derive(Debug, Default)]
pub(crate) struct KeySet(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: String,
    /// The only algorithm of this key, if the provider names it.
    algorithm: Option<String>,
    material: Material,
}

#[derive(Debug)]
enum Material {
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
    Curve(String, Vec<u8>),
}

/// A signature, and the text that it signs.
pub(crate) struct Signature<'a> {
    pub(crate) key: &'a str,
    pub(crate) algorithm: &'a str,
    pub(crate) text: &'a str,
    pub(crate) bytes: &'a [u8],
}

impl KeySet {
    /// Reads the keys. Keys of kinds that this console does not use are skipped.
    pub(crate) fn parse(answer: &Answer) -> Result<Self, Error> {
        let Document { keys } = answer.content()?;
        if keys.len() > MOST {
            return Err(Error::unavailable(Object::Keys, "there are more than 100"));
        }
        let keys = keys.into_iter().filter_map(Key::parse).collect();
        Ok(Self(keys))
    }

    /// Verifies a signature with the keys of its id.
    pub(crate) fn verify(&self, signature: &Signature<'_>) -> Result<(), Check> {
        let named = self.0.iter().filter(|key| key.id == signature.key);
        let mut failed = Check::UnknownKey;
        for key in named {
            match key.verify(signature) {
                Ok(()) => return Ok(()),
                Err(check) => failed = check,
            }
        }
        Err(failed)
    }
}

impl Key {
    fn parse(value: Value) -> Option<Self> {
        let jwk: Jwk = serde_json::from_value(value).ok()?;
        let number = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        if jwk.usage.is_some_and(|usage| usage != "sig") {
            return None;
        }
        let material = match jwk.kty.as_str() {
            "RSA" => Material::Rsa(RsaPublicKeyComponents {
                n: number(jwk.n)?,
                e: number(jwk.e)?,
            }),
            // An uncompressed point (SEC 1, section 2.3.3).
            "EC" => Material::Curve(jwk.crv?, [vec![4], number(jwk.x)?, number(jwk.y)?].concat()),
            _ => return None,
        };
        Some(Self {
            id: jwk.kid,
            algorithm: jwk.alg,
            material,
        })
    }

    fn verify(&self, signature: &Signature<'_>) -> Result<(), Check> {
        let Signature {
            algorithm, bytes, ..
        } = *signature;
        let text = signature.text.as_bytes();
        if self.algorithm.as_ref().is_some_and(|own| own != algorithm) {
            return Err(Check::Algorithm);
        }
        let verified = match &self.material {
            Material::Rsa(key) => {
                let algorithm = rsa(algorithm).ok_or(Check::Algorithm)?;
                if !RSA_SIZES.contains(&key.n.len()) {
                    return Err(Check::KeySize);
                }
                key.verify(algorithm, text, bytes)
            }
            Material::Curve(curve, point) => {
                let algorithm = ecdsa(curve, algorithm).ok_or(Check::Algorithm)?;
                UnparsedPublicKey::new(algorithm, point).verify(text, bytes)
            }
        };
        verified.map_err(|_| Check::Signature)
    }
}

fn rsa(algorithm: &str) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        "RS256" => &RSA_PKCS1_2048_8192_SHA256,
        "RS384" => &RSA_PKCS1_2048_8192_SHA384,
        "RS512" => &RSA_PKCS1_2048_8192_SHA512,
        "PS256" => &RSA_PSS_2048_8192_SHA256,
        "PS384" => &RSA_PSS_2048_8192_SHA384,
        "PS512" => &RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn ecdsa(curve: &str, algorithm: &str) -> Option<&'static EcdsaVerificationAlgorithm> {
    Some(match (curve, algorithm) {
        ("P-256", "ES256") => &ECDSA_P256_SHA256_FIXED,
        ("P-384", "ES384") => &ECDSA_P384_SHA384_FIXED,
        _ => return None,
    })
}
