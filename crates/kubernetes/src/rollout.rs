//! Rollouts of workloads: their state, and the diagnosis why they do not complete. A cause that may be temporary, such
//! as a failed image pull, counts only after it was observed for some time.

pub(crate) mod diagnosis;
pub(crate) mod pods;
pub(crate) mod probe;
pub(crate) mod restart;
pub(crate) mod state;

use std::time::Duration;

use diagnosis::{Observation, diagnose};
use jiff::Timestamp;
use pods::{CurrentSet, Workload, wanted};
use serde_json::Value;
use state::{AwaitedCondition, RolloutProgress, RolloutState, awaited_condition};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::error::{Error, cut};
use crate::failure::{PodProblem, Readiness, RolloutFailure, Transience};
use crate::limits;
use crate::log::LogTail;
use crate::object::{Gvk, Object, ObjectRef, condition};
use crate::read::Selector;
use crate::readiness::MissedDeadline;

/// A cause that may be temporary, and the time since which it is seen without interruption.
#[derive(Debug, Default)]
pub(crate) struct Suspicion(Option<(PodProblem, Instant)>);

impl Suspicion {
    /// Checks whether the observed cause is permanent.
    fn is_certain(&mut self, observation: Option<&Observation>) -> bool {
        self.is_permanent(
            observation.map(|observation| (&observation.stuck, observation.stuck.transience())),
        )
    }

    /// Checks whether a cause is permanent, given how likely it is to pass.
    pub(crate) fn is_permanent(&mut self, seen: Option<(&PodProblem, Transience)>) -> bool {
        match seen {
            None => {
                self.0 = None;
                false
            }
            Some((_, Transience::Never)) => true,
            Some((_, Transience::Likely)) => false,
            Some((stuck, Transience::Perhaps)) => match &self.0 {
                Some((known, since)) if known == stuck => since.elapsed() >= limits::PATIENCE,
                _ => {
                    self.0 = Some((stuck.clone(), Instant::now()));
                    false
                }
            },
        }
    }
}

/// The state of a Deployment at one poll.
#[derive(Debug)]
pub(crate) struct RolloutView {
    pub(crate) deployment: Object,
    state: RolloutState,
    /// The observed cause, if there is one.
    pub(crate) observation: Option<Observation>,
}

impl RolloutView {
    /// Returns whether the rollout is complete, or the condition that it waits for.
    pub(crate) fn readiness(&self) -> Readiness {
        let RolloutState { progress, awaited } = &self.state;
        let (ready, wanted) = (progress.ready(), progress.wanted);
        awaited.as_ref().map_or(Readiness::Ready, |awaited| {
            Readiness::Pending(format!("{ready} of {wanted} pods ready: {awaited}"))
        })
    }
}

impl Cluster {
    /// Returns the state of a Deployment's rollout; `None` if the Deployment does not exist. Writes nothing.
    pub async fn rollout_state(
        &self,
        namespace: &str,
        deployment: &str,
    ) -> Result<Option<(Object, RolloutState)>, Error> {
        let view = self.find_rollout_view(namespace, deployment).await?;
        Ok(view.map(|view| (view.deployment, view.state)))
    }

    /// Returns the state of the rollout of every Deployment with certain labels, in one namespace or in all. Pods are
    /// inspected only for incomplete rollouts.
    pub async fn rollout_states(
        &self,
        namespace: Option<&str>,
        selector: &Selector,
    ) -> Result<Vec<(Object, RolloutState)>, Error> {
        let kind = Gvk::new("apps/v1", "Deployment");
        let mut states = Vec::new();
        for deployment in self.list(&kind, namespace, Some(selector)).await? {
            let view = self.rollout_view(deployment).await?;
            states.push((view.deployment, view.state));
        }
        Ok(states)
    }

    /// Checks whether a complete workload does not need to be observed any longer. It must have a readiness probe, or
    /// all its pods must have been ready long enough. Pods that the user may not read do not count.
    pub(crate) async fn is_settled(&self, workload: &Object) -> Result<bool, Error> {
        if settling(workload.as_value()).is_zero() {
            return Ok(true);
        }
        let pods = match Workload::from_object(workload) {
            Some(Workload::Deployment) => match self.current_set(workload).await? {
                CurrentSet::Found(set) => self.pods_of(workload, &set).await?,
                CurrentSet::Absent | CurrentSet::Unseen => return Ok(false),
            },
            Some(Workload::Owner) => self.pods_of(workload, workload).await?,
            Some(Workload::Pod) => vec![workload.clone()],
            None => return Ok(true),
        };
        let wanted = usize::try_from(wanted(workload));
        let Some(now) = self.server_time().filter(|_| wanted == Ok(pods.len())) else {
            return Ok(false);
        };
        // The kubelet's clock may be slower than the server's.
        let long = limits::SETTLED + limits::CLOCK_SKEW;
        Ok(pods
            .iter()
            .all(|pod| ready_since(pod.as_value()).is_some_and(|since| since + long <= now)))
    }

