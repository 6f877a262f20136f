//! The diagnostics of an environment for a person without access to the cluster: its workloads, pods, events and logs.
//! [`support`] adds them to [`SupportFiles`]. Objects pass through an allow-list of structural fields. Secrets are read
//! only to remove their values from all files. Of `ConfigMap`s, only this program's own records are read.

mod projection;
mod redactions;

use std::collections::BTreeSet;

use kubernetes::{Cluster, Gvk, LogTail, Object, ObjectRef};
use schemars::JsonSchema;
use schemas::{EnvironmentName, KubernetesName, Namespace};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use self::projection::{hidden, project};
use self::redactions::Redactions;
use crate::choices::parameters::secret::secret_name;
use crate::limits;
use crate::model::blocker::Blocker;
use crate::model::error::Error;
use crate::records::namespace_record::NamespaceRecord;
use crate::records::state::ClusterState;

/// The kinds that are read, with the name of their file.
const KINDS: [(&str, &str, &str); 7] = [
    ("events", "v1", "Event"),
    ("deployments", "apps/v1", "Deployment"),
    ("statefulsets", "apps/v1", "StatefulSet"),
    ("daemonsets", "apps/v1", "DaemonSet"),
    ("replicasets", "apps/v1", "ReplicaSet"),
    ("jobs", "batch/v1", "Job"),
    (PODS, "v1", "Pod"),
];
const PODS: &str = "pods";

/// The fields of this program's own reports that are free text: choices of the site, and texts from the cluster.
const FREE_FIELDS: [&str; 7] = [
    "description",
    "lines",
    "notes",
    "parameters",
    "reason",
    "unreadable",
    "why",
];

/// The files of a support bundle.
#[derive(Debug, Default)]
pub struct SupportFiles {
    /// The files, in the order in which they were read.
    pub files: Vec<SupportFile>,
    /// The files that are missing.
    pub unread: Vec<UnreadFile>,
    /// Whether texts that users and programs chose freely are included, except known secret values and credentials. Else
    /// they are masked.
    include_text: bool,
    redactions: Redactions,
    /// True if the secret values exceeded the limit. Free text and logs are left out then.
    lacks_redactions: bool,
}

/// A file of a support bundle.
#[derive(Debug)]
pub struct SupportFile {
    /// Its path in the bundle.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// A file that is missing in a support bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UnreadFile {
    /// The path in the bundle.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl SupportFiles {
    /// Reads the secret values that must not appear in any file of the bundle.
    pub async fn begin(
        cluster: &Cluster,
        environment: &EnvironmentName,
        include_text: bool,
    ) -> Result<Self, Error> {
        let state = ClusterState::read(cluster).await?;
        let mut files = Self {
            include_text,
            ..Self::default()
        };
        for space in state.environment(environment) {
            files.read_secrets(cluster, space).await;
        }
        if let Err(why) = files.redactions.ready() {
            files.lacks_redactions = true;
            files.miss("values of Secrets", &why);
        }
        Ok(files)
    }

    /// Reads the Secrets of a namespace, or those that its record and its pods name if the user may not list them.
    async fn read_secrets(&mut self, cluster: &Cluster, space: &NamespaceRecord) {
        let namespace = space.namespace.as_str();
        let secrets = Gvk::new("v1", "Secret");
        let path = format!("values of the Secrets of {namespace}");
        match cluster.list(&secrets, Some(namespace), None).await {
            Ok(secrets) => self.add_secrets(&secrets, &path),
            Err(error) => {
                let pod = Gvk::new("v1", "Pod");
                let pods = cluster
                    .list(&pod, Some(namespace), None)
                    .await
                    .unwrap_or_default();
                let mut unread = BTreeSet::new();
                for name in named_secrets(space, &pods) {
                    let secret = ObjectRef::namespaced("v1", "Secret", namespace, &name);
                    match cluster.get(&secret).await {
                        Ok(secret) => self.add_secrets(secret.as_slice(), &path),
                        Err(_) => {
                            unread.insert(name);
                        }
                    }
                }
                let named = Vec::from_iter(unread).join(", ");
                let named = if named.is_empty() {
                    String::new()
                } else {
                    format!("; these Secrets are in use and cannot be read: {named}")
                };
                self.miss(
                    path,
                    &format!("{error}, so logs may contain values of other Secrets{named}"),
                );
            }
        }
    }

