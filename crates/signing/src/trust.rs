//! Trusted keys with their threshold ([`Trust`]), and the rule for accepting signatures ([`verify`]). It applies to
//! archives and to plans.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemas::{Envelope, KeyId};

use crate::PublicKey;

/// Trusted keys, and the number of them that must have signed.
#[derive(Clone, Debug)]
pub struct Trust {
    keys: BTreeMap<KeyId, PublicKey>,
    threshold: usize,
}

/// The reason why keys and a threshold do not form a valid trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// No key is given.
    #[error("no key is trusted")]
    Empty,
    /// A key is given twice.
    #[error("key {0} is given twice")]
    Repeated(KeyId),
    /// Multiple keys are given without a threshold. "Any of them" and "all of them" differ too much to assume a
    /// default.
    #[error("{0} keys are trusted: say how many of them must have signed")]
    ThresholdMissing(usize),
    /// The threshold exceeds the number of keys.
    #[error("{threshold} signatures are required, but only {keys} keys are trusted")]
    ThresholdTooHigh {
        /// The required number of signatures.
        threshold: usize,
        /// The number of keys.
        keys: usize,
    },
}

/// The signers of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers {
    /// Trusted keys with valid signatures, sorted by id.
    pub trusted: Vec<KeyId>,
    /// Keys of other signatures, which are not trusted. They are not counted.
    pub unknown: Vec<KeyId>,
}

/// The reason why the signatures of an envelope do not satisfy a trust.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// The envelope has no signature.
    #[error("the archive is not signed")]
    Unsigned,
    /// A signature names a trusted key, but is not its signature of this payload.
    #[error("the signature by trusted key {0} is invalid: the statement was altered after signing")]
    Wrong(KeyId),
    /// Fewer valid signatures by trusted keys than required.
    #[error("{} of {needed} signatures needed from trusted keys{}", .signers.trusted.len(), list_untrusted_signers(.signers))]
    TooFew {
        /// The signers that were found.
        signers: Signers,
        /// The required number of signatures.
        needed: usize,
    },
}

fn list_untrusted_signers(signers: &Signers) -> String {
    let ids: Vec<String> = signers.unknown.iter().map(KeyId::short).collect();
    match ids.as_slice() {
        [] => String::new(),
        [id] => format!("; it is also signed by key {id}, which is not trusted"),
        _ => format!(
            "; it is also signed by keys that are not trusted: {}",
            ids.join(", ")
        ),
    }
}

impl Trust {
    /// Trusts these keys. A single key needs no threshold.
    pub fn new(keys: Vec<PublicKey>, threshold: Option<NonZeroUsize>) -> Result<Self, TrustError> {
        let mut by_id = BTreeMap::new();
        for key in keys {
            let id = key.id();
            if by_id.insert(id, key).is_some() {
                return Err(TrustError::Repeated(id));
            }
        }
        let keys = by_id.len();
        let threshold = match (keys, threshold.map(NonZeroUsize::get)) {
            (0, _) => return Err(TrustError::Empty),
            (1, None) => 1,
            (_, None) => return Err(TrustError::ThresholdMissing(keys)),
            (_, Some(threshold)) if threshold > keys => {
                return Err(TrustError::ThresholdTooHigh { threshold, keys });
            }
            (_, Some(threshold)) => threshold,
        };
        Ok(Self {
            keys: by_id,
            threshold,
        })
    }

    /// Returns the number of trusted keys that must have signed.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// Iterates over the ids of the trusted keys in ascending order.
    #[must_use = "this only makes an iterator"]
    pub fn key_ids(&self) -> impl ExactSizeIterator<Item = KeyId> {
        self.keys.keys().copied()
    }
}

