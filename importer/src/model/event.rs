//! The progress events of an import ([`Event`]). Their JSON form for programs is in schemas/results/event.schema.json.

use std::time::Duration;

use kubernetes::{
    ApplyOutcome, AwaitedCondition, HeldLease, ObjectRef, ObjectStatus, RestartOutcome,
    UnreadyNodes,
};
use schemars::JsonSchema;
use schemas::Version;
use serde::Serialize;

/// One step of an import. The schema has those that programs are told.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event {
    /// The push of all images begins.
    #[serde(skip)]
    Pushing {
        /// The id of the Solution.
        solution: String,
        /// The registry.
        registry: String,
        /// The number of bytes that the registry lacks.
        bytes: u64,
    },
    /// Progress of a blob or manifest.
    #[serde(skip)]
    Push(registry::Event),
    /// All images are pushed.
    #[serde(skip)]
    Pushed,
    /// The command waits for another writer that holds this Lease. The plan may no longer be valid.
    Waiting(HeldLease),
    /// Another writer has changed the cluster since the plan was created. The plan may no longer be valid.
    Overtaken,
    /// An object in the cluster.
    Object {
        /// The reference of the object.
        object: ObjectRef,
        /// The change to the object, if any.
        applied: ApplyOutcome,
    },
    /// An object that is not part of the new version is removed.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// The objects of a CRD are being rewritten in the new storage version.
    Migrated {
        /// The CRD.
        #[serde(rename = "object")]
        crd: ObjectRef,
        /// The number of rewritten objects.
        done: usize,
        /// The total number of objects.
        total: usize,
    },
    /// The command waits for nodes that are not Ready.
    Nodes(UnreadyNodes),
    /// A pod that waited for its image is restarted with the present pull secrets.
    Restart {
        /// The reference of the pod.
        #[serde(rename = "object")]
        pod: ObjectRef,
        /// Whether the user has the right to do so.
        restart: RestartOutcome,
    },
    /// A pod of a failed version blocks the rollback of its `StatefulSet` and is recreated.
    Behind {
        /// The reference of the pod.
        #[serde(rename = "object")]
        pod: ObjectRef,
        /// Whether the user has the right to do so.
        restart: RestartOutcome,
    },
    /// A pod test-pulls an image before the deployment is changed.
    Pulling {
        /// The image.
        image: String,
        /// The architecture of the pod's node; missing if nodes cannot be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        architecture: Option<String>,
        /// The awaited state.
        awaited: AwaitedCondition,
    },
    /// No node of an architecture can run the pod, so the image was not tested on it.
    Unproved {
        /// The architecture.
        architecture: String,
        /// The message of the cluster.
        detail: String,
    },
    /// The rollout of the operator.
    Rollout(ObjectStatus),
    /// The progress of a packaged object.
    #[serde(rename = "standing")]
    ObjectStatus(ObjectStatus),
    /// Helm starts to change a release.
    Release {
        /// The release.
        release: String,
        /// The change.
        #[serde(flatten)]
        change: ReleaseChange,
    },
    /// Helm runs, and has so long to end by itself once it is asked to.
    #[serde(skip)]
    HelmRuns(Duration),
    /// Helm has ended.
    #[serde(skip)]
    HelmEnded(HelmEnd),
    /// A request of Helm that is not in the plan was rejected.
    Refused {
        /// The release.
        release: String,
        /// The rejected request.
        why: String,
    },
    /// The operator did not become ready and is rolled back.
    RollingBack {
        /// The previous version.
        version: Version,
    },
}

/// The way in which a run of Helm ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelmEnd {
    /// Helm ended by itself, with any result.
    Itself,
    /// Helm ended within its time limit after it was asked to.
    Asked,
    /// Helm was killed or abandoned, and its release is incomplete.
    Killed,
}

/// The change that Helm is to make to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "change", content = "revision", rename_all = "camelCase")]
pub enum ReleaseChange {
    /// It is installed.
    Installing,
    /// It is upgraded.
    Upgrading,
    /// It is rolled back to this revision.
    RollingBack(u32),
    /// It is uninstalled.
    Uninstalling,
}
