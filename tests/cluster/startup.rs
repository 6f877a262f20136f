//! An import into a cluster that is starting: its API server does not answer yet, its nodes are not Ready, and the
//! archive contains their network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::charts::{HELM, SERVER, VALUES, pack, pack_tree, site, statuses};
use crate::common::{Answer, results};
use crate::outages::server;
use crate::running::Running;
use crate::site::{DEADLINE, Site, consent_id, eventually, variable};

/// An API server that is stopped until this is dropped.
struct Stopped;

impl Stopped {
    fn new() -> Self {
        server("stop", "kube-apiserver");
        Self
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        server("restart", "kube-apiserver");
    }
}

/// The configuration of the node's pod network. It is restored on drop at the latest.
struct Network {
    file: PathBuf,
    content: String,
}

impl Network {
    fn new() -> Self {
        let file =
            Path::new(&variable("SOLUTION_TEST_CLUSTER_DIR")).join("node/cni/10-pods.conflist");
        let content = fs::read_to_string(&file).unwrap();
        Self { file, content }
    }

    /// Removes the configuration, and waits until the node is not ready.
    fn remove(&self, site: &Site) {
        fs::remove_file(&self.file).unwrap();
        eventually("the node is not ready", || {
            (!is_node_ready() && node(site, "status").contains("cni")).then_some(())
        });
    }

    fn restore(&self) {
        if self.file.exists() {
            return;
        }
        let beside = self.file.with_extension("part");
        let written = fs::write(&beside, &self.content);
        drop(written.and_then(|()| fs::rename(&beside, &self.file)));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.restore();
        let end = Instant::now() + DEADLINE;
        while !is_node_ready() && Instant::now() < end {
            thread::park_timeout(Duration::from_millis(200));
        }
    }
}

fn node(site: &Site, field: &str) -> String {
    site.field("default", "node/node1", &format!("{{.{field}}}"))
}

/// Returns whether the node is ready, and without the taint of an unready node.
fn is_node_ready() -> bool {
    let state = r#"{.status.conditions[?(@.type=="Ready")].status} {.spec.taints}"#;
    let get = [
        "get",
        "node",
        "node1",
        &format!("--output=jsonpath={state}"),
    ];
    Answer::from_command(Command::new("kubectl").args(get)).stdout == "True "
}

/// Returns an import into a cluster that is starting.
fn import(site: &Site, archive: &str, more: &[&str]) -> Command {
    let into = ["-e", "prod", "--pull-secret", "login"];
    let mut command = site.import_command(archive, &[&into[..], more].concat());
    command.env("HELM", &*HELM);
    command
}

