//! A version whose CRD drops the storage version of existing objects. All objects are migrated first. An interrupted
//! migration can be resumed, and versions in use are not dropped.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::gate::Gate;
use crate::imported_versions::{archive_id, skopeo};
use crate::site::{Site, variable};
use crate::terminal::Terminal;

const CRD: &str = "versionservers.example.metalk8s.test";

/// The number of custom resources.
const OBJECTS: usize = 1000;

/// Returns a site with 1.0.0 and a 1.1.0 whose CRD has `v1` in place of `v1alpha1`. The CRD of 1.0.0 is active.
fn site_with_dropped_version(prefix: &str) -> Site {
    let site = Site::new(prefix);
    let crd = "1.1.0/operator/deploy/crds/versionservers_crd.yaml";
    let text = String::from_utf8(site.desk.read(crd)).unwrap();
    site.desk.write(crd, text.replace("v1alpha1", "v1"));
    let pack = ["pack", "1.1.0", "-o", "v1.iso", "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    for archive in ["1.0.0.iso", "v1.iso"] {
        site.import(archive, &[]).success();
    }
    activate(&site, &["1.0.0"]).success();
    site
}

fn activate(site: &Site, more: &[&str]) -> Answer {
    Answer::from_command(command(site).args(more))
}

fn command(site: &Site) -> Command {
    let mut command = site.command();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    command.args(["activate", "example", "--ca-file", &ca]);
    command
}

/// Creates the objects, in a namespace that no operator watches.
fn create_objects(site: &Site) {
    let mut objects = String::new();
    for number in 0..OBJECTS {
        write!(
            objects,
            "apiVersion: example.metalk8s.test/v1alpha1\nkind: VersionServer\nmetadata: {{name: s{number}}}\nspec: {{replicas: 0, version: 1.0.0}}\n---\n"
        )
        .unwrap();
    }
    site.desk.write("objects.yaml", objects);
    site.kubectl("default", &["create", "namespace", "many"])
        .success();
    let create = ["create", "--filename", "objects.yaml"];
    site.kubectl("many", &create).success();
}

/// Returns each object's name with its uid, resource version and specification.
fn objects(site: &Site) -> BTreeMap<String, [Value; 3]> {
    let get = ["get", CRD, "--output=json"];
    let list: Value = site.kubectl("many", &get).json();
    let of = |object: &Value| {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap().to_owned();
        let seen = [
            &metadata["uid"],
            &metadata["resourceVersion"],
            &object["spec"],
        ];
        (name, seen.map(Value::clone))
    };
    list["items"].as_array().unwrap().iter().map(of).collect()
}

fn crd(site: &Site, path: &str) -> String {
    site.field("default", &format!("crd/{CRD}"), path)
}

fn versions(site: &Site) -> [String; 2] {
    ["{.spec.versions[*].name}", "{.status.storedVersions}"].map(|path| crd(site, path))
}

#[track_caller]
fn assert_refused(site: &Site, words: &[&str], more: &[&str]) {
    let before = site.snapshot();
    let answer = activate(site, more);
    for word in words {
        assert!(answer.stderr.contains(word), "`{word}`: {answer:?}");
    }
    assert_eq!((answer.code, site.snapshot()), (1, before), "{answer:?}");
}

/// Kills the migration before a request with these bytes arrives.
fn kill_before(site: &Site, request: &'static str) {
    let gate = Gate::before(site, request);
    gate.kill(site, command(site).args(["1.1.0", "--migrate"]));
}

