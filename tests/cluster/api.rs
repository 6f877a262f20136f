//! A client of the API server for the tests' own reads and deletions. It sends them over one connection of this process,
//! because kubectl takes longer to start than most of these requests take.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use kubernetes::{Account, Cluster, ConnectOptions, ForwardedRequest, Identity};
use progress::Listener;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

/// The time limit of connecting.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The media type of answers.
const JSON: &str = "application/json";

/// The media type of a list of all kinds of the API server.
const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A connection to the API server.
pub(crate) struct Api {
    runtime: Runtime,
    cluster: Cluster,
    kinds: Mutex<Arc<Vec<Kind>>>,
}

/// A kind that the API server serves, in its preferred version.
#[derive(Clone)]
pub(crate) struct Kind {
    /// The path of the API version.
    root: String,
    group: String,
    plural: String,
    singular: String,
    short_names: Vec<String>,
    namespaced: bool,
    verbs: Vec<String>,
}

impl Kind {
    /// Parses the kinds of a group, in all its versions.
    fn of_group(root: &str, group: &Value) -> Vec<Self> {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        let versions = group["versions"].as_array().into_iter().flatten();
        let kinds = versions.flat_map(|group_version| {
            let version = group_version["version"].as_str().unwrap();
            let root = match name {
                "" => format!("{root}/{version}"),
                group => format!("{root}/{group}/{version}"),
            };
            let resources = group_version["resources"].as_array().into_iter().flatten();
            resources.map(move |resource| Self {
                root: root.clone(),
                group: name.to_owned(),
                plural: text(&resource["resource"]),
                singular: text(&resource["singularResource"]),
                short_names: texts(&resource["shortNames"]),
                namespaced: resource["scope"] == "Namespaced",
                verbs: texts(&resource["verbs"]),
            })
        });
        kinds.collect()
    }

    /// Returns whether kubectl knows the kind by this name.
    fn has_name(&self, name: &str) -> bool {
        let (name, group) = name.split_once('.').unwrap_or((name, &self.group));
        let is_named = name == self.plural || name == self.singular;
        (is_named || self.short_names.iter().any(|short| short == name)) && group == self.group
    }

    fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|allowed| allowed == verb)
    }

    /// Returns the path of the objects in a namespace, or in the whole cluster.
    fn collection(&self, namespace: Option<&str>) -> String {
        let namespace = namespace.filter(|_| self.namespaced);
        let namespace = namespace.map_or_else(String::new, |name| format!("/namespaces/{name}"));
        format!("{}{namespace}/{}", self.root, self.plural)
    }

    /// Returns an object's name as kubectl prints it.
    pub(crate) fn full_name(&self, object: &Value) -> String {
        let group = match &*self.group {
            "" => String::new(),
            group => format!(".{group}"),
        };
        format!("{}{group}/{}", self.singular, name(object))
    }
}

impl Api {
    pub(crate) fn connect(kubeconfig: PathBuf) -> Self {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build();
        let runtime = runtime.unwrap();
        let options = ConnectOptions {
            account: Account::Kubeconfig {
                paths: vec![kubeconfig],
                context: None,
            },
            identity: Identity::Account,
            timeout: TIMEOUT,
            listener: Listener::default(),
            clock: || SystemTime::UNIX_EPOCH,
        };
        let cluster = runtime.block_on(Cluster::connect(&options)).unwrap();
        let kinds = Mutex::default();
        let api = Self {
            runtime,
            cluster,
            kinds,
        };
        api.discover();
        api
    }

    /// Sends a request, and returns the status and the body of the answer.
    fn send(&self, method: &str, target: &str, accept: &str, body: Option<&Value>) -> (u16, Value) {
        let request = ForwardedRequest {
            method: method.to_owned(),
            target: target.to_owned(),
            accept: accept.to_owned(),
            content_type: body.map(|_| JSON.to_owned()),
            body: body.map_or_else(Vec::new, |body| body.to_string().into_bytes()),
        };
        self.runtime.block_on(async {
            let mut answer = self.cluster.pass(request).await.unwrap();
            let mut bytes = Vec::new();
            while let Some(piece) = answer.next().await.unwrap() {
                bytes.extend(piece);
            }
            let body = serde_json::from_slice(&bytes);
            let body = body.unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
            (answer.status, body)
        })
    }

    /// Sends a request that must not fail, and returns the body of the answer, or `None` if there is no such object.
    #[track_caller]
    fn ask(&self, method: &str, target: &str, accept: &str, body: Option<&Value>) -> Option<Value> {
        let (status, answer) = self.send(method, target, accept, body);
        assert!(
            status < 300 || status == 404,
            "{method} {target}: {status} {answer:#}"
        );
        (status != 404).then_some(answer)
    }

    /// Looks up the kinds, which custom resource definitions change.
    pub(crate) fn discover(&self) {
        let roots = ["/api", "/apis"].into_iter();
        let kinds = roots.flat_map(|root| {
            let mut groups = self.ask("GET", root, DISCOVERY, None).unwrap();
            let groups = std::mem::take(groups["items"].as_array_mut().unwrap());
            groups
                .into_iter()
                .flat_map(move |group| Kind::of_group(root, &group))
        });
        let mut found: Vec<Kind> = Vec::new();
        for kind in kinds {
            let is_same =
                |other: &Kind| (&other.group, &other.plural) == (&kind.group, &kind.plural);
            if !found.iter().any(is_same) {
                found.push(kind);
            }
        }
        *self.kinds.lock().unwrap() = found.into();
    }

