//! The checks of the rights that an import needs, before anything is written: reading the state for the plan, writing
//! each object, and granting each rule of the operator's roles. The rights of each step are defined in `needs`;
//! `manifests` prints them as roles. docs/decisions/0012-least-privilege.md gives the reasons.

mod impersonation;
pub(crate) mod manifests;
pub(crate) mod missing;
pub(crate) mod rendered;
pub(crate) mod roles;
pub(crate) mod verbs;

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::{Access, Cluster, Grant, Object, ObjectRef, RulePart};
use rules::RoleName;
use schemas::{Namespace, SolutionName};
use validator::AcceptedArchive;

use self::manifests::WantedRights;
use crate::decide::deployment::Deployment;
use crate::decide::rights::roles::rules_of;
use crate::model::blocker::{Blocker, MissingRight};
use crate::model::error::{Error, check_free};
use crate::model::request::{CreateEnvironment, Request, Unproved};
use crate::model::writer::Authority;
use crate::objects::crd::PlannedCrd;
use crate::objects::needs::{Needs, deny};
use crate::objects::withdrawal::Withdrawal;
use crate::records::cleanup::{self, Cleanup};
use crate::records::inventory::{self, service_monitor};
use crate::records::namespace_record::{NamespaceRecord, Origin};
use crate::records::record;
use crate::records::state::ClusterState;
use crate::records::storage::read_if_allowed;

/// Checks the rights for reading the state of the plan. If some are missing, no plan is possible. In this case, the
/// other missing rights are added too, as far as the archive determines them, so that all can be granted together.
pub(crate) async fn check_reading(
    cluster: &Cluster,
    accepted: &AcceptedArchive,
    request: &Request,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    if let Authority::Namespace(_) = request.authority {
        // A namespace administrator gets a plan without unreadable parts, which lists them.
        return Ok(());
    }
    let mut needs = Needs::default();
    needs.state();
    needs.nodes();
    let mut denied = Vec::new();
    deny(cluster, &needs, &mut denied).await?;
    if denied.is_empty() {
        return Ok(());
    }
    check_all(cluster, accepted, request, blockers).await
}

/// Checks the rights that a request needs according to its archive, without reading any state.
pub(crate) async fn check_all(
    cluster: &Cluster,
    accepted: &AcceptedArchive,
    request: &Request,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let wanted = WantedRights::for_import(accepted, &request.goal);
    let objects = wanted.objects()?;
    let mut needs = wanted.required(&objects)?;
    if request.allowed.create == CreateEnvironment::Allow {
        needs.new_namespace();
    }
    deny(cluster, &needs, blockers).await?;
    match wanted.namespace() {
        Some(namespace) => {
            if request.allowed.unproved == Unproved::Refuse {
                check_proving(cluster, namespace, blockers).await?;
            }
            check_grants(cluster, &objects, blockers).await
        }
        None => Ok(()),
    }
}

/// Checks the rights to write everything that the plan applies, and to grant the rules in it.
pub(crate) async fn check_writing(
    cluster: &Cluster,
    crds: &[PlannedCrd],
    deployment: Option<&Deployment>,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = match deployment {
        Some(deployment) => Needs::at(deployment.namespace().as_str()),
        None => Needs::default(),
    };
    needs.records();
    let records = Object::new(record::namespace())?;
    if read_if_allowed(cluster, records.reference())
        .await?
        .is_none()
    {
        needs.new_namespace();
    }
    let written = crds.iter().filter_map(PlannedCrd::written);
    needs.definitions(written.map(Object::name));
    if let Some(deployment) = deployment {
        needs.space();
        if deployment.place.uid.is_none() {
            needs.new_namespace();
        }
        needs.found();
        if cluster.serves(&service_monitor()).await? {
            needs.monitors();
        }
        needs.written(deployment.change.of_operator());
        needs.taken_back(deployment.change.of_operator());
        let inventory = deployment.change.inventory.with(&deployment.change.before);
        needs.carried(inventory.entries.iter());
        if inventory.has_parts() {
            needs.served();
        }
        if deployment.going.has_services() {
            needs.callers();
        }
        if !deployment.change.inventory.cleanup.is_empty() || !inventory.cleanup.is_empty() {
            let (solution, namespace) = (&deployment.solution, deployment.namespace());
            needs.cleanup(Some(&cleanup::reference(solution, namespace)));
        }
        if !deployment.change.stopped().is_empty() {
            needs.stopped();
        }
        of_releases(cluster, deployment, &mut needs).await?;
    }
    deny(cluster, &needs, blockers).await?;
    match deployment {
        Some(deployment) => {
            let objects = deployment.change.objects();
            let objects = objects.chain(deployment.releases.objects());
            let objects: Vec<Object> = objects.cloned().collect();
            check_grants(cluster, &objects, blockers).await
        }
        None => Ok(()),
    }
}

