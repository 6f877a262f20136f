//! A site: the cluster and the registry that the sandbox's variables name, and a desk to work at.
//!
//! The tests of this suite share one cluster, one after the other, and what a Solution leaves in it is there for all.
//! So each begins by removing what the test before it left, whatever became of that.
//!
//! The program works as a user who has exactly the rights that `solution site rbac` prints for the archives that are imported,
//! kubectl as the cluster's administrator. What the two archives of the example take is granted once for all tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::{Answer, Desk, programs};

/// How long anything may take that the test waits for.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// The kinds of which a test may leave something behind that reaches the next one; with a namespace, all that is in it
/// goes.
const LEFT: &str =
    "namespaces,customresourcedefinitions,clusterroles,clusterrolebindings,serviceaccounts";

/// Every kind of which the program writes objects.
const WRITTEN: &str = "configmaps,secrets,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,deployments,statefulsets,daemonsets,jobs,cronjobs,namespaces,customresourcedefinitions,validatingwebhookconfigurations,mutatingwebhookconfigurations,priorityclasses";

/// The ServiceAccount of the namespace `default` that the program works as.
const USER: &str = "importer";

/// What the names of its roles begin with.
const ROLE: &str = "site:";

/// The namespace of the program's records. It stays from test to test, since roles of the user lie in it.
const RECORDS: &str = "metalk8s-solutions";

/// What the names of those roles begin with that all tests share.
const SHARED: &str = "site:shared:";

/// The programs that the example and the user's rights are made of.
const MADE_OF: [&str; 3] = ["solution", "example-operator", "example-server"];

/// What every site begins with. It lies in the cluster's directory, where the process of the next test finds it: compressing
/// the programs takes longer than much that is tested. After a build it is made anew.
static EXAMPLE: LazyLock<Desk> = LazyLock::new(|| {
    let built = MADE_OF.map(|name| {
        let path = programs().join(name);
        let metadata = std::fs::metadata(&path);
        let metadata = metadata
            .unwrap_or_else(|error| panic!("{}: {error}: `cargo build -p {name}`", path.display()));
        let built = metadata.modified().unwrap();
        let built = built.duration_since(SystemTime::UNIX_EPOCH).unwrap();
        format!("-{}", built.as_nanos())
    });
    let baseline = PathBuf::from(variable("SOLUTION_TEST_BASELINE"));
    let place = baseline.with_file_name(format!("example{}", built.concat()));
    Desk::kept(place, pack_example)
});

/// Packs both versions of the example, signed with a new key.
fn pack_example(desk: &Desk) {
    let [operator, server] = ["example-operator", "example-server"].map(|it| programs().join(it));
    let programs = Programs::read(&operator, &server).unwrap();
    desk.solution(&["keygen", "publisher"]).success();
    for release in Release::ALL {
        let version = release.to_string();
        desk.write_example(&programs, release, &version);
        let archive = format!("{version}.iso");
        desk.solution(&["pack", &version, "-o", &archive, "--key", "publisher.key"])
            .success();
    }
}

/// The file beside the example that says that the user has the rights for it.
const GRANTED: &str = "granted";

/// The kubeconfig of the user whom the program works as, with the rights that the archives of the example take: granted
/// once in each cluster, since a dozen programs take longer than many a test.
static USER_CONFIG: LazyLock<String> = LazyLock::new(|| {
    let config = EXAMPLE.path(&format!("{USER}.kubeconfig"));
    if !EXAMPLE.path(GRANTED).exists() {
        kubectl_in(&EXAMPLE, "default", &["create", "serviceaccount", USER]);
        let user = account(&EXAMPLE, USER);
        for release in Release::ALL {
            let roles = roles(&EXAMPLE, &format!("{release}.iso"), SHARED);
            apply(&EXAMPLE, &roles.expect("the example is accepted")).success();
        }
        eventually("the user's rights hold", || {
            let may = ["auth", "can-i", "list", "nodes", "--kubeconfig", &user];
            (kubectl_in(&EXAMPLE, "default", &may).code == 0).then_some(())
        });
        EXAMPLE.write(GRANTED, "");
    }
    config.to_str().unwrap().to_owned()
});

