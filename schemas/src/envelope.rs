//! DSSE v1 envelopes in canonical form: `statement.dsse.json` of an archive, padded to 65,536 bytes so that a signature
//! can be added in place, and the envelopes of plans, receipts and lists of checksums, without padding. [`Envelope`] is
//! the entry point. Every other form is rejected, so the bytes of an envelope cannot change without its meaning.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::json::{self, JsonError};
use crate::name::text_traits;
use crate::{Digest, DigestError, limits, pattern};

/// The payload type of an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The type of an envelope's payload. Signatures cover the type, so the signature of a plan is never valid for an
/// archive or a receipt, nor the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadType {
    /// The statement of an archive.
    Statement,
    /// A plan to change a cluster.
    Plan,
    /// A plan to change the clusters of a fleet.
    FleetPlan,
    /// The receipt of a change of a cluster, with its result.
    Receipt,
    /// A list of checksums.
    Checksums,
}

impl PayloadType {
    /// Returns the type as an envelope states it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Statement => PAYLOAD_TYPE,
            Self::Plan => "application/vnd.solutions.plan.v1+json",
            Self::FleetPlan => "application/vnd.solutions.fleet-plan.v1+json",
            Self::Receipt => "application/vnd.solutions.receipt.v1+json",
            Self::Checksums => "application/vnd.solutions.checksums.v1",
        }
    }

    /// Returns the maximum size of an envelope in bytes.
    const fn limit(self) -> usize {
        match self {
            Self::Statement => limits::ENVELOPE_SIZE,
            Self::Plan => limits::PLAN_SIZE,
            Self::FleetPlan => limits::FLEET_PLAN_SIZE,
            Self::Receipt => limits::RECEIPT_SIZE,
            Self::Checksums => limits::CHECKSUMS_SIZE,
        }
    }

    /// Returns whether an envelope may have this size in bytes.
    fn fits(self, size: usize) -> bool {
        match self {
            Self::Statement => size == limits::ENVELOPE_SIZE,
            Self::Plan | Self::FleetPlan | Self::Receipt | Self::Checksums => size <= self.limit(),
        }
    }
}

/// The id of a public key: the SHA-256 of its `SubjectPublicKeyInfo`, in hexadecimal. It is only a hint about the key
/// of a signature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(Digest);

impl KeyId {
    /// Returns the id of the key with this digest of its `SubjectPublicKeyInfo`.
    #[must_use]
    pub const fn new(digest: Digest) -> Self {
        Self(digest)
    }

    /// Returns the first 12 characters, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.0.hex()[..12].to_owned()
    }
}

impl FromStr for KeyId {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Digest::from_hex(text).map(Self)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.hex())
    }
}

text_traits!(
    KeyId,
    "64 lower-case hexadecimal characters",
    pattern::KEY_ID
);

/// A signature of an envelope.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvelopeSignature {
    /// The id of the signing key.
    pub key_id: KeyId,
    /// The bytes of the signature, as its algorithm defines them.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for EnvelopeSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "signature by {}", self.key_id.short())
    }
}

/// An envelope: the signed bytes, and one signature for each key id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    payload_type: PayloadType,
    payload: Vec<u8>,
    signatures: BTreeMap<KeyId, Vec<u8>>,
}

