//! Waits for objects of all kinds on a real node: ready, not ready and deleted ones.

use std::sync::Mutex;
use std::time::Duration;

use kubernetes::{
    Cluster, DeletionTarget, Error, Goal, Gvk, ObjectRef, ObjectStatus, PodProblem, Propagation,
    PullProblem, Readiness, UnreadyObjects,
};
use serde_json::{Value, json};

use crate::rollout::{IMAGE, script};
use crate::setup::{DEADLINE, admin, apply, config_map, config_map_ref, gone, namespace, variable};

/// An object that creates pods with this container.
fn workload(kind: &str, namespace: &str, name: &str, spec: Value, container: &Value) -> Value {
    let (mut main, volumes) = script("");
    main.as_object_mut().unwrap().remove("command");
    main["name"] = json!("main");
    main["image"] = json!(IMAGE);
    main["imagePullPolicy"] = json!("IfNotPresent");
    for (key, value) in container.as_object().unwrap() {
        main[key] = value.clone();
    }
    let mut pod =
        json!({"terminationGracePeriodSeconds": 1, "containers": [main], "volumes": volumes});
    let mut spec = spec;
    let api_version = if kind == "Job" {
        pod["restartPolicy"] = json!("Never");
        "batch/v1"
    } else {
        spec["selector"] = json!({"matchLabels": {"app": name}});
        "apps/v1"
    };
    spec["template"] = json!({"metadata": {"labels": {"app": name}}, "spec": pod});
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec})
}

fn running(text: &str) -> Value {
    json!({"command": ["/usr/bin/sh", "-c", text]})
}

/// Applies objects and waits for all of them.
async fn settle(
    cluster: &Cluster,
    objects: Vec<Value>,
    deadline: Duration,
) -> (Result<(), Error>, Vec<String>) {
    let mut references = Vec::new();
    for value in objects {
        let object = crate::setup::object(value.clone());
        references.push(object.reference().clone());
        apply(cluster, value).await;
    }
    let told = Mutex::new(Vec::new());
    let tell = |status: ObjectStatus| told.lock().unwrap().push(status.to_string());
    let goals: Vec<Goal> = references.into_iter().map(Goal::Ready).collect();
    let result = cluster.wait(&goals, deadline, &tell).await;
    (result, told.into_inner().unwrap())
}

#[track_caller]
fn unsettled(result: Result<(), Error>) -> UnreadyObjects {
    match result {
        Err(Error::UnreadyObjects(unsettled)) => *unsettled,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn objects_of_every_kind_settle() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "settle").await;
    let in_ns = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "it", "namespace": ns}, "spec": spec});
    let group = format!("{ns}.test");
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("things.{group}")},
        "spec": {"group": group, "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    let thing = Gvk::new(&format!("{group}/v1"), "Thing");
    assert!(!cluster.serves(&thing).await.unwrap());
    let balancer =
        json!({"type": "LoadBalancer", "selector": {"app": "web"}, "ports": [{"port": 80}]});
    let claim =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let budget = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}});
    let objects = vec![
        definition,
        workload("Deployment", &ns, "web", json!({}), &json!({})),
        workload(
            "StatefulSet",
            &ns,
            "db",
            json!({"serviceName": "db", "replicas": 2}),
            &json!({}),
        ),
        workload("DaemonSet", &ns, "agent", json!({}), &json!({})),
        workload("ReplicaSet", &ns, "set", json!({}), &json!({})),
        workload("Job", &ns, "job", json!({}), &running("sleep 1")),
        workload(
            "Job",
            &ns,
            "gone",
            json!({"ttlSecondsAfterFinished": 0}),
            &running("true"),
        ),
        in_ns("v1", "Service", balancer),
        in_ns("v1", "PersistentVolumeClaim", claim),
        in_ns("policy/v1", "PodDisruptionBudget", budget),
        config_map(&ns, "it", &json!({})),
    ];
    let count = objects.len();
    let (result, told) = settle(&cluster, objects, DEADLINE).await;
    result.unwrap();
    let ready = told.iter().filter(|words| words.ends_with(": ready"));
    assert_eq!(ready.count(), count, "{told:#?}");
    assert!(cluster.serves(&thing).await.unwrap());
}

#[tokio::test]
async fn a_job_that_fails_ends_the_wait_with_code_and_log() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "job").await;
    let failing = running("echo cannot reach the database; exit 3");
    let objects = vec![
        workload("Job", &ns, "job", json!({"backoffLimit": 0}), &failing),
        workload("Job", &ns, "long", json!({}), &running("sleep 300")),
    ];
    let (result, _) = settle(&cluster, objects, DEADLINE).await;
    let unsettled = unsettled(result);
    let cause = unsettled.objects[0].cause.as_ref().unwrap();
    assert_eq!(cause.stuck, PodProblem::Crash { exit_code: 3 });
    assert_eq!(cause.log.as_deref(), Some("cannot reach the database"));
    let text = unsettled.to_string();
    assert!(
        text.contains(&format!("Job {ns}/job: BackoffLimitExceeded: ")),
        "{text}"
    );
    assert!(
        text.contains(&format!("; Job {ns}/long: 0 of 1 pods have succeeded")),
        "{text}"
    );
}

