//! Tests of probe pods, with a server that returns a pod in each state of an image pull.

use std::sync::{Arc, Mutex};

use crate::failure::PullProblem;
use crate::mock::{Answer, RecordedRequest, cluster};

use super::*;

const DEADLINE: Duration = Duration::from_mins(2);
const POD: &str = "/api/v1/namespaces/n/pods/probe";

fn pod(spec: &Value, status: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "n", "uid": "u"},
        "spec": spec, "status": status})
}

/// A pod on its node with its container in this state.
fn state(state: &Value) -> Value {
    let status = json!({"name": "pull", "imageID": "", "state": state});
    pod(
        &json!({"nodeName": "node"}),
        &json!({"containerStatuses": [status]}),
    )
}

fn waiting(reason: &str, message: &str) -> Value {
    state(&json!({"waiting": {"reason": reason, "message": message}}))
}

fn event(reason: &str) -> Value {
    json!({"reason": reason, "message": format!("{reason} image \"r/app:1\""), "involvedObject": {"uid": "u"}})
}

type Requests = Arc<Mutex<Vec<RecordedRequest>>>;

/// Creates a pod whose state depends on the time since its creation.
async fn probe(
    live: impl Fn(Duration) -> Value + Send + Sync + 'static,
    events: Vec<Value>,
) -> (Probe, Requests) {
    let begun = Instant::now();
    let answer = move |request: &RecordedRequest| match (request.method.as_str(), &request.path) {
        ("GET", path) if path == POD => Answer::json(200, &live(begun.elapsed())),
        ("GET", _) => Answer::json(200, &json!({"items": events})),
        _ => Answer::json(200, &pod(&json!({}), &json!({}))),
    };
    let (cluster, seen) = cluster(answer).await;
    let manager = FieldManager::new("test").unwrap();
    let object = Object::new(pod(&json!({}), &json!({}))).unwrap();
    let probe = cluster
        .probe(&object, &manager, &HeldLeases::default())
        .await;
    (probe.unwrap(), seen)
}

