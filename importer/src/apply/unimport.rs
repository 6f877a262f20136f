//! The end of an imported version at a site: its record goes, once nothing uses the version.

use schemas::{SolutionName, Version};

use crate::apply::change::Change;
use crate::apply::definitions::Definitions;
use crate::apply::leased::Leased;
use crate::apply::lifecycle::{Undone, deployed, forget_versions};
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::receipt::{Subject, Verb};
use crate::model::record::Record;
use crate::model::state::ClusterState;
use crate::model::uses::{EvenIfUsed, Use, check_free};
use crate::plan::rights::check_removing;
use crate::plan::uses::{Images, workloads};

/// Forgets an imported version. Refused while it is deployed, and, if a person does not say otherwise, while anything
/// runs with its images or custom resources of its CRDs exist. Its images stay in the registry.
pub async fn unimport(
    change: &Change<'_>,
    solution: &SolutionName,
    version: &Version,
    even_if_used: EvenIfUsed,
) -> Result<Undone, Error> {
    let decide = async |state: &ClusterState| {
        let record = state.record(solution, version).cloned();
        let absent = || Obstacle::NotImported(solution.clone(), version.clone());
        let record = record.ok_or_else(absent)?;
        let uses = check(change, state, &record, even_if_used).await?;
        Ok((record, uses))
    };
    let act = async |leased: &mut Leased<'_>, (record, _): &mut (Record, _)| {
        forget_versions(leased, std::slice::from_ref(record), change.deadline).await
    };
    let about =
        |state: &ClusterState| Subject::of_solution(Verb::Unimport, solution, Some(version), state);
    let ((record, uses), removed) = change.make(about, decide, act).await?;
    let registry = &record.pushed_to;
    let note = format!("the images stay in the registry, under {registry}");
    let undone = Undone::of(removed, &[record.reference()], vec![note]);
    Ok(Undone { uses, ..undone })
}

/// What uses the version, if it may go all the same.
async fn check(
    change: &Change<'_>,
    state: &ClusterState,
    record: &Record,
    even_if_used: EvenIfUsed,
) -> Result<Vec<Use>, Error> {
    let (cluster, solution, version) = (change.cluster, &record.name, &record.version);
    let mut obstacles = deployed(state, solution, Some(version));
    let definitions = Definitions::of(cluster, solution).await?;
    let mut uses = definitions.written_by(version).uses(cluster).await?;
    let images = Images::of(&state.records, |known| known.id() == record.id());
    uses.extend(workloads(cluster, &images, &mut obstacles).await?);
    obstacles.extend(Obstacle::used(&record.id(), &uses));
    check_removing(cluster, [&record.reference()].into_iter(), &mut obstacles).await?;
    check_free(even_if_used.without(obstacles), &uses)?;
    Ok(uses)
}