/// Adds the rights that Helm needs for the releases that it changes. Kinds that the deployment itself defines are not
/// served yet, so no rights for them can be checked.
async fn of_releases(
    cluster: &Cluster,
    deployment: &Deployment,
    needs: &mut Needs,
) -> Result<(), Error> {
    for release in deployment
        .releases
        .all
        .iter()
        .filter(|release| release.changes())
    {
        let mut served = Vec::new();
        for object in release.objects.iter().chain(&release.before) {
            let kind = cluster.served(object.gvk()).await?;
            served.extend(kind.map(|kind| (object.reference(), kind)));
        }
        let objects = served.iter().map(|(object, kind)| (*object, kind));
        needs.release(release.recorded.namespace.as_str(), objects);
    }
    Ok(())
}

/// Checks the rights to create a pod that pulls an image.
pub(crate) async fn check_proving(
    cluster: &Cluster,
    namespace: &str,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = Needs::at(namespace);
    needs.proof();
    let wanted: Vec<Access> = needs.wanted().cloned().collect();
    let denied = cluster.denied(&wanted).await?;
    blockers.extend(denied.iter().map(|access| Blocker::ProofDenied {
        right: access.to_string(),
        missing: Box::new(access.into()),
    }));
    Ok(())
}

/// Checks the rights of a namespace administrator to deploy, and to grant the rules in the deployment.
pub(crate) async fn check_alone(
    cluster: &Cluster,
    deployment: &Deployment,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let namespace = deployment.namespace().as_str();
    let mut needs = Needs::at(namespace);
    needs.alone();
    if cluster.serves(&service_monitor()).await? {
        needs.monitors();
    }
    needs.written(deployment.change.of_operator());
    for object in deployment.stale() {
        needs.put_back(object.reference());
    }
    deny(cluster, &needs, blockers).await?;
    let objects: Vec<Object> = deployment.change.objects().cloned().collect();
    check_grants(cluster, &objects, blockers).await
}

/// Returns the missing rights for deploying a version whose record cannot be read, as far as they can be determined
/// without it.
pub(crate) async fn missing_alone(
    cluster: &Cluster,
    namespace: &Namespace,
    record: &ObjectRef,
) -> Result<Vec<Blocker>, Error> {
    let mut needs = Needs::at(namespace.as_str());
    needs.record(record);
    needs.alone();
    needs.operator_objects();
    let mut blockers = Vec::new();
    deny(cluster, &needs, &mut blockers).await?;
    Ok(blockers)
}

/// Checks the rights to remove operators from these namespaces, to remove these objects, and to record the removal.
pub(crate) async fn check_removing<'a>(
    cluster: &Cluster,
    authority: &Authority,
    namespaces: impl Iterator<Item = &'a Namespace>,
    objects: impl Iterator<Item = &'a ObjectRef>,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = Needs::default();
    if let Authority::Cluster = authority {
        needs.records();
    }
    let mut namespaces = namespaces.peekable();
    let monitors = namespaces.peek().is_some() && cluster.serves(&service_monitor()).await?;
    for namespace in namespaces {
        let mut there = Needs::at(namespace.as_str());
        match authority {
            Authority::Cluster => {
                there.left(Some(namespace.as_str()));
                there.found();
            }
            Authority::Namespace(_) => {
                there.alone();
                there.account();
            }
        }
        if monitors {
            there.monitors();
        }
        needs.join(there);
    }
    for object in objects {
        needs.removed(object);
    }
    deny(cluster, &needs, blockers).await
}

/// Checks the rights to remove or release the packaged objects of a deployment.
pub(crate) async fn check_withdrawing<'a>(
    cluster: &Cluster,
    withdrawals: impl Iterator<Item = &'a Withdrawal> + Clone,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = Needs::default();
    for space in withdrawals
        .clone()
        .flat_map(|withdrawal| &withdrawal.released)
    {
        needs.unmarked(space);
    }
    needs.withdrawn(withdrawals.flat_map(|withdrawal| &withdrawal.objects));
    deny(cluster, &needs, blockers).await
}

/// Checks the rights to remove labels from these namespaces.
pub(crate) async fn check_labels<'a>(
    cluster: &Cluster,
    namespaces: impl Iterator<Item = &'a Namespace>,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = Needs::default();
    for namespace in namespaces {
        let mut there = Needs::at(namespace.as_str());
        there.space();
        needs.join(there);
    }
    deny(cluster, &needs, blockers).await
}

