//! The test cases of kstatus, and those in which this crate differs.

use serde_json::json;

use super::*;

/// Returns the state as `ready`, `pending: why` or `failed: why`.
fn judged(api_version: &str, kind: &str, generation: u64, more: &Value) -> String {
    let mut value = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": "test", "generation": generation}});
    for (field, content) in more.as_object().unwrap() {
        value[field] = content.clone();
    }
    match readiness(&Object::new(value).unwrap()) {
        Readiness::Ready => "ready".to_owned(),
        Readiness::Pending(why) => format!("pending: {why}"),
        Readiness::Failed(why) => format!("failed: {why}"),
    }
}

/// Objects of one kind with a spec and a status, and the expected states.
#[track_caller]
fn all(api_version: &str, kind: &str, cases: &[(Value, Value, &str)]) {
    for (spec, status, expected) in cases {
        let more = json!({"spec": spec, "status": status});
        let found = judged(api_version, kind, 1, &more);
        assert_eq!(&found, expected, "{kind} {spec} {status}");
    }
}

fn conditions(conditions: &[(&str, &str, &str)]) -> Value {
    let condition = |(kind, status, reason): &(&str, &str, &str)| json!({"type": kind, "status": status, "reason": reason});
    conditions.iter().map(condition).collect()
}

const UNOBSERVED: &str = "pending: the cluster has not observed this version yet";

#[test]
fn a_deployment_is_ready_when_all_its_pods_are_of_its_version_and_available() {
    let done = [
        ("Progressing", "True", "NewReplicaSetAvailable"),
        ("Available", "True", ""),
    ];
    let status = |replicas, updated, ready, available, told: &[(&str, &str, &str)]| {
        json!({"observedGeneration": 1, "replicas": replicas, "updatedReplicas": updated,
            "readyReplicas": ready, "availableReplicas": available, "conditions": conditions(told)})
    };
    let deadline = json!({"progressDeadlineSeconds": 45});
    let two = json!({"replicas": 2});
    let late = [
        ("Progressing", "False", "ProgressDeadlineExceeded"),
        done[1],
    ];
    all(
        "apps/v1",
        "Deployment",
        &[
            (json!({}), json!({}), "pending: 0 of 1 pods are created"),
            (json!({}), status(1, 1, 1, 1, &done), "ready"),
            (json!({"replicas": 0}), status(0, 0, 0, 0, &done), "ready"),
            (
                two.clone(),
                status(2, 1, 2, 2, &done),
                "pending: 1 of 2 pods are of this version",
            ),
            (
                two.clone(),
                status(3, 2, 3, 3, &done),
                "pending: 1 surplus pod is still running",
            ),
            (
                two.clone(),
                status(2, 2, 2, 1, &done),
                "pending: 1 of 2 pods are available",
            ),
            (
                two,
                status(2, 2, 1, 2, &done),
                "pending: 1 of 2 pods are ready",
            ),
            (
                deadline.clone(),
                status(
                    1,
                    1,
                    1,
                    1,
                    &[("Progressing", "False", "Some reason"), done[1]],
                ),
                "pending: its ReplicaSet is not complete yet",
            ),
            (json!({}), status(1, 1, 1, 1, &done[1..]), "ready"),
            (
                json!({}),
                status(1, 1, 1, 1, &[done[0], ("Available", "False", "")]),
                "pending: it is not available yet",
            ),
            (
                deadline,
                status(1, 1, 1, 1, &late),
                "failed: ProgressDeadlineExceeded",
            ),
        ],
    );
}

