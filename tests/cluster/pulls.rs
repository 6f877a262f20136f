//! A pod pulls the operator's image before the operator is changed, so that problems of nodes are reported at that
//! point, with a hint.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, ToSocketAddrs as _};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::gate::Gate;
use crate::node_registry::NodeRegistry;
use crate::releases::{OWN, pack, release};
use crate::running::Running;
use crate::site::{Site, difference, eventually, variable};

/// Imports 1.0.0 for nodes that use another name for the registry.
fn import(site: &Site, pull_registry: &str, more: &[&str]) -> Answer {
    Answer::from_command(&mut import_command(site, pull_registry, more))
}

/// Returns the command of [`import`].
fn import_command(site: &Site, pull_registry: &str, more: &[&str]) -> Command {
    let mut command = site.command();
    command.args(["import", "1.0.0.iso", "--key", "publisher.pub"]);
    command.args(["--registry", &site.registry()]);
    command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
    command.args(["--pull-registry", pull_registry]);
    command.args(more);
    command
}

/// Returns the pods of a namespace.
fn pods(site: &Site, namespace: &str) -> String {
    let get = ["get", "pods", "--output=name"];
    site.kubectl(namespace, &get).success()
}

#[track_caller]
fn assert_messages(answer: &Answer, words: &[&str]) {
    for word in words {
        assert!(
            answer.stderr.contains(word),
            "`{word}` is not in {answer:?}"
        );
    }
}

#[test]
fn an_operator_is_deployed_once_a_pod_has_pulled_its_image() {
    let site = Site::new("pulls-good");
    site.create_environment("pulls");
    let into = ["-e", "pulls", "--pull-secret", "login"];
    let plan = |version: &str| {
        let more = ["--dry-run", "--output", "json"];
        let plan = site.import(version, &[&into[..], &more].concat()).json();
        plan["target"]["pullProof"].clone()
    };
    let before = site.snapshot();
    let proof = plan("1.0.0.iso");
    assert_eq!(proof["architectures"], json!(["amd64"]));
    let image = format!(
        "{}/example-1.0.0/example-operator@sha256:",
        site.pull_registry()
    );
    assert!(
        proof["image"].as_str().unwrap().starts_with(&image),
        "{proof}"
    );
    assert_eq!(
        (site.snapshot(), pods(&site, "pulls")),
        (before, String::new())
    );

    kill_during_proof(&site);
    let detailed = [&into[..], &["--details", "--wait"]].concat();
    let imported = site.import("1.0.0.iso", &detailed);
    assert_eq!(imported.code, 0, "{imported:?}");
    let words = format!("a pod pulls {image}");
    assert!(imported.stdout.contains(&words), "{imported:?}");
    let image = proof["image"].as_str().unwrap();
    assert_messages(&imported, &[&format!("a pod to pull {image} on amd64: ")]);
    let left = pods(&site, "pulls");
    assert!(!left.contains("-pull-"), "{left}");
    // The running version needs no new proof, another version does.
    assert_eq!(plan("1.0.0.iso"), Value::Null);
    assert_ne!(plan("1.1.0.iso"), Value::Null);
    assert_failed_proof_changes_nothing(&site);

    let undeploy = ["undeploy", "--yes", "example", "-e", "pulls", "--wait"];
    site.solution(&undeploy).success();
    eventually("the operator's pod is gone", || {
        pods(&site, "pulls").is_empty().then_some(())
    });
    kill_during_proof(&site);
    site.solution(&undeploy).success();
    eventually("the proof goes with its account", || {
        pods(&site, "pulls").is_empty().then_some(())
    });
}

/// Kills an import of 1.0.0 before it deletes the pod that has pulled the image. The pod does not count as a use.
fn kill_during_proof(site: &Site) {
    let into = ["-e", "pulls", "--pull-secret", "login"];
    let held = "DELETE /api/v1/namespaces/pulls/pods/example-operator-pull-amd64";
    let gate = Gate::before(site, held);
    gate.kill(site, &site.import_command("1.0.0.iso", &into));
    assert_eq!(pods(site, "pulls"), "pod/example-operator-pull-amd64\n");
}

