//! The diagnosis why a rollout does not complete, from the state of its pods. The functions only evaluate objects that
//! were read before.

use serde_json::Value;

use crate::error::bounded;
use crate::failure::{PodProblem, PullProblem};
use crate::limits;
use crate::object::condition;

/// The waiting reasons of a container whose image cannot be pulled.
const PULLING: [&str; 4] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "RegistryUnavailable",
];

/// The objects for a diagnosis. Objects that the user may not read are missing.
#[derive(Debug)]
pub(crate) struct DiagnosisInput {
    pub(crate) workload: Value,
    /// The owner of the pods of the current version: a Deployment's `ReplicaSet`, else the workload itself. `None` only
    /// if the user may not read it.
    pub(crate) owner: Option<Value>,
    /// The pods of the current version.
    pub(crate) pods: Vec<Value>,
    /// The pods of other versions with the same owner.
    pub(crate) former: Vec<Value>,
    pub(crate) events: Vec<Value>,
}

/// A cause, and the place where it was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observation {
    pub(crate) stuck: PodProblem,
    pub(crate) pod: Option<String>,
    pub(crate) container: Option<String>,
    pub(crate) detail: String,
}

impl Observation {
    fn of_pod(pod: &Value, stuck: PodProblem, detail: &str) -> Self {
        Self {
            stuck,
            pod: text(&pod["metadata"]["name"]),
            container: None,
            detail: bounded(detail),
        }
    }

    fn of_container(pod: &Value, status: &Value, stuck: PodProblem, detail: &str) -> Self {
        Self {
            container: text(&status["name"]),
            ..Self::of_pod(pod, stuck, detail)
        }
    }
}

/// Returns the cause that is most likely permanent; if there is more than one, the first.
pub(crate) fn diagnose(input: &DiagnosisInput) -> Option<Observation> {
    let pods = input
        .pods
        .iter()
        .filter_map(|pod| diagnose_pod(pod, &input.events));
    refused_pods(input)
        .into_iter()
        .chain(pods)
        .min_by_key(|observation| observation.stuck.transience())
}

/// Returns the cause at the end of a wait. It includes causes that are ignored during the wait, because objects that
/// are created later often resolve them: failed pods of a Job, volumes that cannot be mounted, and pods of earlier
/// versions, which a `StatefulSet` waits for before it creates new ones.
pub(crate) fn diagnose_at_the_end(input: &DiagnosisInput) -> Option<Observation> {
    let ended = || {
        let failed = input.pods.iter().filter(|pod| has_failed(pod));
        // Of several attempts, the last one counts.
        let last = failed.max_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str());
        last.and_then(ended)
    };
    let unmounted = || {
        let mut pods = input.pods.iter();
        pods.find_map(|pod| unmounted(pod, &input.events))
    };
    let former = || {
        let mut pods = input.former.iter();
        pods.find_map(|pod| diagnose_pod(pod, &input.events))
    };
    diagnose(input)
        .or_else(ended)
        .or_else(unmounted)
        .or_else(former)
}

fn has_failed(pod: &Value) -> bool {
    pod["status"]["phase"] == "Failed"
}

/// Returns the cause for which a pod that is not restarted has terminated.
fn ended(pod: &Value) -> Option<Observation> {
    containers(pod).find_map(|status| {
        let ended = &status["state"]["terminated"];
        let failed = ended["exitCode"].as_i64().is_some_and(|code| code != 0);
        failed.then(|| diagnose_end(pod, status, ended))
    })
}

/// Returns the problem of a pod whose volumes cannot be mounted.
fn unmounted(pod: &Value, events: &[Value]) -> Option<Observation> {
    let message = event_of(&pod["metadata"]["uid"], "FailedMount", events)?;
    let begun = containers(pod).any(|status| !is_being_set_up(status));
    (!begun).then(|| Observation::of_pod(pod, PodProblem::Configuration, message))
}

/// Checks whether a pod's events can be more specific than its status.
pub(crate) fn wants_events(pod: &Value) -> bool {
    let unclear = |status: &Value| {
        let message = status["state"]["waiting"]["message"].as_str();
        let problem = classify_pull(message.unwrap_or_default());
        cannot_pull(status) && matches!(problem, PullProblem::Other | PullProblem::Unauthorized)
    };
    containers(pod).any(|status| unclear(status) || is_being_set_up(status))
}

