//! The table of dangerous rights, which allow more than their names suggest.
//!
//! Kubernetes does not let users create roles with rights that they do not have. Still, some rights have further
//! effects: the right to run commands in a pod gives the rights of its ServiceAccount, and the right to change the
//! labels of a namespace disables its PodSecurity level. See "Role Based Access Control Good Practices" in the
//! Kubernetes documentation.

use crate::document::{ADMISSION, RBAC};
use crate::rbac::part::{ALL, Resource, RightPart, Target};
use crate::rbac::right::{Right, Targets};

/// A danger of having certain rights.
#[derive(Debug)]
pub struct Danger {
    /// The name in the table, in lower case with hyphens.
    pub id: &'static str,
    /// The consequence, as a continuation of "lets it": `run commands in the pods of others`.
    pub words: &'static str,
    /// The places in which the right is dangerous.
    pub when: DangerScope,
    named: NameDanger,
    by: &'static [DangerousRights],
}

/// The places in which a right is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DangerScope {
    /// All places.
    Always,
    /// Namespaces that contain other workloads. In its own namespace, an operator needs the right for its ordinary
    /// work.
    Shared,
}

/// The effect of restricting a right to named objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameDanger {
    Dangerous,
    Harmless,
}

/// Rights of which each verb on each resource is sufficient for a danger.
#[derive(Debug)]
struct DangerousRights {
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
}

const fn on(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
) -> DangerousRights {
    DangerousRights {
        group,
        resources,
        verbs,
    }
}

const fn danger(id: &'static str, words: &'static str, by: &'static [DangerousRights]) -> Danger {
    Danger {
        id,
        words,
        when: DangerScope::Always,
        named: NameDanger::Dangerous,
        by,
    }
}

impl Danger {
    const fn harmless_when_named(mut self) -> Self {
        self.named = NameDanger::Harmless;
        self
    }

    const fn when_shared(mut self) -> Self {
        self.when = DangerScope::Shared;
        self
    }
}

const AUTHENTICATION: &str = "authentication.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "update", "patch"];
const CHANGE: &[&str] = &["update", "patch"];
/// The verbs of constrained impersonation (KEP 5284, beta in Kubernetes 1.36).
const IMPERSONATE_IN_PART: &[&str] = &[
    "impersonate:user-info",
    "impersonate:serviceaccount",
    "impersonate:arbitrary-node",
    "impersonate:associated-node",
];
const WRITE_OR_REMOVE: &[&str] = &["create", "update", "patch", "delete", "deletecollection"];

/// The id of the danger of starting pods.
const WORKLOADS: &str = "workloads";
/// The rights to create or change the accounts that pods run as.
static ACCOUNTS: Danger = danger("accounts", "", &[on("", &["serviceaccounts"], WRITE)]);