#[test]
fn what_keeps_a_node_from_pulling_is_told_with_what_to_do() {
    let site = Site::new("pulls-causes");
    site.create_environment("pulls");
    assert_missing_login_and_name_are_told(&site);
    assert_plain_http_and_missing_image_are_told(&site);
    assert_printed_files_are_enough(&site);
    assert_interruption_removes_pod(&site);
}

/// The node does not know the registry's authority, until it has the printed files.
fn assert_printed_files_are_enough(site: &Site) {
    let host = variable("SOLUTION_TEST_PUSH_REGISTRY");
    let nodes = variable("SOLUTION_TEST_PULL_REGISTRY");
    let login = fs::read_to_string(variable("SOLUTION_TEST_PULL_SECRET")).unwrap();
    site.desk.write("nodes.json", login.replace(&nodes, &host));
    let into = ["-e", "pulls", "--pull-login", "nodes.json"];
    let refused = import(site, &site.registry(), &into);
    assert_eq!(refused.code, 1, "{refused:?}");
    let hosts = format!("# /etc/containerd/certs.d/{host}/hosts.toml");
    let server = format!("server = \"https://{host}\"");
    let authority = fs::read_to_string(variable("SOLUTION_TEST_REGISTRY_CA")).unwrap();
    let authority = authority.lines().next().unwrap();
    assert_messages(
        &refused,
        &[
            "in a test pod",
            " on amd64",
            "(x509)",
            &hosts,
            &server,
            authority,
        ],
    );
    assert_no_operator(site);

    let into = [&into[..], &["--output", "json"]].concat();
    let refused = import(site, &site.registry(), &into).json();
    let told = NodeRegistry::configure(&host, &refused["files"]);
    let imported = import(site, &site.registry(), &into);
    assert_eq!(imported.code, 0, "{imported:?}");
    drop(told);
}

/// Asserts that no object of the operator exists, and that it is not reported as deployed.
#[track_caller]
fn assert_no_operator(site: &Site) {
    let kinds = "deployments,pods,roles,rolebindings,secrets,serviceaccounts";
    let get = ["get", kinds, "--output=name"];
    let left = site.kubectl("pulls", &get).success();
    let own = ["secret/login", "serviceaccount/default"];
    let left: Vec<&str> = left.lines().filter(|line| !own.contains(line)).collect();
    assert_eq!(left, [""; 0]);
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["operators"], json!([]), "{status:#}");
}

/// Starts a plain HTTP server without images at the node's address, and returns its address.
fn start_plain_http() -> String {
    let nodes = variable("SOLUTION_TEST_PULL_REGISTRY");
    let address = nodes.to_socket_addrs().unwrap().next().unwrap();
    let listener = TcpListener::bind((address.ip(), 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            // The request is read first, so that the answer is not lost to a reset.
            let _ = client.read(&mut [0; 4096]);
            let absent = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = client.write_all(absent.as_bytes());
        }
    });
    let (host, _) = nodes.split_once(':').unwrap();
    format!("{host}:{port}")
}

/// A registry without TLS differs from one that lacks the image.
fn assert_plain_http_and_missing_image_are_told(site: &Site) {
    let plain = start_plain_http();
    let into = ["-e", "pulls", "--pull-secret", "login", "--output", "json"];
    let refused = import(site, &plain, &into);
    assert_eq!(refused.code, 1, "{refused:?}");
    let refused = refused.json();
    assert!(
        refused["causes"][0]
            .as_str()
            .unwrap()
            .contains("plain HTTP")
    );
    let path = format!("/etc/containerd/certs.d/{plain}/hosts.toml");
    let file = &refused["files"][0];
    assert_eq!(file["path"], path.as_str());
    let server = format!("server = \"http://{plain}\"\n");
    assert!(
        file["text"].as_str().unwrap().starts_with(&server),
        "{file}"
    );
    assert_no_operator(site);
    let told = NodeRegistry::configure(&plain, &refused["files"]);
    let refused = import(site, &plain, &into);
    drop(told);
    assert_eq!(refused.code, 1, "{refused:?}");
    let refused = refused.json();
    let words = "the registry does not have the image";
    assert!(
        refused["causes"][0].as_str().unwrap().contains(words),
        "{refused:#}"
    );
    assert_eq!(refused["files"], Value::Null);
    assert_no_operator(site);
}