/// Checks whether a pod waits for an image that could not be pulled yet.
pub(crate) fn waits_for_image(pod: &Value) -> bool {
    containers(pod).any(cannot_pull)
}

fn cannot_pull(status: &Value) -> bool {
    PULLING.contains(&waiting_reason(status))
}

/// Checks whether a container is being created, according to its status.
pub(crate) fn is_being_set_up(status: &Value) -> bool {
    ["ContainerCreating", "PodInitializing"].contains(&waiting_reason(status))
}

fn waiting_reason(status: &Value) -> &str {
    let reason = status["state"]["waiting"]["reason"].as_str();
    reason.unwrap_or_default()
}

pub(crate) fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    lists
        .into_iter()
        .filter_map(|list| pod["status"][list].as_array())
        .flatten()
}

/// Returns the cause for pods that could not be created.
fn refused_pods(input: &DiagnosisInput) -> Option<Observation> {
    // The condition of a Deployment may still be about an earlier version, unlike that of its replica set.
    let reporter = input.owner.as_ref().unwrap_or(&input.workload);
    let message = match condition(reporter, "ReplicaFailure") {
        Some(failure) if failure["status"] == "True" => {
            failure["message"].as_str().unwrap_or_default()
        }
        Some(_) => return None,
        // Other kinds do not have this condition and report the failure in events.
        None => event_of(&reporter["metadata"]["uid"], "FailedCreate", &input.events)?,
    };
    Some(Observation {
        stuck: refusal(message),
        pod: None,
        container: None,
        detail: bounded(message),
    })
}

/// Returns the message of the newest event with this reason about an object.
fn event_of<'a>(uid: &Value, reason: &str, events: &'a [Value]) -> Option<&'a str> {
    let about = |event: &&Value| {
        uid.is_string() && event["involvedObject"]["uid"] == *uid && event["reason"] == reason
    };
    let newest = events.iter().filter(about).max_by_key(|event| {
        let last = event["lastTimestamp"].as_str();
        last.or_else(|| event["eventTime"].as_str())
    });
    newest?["message"].as_str()
}

/// Returns the cause of a pod's rejection, by its message.
pub(super) fn refusal(message: &str) -> PodProblem {
    if message.contains("violates PodSecurity") {
        PodProblem::PodSecurity
    } else if message.contains("exceeded quota") || message.contains("failed quota") {
        PodProblem::Quota
    } else {
        PodProblem::PodRefused
    }
}

pub(super) fn diagnose_pod(pod: &Value, events: &[Value]) -> Option<Observation> {
    // A pod of a completed Job, regardless of earlier attempts.
    if pod["status"]["phase"] == "Succeeded" {
        return None;
    }
    let found = containers(pod).find_map(|status| diagnose_container(pod, status, events));
    found
        .or_else(|| unschedulable(pod))
        .or_else(|| not_ready(pod))
}

fn unschedulable(pod: &Value) -> Option<Observation> {
    let scheduled = condition(pod, "PodScheduled")?;
    if scheduled["reason"] != "Unschedulable" || scheduled["status"] != "False" {
        return None;
    }
    Some(Observation::of_pod(
        pod,
        PodProblem::Unschedulable,
        scheduled["message"].as_str().unwrap_or_default(),
    ))
}

fn not_ready(pod: &Value) -> Option<Observation> {
    let running = pod["status"]["containerStatuses"].as_array()?.iter();
    let status = running
        .filter(|status| status["state"]["running"].is_object())
        .find(|status| status["ready"] == false)?;
    Some(Observation::of_container(
        pod,
        status,
        PodProblem::NotReady,
        "",
    ))
}

fn diagnose_container(pod: &Value, status: &Value, events: &[Value]) -> Option<Observation> {
    let waiting = &status["state"]["waiting"];
    let message = waiting["message"].as_str().unwrap_or_default();
    let observation =
        |stuck, detail: &str| Some(Observation::of_container(pod, status, stuck, detail));
    match waiting_reason(status) {
        reason if PULLING.contains(&reason) => {
            let (problem, detail) = pull_problem(pod, message, events);
            observation(PodProblem::Pull(problem), &detail)
        }
        "InvalidImageName" => observation(PodProblem::Pull(PullProblem::BadReference), message),
        "CreateContainerConfigError" => observation(PodProblem::Configuration, message),
        "CreateContainerError" | "RunContainerError" => match start_problem(message) {
            Some(stuck) => observation(stuck, message),
            None => {
                crash(pod, status).or_else(|| observation(PodProblem::Node, &without_ids(message)))
            }
        },
        _ => crash(pod, status),
    }
}