#[tokio::test]
async fn a_job_that_has_failed_and_was_cleaned_up_has_failed() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "ttl").await;
    let spec = json!({"backoffLimit": 0, "ttlSecondsAfterFinished": 0});
    let job = workload("Job", &ns, "job", spec, &running("exit 3"));
    apply(&cluster, job).await;
    let job = ObjectRef::namespaced("batch/v1", "Job", &ns, "job");
    cluster
        .wait(&[gone(&job)], DEADLINE, &|_| ())
        .await
        .unwrap();
    let result = cluster.wait(&[Goal::Ready(job)], DEADLINE, &|_| ()).await;
    let unsettled = unsettled(result);
    assert!(unsettled.has_failed(), "{unsettled}");
}

#[tokio::test]
async fn the_pods_of_every_kind_of_workload_are_looked_into() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "look").await;
    let image = format!("{}/no/such:1", variable("SOLUTION_TEST_PUSH_REGISTRY"));
    let unknown = json!({"image": image});
    for (kind, spec) in [
        ("StatefulSet", json!({"serviceName": "it"})),
        ("DaemonSet", json!({})),
        ("Job", json!({})),
    ] {
        let objects = vec![workload(kind, &ns, &kind.to_lowercase(), spec, &unknown)];
        let (result, told) = settle(&cluster, objects, DEADLINE).await;
        let unsettled = unsettled(result);
        let stuck = &unsettled.cause().unwrap().stuck;
        assert_eq!(
            stuck,
            &PodProblem::Pull(PullProblem::UnknownAuthority),
            "{kind}: {told:#?}"
        );
        assert!(unsettled.after < DEADLINE);
    }
}

#[tokio::test]
async fn a_stateful_set_that_its_former_pod_holds_up_names_that_pod() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "former").await;
    let spec = json!({"serviceName": "db"});
    // A container that starts and exits would be ready in between, and the pod would be replaced.
    let image = format!("{}/no/such:1", variable("SOLUTION_TEST_PUSH_REGISTRY"));
    let broken = workload(
        "StatefulSet",
        &ns,
        "db",
        spec.clone(),
        &json!({"image": image}),
    );
    let (result, _) = settle(&cluster, vec![broken], DEADLINE).await;
    unsettled(result);
    let mended = workload("StatefulSet", &ns, "db", spec, &json!({}));
    let (result, _) = settle(&cluster, vec![mended], Duration::from_secs(10)).await;
    let unsettled = unsettled(result);
    let cause = unsettled.cause().unwrap();
    assert_eq!(cause.pod.as_deref(), Some("db-0"), "{unsettled}");
    assert_eq!(cause.stuck, PodProblem::Pull(PullProblem::UnknownAuthority));
}

#[tokio::test]
async fn refused_pods_of_a_stateful_set_are_reported() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "no-pods").await;
    apply(
        &cluster,
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": ns},
            "spec": {"hard": {"pods": "0"}}}),
    )
    .await;
    let db = workload(
        "StatefulSet",
        &ns,
        "db",
        json!({"serviceName": "db"}),
        &json!({}),
    );
    let (result, _) = settle(&cluster, vec![db], Duration::from_secs(20)).await;
    let unsettled = unsettled(result);
    assert_eq!(
        unsettled.cause().unwrap().stuck,
        PodProblem::Quota,
        "{unsettled}"
    );
}

#[tokio::test]
async fn what_is_not_there_or_on_its_way_out_is_not_settled() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "leaving").await;
    let mut held = config_map(&ns, "held", &json!({}));
    held["metadata"]["finalizers"] = json!(["solution.test/hold"]);
    apply(&cluster, held).await;
    let references = [config_map_ref(&ns, "held"), config_map_ref(&ns, "absent")];
    cluster
        .delete(&references[0], Propagation::Background, None)
        .await
        .unwrap();
    let goals = references.clone().map(Goal::Ready);
    let waited = cluster.wait(&goals, Duration::from_secs(5), &|_| ());
    let unsettled = unsettled(waited.await);
    let states: Vec<_> = unsettled.objects.iter().map(|one| &one.state).collect();
    let pending = |why: &str| Readiness::Pending(why.to_owned());
    assert_eq!(
        states,
        [
            &pending("it is being deleted, held by solution.test/hold"),
            &pending("it does not exist")
        ]
    );
    // A recreated object with the name of a deleted one is not waited for.
    let uid = Some("00000000-0000-0000-0000-000000000000".to_owned());
    let object = references[0].clone();
    let told: Mutex<Vec<ObjectStatus>> = Mutex::default();
    let tell = |one| told.lock().unwrap().push(one);
    let another = [Goal::Deleted(DeletionTarget {
        object: object.clone(),
        uid,
    })];
    cluster.wait(&another, DEADLINE, &tell).await.unwrap();
    assert!(told.lock().unwrap().is_empty());

    let whole = ObjectRef::cluster_scoped("v1", "Namespace", &ns);
    cluster
        .delete(&whole, Propagation::Background, None)
        .await
        .unwrap();
    let both = [gone(&object), gone(&whole)];
    let deadline = Duration::from_secs(20);
    let words = cluster
        .wait(&both, deadline, &tell)
        .await
        .unwrap_err()
        .to_string();
    let expected = format!(
        "ConfigMap {ns}/held (held by solution.test/hold), Namespace {ns} (held by its content: "
    );
    assert!(words.contains(&expected), "{words}");
    assert!(
        words.contains("solution.test/hold in 1 resource instances"),
        "{words}"
    );
    apply(&cluster, config_map(&ns, "held", &json!({}))).await;
    cluster.wait(&both, DEADLINE, &tell).await.unwrap();
}
