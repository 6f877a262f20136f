//! Checks of a site configuration without a cluster.

use crate::common::Desk;

#[test]
fn the_file_to_begin_with_is_a_good_one_and_replaces_none() {
    let desk = Desk::new();
    desk.solution(&["site", "init"]).success();
    desk.solution(&["site", "check", "site.yaml"]).success();
    let again = desk.solution(&["site", "init"]).failure(1);
    assert!(again.contains("`site.yaml` exists"), "{again}");
}

#[test]
fn a_wrong_file_is_named_with_what_is_wrong_in_it() {
    let desk = Desk::new();
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";
    for (spec, environment, words) in [
        (
            "{workloads: [{set: {image: x}}]}",
            None,
            "unknown field `image`",
        ),
        (
            "{workloads: [{part: db, set: {replicas: 2}}]}",
            None,
            "the entry for * db has `replicas`, which needs `workload`",
        ),
        (
            "{patches: {shop: [{target: {name: '('}, patch: {}}]}}",
            None,
            "`(` is not a usable regular expression",
        ),
        (
            "{workloads: [{set: {env: {POD_NAME: x}}}]}",
            None,
            "the entry for * sets the variable `POD_NAME`, which the import sets itself",
        ),
        ("{registry: 'https://r.test'}", None, "has a scheme"),
        (
            "{pullRegistry: r.test}",
            Some("prod"),
            "belongs in the default file",
        ),
    ] {
        desk.write("wrong.yaml", format!("{head}{spec}"));
        let mut check = vec!["site", "check", "wrong.yaml"];
        check.extend(environment.into_iter().flat_map(|name| ["-e", name]));
        let refused = desk.solution(&check).failure(1);
        assert!(refused.contains(words), "{refused}");
        assert!(refused.contains("`wrong.yaml`"), "{refused}");
        assert!(refused.contains("`solution site init`"), "{refused}");
    }
}

#[test]
fn a_file_that_chooses_for_every_workload_what_is_one_workloads_is_told_who_gets_it() {
    let desk = Desk::new();
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\nspec: ";
    let note = "replicas apply to operators only (the site's file, entry for *)";
    for (entry, told) in [
        ("set: {replicas: 2}", true),
        ("set: {labels: {a: b}}", false),
        ("workload: operator, set: {replicas: 2}", false),
        ("part: db, workload: db, set: {replicas: 2}", false),
    ] {
        let file = format!("{head}{{workloads: [{{{entry}}}]}}");
        desk.write("site.yaml", file);
        let answer = desk.solution(&["site", "check", "site.yaml"]);
        assert_eq!(answer.code, 0, "{answer:?}");
        assert_eq!(answer.stderr.contains(note), told, "{answer:?}");
        let json = desk.solution(&["site", "check", "site.yaml", "--output", "json"]);
        let notes = json.json()["notes"].as_array().unwrap().len();
        assert_eq!(notes, usize::from(told));
    }
}