/// The error of bytes that are not an envelope, or of content that does not fit in one.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// The size is not valid for an envelope of this type.
    #[error("an envelope of {0} bytes has a wrong size; this kind has {limit}", limit = size_in_words(*.1))]
    Size(usize, PayloadType),
    /// The bytes are not strict JSON of this shape.
    #[error("the envelope cannot be read")]
    Json(#[source] JsonError),
    /// The payload has another type than the caller expects.
    #[error("the envelope holds `{0}`, not `{expected}`", expected = .1.as_str())]
    PayloadType(String, PayloadType),
    /// A key id or base64 text is malformed.
    #[error("{0} of the envelope is malformed")]
    Malformed(&'static str),
    /// The envelope has more signatures than [`limits::SIGNATURES`].
    #[error("the envelope has more than {max} signatures", max = limits::SIGNATURES)]
    Signatures,
    /// The envelope is not in canonical form.
    #[error("the envelope is not in canonical form (order, spaces, base64 or padding differ)")]
    Spelling,
    /// The payload and the signatures exceed the size of the envelope.
    #[error("the payload and its signatures need {0} bytes; the envelope holds {limit}", limit = .1.limit())]
    Full(usize, PayloadType),
    /// A second signature by the same key.
    #[error("it is already signed by key {0}")]
    Repeated(KeyId),
}

fn size_in_words(payload_type: PayloadType) -> String {
    let limit = payload_type.limit();
    match payload_type {
        PayloadType::Statement => limit.to_string(),
        PayloadType::Plan
        | PayloadType::FleetPlan
        | PayloadType::Receipt
        | PayloadType::Checksums => {
            format!("at most {limit}")
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawEnvelope {
    payload: String,
    payload_type: String,
    signatures: Vec<RawSignature>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSignature {
    keyid: String,
    sig: String,
}

impl Envelope {
    /// Returns an envelope of a statement, without signatures.
    ///
    /// # Errors
    ///
    /// Fails if the statement does not fit.
    pub fn new(payload: Vec<u8>) -> Result<Self, EnvelopeError> {
        Self::unsigned(PayloadType::Statement, payload)
    }

    /// Returns an envelope without signatures.
    ///
    /// # Errors
    ///
    /// Fails if the payload does not fit.
    pub fn unsigned(payload_type: PayloadType, payload: Vec<u8>) -> Result<Self, EnvelopeError> {
        let envelope = Self {
            payload_type,
            payload,
            signatures: BTreeMap::new(),
        };
        envelope.text().map(|_| envelope)
    }

    /// Parses the canonical envelope of a statement.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::from_slice_of`] does.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        Self::from_slice_of(PayloadType::Statement, bytes)
    }

    /// Parses a canonical envelope.
    ///
    /// # Errors
    ///
    /// Fails if the size, the type, a key id or the form is not valid.
    pub fn from_slice_of(payload_type: PayloadType, bytes: &[u8]) -> Result<Self, EnvelopeError> {
        if !payload_type.fits(bytes.len()) {
            return Err(EnvelopeError::Size(bytes.len(), payload_type));
        }
        let raw: RawEnvelope = json::from_slice(bytes).map_err(EnvelopeError::Json)?;
        if raw.payload_type != payload_type.as_str() {
            return Err(EnvelopeError::PayloadType(raw.payload_type, payload_type));
        }
        let mut envelope = Self::unsigned(payload_type, decode(&raw.payload, "the payload")?)?;
        for signature in raw.signatures {
            let key_id = signature
                .keyid
                .parse()
                .map_err(|_| EnvelopeError::Malformed("a key id"))?;
            let bytes = decode(&signature.sig, "a signature")?;
            envelope.add(EnvelopeSignature { key_id, bytes })?;
        }
        if envelope.to_bytes() == bytes {
            Ok(envelope)
        } else {
            Err(EnvelopeError::Spelling)
        }
    }

    /// Adds a signature.
    ///
    /// # Errors
    ///
    /// Fails if the signature has an invalid size, if its key has signed before, and if there are too many signatures
    /// for the envelope.
    pub fn add(&mut self, signature: EnvelopeSignature) -> Result<(), EnvelopeError> {
        if signature.bytes.is_empty() || signature.bytes.len() > limits::SIGNATURE_BYTES {
            return Err(EnvelopeError::Malformed("a signature"));
        }
        if self.signatures.len() == limits::SIGNATURES {
            return Err(EnvelopeError::Signatures);
        }
        if self.signatures.contains_key(&signature.key_id) {
            return Err(EnvelopeError::Repeated(signature.key_id));
        }
        self.signatures.insert(signature.key_id, signature.bytes);
        if let Err(error) = self.text() {
            self.signatures.remove(&signature.key_id);
            return Err(error);
        }
        Ok(())
    }

    /// Returns the type of the payload.
    #[must_use]
    pub fn payload_type(&self) -> PayloadType {
        self.payload_type
    }

    /// Returns the signed bytes.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// Returns the signatures in the order of their key ids.
    #[must_use]
    pub fn signatures(&self) -> impl ExactSizeIterator<Item = EnvelopeSignature> {
        self.signatures
            .iter()
            .map(|(key_id, bytes)| EnvelopeSignature {
                key_id: *key_id,
                bytes: bytes.clone(),
            })
    }

    /// Returns the bytes of the envelope: JSON, padding for a statement, and a line feed.
    ///
    /// # Panics
    ///
    /// Never: both constructors and `add` check that the text fits.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self
            .text()
            .expect("every way to an envelope checks its size");
        if self.payload_type == PayloadType::Statement {
            bytes.resize(limits::ENVELOPE_SIZE - 1, b' ');
        }
        bytes.push(b'\n');
        bytes
    }

    fn text(&self) -> Result<Vec<u8>, EnvelopeError> {
        let raw = RawEnvelope {
            payload: STANDARD.encode(&self.payload),
            payload_type: self.payload_type.as_str().to_owned(),
            signatures: self
                .signatures
                .iter()
                .map(|(key_id, bytes)| RawSignature {
                    keyid: key_id.to_string(),
                    sig: STANDARD.encode(bytes),
                })
                .collect(),
        };
        let text = serde_json::to_vec(&raw).expect("an envelope has a JSON form");
        if text.len() < self.payload_type.limit() {
            Ok(text)
        } else {
            Err(EnvelopeError::Full(text.len() + 1, self.payload_type))
        }
    }
}

/// Decodes a text in base64 (RFC 4648 section 4, with padding), with white space around it.
#[must_use]
pub fn base64_text(text: &[u8]) -> Option<Vec<u8>> {
    STANDARD.decode(text.trim_ascii()).ok()
}

fn decode(text: &str, what: &'static str) -> Result<Vec<u8>, EnvelopeError> {
    STANDARD
        .decode(text)
        .map_err(|_| EnvelopeError::Malformed(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(byte: u8) -> EnvelopeSignature {
        EnvelopeSignature {
            key_id: KeyId::new(Digest::new([byte; 32])),
            bytes: vec![byte; 64],
        }
    }

    fn signed() -> Envelope {
        let mut envelope = Envelope::new(b"payload".to_vec()).unwrap();
        envelope.add(signature(9)).unwrap();
        envelope.add(signature(3)).unwrap();
        envelope
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let bytes = signed().to_bytes();
        assert_eq!(bytes.len(), 65_536);
        let text = String::from_utf8(bytes.clone()).unwrap();
        let start = r#"{"payload":"cGF5bG9hZA==","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"0303"#;
        assert!(text.starts_with(start), "{}", &text[..120]);
        assert!(
            text.trim_end_matches('\n')
                .trim_end_matches(' ')
                .ends_with("\"}]}")
        );
        assert!(text.ends_with(" \n"));
        assert_eq!(Envelope::from_slice(&bytes).unwrap(), signed());
    }

    fn respelled(from: &str, to: &str) -> Result<Envelope, EnvelopeError> {
        let text = String::from_utf8(signed().to_bytes()).unwrap();
        assert!(text.contains(from));
        let mut bytes = text.replacen(from, to, 1).into_bytes();
        bytes.resize(65_536, b' ');
        if let Some(last) = bytes.last_mut() {
            *last = b'\n';
        }
        Envelope::from_slice(&bytes)
    }

    #[test]
    fn other_spellings_are_refused() {
        assert!(matches!(
            respelled("{\"payload\"", "{ \"payload\""),
            Err(EnvelopeError::Spelling)
        ));
        assert!(matches!(
            respelled("]}  ", "]}\t "),
            Err(EnvelopeError::Spelling)
        ));
        assert!(matches!(
            respelled("payloadType", "payloadTyp\\u0065"),
            Err(EnvelopeError::Spelling)
        ));
        assert!(matches!(
            respelled("ZA==", "ZB=="),
            Err(EnvelopeError::Malformed(_))
        ));
        assert!(matches!(
            respelled("ZA==", "ZA"),
            Err(EnvelopeError::Malformed(_))
        ));
        assert!(matches!(
            respelled("\"signatures\"", "\"x\":1,\"signatures\""),
            Err(EnvelopeError::Json(_))
        ));
        for (key, other) in [("\"payload\"", "\"Payload\""), ("\"sig\"", "\"\u{17f}ig\"")] {
            let both = format!("{other}:\"\",{key}");
            assert!(matches!(respelled(key, &both), Err(EnvelopeError::Json(_))));
        }
        assert!(matches!(
            respelled("}]}", "}]}x"),
            Err(EnvelopeError::Json(_))
        ));
        assert!(matches!(
            respelled("in-toto", "in-tata"),
            Err(EnvelopeError::PayloadType(..))
        ));
        assert!(matches!(
            respelled("0303", "030G"),
            Err(EnvelopeError::Malformed(_))
        ));
    }

    #[test]
    fn sizes_and_counts_are_bounded() {
        assert!(matches!(
            Envelope::from_slice(b"{}"),
            Err(EnvelopeError::Size(2, PayloadType::Statement))
        ));
        assert!(matches!(
            Envelope::new(vec![0; 60_000]),
            Err(EnvelopeError::Full(..))
        ));
        let mut envelope = Envelope::new(vec![]).unwrap();
        for byte in 0..64 {
            envelope.add(signature(byte)).unwrap();
        }
        assert!(matches!(
            envelope.add(signature(64)),
            Err(EnvelopeError::Signatures)
        ));
        assert_eq!(
            Envelope::from_slice(&envelope.to_bytes())
                .unwrap()
                .signatures()
                .len(),
            64
        );
    }

    #[test]
    fn one_key_signs_once() {
        assert!(matches!(
            signed().add(signature(3)),
            Err(EnvelopeError::Repeated(_))
        ));
    }

    #[test]
    fn a_plan_is_as_long_as_it_is_and_no_statement() {
        let mut plan = Envelope::unsigned(PayloadType::Plan, vec![7; 200_000]).unwrap();
        plan.add(signature(3)).unwrap();
        let bytes = plan.to_bytes();
        assert!(bytes.ends_with(b"\"}]}\n"));
        let read = |payload_type, bytes: &[u8]| Envelope::from_slice_of(payload_type, bytes);
        assert_eq!(read(PayloadType::Plan, &bytes).unwrap(), plan);
        let spaced = [bytes.trim_ascii(), b" \n"].concat();
        assert!(matches!(
            read(PayloadType::Plan, &spaced),
            Err(EnvelopeError::Spelling)
        ));
        assert!(matches!(
            read(PayloadType::Plan, &signed().to_bytes()),
            Err(EnvelopeError::PayloadType(..))
        ));
        // One of the very size of a statement's.
        let overhead = Envelope::unsigned(PayloadType::Plan, vec![]).unwrap();
        let payload = (limits::ENVELOPE_SIZE - overhead.to_bytes().len()) / 4 * 3;
        let plan = Envelope::unsigned(PayloadType::Plan, vec![7; payload]).unwrap();
        let mut bytes = plan.to_bytes();
        bytes.resize(limits::ENVELOPE_SIZE, b' ');
        assert!(matches!(
            Envelope::from_slice(&bytes),
            Err(EnvelopeError::PayloadType(..))
        ));
        assert!(matches!(
            Envelope::unsigned(PayloadType::Plan, vec![0; limits::PLAN_SIZE / 4 * 3]),
            Err(EnvelopeError::Full(..))
        ));
        assert!(matches!(
            read(PayloadType::Plan, &vec![b' '; limits::PLAN_SIZE + 1]),
            Err(EnvelopeError::Size(..))
        ));
    }
}
