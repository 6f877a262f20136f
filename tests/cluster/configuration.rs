//! A `SolutionsConfiguration` lists a site's versions and the active ones. Listed versions are imported. Other versions
//! are removed if this is requested and nothing uses them. One bad archive does not affect the others.

use serde_json::{Value, json};

use crate::common::Answer;
use crate::site::{Site, variable};

/// An object of the example's kind.
const SERVER: &str = "
apiVersion: example.metalk8s.test/v1alpha1
kind: VersionServer
metadata: {name: web}
spec: {replicas: 1, version: 1.0.0}
";

fn write(site: &Site, archives: &[&str], active: &str) {
    let text = json!({
        "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
        "kind": "SolutionsConfiguration",
        "archives": archives,
        "active": if active.is_empty() { json!({}) } else { json!({ "example": active }) },
    });
    site.desk.write("site/solutions.yaml", text.to_string());
}

fn apply(site: &Site, more: &[&str]) -> Answer {
    let mut command = site.command();
    command.args([
        "apply",
        "-f",
        "site/solutions.yaml",
        "--key",
        "publisher.pub",
    ]);
    command.args(["--registry", &site.registry()]);
    command.args(["--pull-registry", &site.pull_registry()]);
    command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
    Answer::from_command(command.args(more))
}

/// Returns the steps of an answer with this exit code, as `action version state`.
#[track_caller]
fn steps(answer: &Answer, code: i32) -> Vec<String> {
    assert_eq!(answer.code, code, "{answer:?}");
    let answer = answer.json();
    let steps = answer["steps"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let words = |step: &Value| {
        ["action", "version", "state"]
            .map(|field| text(&step[field]))
            .join(" ")
    };
    steps.map(words).collect()
}

const JSON: [&str; 2] = ["--output", "json"];

fn versions(site: &Site) -> Vec<(String, bool)> {
    let status = site.solution(&["status", "--output", "json"]).json();
    let versions = status["versions"].as_array().unwrap().iter();
    let version = |entry: &Value| {
        (
            entry["record"]["version"].as_str().unwrap().to_owned(),
            entry["active"] == true,
        )
    };
    versions.map(version).collect()
}

fn known(versions: &[(&str, bool)]) -> Vec<(String, bool)> {
    versions
        .iter()
        .map(|(version, active)| ((*version).to_owned(), *active))
        .collect()
}

#[test]
fn the_cluster_becomes_what_the_file_says() {
    let site = Site::new("configured");
    // A path is relative to the file's folder, in any working directory.
    let absolute = site.desk.path("1.1.0.iso");
    let both = ["../1.0.0.iso", absolute.to_str().unwrap()];
    write(&site, &both, "1.0.0");
    let before = site.snapshot();
    let dry = apply(&site, &["--dry-run", "--output", "json"]);
    let planned = [
        "import 1.0.0 planned",
        "import 1.1.0 planned",
        "activate 1.0.0 planned",
    ];
    assert_eq!(steps(&dry, 0), planned);
    assert_eq!(site.snapshot(), before);
    let text = apply(&site, &[]).success();
    assert!(
        text.contains("imported: example 1.0.0 (../1.0.0.iso)"),
        "{text}"
    );
    assert!(text.contains("activated: example 1.0.0"), "{text}");
    assert_eq!(versions(&site), known(&[("1.0.0", true), ("1.1.0", false)]));
    // A second run changes nothing.
    let before = site.snapshot();
    let same = [
        "import 1.0.0 unchanged",
        "import 1.1.0 unchanged",
        "activate 1.0.0 unchanged",
    ];
    assert_eq!(steps(&apply(&site, &JSON), 0), same);
    assert_eq!(site.snapshot(), before);
    // The newest version is not listed; it is activated from the registry. Other versions are kept.
    write(&site, &[], "latest");
    let answer = apply(&site, &JSON);
    assert_eq!(
        steps(&answer, 0),
        ["activate 1.1.0 done", "unimport 1.0.0 left"]
    );
    assert_eq!(
        answer.json()["steps"][1]["why"][0]["message"],
        "the file does not list it"
    );
    assert_eq!(versions(&site), known(&[("1.0.0", false), ("1.1.0", true)]));
}

#[test]
fn what_is_not_listed_goes_once_that_is_asked_for_and_nothing_uses_it() {
    let site = Site::new("pruned");
    site.create_environment("prod");
    site.import("1.0.0.iso", &["-e", "prod", "--pull-secret", "login"])
        .success();
    write(&site, &["../1.1.0.iso"], "latest");
    let prune = ["--prune", "--output", "json"];
    // The version is deployed, so nothing is removed and no question is asked.
    let answer = apply(&site, &prune);
    assert_eq!(
        steps(&answer, 0),
        [
            "import 1.1.0 done",
            "activate 1.1.0 done",
            "unimport 1.0.0 left"
        ]
    );
    let why = &answer.json()["steps"][2]["why"][0];
    assert_eq!(
        why["message"],
        "example 1.0.0 is deployed in the environment `prod`"
    );
    site.solution(&["undeploy", "--yes", "example", "-e", "prod"])
        .success();
    // Without an operator, the object has no pods.
    site.desk.write("server.yaml", SERVER);
    site.kubectl("prod", &["apply", "--filename", "server.yaml"])
        .success();
    // No user confirms.
    let before = site.snapshot();
    let text = apply(&site, &["--prune"]).failure(1);
    assert!(text.contains("unimport    example 1.0.0"), "{text}");
    assert!(
        text.contains("hint: review the plan, then confirm it with `--yes`"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
    let yes = ["--prune", "--yes", "--output", "json"];
    let gone = [
        "import 1.1.0 unchanged",
        "activate 1.1.0 unchanged",
        "unimport 1.0.0 done",
    ];
    assert_eq!(steps(&apply(&site, &yes), 0), gone);
    assert_eq!(versions(&site), known(&[("1.1.0", true)]));
    // A custom resource keeps the CRDs, and these keep the version.
    write(&site, &[], "");
    let answer = apply(&site, &yes);
    assert_eq!(
        steps(&answer, 0),
        ["deactivate - left", "unimport 1.1.0 left"]
    );
    let why = answer.json()["steps"][0]["why"][0]["message"].to_string();
    assert!(why.contains("VersionServer prod/web"), "{why}");
    assert_eq!(
        answer.json()["steps"][1]["why"][0]["message"],
        "example 1.1.0 is active: its CRDs are in the cluster"
    );
    site.kubectl("prod", &["delete", "versionserver", "web"])
        .success();
    let answer = apply(&site, &yes);
    assert_eq!(
        steps(&answer, 0),
        ["deactivate - done", "unimport 1.1.0 done"]
    );
    assert_eq!(versions(&site), []);
}

#[test]
fn a_version_goes_in_the_run_that_activates_another() {
    let site = Site::new("replaced");
    write(&site, &["../1.0.0.iso"], "1.0.0");
    apply(&site, &[]).success();
    write(&site, &["../1.1.0.iso"], "latest");
    let before = site.snapshot();
    let plan = apply(&site, &["--prune", "--dry-run", "--output", "json"]);
    let planned = [
        "import 1.1.0 planned",
        "activate 1.1.0 planned",
        "unimport 1.0.0 planned",
    ];
    assert_eq!(steps(&plan, 0), planned);
    let record = json!(["ConfigMap metalk8s-solutions/solution-example-1.0.0"]);
    assert_eq!(plan.json()["steps"][2]["objects"], record);
    assert_eq!(site.snapshot(), before);
    let done = apply(&site, &["--prune", "--yes", "--output", "json"]);
    let all = [
        "import 1.1.0 done",
        "activate 1.1.0 done",
        "unimport 1.0.0 done",
    ];
    assert_eq!(steps(&done, 0), all);
    assert_eq!(done.json()["steps"][2]["objects"], record);
    assert_eq!(versions(&site), known(&[("1.1.0", true)]));
}

#[test]
fn one_bad_archive_does_not_stop_the_others() {
    let site = Site::new("configured-badly");
    site.import("1.1.0.iso", &[]).success();
    let mut bytes = site.desk.read("1.1.0.iso");
    // This byte is in the primary volume descriptor.
    bytes[16 * 2048 + 200] ^= 1;
    site.desk.write("damaged.iso", bytes);
    write(
        &site,
        &["../nowhere.iso", "../damaged.iso", "../1.0.0.iso"],
        "2.0.0",
    );
    let answer = apply(&site, &["--prune", "--yes", "--output", "json"]);
    let expected = [
        "import - failed",
        "import - failed",
        "import 1.0.0 done",
        "activate - failed",
        "unimport 1.1.0 left",
    ];
    assert_eq!(steps(&answer, 1), expected);
    let answer = answer.json();
    let why = |at: usize| answer["steps"][at]["why"][0].clone();
    assert!(
        why(0)["message"].as_str().unwrap().contains("nowhere.iso"),
        "{answer:#}"
    );
    assert!(
        why(1)["message"]
            .as_str()
            .unwrap()
            .contains("[container.metadata]"),
        "{answer:#}"
    );
    assert_eq!(why(3)["message"], "example 2.0.0 is not imported");
    assert!(
        why(4)["message"]
            .as_str()
            .unwrap()
            .contains("may contain this version"),
        "{answer:#}"
    );
    assert_eq!(
        versions(&site),
        known(&[("1.0.0", false), ("1.1.0", false)])
    );
    // The text for users lists all refusals at once, too.
    let text = apply(&site, &["--dry-run"]).failure(1);
    for words in [
        "refused     (../nowhere.iso)",
        "refused     (../damaged.iso)",
        "example 2.0.0 is not imported",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}