/// The dangers, from the most to the least severe.
static TABLE: &[Danger] = &[
    danger(
        "everything",
        "do all that an administrator can",
        &[on(ALL, &[ALL], &[ALL])],
    ),
    danger(
        "escalate",
        "give itself any right",
        &[on(RBAC, &["roles", "clusterroles"], &["escalate", "bind"])],
    ),
    danger(
        "impersonate",
        "act as somebody else",
        &[
            on(
                "",
                &["users", "groups", "serviceaccounts"],
                &["impersonate"],
            ),
            on(AUTHENTICATION, &["uids", "userextras/*"], &["impersonate"]),
            on(
                AUTHENTICATION,
                &["users", "groups", "serviceaccounts", "nodes"],
                IMPERSONATE_IN_PART,
            ),
        ],
    ),
    danger(
        "namespaces",
        "lift PodSecurity, move a namespace into another environment, or delete all that is in it",
        &[on(
            "",
            &["namespaces", "namespaces/status", "namespaces/finalize"],
            &["update", "patch", "delete"],
        )],
    ),
    danger(
        "node-proxy",
        "run commands in every pod of a node, and no audit log tells",
        &[on("", &["nodes/proxy"], &["get", "create"])],
    ),
    danger(
        "admission",
        "read and change what others write, or lift the checks of the cluster",
        &[on(
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
    danger(
        "api-services",
        "answer in place of the API server",
        &[on(
            "apiregistration.k8s.io",
            &["apiservices", "apiservices/status"],
            WRITE_OR_REMOVE,
        )],
    ),
    danger(
        "certificates",
        "have certificates made in anybody's name",
        &[on(
            "certificates.k8s.io",
            &["certificatesigningrequests/approval"],
            CHANGE,
        )],
    ),
    // Approving certificates for its own signers is the ordinary work of a signer's operator.
    danger(
        "signers",
        "have certificates made in anybody's name",
        &[on("certificates.k8s.io", &["signers"], &["approve"])],
    )
    .harmless_when_named(),
    danger(
        "tokens",
        "act as any ServiceAccount there",
        &[on("", &["serviceaccounts/token"], &["create"])],
    ),
    danger(
        "secrets-read",
        "read every password, key and token there",
        &[on("", &["secrets"], READ)],
    )
    .harmless_when_named(),
    danger(
        "exec",
        "run commands in the pods of others, and reach their closed ports",
        &[
            on(
                "",
                &["pods/exec", "pods/attach", "pods/portforward"],
                &["get", "create"],
            ),
            on("", &["pods/ephemeralcontainers"], CHANGE),
        ],
    ),
    danger(
        "secrets-write",
        "replace passwords and keys, and have tokens made for any ServiceAccount there",
        &[on("", &["secrets"], WRITE)],
    )
    .harmless_when_named(),
    danger(
        "roles",
        "hand its rights to others, who keep them when it is gone",
        &[on(
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
    danger(
        "volumes",
        "mount the files of a node (hostPath)",
        &[on("", &["persistentvolumes"], WRITE)],
    ),
    danger(
        "nodes",
        "drive the pods of others from their nodes, or draw them to one",
        &[on(
            "",
            &["nodes", "nodes/status"],
            &["update", "patch", "delete", "deletecollection"],
        )],
    ),
    danger(
        "CRDs",
        "change what others define, and delete all objects of it",
        &[on(
            "apiextensions.k8s.io",
            &[
                "customresourcedefinitions",
                "customresourcedefinitions/status",
            ],
            WRITE_OR_REMOVE,
        )],
    ),
    danger(
        "storage-drivers",
        "have the tokens of pods handed to a driver of its choice",
        &[on("storage.k8s.io", &["csidrivers"], WRITE_OR_REMOVE)],
    ),
    danger(
        "priorities",
        "have the pods of others give way to its own",
        &[on("scheduling.k8s.io", &["priorityclasses"], WRITE)],
    ),
    danger(
        WORKLOADS,
        "run programs as any ServiceAccount there, with any Secret and volume",
        &[
            on("", &["pods", "replicationcontrollers"], WRITE),
            on(
                "apps",
                &["deployments", "daemonsets", "statefulsets", "replicasets"],
                WRITE,
            ),
            on("batch", &["jobs", "cronjobs"], WRITE),
        ],
    )
    .when_shared(),
];

impl Danger {
    fn is_given_by(&self, right: &Right) -> bool {
        let Targets::Resource {
            group,
            resource,
            names,
        } = &right.object
        else {
            return false;
        };
        if self.named == NameDanger::Harmless && !names.is_empty() {
            return false;
        }
        let resource = Resource::new(resource);
        self.by.iter().any(|wanted| {
            covers(group, wanted.group)
                && wanted.resources.iter().any(|text| {
                    let wanted_resource = Resource::new(text);
                    is_covered(wanted_resource, resource)
                        && wanted
                            .verbs
                            .iter()
                            .any(|verb| right.has(wanted.group, wanted_resource, verb))
                })
        })
    }
}

impl Right {
    /// Returns the most severe danger of the right, if there is one in the table.
    #[must_use]
    pub fn danger(&self) -> Option<&'static Danger> {
        TABLE.iter().find(|danger| danger.is_given_by(self))
    }

    /// Checks whether the right allows creating pods, or accounts that pods run as.
    #[must_use]
    pub fn makes_pods(&self) -> bool {
        let workloads = TABLE.iter().filter(|danger| danger.id == WORKLOADS);
        let mut making = workloads.chain([&ACCOUNTS]);
        making.any(|danger| danger.is_given_by(self))
    }

    /// Checks whether the right includes a verb on a resource that can be granted in its reach.
    fn has(&self, group: &str, resource: Resource<'_>, verb: &str) -> bool {
        let thing = Target::Resource {
            group,
            resource,
            name: None,
        };
        let part = RightPart {
            reach: &self.reach,
            thing,
            verb,
        };
        self.verbs.iter().any(|held| covers(held, verb)) && part.is_granted()
    }
}

/// Checks whether a right for `held` includes `wanted`. In the table, `userextras/*` is any subresource, but in a rule
/// it is not a wildcard.
fn is_covered(wanted: Resource<'_>, held: Resource<'_>) -> bool {
    let any_sub = wanted.sub == Some(ALL) && held.sub.is_some() && wanted.plural == held.plural;
    any_sub || wanted.wider().contains(&held)
}

fn covers(held: &str, wanted: &str) -> bool {
    held == ALL || held == wanted
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::{Reach, rights};

    /// Returns the dangers of one rule, in the order of its rights.
    fn ids(rule: &Value, reach: &Reach) -> Vec<&'static str> {
        let document = json!({"kind": "ClusterRole", "rules": [rule]});
        let rights = rights(&document, reach).unwrap();
        let dangers = rights.iter().filter_map(Right::danger);
        dangers.map(|danger| danger.id).collect()
    }

    fn rule(group: &str, resource: &str, verb: &str) -> Value {
        json!({"apiGroups": [group], "resources": [resource], "verbs": [verb]})
    }

    fn prod() -> Reach {
        Reach::Namespace("prod".to_owned())
    }

    #[test]
    fn every_row_is_found_by_its_own_grants() {
        let found: BTreeSet<&str> = TABLE.iter().map(|danger| danger.id).collect();
        assert_eq!(found.len(), TABLE.len(), "ids are unique");
        for danger in TABLE {
            for grant in danger.by {
                for resource in grant.resources {
                    let resource = resource.replace("/*", "/anything");
                    for verb in grant.verbs {
                        let rule = rule(grant.group, &resource, verb);
                        assert_eq!(ids(&rule, &Reach::Cluster), [danger.id], "{rule}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_wildcard_has_the_gravest_danger_of_what_it_covers() {
        for (rule, here, everywhere) in [
            (rule("*", "*", "*"), "everything", "everything"),
            (rule("", "*", "*"), "impersonate", "impersonate"),
            (rule("", "*", "patch"), "namespaces", "namespaces"),
            (rule("*", "*", "get"), "secrets-read", "node-proxy"),
            (rule("*", "*", "list"), "secrets-read", "secrets-read"),
            (rule("*", "*/status", "update"), "namespaces", "namespaces"),
            (rule("", "*/token", "create"), "tokens", "tokens"),
            (rule("apps", "*", "*"), "workloads", "workloads"),
            (
                rule("rbac.authorization.k8s.io", "*", "*"),
                "escalate",
                "escalate",
            ),
        ] {
            assert_eq!(ids(&rule, &prod()), [here], "{rule}");
            assert_eq!(ids(&rule, &Reach::Cluster), [everywhere], "{rule}");
        }
        assert!(ids(&rule("admissionregistration.k8s.io", "*", "*"), &prod()).is_empty());
    }

    #[test]
    fn ordinary_work_is_no_danger() {
        for rule in [
            rule("", "configmaps", "*"),
            rule("", "services", "create"),
            rule("", "pods", "get"),
            rule("", "pods/log", "get"),
            rule("", "secrets", "delete"),
            rule("", "namespaces", "get"),
            rule("", "namespaces", "list"),
            rule("", "nodes", "list"),
            rule("apps", "deployments/scale", "patch"),
            rule("coordination.k8s.io", "leases", "*"),
            rule("example.test", "*", "*"),
            rule("example.test", "secrets", "*"),
            // In a rule, this is not a wildcard.
            rule("", "pods/*", "create"),
        ] {
            for reach in [prod(), Reach::Cluster] {
                assert!(ids(&rule, &reach).is_empty(), "{rule}");
            }
        }
    }

    #[test]
    fn naming_objects_helps_where_it_narrows() {
        let named = |group, resource, verb| {
            let mut rule = rule(group, resource, verb);
            rule["resourceNames"] = json!(["one"]);
            ids(&rule, &prod())
        };
        assert!(named("", "secrets", "get").is_empty());
        assert!(named("", "secrets", "update").is_empty());
        assert_eq!(named("", "namespaces", "patch"), ["namespaces"]);
        assert_eq!(named("", "serviceaccounts", "impersonate"), ["impersonate"]);
    }

    #[test]
    fn what_makes_pods_is_known_whatever_else_it_does() {
        let workloads = TABLE.iter().find(|danger| danger.id == "workloads");
        let makes = |rule: Value| {
            let document = json!({"kind": "Role", "rules": [rule]});
            let rights = rights(&document, &prod()).unwrap();
            workloads.unwrap().is_given_by(&rights[0])
        };
        assert!(makes(rule("*", "*", "*")));
        assert!(makes(rule("", "*", "create")));
        assert!(makes(rule("batch", "cronjobs", "patch")));
        assert!(!makes(rule("batch", "cronjobs", "delete")));
        assert!(!makes(rule("apps", "deployments/scale", "patch")));
    }
}
