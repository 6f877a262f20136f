//! What rights make possible beyond what they say: the one table.
//!
//! Kubernetes lets nobody write a role with more rights than he holds, but some rights reach further than their words:
//! who runs commands in a pod acts as its ServiceAccount, and who changes a namespace's labels lifts its PodSecurity.
//! See "Role Based Access Control Good Practices" in the documentation of Kubernetes.

use super::part::{ALL, Part, Resource, Thing};
use super::right::{Object, Reach, Right};

/// What having a right makes possible.
#[derive(Debug)]
pub struct Danger {
    /// Its name in the table: lower case, words joined by hyphens.
    pub id: &'static str,
    /// What one who has it can do, to be read after "lets it": `run commands in the pods of others`.
    pub words: &'static str,
    /// Whether it is one at all times.
    pub when: When,
    named: Named,
    by: &'static [Grant],
}

/// When a right is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Only in a namespace in which others run too; an operator's ordinary work in its own.
    Shared,
}

/// Whether a right for objects of some names is as dangerous as one for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    Dangerous,
    Harmless,
}

/// One verb on one resource is enough.
#[derive(Debug)]
struct Grant {
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

const fn grant(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> Grant {
    Grant {
        group,
        resources,
        verbs,
    }
}

const fn danger(id: &'static str, words: &'static str, by: &'static [Grant]) -> Danger {
    Danger {
        id,
        words,
        when: When::Always,
        named: Named::Dangerous,
        by,
    }
}

impl Danger {
    const fn harmless_when_named(mut self) -> Self {
        self.named = Named::Harmless;
        self
    }

    const fn when_shared(mut self) -> Self {
        self.when = When::Shared;
        self
    }
}

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch"];
const CHANGE: &[&str] = &["update", "patch"];
const WRITE_OR_REMOVE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];

pub(super) static WORKLOADS: Danger = danger(
    "workloads",
    "run programs as any ServiceAccount there, with any Secret and volume",
    &[
        grant("", &["pods", "replicationcontrollers"], WRITE),
        grant(
            "apps",
            &["deployments", "daemonsets", "statefulsets", "replicasets"],
            WRITE,
        ),
        grant("batch", &["jobs", "cronjobs"], WRITE),
    ],
)
.when_shared();

/// The gravest first.
pub(super) static TABLE: &[&Danger] = &[
    &danger(
        "everything",
        "do all that an administrator can",
        &[grant(ALL, &[ALL], &[ALL])],
    ),
    &danger(
        "escalate",
        "give itself any right",
        &[grant(
            RBAC,
            &["roles", "clusterroles"],
            &["escalate", "bind"],
        )],
    ),
    &danger(
        "impersonate",
        "act as somebody else",
        &[
            grant(
                "",
                &["users", "groups", "serviceaccounts"],
                &["impersonate"],
            ),
            grant(AUTHENTICATION, &["uids", "userextras"], &["impersonate"]),
        ],
    ),
    &danger(
        "namespaces",
        "lift PodSecurity, move a namespace into another environment, or delete all that is in it",
        &[grant(
            "",
            &["namespaces", "namespaces/status", "namespaces/finalize"],
            &["update", "patch", "delete"],
        )],
    ),
    &danger(
        "node-proxy",
        "run commands in every pod of a node, and no audit log tells",
        &[grant("", &["nodes/proxy"], &["get", "create"])],
    ),
    &danger(
        "admission",
        "read and change what others write, or lift the checks of the cluster",
        &[grant(
            ADMISSION,
            &[
                "mutatingwebhookconfigurations",
                "validatingwebhookconfigurations",
                "mutatingadmissionpolicies",
                "mutatingadmissionpolicybindings",
                "validatingadmissionpolicies",
                "validatingadmissionpolicybindings",
            ],
            WRITE_OR_REMOVE,
        )],
    ),
    &danger(
        "api-services",
        "answer in place of the API server",
        &[grant(
            "apiregistration.k8s.io",
            &["apiservices", "apiservices/status"],
            WRITE_OR_REMOVE,
        )],
    ),
    &danger(
        "certificates",
        "have certificates made in anybody's name",
        &[
            grant(
                "certificates.k8s.io",
                &[
                    "certificatesigningrequests/approval",
                    "certificatesigningrequests/status",
                ],
                CHANGE,
            ),
            grant("certificates.k8s.io", &["signers"], &["approve", "sign"]),
        ],
    ),
    &danger(
        "tokens",
        "act as any ServiceAccount there",
        &[grant("", &["serviceaccounts/token"], &["create"])],
    ),
    &danger(
        "exec",
        "run commands in the pods of others, and reach their closed ports",
        &[
            grant(
                "",
                &["pods/exec", "pods/attach", "pods/portforward"],
                &["get", "create"],
            ),
            grant("", &["pods/ephemeralcontainers"], CHANGE),
        ],
    ),
    &danger(
        "secrets-read",
        "read every password, key and token there",
        &[grant("", &["secrets"], READ)],
    )
    .harmless_when_named(),
    &danger(
        "secrets-write",
        "replace passwords and keys, and have tokens made for any ServiceAccount there",
        &[grant("", &["secrets"], WRITE)],
    )
    .harmless_when_named(),
    &danger(
        "roles",
        "hand its rights to others, who keep them when it is gone",
        &[grant(
            RBAC,
            &[
                "roles",
                "clusterroles",
                "rolebindings",
                "clusterrolebindings",
            ],
            WRITE,
        )],
    ),
    &danger(
        "volumes",
        "mount the files of a node (hostPath)",
        &[grant("", &["persistentvolumes"], WRITE)],
    ),
    &danger(
        "nodes",
        "drive the pods of others from their nodes, or draw them to one",
        &[grant("", &["nodes", "nodes/status"], WRITE_OR_REMOVE)],
    ),
    &danger(
        "definitions",
        "change what others define, and delete all objects of it",
        &[grant(
            "apiextensions.k8s.io",
            &[
                "customresourcedefinitions",
                "customresourcedefinitions/status",
            ],
            WRITE_OR_REMOVE,
        )],
    ),
    &danger(
        "storage-drivers",
        "have the tokens of pods handed to a driver of its choice",
        &[grant("storage.k8s.io", &["csidrivers"], WRITE_OR_REMOVE)],
    ),
    &danger(
        "priorities",
        "have the pods of others give way to its own",
        &[grant("scheduling.k8s.io", &["priorityclasses"], WRITE)],
    ),
    &WORKLOADS,
];

impl Danger {
    pub(super) fn is_given_by(&self, right: &Right) -> bool {
        let Object::Resource {
            group,
            resource,
            names,
        } = &right.object
        else {
            return false;
        };
        if self.named == Named::Harmless && !names.is_empty() {
            return false;
        }
        self.by.iter().any(|wanted| {
            covers(group, wanted.group)
                && wanted.resources.iter().any(|wanted_resource| {
                    let wanted_resource = Resource::new(wanted_resource);
                    wanted_resource.wider().contains(&Resource::new(resource))
                        && wanted.verbs.iter().any(|verb| {
                            right.verbs.iter().any(|held| covers(held, verb))
                                && is_in_reach(&right.reach, wanted.group, wanted_resource, verb)
                        })
                })
        })
    }
}

fn covers(held: &str, wanted: &str) -> bool {
    held == ALL || held == wanted
}

fn is_in_reach(reach: &Reach, group: &str, resource: Resource<'_>, verb: &str) -> bool {
    let thing = Thing::Resource {
        group,
        resource,
        name: None,
    };
    Part { reach, thing, verb }.is_granted()
}