#[test]
fn a_thousand_objects_move_whatever_interrupts_it() {
    let site = site_with_dropped_version("migration");
    create_objects(&site);
    let before = objects(&site);
    assert_eq!(before.len(), OBJECTS);
    let words = ["the cluster serves `v1alpha1`", "--migrate"];
    assert_refused(&site, &words, &["1.1.0"]);
    let snapshot = site.snapshot();
    let plan = activate(
        &site,
        &["1.1.0", "--migrate", "--dry-run", "--output", "json"],
    )
    .json();
    let migrations = json!([{
        "crd": CRD, "objects": OBJECTS, "storage": "v1", "gone": ["v1alpha1"], "lost": ["1.0.0"],
    }]);
    assert_eq!(
        (&plan["migrations"], site.snapshot()),
        (&migrations, snapshot)
    );
    assert_eq!(objects(&site), before);

    let some = "PATCH /apis/example.metalk8s.test/v1/namespaces/many/versionservers/s5";
    kill_before(&site, some);
    let both = ["v1 v1alpha1", r#"["v1alpha1","v1"]"#];
    assert_eq!(versions(&site), both);
    let trim = "PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions/versionservers.example.metalk8s.test/status";
    kill_before(&site, trim);
    assert_eq!(versions(&site), both);

    migrate_at_terminal(&site);
    assert_eq!(versions(&site), ["v1", r#"["v1"]"#]);
    let after = objects(&site);
    assert_eq!(after.len(), OBJECTS);
    for (name, [uid, version, spec]) in &after {
        let [old_uid, old_version, old_spec] = &before[name];
        assert_eq!((uid, spec), (old_uid, old_spec), "{name}");
        assert_ne!(version, old_version, "{name} was not stored anew");
    }
    // No change is left.
    let again = activate(&site, &["1.1.0", "--migrate", "--output", "json"]).json();
    assert_eq!(again["objects"], json!([]));
    assert_eq!(objects(&site), after);
    let words = ["the cluster serves `v1`, but version 1.0.0 does not have it"];
    assert_refused(&site, &words, &["1.0.0"]);
}

#[test]
fn nothing_goes_that_an_operator_may_need() {
    let site = site_with_dropped_version("migration-needed");
    assert_lost_versions_are_named(&site);
    site.create_environment("needs");
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let deploy = [
        "deploy",
        "example",
        "1.0.0",
        "-e",
        "needs",
        "--pull-secret",
        "login",
    ];
    site.solution(&[&deploy[..], &["--ca-file", &ca]].concat())
        .success();
    let words = [
        "example 1.0.0 is deployed in the environment `needs` and may need v1alpha1, which would be removed",
        "upgrade it there",
        "1 blocker found",
    ];
    assert_refused(&site, &words, &["1.1.0", "--migrate"]);
    site.solution(&["undeploy", "--yes", "example", "-e", "needs"])
        .success();
    activate(&site, &["1.1.0", "--migrate"]).success();
    assert_eq!(versions(&site), ["v1", r#"["v1"]"#]);
}

/// Packs a version in between, as a Solution's developer does, whose CRD has `v1` too.
fn pack_between(site: &Site, version: &str) {
    let copy = ["-r", "1.1.0", version];
    let copy = Command::new("cp")
        .args(copy)
        .current_dir(site.desk.path(""))
        .status();
    assert!(copy.unwrap().success());
    let source = format!("{version}/solution.yaml");
    let text = String::from_utf8(site.desk.read(&source)).unwrap();
    let text = text.replace("\n  version: 1.1.0", &format!("\n  version: {version}"));
    site.desk.write(&source, text);
    let archive = format!("{version}.iso");
    let pack = ["pack", version, "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    site.import(&archive, &[]).success();
}

/// Plans a migration, and asserts that it names the versions that cannot be returned to, and no other ones.
fn assert_lost_versions_are_named(site: &Site) {
    for version in ["1.0.5", "1.0.6"] {
        pack_between(site, version);
    }
    // The registry no longer has the stored archive of one of them.
    let head = archive_id(site, "1.0.6");
    let head = format!("docker://{}/example-1.0.6:archive-{head}", site.registry());
    skopeo(&["delete", "--cert-dir"], &[head]).success();
    let dry = ["1.1.0", "--migrate", "--dry-run"];
    let plan = activate(site, &[&dry[..], &["--output", "json"]].concat()).json();
    let migration = &plan["migrations"][0];
    assert_eq!(migration["lost"], json!(["1.0.0"]), "{plan:#}");
    assert_eq!(migration["unknown"], json!(["1.0.6"]), "{plan:#}");
    let text = activate(site, &dry).success();
    for words in [
        "! you cannot return to versions that need ",
        "! you may be unable to return to 1.0.6",
    ] {
        assert!(text.contains(words), "`{words}`: {text}");
    }
}

/// Migrates all objects. The terminal shows their number.
fn migrate_at_terminal(site: &Site) {
    let variables = [("KUBECONFIG", site.kubeconfig().to_owned())];
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let login = ["REGISTRY_AUTH_FILE", "DOCKER_CONFIG"].map(|name| (name, variable(name)));
    let variables = [&variables[..], &login].concat();
    let line = format!("solution crds activate example 1.1.0 --migrate --wait=60 --ca-file {ca}");
    let shown = Terminal::run(&site.desk, &line, &variables).wait_for_exit(0);
    let words = format!("migrating {OBJECTS} objects of CustomResourceDefinition {CRD}: ");
    assert!(shown.contains(&words), "{shown}");
}
