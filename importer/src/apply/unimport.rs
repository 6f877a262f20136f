//! The removal of an imported version from a site. [`unimport`] refuses it while the version is in use. The images are
//! kept in the registry or deleted from it, and the record is deleted last, so that a repeated command completes an
//! interrupted removal.

use std::collections::BTreeSet;
use std::iter;
use std::path::Path;

use registry::Client;
use schemas::{SolutionId, SolutionName, Version};
use store::{Record, StoredManifests};

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::journal::WriteLog;
use crate::apply::leased::Leased;
use crate::apply::lifecycle::{RemovalReport, deployed, forget_versions};
use crate::decide::rights::{check_removing, of_change};
use crate::model::blocker::Blocker;
use crate::model::error::{Error, EvenIfUsed, Use, check_free};
use crate::model::writer::{Authority, Verb};
use crate::objects::uses::{self, workloads};
use crate::records::receipt::ChangeSubject;
use crate::records::record;
use crate::records::state::ClusterState;

/// The treatment of a version's images in the registry.
#[derive(Clone, Copy, Debug)]
pub enum ImageTreatment<'a> {
    /// The images are kept.
    Keep,
    /// The images are deleted from this registry, which must be the one that the version was pushed to. The registry's
    /// records of other versions are read into this directory.
    Free(&'a Client, &'a Path),
}

/// Removes an imported version. It is refused while the version is deployed or active. It is also refused while
/// workloads use its images or custom resources of its CRDs exist, unless a person overrules this. The record is
/// deleted last: as long as it exists, repeating the removal completes it.
pub async fn unimport(
    change: &Change<'_>,
    solution: &SolutionName,
    version: &Version,
    even_if_used: EvenIfUsed,
    images: ImageTreatment<'_>,
) -> Result<RemovalReport, Error> {
    let decide = async |state: &ClusterState| {
        let record = state.record(solution, version).cloned();
        let absent = || Blocker::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        };
        let record = record.ok_or_else(absent)?;
        let uses = check(change, state, &record, even_if_used).await?;
        let holdings = match images {
            ImageTreatment::Keep => StoredManifests::default(),
            ImageTreatment::Free(client, scratch) => {
                let goes = |other: &SolutionId| other.to_string() == record.id();
                store::holdings(client, scratch, &state.records, goes).await?
            }
        };
        Ok(DepartingVersion {
            record,
            uses,
            holdings,
            freed: None,
        })
    };
    let act = async |leased: &mut Leased<'_>, going: &mut DepartingVersion| {
        if let ImageTreatment::Free(client, _) = images {
            let freed = going.holdings.free(client, || leased.lock.check()).await?;
            going.freed = Some(freed);
        }
        forget_versions(leased, std::slice::from_ref(&going.record), change.deadline).await
    };
    let about = |state: &ClusterState| {
        ChangeSubject::of_solution(Verb::Unimport, solution, Some(version), state)
    };
    let mut needs = of_change();
    needs.forgetting();
    needs.running();
    let (going, done) = change.make(&needs, about, decide, act).await?;
    Ok(going.undone(done, images))
}

/// The version to remove.
struct DepartingVersion {
    record: Record,
    uses: Vec<Use>,
    holdings: StoredManifests,
    /// The images that were deleted from the registry. `None` if no deletion was attempted.
    freed: Option<Vec<String>>,
}

impl DepartingVersion {
    fn undone(self, done: Option<WriteLog>, images: ImageTreatment<'_>) -> RemovalReport {
        let registry = &self.record.pushed_to;
        let (notes, freed) = match images {
            ImageTreatment::Keep => {
                let note = format!("the images are kept in the registry, under {registry}");
                (vec![note], Vec::new())
            }
            ImageTreatment::Free(client, _) => {
                let would = || self.holdings.names(client);
                let notes = self.holdings.notes().collect();
                (notes, self.freed.unwrap_or_else(would))
            }
        };
        RemovalReport {
            uses: self.uses,
            freed,
            ..RemovalReport::new(done, &[record::place(&self.record)], notes)
        }
    }
}

/// Returns the objects that use the version, if it may be removed nevertheless.
async fn check(
    change: &Change<'_>,
    state: &ClusterState,
    record: &Record,
    even_if_used: EvenIfUsed,
) -> Result<Vec<Use>, Error> {
    let (cluster, solution, version) = (change.cluster, &record.name, &record.version);
    let mut blockers = deployed(state, solution, Some(version));
    // A person cannot overrule this use: the CRDs would stay and name a version without a record.
    if state.active.get(solution) == Some(version) {
        blockers.push(Blocker::Active {
            solution: solution.clone(),
            version: version.clone(),
        });
    }
    let definitions = Definitions::read(cluster, solution)
        .await?
        .written_by(version);
    let mut uses = definitions.uses(cluster, &mut blockers).await?;
    let images = uses::Images::select(&state.records, |known| known.id() == record.id())?;
    uses.extend(workloads(cluster, &images, &BTreeSet::new(), &mut blockers).await?);
    blockers.extend(Blocker::used(&record.id(), &uses));
    let going = record::place(record);
    check_removing(
        cluster,
        &Authority::Cluster,
        iter::empty(),
        iter::once(&going),
        &mut blockers,
    )
    .await?;
    check_free(even_if_used.without(blockers), &uses)?;
    Ok(uses)
}
