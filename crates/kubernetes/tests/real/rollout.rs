//! Rollouts on a real node: a successful one, and one for each kind of failure.

use kubernetes::{
    AwaitedCondition, Cluster, Error, Goal, Gvk, Object, ObjectRef, ObjectStatus, PodProblem,
    PullProblem, RestartOutcome, RolloutFailure,
};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::time::Duration;

use crate::setup::{DEADLINE, admin, apply, namespace, namespace_with, until, variable};

/// The pause image of the node, which does nothing.
pub(crate) const IMAGE: &str = "solution.invalid/pause:1";

fn deployment(namespace: &str, name: &str, container: &Value, pod: &Value) -> Value {
    let mut main = json!({"name": "main", "image": IMAGE, "imagePullPolicy": "IfNotPresent"});
    let mut spec = json!({"terminationGracePeriodSeconds": 1});
    for (target, source) in [(&mut main, container), (&mut spec, pod)] {
        for (key, value) in source.as_object().unwrap() {
            target[key] = value.clone();
        }
    }
    spec["containers"] = json!([main]);
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": spec},
        },
    })
}

/// A container that runs a script with the node's shell, and the volumes that it requires.
pub(crate) fn script(script: &str) -> (Value, Value) {
    let mount = |path: &str| json!({"name": path.trim_start_matches('/'), "mountPath": path, "readOnly": true});
    let volume =
        |path: &str| json!({"name": path.trim_start_matches('/'), "hostPath": {"path": path}});
    let places = ["/usr", "/lib", "/lib64"];
    let container = json!({
        "command": ["/usr/bin/sh", "-c", script], "volumeMounts": places.map(mount),
    });
    (container, json!(places.map(volume)))
}

async fn wait(cluster: &Cluster, ns: &str, name: &str) -> Result<(), Error> {
    cluster.wait(&[rollout(ns, name)], DEADLINE, &|_| ()).await
}

fn rollout(ns: &str, name: &str) -> Goal {
    Goal::Rollout(ObjectRef::namespaced("apps/v1", "Deployment", ns, name))
}

async fn failure(cluster: &Cluster, ns: &str, container: Value, pod: Value) -> RolloutFailure {
    apply(cluster, deployment(ns, "app", &container, &pod)).await;
    match wait(cluster, ns, "app").await {
        Err(Error::Rollout(failure)) => *failure,
        other => panic!("{other:?}"),
    }
}

async fn fails(name: &str, container: Value, pod: Value) -> RolloutFailure {
    let cluster = admin().await;
    let ns = namespace(&cluster, name).await;
    failure(&cluster, &ns, container, pod).await
}

#[tokio::test]
async fn a_rollout_comes_and_so_does_its_next_version() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "rollout").await;
    let first = deployment(&ns, "app", &json!({}), &json!({}));
    apply(&cluster, first.clone()).await;
    let seen: Mutex<Vec<String>> = Mutex::default();
    let tell = |status: ObjectStatus| seen.lock().unwrap().push(status.to_string());
    let app = [rollout(&ns, "app")];
    cluster.wait(&app, DEADLINE, &tell).await.unwrap();
    let seen = seen.into_inner().unwrap();
    let last = seen.last().unwrap();
    assert_eq!(*last, format!("Deployment {ns}/app: ready"));
    let (_, state) = cluster.rollout_state(&ns, "app").await.unwrap().unwrap();
    let last = state.progress;
    assert_eq!(
        (last.wanted, last.updated, last.available, last.existing),
        (1, 1, 1, 1)
    );

    let mut second = first;
    second["spec"]["template"]["metadata"]["annotations"] = json!({"config": "2"});
    apply(&cluster, second).await;
    wait(&cluster, &ns, "app").await.unwrap();
}

#[tokio::test]
async fn an_upgrade_that_fails_is_not_hidden_by_the_old_version() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "upgrade").await;
    apply(&cluster, deployment(&ns, "app", &json!({}), &json!({}))).await;
    wait(&cluster, &ns, "app").await.unwrap();
    let failure = failure(
        &cluster,
        &ns,
        json!({"command": ["/no/such/program"]}),
        json!({}),
    )
    .await;
    assert_eq!(failure.stuck, PodProblem::NoProgram, "{failure:?}");
}

