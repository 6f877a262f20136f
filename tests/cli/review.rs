//! Findings for review tools: SARIF and JUnit on standard output, and the text for users on standard error.

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::{Answer, Desk};

/// Returns a desk with the example's tree in a folder, for which `validate` reports a warning.
pub(crate) fn desk_with_warning(tree: &str) -> Desk {
    let desk = Desk::with_key();
    std::fs::create_dir_all(desk.path(tree)).unwrap();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, tree);
    let path = format!("{tree}/solution.yaml");
    let manifest = String::from_utf8(desk.read(&path)).unwrap();
    let name = "solutions.metalk8s.scality.com/display-name";
    assert!(manifest.contains(name));
    desk.write(&path, manifest.replace(name, "x/name"));
    desk
}

/// The requirements of GitHub's upload. The full schema of OASIS was compared manually, because its licence differs
/// from that of this repository.
const SCHEMA: &str = include_str!("../data/sarif-upload.schema.json");

/// Returns the results of a document that matches the schema, each with the rule that it names.
#[track_caller]
pub(crate) fn sarif(answer: &Answer) -> Vec<Value> {
    let log: Value =
        serde_json::from_str(&answer.stdout).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    let schema = jsonschema::validator_for(&serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let errors = schema.iter_errors(&log);
    let errors = errors.map(|error| format!("{}: {error}", error.instance_path()));
    let errors: Vec<String> = errors.collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap().clone();
    for result in &results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
    }
    results
}

#[test]
fn sarif_is_as_an_upload_asks_for() {
    let desk = desk_with_warning("apps/source");
    let arguments = ["pack", "./apps/source", "--check", "--output", "sarif"];
    let answer = desk.solution(&arguments);
    assert_eq!(answer.code, 0, "{answer:?}");
    let results = sarif(&answer);
    assert_eq!(results.len(), 1, "{results:#?}");
    assert_eq!(results[0]["ruleId"], "practice.display-name");
    assert_eq!(results[0]["level"], "warning");
    let place = &results[0]["locations"][0]["physicalLocation"];
    let artifact = json!({ "uri": "apps/source/solution.yaml", "uriBaseId": "%SRCROOT%" });
    assert_eq!(place["artifactLocation"], artifact);
    // Users see the same finding on standard error.
    let told = "warning[practice.display-name]";
    assert!(answer.stderr.contains(told), "{answer:?}");
    assert!(
        answer.stderr.contains("solution    example-1.0.0"),
        "{answer:?}"
    );

    desk.write("broken.iso", "no image");
    let arguments = [
        "--output",
        "sarif",
        "validate",
        "broken.iso",
        "--skip-signature",
    ];
    let answer = desk.solution(&arguments);
    assert_eq!(answer.code, 1, "{answer:?}");
    let results = sarif(&answer);
    assert_eq!(results[0]["ruleId"], "container.not-iso");
    assert_eq!(results[0]["level"], "error");
}

