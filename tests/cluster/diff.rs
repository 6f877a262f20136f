//! `diff`: the changes of a deployment, and the changes by others since the last one. It writes nothing, and its exit
//! code is that of diff(1).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, variable};

fn with_ca(site: &Site, arguments: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&[arguments, &["--ca-file", &ca]].concat())
}

fn diff(site: &Site, more: &[&str]) -> Answer {
    with_ca(site, &[&["diff", "-e", "diff"], more].concat())
}

/// Returns the action for each changed object.
fn actions(objects: &Value) -> BTreeMap<String, String> {
    let objects = objects.as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = objects.map(|object| (text(&object["object"]), text(&object["action"])));
    each.filter(|(_, action)| action != "keep").collect()
}

/// Returns the exit code, and the only comparison of an answer.
fn run_comparison(site: &Site, more: &[&str]) -> (i32, Value) {
    let before = site.snapshot();
    let answer = diff(site, &[more, &["--output=json"]].concat());
    assert_eq!(site.snapshot(), before);
    let mut all = answer.json();
    assert_eq!(all["differs"], answer.code == 1, "{all:#}");
    assert_eq!(
        all["comparisons"].as_array().map(Vec::len),
        Some(1),
        "{all:#}"
    );
    (answer.code, all["comparisons"][0].take())
}

#[test]
fn a_diff_is_what_a_deployment_would_change() {
    let site = Site::new("diff");
    assert_impossible_diffs_are_no_difference(&site);
    let into = ["-e", "diff", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    site.import("1.1.0.iso", &[]).success();
    assert_diff_is_plan(&site);
    assert_changes_of_others_are_shown(&site);
}

/// Compares 1.1.0, which was imported after 1.0.0 was deployed.
fn assert_diff_is_plan(site: &Site) {
    let (code, found) = run_comparison(site, &["example"]);
    assert_eq!(code, 1, "{found:#}");
    assert_eq!(found["solution"], "example-1.1.0");
    assert_eq!(found["running"], "1.0.0");
    let deploy = [
        "deploy",
        "example",
        "-e",
        "diff",
        "--dry-run",
        "--output=json",
    ];
    let plan = with_ca(site, &deploy).json();
    let mut planned = actions(&plan["crds"]);
    planned.extend(actions(&plan["target"]["objects"]));
    assert!(planned.len() > 3, "{planned:?}");
    assert_eq!(actions(&found["objects"]), planned);
    let crd = found["objects"][0]["diff"].as_str().unwrap();
    assert!(crd.contains("\n+              greeting:\n"), "{crd}");

    // The site's registry is in the archive's record.
    let archive = ["./1.1.0.iso", "--key", "publisher.pub"];
    let (code, again) = run_comparison(site, &archive);
    assert_eq!((code, &again), (1, &found));
    let (code, same) = run_comparison(site, &["example", "1.0.0"]);
    // The operator's configuration changes, because 1.1.0 was imported later.
    let told = [
        "ConfigMap diff/example-operator-config",
        "Deployment diff/example-operator",
    ];
    let changed = told.map(|object| (object.to_owned(), "change".to_owned()));
    assert_eq!((code, actions(&same["objects"])), (1, changed.into()));

    // The stored archive equals the file.
    let compare =
        |after: &str| with_ca(site, &["compare", "example@1.0.0", after, "--output=json"]);
    let same = compare("1.0.0.iso");
    assert_eq!(
        (same.code, &same.json()["differs"]),
        (0, &json!(false)),
        "{same:?}"
    );
    let newer = compare("example").json();
    assert_eq!(newer["after"]["solution"], "example-1.1.0", "{newer:#}");
    assert_eq!(newer["before"]["signedBy"], newer["after"]["signedBy"]);
}

/// Changes objects of 1.0.0, and reverts that with a deployment.
fn assert_changes_of_others_are_shown(site: &Site) {
    let text = diff(site, &[]).success();
    assert_eq!(text, "example-1.0.0 in namespace diff: no differences\n");

    let kubectl = |arguments: &[&str]| site.kubectl("diff", arguments).success();
    kubectl(&["scale", "deployment/example-operator", "--replicas=2"]);
    kubectl(&["delete", "serviceaccount", "example-operator"]);
    // A label alone does not make an object the Solution's.
    kubectl(&["create", "configmap", "more"]);
    let ours = "solutions.metalk8s.scality.com/solution=example";
    kubectl(&["label", "configmap", "more", ours]);
    // No user deployed this.
    kubectl(&["annotate", "deployment/example-operator", "noted=by-others"]);
    let (code, found) = run_comparison(site, &[]);
    assert_eq!((code, &found["namespace"]), (1, &json!("diff")));
    let expected = [
        ("Deployment diff/example-operator", "change"),
        ("ServiceAccount diff/example-operator", "create"),
    ];
    let expected = expected.map(|(object, action)| (object.to_owned(), action.to_owned()));
    assert_eq!(actions(&found["objects"]), expected.into());
    let text = diff(site, &["--namespace", "diff"]);
    assert_eq!(text.code, 1, "{text:?}");
    for words in [
        "diff      change Deployment diff/example-operator\n",
        "\n-  replicas: 2\n+  replicas: 1\n",
        "! takes over .spec.replicas from kubectl\n",
        "example-1.0.0 in namespace diff: 2 objects differ\n",
    ] {
        assert!(text.stdout.contains(words), "`{words}` is not in: {text:?}");
    }
    let deploy = [
        "deploy",
        "example",
        "1.0.0",
        "-e",
        "diff",
        "--force-conflicts",
    ];
    with_ca(site, &deploy).success();
    diff(site, &[]).success();
}

/// Creates the environment `diff`. Comparisons that cannot be made do not report a difference.
fn assert_impossible_diffs_are_no_difference(site: &Site) {
    let unknown = diff(site, &[]).failure(3);
    assert!(
        unknown.contains("environment `diff` does not exist"),
        "{unknown}"
    );
    site.create_environment("diff");
    let text = diff(site, &[]).success();
    assert_eq!(text, "nothing is deployed in environment diff\n");
    let other = diff(site, &["--namespace", "other"]).failure(3);
    assert!(
        other.contains("namespace `other` does not belong to the environment `diff`"),
        "{other}"
    );
    let nothing = diff(site, &["example"]).failure(3);
    assert!(
        nothing.contains("no version of example is imported"),
        "{nothing}"
    );
    let archive = ["./1.0.0.iso", "--key", "publisher.pub"];
    let nowhere = diff(site, &archive).failure(3);
    assert!(nowhere.contains("`--registry`"), "{nowhere}");
    let registry = ["--registry", &site.registry()];
    let (code, found) = run_comparison(site, &[&archive[..], &registry].concat());
    assert_eq!((code, &found["running"]), (1, &Value::Null));
    let actions = actions(&found["objects"]);
    assert!(
        actions.values().all(|action| action == "create"),
        "{actions:?}"
    );
    let version = diff(site, &["./1.0.0.iso", "1.0.0"]).failure(2);
    assert!(
        version.contains("is not the name of a Solution"),
        "{version}"
    );
    site.desk.solution(&["keygen", "other"]).success();
    let signed = diff(site, &["./1.0.0.iso", "--key", "other.pub"]).failure(3);
    assert!(
        signed.contains("is not accepted, so nothing was compared"),
        "{signed}"
    );
}