    /// Returns the kinds for which this holds.
    fn kinds(&self, is_wanted: impl Fn(&Kind) -> bool) -> Vec<Kind> {
        let kinds = self.kinds.lock().unwrap().clone();
        kinds
            .iter()
            .filter(|kind| is_wanted(kind))
            .cloned()
            .collect()
    }

    /// Returns the kinds with these names.
    pub(crate) fn kinds_named(&self, names: &[&str]) -> Vec<Kind> {
        let find = |name: &&str| {
            let mut found = self.kinds(|kind| kind.has_name(name));
            assert!(!found.is_empty(), "there is no kind `{name}`");
            found.swap_remove(0)
        };
        names.iter().map(find).collect()
    }

    /// Returns the namespaced kinds that the API server serves with a verb, except events.
    pub(crate) fn namespaced_kinds(&self, verb: &str) -> Vec<Kind> {
        self.kinds(|kind| kind.namespaced && kind.allows(verb) && kind.plural != "events")
    }

    /// Returns those of these kinds that no definition adds.
    pub(crate) fn own_namespaced_kinds(&self, verb: &str) -> Vec<Kind> {
        let mut kinds = self.namespaced_kinds(verb);
        kinds.retain(|kind| !kind.group.contains('.') || kind.group.ends_with(".k8s.io"));
        kinds
    }

    /// Returns an object by `KIND/NAME`, or the list of all objects by `KIND`.
    #[track_caller]
    pub(crate) fn get(&self, namespace: &str, object: &str) -> Value {
        let find = || {
            let (kind, name) = object.split_once('/').unwrap_or((object, ""));
            let kind = self
                .kinds(|served| served.has_name(kind))
                .into_iter()
                .next()?;
            let path = kind.collection(Some(namespace));
            let path = format!("{path}/{name}");
            self.ask("GET", path.trim_end_matches('/'), JSON, None)
        };
        // The definition of its kind may be new, or have another version.
        let found = find().or_else(|| {
            self.discover();
            find()
        });
        found.unwrap_or_else(|| panic!("there is no {object} in {namespace}"))
    }

    /// Returns the objects of a kind, in a namespace or in the whole cluster.
    pub(crate) fn list(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Value> {
        let list = self.ask("GET", &kind.collection(namespace), JSON, None);
        let mut list = list.unwrap_or_default();
        let api_version = list["apiVersion"].take();
        let kind = text(&list["kind"]);
        let kind = kind.trim_end_matches("List");
        let Some(objects) = list["items"].as_array_mut() else {
            return Vec::new();
        };
        for object in &mut *objects {
            // The API server leaves them out of lists.
            object["apiVersion"] = api_version.clone();
            object["kind"] = json!(kind);
        }
        std::mem::take(objects)
    }

    /// Creates an object of a kind.
    #[track_caller]
    pub(crate) fn create(&self, kind: &str, namespace: &str, object: &Value) {
        let kind = &self.kinds_named(&[kind])[0];
        let path = kind.collection(Some(namespace));
        let created = self.ask("POST", &path, JSON, Some(object));
        assert!(created.is_some(), "there is no namespace {namespace}");
    }

    /// Deletes an object that was listed. Its dependents are deleted afterwards.
    pub(crate) fn delete(&self, kind: &Kind, object: &Value) {
        let namespace = object["metadata"]["namespace"].as_str();
        let path = format!("{}/{}", kind.collection(namespace), name(object));
        let options = json!({"propagationPolicy": "Background"});
        self.ask("DELETE", &path, JSON, Some(&options));
    }

    /// Deletes all objects of these kinds in a namespace without a grace period, until none is left.
    pub(crate) fn delete_all(&self, kinds: Vec<Kind>, namespace: &str) {
        let options = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        let mut left = kinds;
        until_gone(namespace, || {
            left.retain(|kind| {
                let path = kind.collection(Some(namespace));
                let deleted = self.ask("DELETE", &path, JSON, Some(&options));
                let deleted = deleted.unwrap_or_default();
                let objects = deleted["items"].as_array();
                objects.is_some_and(|objects| !objects.is_empty())
            });
            left.is_empty()
        });
    }

    /// Finalizes a namespace that is being deleted.
    pub(crate) fn finalize(&self, namespace: &str) {
        let finalized = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []},
        });
        let path = format!("/api/v1/namespaces/{namespace}/finalize");
        // The controller may have been faster.
        self.send("PUT", &path, JSON, Some(&finalized));
    }
}

/// Waits until objects are gone.
#[track_caller]
pub(crate) fn until_gone(what: &str, mut is_gone: impl FnMut() -> bool) {
    let pause = Duration::from_millis(50);
    let pauses = 120_000 / 50;
    let gone = (0..pauses).any(|_| {
        let gone = is_gone();
        if !gone {
            std::thread::park_timeout(pause);
        }
        gone
    });
    assert!(gone, "not gone in time: {what}");
}

/// Returns an object's name.
pub(crate) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(values: &Value) -> Vec<String> {
    values.as_array().into_iter().flatten().map(text).collect()
}