    async fn find_rollout_view(
        &self,
        namespace: &str,
        deployment: &str,
    ) -> Result<Option<RolloutView>, Error> {
        let reference = ObjectRef::namespaced("apps/v1", "Deployment", namespace, deployment);
        match self.get(&reference).await? {
            Some(deployment) => Ok(Some(self.rollout_view(deployment).await?)),
            None => Ok(None),
        }
    }

    pub(crate) async fn rollout_view(&self, deployment: Object) -> Result<RolloutView, Error> {
        let mut progress = progress(deployment.as_value());
        let (awaited, observation) = if !is_observed(deployment.as_value()) {
            // The status is still that of an earlier version.
            (progress.updated, progress.available) = (0, 0);
            (Some(AwaitedCondition::Notice), None)
        } else if is_complete(&progress) {
            (None, None)
        } else if let Some(input) = self.deployment_input(&deployment).await? {
            let observation = diagnose(&input);
            (
                Some(awaited_condition(&input, &progress, observation.as_ref())),
                observation,
            )
        } else {
            (Some(AwaitedCondition::Pods), None)
        };
        Ok(RolloutView {
            deployment,
            state: RolloutState { progress, awaited },
            observation,
        })
    }

    pub(crate) async fn failure(&self, view: RolloutView) -> RolloutFailure {
        let observation = view
            .observation
            .unwrap_or_else(|| Observation::without_cause(view.state.awaited.as_ref()));
        let namespace = view.deployment.namespace().unwrap_or_default().to_owned();
        let missed = MissedDeadline::find(&view.deployment).map(|missed| missed.words);
        RolloutFailure {
            log: self.log_of(&namespace, &observation).await,
            namespace,
            deployment: view.deployment.name().to_owned(),
            pod: observation.pod,
            stuck: observation.stuck,
            detail: match missed {
                Some(missed) if observation.detail.is_empty() => missed,
                Some(missed) => format!("{}; {missed}", observation.detail),
                None => observation.detail,
            },
        }
    }

    /// Returns the end of the log if it can explain the observed cause.
    pub(crate) async fn log_of(
        &self,
        namespace: &str,
        observation: &Observation,
    ) -> Option<String> {
        match (&observation.pod, &observation.container) {
            (Some(pod), Some(container)) if observation.stuck.has_log() => {
                self.last_log(namespace, pod, container).await
            }
            _ => None,
        }
    }

