//! Tests of waits, with a server whose objects change while it is observed.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::mock::{Answer, RecordedRequest, cluster};

const DEADLINE: Duration = Duration::from_mins(10);
const SETS: &str = "/apis/apps/v1/namespaces/n/statefulsets";
const JOBS: &str = "/apis/batch/v1/namespaces/n/jobs";
const PODS: &str = "/api/v1/namespaces/n/pods";
const EVENTS: &str = "/api/v1/namespaces/n/events";

/// A cluster that answers each path by the number of the poll; `None` means that the object does not exist.
async fn served(
    answer: impl Fn(&str, u64) -> Option<Value> + Send + Sync + 'static,
) -> (Cluster, std::sync::Arc<Mutex<Vec<RecordedRequest>>>) {
    let polled: Mutex<HashMap<String, u64>> = Mutex::default();
    cluster(move |request| {
        let path = request.path.split('?').next().unwrap();
        let mut polled = polled.lock().unwrap();
        let polled = polled.entry(path.to_owned()).or_default();
        *polled += 1;
        match answer(path, *polled - 1) {
            Some(Value::String(log)) => Answer(200, None, log.into_bytes()),
            Some(value) => Answer::json(200, &value),
            None if path == EVENTS || path == PODS || path.ends_with("/replicasets") => {
                Answer::json(200, &json!({"items": []}))
            }
            None => Answer(404, None, Vec::new()),
        }
    })
    .await
}

fn set(name: &str, ready: u64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "n", "uid": name, "generation": 1},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"containers": [{"name": "main", "readinessProbe": {}}]}}},
        "status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": ready, "currentReplicas": 1,
            "updatedReplicas": 1, "currentRevision": "new", "updateRevision": "new"}})
}

fn unprobed(name: &str, ready: u64) -> Value {
    let mut set = set(name, ready);
    set["spec"]["template"]["spec"]["containers"][0] = json!({"name": "main"});
    set
}

fn job(condition: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job", "namespace": "n", "uid": "job"},
        "status": {"startTime": "2026-11-22T12:00:00Z", "conditions": [
            {"type": condition, "status": "True", "reason": "BackoffLimitExceeded", "message": "no more attempts"}]}})
}

/// A pod of this owner with one container in this state.
fn pod(name: &str, owner: &str, revision: &str, phase: &str, state: &Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "n", "uid": name,
            "labels": {"controller-revision-hash": revision}, "ownerReferences": [{"uid": owner, "controller": true}]},
        "spec": {"nodeName": "node"},
        "status": {"phase": phase, "containerStatuses": [
            {"name": "main", "ready": false, "restartCount": if phase == "Failed" { 0 } else { 5 }, "state": state}]}})
}

fn unpullable(message: &str) -> Value {
    json!({"waiting": {"reason": "ErrImagePull", "message": message}})
}

fn goals(objects: &[(&str, &str, &str)]) -> Vec<Goal> {
    let reference = |(api_version, kind, name): &(&str, &str, &str)| {
        Goal::Ready(ObjectRef::namespaced(api_version, kind, "n", name))
    };
    objects.iter().map(reference).collect()
}

const DB: (&str, &str, &str) = ("apps/v1", "StatefulSet", "db");
const JOB: (&str, &str, &str) = ("batch/v1", "Job", "job");

/// Waits for these goals. Returns the result, the duration and the reported states.
async fn wait(
    cluster: &Cluster,
    objects: &[(&str, &str, &str)],
    deadline: Duration,
) -> (Result<(), Error>, Duration, Vec<String>) {
    let told = Mutex::new(Vec::new());
    let tell = |status: ObjectStatus| told.lock().unwrap().push(status.to_string());
    let begun = Instant::now();
    let result = cluster.wait(&goals(objects), deadline, &tell).await;
    (result, begun.elapsed(), told.into_inner().unwrap())
}

