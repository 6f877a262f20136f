//! The deletion of a Solution in one step. Only its history is kept, nothing of its users is deleted, and an
//! interrupted deletion can be repeated.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::gate::Gate;
use crate::site::{Site, variable};
use crate::terminal::Terminal;

const SERVER: &str = "
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: web}
spec: {replicas: 1, version: 1.0.0}
";

/// Returns the names of all objects of all kinds, except those that controllers create and delete, the records of
/// signers and of changes, and upstream's list of versions, which an import creates and which is empty at the end.
pub(crate) fn listing(site: &Site) -> BTreeSet<String> {
    let kinds = ["api-resources", "--verbs=list", "--output=name"];
    let kinds = site.kubectl("default", &kinds).success();
    let passing = [
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
    ];
    let kinds: Vec<&str> = kinds
        .lines()
        .filter(|kind| !passing.contains(kind))
        .collect();
    let name = r#"--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}"#;
    let get = ["get", &kinds.join(","), "--all-namespaces", name];
    let objects = site.kubectl("default", &get).success();
    let remembered = ["solution-signers", "metalk8s-solutions"];
    let remembered = remembered.map(|name| format!("ConfigMap metalk8s-solutions/{name}"));
    let own = |line: &&str| {
        line.ends_with("/kube-root-ca.crt")
            || (line.starts_with("ServiceAccount ") && line.ends_with("/default"))
            || remembered.iter().any(|remembered| remembered == line)
            || line.starts_with("ConfigMap metalk8s-solutions/receipt-")
    };
    let lines = objects.lines().filter(|line| !own(line));
    lines.map(str::to_owned).collect()
}

/// Returns the objects that the program writes in the environments.
pub(crate) fn content(site: &Site) -> Vec<Value> {
    let objects = site.snapshot();
    let objects = objects
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let records = |object: &Value| object["metadata"]["namespace"] == "metalk8s-solutions";
    objects.filter(|object| !records(object)).collect()
}

/// Returns the names of the ConfigMaps in the records' namespace.
fn records(site: &Site) -> String {
    let ours = "--selector=solutions.metalk8s.scality.com/record";
    let get = ["get", "configmaps", ours, "--output=name"];
    site.kubectl("metalk8s-solutions", &get).success()
}

fn delete(site: &Site, more: &[&str]) -> Answer {
    site.solution(&[&["delete", "example"], more].concat())
}

