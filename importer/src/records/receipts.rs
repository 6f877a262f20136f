//! The receipts of a cluster, and the gaps that removed receipts have left: [`Receipts`].
//!
//! [`Evidence`] shows that receipts are unchanged: a signature next to each, and the digest of the previous receipt in
//! each. A user with write access to the namespace of the records can still remove the newest receipts, or all of them.
//! Changes of multiple environments run at the same time, so the previous change may not have ended when the next one
//! begins. Its receipt is then named by its digest at that time, and again by the first change that begins after its
//! end.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

use kubernetes::{Cluster, Gvk, Object, ObjectRef, Selector};
use planner::vocabulary as v;
use schemars::JsonSchema;
use schemas::{ClusterUid, Digest, Envelope, PayloadType};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::limits;
use crate::model::error::Error;
use crate::records::receipt::{
    ChangeReceipt, ENVELOPE, KEY, NamedReceipts, Outcome, Revision, config_map_name, numbered,
};
use crate::records::storage;

/// The receipts of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Receipts {
    /// The readable receipts, oldest first.
    pub(crate) all: Vec<ChangeReceipt>,
    /// The names of receipts that cannot be read. They do not prevent changes.
    pub(crate) unreadable: Vec<String>,
    /// The revisions of incomplete changes: they are in progress, were interrupted, or failed.
    marked: BTreeSet<Revision>,
    /// The revisions of changes that another writer is known to be making.
    at_work: BTreeSet<Revision>,
    last: Revision,
    evidence: Evidence,
}

impl Receipts {
    pub(crate) async fn read(cluster: &Cluster) -> Result<Self, Error> {
        let maps = Gvk::new("v1", "ConfigMap");
        let ours = Selector::has(v::RECEIPT);
        let maps = cluster.list(&maps, Some(v::RECORDS_NAMESPACE), Some(&ours));
        Ok(Self::from_config_maps(&maps.await?))
    }

    /// Reads only the receipts of incomplete changes.
    pub(crate) async fn read_incomplete(cluster: &Cluster) -> Result<Self, Error> {
        let maps = Gvk::new("v1", "ConfigMap");
        let marked = Selector::has(v::INCOMPLETE);
        let maps = cluster.list(&maps, Some(v::RECORDS_NAMESPACE), Some(&marked));
        Ok(Self::from_config_maps(&maps.await?))
    }

    pub(crate) fn from_config_maps(maps: &[Object]) -> Self {
        let mut receipts = Self::default();
        for map in maps {
            if let Some(number) = numbered(map) {
                receipts.last = receipts.last.max(number);
                receipts.evidence.add(number, map);
                if map.labels().contains_key(v::INCOMPLETE) {
                    receipts.marked.insert(number);
                }
            }
            match ChangeReceipt::from_object(map) {
                Some(receipt) => receipts.all.push(receipt),
                None => receipts.unreadable.push(map.reference().to_string()),
            }
        }
        receipts.all.sort_by_key(|receipt| receipt.revision);
        receipts
    }

    /// Returns the receipts with a change marked as in progress.
    pub(crate) fn at_work(mut self, revision: Revision) -> Self {
        self.at_work.insert(revision);
        self
    }

    /// Returns the receipts of changes that have not ended, whether or not a writer is still making them.
    pub(crate) fn begun(&self) -> impl Iterator<Item = &ChangeReceipt> {
        let all = self.all.iter();
        all.filter(|receipt| receipt.outcome == Outcome::Begun)
    }