/// Returns the result for a pod whose state does not change, and the elapsed time.
async fn outcome(live: Value, events: Vec<Value>) -> (Result<(), PodProblem>, Duration) {
    let (probe, _) = probe(move |_| live.clone(), events).await;
    let begun = Instant::now();
    let pulled = probe.pulled(DEADLINE, &|_| ()).await;
    let pulled = pulled.map_err(|error| match error {
        Error::Pull(failure) => failure.stuck,
        other => panic!("{other:?}"),
    });
    (pulled, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn an_image_is_there_once_a_container_is_made_of_it_or_fails_for_another_reason() {
    let mut made = state(&json!({"terminated": {"reason": "StartError", "exitCode": 128}}));
    made["status"]["containerStatuses"][0]["imageID"] = json!("r/app@sha256:1");
    made["status"]["phase"] = json!("Failed");
    for pulled in [
        made,
        waiting("RunContainerError", "no such file or directory"),
        waiting("CreateContainerConfigError", "image will run as root"),
    ] {
        let words = pulled.to_string();
        assert_eq!(outcome(pulled, Vec::new()).await.0, Ok(()), "{words}");
    }
    let creating = waiting("ContainerCreating", "");
    let events = vec![event("Pulling"), event("Pulled")];
    assert_eq!(outcome(creating, events).await.0, Ok(()));
}

#[tokio::test(start_paused = true)]
async fn what_keeps_a_pod_from_its_image_is_told_at_once_if_it_does_not_pass() {
    let unknown = waiting(
        "ErrImagePull",
        "x509: certificate signed by unknown authority",
    );
    let (pulled, took) = outcome(unknown, Vec::new()).await;
    assert_eq!(pulled, Err(PodProblem::Pull(PullProblem::UnknownAuthority)));
    assert!(took < Duration::from_secs(1), "{took:?}");
    let nobody = waiting(
        "ImagePullBackOff",
        "dial tcp 10.0.0.1:5000: connection refused",
    );
    let (pulled, took) = outcome(nobody, Vec::new()).await;
    assert_eq!(pulled, Err(PodProblem::Pull(PullProblem::Refused)));
    assert!(took >= limits::PATIENCE && took < DEADLINE, "{took:?}");
    let scheduled = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
    let homeless = pod(&json!({}), &json!({"conditions": [scheduled]}));
    assert_eq!(
        outcome(homeless, Vec::new()).await.0,
        Err(PodProblem::Unschedulable)
    );
    let evicted = json!({"phase": "Failed", "reason": "Evicted", "message": "no disk"});
    let evicted = pod(&json!({"nodeName": "node"}), &evicted);
    assert_eq!(
        outcome(evicted, Vec::new()).await.0,
        Err(PodProblem::PodRefused)
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_pulls_is_waited_for_and_one_that_does_nothing_is_not() {
    let creating = || waiting("ContainerCreating", "");
    let (pulled, took) = outcome(creating(), Vec::new()).await;
    assert_eq!(pulled, Err(PodProblem::NoCause));
    assert!(took < DEADLINE + Duration::from_secs(1), "{took:?}");
    let (pulled, took) = outcome(creating(), vec![event("Pulling")]).await;
    assert_eq!(pulled, Err(PodProblem::NoCause));
    assert!(took >= limits::PULLING, "{took:?}");

    let slow = move |since: Duration| {
        if since < 3 * DEADLINE {
            creating()
        } else {
            waiting("RunContainerError", "")
        }
    };
    let (probe, _) = probe(slow, vec![event("Pulling")]).await;
    let told = Mutex::new(Vec::new());
    let tell = |awaited: AwaitedCondition| told.lock().unwrap().push(awaited.to_string());
    probe.pulled(DEADLINE, &tell).await.unwrap();
    let told = told.into_inner().unwrap();
    assert_eq!(told, ["pulling image r/app:1, pod probe"]);
}

#[tokio::test]
async fn a_pod_goes_with_its_value_and_no_other_one_of_its_name() {
    for dropped in [false, true] {
        let (probe, seen) = probe(|_| Value::Null, Vec::new()).await;
        let leases = probe.counted.as_ref().unwrap().leases().clone();
        if dropped {
            drop(probe);
            leases.wait_released().await;
        } else {
            probe.remove().await.unwrap();
        }
        let seen = seen.lock().unwrap();
        let last = seen.last().unwrap();
        assert_eq!((last.method.as_str(), last.path.as_str()), ("DELETE", POD));
        let options: Value = serde_json::from_str(&last.body).unwrap();
        assert_eq!(options["preconditions"], json!({"uid": "u"}));
        assert_eq!(
            seen.iter()
                .filter(|request| request.method == "DELETE")
                .count(),
            1
        );
    }
}

#[tokio::test]
async fn a_pod_that_is_refused_is_no_failed_pull() {
    let manager = FieldManager::new("test").unwrap();
    let object = Object::new(pod(&json!({}), &json!({}))).unwrap();
    for (status, message, stuck) in [
        (
            403,
            "pods \"probe\" is forbidden: exceeded quota: few",
            PodProblem::Quota,
        ),
        (
            403,
            "pods \"probe\" is forbidden: violates PodSecurity \"restricted:latest\"",
            PodProblem::PodSecurity,
        ),
        (
            422,
            "admission webhook \"x\" denied the request: no\u{1b}[2J",
            PodProblem::PodRefused,
        ),
    ] {
        let (cluster, _) =
            cluster(move |_| Answer::json(status, &json!({"message": message}))).await;
        let made = cluster
            .probe(&object, &manager, &HeldLeases::default())
            .await;
        let Err(Error::Pull(failure)) = made else {
            panic!("{made:?}");
        };
        assert_eq!(failure.stuck, stuck);
        assert!(!failure.to_string().contains('\u{1b}'), "{failure}");
    }
}