#[test]
fn a_stateful_set_is_ready_when_all_its_pods_are_of_its_version_and_ready() {
    let four = json!({"replicas": 4});
    let status = |replicas, ready, current| {
        json!({"observedGeneration": 1, "replicas": replicas, "readyReplicas": ready,
            "currentReplicas": current, "updatedReplicas": current})
    };
    let revisions = |update: &str| {
        let mut status = status(4, 4, 4);
        status["currentRevision"] = json!("test-1");
        status["updateRevision"] = json!(update);
        status
    };
    let partition = json!({"replicas": 4, "updateStrategy": {"rollingUpdate": {"partition": 3}}});
    let by_hand = json!({"replicas": 4, "updateStrategy": {"type": "OnDelete"}});
    all(
        "apps/v1",
        "StatefulSet",
        &[
            (json!({}), json!({}), "pending: 0 of 1 pods are created"),
            (four.clone(), status(4, 4, 4), "ready"),
            (
                four.clone(),
                status(4, 2, 4),
                "pending: 2 of 4 pods are ready",
            ),
            (
                four.clone(),
                status(4, 4, 2),
                "pending: 2 of 4 pods are of this version",
            ),
            (
                four.clone(),
                status(8, 4, 4),
                "pending: 4 surplus pods are still running",
            ),
            (four.clone(), revisions("test-1"), "ready"),
            (
                four,
                revisions("test-2"),
                "pending: its pods are not all of this version yet",
            ),
            (by_hand.clone(), status(4, 4, 0), "ready"),
            (
                by_hand.clone(),
                status(4, 2, 0),
                "pending: 2 of 4 pods are ready",
            ),
            (by_hand, status(0, 0, 0), "pending: 0 of 4 pods are created"),
            (partition.clone(), status(4, 4, 1), "ready"),
            (
                partition.clone(),
                status(4, 4, 0),
                "pending: 0 of 1 pods are of this version",
            ),
            (partition, status(4, 3, 1), "pending: 3 of 4 pods are ready"),
        ],
    );
}

#[test]
fn a_daemon_set_is_ready_when_each_node_that_it_is_for_has_an_available_pod() {
    let status = |current, updated, available, ready| {
        json!({"observedGeneration": 1, "desiredNumberScheduled": 4, "currentNumberScheduled": current,
            "updatedNumberScheduled": updated, "numberAvailable": available, "numberReady": ready})
    };
    let by_hand = json!({"updateStrategy": {"type": "OnDelete"}});
    all(
        "apps/v1",
        "DaemonSet",
        &[
            (json!({}), json!({}), UNOBSERVED),
            (json!({}), json!({"observedGeneration": 1}), UNOBSERVED),
            (json!({}), status(4, 4, 4, 4), "ready"),
            (
                json!({}),
                status(3, 4, 4, 4),
                "pending: 3 of 4 pods are created",
            ),
            (
                json!({}),
                status(4, 1, 4, 4),
                "pending: 1 of 4 pods are of this version",
            ),
            (
                json!({}),
                status(4, 4, 2, 4),
                "pending: 2 of 4 pods are available",
            ),
            (
                json!({}),
                status(4, 4, 4, 2),
                "pending: 2 of 4 pods are ready",
            ),
            (by_hand.clone(), status(4, 0, 4, 4), "ready"),
            (
                by_hand,
                status(4, 0, 3, 4),
                "pending: 3 of 4 pods are available",
            ),
        ],
    );
}

#[test]
fn a_replica_set_is_ready_when_all_its_pods_are_available() {
    let two = json!({"replicas": 2});
    let status = |labelled, available, ready, existing| {
        json!({"observedGeneration": 1, "fullyLabeledReplicas": labelled, "availableReplicas": available,
            "readyReplicas": ready, "replicas": existing})
    };
    let mut refused = status(2, 2, 2, 2);
    refused["conditions"] = conditions(&[("ReplicaFailure", "True", "FailedCreate")]);
    let mut fine = status(2, 2, 2, 2);
    fine["conditions"] = conditions(&[("ReplicaFailure", "False", "")]);
    all(
        "apps/v1",
        "ReplicaSet",
        &[
            (json!({}), json!({}), "pending: 0 of 1 pods are created"),
            (two.clone(), fine, "ready"),
            (two.clone(), refused, "pending: FailedCreate"),
            (
                two.clone(),
                status(2, 1, 2, 2),
                "pending: 1 of 2 pods are available",
            ),
            (
                two.clone(),
                status(2, 2, 1, 2),
                "pending: 1 of 2 pods are ready",
            ),
            (
                two,
                status(2, 2, 2, 3),
                "pending: 1 surplus pod is still running",
            ),
        ],
    );
}