#[track_caller]
fn unsettled(result: Result<(), Error>) -> UnreadyObjects {
    match result {
        Err(Error::UnreadyObjects(unsettled)) => *unsettled,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_api_server_refuses_after_its_start_is_looked_at_again() {
    let answers = |refused: std::ops::Range<u64>| {
        let polled = AtomicU64::new(0);
        cluster(move |request| {
            if !request.path.starts_with(SETS) {
                return Answer::json(200, &json!({"items": []}));
            }
            let polled = polled.fetch_add(1, Ordering::Relaxed);
            if refused.contains(&polled) {
                Answer(403, None, Vec::new())
            } else {
                Answer::json(200, &set("db", u64::from(polled >= 5)))
            }
        })
    };
    let (restarted, _) = answers(1..4).await;
    wait(&restarted, &[DB], DEADLINE).await.0.unwrap();
    // A permission that is missing from the beginning is not waited for.
    let (refusing, _) = answers(0..10).await;
    let (result, took, _) = wait(&refusing, &[DB], DEADLINE).await;
    assert!(matches!(result, Err(Error::Forbidden { .. })), "{result:?}");
    assert_eq!(took, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn each_change_is_told_once() {
    let (cluster, _) = served(|path, polled| match path {
        path if path == format!("{SETS}/db") => Some(set("db", u64::from(polled >= 10))),
        path if path == format!("{JOBS}/job") && polled < 5 => Some(job("Suspended?")),
        path if path == format!("{JOBS}/job") => Some(job("Complete")),
        _ => None,
    })
    .await;
    let (result, took, told) = wait(&cluster, &[DB, JOB], DEADLINE).await;
    result.unwrap();
    assert_eq!(
        told,
        [
            "StatefulSet n/db: 0 of 1 pods are ready, no pod of this version has been created yet",
            "Job n/job: 0 of 1 pods have succeeded, no pod of this version has been created yet",
            "Job n/job: ready",
            "StatefulSet n/db: ready",
        ]
    );
    assert_eq!(took, limits::POLL * 10);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_has_failed_ends_the_wait_with_the_end_of_its_log() {
    let (cluster, _) = served(|path, _| match path {
        path if path == format!("{SETS}/db") => Some(set("db", 0)),
        // Ready and observed: it is not among the objects that are not ready.
        path if path == format!("{SETS}/cache") => Some(unprobed("cache", 1)),
        path if path == format!("{JOBS}/job") => Some(job("Failed")),
        PODS => Some(json!({"items": [
            pod("job-1", "job", "", "Failed", &json!({"terminated": {"exitCode": 3, "reason": "Error"}}))]})),
        path if path.ends_with("/log") => Some(json!("no database")),
        _ => None,
    })
    .await;
    let cache = ("apps/v1", "StatefulSet", "cache");
    let (result, took, _) = wait(&cluster, &[DB, cache, JOB], DEADLINE).await;
    let unsettled = unsettled(result);
    assert!(took < limits::POLL, "{took:?}");
    assert_eq!(
        unsettled.to_string(),
        "Job n/job: BackoffLimitExceeded: no more attempts, the container crashes with exit code 3, pod job-1; StatefulSet n/db: 0 of 1 pods are ready, no pod of this version has been created yet"
    );
    let cause = unsettled.cause().unwrap();
    assert_eq!(cause.log.as_deref(), Some("no database"));
    assert!(unsettled.has_failed());
}

#[tokio::test(start_paused = true)]
async fn an_image_that_cannot_be_pulled_ends_the_wait_and_a_crash_does_not() {
    let crash = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    for (state, early, words) in [
        (
            unpullable("x509: certificate signed by unknown authority"),
            true,
            "the image cannot be pulled: the node does not trust the registry's certificate (x509), pod db-0: x509: certificate signed by unknown authority",
        ),
        (
            crash,
            false,
            "the container crashes with exit code 1, pod db-0",
        ),
    ] {
        let (cluster, _) = served(move |path, _| {
            let mut pod = pod("db-0", "db", "new", "Running", &state);
            pod["status"]["containerStatuses"][0]["lastState"] =
                json!({"terminated": {"exitCode": 1}});
            match path {
                path if path == format!("{SETS}/db") => Some(set("db", 0)),
                PODS => Some(json!({"items": [pod]})),
                _ => None,
            }
        })
        .await;
        let (result, took, _) = wait(&cluster, &[DB], DEADLINE).await;
        let text = unsettled(result).to_string();
        assert!(text.ends_with(words), "{text}");
        assert_eq!(took < DEADLINE, early, "{took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_object_may_still_bring_is_waited_for_and_named_at_the_end() {
    let creating = json!({"waiting": {"reason": "ContainerCreating"}});
    let unset = json!({"waiting": {"reason": "CreateContainerConfigError", "message": "secret \"login\" not found"}});
    let crash = json!({"waiting": {"reason": "CrashLoopBackOff"}, "terminated": {"exitCode": 1}});
    let event = |about: &str, reason: &str, message: &str| json!({"reason": reason, "message": message, "involvedObject": {"uid": about}});
    let unmounted = event("db-0", "FailedMount", "secret \"certs\" not found");
    let refused = event(
        "db",
        "FailedCreate",
        "pods \"db-0\" is forbidden: exceeded quota: none",
    );
    let of = |revision: &str, state: &Value| vec![pod("db-0", "db", revision, "Running", state)];
    for (pods, event, words) in [
        (
            of("new", &creating),
            Some(unmounted),
            "0 of 1 pods are ready, a ConfigMap, Secret or key that the pod uses is missing, pod db-0: secret \"certs\" not found",
        ),
        (
            of("new", &unset),
            None,
            "0 of 1 pods are ready, a ConfigMap, Secret or key that the pod uses is missing, pod db-0: secret \"login\" not found",
        ),
        (
            Vec::new(),
            Some(refused),
            "0 of 1 pods are ready, the namespace's quota is used up: pods \"db-0\" is forbidden: exceeded quota: none",
        ),
        // A StatefulSet waits for a broken pod of the previous version before it creates one of this version.
        (
            of("old", &crash),
            None,
            "0 of 1 pods are ready, the container crashes with exit code 1, pod db-0",
        ),
        (
            of("old", &unpullable("manifest unknown")),
            None,
            "0 of 1 pods are ready, the image cannot be pulled: the registry does not have the image, pod db-0: manifest unknown",
        ),
    ] {
        let (cluster, _) = served(move |path, _| match path {
            path if path == format!("{SETS}/db") => Some(set("db", 0)),
            PODS => Some(json!({"items": pods})),
            EVENTS => Some(json!({"items": event.iter().collect::<Vec<_>>()})),
            _ => None,
        })
        .await;
        let (result, took, _) = wait(&cluster, &[DB], DEADLINE).await;
        let unsettled = unsettled(result);
        assert_eq!(
            unsettled.objects[0].to_string(),
            format!("StatefulSet n/db: {words}")
        );
        assert!(took >= DEADLINE, "{words}: {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_says_of_a_failure_must_last() {
    let stalled = |status: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "thing", "namespace": "n"},
            "status": {"conditions": [{"type": "Stalled", "status": status, "reason": "Why"}]}})
    };
    let thing = [("v1", "ConfigMap", "thing")];
    let (cluster, _) = served(move |_, polled| {
        // Of the previous version.
        Some(stalled(if polled < 20 { "True" } else { "False" }))
    })
    .await;
    let (result, _, told) = wait(&cluster, &thing, DEADLINE).await;
    result.unwrap();
    assert_eq!(told, ["ConfigMap n/thing: Why", "ConfigMap n/thing: ready"]);
    let (cluster, _) = served(move |_, _| Some(stalled("True"))).await;
    let (result, took, _) = wait(&cluster, &thing, DEADLINE).await;
    assert!(unsettled(result).has_failed());
    assert!(took >= limits::PATIENCE && took < DEADLINE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_was_cleaned_up_has_ended_as_its_events_say() {
    let event = |reason: &str, uid: &str, time: &str| {
        json!({"reason": reason, "message": "in words", "lastTimestamp": time,
            "involvedObject": {"kind": "Job", "name": "job", "uid": uid}})
    };
    let (early, late) = ("2026-11-22T12:00:00Z", "2026-11-22T12:00:01Z");
    let completed = event("Completed", "job", late);
    let failed = event("BackoffLimitExceeded", "job", late);
    let of_another = event("BackoffLimitExceeded", "other", late);
    let created = event("SuccessfulCreate", "job", late);
    let failed_before = event("BackoffLimitExceeded", "other", early);
    for (seen, events, end) in [
        (false, vec![completed.clone(), created.clone()], Some("")),
        (false, vec![failed_before, completed], Some("")),
        (
            false,
            vec![failed],
            Some("not ready after 0 s: Job n/job: in words"),
        ),
        (true, vec![created.clone()], Some("")),
        (true, vec![of_another], Some("")),
        (false, vec![created], None),
    ] {
        let (cluster, _) = served(move |path, polled| match path {
            path if path == format!("{JOBS}/job") && seen && polled == 0 => {
                Some(job("FailureTarget"))
            }
            EVENTS => Some(json!({"items": events})),
            _ => None,
        })
        .await;
        let (result, took, told) = wait(&cluster, &[JOB], DEADLINE).await;
        let words = result
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        match end {
            Some(end) => assert_eq!(
                (words.as_str(), took <= limits::POLL),
                (end, true),
                "{told:?}"
            ),
            None => assert_eq!(words, "not ready after 600 s: Job n/job: it does not exist"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_definition_is_ready_when_clients_find_what_it_defines() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.test"},
        "spec": {"group": "x.test", "names": {"kind": "Thing"}, "versions": [{"name": "v1", "served": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]}});
    let (cluster, _) = served(move |path, polled| match path {
        "/apis/x.test/v1" if polled < 3 => None,
        "/apis/x.test/v1" => {
            Some(json!({"resources": [{"name": "things", "kind": "Thing", "namespaced": true}]}))
        }
        _ => Some(definition.clone()),
    })
    .await;
    let thing = crate::Gvk::new("x.test/v1", "Thing");
    assert!(!cluster.serves(&thing).await.unwrap());
    let kind = "CustomResourceDefinition";
    let reference = ObjectRef::cluster_scoped("apiextensions.k8s.io/v1", kind, "things.x.test");
    let begun = Instant::now();
    cluster
        .wait(&[Goal::Ready(reference)], DEADLINE, &|_| ())
        .await
        .unwrap();
    assert_eq!(begun.elapsed(), limits::POLL * 2);
    assert!(cluster.serves(&thing).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn kinds_of_an_aggregated_api_are_looked_up_anew_once_it_answers() {
    let aggregated = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": "v1.x.test"}, "spec": {"group": "x.test", "version": "v1"},
        "status": {"conditions": [{"type": "Available", "status": "True"}]}});
    let kinds = |plural: &str, kind: &str| {
        Some(json!({"resources": [{"name": plural, "kind": kind, "namespaced": false}]}))
    };
    let (cluster, _) = served(move |path, polled| match path {
        "/apis/x.test/v1" if polled == 0 => None,
        "/apis/x.test/v1" => kinds("things", "Thing"),
        "/apis/apiregistration.k8s.io/v1" => kinds("apiservices", "APIService"),
        _ => Some(aggregated.clone()),
    })
    .await;
    let thing = crate::Gvk::new("x.test/v1", "Thing");
    assert!(!cluster.serves(&thing).await.unwrap());
    let api = "apiregistration.k8s.io/v1";
    let reference = ObjectRef::cluster_scoped(api, "APIService", "v1.x.test");
    let waited = cluster
        .wait(&[Goal::Ready(reference)], DEADLINE, &|_| ())
        .await;
    waited.unwrap();
    assert!(cluster.serves(&thing).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_has_done_its_part_tells_nothing_of_its_job() {
    let done = json!({"terminated": {"exitCode": 0}});
    let (cluster, _) = served(move |path, polled| match path {
        path if path == format!("{JOBS}/job") && polled < 2 => Some(job("FailureTarget")),
        path if path == format!("{JOBS}/job") => Some(job("Complete")),
        // After failed attempts.
        PODS => Some(json!({"items": [pod("job-1", "job", "", "Succeeded", &done)]})),
        _ => None,
    })
    .await;
    let (result, _, told) = wait(&cluster, &[JOB], DEADLINE).await;
    result.unwrap();
    assert_eq!(
        told,
        ["Job n/job: 0 of 1 pods have succeeded", "Job n/job: ready"]
    );
}

#[tokio::test(start_paused = true)]
async fn what_has_no_probe_is_watched_although_time_is_up() {
    for (stops, deadline) in [(false, DEADLINE), (false, limits::POLL), (true, DEADLINE)] {
        let (cluster, _) =
            served(move |_, polled| Some(unprobed("db", u64::from(!stops || polled != 4)))).await;
        let (result, took, _) = wait(&cluster, &[DB], deadline).await;
        result.unwrap();
        let watched = limits::SETTLED + limits::POLL * if stops { 5 } else { 0 };
        assert_eq!(took, watched, "{stops} {deadline:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_names_the_first_of_very_many() {
    let unready = |i: usize| UnreadyObject {
        object: ObjectRef::namespaced("v1", "Pod", "n", &format!("p{i}")),
        state: Readiness::Pending("it is not running yet".to_owned()),
        awaited: None,
        cause: None,
    };
    let words = |count| {
        let objects = (0..count).map(unready).collect();
        let after = DEADLINE;
        UnreadyObjects { objects, after }.to_string()
    };
    assert!(!words(limits::MAX_NAMED).contains("more"));
    assert!(words(limits::MAX_NAMED + 2).ends_with("; and 2 more"));
}

fn leaving(uid: Option<&str>) -> Goal {
    Goal::Deleted(DeletionTarget {
        object: ObjectRef::namespaced("v1", "ConfigMap", "n", "a"),
        uid: uid.map(str::to_owned),
    })
}

fn map(uid: &str, finalizers: &[&str]) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n", "uid": uid,
        "deletionTimestamp": "2026-11-22T12:00:00Z", "finalizers": finalizers}})
}

#[tokio::test(start_paused = true)]
async fn what_holds_an_object_is_told_when_it_changes_and_named_at_the_end() {
    let polled = AtomicU64::new(0);
    let (cluster, _) = cluster(move |_| {
        let two = polled.fetch_add(1, Ordering::SeqCst) < 3;
        let finalizers = if two {
            &["x.test/a", "x.test/b"][..]
        } else {
            &["x.test/b"]
        };
        Answer::json(200, &map("u", finalizers))
    })
    .await;
    let told = Mutex::new(Vec::new());
    let tell = |one: ObjectStatus| told.lock().unwrap().push(one.to_string());
    let deadline = Duration::from_secs(10);
    let result = cluster.wait(&[leaving(None)], deadline, &tell).await;
    assert_eq!(
        result.unwrap_err().to_string(),
        "not deleted after 10 s: ConfigMap n/a (held by x.test/b)"
    );
    assert_eq!(
        told.into_inner().unwrap(),
        [
            "ConfigMap n/a: it is being deleted, held by x.test/a, x.test/b",
            "ConfigMap n/a: it is being deleted, held by x.test/b"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn another_object_of_the_name_is_not_waited_for() {
    for (uid, gone) in [(Some("old"), true), (Some("new"), false), (None, false)] {
        let (cluster, _) = cluster(|_| Answer::json(200, &map("new", &[]))).await;
        let waited = cluster.wait(&[leaving(uid)], limits::POLL, &|_| ()).await;
        assert_eq!(waited.is_ok(), gone, "{uid:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_is_stopped_once_its_last_pod_is_gone() {
    let polled = Mutex::new(0);
    let owned = |kind: &str, name: &str, owner: &str| {
        json!({
            "apiVersion": "v1", "kind": kind,
            "metadata": { "name": name, "namespace": "n", "uid": name, "ownerReferences": [{ "uid": owner }] },
        })
    };
    let (cluster, seen) = cluster(move |request| {
        let mut polled = polled.lock().unwrap();
        let path = request.path.as_str();
        let answer = if path.contains("/deployments/") {
            *polled += 1;
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": { "name": "app", "namespace": "n", "uid": "d", "generation": 2 },
                "spec": { "replicas": 0, "selector": { "matchLabels": { "app": "x" } } },
                "status": { "observedGeneration": if *polled > 1 { 2 } else { 1 } },
            })
        } else if path.contains("/replicasets") {
            json!({ "items": [owned("ReplicaSet", "old", "d"), owned("ReplicaSet", "other", "e")] })
        } else if path.ends_with("/pods/ours") {
            *polled += 1;
            if *polled > 4 {
                return Answer::json(404, &json!({}));
            }
            owned("Pod", "ours", "old")
        } else if path.contains("/pods?") {
            json!({ "items": [owned("Pod", "ours", "old"), owned("Pod", "theirs", "other")] })
        } else {
            panic!("{path}");
        };
        Answer::json(200, &answer)
    })
    .await;
    let app = ObjectRef::namespaced("apps/v1", "Deployment", "n", "app");
    let minute = Duration::from_mins(1);
    cluster
        .wait(&[Goal::Stopped(app)], minute, &|_| ())
        .await
        .unwrap();
    let seen = seen.lock().unwrap();
    let pods = seen
        .iter()
        .filter(|request| request.path.ends_with("/pods/ours"));
    assert_eq!(pods.count(), 3, "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_will_not_be_established_is_told_at_once() {
    let definition = |reason: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.test"},
            "status": {"conditions": [
                {"type": "Established", "status": "False", "reason": reason, "message": "in words"}]}})
    };
    let kind = "CustomResourceDefinition";
    let reference = ObjectRef::cluster_scoped("apiextensions.k8s.io/v1", kind, "things.x.test");
    for (reason, words, early) in [
        ("NotAccepted", "NotAccepted: in words", true),
        ("Installing", "it is not established yet", false),
    ] {
        let (cluster, _) = served(move |_, _| Some(definition(reason))).await;
        let begun = Instant::now();
        let goal = [Goal::Ready(reference.clone())];
        let unsettled = unsettled(cluster.wait(&goal, DEADLINE, &|_| ()).await);
        assert_eq!(
            unsettled.to_string(),
            format!("CustomResourceDefinition things.x.test: {words}")
        );
        assert_eq!(begun.elapsed() < limits::POLL, early);
        assert_eq!(unsettled.has_failed(), early);
    }
}
