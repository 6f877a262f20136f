//! What the deployments of a fleet's file are planned from: the archive or the imported version, and the request with the
//! values that the file has for the cluster.

use std::path::Path;
use std::sync::Arc;

use fleet::{ComputeError, ComputedSite, Members};
use importer::{FleetChoices, Goal, PullLogin, Request, Target};
use schemas::{FleetSolution, PlacedVersion};

use super::super::compute::compute;
use super::super::standing::unlisted;
use super::archives::Archives;
use super::asking::Asking;
use super::place::{DeploymentPlace, client};
use super::plan::{DeployableSource, FoundDeployable};
use super::planned::{Deployable, Unplannable};
use super::removal::{FoundDeparture, Removing};
use super::secrets;
use crate::commands::import::Acceptance;
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// The deployments of a fleet's file.
pub(in crate::commands::fleet) struct FileSource<'a> {
    /// The path of the file.
    pub(in crate::commands::fleet) path: &'a Path,
    pub(in crate::commands::fleet) members: &'a Members<'a>,
    pub(in crate::commands::fleet) archives: Archives,
    pub(in crate::commands::fleet) asking: Asking<'a>,
    /// How what left the file is removed; none if it stays.
    pub(in crate::commands::fleet) removing: Option<Arc<Removing>>,
}

impl DeployableSource for FileSource<'_> {
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeployable>, Failure> {
        let file = self.asking.file;
        let computed = compute(file, self.members, place.at, place.reached).await?;
        let mut all = Vec::new();
        for it in computed.deployments {
            let entry = &file.spec().solutions[it.solution];
            let found = match it.values {
                Ok(values) => self.of(it.solution, values, place).await,
                Err(errors) => Err(Unplannable::Refused(
                    errors.iter().map(uncomputed).collect(),
                )),
            };
            all.push(FoundDeployable {
                placed: PlacedVersion::from(entry),
                found,
            });
        }
        Ok(all)
    }

    async fn departures(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<FoundDeparture>, Failure> {
        let spaces = importer::environments(&place.reached.cluster).await?;
        let left = unlisted(self.asking.file, self.members, place.at, &spaces);
        Ok(FoundDeparture::of_unlisted(left, self.removing.as_ref()))
    }
}

impl FileSource<'_> {
    /// Returns what a deployment is planned from.
    async fn of(
        &self,
        solution: usize,
        values: ComputedSite,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Unplannable> {
        let file = self.asking.file;
        let entry = &file.spec().solutions[solution];
        let fleet = file.document().metadata.name.clone();
        let choices = FleetChoices::new(fleet, values.site).map_err(Failure::no)?;
        let goal = Goal::Deployed(Target {
            environment: entry.environment.clone(),
            namespace: None,
            pull_login: PullLogin::Keep,
            parameters: Box::default(),
            fleet: Some(Box::new(choices)),
        });
        let mut found = if let Some(archive) = self.archives.get(&solution) {
            self.carried(entry, archive, goal, place)?
        } else {
            self.asking.kept(entry, &entry.version, place, goal).await?
        };
        if let Goal::Deployed(target) = &mut found.request.goal {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            let manifest = found.archive.accepted.manifest();
            *target.parameters = secrets::read(folder, place.member, entry, manifest)?;
        }
        Ok(found)
    }

    /// The same of an archive that is at hand.
    fn carried(
        &self,
        entry: &FleetSolution,
        archive: &Arc<Acceptance>,
        goal: Goal,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Failure> {
        let to = place.destination()?;
        let request = self.asking.request(goal, &to.registry, to.pull_registry)?;
        Ok(Deployable {
            placed: PlacedVersion::from(entry),
            note: None,
            archive: Arc::clone(archive),
            client: client(place.member, place.site, &to.registry, self.asking.reach)?,
            request: Request {
                missing: to.missing,
                from_site: to.from_site,
                ..request
            },
        })
    }
}

fn uncomputed(error: &ComputeError) -> InTheWay {
    let fix = "see the values of each cluster and their sources with `solution fleet values`";
    InTheWay::new(error.to_string(), fix)
}