#[test]
fn a_pod_is_ready_when_it_says_so_or_has_succeeded() {
    let phase = |phase: &str, told| json!({"phase": phase, "conditions": conditions(&[("Ready", told, "")])});
    let crashing = json!({"phase": "Running", "containerStatuses": [
        {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]});
    all(
        "v1",
        "Pod",
        &[
            (json!({}), json!({}), "pending: it is not running yet"),
            (
                json!({}),
                phase("Pending", "False"),
                "pending: it is not running yet",
            ),
            (json!({}), phase("Running", "True"), "ready"),
            (json!({}), crashing, "pending: it is running but not ready"),
            (json!({}), phase("Succeeded", "False"), "ready"),
            // kstatus regards it as ready.
            (
                json!({}),
                phase("Failed", "False"),
                "failed: the pod failed",
            ),
        ],
    );
}

#[test]
fn a_job_is_ready_when_it_has_completed_or_is_suspended() {
    let told = |kind: &str, reason: &str| json!({"startTime": "2019-06-04T01:17:13Z", "conditions": conditions(&[(kind, "True", reason)])});
    let begun = json!({"startTime": "2019-06-04T01:17:13Z", "succeeded": 3, "failed": 1, "active": 2,
        "conditions": conditions(&[("Failed", "False", ""), ("Complete", "False", "")])});
    all(
        "batch/v1",
        "Job",
        &[
            (json!({}), json!({}), "pending: it has not started yet"),
            (json!({}), told("Complete", ""), "ready"),
            (json!({}), told("Suspended", ""), "ready"),
            (
                json!({}),
                told("Failed", "BackoffLimitExceeded"),
                "failed: BackoffLimitExceeded",
            ),
            // kstatus regards it as ready.
            (
                json!({"completions": 10}),
                begun.clone(),
                "pending: 3 of 10 pods have succeeded",
            ),
            (
                json!({}),
                begun,
                "pending: its last pods have not ended yet",
            ),
            (
                json!({}),
                told("FailureTarget", "BackoffLimitExceeded"),
                "pending: 0 of 1 pods have succeeded",
            ),
        ],
    );
}

#[test]
fn a_definition_is_ready_when_it_is_established() {
    let told = |names, established, reason| json!({"conditions": conditions(&[("NamesAccepted", names, "SomeReason"), ("Established", established, reason)])});
    all(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[
            (json!({}), json!({}), "pending: it is not established yet"),
            (
                json!({}),
                told("True", "False", "Installing"),
                "pending: it is not established yet",
            ),
            (
                json!({}),
                told("True", "True", "InitialNamesAccepted"),
                "ready",
            ),
            (
                json!({}),
                told("False", "False", "NotAccepted"),
                "failed: SomeReason",
            ),
            (
                json!({}),
                told("True", "False", "NotAccepted"),
                "failed: NotAccepted",
            ),
        ],
    );
}

#[test]
fn services_and_claims_wait_for_nothing_that_a_site_may_not_have() {
    let balancer = |address| json!({"type": "LoadBalancer", "clusterIP": address});
    all(
        "v1",
        "Service",
        &[
            (json!({}), json!({}), "ready"),
            (json!({"type": "NodePort"}), json!({}), "ready"),
            (balancer("10.0.0.1"), json!({"loadBalancer": {}}), "ready"),
            (
                balancer(""),
                json!({}),
                "pending: it has no address in the cluster yet",
            ),
        ],
    );
    all(
        "v1",
        "PersistentVolumeClaim",
        &[
            (json!({}), json!({"phase": "Bound"}), "ready"),
            (json!({}), json!({"phase": "Pending"}), "ready"),
            (
                json!({}),
                json!({"phase": "Lost"}),
                "failed: its volume is lost",
            ),
        ],
    );
}

#[test]
fn an_aggregated_api_is_ready_when_it_answers() {
    let told = |status| json!({"conditions": [{"type": "Available", "status": status, "reason": "MissingEndpoints", "message": "no addresses"}]});
    all(
        "apiregistration.k8s.io/v1",
        "APIService",
        &[
            (
                json!({}),
                json!({}),
                "pending: its availability was not checked yet",
            ),
            (json!({}), told("True"), "ready"),
            (
                json!({}),
                told("False"),
                "pending: MissingEndpoints: no addresses",
            ),
        ],
    );
}

#[test]
fn what_is_there_is_enough_where_nothing_is_said() {
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("v1", "Secret"),
        ("v1", "Namespace"),
        ("batch/v1", "CronJob"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("example.test/v1", "Thing"),
    ] {
        assert_eq!(judged(api_version, kind, 1, &json!({})), "ready", "{kind}");
    }
    all(
        "v1",
        "Namespace",
        &[
            (json!({}), json!({"phase": "Active"}), "ready"),
            (
                json!({}),
                json!({"phase": "Terminating"}),
                "pending: it is being deleted",
            ),
        ],
    );
}

#[test]
fn kinds_of_others_are_judged_by_what_their_controllers_say() {
    let told = |kind: &str, status: &str| json!({"conditions": [{"type": kind, "status": status, "reason": "Why", "message": "in words"}]});
    all(
        "example.test/v1",
        "Thing",
        &[
            (json!({}), told("Ready", "True"), "ready"),
            (json!({}), told("Ready", "False"), "pending: Why: in words"),
            (
                json!({}),
                told("Ready", "Unknown"),
                "pending: Why: in words",
            ),
            (json!({}), told("SomeCondition", "False"), "ready"),
            (
                json!({}),
                told("Reconciling", "True"),
                "pending: Why: in words",
            ),
            (json!({}), told("Stalled", "True"), "failed: Why: in words"),
            (json!({}), told("Stalled", "False"), "ready"),
            (
                json!({}),
                json!({"conditions": [{"type": "Ready", "status": "False"}]}),
                "pending: condition Ready is False",
            ),
        ],
    );
}

#[test]
fn what_is_said_about_a_former_version_does_not_count() {
    let observed = |generation| json!({"status": {"observedGeneration": generation}});
    for (api_version, kind) in [
        ("example.test/v1", "Thing"),
        ("policy/v1", "PodDisruptionBudget"),
    ] {
        assert_eq!(judged(api_version, kind, 2, &observed(1)), UNOBSERVED);
        assert_eq!(judged(api_version, kind, 2, &observed(2)), "ready");
    }
    let stalled = json!({"status": {"observedGeneration": 1, "conditions": conditions(&[("Stalled", "True", "Why")])}});
    assert_eq!(judged("example.test/v1", "Thing", 2, &stalled), UNOBSERVED);
    let ready = |generation| json!({"status": {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": generation}]}});
    assert_eq!(judged("example.test/v1", "Thing", 2, &ready(1)), UNOBSERVED);
    assert_eq!(judged("example.test/v1", "Thing", 2, &ready(2)), "ready");
}

#[test]
fn what_is_on_its_way_out_is_not_settled() {
    let leaving =
        json!({"metadata": {"name": "test", "deletionTimestamp": "2026-11-22T12:00:00Z"}});
    assert_eq!(
        judged("v1", "ConfigMap", 1, &leaving),
        "pending: it is being deleted"
    );
    let held = json!({"metadata": {"name": "test", "deletionTimestamp": "2026-11-22T12:00:00Z", "finalizers": ["x.test/a", "x.test/b"]}});
    assert_eq!(
        judged("v1", "ConfigMap", 1, &held),
        "pending: it is being deleted, held by x.test/a, x.test/b"
    );
}

#[test]
fn a_namespace_is_held_by_what_is_left_in_it() {
    let message =
        "Some content in the namespace has finalizers remaining: x.test/a in 1 resource instances";
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "n", "deletionTimestamp": "2026-11-22T12:00:00Z"},
        "status": {"conditions": [
            {"type": "NamespaceDeletionContentFailure", "status": "False", "message": "All content was deleted"},
            {"type": "NamespaceFinalizersRemaining", "status": "True", "message": message}]}});
    let namespace = Object::new(namespace).unwrap();
    let words = format!("it is being deleted, held by its content: {message}");
    assert_eq!(readiness(&namespace), Readiness::Pending(words));
}

#[test]
fn the_pods_of_a_workload_are_those_ready_and_those_wanted() {
    let counted = |api_version: &str, kind: &str, more: Value| {
        let mut value =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "test"}});
        for (field, content) in more.as_object().unwrap() {
            value[field] = content.clone();
        }
        pods(&Object::new(value).unwrap())
    };
    for kind in ["Deployment", "StatefulSet", "ReplicaSet"] {
        let some = json!({"spec": {"replicas": 3}, "status": {"replicas": 3, "readyReplicas": 2}});
        assert_eq!(counted("apps/v1", kind, some), Some([2, 3]), "{kind}");
        let stopping = json!({"spec": {"replicas": 0}, "status": {"readyReplicas": 1}});
        assert_eq!(counted("apps/v1", kind, stopping), Some([0, 0]), "{kind}");
        assert_eq!(counted("apps/v1", kind, json!({})), Some([0, 1]), "{kind}");
    }
    let nodes = json!({"status": {"desiredNumberScheduled": 4, "numberReady": 1}});
    assert_eq!(counted("apps/v1", "DaemonSet", nodes), Some([1, 4]));
    assert_eq!(counted("v1", "Pod", json!({})), Some([0, 1]));
    for (api_version, kind) in [
        ("batch/v1", "Job"),
        ("v1", "ConfigMap"),
        ("example/v1", "Deployment"),
    ] {
        assert_eq!(counted(api_version, kind, json!({})), None, "{kind}");
    }
}