/// The kinds of which namespaces have objects, but for events and those that custom resource definitions bring.
static NAMESPACED: LazyLock<String> = LazyLock::new(|| {
    let kinds = ["api-resources", "--namespaced", "--verbs=delete"];
    let kinds = [&kinds[..], &["--output=name"]].concat();
    let kinds = kubectl_in(&EXAMPLE, "default", &kinds).success();
    let is_own = |kind: &&str| {
        let group = kind.split_once('.').map_or("", |(_, group)| group);
        (!group.contains('.') || group.ends_with(".k8s.io")) && !kind.starts_with("events")
    };
    kinds.lines().filter(is_own).collect::<Vec<_>>().join(",")
});

/// A site, and the archives of the example in both versions.
pub(crate) struct Site {
    pub(crate) desk: Desk,
    /// Keeps the repositories of one test apart from those of others, and of other runs.
    prefix: String,
    /// The archives for which it has rights, as they were then.
    granted: Mutex<BTreeSet<(String, SystemTime)>>,
}

impl Site {
    /// A desk with `1.0.0.iso` and `1.1.0.iso`, signed with `publisher`.
    pub(crate) fn new(prefix: &str) -> Self {
        let site = Self {
            desk: EXAMPLE.copy(),
            prefix: format!("{prefix}-{}", std::process::id()),
            granted: Mutex::default(),
        };
        site.clear();
        LazyLock::force(&USER_CONFIG);
        let known = Release::ALL.map(|release| site.state(&format!("{release}.iso")).unwrap());
        site.granted.lock().unwrap().extend(known);
        site
    }

    /// An archive's name, and when it was written.
    fn state(&self, archive: &str) -> Option<(String, SystemTime)> {
        let metadata = std::fs::metadata(self.desk.path(archive)).ok()?;
        Some((archive.to_owned(), metadata.modified().unwrap()))
    }

    /// Gives the user what `solution site rbac` prints for an archive. One that is not accepted gives nobody rights.
    pub(crate) fn grant(&self, archive: &str) {
        let Some(state) = self.state(archive) else {
            return;
        };
        if !self.granted.lock().unwrap().insert(state) {
            return;
        }
        if let Some(roles) = roles(&self.desk, archive, ROLE) {
            self.apply(&roles).success();
        }
    }

    /// Has kubectl apply objects that say themselves where they lie.
    pub(crate) fn apply(&self, objects: &str) -> Answer {
        apply(&self.desk, objects)
    }

    /// The kubeconfig of the user whom the program works as.
    #[expect(clippy::unused_self, reason = "whoever has a site has its user")]
    pub(crate) fn kubeconfig(&self) -> &str {
        &USER_CONFIG
    }

    /// Removes what was not there when the cluster came up, but for what all tests share.
    fn clear(&self) {
        let started = std::fs::read_to_string(variable("SOLUTION_TEST_BASELINE")).unwrap();
        let mut kept: BTreeSet<&str> = started.lines().collect();
        let [user, records] = [
            format!("serviceaccount/{USER}"),
            format!("namespace/{RECORDS}"),
        ];
        kept.extend([&*user, &*records]);
        let left = self.remove("default", LEFT, &kept, "--wait=false");
        let namespaces = left.iter().filter_map(|it| it.strip_prefix("namespace/"));
        for namespace in namespaces {
            self.empty(namespace);
        }
        let kubernetes = ["configmap/kube-root-ca.crt", "serviceaccount/default"];
        let until_gone = "--timeout=120s";
        self.remove(RECORDS, &NAMESPACED, &kubernetes.into(), until_gone);
        if !left.is_empty() {
            let left: Vec<&str> = left.iter().map(String::as_str).collect();
            let gone = ["wait", "--for=delete", until_gone];
            self.kubectl("default", &[&gone[..], &left].concat())
                .success();
        }
    }

