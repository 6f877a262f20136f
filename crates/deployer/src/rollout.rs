//! Waiting for a Deployment, and saying soon and in words why it does not come.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::diagnose::{Finding, Passing, Scene, diagnose, wants_events};
use crate::error::{Error, cut};
use crate::limits;
use crate::object::{Gvk, Object, ObjectRef};
use crate::read::{Selector, condition};
use crate::wire::{Call, endure, escape};

use crate::stuck::Stuck;

/// How far a rollout is, in pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RolloutProgress {
    /// Wanted.
    pub wanted: u64,
    /// Of the new version.
    pub updated: u64,
    /// Of the new version or an old one, and ready for long enough.
    pub available: u64,
    /// Of all versions.
    pub existing: u64,
}

/// Why a rollout does not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutFailure {
    /// The Deployment's namespace.
    pub namespace: String,
    /// The Deployment.
    pub deployment: String,
    /// The pod in which it was seen.
    pub pod: Option<String>,
    /// The cause.
    pub stuck: Stuck,
    /// The cluster's own words.
    pub detail: String,
    /// The end of the crashed container's log.
    pub log: Option<String>,
}

impl RolloutFailure {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        self.stuck.hint()
    }
}

impl fmt::Display for RolloutFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Deployment {}/{} does not come: {}",
            self.namespace, self.deployment, self.stuck
        )?;
        if let Some(pod) = &self.pod {
            write!(f, ", pod {pod}")?;
        }
        if self.detail.is_empty() {
            Ok(())
        } else {
            write!(f, ": {}", self.detail)
        }
    }
}

impl std::error::Error for RolloutFailure {}

/// What a kubelet sends, as if it were the log, when the container is cleaned away already.
const NO_LOG: &[u8] = b"unable to retrieve container logs for ";

/// Since when a cause that may pass by itself is seen without a break.
struct Suspicion {
    stuck: Stuck,
    since: Instant,
}

impl Cluster {
    /// Waits until all pods of a Deployment are of its current version and available, and stay so for
    /// [`limits::SETTLED`] if it has no readiness probe. Ends early with
    /// [`Error::Rollout`] when the pods' state shows that they will not come. `on_progress` is called whenever the
    /// numbers change. Reads Deployments; and `ReplicaSet`s, Pods, their log and Events as far as we may.
    pub async fn wait_rollout(
        &self,
        namespace: &str,
        deployment: &str,
        deadline: Duration,
        mut on_progress: impl FnMut(&RolloutProgress) + Send,
    ) -> Result<(), Error> {
        let reference = ObjectRef::namespaced("apps/v1", "Deployment", namespace, deployment);
        let end = Instant::now() + deadline;
        let (mut shown, mut suspicion, mut complete_since) = (None, None, None);
        loop {
            let Some(found) = endure(self.get(&reference).await, end)? else {
                tokio::time::sleep(limits::POLL).await;
                continue;
            };
            let Some(object) = found else {
                return Err(Error::NotFound {
                    doing: format!("wait for {reference}"),
                    message: "it is not there".to_owned(),
                });
            };
            let progress = progress(object.as_value());
            if shown != Some(progress) {
                on_progress(&progress);
                shown = Some(progress);
            }
            let now = Instant::now();
            if is_complete(object.as_value(), &progress) {
                let since = *complete_since.get_or_insert(now);
                if now.duration_since(since) >= settling(object.as_value()) {
                    return Ok(());
                }
            } else {
                complete_since = None;
                let late = now >= end || gave_up(object.as_value());
                let failure = self.why_not(&object, late, &mut suspicion).await;
                if let Some(failure) = endure(failure, end)?.flatten() {
                    return Err(Error::Rollout(Box::new(failure)));
                }
            }
            tokio::time::sleep(limits::POLL.min(deadline)).await;
        }
    }

    /// The failure to report now, if it is time to report one.
    async fn why_not(
        &self,
        deployment: &Object,
        late: bool,
        suspicion: &mut Option<Suspicion>,
    ) -> Result<Option<RolloutFailure>, Error> {
        let found = diagnose(&self.scene(deployment).await?);
        let certain = found
            .as_ref()
            .is_some_and(|finding| match finding.stuck.passing() {
                Passing::Never => true,
                Passing::Perhaps => lasts(suspicion, &finding.stuck),
                Passing::Likely => false,
            });
        if found.is_none() {
            *suspicion = None;
        }
        if !certain && !late {
            return Ok(None);
        }
        let finding = found.unwrap_or_else(Finding::nothing);
        Ok(Some(self.failure(deployment, finding).await?))
    }

