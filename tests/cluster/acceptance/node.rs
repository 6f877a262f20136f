//! Disruptions of a site's node: its kubelet restarts, its pods are evicted, and its image store is emptied.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::Answer;
use crate::site::{Site, eventually, variable};

const SOCKET: &str = "/run/containerd/containerd.sock";
const NODE: &str = "node1";

/// The only image that is in no registry. It is part of the node's setup.
const PAUSE: &str = "solution.invalid/pause:1";

/// Runs containerd's own client in the kubelet's namespace.
fn ctr(arguments: &[&str]) -> String {
    let place = ["--address", SOCKET, "--namespace", "k8s.io"];
    Answer::from_command(Command::new("ctr").args(place).args(arguments)).success()
}

/// Restarts the kubelet and waits until it reports the node's status.
pub(crate) fn restart_kubelet(site: &Site) {
    let file = Path::new(&variable("SOLUTION_TEST_BASELINE")).with_file_name("kubelet.pid");
    let process = fs::read_to_string(&file).unwrap().trim().to_owned();
    let old = Path::new("/proc").join(&process);
    let command = fs::read_to_string(old.join("cmdline")).unwrap();
    let log = fs::read_link(old.join("fd/1")).unwrap();
    Answer::from_command(Command::new("kill").arg(&process)).success();
    eventually("the kubelet has ended", || (!old.exists()).then_some(()));
    let log = fs::File::options().append(true).open(log).unwrap();
    let start = r#"echo $$ >"$0" && exec "$@""#;
    let status = Command::new("setsid")
        .args(["--fork", "sh", "-c", start])
        .arg(&file)
        .args(command.trim_end_matches('\0').split('\0'))
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .status();
    assert!(status.unwrap().success(), "the kubelet cannot be started");
    let healthy = ["--silent", "--fail", "http://127.0.0.1:10248/healthz"];
    eventually("the kubelet is healthy", || {
        let answer = Answer::from_command(Command::new("curl").args(healthy));
        (answer.code == 0).then_some(())
    });
    let heartbeat = r#"{.status.conditions[?(@.type=="Ready")].lastHeartbeatTime}"#;
    let heartbeat = || site.field("default", &format!("node/{NODE}"), heartbeat);
    let last = heartbeat();
    eventually("the node reports", || (heartbeat() != last).then_some(()));
}

/// A cordoned node; dropping it uncordons the node.
struct Cordon<'a>(&'a Site);

impl Drop for Cordon<'_> {
    fn drop(&mut self) {
        self.0.kubectl("default", &["uncordon", NODE]);
    }
}

/// Evicts every pod of a namespace, runs `act` on the empty node, and allows pods again.
pub(crate) fn run_while_empty(site: &Site, namespace: &str, act: impl FnOnce()) {
    site.kubectl("default", &["cordon", NODE]).success();
    let _cordon = Cordon(site);
    site.kubectl(namespace, &["delete", "pods", "--all"])
        .success();
    eventually("no container is left", || {
        let containers = ctr(&["containers", "ls", "--quiet"]);
        containers.is_empty().then_some(())
    });
    act();
}

/// Removes every image from the store of a node without pods.
pub(crate) fn forget_images() {
    let list = ctr(&["images", "ls"]);
    let images = || list.lines().skip(1).map(str::split_whitespace);
    let digest = |mut columns: std::str::SplitWhitespace| columns.nth(2).map(str::to_owned);
    let pause = images().find(|columns| columns.clone().next() == Some(PAUSE));
    let pause = digest(pause.unwrap());
    let others = images().filter(|columns| digest(columns.clone()) != pause);
    let others: Vec<&str> = others.filter_map(|mut columns| columns.next()).collect();
    if !others.is_empty() {
        ctr(&[&["images", "rm", "--sync"][..], &others].concat());
    }
    // The manifest, configuration and layer of the pause image, and its unpacked layer.
    let [contents, unpacked] = [["content", "ls"], ["snapshots", "ls"]];
    assert_eq!(ctr(&contents).lines().skip(1).count(), 3);
    assert_eq!(ctr(&unpacked).lines().skip(1).count(), 1);
}

/// Starts a pod so that the node pulls an image. Returns the image's digest on the node, or the reason for the failure.
pub(crate) fn pull(site: &Site, namespace: &str, image: &str) -> Result<String, String> {
    site.apply(&format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: pulls, namespace: {namespace}}}
spec:
  terminationGracePeriodSeconds: 0
  imagePullSecrets: [{{name: login}}]
  containers: [{{name: pulls, image: '{image}', imagePullPolicy: Always}}]
"
    ))
    .success();
    let pulled = eventually("the image is pulled or not", || {
        let status = site.field(namespace, "pod/pulls", "{.status.containerStatuses[0]}");
        let status: Value = serde_json::from_str(&status).ok()?;
        let [id, why] = ["/imageID", "/state/waiting/message"]
            .map(|field| status.pointer(field).and_then(Value::as_str));
        let reason = status.pointer("/state/waiting/reason");
        let refused = reason.is_some_and(|reason| reason == "ErrImagePull");
        match (id?, refused) {
            ("", true) => Some(Err(why?.to_owned())),
            ("", false) => None,
            (id, _) => Some(Ok(id.to_owned())),
        }
    });
    site.kubectl(namespace, &["delete", "pod", "pulls"])
        .success();
    pulled
}
