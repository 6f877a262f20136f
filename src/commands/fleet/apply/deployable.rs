//! What a deployment in a cluster of a fleet is planned from: the archive, the registry, and the request with the values of
//! the fleet.

use std::path::Path;
use std::sync::Arc;

use deployer::Cluster;
use fleet::{ComputedSite, FleetFile};
use importer::{FleetChoices, Goal, PullLogin, Request, Target, Verb, Writer};
use registry::RegistryAddress;
use schemas::FleetSolution;

use super::Arguments;
use super::archives::Archives;
use super::place::DeploymentPlace;
use super::planned::{Deployable, Unplannable};
use super::secrets;
use crate::args::Output;
use crate::commands::import::{self, Acceptance};
use crate::commands::kept::{self, Kept};
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// What all deployments of a fleet are planned from.
pub(super) struct Deployables<'a> {
    pub(super) arguments: &'a Arguments,
    pub(super) file: &'a FleetFile,
    pub(super) archives: Archives,
    pub(super) writer: Writer,
    pub(super) output: Output,
}

impl Deployables<'_> {
    /// Returns what a deployment is planned from.
    pub(super) async fn of(
        &self,
        solution: usize,
        values: ComputedSite,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Unplannable> {
        let entry = &self.file.spec().solutions[solution];
        let fleet = self.file.document().metadata.name.clone();
        let choices = FleetChoices::new(fleet, values.site).map_err(Failure::no)?;
        let goal = Goal::Deployed(Target {
            environment: entry.environment.clone(),
            namespace: None,
            pull_login: PullLogin::Keep,
            parameters: Box::default(),
            fleet: Some(Box::new(choices)),
        });
        let mut found = match self.archives.get(&solution) {
            Some(archive) => self.carried(solution, archive, goal, place)?,
            None => self.kept(solution, entry, goal, place.cluster).await?,
        };
        let request = &mut found.request;
        if let Goal::Deployed(target) = &mut request.goal {
            let folder = self.arguments.file.parent().unwrap_or(Path::new(""));
            let manifest = found.archive.accepted.manifest();
            let given = secrets::read(folder, place.member, entry, manifest)?;
            *target.parameters = given;
        }
        request.allowed = self.arguments.allowed();
        let accepted = self.arguments.accept.iter();
        let accepted = accepted.chain(&self.file.spec().accept);
        request.accepted.extend(accepted.cloned());
        Ok(found)
    }

    /// The same of an archive that is at hand.
    fn carried(
        &self,
        solution: usize,
        archive: &Arc<Acceptance>,
        goal: Goal,
        place: &DeploymentPlace<'_>,
    ) -> Result<Deployable, Failure> {
        let to = place.destination()?;
        let request = self.request(goal, &to.registry, to.pull_registry)?;
        Ok(Deployable {
            solution,
            archive: Arc::clone(archive),
            client: place.client(&to.registry, &self.arguments.reach)?,
            request: Request {
                missing: to.missing,
                from_site: to.from_site,
                ..request
            },
        })
    }

    /// The same of a version that the cluster has imported.
    async fn kept(
        &self,
        solution: usize,
        entry: &FleetSolution,
        goal: Goal,
        cluster: &Cluster,
    ) -> Result<Deployable, Unplannable> {
        let FleetSolution { name, version, .. } = entry;
        let reach = &self.arguments.reach;
        let judged = kept::judge(cluster, name, Some(version), reach, self.output).await?;
        let Kept {
            archive,
            client,
            registry,
            pull_registry,
        } = judged.map_err(|report| Unplannable::Refused(InTheWay::of_report(&report)))?;
        let request = self.request(goal, &registry, Some(pull_registry))?;
        Ok(Deployable {
            solution,
            archive: Arc::new(archive),
            client,
            request: Request {
                verb: Verb::Deploy,
                ..request
            },
        })
    }

    fn request(
        &self,
        goal: Goal,
        registry: &RegistryAddress,
        pull_registry: Option<RegistryAddress>,
    ) -> Result<Request, Failure> {
        let (turn, writer) = (&self.arguments.turn, self.writer.clone());
        import::of_writer(goal, registry, pull_registry, turn, writer)
    }
}