/// Returns the cause for a container that has terminated repeatedly or could not be started. A running container may
/// have recovered.
fn crash(pod: &Value, status: &Value) -> Option<Observation> {
    if status["state"]["running"].is_object() {
        return None;
    }
    let ended = [
        &status["state"]["terminated"],
        &status["lastState"]["terminated"],
    ];
    let last = ended.into_iter().find(|ended| ended.is_object())?;
    let message = last["message"].as_str().unwrap_or_default();
    let exit_code = last["exitCode"].as_i64().unwrap_or(-1);
    if start_problem(message).is_some() {
        return Some(diagnose_end(pod, status, last));
    }
    // A completed init container.
    let done = exit_code == 0 && status["ready"] == true;
    if done || status["restartCount"].as_u64().unwrap_or(0) < limits::CRASHES {
        return None;
    }
    Some(diagnose_end(pod, status, last))
}

/// Returns the cause for which a container has terminated.
fn diagnose_end(pod: &Value, status: &Value, ended: &Value) -> Observation {
    let message = ended["message"].as_str().unwrap_or_default();
    let stuck = start_problem(message).unwrap_or_else(|| {
        if ended["reason"] == "OOMKilled" {
            return PodProblem::OutOfMemory;
        }
        PodProblem::Crash {
            exit_code: ended["exitCode"].as_i64().unwrap_or(-1),
        }
    });
    Observation::of_container(pod, status, stuck, message)
}

/// Removes container ids, which differ in each attempt, from a runtime's message.
fn without_ids(message: &str) -> String {
    let is_id = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = message.split('"');
    let words = words.map(|word| if is_id(word) { "…" } else { word });
    words.collect::<Vec<_>>().join("\"")
}

fn start_problem(message: &str) -> Option<PodProblem> {
    if message.contains("exec format error") {
        Some(PodProblem::WrongMachine)
    } else if message.contains("executable file not found")
        || message.contains("no such file or directory")
    {
        Some(PodProblem::NoProgram)
    } else {
        None
    }
}

/// The reason of a kubelet's event for a pull without a secret that the pod names. A kubelet waits at most a second for
/// a secret that it has not received yet.
const SECRET_UNREAD: &str = "FailedToRetrieveImagePullSecret";

/// Returns the reason why an image cannot be pulled, and the message that reports it.
fn pull_problem(pod: &Value, message: &str, events: &[Value]) -> (PullProblem, String) {
    let uid = &pod["metadata"]["uid"];
    let unread =
        |event: &Value| event["involvedObject"]["uid"] == *uid && event["reason"] == SECRET_UNREAD;
    match reported_problem(pod, message, events) {
        (PullProblem::Unauthorized, words) if events.iter().any(unread) => {
            (PullProblem::SecretUnread, words)
        }
        other => other,
    }
}

/// Returns the reported cause. Older kubelets report it in an event only, and the status does not contain it during a
/// back-off.
fn reported_problem(pod: &Value, message: &str, events: &[Value]) -> (PullProblem, String) {
    let of_message = classify_pull(message);
    if of_message != PullProblem::Other {
        return (of_message, message.to_owned());
    }
    let uid = &pod["metadata"]["uid"];
    let messages = events
        .iter()
        .filter(|event| event["involvedObject"]["uid"] == *uid && event["reason"] == "Failed")
        .filter_map(|event| event["message"].as_str());
    let known = messages
        .map(|text| (classify_pull(text), text))
        .find(|(problem, _)| *problem != PullProblem::Other);
    known.map_or(
        (PullProblem::Other, message.to_owned()),
        |(problem, text)| (problem, text.to_owned()),
    )
}

