//! The API groups that Kubernetes itself serves, and its cluster-scoped resources, as of Kubernetes 1.36. The table is
//! needed where no cluster can be asked, for example while a Solution is packed.

const ADMISSION: &str = "admissionregistration.k8s.io";
const FLOW_CONTROL: &str = "flowcontrol.apiserver.k8s.io";

/// The API group and plural of each resource. A rule for one of them grants nothing if it is bound in a namespace.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("", "componentstatuses"),
    ("", "namespaces"),
    ("", "nodes"),
    ("", "persistentvolumes"),
    (ADMISSION, "mutatingadmissionpolicies"),
    (ADMISSION, "mutatingadmissionpolicybindings"),
    (ADMISSION, "mutatingwebhookconfigurations"),
    (ADMISSION, "validatingadmissionpolicies"),
    (ADMISSION, "validatingadmissionpolicybindings"),
    (ADMISSION, "validatingwebhookconfigurations"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    ("authentication.k8s.io", "selfsubjectreviews"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "selfsubjectaccessreviews"),
    ("authorization.k8s.io", "selfsubjectrulesreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
    ("certificates.k8s.io", "certificatesigningrequests"),
    ("certificates.k8s.io", "clustertrustbundles"),
    (FLOW_CONTROL, "flowschemas"),
    (FLOW_CONTROL, "prioritylevelconfigurations"),
    ("internal.apiserver.k8s.io", "storageversions"),
    ("networking.k8s.io", "ingressclasses"),
    ("networking.k8s.io", "ipaddresses"),
    ("networking.k8s.io", "servicecidrs"),
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "resourcepoolstatusrequests"),
    ("resource.k8s.io", "resourceslices"),
    ("scheduling.k8s.io", "priorityclasses"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
    ("storagemigration.k8s.io", "storageversionmigrations"),
];

/// Cluster-scoped names that occur only in rules, because no objects have them.
const ONLY_IN_RULES: &[(&str, &str)] = &[
    ("", "groups"),
    ("", "users"),
    ("authentication.k8s.io", "groups"),
    ("authentication.k8s.io", "nodes"),
    ("authentication.k8s.io", "uids"),
    ("authentication.k8s.io", "userextras"),
    ("authentication.k8s.io", "users"),
    ("certificates.k8s.io", "signers"),
];

/// Returns whether a resource of Kubernetes is cluster-scoped.
#[must_use]
pub fn is_cluster_scoped(group: &str, plural: &str) -> bool {
    CLUSTER_SCOPED.contains(&(group, plural)) || ONLY_IN_RULES.contains(&(group, plural))
}

/// The API groups that kube-apiserver itself serves (`apiVersionPriorities` of its aggregator, and that of the
/// aggregator).
const GROUPS: &[&str] = &[
    "",
    ADMISSION,
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    FLOW_CONTROL,
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
    "storagemigration.k8s.io",
];

/// Returns whether Kubernetes itself serves an API group. Groups such as `gateway.networking.k8s.io` come with custom
/// resource definitions.
#[must_use]
pub fn is_kubernetes_group(group: &str) -> bool {
    GROUPS.contains(&group)
}
