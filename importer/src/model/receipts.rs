//! The receipts of a cluster, and the gaps that removed receipts have left: [`Receipts`].

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

use change::vocabulary as v;
use deployer::{Cluster, Gvk, Object, ObjectRef, Selector};
use schemas::ClusterUid;

use crate::limits;
use crate::model::config_map;
use crate::model::error::Error;
use crate::model::evidence::{Evidence, Gap, Sealed};
use crate::model::receipt::{
    ChangeReceipt, NamedReceipts, Outcome, Revision, config_map_name, numbered,
};

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
        Ok(Self::of(&maps.await?))
    }

    /// Reads only the receipts of incomplete changes.
    pub(crate) async fn read_incomplete(cluster: &Cluster) -> Result<Self, Error> {
        let maps = Gvk::new("v1", "ConfigMap");
        let marked = Selector::has(v::INCOMPLETE);
        let maps = cluster.list(&maps, Some(v::RECORDS_NAMESPACE), Some(&marked));
        Ok(Self::of(&maps.await?))
    }

    pub(crate) fn of(maps: &[Object]) -> Self {
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
    pub(crate) fn sealed(&self, revision: Revision) -> Sealed {
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
    pub(crate) fn missing(&self) -> Vec<Gap> {
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
            .map(|revision| config_map::reference(&config_map_name(revision)))
            .collect()
    }
}
