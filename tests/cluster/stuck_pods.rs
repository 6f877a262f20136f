//! A `StatefulSet` waits for ever for a broken pod that remains after a rollback, because this pod never becomes ready
//! (kubernetes/kubernetes issue 67250). The program recreates this pod, and no other one.

use std::process::Command;

use serde_json::Value;

use crate::charts::{HELM, SERVER, helm, history, pack_tree, site, takeover_id};
use crate::common::Answer;
use crate::site::{Site, eventually};

const SET: &str = "apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: db
          image: SERVER
          command: COMMAND
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
";

const WORKS: &str = "[]";
const CRASHES: &str = "[/bin/example-server, --version]";

fn stateful_set(command: &str) -> String {
    SET.replace("SERVER", SERVER).replace("COMMAND", command)
}

/// The time in which a busy machine restarts all pods twice.
const LONG: &str = "--timeout=180";

fn import(site: &Site, archive: &str) -> Answer {
    import_with(site, archive, &[LONG])
}

fn import_with(site: &Site, archive: &str, options: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(archive, &[&into[..], options].concat());
    Answer::from_command(command.env("HELM", &*HELM))
}

/// Packs a version with a chart of the `StatefulSet`.
fn pack(site: &Site, version: &str, command: &str) -> String {
    site.desk
        .write("1.0.0/web/templates/db.yaml", stateful_set(command));
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    let spec = "  charts: [{name: web, source: 'dir:web', timeout: 30s}]\n";
    pack_tree(site, version, spec)
}

/// Returns each pod's uid, its version, and whether it is ready.
fn pods(site: &Site) -> Vec<(String, String, bool)> {
    let get = ["get", "pods", "--selector=app=db", "--output=json"];
    let pods: Value = site.kubectl("prod", &get).json();
    let pods = pods["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pod = |pod: &Value| {
        let metadata = &pod["metadata"];
        let ready = &pod["status"]["containerStatuses"][0]["ready"];
        let revision = &metadata["labels"]["controller-revision-hash"];
        (text(&metadata["uid"]), text(revision), *ready == true)
    };
    pods.map(pod).collect()
}

/// Imports a version whose pods crash, and waits for the rollback.
#[track_caller]
fn import_and_await_rollback(site: &Site, archive: &str) {
    let before = pods(site);
    assert!(
        before.len() == 2 && before.iter().all(|pod| pod.2),
        "{before:?}"
    );
    let failed = import_with(site, archive, &["--timeout=40"]).failure(1);
    for words in [
        "version 1.1.0 did not become ready and was rolled back to version 1.0.0",
        "Pod prod/db-1 deleted: it belongs to the failed version",
    ] {
        assert!(failed.contains(words), "{words}: {failed}");
    }
    assert!(!failed.contains("Pod prod/db-0 deleted"), "{failed}");
    let after = eventually("its pods are ready", || {
        Some(pods(site)).filter(|pods| pods.len() == 2 && pods.iter().all(|pod| pod.2))
    });
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1].1, before[1].1);
    assert_ne!(after[1].0, before[1].0);
}

#[test]
fn a_release_leaves_no_broken_pod_behind() {
    let site = site("behind-chart");
    import(&site, &pack(&site, "1.0.0", WORKS)).success();
    import_and_await_rollback(&site, &pack(&site, "1.1.0", CRASHES));
    assert_eq!(history(&site).pop().unwrap().1, "deployed");
    assert_manual_upgrade_leaves_no_broken_pod(&site);
    assert_killed_run_leaves_no_broken_pod(&site);
}

/// Packs a version with a manifest set of the `StatefulSet`.
fn pack_set(site: &Site, version: &str, command: &str) -> String {
    site.desk.write("1.0.0/db.yaml", stateful_set(command));
    let spec = "  manifests: [{name: db, files: [db.yaml]}]\n";
    pack_tree(site, version, spec)
}

#[test]
fn a_set_leaves_no_broken_pod_behind() {
    let site = site("behind-set");
    import(&site, &pack_set(&site, "1.0.0", WORKS)).success();
    import_and_await_rollback(&site, &pack_set(&site, "1.1.0", CRASHES));
    assert_manual_rollback_leaves_no_broken_pod(&site);
}

/// The next run rolls back a run of Helm that was killed while it waited for a broken version.
fn assert_killed_run_leaves_no_broken_pod(site: &Site) {
    let broken = pack(site, "1.3.0", CRASHES);
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(&broken, &into);
    let mut running = command.env("HELM", &*HELM).spawn().unwrap();
    eventually("a pod is broken", || {
        let pods = pods(site);
        let other = pods
            .first()
            .is_some_and(|first| pods.iter().any(|pod| pod.1 != first.1));
        other.then_some(())
    });
    let helm = crate::charts::child_of(running.id()).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    let kill = ["-KILL", &helm.to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    let done = import(site, &pack(site, "1.4.0", WORKS));
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 deleted"), "{told}");
    assert!(pods(site).iter().all(|pod| pod.2));
}

/// A user has upgraded manually, to images that nodes cannot pull. The next version differs from both this one and the
/// previous one.
fn assert_manual_upgrade_leaves_no_broken_pod(site: &Site) {
    site.desk
        .write("1.0.0/web/templates/db.yaml", stateful_set(WORKS));
    let theirs = ["upgrade", "web", "1.0.0/web", "--force-conflicts"];
    helm(site, &theirs).success();
    eventually("a pod is broken", || {
        pods(site).iter().any(|pod| !pod.2).then_some(())
    });
    let next = pack(site, "1.2.0", "[/bin/example-server]");
    let refused = import(site, &next).failure(1);
    let done = import_with(site, &next, &[LONG, "--accept", takeover_id(&refused)]);
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 restarted"), "{told}");
    assert!(pods(site).iter().all(|pod| pod.2));
}

/// A user has changed the `StatefulSet` and reverted it. A pod of the revision in between stays broken, and the program
/// has never seen this revision.
fn assert_manual_rollback_leaves_no_broken_pod(site: &Site) {
    let works = pods(site).remove(0).1;
    let crash = r#"[{"op": "add", "path": "/spec/template/spec/containers/0/command",
        "value": ["/bin/example-server", "--version"]}]"#;
    let patch = ["patch", "statefulset/db", "--type=json", "--patch", crash];
    site.kubectl("prod", &patch).success();
    eventually("a pod is broken", || {
        let mut pods = pods(site).into_iter();
        pods.any(|pod| pod.1 != works && !pod.2).then_some(())
    });
    site.kubectl("prod", &["rollout", "undo", "statefulset/db"])
        .success();
    let next = pack_set(site, "1.2.0", "[/bin/example-server]");
    let done = import_with(site, &next, &[LONG, "--force-conflicts"]);
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 deleted"), "{told}");
    assert!(pods(site).iter().all(|pod| pod.2));
}
