//! The end of an imported version at a site: its record goes, once nothing uses the version.

use std::collections::BTreeSet;
use std::iter;
use std::path::Path;

use registry::Client;
use schemas::{SolutionId, SolutionName, Version};
use shelf::Holdings;
use shelf::Record;

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::done::Done;
use crate::apply::leased::Leased;
use crate::apply::lifecycle::{Undone, deployed, forget_versions};
use crate::model::authority::Authority;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::ChangeSubject;
use crate::model::record;
use crate::model::state::ClusterState;
use crate::model::uses::{EvenIfUsed, Use, check_free};
use crate::model::verb::Verb;
use crate::plan::rights::{check_removing, of_change};
use crate::plan::uses::{self, workloads};

/// The treatment of a version's images at the registry.
#[derive(Clone, Copy, Debug)]
pub enum ImageTreatment<'a> {
    /// The images stay.
    Keep,
    /// The images are deleted at this registry, which must be the one that the version was pushed to. The registry's
    /// records of other versions are read into this directory.
    Free(&'a Client, &'a Path),
}

/// Forgets an imported version. Refused while it is deployed or active, and, if a person does not say otherwise, while
/// anything runs with its images or custom resources of its CRDs exist. The record is last: as long as it is there,
/// doing it again completes what was begun.
pub async fn unimport(
    change: &Change<'_>,
    solution: &SolutionName,
    version: &Version,
    even_if_used: EvenIfUsed,
    images: ImageTreatment<'_>,
) -> Result<Undone, Error> {
    let decide = async |state: &ClusterState| {
        let record = state.record(solution, version).cloned();
        let absent = || Obstacle::NotImported {
            solution: solution.clone(),
            version: version.clone(),
        };
        let record = record.ok_or_else(absent)?;
        let uses = check(change, state, &record, even_if_used).await?;
        let holdings = match images {
            ImageTreatment::Keep => Holdings::default(),
            ImageTreatment::Free(client, scratch) => {
                let goes = |other: &SolutionId| other.to_string() == record.id();
                shelf::holdings(client, scratch, &state.records, goes).await?
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

/// A version that goes.
struct DepartingVersion {
    record: Record,
    uses: Vec<Use>,
    holdings: Holdings,
    /// The images that were deleted at the registry; none if that was not tried.
    freed: Option<Vec<String>>,
}

impl DepartingVersion {
    fn undone(self, done: Option<Done>, images: ImageTreatment<'_>) -> Undone {
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
        Undone {
            uses: self.uses,
            freed,
            ..Undone::of(done, &[record::place(&self.record)], notes)
        }
    }
}

/// Returns the objects that use the version, if it may go all the same.
async fn check(
    change: &Change<'_>,
    state: &ClusterState,
    record: &Record,
    even_if_used: EvenIfUsed,
) -> Result<Vec<Use>, Error> {
    let (cluster, solution, version) = (change.cluster, &record.name, &record.version);
    let mut obstacles = deployed(state, solution, Some(version));
    // This is no use that a person may overrule: the CRDs would stay, and name a version that nothing is known of.
    if state.active.get(solution) == Some(version) {
        obstacles.push(Obstacle::Active {
            solution: solution.clone(),
            version: version.clone(),
        });
    }
    let definitions = Definitions::of(cluster, solution).await?;
    let definitions = definitions.written_by(version);
    let mut uses = definitions.uses(cluster, &mut obstacles).await?;
    let images = uses::Images::of(&state.records, |known| known.id() == record.id())?;
    uses.extend(workloads(cluster, &images, &BTreeSet::new(), &mut obstacles).await?);
    obstacles.extend(Obstacle::used(&record.id(), &uses));
    let going = record::place(record);
    check_removing(
        cluster,
        &Authority::Cluster,
        iter::empty(),
        iter::once(&going),
        &mut obstacles,
    )
    .await?;
    check_free(even_if_used.without(obstacles), &uses)?;
    Ok(uses)
}
