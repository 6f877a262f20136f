//! What somebody who has no access to a cluster needs to see what is wrong in an environment: its workloads, pods, events
//! and logs, without what is secret as far as that can be told. No Secret is read, and of
//! `ConfigMap`s only this program's own records.

use deployer::{Cluster, Gvk, LogEnd, Object};
use schemars::JsonSchema;
use schemas::{EnvironmentName, KubernetesName, Namespace};
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;

use crate::limits;
use crate::model::error::Error;
use crate::model::obstacle::Obstacle;
use crate::model::state::ClusterState;

/// The kinds that are read, by the name of their file.
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

/// Parts of the names of arguments whose values are masked.
const SENSITIVE: [&str; 6] = ["password", "passwd", "secret", "token", "key", "credential"];
/// What stands in place of a value.
const MASK: &str = "(masked)";

/// The files of a support bundle.
#[derive(Debug, Default)]
pub struct SupportFiles {
    /// The files, in the order in which they were read.
    pub files: Vec<SupportFile>,
    /// The files that are missing.
    pub unread: Vec<UnreadFile>,
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
    /// The path that it would have.
    pub path: String,
    /// Why it is missing.
    pub why: String,
}

impl SupportFiles {
    /// Adds a file, if there is room for it.
    pub fn add(&mut self, path: impl Into<String>, bytes: Vec<u8>) {
        let path = path.into();
        if self.size() + bytes.len() > limits::SUPPORT_BYTES {
            let (size, max) = (bytes.len(), limits::SUPPORT_BYTES);
            let why = format!("it has {size} bytes, and all files together at most {max}");
            return self.unread.push(UnreadFile { path, why });
        }
        self.files.push(SupportFile { path, bytes });
    }

    fn size(&self) -> usize {
        self.files.iter().map(|file| file.bytes.len()).sum()
    }

    /// Adds a file that is a list of objects, or says why it cannot be read.
    fn add_objects(&mut self, path: String, objects: Result<&Vec<Object>, &deployer::Error>) {
        match objects {
            Ok(objects) => {
                let values: Vec<Value> = objects.iter().map(masked).collect();
                let text = serde_json::to_vec_pretty(&values).expect("objects have a JSON form");
                self.add(path, text);
            }
            Err(error) => self.unread.push(UnreadFile {
                path,
                why: error.to_string(),
            }),
        }
    }
}

/// Adds what there is of an environment to these files. What this user may not read is missing, and named.
pub async fn support(
    cluster: &Cluster,
    environment: &EnvironmentName,
    files: &mut SupportFiles,
) -> Result<(), Error> {
    let state = ClusterState::read(cluster).await?;
    let spaces = state.environment(environment);
    let namespaces: Vec<&Namespace> = spaces.map(|space| &space.namespace).collect();
    if namespaces.is_empty() {
        return Err(Obstacle::NoEnvironment {
            environment: environment.clone(),
        }
        .into());
    }
    let mut pods = Vec::new();
    for namespace in namespaces {
        pods.extend(objects(cluster, namespace, files).await);
    }
    // Logs come last, since they take most of the room, and nodes may be gone.
    let logs = logs(cluster, &pods, files);
    if timeout(limits::SUPPORT_LOGS, logs).await.is_err() {
        let seconds = limits::SUPPORT_LOGS.as_secs();
        files.unread.push(UnreadFile {
            path: "further logs".to_owned(),
            why: format!("all logs together did not come within {seconds} s"),
        });
    }
    Ok(())
}

/// Adds the objects of a namespace, and gives its pods.
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

