//! What was changed in the clusters of a fleet, for programs.

use std::cmp::Reverse;

use fleet::FleetFile;
use importer::{Gap, History, Revision};
use schemars::JsonSchema;
use schemas::PlacedVersion;
use serde::Serialize;

use super::super::outcome::worst;
use super::super::status::concerns;
use crate::commands::history::shown::{ShownChange, ShownHistory, shown};
use crate::commands::refusal::InTheWay;
use crate::failure::{Failure, Outcome};

/// The changes in the clusters of a fleet.
#[derive(Serialize, JsonSchema)]
pub(crate) struct FleetHistory<'a> {
    /// The fleet's name.
    fleet: &'a str,
    /// The changes of all clusters, the newest first.
    pub(super) changes: Vec<MemberChange<'a>>,
    /// The clusters that were asked, in the order of the file.
    pub(super) clusters: Vec<MemberHistory<'a>>,
    #[serde(skip)]
    outcome: Outcome,
}

/// A change of a cluster.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberChange<'a> {
    /// The cluster's name.
    pub(super) cluster: &'a str,
    #[serde(flatten)]
    pub(super) change: ShownChange<'a>,
}

/// The history of a cluster, without its changes.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MemberHistory<'a> {
    /// The cluster's name.
    pub(super) name: &'a str,
    /// The reason why it could not be queried; null if it was.
    pub(super) problem: Option<InTheWay>,
    /// Receipts that cannot be read: of a later program, or damaged.
    pub(super) unreadable: &'a [String],
    /// Of all receipts those that are not any more as the next one names them.
    #[schemars(inner(range(min = 1)))]
    pub(super) changed: &'a [Revision],
    /// Receipts that were removed, as far as the remaining ones show.
    pub(super) missing: &'a [Gap],
    /// Receipts that name another cluster and were copied here.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    #[schemars(inner(range(min = 1)))]
    pub(super) foreign: &'a [Revision],
}

impl<'a> FleetHistory<'a> {
    pub(super) fn of(
        file: &'a FleetFile,
        places: &[usize],
        found: &'a [Result<History, Failure>],
        limit: Option<usize>,
    ) -> Self {
        let (mut changes, mut clusters) = (Vec::new(), Vec::new());
        for (at, found) in places.iter().zip(found) {
            let name = file.spec().clusters[*at].name.as_str();
            let mut member = MemberHistory {
                name,
                problem: found.as_ref().err().map(InTheWay::from),
                unreadable: &[],
                changed: &[],
                missing: &[],
                foreign: &[],
            };
            if let Ok(history) = found {
                let ShownHistory {
                    revisions,
                    unreadable,
                    changed,
                    missing,
                    foreign,
                } = shown(history, None);
                let entries = file.spec().solutions.iter().map(PlacedVersion::from);
                let entries: Vec<PlacedVersion> = entries.collect();
                let is_of_file =
                    |it: &ShownChange<'_>| entries.iter().any(|entry| concerns(it.receipt, entry));
                let of_file = revisions.into_iter().filter(is_of_file);
                changes.extend(of_file.map(|change| MemberChange {
                    cluster: name,
                    change,
                }));
                (member.unreadable, member.changed) = (unreadable, changed);
                (member.missing, member.foreign) = (missing, foreign);
            }
            clusters.push(member);
        }
        merge(&mut changes, limit);
        let failures = found.iter().filter_map(|it| it.as_ref().err());
        Self {
            fleet: file.document().metadata.name.as_str(),
            changes,
            clusters,
            outcome: worst(failures.map(Failure::outcome)),
        }
    }

    /// How the command ends: whether all clusters could be asked.
    pub(super) fn outcome(&self) -> Outcome {
        self.outcome
    }
}

/// Puts the newest changes first, and keeps only so many.
fn merge(changes: &mut Vec<MemberChange<'_>>, limit: Option<usize>) {
    // Those of one cluster and one second stay in their order.
    changes.sort_by_key(|it| Reverse(it.change.receipt.at));
    changes.truncate(limit.unwrap_or(usize::MAX));
}

#[cfg(test)]
mod tests;
