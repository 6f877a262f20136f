//! Prometheus with a configuration from the objects in the cluster, as its operator would write it: targets from
//! `ServiceMonitor`s, and rules from `PrometheusRule`s.

use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::site::{Site, eventually};

/// The address of Prometheus in the network of the sandbox.
const ADDRESS: &str = "127.0.0.1:9090";

/// A Prometheus that runs at a site's desk.
pub(crate) struct Prometheus<'a> {
    site: &'a Site,
    process: Child,
    _data: TempDir,
}

impl Drop for Prometheus<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl<'a> Prometheus<'a> {
    /// Starts Prometheus with the current objects.
    pub(crate) fn start(site: &'a Site) -> Self {
        configure(site);
        let data = tempfile::tempdir_in(site.desk.path(".")).unwrap();
        let log = std::fs::File::create(site.desk.path("prometheus.log")).unwrap();
        let process = Command::new("prometheus")
            .args(["--config.file=prometheus.json", "--storage.tsdb.path"])
            .arg(data.path())
            .args(["--web.listen-address", ADDRESS])
            .current_dir(site.desk.path("."))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error}: run tests/cluster/install"));
        let mut prometheus = Self {
            site,
            process,
            _data: data,
        };
        eventually("Prometheus answers", || {
            let ended = prometheus.process.try_wait().unwrap();
            let log = || String::from_utf8(site.desk.read("prometheus.log")).unwrap();
            assert!(ended.is_none(), "{}", log());
            prometheus.ask("-/ready", &[])
        });
        prometheus
    }

    /// Returns the results of a query.
    pub(crate) fn query(&self, query: &str) -> Vec<Value> {
        let answer = self.ask("api/v1/query", &[("query", query)]).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {answer:#}");
        answer["data"]["result"].as_array().unwrap().clone()
    }

    /// Returns the state of an alerting rule in the group of a namespace's object (inactive, pending or firing), or
    /// `None` if it has not been evaluated successfully.
    pub(crate) fn alert(&self, namespace: &str, name: &str) -> Option<String> {
        let answer = self.ask("api/v1/rules", &[])?;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let groups = answer["data"]["groups"].as_array().unwrap().iter();
        let file = format!("{namespace}.rules.json");
        let groups = groups.filter(|group| group["file"] == file);
        let mut rules = groups.flat_map(|group| group["rules"].as_array().unwrap());
        let rule = rules.find(|rule| rule["name"] == name)?;
        (rule["health"] == "ok").then(|| rule["state"].as_str().unwrap().to_owned())
    }

    fn ask(&self, path: &str, fields: &[(&str, &str)]) -> Option<String> {
        let url = format!("http://{ADDRESS}/{path}");
        let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let mut arguments = vec!["--silent", "--fail", "--get", &url];
        for field in &fields {
            arguments.extend(["--data-urlencode", field]);
        }
        let answer = self.site.desk.run("curl", &arguments);
        (answer.code == 0).then_some(answer.stdout)
    }
}

/// Writes the configuration, and the rules of each namespace.
fn configure(site: &Site) {
    let monitors = all(site, "servicemonitors");
    let jobs: Vec<Value> = monitors.iter().map(|monitor| job(site, monitor)).collect();
    for rule in all(site, "prometheusrules") {
        let namespace = rule["metadata"]["namespace"].as_str().unwrap();
        let file = format!("{namespace}.rules.json");
        site.desk.write(&file, rule["spec"].to_string());
        let check = ["check", "rules", &file];
        site.desk.run("promtool", &check).success();
    }
    let configuration = json!({
        "global": { "scrape_interval": "1s", "evaluation_interval": "1s" },
        "rule_files": ["*.rules.json"],
        "scrape_configs": jobs,
    });
    let text = configuration.to_string();
    site.desk.write("prometheus.json", text);
}

/// Returns the objects of a kind, in all namespaces, that MetalK8s' Prometheus selects.
fn all(site: &Site, kind: &str) -> Vec<Value> {
    let chosen = [
        "--selector=metalk8s.scality.com/monitor=",
        "--all-namespaces",
    ];
    let get = ["get", kind, "--output=json"];
    let list = site
        .kubectl("default", &[&get[..], &chosen].concat())
        .json();
    list["items"].as_array().unwrap().clone()
}

/// Returns the scrape job that the Prometheus operator writes for a `ServiceMonitor` with one endpoint. Debian's
/// Prometheus has no service discovery for Kubernetes, so the job lists the ready addresses of each selected Service,
/// with labels for their origin.
fn job(site: &Site, monitor: &Value) -> Value {
    let text = |pointer: &str| monitor.pointer(pointer).unwrap().as_str().unwrap();
    let (namespace, name) = (text("/metadata/namespace"), text("/metadata/name"));
    let port = text("/spec/endpoints/0/port");
    let labels = monitor["spec"]["selector"]["matchLabels"].as_object();
    let labels = labels.unwrap().iter();
    let labels = labels.map(|(label, value)| format!("{label}={}", value.as_str().unwrap()));
    let services = list(
        site,
        namespace,
        "services",
        &labels.collect::<Vec<_>>().join(","),
    );
    let found = services.iter().map(|service| {
        let service = service["metadata"]["name"].as_str().unwrap();
        let selector = format!("kubernetes.io/service-name={service}");
        let slices = list(site, namespace, "endpointslices", &selector);
        let targets: Vec<String> = slices
            .iter()
            .flat_map(|slice| targets(slice, port))
            .collect();
        let labels = json!({ "namespace": namespace, "service": service, "job": service });
        json!({ "targets": targets, "labels": labels })
    });
    json!({
        "job_name": format!("serviceMonitor/{namespace}/{name}/0"),
        "scheme": text("/spec/endpoints/0/scheme"),
        "metrics_path": text("/spec/endpoints/0/path"),
        "static_configs": found.collect::<Vec<_>>(),
    })
}

/// Returns the ready addresses of an `EndpointSlice`, with the port of this name.
fn targets(slice: &Value, port: &str) -> Vec<String> {
    let mut ports = slice["ports"].as_array().into_iter().flatten();
    let Some(port) = ports.find(|candidate| candidate["name"] == port) else {
        return Vec::new();
    };
    let endpoints = slice["endpoints"].as_array().into_iter().flatten();
    let ready = endpoints.filter(|endpoint| endpoint["conditions"]["ready"] == true);
    let targets = ready.map(|endpoint| {
        let address = endpoint["addresses"][0].as_str().unwrap();
        format!("{address}:{}", port["port"])
    });
    targets.collect()
}

fn list(site: &Site, namespace: &str, kind: &str, selector: &str) -> Vec<Value> {
    let get = ["get", kind, "--output=json", "--selector", selector];
    let list = site.kubectl(namespace, &get).json();
    list["items"].as_array().unwrap().clone()
}
