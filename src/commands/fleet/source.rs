//! The source of a rollout's plans: for each deployment in a cluster, the archive, the registry and the request. The
//! fleet's file, a rollback and a deletion are such sources.

use std::str::FromStr as _;
use std::sync::Arc;

use fleet::FleetFile;
use importer::{
    CheckedArchive, Exceptions, Goal, HeldSite, ImportedVersion, NamedRegistry, Nodes,
    PushDestination, Request, Verb, Writer, accepts_reads,
};
use registry::{AddressError, CertificateAuthority, Client, RegistryAddress};
use schemas::{FleetCluster, FleetSolution, PlacedVersion, Solution, Version};

use super::connection::Member;
use super::removal::Departure;
use crate::args::{ChangeArguments, Output, RegistryArguments};
use crate::commands::blocked::ShownBlocker;
use crate::commands::import::{self, ImageRegistry};
use crate::commands::imported_version::{self};
use crate::commands::validate;
use crate::failure::{Failure, Outcome};
use crate::registries;

/// The cluster for which deployments are planned.
pub(super) struct DeploymentPlace<'a> {
    /// The index of the cluster in the file.
    pub(super) at: usize,
    pub(super) member: &'a FleetCluster,
    pub(super) reached: &'a Member,
    /// The site configuration of the cluster.
    pub(super) site: &'a HeldSite,
}

impl DeploymentPlace<'_> {
    /// Returns the registry for images from the fleet's file, else from the site configuration.
    pub(super) fn destination(&self) -> Result<PushDestination, Failure> {
        let named = self.member.registry.as_deref();
        let named = named.map(ImageRegistry::from_str).transpose();
        let named = named.map_err(|error| unusable("registry", error))?;
        let named =
            named.map(|ImageRegistry { address, missing }| NamedRegistry { address, missing });
        let pull_registry = self.member.pull_registry.as_deref();
        let pull_registry = pull_registry.map(str::parse).transpose();
        let pull_registry = pull_registry.map_err(|error| unusable("pullRegistry", error))?;
        PushDestination::of(named, pull_registry, self.site).ok_or_else(|| {
            let none = "it has no registry, neither in the fleet's file nor in its site configuration";
            Failure::usage(none)
                .hint("add `registry` next to its name in the fleet's file, or to its site configuration with `solution site set`")
        })
    }
}

/// Returns the client of a cluster's registry. If the user names no certificate authority, the one in the fleet's file
/// applies, else the one in the site configuration.
pub(super) fn client(
    member: &FleetCluster,
    site: &HeldSite,
    registry: &RegistryAddress,
    reach: &RegistryArguments,
) -> Result<Client, Failure> {
    let options = registries::options_with(reach, || match &member.certificate_authority {
        Some(pem) => {
            let name = &member.name;
            let origin = format!("`certificateAuthority` of cluster {name} in the fleet's file");
            CertificateAuthority::new(origin, pem.clone().into_bytes()).map(Some)
        }
        None => site.certificate_authority(),
    })?;
    registries::client(registry, reach, options)
}

fn unusable(field: &str, error: AddressError) -> Failure {
    let context = format!("cannot use its `{field}`");
    Failure::no(error).context(context)
}

/// The options of all requests to plan a deployment in a cluster of a fleet.
pub(super) struct RequestOptions<'a> {
    pub(super) file: &'a FleetFile,
    /// The access to registries.
    pub(super) reach: &'a RegistryArguments,
    pub(super) turn: &'a ChangeArguments,
    /// The policy for nodes that are not ready.
    pub(super) nodes: Nodes,
    /// The exceptions that are allowed in every cluster.
    pub(super) allowed: Exceptions,
    /// The ids from the command line that accept effects.
    pub(super) accept: &'a [String],
    pub(super) writer: Writer,
    pub(super) output: Output,
}

impl RequestOptions<'_> {
    /// Returns the source of the plan of an entry of `solutions`, from the version that the cluster has imported.
    pub(super) async fn imported_version(
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
        let judged =
            imported_version::check_imported_version(&reached.cluster, name, Some(version), client)
                .await?;
        let ImportedVersion {
            archive,
            client,
            registry,
            pull_registry,
        } = judged.map_err(|report| Unplannable::Refused(ShownBlocker::of_report(&report)))?;
        validate::print_findings(&archive.findings, self.output);
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

    /// Returns the request for a goal.
    pub(super) fn request(
        &self,
        goal: Goal,
        registry: &RegistryAddress,
        pull_registry: Option<RegistryAddress>,
    ) -> Result<Request, Failure> {
        let writer = self.writer.clone();
        let request = import::writer_request(goal, registry, pull_registry, self.turn, writer)?;
        // A consent covers everything that a fleet's plan shows, so an id for a single deployment is not passed on.
        // Only the objects that templates read must be accepted here, because nothing can be planned without them.
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

/// A source of the plans for the clusters of a fleet.
pub(super) trait DeployableSource {
    /// Returns the sources of the plans of all deployments in a cluster.
    async fn deployables(
        &self,
        place: &DeploymentPlace<'_>,
    ) -> Result<Vec<DeployableEntry>, Failure>;

    /// Returns the deployments that leave a cluster, or would leave it, after all deployments are done.
    async fn departures(&self, place: &DeploymentPlace<'_>) -> Result<Vec<Departure>, Failure>;
}

/// An entry of `solutions` with the source of its plan, or the reason why it cannot be planned.
pub(super) struct DeployableEntry {
    /// The deployment as in the file.
    pub(super) placed: PlacedVersion,
    pub(super) found: Result<Deployable, Unplannable>,
}

/// The source of the plan of a deployment.
pub(super) struct Deployable {
    /// The deployment as in the file.
    pub(super) placed: PlacedVersion,
    /// A remark on the plan if it does not follow from the entry.
    pub(super) note: Option<String>,
    pub(super) archive: Arc<CheckedArchive>,
    pub(super) client: Client,
    pub(super) request: Request,
}

impl Deployable {
    /// Returns the version that is deployed. For a rollback, this is not the version in the file.
    pub(super) fn deployed(&self) -> PlacedVersion {
        let id = &self.archive.accepted.statement().predicate.id;
        PlacedVersion {
            solution: id.name().clone(),
            version: id.version().clone(),
            environment: self.placed.environment.clone(),
        }
    }
}

/// The reason why a deployment is not planned.
pub(super) enum Unplannable {
    /// There is nothing to do, for this reason.
    Left(String),
    /// It is blocked. Other deployments in the cluster are still planned, so that all blockers are reported at once.
    Refused(Vec<ShownBlocker>),
    /// The cluster or its registry could not be queried.
    Failed(Failure),
}

impl From<Failure> for Unplannable {
    fn from(failure: Failure) -> Self {
        match failure.outcome() {
            Outcome::No | Outcome::Usage => Self::Refused(vec![ShownBlocker::from(&failure)]),
            Outcome::Yes | Outcome::Unknown | Outcome::Ended(_) => Self::Failed(failure),
        }
    }
}

/// Sorts deployments so that each follows those that it needs.
pub(super) fn in_order(deployables: Vec<Deployable>) -> Result<Vec<Deployable>, Failure> {
    let manifests = deployables
        .iter()
        .map(|deployable| deployable.archive.accepted.manifest());
    let manifests: Vec<&Solution> = manifests.collect();
    let order = importer::import_order(&manifests).map_err(Failure::no)?;
    let mut open: Vec<Option<Deployable>> = deployables.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|at| open[at].take()).collect())
}