    fn add_secrets(&mut self, secrets: &[Object], path: &str) {
        let mut secrets = secrets.iter();
        // The limit is reported once, however many namespaces exceed it.
        if !secrets.all(|secret| self.redactions.add(secret)) && !self.lacks_redactions {
            self.lacks_redactions = true;
            let max = limits::SUPPORT_SECRETS;
            let why =
                format!("they have more than {max} bytes, so free text and logs are left out");
            self.miss(path, &why);
        }
    }

    /// Records that a file is missing. The reason is redacted, since an API server may quote anything in it.
    fn miss(&mut self, path: impl Into<String>, why: &str) {
        let why = self.redactions.redact(why);
        let path = path.into();
        self.unread.push(UnreadFile { path, why });
    }

    /// Adds a report of this program.
    pub fn add_report(&mut self, path: impl Into<String>, report: &impl Serialize) {
        match serde_json::to_value(report) {
            Ok(mut report) => {
                if !self.has_text() {
                    mask_free_fields(&mut report);
                }
                self.add_value(path, &report);
            }
            Err(error) => self.miss(path, &error.to_string()),
        }
    }

    fn has_text(&self) -> bool {
        self.include_text && !self.lacks_redactions
    }

    fn add_value(&mut self, path: impl Into<String>, value: &Value) {
        let value = self.redactions.redact_value(value);
        let text = serde_json::to_string_pretty(&value).expect("a value has a JSON form");
        self.add(path, (text + "\n").into_bytes());
    }

    /// Adds a redacted file if the bundle does not exceed its limit.
    fn add(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        let path = path.into();
        if self.size() + bytes.len() > limits::SUPPORT_BYTES {
            let (size, max) = (bytes.len(), limits::SUPPORT_BYTES);
            let why = format!("it has {size} bytes, but all files together may have at most {max}");
            return self.unread.push(UnreadFile { path, why });
        }
        self.files.push(SupportFile { path, bytes });
    }

    fn size(&self) -> usize {
        self.files.iter().map(|file| file.bytes.len()).sum()
    }

    /// Adds a file with a list of objects, or records why it cannot be read.
    fn add_objects(&mut self, path: String, objects: Result<&Vec<Object>, &kubernetes::Error>) {
        match objects {
            Ok(objects) => {
                let objects = objects.iter();
                let values: Value = objects
                    .map(|object| project(object.as_value(), self.has_text()))
                    .collect();
                self.add_value(path, &values);
            }
            Err(error) => self.miss(path, &error.to_string()),
        }
    }
}

/// Returns the names of the Secrets that the Solutions of a namespace and its pods use.
fn named_secrets(space: &NamespaceRecord, pods: &[Object]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (solution, deployed) in &space.solutions {
        let pull_secret = deployed.pull_secret.iter();
        names.extend(pull_secret.map(ToString::to_string));
        names.extend(deployed.secret.map(|number| secret_name(solution, number)));
    }
    for pod in pods {
        used_secrets(&pod.as_value()["spec"], &mut names);
    }
    names
}

/// Adds the names of the Secrets that a pod's spec refers to at any depth.
fn used_secrets(spec: &Value, names: &mut BTreeSet<String>) {
    let fields_of_names = ["name", "secretName"];
    match spec {
        Value::Object(fields) => {
            for (key, field) in fields {
                let references = match key.as_str() {
                    "secretKeyRef" | "secretRef" | "nodePublishSecretRef" | "secret" => {
                        std::slice::from_ref(field)
                    }
                    "imagePullSecrets" => field.as_array().map_or(&[][..], Vec::as_slice),
                    _ => {
                        used_secrets(field, names);
                        continue;
                    }
                };
                let secrets = references
                    .iter()
                    .flat_map(|reference| fields_of_names.map(|name| reference[name].as_str()));
                names.extend(secrets.flatten().map(str::to_owned));
            }
        }
        Value::Array(items) => items.iter().for_each(|item| used_secrets(item, names)),
        _ => {}
    }
}

