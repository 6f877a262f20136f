//! A site: the cluster and the registry of the sandbox's variables, and a desk.
//!
//! The tests of this suite share one cluster and run one after the other. Each test therefore begins by removing the
//! objects of the previous one, whatever its result was.
//!
//! The program runs as a user with exactly the permissions that `solution site rbac` prints for the imported archives.
//! kubectl runs as the cluster's administrator. The permissions for the two archives of the example are granted once
//! for all tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::api::{Api, Kind, name, until_gone};
use crate::common::{Answer, Desk, programs};
use crate::json_path;

/// The time limit of everything that the test waits for.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// The kinds of objects that could affect the next test. A namespace is deleted with its content.
const LEFT: [&str; 5] = [
    "namespaces",
    "customresourcedefinitions",
    "clusterroles",
    "clusterrolebindings",
    "serviceaccounts",
];

/// Every kind of object that the program writes.
const WRITTEN: [&str; 18] = [
    "configmaps",
    "secrets",
    "services",
    "serviceaccounts",
    "roles",
    "rolebindings",
    "clusterroles",
    "clusterrolebindings",
    "deployments",
    "statefulsets",
    "daemonsets",
    "jobs",
    "cronjobs",
    "namespaces",
    "customresourcedefinitions",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "priorityclasses",
];

/// The ServiceAccount of the namespace `default` that the program works as.
const USER: &str = "importer";

/// The prefix of its roles' names.
const ROLE: &str = "site:";

/// The namespace of the program's records. It is kept between tests, because it contains roles of the user.
const RECORDS: &str = "metalk8s-solutions";

/// The prefix of the roles that all tests share.
const SHARED: &str = "site:shared:";

/// The programs from which the example and the user's permissions are built.
const MADE_OF: [&str; 3] = ["solution", "example-operator", "example-server"];

/// The connection of the cluster's administrator.
static ADMIN: LazyLock<Api> = LazyLock::new(|| Api::connect(variable("KUBECONFIG").into()));

/// The initial desk of every site. It is stored in the cluster's directory for the processes of the next tests, because
/// compressing the programs takes longer than most tests. After a build it is created again.
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
    Desk::persistent(place, pack_example)
});