#[tokio::test]
async fn an_unknown_authority_is_told_from_a_missing_login() {
    let image = format!("{}/no/such:1", variable("SOLUTION_TEST_PUSH_REGISTRY"));
    let failure = fails("x509", json!({"image": image}), json!({})).await;
    assert_eq!(
        failure.stuck,
        PodProblem::Pull(PullProblem::UnknownAuthority),
        "{failure:?}"
    );
    assert!(failure.pod.is_some());

    let image = format!("{}/no/such:1", variable("SOLUTION_TEST_PULL_REGISTRY"));
    let failure = fails("login", json!({"image": image}), json!({})).await;
    assert_eq!(
        failure.stuck,
        PodProblem::Pull(PullProblem::Unauthorized),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_pod_that_waits_for_its_image_is_made_anew_with_the_secrets_of_its_account() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "anew").await;
    let image = format!("{}/no/such:1", variable("SOLUTION_TEST_PULL_REGISTRY"));
    let before = failure(&cluster, &ns, json!({"image": image}), json!({})).await;
    apply(
        &cluster,
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": ns},
            "imagePullSecrets": [{"name": "login"}]}),
    )
    .await;
    let app = ObjectRef::namespaced("apps/v1", "Deployment", &ns, "app");
    let restarted = cluster.restart_unpulled(&[&app]).await.unwrap();
    let pod = ObjectRef::namespaced("v1", "Pod", &ns, before.pod.as_ref().unwrap());
    assert_eq!(restarted, [(pod, RestartOutcome::Done)]);
    until("another pod, with the secret", async || {
        let pods = cluster
            .list(&Gvk::new("v1", "Pod"), Some(&ns), None)
            .await
            .unwrap();
        let secret =
            |pod: &Object| &pod.as_value()["spec"]["imagePullSecrets"][0]["name"] == "login";
        pods.iter()
            .any(|pod| Some(pod.name()) != before.pod.as_deref() && secret(pod))
    })
    .await;
}

#[tokio::test]
async fn a_release_is_judged_by_itself_however_the_one_before_has_failed() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "judge").await;
    let broken = json!({"command": ["/no/such/program"]});
    for _ in 0..3 {
        let failure = failure(&cluster, &ns, broken.clone(), json!({})).await;
        assert_eq!(failure.stuck, PodProblem::NoProgram, "{failure:?}");
        let (_, state) = cluster.rollout_state(&ns, "app").await.unwrap().unwrap();
        assert!(
            matches!(state.awaited, Some(AwaitedCondition::Cause { .. })),
            "{state:?}"
        );
        apply(&cluster, deployment(&ns, "app", &json!({}), &json!({}))).await;
        wait(&cluster, &ns, "app").await.unwrap();
        let (_, state) = cluster.rollout_state(&ns, "app").await.unwrap().unwrap();
        assert_eq!((state.awaited, state.progress.ready()), (None, 1));
    }
}

#[tokio::test]
async fn a_registry_that_is_not_there_is_waited_for_a_while() {
    let failure = fails(
        "refused",
        json!({"image": "127.0.0.1:1/no/such:1"}),
        json!({}),
    )
    .await;
    assert_eq!(
        failure.stuck,
        PodProblem::Pull(PullProblem::Refused),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_crash_is_reported_with_code_and_log() {
    let (container, volumes) = script("echo cannot read the settings; exit 3");
    let failure = fails("crash", container, json!({"volumes": volumes})).await;
    assert_eq!(
        failure.stuck,
        PodProblem::Crash { exit_code: 3 },
        "{failure:?}"
    );
    assert_eq!(failure.log.as_deref(), Some("cannot read the settings"));
}

#[tokio::test]
async fn refused_pods_are_reported() {
    let cluster = admin().await;
    let ns = namespace_with(
        &cluster,
        "podsec",
        json!({"pod-security.kubernetes.io/enforce": "restricted"}),
    )
    .await;
    let refused = failure(&cluster, &ns, json!({}), json!({})).await;
    assert_eq!(refused.stuck, PodProblem::PodSecurity, "{refused:?}");

    let ns = namespace(&cluster, "quota").await;
    apply(
        &cluster,
        json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": ns},
            "spec": {"hard": {"pods": "0"}}}),
    )
    .await;
    let refused = failure(&cluster, &ns, json!({}), json!({})).await;
    assert_eq!(refused.stuck, PodProblem::Quota, "{refused:?}");
}

#[tokio::test]
async fn a_pod_without_a_node_is_reported() {
    let failure = fails("node", json!({}), json!({"nodeSelector": {"no": "such"}})).await;
    assert_eq!(failure.stuck, PodProblem::Unschedulable, "{failure:?}");
    assert!(failure.detail.contains("node"), "{failure:?}");
}

#[tokio::test]
async fn a_missing_config_map_is_reported() {
    let failure = fails(
        "config",
        json!({"envFrom": [{"configMapRef": {"name": "absent"}}]}),
        json!({}),
    )
    .await;
    assert_eq!(failure.stuck, PodProblem::Configuration, "{failure:?}");
    assert!(failure.detail.contains("absent"), "{failure:?}");
}

#[tokio::test]
async fn time_runs_out() {
    let cluster = admin().await;
    let ns = namespace(&cluster, "late").await;
    let probe = json!({"readinessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": 1}});
    apply(&cluster, deployment(&ns, "app", &probe, &json!({}))).await;
    let result = cluster
        .wait(&[rollout(&ns, "app")], Duration::from_secs(20), &|_| ())
        .await;
    let Err(Error::Rollout(failure)) = result else {
        panic!("{result:?}")
    };
    assert_eq!(failure.stuck, PodProblem::NotReady, "{failure:?}");
    assert!(matches!(
        wait(&cluster, &ns, "absent").await,
        Err(Error::NotFound { .. })
    ));
}
