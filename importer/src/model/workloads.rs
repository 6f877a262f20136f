//! The kinds of what runs images.

/// The kinds of workloads, those that keep others first: API, kind, resource, and where its pods are described.
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

/// The groups and resources of what runs images.
pub(crate) fn running() -> impl Iterator<Item = (&'static str, &'static str)> {
    let group = |api: &'static str| api.split_once('/').map_or("", |(group, _)| group);
    let workloads = WORKLOADS.into_iter();
    workloads.map(move |(api, _, resource, _)| (group(api), resource))
}
