//! The kinds of objects that run images.

/// The API version, kind, resource and JSON pointer to the pod specification of each workload kind. Kinds that own
/// others come first.
pub(crate) const WORKLOADS: [(&str, &str, &str, &str); 8] = [
    ("apps/v1", "Deployment", "deployments", TEMPLATE),
    ("apps/v1", "StatefulSet", "statefulsets", TEMPLATE),
    ("apps/v1", "DaemonSet", "daemonsets", TEMPLATE),
    (
        "batch/v1",
        "CronJob",
        "cronjobs",
        "/spec/jobTemplate/spec/template/spec",
    ),
    ("apps/v1", "ReplicaSet", "replicasets", TEMPLATE),
    (
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        TEMPLATE,
    ),
    ("batch/v1", "Job", "jobs", TEMPLATE),
    ("v1", "Pod", "pods", "/spec"),
];
pub(crate) const TEMPLATE: &str = "/spec/template/spec";

/// Returns the groups and resources of the workload kinds.
pub(crate) fn running() -> impl Iterator<Item = (&'static str, &'static str)> {
    let group = |api: &'static str| api.split_once('/').map_or("", |(group, _)| group);
    let workloads = WORKLOADS.into_iter();
    workloads.map(move |(api, _, resource, _)| (group(api), resource))
}
