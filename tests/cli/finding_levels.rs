//! Levels of findings: by the policy next to the sources, by a named policy, and by flags.

use serde_json::{Value, json};

use crate::common::{Answer, Desk};
use crate::review::{desk_with_warning, sarif};

const POLICY: &str = "apps/source/solution.policy.yaml";
const PACK: [&str; 6] = [
    "pack",
    "apps/source",
    "-o",
    "a.iso",
    "--key",
    "publisher.key",
];
const VALIDATE: [&str; 4] = ["validate", "a.iso", "--key", "publisher.pub"];

fn policy(desk: &Desk, spec: &str) {
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: FindingsPolicy\nspec:\n";
    desk.write(POLICY, format!("{head}{spec}"));
}

fn run(desk: &Desk, verb: &[&str], more: &[&str]) -> Answer {
    desk.solution(&[verb, more].concat())
}

#[test]
fn a_warning_that_a_policy_makes_an_error_refuses() {
    let desk = desk_with_warning("apps/source");
    policy(&desk, "  severities: {practice.display-name: error}\n");
    let answer = run(&desk, &PACK, &["--output", "json"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(answer.json()["findings"][0]["severity"], "error");
    assert_eq!(desk.names(), ["apps", "publisher.key", "publisher.pub"]);
    let check = ["pack", "apps/source", "--check"];
    let answer = run(&desk, &check, &[]);
    assert!(answer.failure(1).contains("error[practice.display-name]"));

    // `validate` does not read it by itself, but accepts its path.
    std::fs::rename(desk.path(POLICY), desk.path("policy.yaml")).unwrap();
    run(&desk, &PACK, &[]).success();
    run(&desk, &VALIDATE, &[]).success();
    let answer = run(
        &desk,
        &VALIDATE,
        &["--findings-policy", "policy.yaml", "--output", "json"],
    );
    assert_eq!(answer.code, 1, "{answer:?}");
    assert_eq!(answer.json()["verdict"], "refused");
}

#[test]
fn what_is_ignored_is_counted_and_its_reason_kept() {
    let desk = desk_with_warning("apps/source");
    policy(
        &desk,
        "  ignores:\n  - {id: practice.display-name, place: 'manifest.*', reason: it has none, expires: 2099-12-31}\n  - {id: practice.latest, reason: x}\n  - {id: practice.template, reason: x, expires: 2020-01-31}\n",
    );
    let check = ["pack", "apps/source", "--check"];
    let answer = run(&desk, &check, &[]);
    let lines: Vec<&str> = answer.stderr.lines().collect();
    assert_eq!(
        lines[..3],
        [
            "note: 1 finding ignored by apps/source/solution.policy.yaml",
            "note: apps/source/solution.policy.yaml ignores `practice.latest`, but there is no such finding",
            "note: apps/source/solution.policy.yaml ignored `practice.template` until 2020-01-31; this has expired, so it is reported again",
        ],
        "{answer:?}"
    );
    let shown = run(&desk, &check, &["--output", "json"]).json();
    assert_eq!(shown["findings"], json!([]));
    assert_eq!(shown["ignored"][0]["reason"], "it has none");
    assert_eq!(shown["unusedIgnores"][1]["why"], "expired");
    let results = sarif(&run(&desk, &check, &["--output", "sarif"]));
    let suppressed = json!([{ "kind": "external", "justification": "it has none" }]);
    assert_eq!(results[0]["suppressions"], suppressed);
    let junit = run(&desk, &check, &["--output", "junit"]).success();
    assert!(
        junit.contains("<skipped message=\"ignored (it has none): "),
        "{junit}"
    );

    desk.write(POLICY, "");
    let answer = run(&desk, &check, &[]);
    assert!(
        answer
            .failure(2)
            .contains("cannot use the findings policy `apps/source/solution.policy.yaml`")
    );
    std::fs::remove_file(desk.path(POLICY)).unwrap();
    let answer = run(&desk, &check, &["--findings-policy", "none.yaml"]);
    let said = answer.failure(2);
    assert!(
        said.contains("`none.yaml`") && said.contains("No such file"),
        "{said}"
    );
    let flags = [
        "--ignore",
        "practice.display-name=a test",
        "--output",
        "json",
    ];
    let shown: Value = run(&desk, &check, &flags).json();
    assert_eq!(shown["ignored"][0]["by"], "request");
    let shown = run(&desk, &check, &["--select", "images", "--output", "json"]).json();
    assert_eq!(
        (&shown["findings"], shown.get("ignored")),
        (&json!([]), None)
    );
}

#[test]
fn nobody_judges_an_error_or_a_signature() {
    let desk = desk_with_warning("apps/source");
    policy(
        &desk,
        "  severities:\n    operator.yaml: note\n  ignores:\n  - {id: signature.skipped, reason: x}\n",
    );
    let said = run(&desk, &PACK, &[]).failure(2);
    for words in [
        "line 5: `operator.yaml` is an error",
        "line 7: `signature.skipped` is about the origin",
    ] {
        assert!(said.contains(words), "{said}");
    }
    for (flags, words) in [
        (
            ["--ignore", "signature.skipped=x"],
            "--ignore: `signature.skipped` is about the origin",
        ),
        (
            ["--ignore", "integrity.damaged=x"],
            "--ignore: `integrity.damaged` is about the origin",
        ),
        (["--ignore", "practice.latest"], "expected ID=REASON"),
        (
            ["--select", "practise.latest"],
            "did you mean `practice.latest`?",
        ),
    ] {
        let said = run(&desk, &VALIDATE, &flags).failure(2);
        assert!(said.contains(words), "{said}");
    }
}