    async fn failure(
        &self,
        deployment: &Object,
        finding: Finding,
    ) -> Result<RolloutFailure, Error> {
        let namespace = deployment.namespace().unwrap_or_default().to_owned();
        let log = match (&finding.pod, &finding.container, finding.stuck.has_log()) {
            (Some(pod), Some(container), true) => self.last_log(&namespace, pod, container).await?,
            _ => None,
        };
        Ok(RolloutFailure {
            namespace,
            deployment: deployment.name().to_owned(),
            pod: finding.pod,
            stuck: finding.stuck,
            detail: finding.detail,
            log,
        })
    }

    /// Everything a diagnosis looks at.
    async fn scene(&self, deployment: &Object) -> Result<Scene, Error> {
        let namespace = deployment.namespace().unwrap_or_default();
        let selector = selector_of(deployment.as_value());
        let list = |kind: Gvk| {
            let selector = selector.clone();
            async move { permitted(self.list(&kind, Some(namespace), selector.as_ref()).await) }
        };
        let replica_set = list(Gvk::new("apps/v1", "ReplicaSet"))
            .await?
            .unwrap_or_default()
            .into_iter()
            .find(|set| is_current(set, deployment))
            .map(Object::into_value);
        let uid = replica_set
            .as_ref()
            .map(|set| set["metadata"]["uid"].clone());
        let pods: Vec<Value> = list(Gvk::new("v1", "Pod"))
            .await?
            .unwrap_or_default()
            .into_iter()
            .filter(|pod| {
                uid.as_ref()
                    .is_some_and(|uid| is_owned_by(pod.as_value(), uid))
                    && !pod.is_being_deleted()
            })
            .take(limits::MAX_DIAGNOSED)
            .map(Object::into_value)
            .collect();
        let mut events = Vec::new();
        for pod in pods.iter().filter(|pod| wants_events(pod)) {
            events.extend(self.events_of(namespace, &pod["metadata"]["uid"]).await?);
        }
        Ok(Scene {
            deployment: deployment.as_value().clone(),
            replica_set,
            pods,
            events,
        })
    }

    async fn events_of(&self, namespace: &str, uid: &Value) -> Result<Vec<Value>, Error> {
        let path = format!(
            "/api/v1/namespaces/{}/events?limit={}&fieldSelector={}",
            escape(namespace),
            limits::MAX_DIAGNOSED,
            escape(&format!(
                "involvedObject.uid={}",
                uid.as_str().unwrap_or_default()
            )),
        );
        let mut list: Value =
            permitted(self.read_json(&path, "read a pod's events").await)?.unwrap_or_default();
        Ok(match list["items"].take() {
            Value::Array(events) => events,
            _ => Vec::new(),
        })
    }

    /// The log of the last run; while that has not said anything or is cleaned away, of the one before.
    async fn last_log(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
    ) -> Result<Option<String>, Error> {
        for previous in [false, true] {
            let path = format!(
                "/api/v1/namespaces/{}/pods/{}/log?container={}&previous={previous}&tailLines={}&limitBytes={}",
                escape(namespace),
                escape(pod),
                escape(container),
                limits::LOG_LINES,
                limits::LOG_BYTES,
            );
            // A log is a help, not a need: whatever keeps it away, the failure itself is to be reported.
            if let Ok(reply) = self
                .call(&Call::get(path, "read a crashed container's log"))
                .await
                && !reply.bytes.is_empty()
                && !reply.bytes.starts_with(NO_LOG)
            {
                return Ok(Some(cut(
                    String::from_utf8_lossy(&reply.bytes).trim_end(),
                    limits::LOG_BYTES,
                )));
            }
        }
        Ok(None)
    }
}

/// What we may not read does not help the diagnosis, and does not stop the wait either.
fn permitted<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn lasts(suspicion: &mut Option<Suspicion>, stuck: &Stuck) -> bool {
    match suspicion {
        Some(old) if old.stuck == *stuck => old.since.elapsed() >= limits::PATIENCE,
        _ => {
            *suspicion = Some(Suspicion {
                stuck: stuck.clone(),
                since: Instant::now(),
            });
            false
        }
    }
}

