//! A `StatefulSet` waits for ever for a pod that its way back to the version before leaves behind, since that one never
//! becomes ready (kubernetes/kubernetes issue 67250). It is made anew, and no other one is touched.

use std::process::Command;

use serde_json::Value;

use crate::charts::{HELM, SERVER, helm, history, packed, site, taken_over_by};
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

fn set(command: &str) -> String {
    SET.replace("SERVER", SERVER).replace("COMMAND", command)
}

fn import(site: &Site, archive: &str) -> Answer {
    accepting(site, archive, &[])
}

fn accepting(site: &Site, archive: &str, accept: &[&str]) -> Answer {
    let into = ["-e", "prod", "--pull-secret", "login", "--timeout=40"];
    let mut command = site.import_command(archive, &[&into[..], accept].concat());
    Answer::of(command.env("HELM", &*HELM))
}

/// Packs a version with a chart of the set.
fn pack(site: &Site, version: &str, command: &str) -> String {
    site.desk.write("1.0.0/web/templates/db.yaml", set(command));
    let metadata = format!("apiVersion: v2\nname: web\nversion: {version}\n");
    site.desk.write("1.0.0/web/Chart.yaml", metadata);
    let spec = "  charts: [{name: web, source: 'dir:web', timeout: 30s}]\n";
    packed(site, version, spec)
}

/// Its pods: each one's uid, its version, and whether it is ready.
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

/// Imports a version whose pods crash, which is taken back.
#[track_caller]
fn comes_back(site: &Site, archive: &str) {
    let before = pods(site);
    assert!(
        before.len() == 2 && before.iter().all(|it| it.2),
        "{before:?}"
    );
    let failed = import(site, archive).failure(1);
    for words in [
        "version 1.1.0 did not become ready and was rolled back to version 1.0.0",
        "Pod prod/db-1 deleted: it belongs to the failed version",
    ] {
        assert!(failed.contains(words), "{words}: {failed}");
    }
    assert!(!failed.contains("Pod prod/db-0 deleted"), "{failed}");
    let after = eventually("its pods are ready", || {
        Some(pods(site)).filter(|it| it.len() == 2 && it.iter().all(|it| it.2))
    });
    assert_eq!(after[0], before[0]);
    assert_eq!(after[1].1, before[1].1);
    assert_ne!(after[1].0, before[1].0);
}

#[test]
fn a_release_that_is_taken_back_leaves_no_broken_pod_behind() {
    let site = site("behind-chart");
    import(&site, &pack(&site, "1.0.0", WORKS)).success();
    comes_back(&site, &pack(&site, "1.1.0", CRASHES));
    assert_eq!(history(&site).pop().unwrap().1, "deployed");
}

#[test]
fn a_set_that_is_taken_back_leaves_no_broken_pod_behind() {
    let site = site("behind-set");
    let spec = "  manifests: [{name: db, files: [db.yaml]}]\n";
    let pack = |version: &str, command: &str| {
        site.desk.write("1.0.0/db.yaml", set(command));
        packed(&site, version, spec)
    };
    import(&site, &pack("1.0.0", WORKS)).success();
    comes_back(&site, &pack("1.1.0", CRASHES));
}

/// A run of Helm that was killed while it waited for a broken version is taken back by ours.
#[test]
fn a_run_of_helm_that_was_killed_leaves_no_broken_pod_behind() {
    let site = site("behind-killed");
    import(&site, &pack(&site, "1.0.0", WORKS)).success();
    let broken = pack(&site, "1.1.0", CRASHES);
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(&broken, &into);
    let mut running = command.env("HELM", &*HELM).spawn().unwrap();
    eventually("a pod is broken", || {
        let pods = pods(&site);
        let other = pods
            .first()
            .is_some_and(|first| pods.iter().any(|it| it.1 != first.1));
        other.then_some(())
    });
    let helm = crate::charts::child_of(running.id()).unwrap();
    running.kill().unwrap();
    running.wait().unwrap();
    let kill = ["-KILL", &helm.to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    let done = import(&site, &pack(&site, "1.2.0", "[/bin/example-server]"));
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 deleted"), "{told}");
    assert!(pods(&site).iter().all(|it| it.2));
}

/// Somebody has upgraded by hand, to images that nodes cannot pull; the next version is neither theirs nor the one before.
#[test]
fn an_upgrade_by_hand_leaves_no_broken_pod_in_the_way() {
    let site = site("behind-hand");
    import(&site, &pack(&site, "1.0.0", WORKS)).success();
    let theirs = ["upgrade", "web", "1.0.0/web", "--force-conflicts"];
    helm(&site, &theirs).success();
    eventually("a pod is broken", || {
        pods(&site).iter().any(|it| !it.2).then_some(())
    });
    let next = pack(&site, "1.1.0", "[/bin/example-server]");
    let refused = import(&site, &next).failure(1);
    let done = accepting(&site, &next, &["--accept", taken_over_by(&refused)]);
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 restarted"), "{told}");
    assert!(pods(&site).iter().all(|it| it.2));
}

/// Somebody has changed the set and gone back: a pod of the revision in between stays broken, and nothing of it was seen from
/// here.
#[test]
fn a_way_back_by_hand_leaves_no_broken_pod_in_the_way() {
    let site = site("behind-undone");
    let spec = "  manifests: [{name: db, files: [db.yaml]}]\n";
    let pack = |version: &str, command: &str| {
        site.desk.write("1.0.0/db.yaml", set(command));
        packed(&site, version, spec)
    };
    import(&site, &pack("1.0.0", WORKS)).success();
    let works = pods(&site).remove(0).1;
    let crash = r#"[{"op": "add", "path": "/spec/template/spec/containers/0/command",
        "value": ["/bin/example-server", "--version"]}]"#;
    let patch = ["patch", "statefulset/db", "--type=json", "--patch", crash];
    site.kubectl("prod", &patch).success();
    eventually("a pod is broken", || {
        let mut pods = pods(&site).into_iter();
        pods.any(|it| it.1 != works && !it.2).then_some(())
    });
    site.kubectl("prod", &["rollout", "undo", "statefulset/db"])
        .success();
    let next = pack("1.1.0", "[/bin/example-server]");
    let done = accepting(&site, &next, &["--force-conflicts"]);
    let told = done.stderr.clone();
    done.success();
    assert!(told.contains("Pod prod/db-1 deleted"), "{told}");
    assert!(pods(&site).iter().all(|it| it.2));
}