    /// Returns the receipts of incomplete changes that no writer is known to be making.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = &ChangeReceipt> {
        let all = self.all.iter();
        let all = all.filter(|receipt| self.marked.contains(&receipt.revision));
        all.filter(|receipt| !self.at_work.contains(&receipt.revision))
    }

    /// Returns the receipts of changes that have not ended and that no writer is known to be making, marked as
    /// interrupted. The next change writes them in this form.
    pub(crate) fn interrupted(&self) -> impl Iterator<Item = ChangeReceipt> {
        let open = self
            .begun()
            .filter(|receipt| !self.at_work.contains(&receipt.revision));
        open.cloned().map(ChangeReceipt::interrupted)
    }

    /// Returns the envelope next to a receipt.
    pub(crate) fn sealed(&self, revision: Revision) -> ReceiptEnvelope {
        self.evidence.sealed(revision)
    }

    /// Returns the references to earlier receipts that the next receipt contains.
    pub(crate) fn named(&self) -> NamedReceipts {
        let interrupted: Vec<ChangeReceipt> = self.interrupted().collect();
        self.evidence.named(&self.all, &interrupted)
    }

    /// Returns the receipts whose digest differs from the one in a later receipt.
    pub(crate) fn changed(&self) -> Vec<Revision> {
        let interrupted: Vec<ChangeReceipt> = self.interrupted().collect();
        self.evidence.changed(&self.all, &interrupted)
    }

    /// Returns the gaps that removed receipts have left.
    pub(crate) fn missing(&self) -> Vec<RevisionGap> {
        self.evidence.missing()
    }

    /// Returns the receipts that name another cluster, from which they were copied.
    pub(crate) fn foreign(&self, here: Option<&ClusterUid>) -> Vec<Revision> {
        let is_foreign = |receipt: &&ChangeReceipt| match (&receipt.origin.cluster_uid, here) {
            (Some(cluster), Some(here)) => cluster != here,
            _ => false,
        };
        let foreign = self.all.iter().filter(is_foreign);
        foreign.map(|receipt| receipt.revision).collect()
    }

    /// Returns the number of the next change.
    pub(crate) fn next(&self) -> Revision {
        self.last.saturating_add(1)
    }

    /// Returns the oldest receipts that exceed the limit once another one is added. Receipts that a rollback may need
    /// are kept: for each Solution in a namespace, the newest change that ended a version. A change that failed or was
    /// interrupted may or may not have reached this point, so the newest one with each kind of outcome is kept.
    pub(crate) fn surplus(&self) -> Vec<ObjectRef> {
        let mut needed: BTreeMap<_, Vec<(Discriminant<Outcome>, Revision)>> = BTreeMap::new();
        for receipt in self.all.iter().rev() {
            let ends = receipt
                .subject
                .places
                .iter()
                .filter(|place| place.ends().is_some());
            for place in ends {
                let kind = discriminant(&receipt.outcome);
                let here = needed
                    .entry((&receipt.subject.solution, &place.namespace))
                    .or_default();
                if !here.iter().any(|(known, _)| *known == kind) {
                    here.push((kind, receipt.revision));
                }
            }
        }
        let needed = needed.into_values().flatten();
        let needed: BTreeSet<Revision> = needed.map(|(_, revision)| revision).collect();
        let count = (self.all.len() + 1).saturating_sub(limits::RECEIPTS);
        let oldest = self
            .all
            .iter()
            .map(|receipt| receipt.revision)
            .filter(|revision| !needed.contains(revision));
        oldest
            .take(count)
            .map(|revision| storage::reference(&config_map_name(revision)))
            .collect()
    }
}

/// The envelope next to a receipt. Its signature is verified by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiptEnvelope {
    /// There is no envelope.
    No,
    /// The envelope of exactly this receipt.
    Yes(Box<Envelope>),
    /// The envelope of another text, or invalid content.
    Otherwise,
}

/// The state of a receipt's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Signature")]
pub enum ReceiptSignature {
    /// There is none.
    None,
    /// There is one, and no key is given to check it with.
    Unchecked,
    /// One of the keys made it.
    Valid,
    /// None of the keys made it, or it is that of another receipt.
    Invalid,
}

/// Receipts that no longer exist, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Gap")]
pub struct RevisionGap {
    /// The first revision.
    #[schemars(range(min = 1))]
    pub first: Revision,
    /// The last revision.
    #[schemars(range(min = 1))]
    pub last: Revision,
}

/// The written texts of the receipts, by number.
#[derive(Debug, Default)]
pub(crate) struct Evidence(BTreeMap<Revision, Written>);

#[derive(Debug)]
struct Written {
    text: String,
    envelope: Option<String>,
}

impl Evidence {
    /// Adds a receipt.
    pub(crate) fn add(&mut self, revision: Revision, map: &Object) {
        let text = |key: &str| map.as_value()["data"][key].as_str().map(str::to_owned);
        let written = Written {
            text: text(KEY).unwrap_or_default(),
            envelope: text(ENVELOPE),
        };
        self.0.insert(revision, written);
    }

    /// Returns the envelope next to a receipt.
    pub(crate) fn sealed(&self, revision: Revision) -> ReceiptEnvelope {
        let written = self.0.get(&revision);
        let beside =
            written.and_then(|written| Some((written.text.as_bytes(), written.envelope.as_ref()?)));
        let Some((text, envelope)) = beside else {
            return ReceiptEnvelope::No;
        };
        match Envelope::from_slice_of(PayloadType::Receipt, envelope.as_bytes()) {
            Ok(envelope) if envelope.payload() == text => ReceiptEnvelope::Yes(Box::new(envelope)),
            _ => ReceiptEnvelope::Otherwise,
        }
    }