async fn logs(cluster: &Cluster, pods: &[Object], files: &mut SupportFiles) {
    let runs = pods
        .iter()
        .flat_map(|pod| runs(pod).into_iter().map(move |run| (pod, run)));
    for (pod, (container, previous)) in runs {
        let namespace = pod.namespace().unwrap_or_default();
        let end = LogEnd {
            namespace,
            pod: pod.name(),
            container: &container,
            previous,
            lines: limits::SUPPORT_LOG_LINES,
            bytes: limits::SUPPORT_LOG_BYTES,
        };
        let before = if previous { ".previous" } else { "" };
        let path = format!("{namespace}/logs/{}/{container}{before}.log", pod.name());
        let why = if files.size() + limits::SUPPORT_LOG_BYTES > limits::SUPPORT_BYTES {
            "there was no room left".to_owned()
        } else {
            match timeout(limits::SUPPORT_LOG, cluster.log(&end)).await {
                Ok(Ok(Some(log))) => {
                    if !log.is_empty() {
                        files.add(path, log);
                    }
                    continue;
                }
                Ok(Ok(None)) => "its node has cleaned it away".to_owned(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("it did not come within {} s", limits::SUPPORT_LOG.as_secs()),
            }
        };
        files.unread.push(UnreadFile { path, why });
    }
}

/// The containers of a pod that have run, each with whether it is about the run before its last one. Names become parts of
/// paths, so only those that Kubernetes gives count.
fn runs(pod: &Object) -> Vec<(String, bool)> {
    let is_name = |name: &str| name.parse::<KubernetesName>().is_ok();
    let status = &pod.as_value()["status"];
    let statuses = ["initContainerStatuses", "containerStatuses"];
    let statuses = statuses.iter().filter_map(|field| status[field].as_array());
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

/// Returns an object without what is secret as far as that can be told: the values of variables, and those of arguments
/// that are called so. What only API servers write about fields is left out.
fn masked(object: &Object) -> Value {
    let mut value = object.as_value().clone();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
        }
    }
    for pod in ["/spec", "/spec/template/spec"] {
        for kind in ["initContainers", "containers", "ephemeralContainers"] {
            let containers = value.pointer_mut(&format!("{pod}/{kind}"));
            let containers = containers.and_then(Value::as_array_mut);
            containers.into_iter().flatten().for_each(mask_container);
        }
    }
    value
}

fn mask_container(container: &mut Value) {
    let values = |list: Option<&mut Value>| {
        let list = list.and_then(Value::as_array_mut).into_iter().flatten();
        for value in list.filter_map(|it| it.get_mut("value")) {
            *value = MASK.into();
        }
    };
    values(container.get_mut("env"));
    let mut follows = false;
    for field in ["/command", "/args"] {
        follows = mask_words(container.pointer_mut(field), follows);
    }
    for handler in [
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle/postStart",
        "lifecycle/preStop",
    ] {
        mask_words(
            container.pointer_mut(&format!("/{handler}/exec/command")),
            false,
        );
        values(container.pointer_mut(&format!("/{handler}/httpGet/httpHeaders")));
    }
}

/// Masks what words of a command line say. Gives whether the last of them is an option whose value follows.
fn mask_words(words: Option<&mut Value>, mut follows: bool) -> bool {
    for word in words.and_then(Value::as_array_mut).into_iter().flatten() {
        let text = word.as_str().unwrap_or_default().to_owned();
        let is_plain = !text.contains(char::is_whitespace);
        match text.split_once('=') {
            _ if follows => *word = MASK.into(),
            Some((name, _)) if is_plain && is_sensitive(name) => {
                *word = format!("{name}={MASK}").into();
            }
            // A whole script in one word.
            _ if !is_plain && is_sensitive(&text) => *word = MASK.into(),
            _ => {}
        }
        follows = !follows
            && is_plain
            && text.starts_with('-')
            && !text.contains('=')
            && is_sensitive(&text);
    }
    follows
}

fn is_sensitive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SENSITIVE.iter().any(|part| name.contains(part))
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

    #[test]
    fn variables_and_arguments_that_are_called_secret_are_masked() {
        let container = json!({
            "name": "web",
            "env": [
                { "name": "A", "value": "hidden" },
                { "name": "B", "valueFrom": { "secretKeyRef": { "name": "s", "key": "k" } } },
            ],
            "command": ["sh", "-c", "app --password=hidden", "PASSWORD=hidden", "--secret"],
            "args": ["hidden", "--db-password=hidden", "--token", "-hidden", "--level=3", "plain"],
            "livenessProbe": { "exec": { "command": ["ask", "--token=hidden"] } },
            "readinessProbe": { "httpGet": { "httpHeaders": [{ "name": "Authorization", "value": "hidden" }] } },
        });
        let spec =
            json!({ "spec": { "containers": [container.clone()], "initContainers": [container] } });
        let masked = masked(&pod(&spec));
        assert!(!masked.to_string().contains("hidden"), "{masked}");
        let container = &masked["spec"]["containers"][0];
        assert_eq!(
            container["env"][1]["valueFrom"]["secretKeyRef"]["name"],
            "s"
        );
        let args = json!([
            "(masked)",
            "--db-password=(masked)",
            "--token",
            "(masked)",
            "--level=3",
            "plain"
        ]);
        assert_eq!(container["args"], args);
        assert!(masked["metadata"].get("managedFields").is_none());
        let template = json!({ "template": { "spec": { "containers": [{ "env": [{ "value": "hidden" }] }] } } });
        let masked = super::masked(&pod(&json!({ "spec": template })));
        assert!(!masked.to_string().contains("hidden"), "{masked}");
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
        let paths: Vec<_> = files.files.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(paths, ["a", "c"]);
        assert_eq!(files.unread[0].path, "b");
    }
}