    /// Has objects of these kinds deleted that are neither kept nor shared by all tests, and returns them. `wait` tells kubectl
    /// how long it waits until they are gone.
    fn remove(
        &self,
        namespace: &str,
        kinds: &str,
        kept: &BTreeSet<&str>,
        wait: &str,
    ) -> Vec<String> {
        let found = self.kubectl(namespace, &["get", kinds, "--output=name"]);
        let found = found.success();
        let is_left = |object: &&str| !kept.contains(object) && !object.contains(SHARED);
        let left: Vec<&str> = found.lines().filter(is_left).collect();
        if !left.is_empty() {
            let delete = ["delete", "--ignore-not-found", wait];
            self.kubectl(namespace, &[&delete[..], &left].concat())
                .success();
        }
        left.into_iter().map(str::to_owned).collect()
    }

    /// Takes a namespace that is being deleted away at once: its controller begins five seconds after the deletion, and
    /// waits for half of the time that pods are given, whether they take it or not.
    fn empty(&self, namespace: &str) {
        let delete = ["delete", &NAMESPACED, "--all", "--ignore-not-found"];
        let force = ["--force", "--grace-period=0", "--timeout=120s"];
        self.kubectl(namespace, &[&delete[..], &force].concat())
            .success();
        let finalized = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}, "spec": {"finalizers": []},
        });
        self.desk.write("namespace.json", finalized.to_string());
        let path = format!("/api/v1/namespaces/{namespace}/finalize");
        // Its controller may have been faster.
        let finalize = ["replace", "--raw", &path, "--filename", "namespace.json"];
        self.kubectl("default", &finalize);
    }

    /// Makes it a site that has seen nobody's signature yet.
    pub(crate) fn forget_signers(&self) {
        let memory = [
            "delete",
            "configmap",
            "solution-signers",
            "--ignore-not-found",
        ];
        self.kubectl("metalk8s-solutions", &memory).success();
    }

    /// `HOST/PREFIX` as the importer knows the registry.
    pub(crate) fn registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PUSH_REGISTRY"),
            self.prefix
        )
    }

    /// `HOST/PREFIX` as nodes know it.
    pub(crate) fn pull_registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PULL_REGISTRY"),
            self.prefix
        )
    }

    /// The program, with the site's cluster and login.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.desk.command();
        command.env("KUBECONFIG", self.kubeconfig());
        for name in ["REGISTRY_AUTH_FILE", "PATH"] {
            command.env(name, variable(name));
        }
        command
    }

    /// Runs a verb that needs the cluster.
    pub(crate) fn solution(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command().args(arguments))
    }

    /// Imports an archive, with these further arguments.
    pub(crate) fn import(&self, archive: &str, more: &[&str]) -> Answer {
        Answer::of(&mut self.import_command(archive, more))
    }

    /// The command of [`Self::import`], and the rights to run it.
    pub(crate) fn import_command(&self, archive: &str, more: &[&str]) -> Command {
        self.grant(archive);
        let mut command = self.command();
        command.args(["import", archive, "--key", "publisher.pub"]);
        command.args([
            "--registry",
            &self.registry(),
            "--pull-registry",
            &self.pull_registry(),
        ]);
        command
            .args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")])
            .args(more);
        command
    }

    /// Makes an environment whose nodes can log in to the registry.
    pub(crate) fn environment(&self, name: &str) {
        self.solution(&["environment", "create", name]).success();
        self.login(name);
    }

    /// Makes the Secret `login` in a namespace, with which nodes can log in to the registry.
    pub(crate) fn login(&self, namespace: &str) {
        let login = format!(
            "--from-file=.dockerconfigjson={}",
            variable("SOLUTION_TEST_PULL_SECRET")
        );
        let secret = [
            "create",
            "secret",
            "generic",
            "login",
            "--type=kubernetes.io/dockerconfigjson",
            &login,
        ];
        self.kubectl(namespace, &secret).success();
    }

    /// Runs kubectl in a namespace.
    pub(crate) fn kubectl(&self, namespace: &str, arguments: &[&str]) -> Answer {
        kubectl_in(&self.desk, namespace, arguments)
    }

    /// A field of an object, by kubectl's JSONPath.
    pub(crate) fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        let output = format!("--output=jsonpath={path}");
        self.kubectl(namespace, &["get", object, &output]).success()
    }

    /// Asks the registry for a tag's digest; none when it has no such tag.
    pub(crate) fn tag(&self, repository: &str, tag: &str) -> Option<String> {
        let certificates = std::path::PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
        let answer = Answer::of(
            Command::new("skopeo")
                .args(["inspect", "--format", "{{.Digest}}", "--cert-dir"])
                .arg(certificates.parent().unwrap())
                .arg(format!("docker://{}/{repository}:{tag}", self.registry())),
        );
        (answer.code == 0).then(|| answer.stdout.trim().to_owned())
    }

    /// A kubeconfig of a new account that may do this in the whole cluster, and nothing else.
    pub(crate) fn account_that_may(&self, name: &str, rules: &Value) -> String {
        let group = "rbac.authorization.k8s.io";
        let api = format!("{group}/v1");
        let account = json!({"kind": "ServiceAccount", "name": name, "namespace": "default"});
        let role = json!({"kind": "ClusterRole", "name": name, "apiGroup": group});
        let metadata = json!({"name": name});
        let objects = json!([
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}},
            {"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": rules},
            {"apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": role, "subjects": [account]},
        ]);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.apply(&list.to_string()).success();
        self.account(name)
    }

    /// A kubeconfig of a ServiceAccount of the namespace `default`.
    pub(crate) fn account(&self, name: &str) -> String {
        account(&self.desk, name)
    }

    /// Every object of every kind in a namespace, as it was asked for, by kind and name; but for events and for what is
    /// already going, as the last pods of an earlier version.
    pub(crate) fn everything(&self, namespace: &str) -> BTreeMap<String, Value> {
        let kinds = ["api-resources", "--namespaced", "--verbs=list"];
        let kinds = [&kinds[..], &["--output=name"]].concat();
        let kinds = self.kubectl(namespace, &kinds).success();
        let kinds = kinds.lines().filter(|kind| !kind.starts_with("events"));
        let kinds = kinds.collect::<Vec<_>>().join(",");
        let list = self.kubectl(namespace, &["get", &kinds, "--output=json"]);
        let mut list = list.json();
        let objects = list["items"].as_array_mut().unwrap().iter_mut();
        let stays = |object: &&mut Value| object["metadata"]["deletionTimestamp"].is_null();
        let named = |object: &mut Value| {
            let name = object["metadata"]["name"].as_str().unwrap();
            let name = format!("{} {name}", object["kind"].as_str().unwrap());
            (name, as_asked_for(object.take()))
        };
        objects.filter(stays).map(named).collect()
    }

    /// Every object of the kinds that the program writes, as it was asked for: what must not change when a command says
    /// so. Controllers write status and numbers of their own into them at any time.
    pub(crate) fn snapshot(&self) -> String {
        let get = ["get", WRITTEN, "--all-namespaces", "--output=json"];
        let answer = self.kubectl("default", &get);
        assert_eq!(answer.code, 0, "{answer:?}");
        let mut all = answer.json();
        let objects = all["items"].as_array_mut().unwrap();
        objects
            .iter_mut()
            .filter(|object| !is_kubernetes_own(object) && !is_right(object))
            .map(|object| as_asked_for(object.take()).to_string())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Runs kubectl at a desk, in a namespace.
fn kubectl_in(desk: &Desk, namespace: &str, arguments: &[&str]) -> Answer {
    Answer::of(
        Command::new("kubectl")
            .args(["--namespace", namespace])
            .args(arguments)
            .current_dir(desk.path(".")),
    )
}

/// Has kubectl apply objects that say themselves where they lie.
fn apply(desk: &Desk, objects: &str) -> Answer {
    desk.write("objects.yaml", objects);
    let apply = ["apply", "--filename", "objects.yaml"];
    Answer::of(
        Command::new("kubectl")
            .args(apply)
            .current_dir(desk.path(".")),
    )
}

/// The roles that `solution site rbac` prints for an archive and the user, with names of their own; none when the archive is not
/// accepted.
fn roles(desk: &Desk, archive: &str, prefix: &str) -> Option<String> {
    let account = format!("default:{USER}");
    let rbac = ["rbac", archive, "--key", "publisher.pub"];
    let rbac = [&rbac[..], &["--serviceaccount", &account]].concat();
    let printed = desk.solution(&rbac);
    // An archive of the same version takes nothing away that another one gave.
    let name = format!("name: '{prefix}{archive}");
    (printed.code == 0).then(|| printed.stdout.replace("name: 'solution-user", &name))
}

/// A kubeconfig of a ServiceAccount of the namespace `default`.
fn account(desk: &Desk, name: &str) -> String {
    let kubectl = |arguments: &[&str]| kubectl_in(desk, "default", arguments).success();
    let token = kubectl(&["create", "token", name, "--duration=720h"]);
    let config = desk.path(&format!("{name}.kubeconfig"));
    std::fs::copy(variable("KUBECONFIG"), &config).unwrap();
    let flag = format!("--kubeconfig={}", config.display());
    let token = format!("--token={}", token.trim());
    kubectl(&[&flag, "config", "set-credentials", name, &token]);
    let user = format!("--user={name}");
    kubectl(&[&flag, "config", "set-context", "--current", &user]);
    config.to_str().unwrap().to_owned()
}

/// The names of what came (`+`), went (`-`) or changed (`~`) between two listings.
pub(crate) fn difference(
    before: &BTreeMap<String, Value>,
    after: &BTreeMap<String, Value>,
) -> String {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let told = names.into_iter().filter_map(|name| {
        let sign = match (before.get(name), after.get(name)) {
            (None, _) => '+',
            (_, None) => '-',
            (before, after) if before != after => '~',
            _ => return None,
        };
        Some(format!("{sign} {name}\n"))
    });
    told.collect()
}

/// What Kubernetes makes for itself, and for every namespace some time after it.
fn is_kubernetes_own(object: &Value) -> bool {
    let metadata = &object["metadata"];
    let own = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        name.starts_with("kube-") || name.starts_with("system:")
    };
    let plain_default = object["kind"] == "ServiceAccount"
        && metadata["name"] == "default"
        && metadata["annotations"].is_null()
        && object["imagePullSecrets"].is_null();
    own(&metadata["name"]) || own(&metadata["namespace"]) || plain_default
}

/// A role of the user, or its binding: they come with each archive.
fn is_right(object: &Value) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    name.starts_with(ROLE)
}

/// An object without what the server and its controllers keep in it.
fn as_asked_for(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["resourceVersion", "generation", "managedFields"] {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata.get_mut("annotations") {
        let annotations = annotations.as_object_mut().unwrap();
        annotations.remove("deployment.kubernetes.io/revision");
    }
    object
}

/// The id of what reaches beyond the environment, as the refusal names it.
pub(crate) fn consent_id(refused: &str) -> &str {
    let id = refused.split("--accept ").nth(1).unwrap();
    id.split('`').next().unwrap()
}

/// Whether a table has a row with these cells.
pub(crate) fn has_row(table: &str, cells: &[&str]) -> bool {
    let cells_of = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    table.lines().any(|line| cells_of(line) == cells)
}

/// A variable of the sandbox.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox tells the tests where things are by its environment"
)]
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make test-cluster`"))
}

/// Waits until something is there.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        // Between two questions, so that the answer's author gets the processor.
        std::thread::park_timeout(Duration::from_millis(200));
    }
}