#[test]
fn junit_has_a_case_for_the_answer_and_for_each_rule_that_found_something() {
    let desk = desk_with_warning("apps/source");
    let pack = [
        "pack",
        "apps/source",
        "-o",
        "a.iso",
        "--key",
        "publisher.key",
        "--output",
        "junit",
    ];
    let answer = desk.solution(&pack);
    assert_eq!(answer.code, 0, "{answer:?}");
    let suite = r#"<testsuite name="apps/source" tests="2" failures="0" errors="0" skipped="0">"#;
    let case = r#"<testcase classname="solution.practice" name="practice.display-name" file="apps/source/solution.yaml" line="2">"#;
    let lines: Vec<&str> = answer.stdout.lines().map(str::trim).collect();
    assert_eq!(lines[0], r#"<?xml version="1.0" encoding="UTF-8"?>"#);
    assert!(
        lines.contains(&suite) && lines.contains(&case),
        "{answer:?}"
    );
    assert!(answer.stderr.contains("archive id  sha256:"), "{answer:?}");

    desk.write("broken.iso", "no image");
    let validate = [
        "validate",
        "broken.iso",
        "--skip-signature",
        "--output",
        "junit",
    ];
    let answer = desk.solution(&validate);
    assert_eq!(answer.code, 1, "{answer:?}");
    let failure = r#"<failure message="refused: 1 rule" type="error">"#;
    assert!(answer.stdout.contains(failure), "{answer:?}");
}

#[test]
fn both_reports_are_written_in_one_run_with_the_same_paths() {
    let desk = desk_with_warning("apps/source");
    let roles = "apps/source/operator/deploy/role.yaml";
    let arguments = [
        "pack",
        "./apps/source",
        "--check",
        "--sarif",
        "all.sarif",
        "--junit",
        "junit.xml",
    ];
    let answer = desk.solution(&arguments);
    assert_eq!(answer.code, 0, "{answer:?}");
    // Standard output contains the text for users.
    assert!(
        answer.stdout.contains("solution    example-1.0.0"),
        "{answer:?}"
    );
    let read = |name: &str| String::from_utf8(desk.read(name)).unwrap();
    let mut written = answer;
    written.stdout = read("all.sarif");
    let place = sarif(&written)[0]["locations"][0]["physicalLocation"].clone();
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    let line = &place["region"]["startLine"];
    assert_eq!(uri, "apps/source/solution.yaml");
    let junit = read("junit.xml");
    let case = format!(r#"name="practice.display-name" file="{uri}" line="{line}">"#);
    assert!(junit.contains(&case), "{junit}");
    assert!(junit.contains(&format!("warning: {uri}:{line}")), "{junit}");

    // The same applies to a refused tree: the report names the file and its line, and replaces the report of an earlier
    // run.
    let bad = format!("{}\n  - [\n", String::from_utf8(desk.read(roles)).unwrap());
    desk.write(roles, bad);
    let answer = desk.solution(&[&arguments[..], &["--output", "json"]].concat());
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(answer.json()["verdict"], "refused");
    let junit = read("junit.xml");
    assert!(
        junit.contains(&format!(r#"name="operator.yaml" file="{roles}" line="#)),
        "{junit}"
    );
    let sarif = read("all.sarif");
    assert!(sarif.contains(roles), "{sarif}");

    // A run that fails leaves no report that could be mistaken for its result.
    let answer = desk.solution(&[&arguments[..], &["--findings-policy", "none.yaml"]].concat());
    answer.failure(2);
    assert!(!desk.path("junit.xml").exists() && !desk.path("all.sarif").exists());

    let answer = desk.solution(&[
        "pack",
        "apps/source",
        "--check",
        "--junit",
        "none/junit.xml",
    ]);
    assert!(answer.failure(3).contains("cannot write `none/junit.xml`"));
    let answer = desk.solution(&["pack", "apps/source", "--add-images", "--sarif", "x"]);
    answer.failure(2);
}

#[test]
fn only_verbs_that_find_something_show_it_so() {
    let desk = Desk::new();
    for arguments in [
        &["history", "--output", "sarif"][..],
        &["--output=junit", "trust", "list"],
        &["pack", "source", "--add-images", "--output", "junit"],
    ] {
        let answer = desk.solution(arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{answer:?}");
        let said = "error: cannot use SARIF or JUnit here: these are formats of findings";
        assert!(answer.stderr.starts_with(said), "{answer:?}");
    }
    // Help and completion offer the formats only for the commands that support them.
    for (verb, is_offered) in [("validate", true), ("pack", true), ("status", false)] {
        let help = desk.solution(&[verb, "--help"]).success();
        assert_eq!(help.contains("sarif"), is_offered, "{verb}");
    }
}

#[test]
fn only_a_status_is_shown_as_metrics() {
    let desk = Desk::new();
    let said = |arguments: &[&str]| {
        let answer = desk.solution(arguments);
        assert_eq!((answer.code, answer.stdout.as_str()), (2, ""), "{answer:?}");
        answer.stderr
    };
    let other = said(&["history", "--output", "metrics"]);
    let words = "error: cannot use metrics here: this is a format of the status";
    assert!(other.starts_with(words), "{other}");
    for (verb, format) in [("validate", "metrics"), ("status", "junit")] {
        let other = said(&[verb, "--output", format]);
        assert!(other.contains("invalid value"), "{other}");
    }
    for (verb, is_offered) in [("status", true), ("validate", false), ("history", false)] {
        let help = desk.solution(&[verb, "--help"]).success();
        assert_eq!(
            help.contains("Prometheus text format"),
            is_offered,
            "{verb}: {help}"
        );
    }
}
