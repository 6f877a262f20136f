//! The events that are told of an import while it goes on. As JSON, other programs read them:
//! schemas/results/event.schema.json.

use std::time::Duration;

use deployer::{Applied, Awaited, HeldLease, ObjectRef, Restart, Standing, UnreadyNodes};
use schemars::JsonSchema;
use schemas::Version;
use serde::Serialize;

/// One step of an import. The schema has those that programs are told.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum Event {
    /// Something about a blob or manifest.
    #[serde(skip)]
    Push(registry::Event),
    /// All images are in place.
    #[serde(skip)]
    Pushed,
    /// Another writer is waited for, who holds this Lease. What was planned before may not hold any more.
    Waiting(HeldLease),
    /// Somebody else has changed the cluster since it was planned. What was planned may not hold any more.
    Overtaken,
    /// An object of the cluster.
    Object {
        /// The reference of the object.
        object: ObjectRef,
        /// The change that the object went through, if any.
        applied: Applied,
    },
    /// An object that the new version no longer has is removed.
    Removed {
        /// The object.
        object: ObjectRef,
    },
    /// So many objects of a CRD are stored anew.
    Migrated {
        /// The CRD.
        #[serde(rename = "object")]
        crd: ObjectRef,
        /// The number of objects that are done.
        done: usize,
        /// The number of objects in all.
        total: usize,
    },
    /// Nodes are waited for that are not Ready.
    Nodes(UnreadyNodes),
    /// A pod that waited for its image is to be started anew, with the pull secrets of now.
    Restart {
        /// The reference of the pod.
        #[serde(rename = "object")]
        pod: ObjectRef,
        /// Whether we may.
        restart: Restart,
    },
    /// A pod of a version that failed keeps its `StatefulSet` from the version that it goes back to, and is to be made anew.
    Behind {
        /// The reference of the pod.
        #[serde(rename = "object")]
        pod: ObjectRef,
        /// Whether we may.
        restart: Restart,
    },
    /// A pod pulls an image, before anything of the deployment is changed.
    Pulling {
        /// The image.
        image: String,
        /// The architecture of the pod's node; none where nodes cannot be seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        architecture: Option<String>,
        /// The state that is waited for.
        awaited: Awaited,
    },
    /// No node of an architecture takes the pod, so that nothing is known of the image there.
    Unproved {
        /// The architecture.
        architecture: String,
        /// The cluster's own words.
        detail: String,
    },
    /// The operator is on its way.
    Rollout(Standing),
    /// The progress of an object that is carried as it is.
    Standing(Standing),
    /// Helm begins to change a release.
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
    /// Helm was about to do something to a release that was not planned, and was refused.
    Refused {
        /// The release.
        release: String,
        /// What was refused.
        why: String,
    },
    /// The operator did not become ready; what ran before is put back.
    RollingBack {
        /// The version that ran before.
        version: Version,
    },
}

/// The way in which a run of Helm has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelmEnd {
    /// It came to its end, whatever that was.
    Itself,
    /// It was asked to, and had its time for that.
    Asked,
    /// It was killed, or nobody waits for it any more: its release is half done.
    Killed,
}

/// The change that Helm is to make to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "change", content = "revision", rename_all = "camelCase")]
pub enum ReleaseChange {
    /// It is new.
    Installing,
    /// It gets another revision.
    Upgrading,
    /// It goes back to this revision.
    RollingBack(u32),
    /// It goes.
    Uninstalling,
}