fn progress(deployment: &Value) -> RolloutProgress {
    let status = |field: &str| deployment["status"][field].as_u64().unwrap_or(0);
    RolloutProgress {
        wanted: deployment["spec"]["replicas"].as_u64().unwrap_or(1),
        updated: status("updatedReplicas"),
        available: status("availableReplicas"),
        existing: status("replicas"),
    }
}

/// The numbers speak about the current version only once the controller has seen it.
fn is_complete(deployment: &Value, progress: &RolloutProgress) -> bool {
    let generation = deployment["metadata"]["generation"].as_u64();
    let seen = deployment["status"]["observedGeneration"].as_u64() >= generation;
    seen && progress.updated >= progress.wanted
        && progress.existing <= progress.updated
        && progress.available >= progress.updated
}

/// How long a complete rollout must stay so to be believed.
fn settling(deployment: &Value) -> Duration {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
    let probed = |container: &Value| container["readinessProbe"].is_object();
    if containers.is_some_and(|containers| containers.iter().all(probed)) {
        Duration::ZERO
    } else {
        limits::SETTLED
    }
}

/// Whether the Deployment's own deadline has passed.
fn gave_up(deployment: &Value) -> bool {
    let generation = deployment["metadata"]["generation"].as_u64();
    let seen = deployment["status"]["observedGeneration"].as_u64() >= generation;
    seen && condition(deployment, "Progressing")
        .is_some_and(|c| c["reason"] == "ProgressDeadlineExceeded")
}

fn selector_of(deployment: &Value) -> Option<Selector> {
    let labels = deployment["spec"]["selector"]["matchLabels"].as_object()?;
    let mut labels = labels
        .iter()
        .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let (key, value) = labels.next()?;
    Some(
        labels.fold(Selector::label(key, value), |selector, (key, value)| {
            selector.and(key, value)
        }),
    )
}

fn is_current(set: &Object, deployment: &Object) -> bool {
    let revision = |object: &Object| {
        object
            .annotations()
            .get("deployment.kubernetes.io/revision")
            .map(|revision| (*revision).to_owned())
    };
    is_owned_by(set.as_value(), &deployment.as_value()["metadata"]["uid"])
        && revision(set) == revision(deployment)
}

