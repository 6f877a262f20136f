//! The built-in kinds that the API server of each Kubernetes version serves by default, for renderings without a
//! cluster. The list contains the stable kinds, and the betas that were enabled by default.
//!
//! Sources: `APILifecycleIntroduced` and `APILifecycleRemoved` of each type in `k8s.io/api`, and
//! `api/discovery/aggregated_v2.json` of Kubernetes 1.36.2. Betas since 1.24 are disabled by default (KEP-3136), unless
//! an older beta of the same API was enabled.

use std::ops::Range;

use crate::kinds::ObjectKinds;

/// The kinds of an API version in a range of minor versions of Kubernetes.
struct ServedVersion {
    minors: Range<u32>,
    api_version: &'static str,
    kinds: &'static str,
}

const fn served(
    minors: Range<u32>,
    api_version: &'static str,
    kinds: &'static str,
) -> ServedVersion {
    ServedVersion {
        minors,
        api_version,
        kinds,
    }
}

/// The end of the range for kinds that are still served.
const STILL: u32 = u32::MAX;

const SERVED: &[ServedVersion] = &[
    served(
        0..STILL,
        "v1",
        "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume \
         PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount",
    ),
    served(
        0..STILL,
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    ),
    served(
        30..STILL,
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    ),
    served(
        36..STILL,
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
    ),
    served(
        0..STILL,
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
    ),
    served(0..STILL, "apiregistration.k8s.io/v1", "APIService"),
    served(
        0..STILL,
        "apps/v1",
        "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    ),
    served(0..STILL, "authentication.k8s.io/v1", "TokenReview"),
    served(28..STILL, "authentication.k8s.io/v1", "SelfSubjectReview"),
    served(
        0..STILL,
        "authorization.k8s.io/v1",
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    ),
    served(0..STILL, "autoscaling/v1", "HorizontalPodAutoscaler"),
    served(23..STILL, "autoscaling/v2", "HorizontalPodAutoscaler"),
    served(0..25, "autoscaling/v2beta1", "HorizontalPodAutoscaler"),
    served(0..26, "autoscaling/v2beta2", "HorizontalPodAutoscaler"),
    served(0..STILL, "batch/v1", "CronJob Job"),
    served(0..25, "batch/v1beta1", "CronJob"),
    served(
        0..STILL,
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
    ),
    served(0..STILL, "coordination.k8s.io/v1", "Lease"),
    served(0..STILL, "discovery.k8s.io/v1", "EndpointSlice"),
    served(0..25, "discovery.k8s.io/v1beta1", "EndpointSlice"),
    served(0..STILL, "events.k8s.io/v1", "Event"),
    served(0..25, "events.k8s.io/v1beta1", "Event"),
    served(
        29..STILL,
        "flowcontrol.apiserver.k8s.io/v1",
        "FlowSchema PriorityLevelConfiguration",
    ),
    served(
        0..26,
        "flowcontrol.apiserver.k8s.io/v1beta1",
        "FlowSchema PriorityLevelConfiguration",
    ),
    served(
        23..29,
        "flowcontrol.apiserver.k8s.io/v1beta2",
        "FlowSchema PriorityLevelConfiguration",
    ),
    served(
        26..32,
        "flowcontrol.apiserver.k8s.io/v1beta3",
        "FlowSchema PriorityLevelConfiguration",
    ),
    served(
        0..STILL,
        "networking.k8s.io/v1",
        "Ingress IngressClass NetworkPolicy",
    ),
    served(33..STILL, "networking.k8s.io/v1", "IPAddress ServiceCIDR"),
    served(0..STILL, "node.k8s.io/v1", "RuntimeClass"),
    served(0..25, "node.k8s.io/v1beta1", "RuntimeClass"),
    served(0..STILL, "policy/v1", "PodDisruptionBudget"),
    served(
        0..25,
        "policy/v1beta1",
        "PodDisruptionBudget PodSecurityPolicy",
    ),
    served(
        0..STILL,
        "rbac.authorization.k8s.io/v1",
        "ClusterRole ClusterRoleBinding Role RoleBinding",
    ),
    served(
        34..STILL,
        "resource.k8s.io/v1",
        "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice",
    ),
    served(0..STILL, "scheduling.k8s.io/v1", "PriorityClass"),
    served(
        0..STILL,
        "storage.k8s.io/v1",
        "CSIDriver CSINode StorageClass VolumeAttachment",
    ),
    served(24..STILL, "storage.k8s.io/v1", "CSIStorageCapacity"),
    served(34..STILL, "storage.k8s.io/v1", "VolumeAttributesClass"),
    served(0..27, "storage.k8s.io/v1beta1", "CSIStorageCapacity"),
];

/// A kind in an API version, as API discovery reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredKind {
    /// The API version, `v1` or `GROUP/VERSION`.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The plural name of the kind in URLs.
    pub plural: String,
    /// True if the kind is namespaced.
    pub namespaced: bool,
}

impl DiscoveredKind {
    /// Creates a kind with the plural name that follows the convention of Kubernetes. A custom kind counts as
    /// namespaced.
    #[must_use]
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, _) = api_version.split_once('/').unwrap_or(("", api_version));
        let plural = ObjectKinds::default().resource(group, kind);
        Self {
            namespaced: !schemas::is_cluster_scoped(group, &plural),
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            plural,
        }
    }
}

/// Returns the kinds that a minor version of Kubernetes serves by default, with `36` for 1.36.
#[must_use]
pub fn served_by_kubernetes(minor: u32) -> Vec<DiscoveredKind> {
    let served = SERVED
        .iter()
        .filter(|served| served.minors.contains(&minor));
    let kinds = served.flat_map(|served| {
        let kinds = served.kinds.split_whitespace();
        kinds.map(|kind| DiscoveredKind::new(served.api_version, kind))
    });
    kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_and_go_with_kubernetes() {
        let has = |minor: u32, api_version: &str, kind: &str| {
            let mut kinds = served_by_kubernetes(minor).into_iter();
            kinds.any(|served| served.api_version == api_version && served.kind == kind)
        };
        assert!(has(24, "policy/v1beta1", "PodDisruptionBudget"));
        assert!(!has(25, "policy/v1beta1", "PodDisruptionBudget"));
        assert!(!has(33, "resource.k8s.io/v1", "DeviceClass"));
        assert!(has(34, "resource.k8s.io/v1", "DeviceClass"));
        assert!(has(22, "apps/v1", "Deployment") && has(99, "apps/v1", "Deployment"));
    }

    #[test]
    fn kinds_are_found_under_their_urls() {
        for (api_version, kind, plural, namespaced) in [
            ("v1", "Endpoints", "endpoints", true),
            ("v1", "ComponentStatus", "componentstatuses", false),
            (
                "networking.k8s.io/v1",
                "NetworkPolicy",
                "networkpolicies",
                true,
            ),
            ("networking.k8s.io/v1", "IPAddress", "ipaddresses", false),
            ("storage.k8s.io/v1", "StorageClass", "storageclasses", false),
            ("a.test/v1", "Gateway", "gateways", true),
        ] {
            let found = DiscoveredKind::new(api_version, kind);
            assert_eq!(
                (found.plural.as_str(), found.namespaced),
                (plural, namespaced),
                "{kind}"
            );
        }
    }
}
