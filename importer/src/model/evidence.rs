//! The evidence for the receipts of a cluster: the signature beside each, and that each names the digest of the one
//! before. Whoever may write in the namespace of the records can still remove the newest, or all of them.

use std::collections::BTreeMap;

use deployer::Object;
use schemars::JsonSchema;
use schemas::{Digest, Envelope, PayloadType};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::limits;
use crate::model::receipt::{ChangeReceipt, ENVELOPE, KEY, Revision};

/// The envelope beside a receipt. Its signer and its validity are for others to judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sealed {
    /// No envelope.
    No,
    /// An envelope of this receipt as it is.
    Yes(Box<Envelope>),
    /// Something else: the envelope of another text, or none.
    Otherwise,
}

/// Receipts that are no longer there, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Gap {
    /// The number of the first.
    #[schemars(range(min = 1))]
    pub first: Revision,
    /// The number of the last.
    #[schemars(range(min = 1))]
    pub last: Revision,
}

/// The receipts as they were written, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Evidence(BTreeMap<Revision, Written>);

#[derive(Debug)]
struct Written {
    text: String,
    envelope: Option<String>,
}

impl Evidence {
    /// Takes note of a receipt.
    pub(crate) fn add(&mut self, revision: Revision, map: &Object) {
        let text = |key: &str| map.as_value()["data"][key].as_str().map(str::to_owned);
        let written = Written {
            text: text(KEY).unwrap_or_default(),
            envelope: text(ENVELOPE),
        };
        self.0.insert(revision, written);
    }

    /// Returns the envelope that stands beside a receipt.
    pub(crate) fn sealed(&self, revision: Revision) -> Sealed {
        let written = self.0.get(&revision);
        let beside = written.and_then(|it| Some((it.text.as_bytes(), it.envelope.as_ref()?)));
        let Some((text, envelope)) = beside else {
            return Sealed::No;
        };
        match Envelope::from_slice_of(PayloadType::Receipt, envelope.as_bytes()) {
            Ok(envelope) if envelope.payload() == text => Sealed::Yes(Box::new(envelope)),
            _ => Sealed::Otherwise,
        }
    }

    /// The digest by which the next receipt names the newest one. That of a change that did not end is the one that it has
    /// once the next change has noted that.
    pub(crate) fn newest(&self, interrupted: &[ChangeReceipt]) -> Option<Digest> {
        let (newest, _) = self.0.last_key_value()?;
        self.digest(*newest, interrupted)
    }

    fn digest(&self, revision: Revision, interrupted: &[ChangeReceipt]) -> Option<Digest> {
        let mut noted = interrupted.iter();
        let noted = noted.find(|receipt| receipt.revision == revision);
        let digest = |text: &str| Digest::new(Sha256::digest(text).into());
        match noted {
            Some(noted) => Some(digest(&noted.text())),
            None => self.0.get(&revision).map(|it| digest(&it.text)),
        }
    }

    /// Returns the receipts whose successor names the digest of another text.
    pub(crate) fn changed(
        &self,
        receipts: &[ChangeReceipt],
        interrupted: &[ChangeReceipt],
    ) -> Vec<Revision> {
        let before = |receipt: &ChangeReceipt| {
            let before = receipt.revision.checked_sub(1)?;
            let named = receipt.previous?;
            let is = self.digest(before, interrupted)?;
            (is != named).then_some(before)
        };
        receipts.iter().filter_map(before).collect()
    }

    /// Returns the gaps that removed receipts have left. Changes remove the oldest only where as many stay as are kept:
    /// with fewer, all must be there.
    pub(crate) fn missing(&self) -> Vec<Gap> {
        if self.0.len() >= limits::RECEIPTS {
            return Vec::new();
        }
        let mut gaps = Vec::new();
        let mut next = 1;
        for revision in self.0.keys().copied() {
            if revision > next {
                let (first, last) = (next, revision - 1);
                gaps.push(Gap { first, last });
            }
            next = revision.saturating_add(1);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schemas::{EnvelopeSignature, KeyId};

    use super::*;
    use crate::model::receipt::Outcome;
    use crate::model::receipt::tests::{ran, receipt};
    use crate::model::receipts::Receipts;
    use crate::model::writer::Seal;

    fn seal() -> Seal {
        Arc::new(|text| EnvelopeSignature {
            key_id: KeyId::new(Digest::new([1; 32])),
            bytes: Sha256::digest(text).to_vec(),
        })
    }

    /// Receipts, each of which names the one before.
    fn chain(outcomes: &[Outcome]) -> Vec<Object> {
        let mut maps: Vec<Object> = Vec::new();
        for (revision, outcome) in (1..).zip(outcomes) {
            let mut receipt = receipt(revision, [None, Some(ran("1.0.0"))], outcome.clone());
            receipt.previous = Receipts::of(&maps).newest();
            let map = Object::new(receipt.to_object(Some(&seal())));
            maps.push(map.unwrap());
        }
        maps
    }

    fn forged(map: &Object) -> Object {
        let mut map = map.clone().into_value();
        let text = map["data"][KEY]
            .as_str()
            .unwrap()
            .replace("me@here", "you@there");
        map["data"][KEY] = text.into();
        Object::new(map).unwrap()
    }

    fn gap(first: Revision, last: Revision) -> Gap {
        Gap { first, last }
    }

    #[test]
    fn a_changed_receipt_is_told_by_its_envelope_and_by_the_next_one() {
        let done = || Outcome::Done;
        let mut maps = chain(&[done(), done(), done()]);
        let receipts = Receipts::of(&maps);
        assert_eq!((receipts.changed(), receipts.missing()), (vec![], vec![]));
        let Sealed::Yes(envelope) = receipts.sealed(2) else {
            panic!("{:?}", receipts.sealed(2));
        };
        assert_eq!(envelope.signatures().len(), 1);
        maps[1] = forged(&maps[1]);
        let receipts = Receipts::of(&maps);
        assert_eq!(
            (receipts.changed(), receipts.sealed(2)),
            (vec![2], Sealed::Otherwise)
        );
        assert!(matches!(receipts.sealed(3), Sealed::Yes(_)));
    }

    #[test]
    fn what_is_removed_in_between_is_missing() {
        let mut maps = chain(&vec![Outcome::Done; 6]);
        for at in [4, 2, 1] {
            maps.remove(at);
        }
        let receipts = Receipts::of(&maps);
        assert_eq!(receipts.missing(), [gap(2, 3), gap(5, 5)]);
        assert_eq!(receipts.changed(), [0; 0]);
        maps.remove(0);
        assert_eq!(Receipts::of(&maps).missing(), [gap(1, 3), gap(5, 5)]);
    }

    #[test]
    fn what_changes_remove_by_themselves_is_not_missing() {
        let all = chain(&vec![Outcome::Done; limits::RECEIPTS + 2]);
        assert_eq!(Receipts::of(&all[2..]).missing(), []);
        assert_eq!(Receipts::of(&all[3..]).missing(), [gap(1, 3)]);
    }

    #[test]
    fn a_change_that_did_not_end_is_named_as_the_next_one_notes_it() {
        let mut maps = chain(&[Outcome::Begun, Outcome::Done]);
        assert_eq!(Receipts::of(&maps).changed(), [0; 0]);
        let noted = Receipts::of(&maps).interrupted().next().unwrap();
        maps[0] = Object::new(noted.to_object(None)).unwrap();
        let receipts = Receipts::of(&maps);
        assert_eq!(
            (receipts.changed(), receipts.sealed(1)),
            (vec![], Sealed::No)
        );
    }
}