fn is_owned_by(object: &Value, uid: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == *uid))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mock::{Answer, cluster};
    use crate::stuck::PullProblem;

    const DEADLINE: Duration = Duration::from_mins(10);

    fn deployment(observed: u64, available: u64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "app", "namespace": "n", "uid": "d", "generation": 2,
                "annotations": {"deployment.kubernetes.io/revision": "2"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "app"}}},
            "status": {"observedGeneration": observed, "replicas": 2, "updatedReplicas": 2, "availableReplicas": available}})
    }

    fn owned(name: &str, owner: &str, more: &Value) -> Value {
        let mut value = json!({"metadata": {"name": name, "namespace": "n", "uid": name,
            "annotations": {"deployment.kubernetes.io/revision": more["revision"]},
            "ownerReferences": [{"uid": owner, "controller": true}]}});
        value["status"] = more["status"].clone();
        value
    }

    fn pulling(message: &str) -> Value {
        json!({"status": {"containerStatuses": [{"name": "main", "ready": false,
            "state": {"waiting": {"reason": "ErrImagePull", "message": message}}}]}})
    }

    /// A Deployment whose old pods fail in one way and whose new pods in another.
    async fn failing(old: &'static str, new: &'static str) -> (Error, Duration) {
        let (cluster, _) = cluster(move |request| {
            let items = match request.path.split('?').next().unwrap() {
                "/apis/apps/v1/namespaces/n/deployments/app" => {
                    return Answer::json(200, &deployment(2, 0));
                }
                "/apis/apps/v1/namespaces/n/replicasets" => {
                    vec![
                        owned("s1", "d", &json!({"revision": "1"})),
                        owned("s2", "d", &json!({"revision": "2"})),
                    ]
                }
                "/api/v1/namespaces/n/pods" => vec![
                    owned("p1", "s1", &pulling(old)),
                    owned("p2", "s2", &pulling(new)),
                ],
                _ => Vec::new(),
            };
            Answer::json(200, &json!({"items": items}))
        })
        .await;
        let began = Instant::now();
        (
            cluster
                .wait_rollout("n", "app", DEADLINE, |_| {})
                .await
                .unwrap_err(),
            began.elapsed(),
        )
    }

    fn stuck(error: &Error) -> Stuck {
        match error {
            Error::Rollout(failure) => failure.stuck.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_pass_is_reported_at_once_and_what_may_pass_after_a_while() {
        let (error, took) = failing(
            "connection refused",
            "x509: certificate signed by unknown authority",
        )
        .await;
        assert_eq!(stuck(&error), Stuck::Pull(PullProblem::UnknownAuthority));
        assert!(
            took < Duration::from_secs(2) && !error.is_temporary(),
            "{took:?}"
        );
        assert!(
            error
                .to_string()
                .starts_with("Deployment n/app does not come: the image cannot be pulled"),
            "{error}"
        );

        let (error, took) = failing(
            "x509: certificate signed by unknown authority",
            "connection refused",
        )
        .await;
        assert_eq!(stuck(&error), Stuck::Pull(PullProblem::Refused));
        assert!(
            took >= limits::PATIENCE && took < limits::PATIENCE * 2 && error.is_temporary(),
            "{took:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn without_rights_to_look_the_wait_goes_on_to_its_end() {
        let (cluster, _) = cluster(|request| {
            if request.path.contains("/deployments/") {
                Answer::json(200, &deployment(2, 1))
            } else {
                Answer(403, None, Vec::new())
            }
        })
        .await;
        let began = Instant::now();
        let error = cluster
            .wait_rollout("n", "app", DEADLINE, |_| {})
            .await
            .unwrap_err();
        assert_eq!(stuck(&error), Stuck::NoCause);
        assert!(began.elapsed() >= DEADLINE && error.is_temporary());
    }

    #[tokio::test(start_paused = true)]
    async fn numbers_of_the_version_before_do_not_count() {
        let asked = std::sync::atomic::AtomicU64::new(0);
        let (cluster, _) = cluster(move |request| {
            if !request.path.contains("/deployments/") {
                return Answer::json(200, &json!({"items": []}));
            }
            let times = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            Answer::json(
                200,
                &if times < 100 {
                    deployment(1, 2)
                } else {
                    deployment(2, 2)
                },
            )
        })
        .await;
        let began = Instant::now();
        cluster
            .wait_rollout("n", "app", DEADLINE, |_| {})
            .await
            .unwrap();
        assert!(began.elapsed() >= limits::POLL * 100 + limits::SETTLED);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_away_for_a_while_is_waited_for() {
        let asked = std::sync::atomic::AtomicU64::new(0);
        let (cluster, seen) =
            cluster(
                move |_| match asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                    0..20 => Answer(503, None, Vec::new()),
                    _ => Answer::json(200, &deployment(2, 2)),
                },
            )
            .await;
        cluster
            .wait_rollout("n", "app", DEADLINE, |_| {})
            .await
            .unwrap();
        assert!(seen.lock().unwrap().len() > 20);
        let deadline = Duration::from_millis(1);
        let (cluster, _) = crate::mock::cluster(|_| Answer(503, None, Vec::new())).await;
        let result = cluster.wait_rollout("n", "app", deadline, |_| {}).await;
        assert!(matches!(result, Err(Error::Server { .. })), "{result:?}");
    }

    #[test]
    fn a_readiness_probe_makes_ready_mean_ready() {
        let with =
            |container: Value| json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        assert_eq!(
            settling(&with(json!({"readinessProbe": {}}))),
            Duration::ZERO
        );
        assert_eq!(settling(&with(json!({}))), limits::SETTLED);
    }

    #[test]
    fn the_deployments_own_deadline_ends_the_wait() {
        let mut late = deployment(2, 0);
        late["status"]["conditions"] =
            json!([{"type": "Progressing", "reason": "ProgressDeadlineExceeded"}]);
        assert!(gave_up(&late));
        late["status"]["observedGeneration"] = json!(1);
        assert!(!gave_up(&late), "that was about the version before");
    }
}