    /// Returns the references to earlier receipts that the next receipt contains. An interrupted change is named by the
    /// digest of its receipt after the next change has marked it as interrupted.
    pub(crate) fn named(
        &self,
        receipts: &[ChangeReceipt],
        interrupted: &[ChangeReceipt],
    ) -> NamedReceipts {
        let newest = self.0.last_key_value().map(|(revision, _)| *revision);
        let named_since: BTreeSet<Revision> = receipts
            .iter()
            .flat_map(|receipt| receipt.ended_since.keys().copied())
            .collect();
        let ended = |next: &ChangeReceipt| {
            let (revision, named) = (next.before()?, next.previous?);
            let is = self.digest(revision, interrupted)?;
            let has_ended = is != named && is_begun(receipts, revision, named);
            (has_ended && !named_since.contains(&revision)).then_some((revision, is))
        };
        NamedReceipts {
            previous: newest.and_then(|newest| self.digest(newest, interrupted)),
            ended_since: receipts.iter().filter_map(ended).collect(),
        }
    }

    fn digest(&self, revision: Revision, interrupted: &[ChangeReceipt]) -> Option<Digest> {
        let noted = interrupted
            .iter()
            .find(|receipt| receipt.revision == revision);
        match noted {
            Some(noted) => Some(digest(&noted.text())),
            None => self.0.get(&revision).map(|written| digest(&written.text)),
        }
    }

    /// Returns the receipts for which a later receipt names the digest of another text.
    pub(crate) fn changed(
        &self,
        receipts: &[ChangeReceipt],
        interrupted: &[ChangeReceipt],
    ) -> Vec<Revision> {
        let is = |revision: Revision| self.digest(revision, interrupted);
        let before = |receipt: &ChangeReceipt| {
            let (before, named) = (receipt.before()?, receipt.previous?);
            let is_same = is(before)? == named || is_begun(receipts, before, named);
            (!is_same).then_some(before)
        };
        let since = receipts.iter().flat_map(|receipt| &receipt.ended_since);
        let since =
            since.filter(|(revision, named)| is(**revision).is_some_and(|is| is != **named));
        let changed = receipts.iter().filter_map(before);
        let changed: BTreeSet<Revision> = changed
            .chain(since.map(|(revision, _)| *revision))
            .collect();
        changed.into_iter().collect()
    }

    /// Returns the gaps that removed receipts have left. Changes remove the oldest receipts only above the limit, so
    /// below it none may be missing.
    pub(crate) fn missing(&self) -> Vec<RevisionGap> {
        if self.0.len() >= limits::RECEIPTS {
            return Vec::new();
        }
        let mut gaps = Vec::new();
        let mut next = 1;
        for revision in self.0.keys().copied() {
            if revision > next {
                let (first, last) = (next, revision - 1);
                gaps.push(RevisionGap { first, last });
            }
            next = revision.saturating_add(1);
        }
        gaps
    }
}

/// Checks whether this is the digest of a receipt whose change had only begun.
fn is_begun(receipts: &[ChangeReceipt], revision: Revision, named: Digest) -> bool {
    let receipt = receipts.iter().find(|receipt| receipt.revision == revision);
    receipt.is_some_and(|receipt| digest(&receipt.clone().begun().text()) == named)
}