fn assert_missing_login_and_name_are_told(site: &Site) {
    let refused = site.import("1.0.0.iso", &["-e", "pulls"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let create = "`kubectl --namespace pulls create secret docker-registry registry-login";
    assert_messages(&refused, &["does not accept the credentials", create]);
    assert_no_operator(site);
    let into = ["-e", "pulls", "--pull-secret", "login"];
    let refused = import(site, "nowhere.test:5443", &into);
    assert_eq!(refused.code, 3, "{refused:?}");
    let words = "the node cannot resolve the registry's name";
    assert_messages(&refused, &[words, "--pull-registry"]);
    assert_no_operator(site);
}

/// Imports 1.1.0 with a registry that does not have its image for nodes. Its failed proof changes nothing.
fn assert_failed_proof_changes_nothing(site: &Site) {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let mut upgrade = site.command();
    upgrade.args(["import", "1.1.0.iso", "--key", "publisher.pub"]);
    upgrade.args(["--registry", &site.registry(), "--ca-file", &ca]);
    upgrade.args(["--pull-registry", &format!("{}-not", site.pull_registry())]);
    Answer::from_command(&mut upgrade).success();
    site.solution(&["activate", "example", "1.1.0", "--ca-file", &ca])
        .success();
    let before = site.snapshot();
    let deploy = [
        "deploy",
        "example",
        "1.1.0",
        "-e",
        "pulls",
        "--ca-file",
        &ca,
    ];
    let refused = site.solution(&deploy);
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    let words = "the registry does not have the image";
    let said = "the deployment was not changed";
    assert_messages(&refused, &["in a test pod", said, words]);
    site.solution(&["status"]).success();
}

/// A program that is ended deletes its pod. Other objects are kept.
fn assert_interruption_removes_pod(site: &Site) {
    site.create_environment("ended");
    // This server accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let registry = silent.local_addr().unwrap().to_string();
    let mut import = Running::start(import_command(site, &registry, &["-e", "ended"]));
    import.wait_for_message(&format!("pulling {registry}/"));
    assert_eq!(pods(site, "ended"), "pod/example-operator-pull-amd64\n");
    import.signal("TERM");
    let (code, took) = import.end();
    let said = import.messages();
    assert_eq!(
        (code, pods(site, "ended")),
        (Some(143), String::new()),
        "{said}"
    );
    assert!(took < Duration::from_secs(1), "{took:?}: {said}");
    let words = "interrupted while a pod was pulling an image: ";
    assert!(said.contains(words), "{said}");
}

/// Returns a kubeconfig of an account with the permissions that `solution site rbac` prints, except those for pods.
fn create_account_without_pods(site: &Site) -> String {
    let account = ["create", "serviceaccount", "podless"];
    site.kubectl("default", &account).success();
    let rbac = ["rbac", "1.0.0.iso", "--key", "publisher.pub", "-e", "pulls"];
    let rbac = [
        &rbac[..],
        &["--verb", "deploy", "--serviceaccount", "default:podless"],
    ]
    .concat();
    let printed = site
        .desk
        .solution(&[&rbac[..], &["--output", "json"]].concat());
    let mut list = printed.json();
    for item in list["items"].as_array_mut().unwrap() {
        // Indexing would add rules to the Namespace too.
        let rules = item.get_mut("rules").and_then(Value::as_array_mut);
        let rules = rules.into_iter().flatten();
        for rule in rules.filter_map(|rule| rule["resources"].as_array_mut()) {
            rule.retain(|resource| resource != "pods");
            if rule.is_empty() {
                rule.push(json!("nothing"));
            }
        }
    }
    site.apply(&list.to_string()).success();
    site.create_account("podless")
}

#[test]
fn who_may_make_no_pods_is_told_so_and_can_go_without() {
    let site = Site::new("pulls-podless");
    site.create_environment("pulls");
    let user = create_account_without_pods(&site);
    let into = ["-e", "pulls", "--pull-secret", "login"];
    let import = |more: &[&str]| {
        let mut command: Command = site.import_command("1.0.0.iso", &[&into[..], more].concat());
        Answer::from_command(command.env("KUBECONFIG", &user))
    };
    let before = site.snapshot();
    let refused = import(&[]);
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    let words = "this user may not create pods in namespace pulls, so a test pull";
    assert_messages(&refused, &[words, "--no-pull-proof"]);
    import(&["--no-pull-proof"]).success();
}

/// Returns the command that imports a packaged release, for nodes that use another name for the registry.
fn import_carried(site: &Site, archive: &str, pull_registry: &str, more: &[&str]) -> Command {
    site.grant(archive);
    let mut command = site.command();
    command.args(["import", archive, "--key", "publisher.pub"]);
    command.args(["--registry", &site.registry()]);
    command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
    command.args(["--pull-registry", pull_registry]);
    command.args(["-e", "pulls", "--pull-secret", "login"]);
    command.args(more);
    command
}

#[test]
fn a_release_is_deployed_once_a_pod_has_pulled_one_of_its_images() {
    let site = Site::new("pulls-carried");
    site.create_environment("pulls");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    let import = |archive: &str, pull_registry: &str, more: &[&str]| {
        Answer::from_command(&mut import_carried(&site, archive, pull_registry, more))
    };
    let registry = site.pull_registry();
    let plan = |archive: &str, more: &[&str]| {
        let dry = [more, &["--dry-run", "--output", "json"]].concat();
        import(archive, &registry, &dry).json()["target"]["pullProof"].clone()
    };
    let proof = plan(&first, &[]);
    let image = format!("{registry}/shop/server:1.0.0@sha256:");
    let proven = proof["image"].as_str().unwrap();
    assert!(proven.starts_with(&image), "{proof}");
    assert_eq!(proof["architectures"], json!(["amd64"]));
    assert_eq!(plan(&first, &["--no-pull-proof"]), Value::Null);

    let before = site.objects_in("pulls");
    let elsewhere = import(&first, &format!("{registry}-not"), &[]);
    assert_eq!(elsewhere.code, 1, "{elsewhere:?}");
    let said = "the deployment was not changed";
    assert_messages(
        &elsewhere,
        &[said, " on amd64", "the registry does not have the image"],
    );
    let left = site.objects_in("pulls");
    assert_eq!(difference(&before, &left), "");
    let status = site.solution(&["status", "--output", "json"]).json();
    assert_eq!(status["operators"], json!([]), "{status:#}");
    let records = ["get", "configmaps", "--output=name"];
    let records = site.kubectl("metalk8s-solutions", &records).success();
    assert!(!records.contains("carried."), "{records}");

    let imported = import(&first, &registry, &[]);
    assert_eq!(imported.code, 0, "{imported:?}");
    assert_messages(&imported, &[&format!("a pod to pull {proven} on amd64: ")]);
    let left = pods(&site, "pulls");
    assert!(!left.contains("-pull-"), "{left}");
    // Neither the running version nor another version with the same image needs a new proof.
    assert_eq!(plan(&first, &[]), Value::Null);
    let second = pack(&site, "1.1.0", OWN, &release("good day", "one"));
    assert_eq!(plan(&second, &[]), Value::Null);

    let undeploy = ["undeploy", "--yes", "shop", "-e", "pulls", "--wait"];
    site.solution(&undeploy).success();
    let gone = || pods(&site, "pulls").is_empty().then_some(());
    eventually("the release's pods are gone", gone);
    // The pod of a killed import is deleted by an undeployment, and by the next import.
    kill_during_release_proof(&site, &first);
    site.solution(&undeploy).success();
    eventually("the proof's pod is gone", gone);
    kill_during_release_proof(&site, &first);
    import(&first, &registry, &["--wait"]).success();
    assert!(!pods(&site, "pulls").contains(PROOF));
}

/// The pod that pulls an image of a release.
const PROOF: &str = "pod/shop-carried-pull-amd64";

/// Kills an import of a release before it deletes the pod that has pulled an image.
fn kill_during_release_proof(site: &Site, archive: &str) {
    let held = "DELETE /api/v1/namespaces/pulls/pods/shop-carried-pull-amd64";
    let gate = Gate::before(site, held);
    let import = import_carried(site, archive, &site.pull_registry(), &[]);
    gate.kill(site, &import);
    assert_eq!(pods(site, "pulls").trim(), PROOF);
}