/// Verifies the signatures of an envelope. Every signature that names a trusted key must be valid, and at least the
/// threshold of distinct trusted keys must have signed. Ids in the envelope only select a key: the count is over the
/// keys of `trust`, each once.
pub fn verify(envelope: &Envelope, trust: &Trust) -> Result<Signers, VerifyError> {
    let mut signers = Signers {
        trusted: Vec::new(),
        unknown: Vec::new(),
    };
    for signature in envelope.signatures() {
        match trust.keys.get(&signature.key_id) {
            None => signers.unknown.push(signature.key_id),
            Some(key) if key.verifies(envelope.payload_type(), envelope.payload(), &signature) => {
                signers.trusted.push(key.id());
            }
            // This fails even if other signatures suffice. Keys do not sign incorrectly, so something was altered.
            Some(key) => return Err(VerifyError::Wrong(key.id())),
        }
    }
    if envelope.signatures().len() == 0 {
        Err(VerifyError::Unsigned)
    } else if signers.trusted.len() < trust.threshold {
        let needed = trust.threshold;
        Err(VerifyError::TooFew { signers, needed })
    } else {
        Ok(signers)
    }
}

#[cfg(test)]
mod tests {
    use schemas::{EnvelopeSignature, PayloadType};

    use super::*;
    use crate::SecretKey;

    fn keys<const N: usize>() -> [SecretKey; N] {
        std::array::from_fn(|_| SecretKey::generate().unwrap())
    }

    fn envelope(keys: &[&SecretKey]) -> Envelope {
        let mut envelope = Envelope::new(b"statement".to_vec()).unwrap();
        for key in keys {
            envelope
                .add(key.sign(PayloadType::Statement, b"statement"))
                .unwrap();
        }
        envelope
    }

    fn trust(keys: &[&SecretKey], threshold: usize) -> Trust {
        let keys = keys.iter().map(|key| key.public()).collect();
        Trust::new(keys, NonZeroUsize::new(threshold)).unwrap()
    }

    fn sorted(keys: &[&SecretKey]) -> Vec<KeyId> {
        let mut ids: Vec<KeyId> = keys.iter().map(|key| key.public().id()).collect();
        ids.sort();
        ids
    }

    #[test]
    fn trust_needs_keys_and_a_threshold_that_fits() {
        let [a, b] = keys().map(|key: SecretKey| key.public());
        let new = |keys: &[&PublicKey], threshold| {
            let keys = keys.iter().map(|key| (*key).clone()).collect();
            Trust::new(keys, NonZeroUsize::new(threshold)).map(|trust| trust.threshold())
        };
        assert_eq!(new(&[], 0), Err(TrustError::Empty));
        assert_eq!(new(&[], 1), Err(TrustError::Empty));
        assert_eq!(new(&[&a], 0), Ok(1));
        assert_eq!(new(&[&a], 1), Ok(1));
        assert_eq!(new(&[&a, &a], 1), Err(TrustError::Repeated(a.id())));
        assert_eq!(new(&[&a, &b], 0), Err(TrustError::ThresholdMissing(2)));
        assert_eq!(new(&[&a, &b], 1), Ok(1));
        assert_eq!(new(&[&a, &b], 2), Ok(2));
        let too_high = TrustError::ThresholdTooHigh {
            threshold: 3,
            keys: 2,
        };
        assert_eq!(new(&[&a, &b], 3), Err(too_high));
    }