#[test]
fn nothing_stays_but_what_is_remembered() {
    let site = Site::new("delete");
    for environment in ["one", "two"] {
        site.create_environment(environment);
    }
    let before = (listing(&site), content(&site));
    let nodes = variable("SOLUTION_TEST_PULL_SECRET");
    let into = ["-e", "one", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    let into = ["-e", "two", "--pull-login", &nodes];
    site.import("1.1.0.iso", &into).success();
    // The plan is shown, and not applied without a confirmation.
    let deployed = site.snapshot();
    let plan = delete(&site, &["--dry-run", "--output", "json"]).json();
    assert_eq!(plan["versions"], json!(["1.0.0", "1.1.0"]), "{plan:#}");
    assert_eq!(plan["deployments"][1]["version"], "1.1.0", "{plan:#}");
    let text = delete(&site, &[]).failure(1);
    for words in [
        "Secret two/example-registry-login",
        "ServiceAccount one/default loses the pull secret",
        "CustomResourceDefinition versionservers.example.metalk8s.test",
        "environment two is kept, in namespace two",
        &format!("under {}/example-1.0.0", site.registry()),
        "the removal was not confirmed",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert_eq!(site.snapshot(), deployed);
    // The shown objects are the deleted ones.
    let done = delete(&site, &["--yes", "--output", "json"]).json();
    let sorted = |lists: &[&Value]| -> BTreeSet<String> {
        let names = lists.iter().flat_map(|list| list.as_array().unwrap());
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    let [one, two] = [0, 1].map(|at| &plan["deployments"][at]["objects"]);
    let maps = ["1.0.0", "1.1.0"]
        .map(|version| format!("ConfigMap metalk8s-solutions/solution-example-{version}"));
    let named = sorted(&[one, two, &plan["crds"], &json!(maps)]);
    assert_eq!(sorted(&[&done["removed"]]), named, "{done:#}");
    assert_eq!((listing(&site), content(&site)), before);
    let listed = "{.data.example}";
    assert_eq!(
        site.field("metalk8s-solutions", "configmap/metalk8s-solutions", listed),
        ""
    );
    let text = delete(&site, &["--yes"]).failure(1);
    assert!(text.contains("no version of example is imported"), "{text}");
}

#[test]
fn everything_in_the_way_is_said_at_once_and_custom_resources_are_never_deleted() {
    let site = Site::new("delete-used");
    site.desk.write("server.yaml", SERVER);
    for environment in ["one", "two"] {
        site.create_environment(environment);
        let into = ["-e", environment, "--pull-secret", "login"];
        site.import("1.0.0.iso", &into).success();
        site.kubectl(environment, &["apply", "--filename", "server.yaml"])
            .success();
    }
    // This user may read everything and change nothing.
    let rules = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]);
    let reader = site.create_account_with_rules("reader", &rules);
    let before = records(&site);
    let used = "objects of kind VersionServer still exist (2 in total): VersionServer one/web, VersionServer two/web";
    let running = "example is used by objects in the cluster (2 in total): Deployment one/web-server, Deployment two/web-server";
    let text = delete(&site, &["--yes", "--kubeconfig", &reader]).failure(1);
    for words in [
        used,
        running,
        "this user may not delete deployments.apps in namespace two",
        "nothing was changed",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let refused = delete(&site, &["--yes", "--output", "json"]);
    assert_eq!(refused.code, 1);
    let refused = refused.json();
    let messages: Vec<&Value> = refused["obstacles"].as_array().unwrap().iter().collect();
    let messages: Vec<&Value> = messages.iter().map(|blocker| &blocker["message"]).collect();
    assert_eq!(messages, [used, running], "{refused:#}");
    // The flag does not apply to custom resources.
    let forced = ["--yes", "--even-if-used", "example", "--output", "json"];
    let forced = delete(&site, &forced);
    assert_eq!(forced.code, 1);
    let forced = forced.json();
    let blockers = forced["obstacles"].as_array().unwrap();
    assert_eq!(blockers.len(), 1, "{forced:#}");
    assert_eq!(blockers[0]["message"], used);
    assert_eq!(records(&site), before);
    for environment in ["one", "two"] {
        let replicas = "{.status.readyReplicas}";
        assert_eq!(
            site.field(environment, "deployment/example-operator", replicas),
            "1"
        );
        site.kubectl(environment, &["delete", "versionserver", "web"])
            .success();
        let gone = [
            "wait",
            "--for=delete",
            "deployment/web-server",
            "--timeout=60s",
        ];
        site.kubectl(environment, &gone).success();
    }
    delete(&site, &["--yes"]).success();
    assert_eq!(
        records(&site),
        "configmap/namespace-one\nconfigmap/namespace-two\nconfigmap/solution-signers\n"
    );
}

/// A workload with the Solution's images, in a namespace of no environment.
const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: IMAGE}]}
";