#[test]
fn an_api_server_that_is_coming_up_is_waited_for() {
    let site = site("wait-server");
    let archive = pack(&site, "1.0.0", VALUES);
    let flags = ["--wait-for-cluster", "--progress", "events"];
    let command = import(&site, &archive, &flags);
    let mut at_once = import(&site, &archive, &[]);
    let stopped = Stopped::new();
    // Without the flag, the program does not wait for long.
    let refused = Answer::from_command(&mut at_once).failure(3);
    assert!(refused.contains("cannot use the cluster"), "{refused}");
    let running = Running::start(command);
    running.wait_for_message("waiting for the cluster: ");
    drop(stopped);
    let said = running.wait_for_success();
    for words in ["refused", "the cluster is up"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(statuses(&site), ["deployed"]);
    assert_events_in_order(&site);
}

/// One stream contains all events of waiting, pushing and applying, in order, and no unchanged state twice.
fn assert_events_in_order(site: &Site) {
    let told = results::events(&fs::read_to_string(site.desk.path("events")).unwrap());
    let at = |event: Value| {
        let is_same = |candidate: &Value| {
            let mut fields = event.as_object().unwrap().iter();
            fields.all(|(name, value)| candidate[name] == *value)
        };
        let found = told.iter().position(is_same);
        found.unwrap_or_else(|| panic!("{event} is not in {told:#?}"))
    };
    let order = [
        json!({"event": "away"}),
        json!({"event": "up"}),
        json!({"event": "planned"}),
        json!({"event": "done", "complete": true}),
        json!({"event": "release", "change": "installing", "release": "release prod/web"}),
        json!({"event": "standing", "object": "Deployment prod/web", "state": "ready"}),
    ];
    let order = order.map(at);
    assert!(order.is_sorted() && order[0] == 0, "{order:?} in {told:#?}");
    let definition = "CustomResourceDefinition carts.charts.example.test";
    at(json!({"event": "object", "object": definition, "applied": "created"}));
    assert!(told[0]["why"].as_str().unwrap().contains("refused"));
    let mut waits = told.iter().filter(|event| event["event"] != "object");
    let mut before = waits.next();
    let is_again = |event| before.replace(event) == Some(event);
    assert!(!waits.any(is_again), "{told:#?}");
}

#[test]
fn what_waiting_does_not_mend_is_not_waited_for() {
    let site = site("wait-wrong");
    let archive = pack(&site, "1.0.0", VALUES);
    let config = site.desk.path("wrong.kubeconfig");
    fs::copy(site.kubeconfig(), &config).unwrap();
    let flag = format!("--kubeconfig={}", config.display());
    let cluster = site.kubectl(
        "default",
        &[
            &flag,
            "config",
            "view",
            "--output=jsonpath={.clusters[0].name}",
        ],
    );
    let authority = format!(
        "--certificate-authority={}",
        variable("SOLUTION_TEST_REGISTRY_CA")
    );
    let cluster = cluster.success();
    let set = [
        &flag[..],
        "config",
        "set-cluster",
        &cluster,
        "--embed-certs",
        &authority,
    ];
    site.kubectl("default", &set).success();
    let began = Instant::now();
    for (kubeconfig, words, code) in [
        (config.to_str().unwrap(), "certificate", 3),
        ("nowhere", "no kubeconfig found", 3),
    ] {
        let more = ["--wait-for-cluster=3600", "--kubeconfig", kubeconfig];
        let told = Answer::from_command(&mut import(&site, &archive, &more)).failure(code);
        assert!(told.contains(words), "{told}");
    }
    assert!(began.elapsed() < DEADLINE);
}

#[test]
fn nodes_that_are_not_ready_are_waited_for_and_named_if_they_do_not_come() {
    let site = site("wait-nodes");
    let archive = pack(&site, "1.0.0", VALUES);
    let network = Network::new();
    network.remove(&site);
    let before = site.snapshot();
    let late =
        Answer::from_command(&mut import(&site, &archive, &["--wait-for-cluster=3"])).failure(3);
    for words in ["nodes are not ready after 3 s: node1: ", "cni", "hint: "] {
        assert!(late.contains(words), "{words}: {late}");
    }
    assert_eq!(site.snapshot(), before);
    let running = Running::start(import(&site, &archive, &["--wait-for-cluster"]));
    running.wait_for_message("waiting for nodes: node1: ");
    network.restore();
    running.wait_for_success();
    assert_eq!(statuses(&site), ["deployed"]);
}

/// A chart that sets up the network of a node: here a file, written by a pod in the node's network.
const AGENT: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: net}
data: {pods.conflist: {{ .Values.config | quote }}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: net}
spec:
  selector: {matchLabels: {app: net}}
  template:
    metadata: {labels: {app: net}}
    spec:
      hostNetwork: true
      terminationGracePeriodSeconds: 1
      tolerations: [{operator: Exists}]
      containers:
        - name: net
          image: SERVER
          args: [--put, /config/pods.conflist, /node/10-pods.conflist]
          securityContext: {runAsUser: 0}
          readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
          volumeMounts: [{name: config, mountPath: /config}, {name: node, mountPath: /node}]
      volumes:
        - {name: config, configMap: {name: net}}
        - {name: node, hostPath: {path: {{ .Values.place | quote }}, type: Directory}}
";

#[test]
fn a_chart_that_brings_the_network_comes_before_the_nodes_are_ready() {
    let site = site("wait-network");
    let network = Network::new();
    pack(&site, "1.0.0", VALUES);
    let agent = AGENT.replace("SERVER", SERVER);
    site.desk.write("1.0.0/net/templates/net.yaml", agent);
    let metadata = "apiVersion: v2\nname: net\nversion: 1.0.0\n";
    site.desk.write("1.0.0/net/Chart.yaml", metadata);
    let place = network.file.parent().unwrap();
    let values = serde_json::json!({ "config": network.content, "place": place });
    site.desk.write("1.0.0/net.yaml", values.to_string());
    let spec = "  charts:
    - {name: web, source: 'dir:web', values: [values.yaml], timeout: 60s, needs: [net]}
    - {name: net, source: 'dir:net', values: [net.yaml], timeout: 60s}\n";
    let archive = pack_tree(&site, "1.1.0", spec);
    // The chart has effects outside the environment.
    let refused = Answer::from_command(&mut import(&site, &archive, &[])).failure(1);
    let accepted = ["--wait-for-cluster=60", "--accept", consent_id(&refused)];

    network.remove(&site);
    let shown = Answer::from_command(&mut import(
        &site,
        &archive,
        &[&accepted[..], &["--dry-run"]].concat(),
    ));
    let shown = shown.success();
    let note = "objects that run on nodes that are not Ready are applied first";
    assert!(shown.contains(note), "{shown}");
    let done = Answer::from_command(&mut import(&site, &archive, &accepted));
    let told = done.stderr.clone();
    done.success();
    let at = |words: &str| {
        told.find(words)
            .unwrap_or_else(|| panic!("{words}: {told}"))
    };
    assert!(at("helm installs release prod/net") < at("helm installs release prod/web"));
    // Objects that need the network were not started before. The times are seconds, as text that sorts.
    let ready = node(
        &site,
        "status.conditions[?(@.type=='Ready')].lastTransitionTime",
    );
    let begun = site.field("prod", "job/web-setup", "{.metadata.creationTimestamp}");
    assert!(ready <= begun, "{ready} {begun}");
    assert_eq!(fs::read_to_string(&network.file).unwrap(), network.content);
    eventually("the node takes pods again", || {
        is_node_ready().then_some(())
    });
    assert_eq!(statuses(&site), ["deployed"]);
}
