//! Checks of a site configuration against archives, without a cluster. A script replaces Helm; `crates/helm/tests`
//! shows that Helm gives the same answers.

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::{Answer, Desk};

const PARTS: &str = "  charts:
    - name: db
      source: dir:chart
      values: [values.yaml]
      siteValues: {deny: [/image]}
  manifests:
    - {name: web, files: [web.yaml]}
  parameters:
    host: {type: string, pattern: '^[a-z.]+$'}
    size: {type: integer, default: 3, enum: [1, 3]}
    domain: {type: string, format: hostname, default: shop.example}
    token: {type: string, sensitive: true, default: none}
";

const WORKLOADS: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: \
{metadata: {labels: {app: web}}, spec: {containers: [{name: server, image: '$(image:example-server)'}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {selector: {matchLabels: {app: agent}}, template: \
{metadata: {labels: {app: agent}}, spec: {containers: [{name: agent, image: '$(image:example-server)'}]}}}}
";

/// The script that replaces Helm. Its schema requires a `host`, a numeric `size` and a `scale` above 1, and it cannot
/// render a `broken` value.
const HELM: &str = r#"#!/bin/sh
[ "$1" = version ] && echo v4.3.1 && exit
for argument; do case $argument in --values=*) values=${argument#--values=} ;; esac; done
said=
grep -q '^host:' "$values" || said="$said- at '': missing property 'host'
"
grep -q '^scale: 1$' "$values" && said="$said- at '/scale': minimum: got 1, want 2
"
grep -q "^size: 'many'" "$values" && said="$said- at '/size': got string, want integer
"
[ -n "$said" ] && printf "Error: values don't meet the specifications of the schema(s) in the following chart(s):\ndb:\n%s\n" "$said" >&2 && exit 1
grep -q '^broken:' "$values" && echo 'Error: no such template' >&2 && exit 1
exit 0
"#;

/// Returns a desk with an archive that has all kinds of parts, and a script that replaces Helm. The publisher sets
/// these values.
fn desk(values: &str) -> Desk {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    desk.write("source/solution.yaml", format!("{text}{PARTS}"));
    desk.write("source/web.yaml", WORKLOADS);
    desk.write("source/values.yaml", values);
    let chart = "apiVersion: v2\nname: postgres\nversion: 1.0.0\n";
    desk.write("source/chart/Chart.yaml", chart);
    let defaults = "image: a\nhost: localhost\nsize: 1\nauth: {user: a}\n# broken: true\n";
    desk.write("source/chart/values.yaml", defaults);
    desk.write("source/chart/templates/a.yaml", "a: b\n");
    let pack = ["pack", "source", "-o", "a.iso", "--no-render"];
    let sign = ["--key", "publisher.key"];
    desk.solution(&[&pack[..], &sign].concat()).success();
    desk.write_script("helm", HELM);
    desk
}

/// Checks a site configuration against the archive.
fn check(desk: &Desk, spec: &str, arguments: &[&str]) -> Answer {
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";
    desk.write("site.yaml", format!("{head}{spec}"));
    let check = ["site", "check", "site.yaml", "--archive", "a.iso"];
    desk.solution(&[&check[..], arguments].concat())
}

/// The example's name and version.
const ID: &str = "example-1.0.0";

#[test]
fn a_name_that_the_archive_does_not_have_is_told_with_the_one_that_may_be_meant() {
    let desk = desk("host: a\n");
    for (spec, message, near) in [
        (
            "{parameters: {example: {hots: a}}}",
            "has no parameter `hots` (the site's file)",
            "host",
        ),
        (
            "{charts: {example: {dbb: {values: {size: 1}}}}}",
            "has no release `dbb` (the site's file)",
            "db",
        ),
        (
            "{workloads: [{solutions: example, part: wbe, set: {labels: {a: b}}}]}",
            "has no set of manifests or chart `wbe` (the site's file, entry for example wbe)",
            "web",
        ),
        (
            "{workloads: [{solutions: example, part: dbb, set: {labels: {a: b}}}]}",
            "has no set of manifests or chart `dbb` (the site's file, entry for example dbb)",
            "db",
        ),
        (
            "{workloads: [{solutions: example, part: web, workload: agnet, set: {labels: {a: b}}}]}",
            "has no workload `agnet` (the site's file, entry for example web, workload agnet)",
            "agent",
        ),
        (
            "{workloads: [{solutions: example, part: web, workload: web, container: sever, set: {env: {A: b}}}]}",
            "has no container `sever` in workload `web` (the site's file, entry for example web, workload web, container sever)",
            "server",
        ),
    ] {
        let refused = check(&desk, spec, &[]).failure(1);
        assert!(
            refused.contains(&format!("error: {ID} {message}\n")),
            "{refused}"
        );
        let hint = format!("hint: did you mean `{near}`? ");
        assert!(refused.contains(&hint), "{refused}");
        let json = check(&desk, spec, &["--output", "json"]).json();
        assert_eq!(json["obstacles"].as_array().unwrap().len(), 1, "{json:#}");
        assert_eq!(json["plan"]["archives"], json!(["a.iso"]));
    }
}

#[test]
fn what_is_said_of_other_solutions_and_of_what_is_rendered_is_left_alone() {
    let desk = desk("host: a\n");
    let spec = "{parameters: {shop: {any: 1}}, charts: {shop: {any: {values: {a: 1}}}},
        workloads: [
          {solutions: shop, part: any, set: {labels: {a: b}}},
          {solutions: 'example-*', part: any, set: {labels: {a: b}}},
          {solutions: example, part: db, workload: any, set: {replicas: 2}},
          {solutions: example, workload: any, set: {labels: {a: b}}},
          {solutions: example, part: operator, set: {replicas: 2}}]}";
    let answer = check(&desk, spec, &["--output", "json"]);
    let expected = json!({
        "schemaVersion": answer.json()["schemaVersion"],
        "file": "site.yaml", "archives": ["a.iso"], "notes": [],
    });
    assert_eq!(answer.json(), expected);
    let human = check(&desk, spec, &[]);
    assert_eq!(human.code, 0, "{human:?}");
    assert!(human.stderr.contains("not verified"), "{human:?}");
}

#[test]
fn a_solution_that_is_like_the_archives_is_noted() {
    let desk = desk("host: a\n");
    let notes = check(
        &desk,
        "{parameters: {exmaple: {host: a}}}",
        &["--output", "json"],
    );
    let note = "the site's file names Solution `exmaple`, but no archive of it was given; did you mean `example`?";
    assert_eq!(notes.json()["notes"], json!([note]));
}

#[test]
fn values_of_parameters_are_judged_as_the_plan_does() {
    let desk = desk("host: a\n");
    for (given, words, id) in [
        (
            "size: many",
            "the value of parameter `size` (the site's file)",
            "value-refused",
        ),
        (
            "size: 2",
            "the value of parameter `size` (the site's file)",
            "value-refused",
        ),
        (
            "host: A",
            "the value of parameter `host` (the site's file)",
            "value-refused",
        ),
        (
            "domain: a_b",
            "the value of parameter `domain` (the site's file)",
            "value-refused",
        ),
        ("token: t", "parameter `token` is sensitive", "value-seen"),
    ] {
        let spec = format!("{{parameters: {{example: {{{given}}}}}}}");
        let refused = check(&desk, &spec, &[]).failure(1);
        assert!(
            refused.contains(&format!("error: {ID}: {words}")),
            "{given}: {refused}"
        );
        let json = check(&desk, &spec, &["--output", "json"]).json();
        assert_eq!(json["obstacles"][0]["obstacle"]["id"], id, "{json:#}");
    }
    let good = "{parameters: {example: {size: 1, host: a.b, domain: a.example}}}";
    check(&desk, good, &[]).success();
}

/// Returns the `notes` in JSON for these values of the release.
fn notes(desk: &Desk, values: &str, arguments: &[&str]) -> Value {
    let spec = format!("{{charts: {{example: {{db: {values}}}}}}}");
    let json = [arguments, &["--output", "json"]].concat();
    check(desk, &spec, &json).json()["notes"].take()
}

const HELM_HERE: [&str; 2] = ["--helm", "./helm"];

#[test]
fn values_are_judged_by_the_charts_schema_where_there_is_helm() {
    let desk = desk("host: a\n");
    let many = "{charts: {example: {db: {values: {size: many}}}}}";
    let refused = check(&desk, many, &HELM_HERE).failure(1);
    let message = format!(
        "error: {ID}: the values of release `db` (the site's file) do not match the schema of the chart: db: - at '/size': got string, want integer\n"
    );
    assert!(refused.contains(&message), "{refused}");
    assert!(
        refused.contains("hint: list the chart's values with `solution archive values ARCHIVE`"),
        "{refused}"
    );
    let refused = desk
        .command()
        .env("HELM", desk.path("helm"))
        .args(["site", "check", "site.yaml", "--archive", "a.iso"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(notes(&desk, "{values: {size: 2}}", &HELM_HERE), json!([]));
    let failed = "the values of release `db` are not validated by the schema of its chart: helm template: no such template";
    assert_eq!(
        notes(&desk, "{values: {broken: 1}}", &HELM_HERE),
        json!([failed])
    );
}

#[test]
fn where_nobody_can_judge_values_that_is_said() {
    let desk = desk("host: a\n");
    let none = "the values of example-1.0.0 are not validated by the schemas of its charts: `helm` 4 not found";
    let many = "{values: {size: many}}";
    assert_eq!(notes(&desk, many, &[]), json!([none]));
    let others = |what: &str| {
        json!([format!(
            "the values of release `db` are not validated by the schema of its chart: values of {what} also apply"
        )])
    };
    let from = "{values: {size: many}, valuesFrom: [{kind: Secret, name: a}]}";
    assert_eq!(
        notes(&desk, from, &HELM_HERE),
        others("the objects in `valuesFrom`")
    );
    let of_prod = [&HELM_HERE[..], &["-e", "prod"]].concat();
    assert_eq!(notes(&desk, many, &of_prod), others("the default file"));
    assert_eq!(notes(&desk, "{}", &[]), json!([]));
    let refused = check(&desk, "{}", &["--helm", "a.iso"]);
    assert_ne!(refused.code, 0, "{refused:?}");
}

#[test]
fn what_a_schema_lacks_without_the_sites_values_is_not_theirs() {
    let desk = desk("");
    let lacking = "the values of release `db` do not match the schema of the chart, even without those of the site's file: db: - at '': missing property 'host'";
    assert_eq!(
        notes(&desk, "{values: {size: 2}}", &HELM_HERE),
        json!([lacking])
    );
    assert_eq!(notes(&desk, "{values: {host: b}}", &HELM_HERE), json!([]));
    let many = "{charts: {example: {db: {values: {size: many}}}}}";
    let refused = check(&desk, many, &HELM_HERE).failure(1);
    assert!(
        refused.contains("missing property 'host' - at '/size'"),
        "{refused}"
    );
}

#[test]
fn values_are_judged_with_those_of_parameters() {
    let desk = desk("host: a\nscale: $(param:size)\n");
    let judged = |parameters: &str| {
        let user = "db: {values: {auth: {user: b}}}";
        let spec =
            format!("{{parameters: {{example: {parameters}}}, charts: {{example: {{{user}}}}}}}");
        check(&desk, &spec, &HELM_HERE)
    };
    judged("{}").success();
    let refused = judged("{size: 1}").failure(1);
    let words = "the values of release `db` (the site's file) do not match the schema of the chart: db: - at '/scale': minimum: got 1, want 2\n";
    assert!(refused.contains(words), "{refused}");
}

#[test]
fn what_a_chart_names_nowhere_and_what_means_nothing_is_noted() {
    let desk = desk("host: a\n");
    let unnamed = "the chart of release `db` has no value `usr` (`auth.usr`); did you mean `user`?";
    let unmeant = "the publisher does not intend sites to set `image` of release `db`";
    let values = "{values: {auth: {usr: b}, image: b, size: 1}}";
    assert_eq!(notes(&desk, values, &HELM_HERE), json!([unmeant, unnamed]));
    let entry = "{solutions: example, part: web, workload: agent, set: {replicas: 2}}";
    let json = check(
        &desk,
        &format!("{{workloads: [{entry}]}}"),
        &["--output", "json"],
    );
    let idle = "replicas has no effect on DaemonSet agent (the site's file, entry for example web, workload agent)";
    assert_eq!(json.json()["notes"], json!([idle]));
    // They are also reported in addition to an error.
    let both = format!("{{parameters: {{example: {{hots: a}}}}, workloads: [{entry}]}}");
    let refused = check(&desk, &both, &[]).failure(1);
    assert!(refused.contains(&format!("note: {idle}")), "{refused}");
    assert!(refused.ends_with("\n1 blocker found\n"), "{refused}");
    let json = check(&desk, &both, &["--output", "json"]).json();
    assert_eq!(json["plan"]["notes"], json!([idle]));
}

#[test]
fn an_entry_for_an_operator_is_one_too_many_where_there_is_none() {
    let desk = desk("host: a\n");
    let source = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: example}
spec:
  version: 1.0.0
  images: []
  charts: [{name: db, source: 'dir:chart', values: [values.yaml]}]
";
    desk.write("source/solution.yaml", source);
    let pack = ["pack", "source", "-o", "a.iso", "--no-render", "--force"];
    let sign = ["--key", "publisher.key"];
    desk.solution(&[&pack[..], &sign].concat()).success();
    let spec = "{workloads: [{solutions: example, part: operator, set: {replicas: 2}}]}";
    let refused = check(&desk, spec, &[]).failure(1);
    let words =
        format!("error: {ID} has no operator (the site's file, entry for example operator)\n");
    assert!(refused.contains(&words), "{refused}");
}

#[test]
fn every_archive_is_compared_and_one_that_is_none_is_named() {
    let desk = desk("host: a\n");
    desk.write_example(&Programs::placeholders(), Release::V1_1_0, "bare");
    let pack = ["pack", "bare", "-o", "b.iso", "--key", "publisher.key"];
    desk.solution(&pack).success();
    let spec = "{parameters: {example: {host: a}}}";
    let refused = check(&desk, spec, &["--archive", "b.iso"]).failure(1);
    assert!(
        refused.contains("error: example-1.1.0 has no parameter `host`"),
        "{refused}"
    );
    assert!(!refused.contains(ID), "{refused}");
    let none = check(&desk, spec, &["--archive", "site.yaml"]);
    assert_ne!(none.code, 0);
    assert!(none.stderr.contains("cannot read `site.yaml`"), "{none:?}");
    let alone = desk.solution(&["site", "check", "--archive", "a.iso"]);
    assert_eq!(alone.code, 2, "{alone:?}");
}