/// Classifies a message by the texts of containerd and CRI-O. The order matters, because a message may contain several
/// of them.
fn classify_pull(message: &str) -> PullProblem {
    const WORDS: [(&str, PullProblem); 25] = [
        // This must be first: a failure of the name server is not one of the registry.
        ("dial tcp: lookup ", PullProblem::NoSuchHost),
        ("unknown authority", PullProblem::UnknownAuthority),
        ("x509", PullProblem::Certificate),
        (
            "server gave http response to https client",
            PullProblem::PlainHttp,
        ),
        (
            "first record does not look like a tls handshake",
            PullProblem::PlainHttp,
        ),
        ("wrong version number", PullProblem::PlainHttp),
        ("no match for platform", PullProblem::Platform),
        (
            "no image found in manifest list for architecture",
            PullProblem::Platform,
        ),
        ("401 unauthorized", PullProblem::Unauthorized),
        ("403 forbidden", PullProblem::Unauthorized),
        ("no basic auth credentials", PullProblem::Unauthorized),
        ("authentication required", PullProblem::Unauthorized),
        ("authorization failed", PullProblem::Unauthorized),
        ("unauthorized", PullProblem::Unauthorized),
        ("connection refused", PullProblem::Refused),
        ("no such host", PullProblem::NoSuchHost),
        ("server misbehaving", PullProblem::NoSuchHost),
        ("manifest unknown", PullProblem::NotFound),
        ("name unknown", PullProblem::NotFound),
        (": not found", PullProblem::NotFound),
        ("i/o timeout", PullProblem::TimedOut),
        ("no route to host", PullProblem::TimedOut),
        ("network is unreachable", PullProblem::TimedOut),
        ("deadline exceeded", PullProblem::TimedOut),
        ("couldn't parse image", PullProblem::BadReference),
    ];
    let message = without_names(message).to_lowercase();
    let known = WORDS.iter().find(|(words, _)| message.contains(words));
    known.map_or(PullProblem::Other, |(_, problem)| *problem)
}

