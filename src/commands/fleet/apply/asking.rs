//! The requests of who changes a fleet, and what a version that a cluster has imported is planned from.

use std::sync::Arc;

use deployer::Cluster;
use fleet::FleetFile;
use importer::{Goal, Request, Verb, Writer};
use registry::RegistryAddress;
use schemas::{FleetSolution, PlacedVersion, Version};

use super::choices::DeployingArguments;
use super::planned::{Deployable, Unplannable};
use crate::args::Output;
use crate::commands::import;
use crate::commands::kept::{self, Kept};
use crate::commands::refusal::InTheWay;
use crate::failure::Failure;

/// Who asks for changes of a fleet.
pub(in crate::commands::fleet) struct Asking<'a> {
    pub(in crate::commands::fleet) file: &'a FleetFile,
    pub(in crate::commands::fleet) choices: &'a DeployingArguments,
    pub(in crate::commands::fleet) writer: Writer,
    pub(in crate::commands::fleet) output: Output,
}

impl Asking<'_> {
    /// What an entry of `solutions` is planned from where the cluster has imported the version.
    pub(in crate::commands::fleet) async fn kept(
        &self,
        entry: &FleetSolution,
        version: &Version,
        cluster: &Cluster,
        goal: Goal,
    ) -> Result<Deployable, Unplannable> {
        let name = &entry.name;
        let reach = &self.choices.reach;
        let judged = kept::judge(cluster, name, Some(version), reach, self.output).await?;
        let Kept {
            archive,
            client,
            registry,
            pull_registry,
        } = judged.map_err(|report| Unplannable::Refused(InTheWay::of_report(&report)))?;
        let request = self.request(goal, &registry, Some(pull_registry))?;
        Ok(Deployable {
            placed: PlacedVersion::from(entry),
            note: None,
            archive: Arc::new(archive),
            client,
            request: Request {
                verb: Verb::Deploy,
                ..request
            },
        })
    }

    /// The request for a goal.
    pub(super) fn request(
        &self,
        goal: Goal,
        registry: &RegistryAddress,
        pull_registry: Option<RegistryAddress>,
    ) -> Result<Request, Failure> {
        let (turn, writer) = (&self.choices.rollout.turn, self.writer.clone());
        let request = import::of_writer(goal, registry, pull_registry, turn, writer)?;
        // What one deployment would accept alone is not accepted: the consent of a fleet is to all that it shows.
        Ok(Request {
            allowed: self.choices.allowed(),
            nodes: import::nodes(&self.choices.rollout.arrival),
            ..request
        })
    }
}