    /// The signing keys, the trusted keys, the threshold, and the counted keys if they suffice.
    type Case<'a> = (
        &'a [&'a SecretKey],
        &'a [&'a SecretKey],
        usize,
        Option<&'a [&'a SecretKey]>,
    );

    #[test]
    fn the_threshold_counts_trusted_keys_only() {
        let [a, b, c, stranger] = &keys();
        let cases: [Case<'_>; 9] = [
            (&[a], &[a], 1, Some(&[a])),
            (&[a, stranger], &[a], 1, Some(&[a])),
            (&[stranger], &[a], 1, None),
            (&[a], &[a, b, c], 1, Some(&[a])),
            (&[a], &[a, b, c], 2, None),
            (&[a, c], &[a, b, c], 2, Some(&[a, c])),
            (&[a, stranger], &[a, b, c], 2, None),
            (&[a, b, c], &[a, b, c], 3, Some(&[a, b, c])),
            (&[a, b, stranger], &[a, b, c], 3, None),
        ];
        for (index, (signed, trusted, threshold, counted)) in cases.into_iter().enumerate() {
            let result = verify(&envelope(signed), &trust(trusted, threshold));
            match (result, counted) {
                (Ok(signers), Some(counted)) => assert_eq!(signers.trusted, sorted(counted)),
                (Err(VerifyError::TooFew { needed, .. }), None) => assert_eq!(needed, threshold),
                (other, _) => panic!("case {index}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_signature_over_a_plan_never_counts_for_an_archive_nor_the_other_way_round() {
        let [a] = &keys();
        let types = [
            PayloadType::Statement,
            PayloadType::Plan,
            PayloadType::Receipt,
            PayloadType::Checksums,
        ];
        for (of, over) in types
            .into_iter()
            .flat_map(|of| types.map(|over| (of, over)))
        {
            let mut envelope = Envelope::unsigned(of, b"statement".to_vec()).unwrap();
            envelope.add(a.sign(over, b"statement")).unwrap();
            let counts = verify(&envelope, &trust(&[a], 1)).is_ok();
            assert_eq!(counts, of == over, "{of:?}, {over:?}");
        }
    }

    #[test]
    fn strangers_are_named() {
        let [a, stranger] = &keys();
        let signers = verify(&envelope(&[a, stranger]), &trust(&[a], 1)).unwrap();
        assert_eq!(signers.unknown, sorted(&[stranger]));
        let refused = verify(&envelope(&[stranger]), &trust(&[a], 1)).unwrap_err();
        let expected = format!(
            "0 of 1 signatures needed from trusted keys; it is also signed by key {}, which is not trusted",
            stranger.public().id().short()
        );
        assert_eq!(refused.to_string(), expected);
    }

    #[test]
    fn no_signature_is_not_too_few() {
        let [a] = &keys();
        assert_eq!(
            verify(&envelope(&[]), &trust(&[a], 1)),
            Err(VerifyError::Unsigned)
        );
    }

    #[test]
    fn a_wrong_signature_by_a_trusted_key_outweighs_any_good_one() {
        let [a, b] = &keys();
        let mut mixed = envelope(&[a]);
        mixed
            .add(b.sign(PayloadType::Statement, b"another statement"))
            .unwrap();
        assert_eq!(
            verify(&mixed, &trust(&[a, b], 1)),
            Err(VerifyError::Wrong(b.public().id()))
        );
    }

    /// Verifies a signature of `key` after changing its bytes.
    fn altered(key: &SecretKey, alter: impl FnOnce(&mut Vec<u8>)) -> Result<Signers, VerifyError> {
        let mut signature = key.sign(PayloadType::Statement, b"statement");
        alter(&mut signature.bytes);
        let mut envelope = Envelope::new(b"statement".to_vec()).unwrap();
        envelope.add(signature).unwrap();
        verify(&envelope, &trust(&[key], 1))
    }

    #[test]
    fn a_second_spelling_of_a_signature_is_refused() {
        /// The order of the base point (RFC 8032 5.1), little endian.
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
            0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let [key] = &keys();
        let wrong = Err(VerifyError::Wrong(key.public().id()));
        let plus_l = altered(key, |bytes| {
            let mut carry = 0;
            for (byte, l) in bytes[32..].iter_mut().zip(L) {
                let sum = u16::from(*byte) + u16::from(l) + carry;
                (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
            }
        });
        assert_eq!(plus_l, wrong);
        assert_eq!(altered(key, |bytes| bytes[0] ^= 1), wrong);
        assert_eq!(altered(key, |bytes| bytes.push(0)), wrong);
        assert_eq!(altered(key, |bytes| bytes.truncate(63)), wrong);
        assert!(altered(key, |_| ()).is_ok());
    }

    #[test]
    fn a_signature_under_anothers_id_is_wrong() {
        let [a, b] = &keys();
        let mut envelope = Envelope::new(b"statement".to_vec()).unwrap();
        let EnvelopeSignature { bytes, .. } = a.sign(PayloadType::Statement, b"statement");
        let key_id = b.public().id();
        envelope.add(EnvelopeSignature { key_id, bytes }).unwrap();
        assert_eq!(
            verify(&envelope, &trust(&[b], 1)),
            Err(VerifyError::Wrong(key_id))
        );
        // For a site that trusts only the actual signer, the signature names an unknown key.
        let refused = verify(&envelope, &trust(&[a], 1));
        assert!(matches!(refused, Err(VerifyError::TooFew { .. })));
    }
}
