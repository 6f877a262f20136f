//! Which keys count, and the one rule for signatures of an archive.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use schemas::{Envelope, KeyId};

use crate::PublicKey;

/// The keys that a site accepts for an archive, and how many of them must have signed.
#[derive(Clone, Debug)]
pub struct Trust {
    keys: BTreeMap<KeyId, PublicKey>,
    threshold: usize,
}

/// Why keys and a threshold make no trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// No key.
    #[error("no key is trusted")]
    Empty,
    /// One key twice.
    #[error("key {0} is given twice")]
    Repeated(KeyId),
    /// Several keys without a threshold: "any of them" and "all of them" are too far apart to guess.
    #[error("{keys} keys are trusted: say how many of them must have signed")]
    ThresholdMissing {
        /// How many keys there are.
        keys: usize,
    },
    /// More signatures than keys.
    #[error("{threshold} signatures are asked for, but only {keys} keys are trusted")]
    ThresholdTooHigh {
        /// How many signatures are asked for.
        threshold: usize,
        /// How many keys there are.
        keys: usize,
    },
}

/// Who signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signers {
    /// Trusted keys whose signatures are good, in the order of their ids.
    pub trusted: Vec<KeyId>,
    /// Keys that signatures name and nobody here knows. They say nothing.
    pub unknown: Vec<KeyId>,
}

/// Why the signatures of an archive do not suffice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// No signature at all.
    #[error("the archive is not signed")]
    Unsigned,
    /// A signature that names a trusted key and is not one of this payload.
    #[error("the signature by trusted key {0} is wrong: the statement was altered after signing")]
    Wrong(KeyId),
    /// Fewer good signatures by trusted keys than asked for.
    #[error("{} of {needed} signatures needed from trusted keys{}", .signers.trusted.len(), strangers(.signers))]
    TooFew {
        /// The signatures that there are.
        signers: Signers,
        /// How many are asked for.
        needed: usize,
    },
}

fn strangers(signers: &Signers) -> String {
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
    /// Trusts these keys. The threshold may be left out for a single key only.
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
            (_, None) => return Err(TrustError::ThresholdMissing { keys }),
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

    /// How many trusted keys must have signed.
    #[must_use]
    pub fn threshold(&self) -> usize {
        self.threshold
    }

    /// The ids of the trusted keys, in their order.
    pub fn key_ids(&self) -> impl ExactSizeIterator<Item = KeyId> {
        self.keys.keys().copied()
    }
}

/// The one rule: every signature that names a trusted key must be good, and at least the threshold of distinct trusted
/// keys must have signed. Ids in the envelope only select a key; what is counted are keys of `trust`, each once.
pub fn verify(envelope: &Envelope, trust: &Trust) -> Result<Signers, VerifyError> {
    let mut signers = Signers {
        trusted: Vec::new(),
        unknown: Vec::new(),
    };
    for signature in envelope.signatures() {
        match trust.keys.get(&signature.key_id) {
            None => signers.unknown.push(signature.key_id),
            Some(key) if key.verifies(envelope.payload(), &signature) => {
                signers.trusted.push(key.id());
            }
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