/// Packs both versions of the example, signed with a new key.
fn pack_example(desk: &Desk) {
    let [operator, server] =
        ["example-operator", "example-server"].map(|program| programs().join(program));
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

/// The file next to the example that records that the user has the permissions for it.
const GRANTED: &str = "granted";

/// The kubeconfig of the program's user, with the permissions for the example's archives. They are granted once in each
/// cluster, because running a dozen programs takes longer than many tests.
static USER_CONFIG: LazyLock<String> = LazyLock::new(|| {
    let config = EXAMPLE.path(&format!("{USER}.kubeconfig"));
    if !EXAMPLE.path(GRANTED).exists() {
        kubectl_in(&EXAMPLE, "default", &["create", "serviceaccount", USER]);
        let user = create_account(&EXAMPLE, USER);
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

/// A site, and the archives of the example in both versions.
pub(crate) struct Site {
    pub(crate) desk: Desk,
    api: &'static Api,
    /// Separates the repositories of tests and of runs.
    prefix: String,
    /// The archives, in their state at the time, for which permissions were granted.
    granted: Mutex<BTreeSet<(String, SystemTime)>>,
}

impl Site {
    /// Creates a site with `1.0.0.iso` and `1.1.0.iso` on its desk, signed with `publisher`.
    pub(crate) fn new(prefix: &str) -> Self {
        let site = Self {
            desk: EXAMPLE.copy(),
            api: &ADMIN,
            prefix: format!("{prefix}-{}", std::process::id()),
            granted: Mutex::default(),
        };
        clear();
        LazyLock::force(&USER_CONFIG);
        let known = Release::ALL.map(|release| site.state(&format!("{release}.iso")).unwrap());
        site.granted.lock().unwrap().extend(known);
        site
    }

    /// Returns an archive's name and its modification time.
    fn state(&self, archive: &str) -> Option<(String, SystemTime)> {
        let metadata = std::fs::metadata(self.desk.path(archive)).ok()?;
        Some((archive.to_owned(), metadata.modified().unwrap()))
    }

    /// Grants the user the permissions that `solution site rbac` prints for an archive, if it is valid.
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

    /// Applies objects that name their namespaces.
    pub(crate) fn apply(&self, objects: &str) -> Answer {
        apply(&self.desk, objects)
    }

    /// Returns the kubeconfig of the program's user.
    #[expect(clippy::unused_self, reason = "whoever has a site has its user")]
    pub(crate) fn kubeconfig(&self) -> &str {
        &USER_CONFIG
    }

    /// Removes the remembered signers.
    pub(crate) fn forget_signers(&self) {
        let memory = [
            "delete",
            "configmap",
            "solution-signers",
            "--ignore-not-found",
        ];
        self.kubectl("metalk8s-solutions", &memory).success();
    }

    /// Returns the registry's `HOST/PREFIX` for the importer.
    pub(crate) fn registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PUSH_REGISTRY"),
            self.prefix
        )
    }

    /// Returns the registry's `HOST/PREFIX` for nodes.
    pub(crate) fn pull_registry(&self) -> String {
        format!(
            "{}/{}",
            variable("SOLUTION_TEST_PULL_REGISTRY"),
            self.prefix
        )
    }

    /// Returns the program's command, with the site's cluster and login.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.desk.command();
        command.env("KUBECONFIG", self.kubeconfig());
        for name in ["REGISTRY_AUTH_FILE", "PATH"] {
            command.env(name, variable(name));
        }
        command
    }

    /// Runs a command that needs the cluster.
    pub(crate) fn solution(&self, arguments: &[&str]) -> Answer {
        Answer::from_command(self.command().args(arguments))
    }

    /// Imports an archive, with these further arguments.
    pub(crate) fn import(&self, archive: &str, more: &[&str]) -> Answer {
        Answer::from_command(&mut self.import_command(archive, more))
    }

    /// Returns the command of [`Self::import`], and grants the permissions for it.
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

    /// Creates an environment whose nodes can log in to the registry.
    pub(crate) fn create_environment(&self, name: &str) {
        self.solution(&["environment", "create", name]).success();
        self.create_login(name);
    }

    /// Creates the Secret `login` in a namespace, with the nodes' login to the registry.
    pub(crate) fn create_login(&self, namespace: &str) {
        let login = std::fs::read(variable("SOLUTION_TEST_PULL_SECRET")).unwrap();
        let secret = json!({
            "metadata": {"name": "login"},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": STANDARD.encode(login)},
        });
        self.api.create("secrets", namespace, &secret);
    }

    /// Runs kubectl in a namespace.
    pub(crate) fn kubectl(&self, namespace: &str, arguments: &[&str]) -> Answer {
        kubectl_in(&self.desk, namespace, arguments)
    }

    /// Returns a field of an object, by kubectl's JSONPath.
    #[track_caller]
    pub(crate) fn field(&self, namespace: &str, object: &str, path: &str) -> String {
        json_path::evaluate(path, &self.api.get(namespace, object))
    }

    /// Returns the digest of a tag in the registry, or `None` if it does not exist.
    pub(crate) fn tag(&self, repository: &str, tag: &str) -> Option<String> {
        let certificates = std::path::PathBuf::from(variable("SOLUTION_TEST_REGISTRY_CA"));
        let answer = Answer::from_command(
            Command::new("skopeo")
                .args(["inspect", "--format", "{{.Digest}}", "--cert-dir"])
                .arg(certificates.parent().unwrap())
                .arg(format!("docker://{}/{repository}:{tag}", self.registry())),
        );
        (answer.code == 0).then(|| answer.stdout.trim().to_owned())
    }

    /// Returns a kubeconfig of a new account with only these permissions, in the whole cluster.
    pub(crate) fn create_account_with_rules(&self, name: &str, rules: &Value) -> String {
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
        self.create_account(name)
    }

    /// Returns a kubeconfig of a ServiceAccount of the namespace `default`.
    pub(crate) fn create_account(&self, name: &str) -> String {
        create_account(&self.desk, name)
    }

    /// Returns a kubeconfig that authenticates with a token.
    pub(crate) fn kubeconfig_with_token(&self, name: &str, token: &str) -> String {
        kubeconfig_with_token(&self.desk, name, token)
    }

    /// Returns the specification of every object in a namespace, by kind and name, except events and terminating
    /// objects, such as the last pods of an earlier version.
    pub(crate) fn objects_in(&self, namespace: &str) -> BTreeMap<String, Value> {
        self.api.discover();
        let kinds = self.api.namespaced_kinds("list").into_iter();
        let objects = kinds.flat_map(|kind| self.api.list(&kind, Some(namespace)));
        let stays = |object: &Value| object["metadata"]["deletionTimestamp"].is_null();
        let named = |object: Value| {
            let name = format!("{} {}", object["kind"].as_str().unwrap(), name(&object));
            (name, without_server_fields(object))
        };
        objects.filter(stays).map(named).collect()
    }

    /// Creates an environment and returns its objects, as soon as they are exactly those of a new environment. Kubernetes
    /// creates its own objects later than the namespace, and may still remove those of an earlier namespace of this name.
    pub(crate) fn new_environment(&self, name: &str) -> BTreeMap<String, Value> {
        const NEW: [&str; 4] = [
            "ConfigMap kube-root-ca.crt",
            "ConfigMap metalk8s-environment",
            "Secret login",
            "ServiceAccount default",
        ];
        self.create_environment(name);
        eventually("the environment has only its own objects", || {
            let found = self.objects_in(name);
            found.keys().eq(&NEW).then_some(found)
        })
    }

    /// Waits until a namespace has the same objects as before, except those whose names contain one of these texts.
    #[track_caller]
    pub(crate) fn until_as_before(
        &self,
        namespace: &str,
        before: &BTreeMap<String, Value>,
        except: &[&str],
    ) {
        let left = || {
            let left = difference(before, &self.objects_in(namespace));
            let is_left = |object: &&str| !except.iter().any(|text| object.contains(text));
            left.lines().filter(is_left).map(str::to_owned).collect()
        };
        let end = Instant::now() + DEADLINE;
        loop {
            let left: Vec<String> = left();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < end, "not as before in time: {left:?}");
            std::thread::park_timeout(Duration::from_millis(200));
        }
    }

    /// Returns the specification of every object of the kinds that the program writes. A command that reports no change
    /// must not change it. Status and generated numbers are excluded, because controllers write them at any time.
    pub(crate) fn snapshot(&self) -> String {
        let kinds = self.api.kinds_named(&WRITTEN).into_iter();
        let objects = kinds.flat_map(|kind| self.api.list(&kind, None));
        objects
            .filter(|object| !is_kubernetes_own(object) && !is_user_role(object))
            .map(|object| without_server_fields(object).to_string())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Removes everything that the new cluster did not have, except the shared objects of all tests.
fn clear() {
    let started = std::fs::read_to_string(variable("SOLUTION_TEST_BASELINE")).unwrap();
    let mut kept: BTreeSet<&str> = started.lines().collect();
    let [user, records] = [
        format!("serviceaccount/{USER}"),
        format!("namespace/{RECORDS}"),
    ];
    kept.extend([&*user, &*records]);
    let left_kinds = ADMIN.kinds_named(&LEFT);
    let objects = left(&left_kinds, "default", &kept);
    for (kind, object) in &objects {
        ADMIN.delete(kind, object);
    }
    let names = objects.iter().map(|(kind, object)| kind.full_name(object));
    for name in names {
        name.strip_prefix("namespace/").into_iter().for_each(empty);
    }
    let kubernetes = ["configmap/kube-root-ca.crt", "serviceaccount/default"].into();
    let record_kinds = ADMIN.own_namespaced_kinds("delete");
    let records = left(&record_kinds, RECORDS, &kubernetes);
    for (kind, object) in &records {
        ADMIN.delete(kind, object);
    }
    until_gone("the objects of the last test", || {
        (objects.is_empty() || left(&left_kinds, "default", &kept).is_empty())
            && (records.is_empty() || left(&record_kinds, RECORDS, &kubernetes).is_empty())
    });
}

/// Returns the objects of these kinds that are neither kept nor shared by all tests.
fn left(kinds: &[Kind], namespace: &str, kept: &BTreeSet<&str>) -> Vec<(Kind, Value)> {
    let objects = kinds.iter().flat_map(|kind| {
        let objects = ADMIN.list(kind, Some(namespace)).into_iter();
        objects.map(|object| (kind.clone(), object))
    });
    let is_left = |(kind, object): &(Kind, Value)| {
        let name = kind.full_name(object);
        !kept.contains(&*name) && !name.contains(SHARED)
    };
    objects.filter(is_left).collect()
}

/// Finalizes a namespace that is being deleted immediately. Its controller begins five seconds after the deletion,
/// and waits for half of the pods' grace period in any case.
fn empty(namespace: &str) {
    ADMIN.delete_all(ADMIN.own_namespaced_kinds("deletecollection"), namespace);
    ADMIN.finalize(namespace);
}

/// Runs kubectl at a desk, in a namespace.
fn kubectl_in(desk: &Desk, namespace: &str, arguments: &[&str]) -> Answer {
    Answer::from_command(
        kubectl(desk)
            .args(["--namespace", namespace])
            .args(arguments),
    )
}

/// Applies objects that name their namespaces.
fn apply(desk: &Desk, objects: &str) -> Answer {
    desk.write("objects.yaml", objects);
    let apply = ["apply", "--filename", "objects.yaml"];
    Answer::from_command(kubectl(desk).args(apply))
}

/// Returns kubectl's command at a desk. Short runs need neither threads nor a garbage collector, which take a quarter of
/// their time.
fn kubectl(desk: &Desk) -> Command {
    let mut command = Command::new("kubectl");
    command
        .current_dir(desk.path("."))
        .envs([("GOMAXPROCS", "1"), ("GOGC", "off")]);
    command
}

/// Returns the roles that `solution site rbac` prints for an archive and the user, with separate names, or `None` if
/// the archive is invalid.
fn roles(desk: &Desk, archive: &str, prefix: &str) -> Option<String> {
    let account = format!("default:{USER}");
    let rbac = ["rbac", archive, "--key", "publisher.pub"];
    let rbac = [&rbac[..], &["--serviceaccount", &account]].concat();
    let printed = desk.solution(&rbac);
    // An archive of the same version must not replace the permissions of another one.
    let name = format!("name: '{prefix}{archive}");
    (printed.code == 0).then(|| printed.stdout.replace("name: 'solution-user", &name))
}

/// Returns a kubeconfig of a ServiceAccount of the namespace `default`.
fn create_account(desk: &Desk, name: &str) -> String {
    let create = ["create", "token", name, "--duration=720h"];
    let token = kubectl_in(desk, "default", &create).success();
    kubeconfig_with_token(desk, name, token.trim())
}

/// Returns a kubeconfig that authenticates with a token.
fn kubeconfig_with_token(desk: &Desk, name: &str, token: &str) -> String {
    let kubectl = |arguments: &[&str]| kubectl_in(desk, "default", arguments).success();
    let config = desk.path(&format!("{name}.kubeconfig"));
    std::fs::copy(variable("KUBECONFIG"), &config).unwrap();
    let flag = format!("--kubeconfig={}", config.display());
    let token = format!("--token={token}");
    kubectl(&[&flag, "config", "set-credentials", name, &token]);
    let user = format!("--user={name}");
    kubectl(&[&flag, "config", "set-context", "--current", &user]);
    config.to_str().unwrap().to_owned()
}

/// Returns the names of created (`+`), deleted (`-`) and changed (`~`) objects between two listings.
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

/// Returns whether Kubernetes creates an object for itself, or for every namespace after a while.
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

/// Returns whether an object is a role of the user or its binding: these are added with each archive.
fn is_user_role(object: &Value) -> bool {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    name.starts_with(ROLE)
}

/// Removes the fields that the server and its controllers write.
fn without_server_fields(mut object: Value) -> Value {
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

/// Returns the first id that a refusal names for `--accept`.
pub(crate) fn consent_id(refused: &str) -> &str {
    let id = refused.split("--accept ").nth(1).unwrap();
    id.split(['`', ' ', '\n']).next().unwrap()
}

/// Asserts that a text contains all of these words.
#[track_caller]
pub(crate) fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// Returns whether a table has a row with these cells.
pub(crate) fn has_row(table: &str, cells: &[&str]) -> bool {
    let cells_of = |line: &str| {
        let cells = line.split("  ").map(str::trim);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    table.lines().any(|line| cells_of(line) == cells)
}

/// Returns a variable of the sandbox.
#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox tells the tests where things are by its environment"
)]
pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `make test-cluster`"))
}

/// Waits until a probe returns a value.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        // Pause between two probes, so that the other processes get the processor.
        std::thread::park_timeout(Duration::from_millis(200));
    }
}