fn digest(text: &str) -> Digest {
    Digest::new(Sha256::digest(text).into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use schemas::{EnvelopeSignature, KeyId};

    use super::*;
    use crate::model::writer::Seal;
    use crate::records::receipt::Outcome;
    use crate::records::receipt::tests::{ran, receipt};

    fn seal() -> Seal {
        Arc::new(|text| EnvelopeSignature {
            key_id: KeyId::new(Digest::new([1; 32])),
            bytes: Sha256::digest(text).to_vec(),
        })
    }

    /// Returns receipts, each of which names the previous one.
    fn chain(outcomes: &[Outcome]) -> Vec<Object> {
        let mut maps: Vec<Object> = Vec::new();
        for (revision, outcome) in (1..).zip(outcomes) {
            let mut receipt = receipt(revision, [None, Some(ran("1.0.0"))], outcome.clone());
            receipt.previous = Receipts::from_config_maps(&maps).named().previous;
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

    fn gap(first: Revision, last: Revision) -> RevisionGap {
        RevisionGap { first, last }
    }

    #[test]
    fn a_changed_receipt_is_told_by_its_envelope_and_by_the_next_one() {
        let done = || Outcome::Done;
        let mut maps = chain(&[done(), done(), done()]);
        let receipts = Receipts::from_config_maps(&maps);
        assert_eq!((receipts.changed(), receipts.missing()), (vec![], vec![]));
        let ReceiptEnvelope::Yes(envelope) = receipts.sealed(2) else {
            panic!("{:?}", receipts.sealed(2));
        };
        assert_eq!(envelope.signatures().len(), 1);
        maps[1] = forged(&maps[1]);
        let receipts = Receipts::from_config_maps(&maps);
        assert_eq!(
            (receipts.changed(), receipts.sealed(2)),
            (vec![2], ReceiptEnvelope::Otherwise)
        );
        assert!(matches!(receipts.sealed(3), ReceiptEnvelope::Yes(_)));
    }

    #[test]
    fn what_is_removed_in_between_is_missing() {
        let mut maps = chain(&vec![Outcome::Done; 6]);
        for at in [4, 2, 1] {
            maps.remove(at);
        }
        let receipts = Receipts::from_config_maps(&maps);
        assert_eq!(receipts.missing(), [gap(2, 3), gap(5, 5)]);
        assert_eq!(receipts.changed(), [0; 0]);
        maps.remove(0);
        assert_eq!(
            Receipts::from_config_maps(&maps).missing(),
            [gap(1, 3), gap(5, 5)]
        );
    }

    #[test]
    fn what_changes_remove_by_themselves_is_not_missing() {
        let all = chain(&vec![Outcome::Done; limits::RECEIPTS + 2]);
        assert_eq!(Receipts::from_config_maps(&all[2..]).missing(), []);
        assert_eq!(Receipts::from_config_maps(&all[3..]).missing(), [gap(1, 3)]);
    }

    /// Returns the receipts of two changes that ran at the same time, and of one that began after the end of the first.
    fn side_by_side(first: Outcome) -> Vec<Object> {
        let of = |revision, outcome| receipt(revision, [None, Some(ran("1.0.0"))], outcome);
        let map = |receipt: &ChangeReceipt| Object::new(receipt.to_object(None)).unwrap();
        let begun = map(&of(1, Outcome::Begun));
        let mut second = of(2, Outcome::Done);
        let receipts = Receipts::from_config_maps(std::slice::from_ref(&begun));
        second.previous = receipts.at_work(1).named().previous;
        let maps = vec![map(&of(1, first)), map(&second)];
        let mut third = of(3, Outcome::Done);
        let named = Receipts::from_config_maps(&maps).named();
        (third.previous, third.ended_since) = (named.previous, named.ended_since);
        [maps, vec![map(&third)]].concat()
    }

    #[test]
    fn a_change_that_goes_on_is_named_once_more_when_it_has_ended() {
        for first in [Outcome::Done, Outcome::Begun] {
            let mut maps = side_by_side(first);
            let receipts = Receipts::from_config_maps(&maps);
            assert_eq!(receipts.changed(), [0; 0]);
            let ended = &receipts.all[2].ended_since;
            assert_eq!(ended.keys().collect::<Vec<_>>(), [&1]);
            assert!(receipts.named().ended_since.is_empty(), "it is named once");
            maps[0] = forged(&maps[0]);
            assert_eq!(Receipts::from_config_maps(&maps).changed(), [1]);
        }
        let mut maps = side_by_side(Outcome::Done);
        let failed = receipt(
            1,
            [None, Some(ran("1.0.0"))],
            Outcome::Failed("no".to_owned()),
        );
        maps[0] = Object::new(failed.to_object(None)).unwrap();
        assert_eq!(
            Receipts::from_config_maps(&maps).changed(),
            [1],
            "its outcome is another one"
        );
        assert_eq!(
            Receipts::from_config_maps(&maps[..2]).changed(),
            [0; 0],
            "it has yet to be named"
        );
    }

    #[test]
    fn a_change_that_did_not_end_is_named_as_the_next_one_notes_it() {
        let mut maps = chain(&[Outcome::Begun, Outcome::Done]);
        assert_eq!(Receipts::from_config_maps(&maps).changed(), [0; 0]);
        let noted = Receipts::from_config_maps(&maps)
            .interrupted()
            .next()
            .unwrap();
        maps[0] = Object::new(noted.to_object(None)).unwrap();
        let receipts = Receipts::from_config_maps(&maps);
        assert_eq!(
            (receipts.changed(), receipts.sealed(1)),
            (vec![], ReceiptEnvelope::No)
        );
    }
}
