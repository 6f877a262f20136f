//! The requests of who plans for a fleet, and what a version that a cluster has imported is planned from.

use std::sync::Arc;

use fleet::FleetFile;
use importer::{Allowed, Goal, Nodes, Request, Verb, Writer, accepts_reads};
use registry::RegistryAddress;
use schemas::{FleetSolution, PlacedVersion, Version};

use super::place::{DeploymentPlace, client};
use super::planned::{Deployable, Unplannable};
use crate::args::{ChangeArguments, Output, RegistryArguments};
use crate::commands::import;
use crate::commands::kept::{self, Kept};
use crate::commands::refusal::InTheWay;
use crate::commands::validate::words;
use crate::failure::Failure;

/// Who plans for the clusters of a fleet.
pub(in crate::commands::fleet) struct Asking<'a> {
    pub(in crate::commands::fleet) file: &'a FleetFile,
    /// How registries are reached.
    pub(in crate::commands::fleet) reach: &'a RegistryArguments,
    pub(in crate::commands::fleet) turn: &'a ChangeArguments,
    /// Whether nodes are waited for.
    pub(in crate::commands::fleet) nodes: Nodes,
    /// The exceptions that are allowed in every cluster.
    pub(in crate::commands::fleet) allowed: Allowed,
    /// The ids on the command line that accept something.
    pub(in crate::commands::fleet) accept: &'a [String],
    pub(in crate::commands::fleet) writer: Writer,
    pub(in crate::commands::fleet) output: Output,
}

impl Asking<'_> {
    /// What an entry of `solutions` is planned from where the cluster has imported the version.
    pub(in crate::commands::fleet) async fn kept(
        &self,
        entry: &FleetSolution,
        version: &Version,
        place: &DeploymentPlace<'_>,
        goal: Goal,
    ) -> Result<Deployable, Unplannable> {
        let name = &entry.name;
        let DeploymentPlace {
            member, reached, ..
        } = place;
        let client = |registry: &_, site: &_| client(member, site, registry, self.reach);
        let judged = kept::judge(&reached.cluster, name, Some(version), client).await?;
        let Kept {
            archive,
            client,
            registry,
            pull_registry,
        } = judged.map_err(|report| Unplannable::Refused(InTheWay::of_report(&report)))?;
        words::talk(&archive.findings, self.output);
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
        let writer = self.writer.clone();
        let request = import::of_writer(goal, registry, pull_registry, self.turn, writer)?;
        // What one deployment would accept alone is not accepted: the consent of a fleet is to all that it shows. What
        // templates read is accepted before there is anything to show.
        let accept = self.accept.iter().chain(&self.file.spec().accept);
        let accepted = accept.filter(|id| accepts_reads(id)).cloned().collect();
        Ok(Request {
            allowed: self.allowed,
            accepted,
            nodes: self.nodes,
            ..request
        })
    }
}
