//! Checks of a fleet's file without any cluster.

use crate::common::Desk;

const FLEET: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
spec:
  clusters:
  - {name: paris, context: paris, labels: {tier: prod}}
  - {name: lyon, context: lyon, labels: {tier: prod}}
  - {name: lab, context: lab, labels: {tier: test}}
  groups:
  - {name: prod, selector: {matchLabels: {tier: prod}}}
  - {name: test, selector: {matchLabels: {tier: test}}}
  solutions:
  - {name: shop, version: 1.0.0, environment: prod, groups: [prod]}
  - {name: shop, version: 1.1.0, environment: test, groups: [test]}
  waves:
  - {name: canary, groups: [test], soak: 10m}
  - {name: rest, groups: [prod], parallel: 2, maxFailures: 1, approve: true}
";

#[test]
fn the_fleet_to_begin_with_is_a_good_one_and_replaces_none() {
    let desk = Desk::new();
    desk.solution(&["fleet", "init"]).success();
    let answer = desk.solution(&["fleet", "check", "fleet.yaml"]).success();
    assert!(
        answer.contains("wave canary: 1 cluster\n  lab (test): shop 1.0.0 in prod"),
        "{answer}"
    );
    let again = desk.solution(&["fleet", "init"]).failure(1);
    assert!(again.contains("`fleet.yaml` exists"), "{again}");
}

#[test]
fn a_fleet_is_shown_in_the_order_of_its_waves() {
    let desk = Desk::new();
    desk.write("fleet.yaml", FLEET);
    let shown = desk.solution(&["fleet", "check", "fleet.yaml"]).success();
    let expected = "wave canary: 1 cluster, soak time 10m
  lab (test): shop 1.1.0 in test
wave rest: 2 clusters, 2 at a time, 1 may fail, needs approval
  paris (prod): shop 1.0.0 in prod
  lyon (prod): shop 1.0.0 in prod
`fleet.yaml` is a valid fleet file
";
    assert_eq!(shown, expected);
    let answer = desk.solution(&["fleet", "check", "fleet.yaml", "--output", "json"]);
    let waves = &answer.json()["waves"];
    assert_eq!(waves[1]["clusters"][1]["name"], "lyon");
    assert_eq!(waves[1]["maxFailures"], 1);
}

#[test]
fn all_that_is_wrong_with_a_fleet_is_said_with_its_line_and_what_to_do() {
    let desk = Desk::new();
    let wrong = FLEET
        .replacen("groups: [prod]}", "groups: [prd]}", 1)
        .replacen("groups: [test], soak", "clusters: [paris], soak", 1);
    desk.write("fleet.yaml", wrong);
    let refused = desk.solution(&["fleet", "check", "fleet.yaml"]).failure(1);
    for words in [
        "error: line 8: the cluster `lab` is in no wave\nhint: add it or one of its groups",
        "error: line 13: the entry for `shop` in the environment `prod` names the group `prd`, which does not exist\nhint: did you mean `prod`?",
        "error: line 17: the cluster `paris` is in two waves, `canary` and `rest`\nhint: remove it",
        "note: the entry for `shop` in the environment `prod` selects no cluster",
        "3 blockers found",
    ] {
        assert!(refused.contains(words), "{words}\n{refused}");
    }
    let answer = desk.solution(&["fleet", "check", "fleet.yaml", "--output", "json"]);
    assert_eq!(answer.code, 1);
    assert_eq!(answer.json()["obstacles"].as_array().map(Vec::len), Some(3));
}

#[test]
fn expressions_and_values_are_judged_without_a_cluster() {
    let desk = Desk::new();
    let site = "spec:\n  site:\n    parameters:\n      shop:\n        good: '${cluster.name}-$${HOME}'\n        bad: '${cluster.nam}'\n        worse: '${split(1}'\n    workloads: [{set: {image: x}}]";
    desk.write("fleet.yaml", FLEET.replacen("spec:", site, 1));
    let refused = desk.solution(&["fleet", "check", "fleet.yaml"]).failure(1);
    for words in [
        "error: line 9: `${cluster.nam}` uses `cluster.nam`, which is not a fact\nhint: did you mean `cluster.name`?",
        "error: line 10: `${split(1}`: it is not CEL: ",
        "error: line 11: `site` of fleet at `/workloads/0`: unknown field `image`",
        "3 blockers",
    ] {
        assert!(refused.contains(words), "{words}\n{refused}");
    }
}

#[test]
fn differences_that_cannot_be_told_are_neither_none_nor_some() {
    let desk = Desk::new();
    desk.write("fleet.yaml", FLEET);
    let read = |verb: &str, code: i32| {
        let answer = desk.solution(&["fleet", verb, "fleet.yaml", "--group", "prod"]);
        assert_eq!(answer.code, code, "{answer:?}");
        answer
    };
    let words = "0 of 2 clusters differ from the file; cannot compare: paris, lyon\n";
    assert_eq!(read("diff", 3).stdout, words);
    let rendered = read("render", 3);
    assert_eq!(rendered.stdout, "", "{rendered:?}");
    assert!(
        rendered.stderr.contains("error: paris, lyon: "),
        "{rendered:?}"
    );
    desk.write(
        "fleet.yaml",
        FLEET.replace("groups: [prod]}", "groups: [prd]}"),
    );
    read("diff", 3);
    read("render", 1);
}

#[test]
fn what_a_tool_does_not_have_is_not_exported_for_it() {
    let desk = Desk::new();
    desk.write("fleet.yaml", FLEET);
    let export = ["fleet", "export", "fleet.yaml", "--login-secret", "login"];
    let to = |tool: &str| desk.solution(&[&export[..], &["--to", tool]].concat());
    let refused = to("argocd").failure(2);
    assert!(
        refused.contains("cannot use `--login-secret` with"),
        "{refused}"
    );
    to("helm").failure(2);
}

#[test]
fn what_is_no_fleet_is_refused_and_what_cannot_be_read_is_not() {
    let desk = Desk::new();
    desk.write(
        "fleet.yaml",
        FLEET.replacen("context: lyon", "contexts: lyon", 1),
    );
    let refused = desk.solution(&["fleet", "check", "fleet.yaml"]).failure(1);
    for words in [
        "`fleet.yaml` is not a valid fleet file",
        "`contexts`",
        "line 7",
        "`solution fleet init`",
    ] {
        assert!(refused.contains(words), "{words}\n{refused}");
    }
    desk.solution(&["fleet", "check", "none.yaml"]).failure(3);
}
