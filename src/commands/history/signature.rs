//! Who signed the receipt of a change.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use importer::Sealed;
use schemars::JsonSchema;
use schemas::KeyId;
use serde::Serialize;
use signing::Trust;

use crate::failure::Failure;
use crate::keys;

/// The state of a receipt's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Signature {
    /// There is none.
    None,
    /// There is one, and no key is given to check it with.
    Unchecked,
    /// One of the keys made it.
    Valid,
    /// None of the keys made it, or it is that of another receipt.
    Invalid,
}

/// The keys that count; none if none is given.
pub(in crate::commands) fn trust(paths: &[PathBuf]) -> Result<Option<Trust>, Failure> {
    if paths.is_empty() {
        return Ok(None);
    }
    let keys = paths.iter().map(|path| keys::public(path));
    let keys = keys.collect::<Result<_, _>>()?;
    Ok(Some(Trust::new(keys, Some(NonZeroUsize::MIN))?))
}

/// Checks what stands beside a receipt, and says whose it is.
pub(in crate::commands) fn judge(
    sealed: &Sealed,
    trust: Option<&Trust>,
) -> (Signature, Vec<KeyId>) {
    let envelope = match sealed {
        Sealed::No => return (Signature::None, Vec::new()),
        Sealed::Otherwise => return (Signature::Invalid, Vec::new()),
        Sealed::Yes(envelope) => envelope,
    };
    let Some(trust) = trust else {
        return (Signature::Unchecked, Vec::new());
    };
    match signing::verify(envelope, trust) {
        Ok(signers) => (Signature::Valid, signers.trusted),
        Err(_) => (Signature::Invalid, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use schemas::{Envelope, PayloadType};
    use signing::SecretKey;

    use super::*;

    #[test]
    fn a_signature_counts_if_one_of_the_keys_made_it_over_a_receipt() {
        let [ours, theirs] = [(); 2].map(|()| SecretKey::generate().unwrap());
        let signed = |key: &SecretKey, as_a: PayloadType| {
            let mut envelope = Envelope::of(PayloadType::Receipt, b"{}".to_vec()).unwrap();
            envelope.add(key.sign(as_a, b"{}")).unwrap();
            Sealed::Yes(Box::new(envelope))
        };
        let trust = Trust::new(vec![ours.public()], Some(NonZeroUsize::MIN)).unwrap();
        let good = signed(&ours, PayloadType::Receipt);
        let judge = |sealed: &Sealed| super::judge(sealed, Some(&trust));
        assert_eq!(judge(&good), (Signature::Valid, vec![ours.public().id()]));
        for bad in [
            signed(&theirs, PayloadType::Receipt),
            signed(&ours, PayloadType::Plan),
            Sealed::Otherwise,
        ] {
            assert_eq!(judge(&bad), (Signature::Invalid, vec![]), "{bad:?}");
        }
        assert_eq!(judge(&Sealed::No), (Signature::None, vec![]));
        assert_eq!(super::judge(&good, None), (Signature::Unchecked, vec![]));
    }
}
