//! Which rights an import needs, asked for before anything is written: to read what the plan is made from, to write
//! each object, and to grant each rule that the operator gets.

use std::collections::BTreeSet;

use deployer::{Access, Cluster, Grant, Gvk, ObjectRef, PolicyRule, RulePart};
use schemas::SolutionName;

use crate::model::error::Error;
use crate::model::inventory::inventory;
use crate::model::obstacle::Obstacle;
use crate::model::vocabulary as v;
use crate::plan::decision::PlannedCrd;
use crate::plan::deployment::Deployment;

/// What writing an object takes.
const PUT: [&str; 3] = ["get", "create", "patch"];

/// What holding the Lease takes.
const LEASE: [&str; 3] = ["get", "create", "update"];

/// What the plan itself reads.
pub(crate) async fn check_reading(
    cluster: &Cluster,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let list = |group, resource| Access::new("list", group, resource);
    let wanted = [
        list("", "configmaps").namespace(v::RECORDS_NAMESPACE),
        list("", "nodes"),
        list("apiextensions.k8s.io", "customresourcedefinitions"),
    ];
    deny(cluster, &wanted, obstacles).await
}

/// What applying the plan writes, and the rules that it grants.
pub(crate) async fn check_writing(
    cluster: &Cluster,
    solution: &SolutionName,
    crds: &[PlannedCrd],
    deployment: Option<&Deployment>,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let mut wanted = BTreeSet::new();
    let mut want = |verbs: &[&'static str], kind: &Gvk, namespace: Option<&str>| {
        let at = (
            kind.group.clone(),
            resource(&kind.kind),
            namespace.map(str::to_owned),
        );
        wanted.extend(verbs.iter().map(|verb| (at.clone(), *verb)));
    };
    let records = Some(v::RECORDS_NAMESPACE);
    let leases = Gvk::new("coordination.k8s.io/v1", "Lease");
    want(&PUT, &Gvk::new("v1", "ConfigMap"), records);
    want(&PUT, &Gvk::new("v1", "Namespace"), None);
    want(&LEASE, &leases, records);
    let written = crds.iter().filter_map(PlannedCrd::written);
    let objects = deployment
        .into_iter()
        .flat_map(|deployment| &deployment.objects);
    for object in written.chain(objects) {
        want(&PUT, object.gvk(), object.namespace());
    }
    // What a former version had is listed, and removed or put back.
    for scope in deployment
        .into_iter()
        .flat_map(|deployment| inventory(solution, &deployment.namespace))
    {
        for kind in &scope.kinds {
            if cluster.serves(kind).await? {
                want(&["list", "delete"], kind, scope.namespace.as_deref());
            }
        }
    }
    let access = |((group, resource, namespace), verb): ((String, &str, Option<String>), &str)| {
        let access = Access::new(verb, &group, resource);
        Access {
            namespace,
            ..access
        }
    };
    let wanted: Vec<Access> = wanted.into_iter().map(access).collect();
    deny(cluster, &wanted, obstacles).await?;
    if let Some(deployment) = deployment {
        check_grants(cluster, deployment, obstacles).await?;
    }
    Ok(())
}

/// What removing these objects takes, and noting that they are gone.
pub(crate) async fn check_removing<'a>(
    cluster: &Cluster,
    objects: impl Iterator<Item = &'a ObjectRef>,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let access = |verb, kind: &Gvk, namespace: Option<&String>| Access {
        namespace: namespace.cloned(),
        ..Access::new(verb, &kind.group, resource(&kind.kind))
    };
    let mut wanted = BTreeSet::new();
    for object in objects {
        let namespace = object.namespace.as_ref();
        wanted.extend(["get", "delete"].map(|verb| access(verb, &object.gvk, namespace)));
    }
    let records = v::RECORDS_NAMESPACE.to_owned();
    let maps = Gvk::new("v1", "ConfigMap");
    let leases = Gvk::new("coordination.k8s.io/v1", "Lease");
    wanted.extend(PUT.map(|verb| access(verb, &maps, Some(&records))));
    wanted.extend(LEASE.map(|verb| access(verb, &leases, Some(&records))));
    let wanted: Vec<Access> = wanted.into_iter().collect();
    deny(cluster, &wanted, obstacles).await
}

/// The resource of each kind that an import writes. Discovery would know too, but not without a request for each.
fn resource(kind: &str) -> &'static str {
    match kind {
        "ServiceAccount" => "serviceaccounts",
        "Role" => "roles",
        "RoleBinding" => "rolebindings",
        "ClusterRole" => "clusterroles",
        "ClusterRoleBinding" => "clusterrolebindings",
        "ConfigMap" => "configmaps",
        "Secret" => "secrets",
        "Deployment" => "deployments",
        "Service" => "services",
        "ServiceMonitor" => "servicemonitors",
        "CustomResourceDefinition" => "customresourcedefinitions",
        "Namespace" => "namespaces",
        "Lease" => "leases",
        other => unreachable!("an import writes no {other}"),
    }
}

async fn deny(
    cluster: &Cluster,
    wanted: &[Access],
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let denied = cluster.denied(wanted).await?;
    let denied = denied.iter().map(ToString::to_string);
    obstacles.extend(denied.map(Obstacle::Denied));
    Ok(())
}

/// Kubernetes lets nobody grant what he does not hold, unless he may `escalate` to write it and `bind` to give it away.
async fn check_grants(
    cluster: &Cluster,
    deployment: &Deployment,
    obstacles: &mut Vec<Obstacle>,
) -> Result<(), Error> {
    let namespace = deployment.namespace.as_str();
    for object in &deployment.objects {
        let grants = match object.gvk().kind.as_str() {
            "Role" => [Grant::Role { namespace }, Grant::RoleBinding { namespace }],
            "ClusterRole" if deployment.binds_everywhere(object) => {
                [Grant::ClusterRole, Grant::ClusterRoleBinding]
            }
            "ClusterRole" => [Grant::ClusterRole, Grant::RoleBinding { namespace }],
            _ => continue,
        };
        let rules: Vec<PolicyRule> = serde_json::from_value(object.as_value()["rules"].clone())
            .map_err(|source| Error::Rules {
                object: object.reference().to_string(),
                source: Box::new(source),
            })?;
        let mut missing = BTreeSet::new();
        for grant in grants {
            missing.extend(cluster.missing_grants(grant, &rules).await?);
        }
        let role = object.reference();
        let grant = |part: RulePart| Obstacle::Grant(role.to_string(), part.to_string());
        obstacles.extend(missing.into_iter().map(grant));
    }
    Ok(())
}