#[test]
fn what_runs_with_its_images_keeps_it_and_the_images_go_when_asked() {
    let site = Site::new("delete-images");
    site.create_environment("one");
    let into = ["-e", "one", "--pull-secret", "login"];
    for (archive, into) in [("1.0.0.iso", &into[..]), ("1.1.0.iso", &[])] {
        site.import(archive, into).success();
    }
    let place = "example-1.0.0/example-server";
    let image = format!("{}/{place}:1.0.0", site.pull_registry());
    site.desk.write("web.yaml", WEB.replace("IMAGE", &image));
    site.kubectl("users", &["create", "namespace", "users"])
        .success();
    site.kubectl("users", &["apply", "--filename", "web.yaml"])
        .success();

    // The operator itself does not count as a use and is deleted.
    let before = site.snapshot();
    let text = delete(&site, &["--yes"]).failure(1);
    for words in [
        "example is used by objects in the cluster (1 in total): Deployment users/web",
        "to delete it anyway, use `--even-if-used example`",
        "1 blocker found",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let wrong = delete(&site, &["--yes", "--even-if-used", "example-1.0.0"]).failure(2);
    assert!(
        wrong.contains("does not name the Solution to remove: example"),
        "{wrong}"
    );
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let forced = ["--images", "--ca-file", &ca, "--even-if-used", "example"];
    let with = |more: &[&str]| {
        let more = [&forced[..], more, &["--output", "json"]].concat();
        delete(&site, &more).json()
    };
    let plan = with(&["--dry-run"]);
    assert_eq!(site.snapshot(), before);
    assert!(site.tag(place, "1.0.0").is_some());

    // Both versions: both images, under both names, and the head.
    let done = with(&["--yes"]);
    let freed = |result: &Value| -> BTreeSet<String> {
        let names = result["freed"].as_array().unwrap().iter();
        names
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(freed(&done).len(), 10, "{done:#}");
    assert_eq!(freed(&done), freed(&plan));
    assert_eq!(done["uses"][0]["image"], image.as_str(), "{done:#}");
    assert_eq!(site.tag(place, "1.0.0"), None);
    assert_eq!(
        records(&site),
        "configmap/namespace-one\nconfigmap/solution-signers\n"
    );
    site.kubectl("users", &["get", "deployment/web"]).success();
}

#[test]
fn killed_anywhere_it_completes_when_it_is_run_again() {
    let site = Site::new("delete-killed");
    site.create_environment("killed");
    let before = (listing(&site), content(&site));
    let into = ["-e", "killed", "--pull-secret", "login"];
    site.import("1.1.0.iso", &[]).success();
    site.import("1.0.0.iso", &into).success();
    // Each run continues where the previous one was killed.
    for request in [
        // After the operator's first objects.
        "DELETE /apis/rbac.authorization.k8s.io/",
        "PATCH /api/v1/namespaces/killed/configmaps/metalk8s-environment",
        "DELETE /apis/apiextensions.k8s.io/",
        "PATCH /api/v1/namespaces/metalk8s-solutions/configmaps/metalk8s-solutions",
        "DELETE /api/v1/namespaces/metalk8s-solutions/configmaps/solution-example-1.0.0",
    ] {
        let gate = Gate::before(&site, request);
        let mut command = site.command();
        gate.kill(&site, command.args(["delete", "example", "--yes"]));
    }
    delete(&site, &["--yes"]).success();
    assert_eq!((listing(&site), content(&site)), before);
    let listed = site.field(
        "metalk8s-solutions",
        "configmap/metalk8s-solutions",
        "{.data}",
    );
    assert!(!listed.contains("example"), "{listed}");
}

/// The question of a command that removes objects.
const QUESTION: &str = "Type `yes` to continue:";

#[test]
fn every_verb_that_removes_names_what_goes_and_needs_a_confirmation() {
    let site = Site::new("delete-confirmed");
    site.create_environment("confirmed");
    let environment = ["-e", "confirmed", "--pull-secret", "login"];
    site.import("1.0.0.iso", &environment).success();
    let variables = [("KUBECONFIG", site.kubeconfig().to_owned())];
    for (verb, named) in [
        (
            "undeploy example -e confirmed",
            "Deployment confirmed/example",
        ),
        ("deactivate example", "CustomResourceDefinition"),
        ("environment delete confirmed", "confirmed"),
        ("unimport example 1.0.0", "solution-example-1.0.0"),
    ] {
        let before = site.snapshot();
        let words: Vec<&str> = verb.split(' ').collect();
        let refused = site.solution(&words).failure(1);
        assert!(
            refused.contains("the removal was not confirmed"),
            "{refused}"
        );
        let json = site.solution(&[&words[..], &["--output", "json"]].concat());
        let plan = json.json()["plan"].to_string();
        assert!(plan.contains(named), "{plan}");
        let asked = || Terminal::run(&site.desk, &format!("solution {verb}"), &variables);
        asked().answer(QUESTION, "y\n").wait_for_exit(1);
        assert_eq!(site.snapshot(), before, "{verb}");
        asked().answer(QUESTION, "yes\n").wait_for_exit(0);
        assert_ne!(site.snapshot(), before, "{verb}");
    }
    site.import("1.0.0.iso", &[]).success();
    let before = site.snapshot();
    let asked = || Terminal::run(&site.desk, "solution delete example", &variables);
    let question = format!("delete example with all these objects? {QUESTION}");
    asked().answer(&question, "y\n").wait_for_exit(1);
    assert_eq!(site.snapshot(), before);
    asked().answer(&question, "yes\n").wait_for_exit(0);
    assert_eq!(records(&site), "configmap/solution-signers\n");
}