/// Masks the free text in a report of this program.
fn mask_free_fields(report: &mut Value) {
    match report {
        Value::Object(fields) => {
            for (name, field) in fields {
                if FREE_FIELDS.contains(&name.as_str()) {
                    *field = hidden(field);
                } else {
                    mask_free_fields(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_free_fields),
        _ => {}
    }
}

/// Adds the diagnostics of an environment to the files. Objects that the user may not read are listed as missing.
pub async fn support(
    cluster: &Cluster,
    environment: &EnvironmentName,
    files: &mut SupportFiles,
) -> Result<(), Error> {
    let state = ClusterState::read(cluster).await?;
    let spaces = state.environment(environment);
    let namespaces: Vec<&Namespace> = spaces.map(|space| &space.namespace).collect();
    if namespaces.is_empty() {
        return Err(Blocker::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    let mut pods = Vec::new();
    for namespace in namespaces {
        pods.extend(objects(cluster, namespace, files).await);
    }
    // Logs come last, since they fill most of the bundle and nodes may be unreachable.
    let logs = logs(cluster, &pods, files);
    if timeout(limits::SUPPORT_LOGS, logs).await.is_err() {
        let seconds = limits::SUPPORT_LOGS.as_secs();
        files.unread.push(UnreadFile {
            path: "further logs".to_owned(),
            why: format!("the logs were not complete after {seconds} s"),
        });
    }
    Ok(())
}

/// Adds the objects of a namespace, and returns its pods.
async fn objects(
    cluster: &Cluster,
    namespace: &Namespace,
    files: &mut SupportFiles,
) -> Vec<Object> {
    let mut pods = Vec::new();
    for (name, api_version, kind) in KINDS {
        let kind = Gvk::new(api_version, kind);
        let listed = cluster.list(&kind, Some(namespace.as_str()), None).await;
        files.add_objects(format!("{namespace}/{name}.json"), listed.as_ref());
        if name == PODS {
            pods = listed.unwrap_or_default();
        }
    }
    pods
}

/// Adds the logs of the pods to the files. A log that cannot be read, or that would exceed a limit, is listed as
/// missing with the reason.
async fn logs(cluster: &Cluster, pods: &[Object], files: &mut SupportFiles) {
    let runs = pods
        .iter()
        .flat_map(|pod| runs(pod).into_iter().map(move |run| (pod, run)));
    for (pod, (container, previous)) in runs {
        let namespace = pod.namespace().unwrap_or_default();
        let end = LogTail {
            namespace,
            pod: pod.name(),
            container: &container,
            previous,
            lines: limits::SUPPORT_LOG_LINES,
            bytes: limits::SUPPORT_LOG_BYTES,
        };
        let before = if previous { ".previous" } else { "" };
        let path = format!("{namespace}/logs/{}/{container}{before}.log", pod.name());
        let why = if files.lacks_redactions {
            "secret values cannot be removed from it".to_owned()
        } else if files.size() + limits::SUPPORT_LOG_BYTES > limits::SUPPORT_BYTES {
            "the size limit of the bundle is reached".to_owned()
        } else {
            match timeout(limits::SUPPORT_LOG, cluster.log(&end)).await {
                Ok(Ok(Some(log))) => {
                    if !log.is_empty() {
                        let log = files.redactions.redact(&String::from_utf8_lossy(&log));
                        files.add(path, log.into_bytes());
                    }
                    continue;
                }
                Ok(Ok(None)) => "its node has deleted it".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!(
                    "the API server did not send it within {} s",
                    limits::SUPPORT_LOG.as_secs()
                ),
            }
        };
        files.miss(path, &why);
    }
}

/// Returns the containers of a pod that have run, each with `true` for the log of its previous run. The names become
/// parts of file paths, so names that Kubernetes would not accept are skipped.
fn runs(pod: &Object) -> Vec<(String, bool)> {
    let is_name = |name: &str| name.parse::<KubernetesName>().is_ok();
    let status = &pod.as_value()["status"];
    let statuses = ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|field| status[field].as_array());
    let mut runs = Vec::new();
    for container in statuses.flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        if !is_name(name) || !is_name(pod.name()) {
            continue;
        }
        if container["state"].get("waiting").is_none() {
            runs.push((name.to_owned(), false));
        }
        if container["lastState"]["terminated"].is_object() {
            runs.push((name.to_owned(), true));
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(more: &Value) -> Object {
        let mut pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "web-0", "namespace": "prod", "managedFields": [{ "manager": "x" }] },
        });
        pod.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        Object::new(pod).unwrap()
    }

    /// A text that no allow-list contains.
    const FREE: &str = "Zu7fr31t";

    fn redactions() -> Redactions {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "prod" },
            "data": {
                "password": "aHVudGVyMiM3",
                "token": "ImdlbmVyYXRlZDQ3MTEi",
                ".dockerconfigjson": "eyJhdXRocyI6eyJyIjp7ImF1dGgiOiJkVHB3ZFd4c1pYST0ifX19",
                "app.conf": "bGV2ZWw9aW5mbwpkc249ImNvbmZpZ3VyZWQ5Igo=",
            },
        });
        let mut redactions = Redactions::default();
        assert!(redactions.add(&Object::new(secret).unwrap()));
        redactions.ready().unwrap();
        redactions
    }

    #[test]
    fn no_free_text_of_an_object_is_in_a_bundle_wherever_it_is() {
        let container = |field: &str, value: Value| {
            let mut container = json!({ "name": "web" });
            container[field] = value;
            json!({ "spec": { "template": { "spec": { "initContainers": [container.clone()], "containers": [container] } } } })
        };
        let volume = |volume: Value| json!({ "spec": { "volumes": [volume] } });
        let places = [
            container("args", json!([format!("--pass={FREE}")])),
            container("args", json!(["--pass", FREE])),
            container("args", json!([format!("--dsn=postgres://u:{FREE}@db/x")])),
            container("args", json!([format!("-p{FREE}")])),
            container("args", json!([format!("-p{FREE}=x")])),
            container("args", json!([format!("--{FREE}")])),
            container(
                "command",
                json!(["curl", "-u", format!("me:{FREE}"), "http://db"]),
            ),
            container(
                "command",
                json!(["curl", "-H", format!("Authorization: Bearer {FREE}")]),
            ),
            container("command", json!([format!("PASS={FREE}"), "app"])),
            container("command", json!(["sh", "-c", format!("app {FREE}")])),
            container("env", json!([{ "name": "A", "value": FREE }])),
            container("workingDir", json!(format!("with spaces {FREE}"))),
            container(
                "livenessProbe",
                json!({ "exec": { "command": ["ask", FREE] } }),
            ),
            container(
                "livenessProbe",
                json!({ "httpGet": { "path": format!("/ready?token={FREE}") } }),
            ),
            container(
                "readinessProbe",
                json!({ "httpGet": { "path": format!("/hooks/{FREE}") } }),
            ),
            container(
                "startupProbe",
                json!({ "httpGet": { "host": FREE, "httpHeaders": [{ "name": "X", "value": FREE }] } }),
            ),
            container(
                "lifecycle",
                json!({ "preStop": { "exec": { "command": ["ask", FREE] } } }),
            ),
            container("fieldOfALaterVersion", json!({ "a": [FREE] })),
            volume(
                json!({ "name": "v", "csi": { "driver": "d", "volumeAttributes": { "pass": FREE } } }),
            ),
            volume(
                json!({ "name": "v", "flexVolume": { "driver": "d", "options": { "pass": FREE } } }),
            ),
            volume(json!({ "name": "v", "azureFile": FREE })),
            json!({ "metadata": { "annotations": { "example.com/note": FREE } } }),
            json!({ "metadata": { "annotations": { "kubectl.kubernetes.io/last-applied-configuration": FREE } } }),
            json!({ "metadata": { "managedFields": [FREE] } }),
            json!({ "spec": { "template": { "metadata": { "annotations": { "a": FREE } } } } }),
            json!({ "spec": { "volumeClaimTemplates": [{ "metadata": { "annotations": { "a": FREE } } }] } }),
            json!({ "status": { "conditions": [{ "type": "Ready", "reason": "Custom", "message": FREE }] } }),
            json!({ "status": { "reason": "Evicted", "message": FREE } }),
            json!({ "status": { "containerStatuses": [{ "lastState": { "terminated": { "reason": "Error", "message": FREE } } }] } }),
            json!({ "involvedObject": { "name": "web" }, "reason": "Unhealthy", "message": FREE, "reportingComponent": "kubelet" }),
            json!({ "involvedObject": { "name": "web" }, "reason": "Created", "message": FREE, "reportingComponent": "tenant" }),
            json!({ "involvedObject": { "name": "web" }, "reason": "Created", "message": FREE, "source": { "component": "tenant" } }),
            json!({ "fieldOfALaterVersion": FREE }),
        ];
        for place in places {
            let shown = project(&place, false).to_string();
            assert!(!shown.contains(FREE), "{place} is shown as {shown}");
        }
    }

    #[test]
    fn the_structure_of_an_object_is_in_a_bundle() {
        let object = json!({
            "metadata": {
                "name": "web",
                "labels": { "app": "web" },
                "annotations": { "a": "x", "deployment.kubernetes.io/revision": "3" },
            },
            "spec": { "replicas": 2, "template": { "spec": { "containers": [{
                "name": "web",
                "image": "registry.example/web:1",
                "command": ["/bin/web", "serve"],
                "args": ["--pass=x", "--leader-elect=true", "--node=$(NODE)", "-v", "4"],
                "env": [
                    { "name": "A", "value": "x" },
                    { "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
                ],
                "ports": [{ "containerPort": 80 }],
            }] } } },
            "status": { "conditions": [{
                "type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable",
                "message": "Deployment does not have minimum availability.",
            }] },
        });
        let mut expected = object.clone();
        expected["metadata"]["annotations"]["a"] = "***".into();
        let container = &mut expected["spec"]["template"]["spec"]["containers"][0];
        container["command"] = json!(["/bin/web", "***"]);
        container["args"] = json!([
            "--pass=***",
            "--leader-elect=true",
            "--node=$(NODE)",
            "-v",
            "***"
        ]);
        container["env"][0]["value"] = "***".into();
        assert_eq!(project(&object, false), expected);
    }

    #[test]
    fn a_known_secret_value_is_in_no_file_of_a_bundle_in_any_form() {
        let texts = [
            "hunter2#7",
            "aHVudGVyMiM3",
            "postgres://u:hunter2%237@db",
            "login with generated4711 failed",
            "pull as puller",
            "the dsn is configured9",
        ];
        let redactions = redactions();
        let values = [
            "hunter2#7",
            "aHVudGVyMiM3",
            "hunter2%237",
            "generated4711",
            "puller",
            "configured9",
        ];
        for text in texts {
            let mut files = SupportFiles {
                include_text: true,
                redactions: self::redactions(),
                ..SupportFiles::default()
            };
            files.add_report("report.json", &json!({ "message": text, text: 1 }));
            let shown =
                pod(&json!({ "spec": { "containers": [{ "args": [text], "image": text }] } }));
            files.add_objects("pods.json".to_owned(), Ok(&vec![shown]));
            files.miss("log", text);
            let written = files
                .files
                .iter()
                .map(|file| String::from_utf8_lossy(&file.bytes));
            let mut written: Vec<String> = written.map(std::borrow::Cow::into_owned).collect();
            written.extend([redactions.redact(text), files.unread[0].why.clone()]);
            for written in written {
                assert!(
                    !values.iter().any(|value| written.contains(value)),
                    "{text}: {written}"
                );
                assert!(written.contains("***"), "{text}: {written}");
            }
        }
        assert_eq!(redactions.redact("an info line"), "an info line");
    }

    #[test]
    fn a_credential_in_a_log_is_removed_by_its_form() {
        let lines = [
            format!("Authorization: Basic {FREE}"),
            format!("sent Bearer {FREE} to db"),
            format!("dial postgres://u:{FREE}@db/x"),
            format!("GET /ready?token={FREE}&x={FREE} 200"),
            format!("password={FREE}"),
            format!("{{\"clientSecret\":\"{FREE} {FREE}\"}}"),
            format!("curl -u me:{FREE} http://db"),
            format!("app --pass {FREE} serve"),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{FREE}\n-----END RSA PRIVATE KEY-----"),
            format!("eyJhbGciOiJI.eyJzdWIi.{FREE}"),
        ];
        for line in lines {
            let shown = Redactions::default().redact(&line);
            assert!(!shown.contains(FREE), "{line} is shown as {shown}");
        }
        let plain = "2026-01-02T03:04:05Z INFO reconciled prod/web in 3ms: 2 keys";
        assert_eq!(Redactions::default().redact(plain), plain);
    }

    #[test]
    fn the_free_text_of_a_report_is_masked_unless_it_is_wanted() {
        let report = json!({ "version": "1.0.0", "parameters": { "dsn": FREE }, "reason": FREE });
        let with = |include_text| {
            let mut files = SupportFiles {
                include_text,
                ..SupportFiles::default()
            };
            files.add_report("report.json", &report);
            serde_json::from_slice::<Value>(&files.files[0].bytes).unwrap()
        };
        let masked = json!({ "version": "1.0.0", "parameters": { "dsn": "***" }, "reason": "***" });
        assert_eq!(with(false), masked);
        assert_eq!(with(true), report);
    }

    #[test]
    fn the_secrets_that_a_pod_uses_are_found() {
        let spec = json!({
            "imagePullSecrets": [{ "name": "a" }],
            "containers": [{
                "env": [{ "valueFrom": { "secretKeyRef": { "name": "b" } } }],
                "envFrom": [{ "secretRef": { "name": "c" } }],
            }],
            "volumes": [{ "secret": { "secretName": "d" } }, { "projected": { "sources": [{ "secret": { "name": "e" } }] } }],
        });
        let mut names = BTreeSet::new();
        used_secrets(&spec, &mut names);
        assert_eq!(Vec::from_iter(names), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn each_run_of_a_container_has_its_log() {
        let status = json!({ "status": {
            "initContainerStatuses": [{ "name": "init", "state": { "terminated": {} } }],
            "containerStatuses": [
                { "name": "web", "state": { "running": {} }, "lastState": { "terminated": {} } },
                { "name": "new", "state": { "waiting": {} } },
                { "name": "../../etc", "state": { "running": {} } },
            ],
        }});
        let runs = runs(&pod(&status));
        let runs: Vec<_> = runs
            .iter()
            .map(|(name, previous)| (name.as_str(), *previous))
            .collect();
        assert_eq!(runs, [("init", false), ("web", false), ("web", true)]);
    }

    #[test]
    fn a_bundle_has_room_for_so_much() {
        let mut files = SupportFiles::default();
        files.add("a", vec![0; limits::SUPPORT_BYTES - 1]);
        files.add("b", vec![0; 2]);
        files.add("c", vec![0; 1]);
        let paths: Vec<_> = files.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["a", "c"]);
        assert_eq!(files.unread[0].path, "b");
    }
}