    /// Returns the log of the last run, or of the previous one if the last has none.
    async fn last_log(&self, namespace: &str, pod: &str, container: &str) -> Option<String> {
        for previous in [false, true] {
            let end = LogTail {
                namespace,
                pod,
                container,
                previous,
                lines: limits::LOG_LINES,
                bytes: limits::LOG_BYTES,
            };
            // A log is optional: the failure is reported even if the log cannot be read.
            let log = self.log(&end).await.ok().flatten();
            if let Some(log) = log.filter(|log| !log.is_empty()) {
                let log = String::from_utf8_lossy(&log);
                return Some(cut(log.trim_end(), limits::LOG_BYTES));
            }
        }
        None
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

/// Checks whether the controller has observed the current version. Before that, the status is about an earlier version.
fn is_observed(deployment: &Value) -> bool {
    let generation = deployment["metadata"]["generation"].as_u64();
    // A status without this field yields `None`, which is less than any number.
    deployment["status"]["observedGeneration"].as_u64() >= generation
}

/// Checks whether a rollout is complete. The numbers are about the current version only if it is observed.
fn is_complete(progress: &RolloutProgress) -> bool {
    progress.updated >= progress.wanted
        && progress.existing <= progress.updated
        && progress.available >= progress.updated
}

/// Returns the time since which a pod is ready, by its node's clock. A pod is not ready while a container is
/// terminated, and becomes ready again after a restart.
fn ready_since(pod: &Value) -> Option<Timestamp> {
    let ready = condition(pod, "Ready").filter(|ready| ready["status"] == "True")?;
    ready["lastTransitionTime"].as_str()?.parse().ok()
}

/// Returns the time for which a complete workload must stay complete.
pub(crate) fn settling(workload: &Value) -> Duration {
    let spec = &workload["spec"];
    let template = spec["template"]["spec"]["containers"].as_array();
    let containers = template.or_else(|| spec["containers"].as_array());
    let probed = |container: &Value| container["readinessProbe"].is_object();
    if containers.is_some_and(|containers| containers.iter().all(probed)) {
        Duration::ZERO
    } else {
        limits::SETTLED
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};

    use serde_json::json;

    use super::pods::TEMPLATE_HASH;
    use super::restart::RestartOutcome;
    use super::*;
    use crate::failure::PullProblem;
    use crate::mock::{Answer, RecordedRequest, cluster};
    use crate::wait::{Goal, ObjectStatus};

    const DEADLINE: Duration = Duration::from_mins(10);

    fn app() -> Goal {
        Goal::Rollout(ObjectRef::namespaced("apps/v1", "Deployment", "n", "app"))
    }

    async fn wait(cluster: &Cluster) -> Result<(), Error> {
        cluster.wait(&[app()], DEADLINE, &|_| ()).await
    }

    fn deployment(observed: u64, available: u64) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "app", "namespace": "n", "uid": "d", "generation": 2,
                // The annotation is outdated, because the controller updates it late.
                "annotations": {"deployment.kubernetes.io/revision": "1"}},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "app"}}, "template": template("new")},
            "status": {"observedGeneration": observed, "replicas": 2, "updatedReplicas": 2, "availableReplicas": available}})
    }

    fn template(image: &str) -> Value {
        json!({"metadata": {"labels": {"app": "app"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
    }

    fn set(name: &str, image: &str) -> Value {
        let mut set = owned(name, "d", &json!({}));
        set["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": "1"});
        set["spec"]["template"] = template(image);
        set["spec"]["template"]["metadata"]["labels"][TEMPLATE_HASH] = json!(name);
        set
    }

    fn owned(name: &str, owner: &str, more: &Value) -> Value {
        let mut value = json!({"metadata": {"name": name, "namespace": "n", "uid": name,
            "ownerReferences": [{"uid": owner, "controller": true}]}});
        value["spec"] = json!({"nodeName": "node"});
        value["status"] = more["status"].clone();
        value
    }

    fn pulling(message: &str) -> Value {
        json!({"status": {"containerStatuses": [{"name": "main", "ready": false,
            "state": {"waiting": {"reason": "ErrImagePull", "message": message}}}]}})
    }

    /// Waits for a Deployment whose old pods fail in one way and whose new pods in another.
    async fn failing(old: &'static str, new: &'static str) -> (Error, Duration) {
        let pods = vec![
            owned("p1", "s1", &pulling(old)),
            owned("p2", "s2", &pulling(new)),
        ];
        let sets = vec![set("s1", "old"), set("s2", "new")];
        let cluster = served(|_| deployment(2, 0), sets, pods).await;
        let began = Instant::now();
        let result = wait(&cluster).await;
        (result.unwrap_err(), began.elapsed())
    }

    /// A cluster with a Deployment that changes with each poll, and these replica sets and pods.
    async fn served(
        deployment: impl Fn(u64) -> Value + Send + Sync + 'static,
        sets: Vec<Value>,
        pods: Vec<Value>,
    ) -> Cluster {
        let looks = AtomicU64::new(0);
        let answer = move |request: &RecordedRequest| match request.path.split('?').next().unwrap()
        {
            "/apis/apps/v1/namespaces/n/deployments/app" => {
                Answer::json(200, &deployment(looks.fetch_add(1, Ordering::SeqCst)))
            }
            "/apis/apps/v1/namespaces/n/replicasets" => Answer::json(200, &json!({"items": sets})),
            "/api/v1/namespaces/n/pods" => Answer::json(200, &json!({"items": pods})),
            _ => Answer::json(200, &json!({"items": []})),
        };
        cluster(answer).await.0
    }

    fn stuck(error: &Error) -> PodProblem {
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
        assert_eq!(
            stuck(&error),
            PodProblem::Pull(PullProblem::UnknownAuthority)
        );
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(
            error
                .to_string()
                .starts_with("Deployment n/app does not become ready: the image cannot be pulled"),
            "{error}"
        );

        let (error, took) = failing(
            "x509: certificate signed by unknown authority",
            "connection refused",
        )
        .await;
        assert_eq!(stuck(&error), PodProblem::Pull(PullProblem::Refused));
        assert!(
            took >= limits::PATIENCE && took < limits::PATIENCE * 2,
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
        let error = wait(&cluster).await.unwrap_err();
        assert_eq!(stuck(&error), PodProblem::NoCause);
        assert!(began.elapsed() >= DEADLINE);
    }

    const BROKEN: &str = "x509: certificate signed by unknown authority";

    #[tokio::test(start_paused = true)]
    async fn nothing_counts_before_the_controller_has_seen_the_version() {
        let looks = |view| match view {
            // Numbers and pods of the previous version, before a new replica set exists.
            0..50 => deployment(1, 2),
            50..100 => deployment(1, 0),
            _ => deployment(2, 2),
        };
        let pods = vec![owned("p2", "s2", &pulling(BROKEN))];
        let cluster = served(looks, vec![set("s2", "new")], pods).await;
        let began = Instant::now();
        let seen = Mutex::new(Vec::new());
        let tell = |status: ObjectStatus| seen.lock().unwrap().push(status.to_string());
        cluster.wait(&[app()], DEADLINE, &tell).await.unwrap();
        assert!(began.elapsed() >= limits::POLL * 100 + limits::SETTLED);
        assert_eq!(
            seen.into_inner().unwrap(),
            [
                "Deployment n/app: 0 of 2 pods ready: the cluster has not observed this version yet",
                "Deployment n/app: ready"
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_are_ready_for_long_are_not_watched() {
        let ready = |name: &str, since: &str| {
            let condition = json!({"type": "Ready", "status": "True", "lastTransitionTime": since});
            owned(name, "s2", &json!({"status": {"conditions": [condition]}}))
        };
        let (long, short) = ("2026-11-22T12:00:20Z", "2026-11-22T12:00:21Z");
        for (pods, watched) in [
            (vec![ready("p1", long), ready("p2", long)], false),
            (vec![ready("p1", long), ready("p2", short)], true),
            // A pod that is not visible may be new.
            (vec![ready("p1", long)], true),
            (vec![ready("p1", long), owned("p2", "s2", &json!({}))], true),
        ] {
            let cluster = served(|_| deployment(2, 2), vec![set("s2", "new")], pods).await;
            let began = Instant::now();
            let waited = wait(&cluster).await;
            waited.unwrap();
            assert_eq!(began.elapsed() >= limits::SETTLED, watched);
            assert_eq!(began.elapsed() == Duration::ZERO, !watched);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pods_of_the_release_before_are_no_reason_to_give_up() {
        let looks = |view| deployment(2, if view < 20 { 0 } else { 2 });
        for sets in [
            vec![set("s1", "old"), set("s2", "new")],
            // The controller has observed the new release but not created its replica set.
            vec![set("s1", "old")],
        ] {
            let pods = vec![owned("p1", "s1", &pulling(BROKEN))];
            let cluster = served(looks, sets, pods).await;
            wait(&cluster).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_the_release_before_has_missed_does_not_count() {
        let looks = |view| {
            let mut late = deployment(2, if view < 20 { 0 } else { 2 });
            late["status"]["conditions"] = json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
            late
        };
        let cluster = served(looks, vec![set("s2", "new")], Vec::new()).await;
        wait(&cluster).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_deadline_that_is_missed_meanwhile_ends_the_wait() {
        let not_ready = json!({"status": {"phase": "Running", "containerStatuses": [
            {"name": "main", "ready": false, "state": {"running": {}}}]}});
        let looks = |view| {
            let mut late = deployment(2, 0);
            let said_at = if view < 20 {
                "2026-11-22T11:00:00Z"
            } else {
                "2026-11-22T12:00:00Z"
            };
            let condition = json!({"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded",
                "message": "ReplicaSet \"s2\" has timed out progressing.", "lastUpdateTime": said_at});
            // The first condition is about the previous version, until there is progress.
            if !(5..20).contains(&view) {
                late["status"]["conditions"] = json!([condition]);
            }
            late
        };
        let object = ObjectRef::namespaced("apps/v1", "Deployment", "n", "app");
        for (goal, words) in [
            (
                app(),
                "Deployment n/app does not become ready: the container is running but not ready, pod p2: ",
            ),
            (
                Goal::Ready(object),
                "not ready after 10 s: Deployment n/app: ",
            ),
        ] {
            let pods = vec![owned("p2", "s2", &not_ready)];
            let cluster = served(looks, vec![set("s2", "new")], pods).await;
            let began = Instant::now();
            let error = cluster.wait(&[goal], DEADLINE, &|_| ()).await.unwrap_err();
            let took = began.elapsed();
            let words = format!(
                "{words}ProgressDeadlineExceeded: ReplicaSet \"s2\" has timed out progressing."
            );
            assert!(error.to_string().starts_with(&words), "{error}");
            assert!(
                took >= limits::POLL * 20 && took < limits::POLL * 22,
                "{took:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn one_look_says_what_is_awaited() {
        let pods = vec![owned("p2", "s2", &pulling(BROKEN))];
        let cluster = served(|_| deployment(2, 0), vec![set("s2", "new")], pods).await;
        let (_, state) = cluster.rollout_state("n", "app").await.unwrap().unwrap();
        assert_eq!(
            state.awaited.unwrap().to_string(),
            "the image cannot be pulled: the node does not trust the registry's certificate (x509), pod p2: x509: certificate signed by unknown authority"
        );
        let cluster = served(|_| deployment(2, 2), Vec::new(), Vec::new()).await;
        let (_, state) = cluster.rollout_state("n", "app").await.unwrap().unwrap();
        assert_eq!((state.awaited, state.progress.ready()), (None, 2));
        let (cluster, _) = crate::mock::cluster(|_| Answer(404, None, Vec::new())).await;
        assert_eq!(cluster.rollout_state("n", "app").await.unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_wait_for_an_image_are_deleted_and_no_others() {
        let ready = json!({"status": {"containerStatuses": [{"name": "main", "ready": true, "state": {"running": {}}}]}});
        for (allowed, restart) in [
            (200, RestartOutcome::Done),
            (403, RestartOutcome::NotAllowed),
        ] {
            let pods = vec![
                owned("p1", "s1", &pulling("of a former version")),
                owned("p2", "s2", &pulling("401 Unauthorized")),
                owned("p3", "s2", &ready),
                owned("p4", "db", &pulling("401 Unauthorized")),
            ];
            let (cluster, seen) = cluster(move |request| {
                let items = match request.path.split('?').next().unwrap() {
                    path if path.ends_with("/deployments/app") => {
                        return Answer::json(200, &deployment(1, 0));
                    }
                    path if path.ends_with("/statefulsets/db") => {
                        let set = json!({
                            "apiVersion": "apps/v1", "kind": "StatefulSet",
                            "metadata": {"name": "db", "namespace": "n", "uid": "db", "generation": 2},
                            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "app"}}},
                        });
                        return Answer::json(200, &set);
                    }
                    path if path.ends_with("/replicasets") => {
                        json!([set("s1", "old"), set("s2", "new")])
                    }
                    path if path.ends_with("/pods") => json!(pods),
                    _ => return Answer::json(allowed, &json!({})),
                };
                Answer::json(200, &json!({"items": items}))
            })
            .await;
            let workload = |kind, name| ObjectRef::namespaced("apps/v1", kind, "n", name);
            let workloads = [workload("Deployment", "app"), workload("StatefulSet", "db")];
            let workloads = workloads.each_ref();
            let restarted = cluster.restart_unpulled(&workloads);
            let pod = |name| ObjectRef::namespaced("v1", "Pod", "n", name);
            let expected = [(pod("p2"), restart), (pod("p4"), restart)];
            assert_eq!(restarted.await.unwrap(), expected);
            let seen = seen.lock().unwrap();
            let deletes: Vec<&RecordedRequest> =
                seen.iter().filter(|seen| seen.method == "DELETE").collect();
            assert_eq!(deletes.len(), 2);
            assert!(
                deletes[0].body.contains(r#""uid":"p2""#),
                "{}",
                deletes[0].body
            );
        }
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
        wait(&cluster).await.unwrap();
        assert!(seen.lock().unwrap().len() > 20);
        let deadline = Duration::from_millis(1);
        let (cluster, _) = crate::mock::cluster(|_| Answer(503, None, Vec::new())).await;
        let result = cluster.wait(&[app()], deadline, &|_| ()).await;
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
}