/// Checks the rights to apply the cleanup of a Solution, and to grant the rules in it.
pub(crate) async fn check_cleaning(
    cluster: &Cluster,
    solution: &SolutionName,
    namespace: &Namespace,
    kept: &Cleanup,
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = Needs::default();
    needs.cleanup(Some(&cleanup::reference(solution, namespace)));
    needs.carried(kept.steps.iter().map(|step| &step.recorded));
    deny(cluster, &needs, blockers).await?;
    check_grants(cluster, &kept.objects()?, blockers).await
}

/// Reads the state of the cluster for a change that needs these rights. If the state cannot be read, the error lists
/// all missing rights.
pub(crate) async fn state(cluster: &Cluster, needs: &Needs) -> Result<ClusterState, Error> {
    let read = ClusterState::read(cluster).await;
    if let Err(Error::Cluster(kubernetes::Error::Forbidden { .. })) = read {
        let mut blockers = Vec::new();
        deny(cluster, needs, &mut blockers).await?;
        check_free(blockers, &[])?;
    }
    read
}

/// Returns the rights that every change needs.
pub(crate) fn of_change() -> Needs {
    let mut needs = Needs::default();
    needs.state();
    needs.records();
    needs
}

/// Checks the rights to delete an environment with these namespaces. Rights for the objects that are later found in
/// them are not included.
pub(crate) async fn check_ending(
    cluster: &Cluster,
    spaces: &[NamespaceRecord],
    definitions: &[Object],
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    let mut needs = of_change();
    needs.forgetting();
    for space in spaces {
        let mut there = Needs::at(space.namespace.as_str());
        match space.origin {
            Origin::Created => {
                there.no_space();
                there.resources_here(definitions.iter().map(Object::as_value));
            }
            Origin::Adopted => there.released(),
        }
        needs.join(there);
        for object in left_over(cluster, space).await? {
            needs.removed(object.reference());
        }
    }
    if !spaces.is_empty() {
        needs.found_everywhere();
    }
    deny(cluster, &needs, blockers).await
}

/// Returns the cluster-scoped objects that an interrupted removal left of a namespace; none if the user may not list
/// them.
async fn left_over(cluster: &Cluster, space: &NamespaceRecord) -> Result<Vec<Object>, Error> {
    match cluster
        .stale(&inventory::left_over(&space.namespace), &[])
        .await
    {
        Err(kubernetes::Error::Forbidden { .. }) => Ok(Vec::new()),
        found => Ok(found?),
    }
}

/// Checks the rights to grant the rules in roles and bindings. Kubernetes only lets a user grant rights that the user
/// holds, unless the user may `escalate` roles or `bind` to them.
async fn check_grants(
    cluster: &Cluster,
    objects: &[Object],
    blockers: &mut Vec<Blocker>,
) -> Result<(), Error> {
    for object in objects {
        let Some(role) = RoleName::of(object.as_value()) else {
            continue;
        };
        let rules = rules_of(object)?;
        let mut missing: BTreeMap<RulePart, Option<String>> = BTreeMap::new();
        for grant in grants(&role, objects) {
            let place = grant.namespace();
            for part in cluster.missing_grants(grant, &rules).await? {
                let held = missing.entry(part);
                let held = held.or_insert_with(|| place.map(str::to_owned));
                // A rule that is missing in two namespaces must be granted in the whole cluster, so the namespace is
                // dropped.
                *held = held.take().filter(|held| Some(held.as_str()) == place);
            }
        }
        let role = object.reference();
        let grant = |(part, namespace): (RulePart, Option<String>)| Blocker::GrantNotHeld {
            role: role.to_string(),
            right: part.to_string(),
            missing: Box::new(MissingRight { namespace, part }),
        };
        blockers.extend(missing.into_iter().map(grant));
    }
    Ok(())
}

/// Returns the ways in which a role's rules are granted: by the role itself, and by its bindings among these objects.
fn grants<'a>(role: &'a RoleName, objects: &'a [Object]) -> Vec<Grant<'a>> {
    let own = match &role.namespace {
        Some(namespace) => Grant::Role { namespace },
        None => Grant::ClusterRole,
    };
    let bindings = objects.iter();
    let bindings =
        bindings.filter(|binding| RoleName::bound_by(binding.as_value()).as_ref() == Some(role));
    let places: BTreeSet<Option<&str>> = bindings.map(Object::namespace).collect();
    let bound = places.into_iter().map(|place| match place {
        Some(namespace) => Grant::RoleBinding { namespace },
        None => Grant::ClusterRoleBinding,
    });
    [own].into_iter().chain(bound).collect()
}