/// Removes quoted text and references from a message. Publishers choose the names of images and hosts, which may
/// contain one of the searched texts.
fn without_names(message: &str) -> String {
    let unquoted: Vec<&str> = message.split('"').step_by(2).collect();
    let unquoted = unquoted.join(" ");
    let unnamed = unquoted.split_whitespace().map(|word| {
        let is_name = word.contains('/') && !word.starts_with("i/o");
        if is_name { ":" } else { word }
    });
    unnamed.collect::<Vec<_>>().join(" ")
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn input(pods: Vec<Value>, events: Vec<Value>) -> DiagnosisInput {
        DiagnosisInput {
            workload: json!({}),
            owner: None,
            pods,
            former: Vec::new(),
            events,
        }
    }

    fn pod(status: &Value) -> Value {
        json!({"metadata": {"name": "app-1", "uid": "u1"}, "status": status})
    }

    fn waiting(reason: &str, message: &str) -> Value {
        pod(
            &json!({"containerStatuses": [{"name": "main", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": reason, "message": message}}}]}),
        )
    }

    fn cause(pods: Vec<Value>) -> Option<PodProblem> {
        diagnose(&input(pods, Vec::new())).map(|observation| observation.stuck)
    }

    /// The messages of containerd 1.6 to 2, CRI-O and Docker's registry.
    #[test]
    fn pull_messages_are_understood() {
        for (message, problem) in [
            (
                "failed to do request: Head \"https://r/v2/a/manifests/1\": tls: failed to verify certificate: x509: certificate signed by unknown authority",
                PullProblem::UnknownAuthority,
            ),
            (
                "Head \"https://r\": x509: certificate has expired or is not yet valid",
                PullProblem::Certificate,
            ),
            (
                "Head \"https://r\": http: server gave HTTP response to HTTPS client",
                PullProblem::PlainHttp,
            ),
            (
                "failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized",
                PullProblem::Unauthorized,
            ),
            (
                "pull access denied, repository does not exist or may require authorization: authorization failed: no basic auth credentials",
                PullProblem::Unauthorized,
            ),
            (
                "rpc error: code = NotFound desc = failed to pull and unpack image \"r/a:1\": failed to resolve reference \"r/a:1\": r/a:1: not found",
                PullProblem::NotFound,
            ),
            (
                "reading manifest 1 in r/a: manifest unknown",
                PullProblem::NotFound,
            ),
            (
                "failed to pull and unpack image: no match for platform in manifest: not found",
                PullProblem::Platform,
            ),
            (
                "dial tcp 127.0.0.1:1: connect: connection refused",
                PullProblem::Refused,
            ),
            (
                "dial tcp: lookup r on 10.0.0.1:53: no such host",
                PullProblem::NoSuchHost,
            ),
            ("dial tcp 10.0.0.1:443: i/o timeout", PullProblem::TimedOut),
            ("Back-off pulling image \"r/a:1\"", PullProblem::Other),
            // Messages of containerd 1.6 with a kubelet before 1.36, observed in the test cluster.
            (
                "failed to pull and unpack image \"n.test:5443/a@sha256:0\": failed to resolve reference \"n.test:5443/a@sha256:0\": failed to do request: Head \"https://n.test:5443/v2/a/manifests/sha256:0\": dial tcp: lookup n.test on 10.255.255.53:53: dial udp 10.255.255.53:53: connect: network is unreachable",
                PullProblem::NoSuchHost,
            ),
            (
                "failed to pull and unpack image \"n.test:5443/a@sha256:0\": failed to resolve reference \"n.test:5443/a@sha256:0\": failed to do request: Head \"https://n.test:5443/v2/a/manifests/sha256:0\": x509: certificate signed by unknown authority",
                PullProblem::UnknownAuthority,
            ),
            (
                "failed to pull and unpack image \"r/a:1\": failed to do request: Head \"https://r/v2/a\": dial tcp: lookup r on 10.0.0.1:53: read udp 10.0.0.2:4->10.0.0.1:53: read: connection refused",
                PullProblem::NoSuchHost,
            ),
            // The name of an image is ignored.
            (
                "failed to pull and unpack image \"r/x509:401\": failed to resolve reference \"r/x509:401\": r/x509:401: not found",
                PullProblem::NotFound,
            ),
            (
                "reading manifest 1 in r/x509-unauthorized: dial tcp 10.0.0.1:443: i/o timeout",
                PullProblem::TimedOut,
            ),
        ] {
            assert_eq!(
                cause(vec![waiting("ErrImagePull", message)]),
                Some(PodProblem::Pull(problem)),
                "{message}"
            );
        }
    }

    #[test]
    fn an_event_of_the_pod_helps_where_its_status_says_little() {
        let event = |uid: &str, message: &str| json!({"reason": "Failed", "involvedObject": {"uid": uid}, "message": message});
        let events = vec![
            event("u2", "x509: certificate signed by unknown authority"),
            event("u1", "Error: ErrImagePull"),
            event("u1", "Failed to pull image \"r/a\": 401 Unauthorized"),
        ];
        let pods = vec![waiting(
            "ImagePullBackOff",
            "Back-off pulling image \"r/a\"",
        )];
        let observation = diagnose(&input(pods, events)).unwrap();
        assert_eq!(
            observation.stuck,
            PodProblem::Pull(PullProblem::Unauthorized)
        );
        assert!(observation.detail.contains("401"));
        assert_eq!(
            (observation.pod.as_deref(), observation.container.as_deref()),
            (Some("app-1"), Some("main"))
        );
    }

    /// The node did not have the secret yet when it pulled, and has it the next time.
    #[test]
    fn a_secret_that_the_node_could_not_read_is_no_wrong_login() {
        let unread = |uid: &str| json!({"reason": SECRET_UNREAD, "involvedObject": {"uid": uid}, "message": "login"});
        let refused = || vec![waiting("ErrImagePull", "401 Unauthorized")];
        for (events, problem) in [
            (vec![], PullProblem::Unauthorized),
            (vec![unread("u2")], PullProblem::Unauthorized),
            (vec![unread("u1")], PullProblem::SecretUnread),
        ] {
            let observation = diagnose(&input(refused(), events)).unwrap();
            assert_eq!(observation.stuck, PodProblem::Pull(problem));
        }
        assert!(wants_events(&refused()[0]));
        let elsewhere = vec![waiting("ErrImagePull", "x509: unknown authority")];
        let observation = diagnose(&input(elsewhere, vec![unread("u1")])).unwrap();
        assert_eq!(
            observation.stuck,
            PodProblem::Pull(PullProblem::UnknownAuthority)
        );
    }

    fn ended(restarts: u64, last: &Value) -> Value {
        pod(
            &json!({"containerStatuses": [{"name": "main", "ready": false, "restartCount": restarts,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": last}}]}),
        )
    }

    #[test]
    fn crashes_are_told_once_they_repeat() {
        let error = json!({"exitCode": 3, "reason": "Error"});
        assert_eq!(cause(vec![ended(1, &error)]), None);
        assert_eq!(
            cause(vec![ended(2, &error)]),
            Some(PodProblem::Crash { exit_code: 3 })
        );
        assert_eq!(
            cause(vec![ended(
                2,
                &json!({"exitCode": 0, "reason": "Completed"})
            )]),
            Some(PodProblem::Crash { exit_code: 0 })
        );
        assert_eq!(
            cause(vec![ended(
                2,
                &json!({"exitCode": 137, "reason": "OOMKilled"})
            )]),
            Some(PodProblem::OutOfMemory)
        );
        let machine = json!({"exitCode": 128, "reason": "StartError", "message": "exec /op: exec format error"});
        assert_eq!(
            cause(vec![ended(0, &machine)]),
            Some(PodProblem::WrongMachine)
        );
    }

    #[test]
    fn a_container_that_recovered_is_no_cause() {
        let recovered = pod(
            &json!({"containerStatuses": [{"name": "main", "ready": true, "restartCount": 5,
            "state": {"running": {}}, "lastState": {"terminated": {"exitCode": 1}}}]}),
        );
        assert_eq!(cause(vec![recovered]), None);
        let init_done = pod(
            &json!({"initContainerStatuses": [{"name": "init", "ready": true, "restartCount": 3,
            "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]}),
        );
        assert_eq!(cause(vec![init_done]), None);
    }

    #[test]
    fn other_states_have_their_own_cause() {
        assert_eq!(
            cause(vec![waiting(
                "CreateContainerConfigError",
                "configmap \"x\" not found"
            )]),
            Some(PodProblem::Configuration)
        );
        assert_eq!(
            cause(vec![waiting(
                "RunContainerError",
                "exec: \"/op\": stat /op: no such file or directory"
            )]),
            Some(PodProblem::NoProgram)
        );
        assert_eq!(
            cause(vec![waiting("InvalidImageName", "x")]),
            Some(PodProblem::Pull(PullProblem::BadReference))
        );
        assert_eq!(cause(vec![waiting("ContainerCreating", "")]), None);
        let pending = pod(
            &json!({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]}),
        );
        assert_eq!(cause(vec![pending]), Some(PodProblem::Unschedulable));
    }

    #[test]
    fn a_node_that_cannot_make_a_container_says_the_same_at_each_attempt() {
        let attempt = |id: &str| {
            let words = format!(
                "failed to generate container \"{}\" spec: path \"/sys/fs/bpf\" is not a shared mount",
                id.repeat(64)
            );
            let pods = vec![waiting("CreateContainerError", &words)];
            diagnose(&input(pods, Vec::new())).unwrap()
        };
        let seen = attempt("a");
        assert_eq!(seen.stuck, PodProblem::Node);
        let words =
            "failed to generate container \"…\" spec: path \"/sys/fs/bpf\" is not a shared mount";
        assert_eq!(seen.detail, words);
        assert_eq!(attempt("7").detail, words);
    }

    #[test]
    fn pods_that_are_refused_have_no_pods() {
        for (message, stuck) in [
            (
                "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": x",
                PodProblem::PodSecurity,
            ),
            (
                "pods \"a\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0",
                PodProblem::Quota,
            ),
            (
                "pods \"a\" is forbidden: error looking up service account n/a: serviceaccount \"a\" not found",
                PodProblem::PodRefused,
            ),
        ] {
            let conditions = json!([{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}]);
            let set = json!({"status": {"conditions": conditions}});
            let input = DiagnosisInput {
                owner: Some(set),
                ..input(Vec::new(), Vec::new())
            };
            assert_eq!(diagnose(&input).unwrap().stuck, stuck);
        }
    }

    #[test]
    fn a_deployments_word_on_a_former_version_does_not_count() {
        let failed = json!({"status": {"conditions": [
            {"type": "ReplicaFailure", "status": "True", "message": "violates PodSecurity"}]}});
        let mut input = DiagnosisInput {
            workload: failed,
            owner: Some(json!({"status": {}})),
            ..input(Vec::new(), Vec::new())
        };
        assert_eq!(diagnose(&input), None);
        input.owner = None;
        assert_eq!(diagnose(&input).unwrap().stuck, PodProblem::PodSecurity);
    }

    #[test]
    fn the_surest_of_several_causes_is_told() {
        let refused = waiting("ErrImagePull", "connection refused");
        let unknown = waiting(
            "ErrImagePull",
            "x509: certificate signed by unknown authority",
        );
        assert_eq!(
            cause(vec![refused, unknown]),
            Some(PodProblem::Pull(PullProblem::UnknownAuthority))
        );
    }
}
