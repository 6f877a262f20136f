//! A plan in words, for people and for programs.

use deployer::{Applied, Cluster, Object, ObjectRef, Trial};
use schemas::Version;
use serde::Serialize;

use crate::images::Images;
use crate::obstacle::Obstacle;
use crate::plan::Deployment;
use crate::record::Record;
use crate::request::Request;

/// What an import would do, for people and for programs.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The kubeconfig's context.
    pub context: Option<String>,
    /// The API server.
    pub server: String,
    /// The version of Kubernetes.
    pub kubernetes: String,
    /// The Solution id.
    pub solution: String,
    /// SHA-256 of the signed statement.
    pub archive_id: String,
    /// Where images are pushed.
    pub registry: String,
    /// Where nodes pull them from.
    pub pull_registry: String,
    /// Images in the archive.
    pub images: usize,
    /// Images that the registry has already.
    pub images_present: usize,
    /// Bytes of all distinct blobs.
    pub bytes: u64,
    /// Bytes that the registry lacks.
    pub bytes_to_push: u64,
    /// Whether the version is recorded already.
    pub recorded: bool,
    /// What becomes of each CRD.
    pub crds: Vec<PlannedObject>,
    /// The environment and namespace, when the operator is deployed.
    pub target: Option<PlannedTarget>,
    /// Worth knowing, and no reason to stop.
    pub notes: Vec<String>,
}

/// An object, and what would become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedObject {
    /// Which.
    pub object: String,
    /// `create`, `change`, `keep`, …
    pub action: String,
    /// The fields that would change.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

/// Where the operator would run.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedTarget {
    /// The environment.
    pub environment: String,
    /// The namespace.
    pub namespace: String,
    /// The version that runs there now.
    pub running: Option<Version>,
    /// The objects of the operator.
    pub objects: Vec<PlannedObject>,
}

pub(crate) fn summary(
    cluster: &Cluster,
    request: &Request,
    record: &Record,
    images: &Images,
) -> Summary {
    Summary {
        context: cluster.context().map(str::to_owned),
        server: cluster.server().to_owned(),
        kubernetes: cluster.version().text.clone(),
        solution: format!("{}-{}", record.name, record.version),
        archive_id: record.archive_id.to_string(),
        registry: request.registry.to_string(),
        pull_registry: request.pull_registry.to_string(),
        images: images.count,
        images_present: images.present,
        bytes: images.total_bytes,
        bytes_to_push: images.missing_bytes,
        recorded: false,
        crds: Vec::new(),
        target: None,
        notes: Vec::new(),
    }
}

pub(crate) fn planned(object: &ObjectRef, trial: Trial) -> Result<PlannedObject, Obstacle> {
    let (action, changes) = match trial {
        Trial::Would {
            applied: Applied::Created,
            ..
        }
        | Trial::Later { .. } => ("create", Vec::new()),
        Trial::Would {
            applied: Applied::Changed,
            changes,
        } => ("change", changes),
        Trial::Would {
            applied: Applied::Unchanged,
            ..
        } => ("keep", Vec::new()),
        Trial::Refused(error) => {
            let fix = "the cluster's own rules refuse it: see its message, or ask whoever keeps the cluster";
            return Err(Obstacle::no(
                format!("the cluster refuses {object}: {error}"),
                fix,
            ));
        }
    };
    Ok(PlannedObject {
        object: object.to_string(),
        action: action.to_owned(),
        changes: changes.into_iter().map(|change| change.path).collect(),
    })
}

/// A CRD that a newer version wrote and that stays.
pub(crate) fn kept(crd: &Object, newer: &Version) -> PlannedObject {
    PlannedObject {
        object: crd.reference().to_string(),
        action: format!("keep version {newer} of"),
        changes: Vec::new(),
    }
}

pub(crate) fn planned_target(deployment: &Deployment) -> PlannedTarget {
    PlannedTarget {
        environment: deployment.target.environment.to_string(),
        namespace: deployment.target.namespace.to_string(),
        running: deployment.previous.clone(),
        objects: Vec::new(),
    }
}
