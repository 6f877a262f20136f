//! Chart values of a site: in its configuration, in objects that it refers to, and by flags. Upgrades keep them,
//! rollbacks restore them, and a release that is taken over keeps its values.

use serde_json::{Value, json};

use crate::charts::{HELM, VALUES, helm, import, pack, pack_tree, site, solution, takeover_id};
use crate::common::Answer;
use crate::site::Site;

/// Sets these values for a release in the default site configuration, or in that of an environment.
fn set_values(site: &Site, release: &str, values: &str, environment: &[&str]) {
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\n";
    let text = format!("{head}spec: {{charts: {{shop: {{{release}: {{values: {values}}}}}}}}}\n");
    site.desk.write("site.yaml", text);
    let set = ["site", "set", "site.yaml"];
    solution(site, &[&set[..], environment].concat()).success();
}

/// Returns the greeting and the number of pods in an environment.
fn deployed_values(site: &Site, environment: &str) -> String {
    let path = "{.spec.template.metadata.annotations.greeting} {.spec.replicas}";
    site.field(environment, "deployment/web", path)
}

#[test]
fn two_environments_have_values_of_their_own_which_an_upgrade_keeps() {
    let site = site("charts-values");
    site.create_environment("test");
    set_values(
        &site,
        "web",
        "{greeting: $(namespace), image: {tag: 1.0.0}}",
        &[],
    );
    set_values(
        &site,
        "web",
        "{replicas: 2, greeting: good day}",
        &["-e", "test"],
    );
    let archive = pack(&site, "1.0.0", VALUES);
    let shown = import(&site, &archive, &["--dry-run", "--details"]).success();
    let line = "greeting \"$(namespace)\" (the site's file)";
    assert!(shown.contains(line), "{shown}");
    import(&site, &archive, &[]).success();
    let test = |archive: &str, more: &[&str]| {
        let into = ["-e", "test", "--pull-secret", "login"];
        let mut command = site.import_command(archive, &[&into[..], more].concat());
        Answer::from_command(command.env("HELM", &*HELM))
    };
    let shown = test(&archive, &["--dry-run", "--output", "json"]).json();
    let values = &shown["target"]["releases"][0]["values"];
    let from = "the site's file of test";
    let expected = json!([
        {"field": "greeting", "value": "good day", "from": from},
        {"field": "image.tag", "value": "1.0.0", "from": "the site's file"},
        {"field": "replicas", "value": 2, "from": from},
    ]);
    assert_eq!(*values, expected, "{shown}");
    test(&archive, &[]).success();
    // This is not a placeholder, but a reference to a Kubernetes variable.
    assert_eq!(deployed_values(&site, "prod"), "$(namespace) 1");
    assert_eq!(deployed_values(&site, "test"), "good day 2");

    let next = pack(&site, "1.1.0", &VALUES.replace("hello", "welcome"));
    test(&next, &[]).success();
    assert_eq!(deployed_values(&site, "test"), "good day 2");
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let back = ["rollback", "shop", "-e", "test", "--ca-file", &ca];
    solution(&site, &back).success();
    assert_eq!(deployed_values(&site, "test"), "good day 2");

    // Objects that a value enables are checked like any release.
    set_values(
        &site,
        "web",
        "{image: {repository: other.test/web}}",
        &["-e", "test"],
    );
    let refused = test(&next, &[]).failure(1);
    assert!(
        refused.contains("with images that are not in the archive: other.test/web:1.0.0; turned on by image.repository (the site's file of test)"),
        "{refused}"
    );
    set_values(&site, "webb", "{}", &["-e", "test"]);
    let checked = solution(&site, &["site", "check"]);
    let words = "release `webb`, which does not exist in any imported version of shop";
    assert!(checked.stderr.contains(words), "{checked:?}");
}

/// Returns the planned change of the release, with its values.
fn planned_release(site: &Site, archive: &str, more: &[&str]) -> Value {
    let json = ["--dry-run", "--output", "json"];
    let mut shown = import(site, archive, &[&json[..], more].concat()).json();
    shown["target"]["releases"][0].take()
}

/// Asserts that the plan names values that the publisher does not intend sites to set.
fn assert_advice(site: &Site) {
    let chart =
        "{name: web, source: 'dir:web', values: [values.yaml], siteValues: {deny: [/replicas]}}";
    let advised = pack_tree(site, "1.2.0", &format!("  charts: [{chart}]\n"));
    let unmeant = ["--chart-set", "web:replicas=3", "--dry-run"];
    let shown = import(site, &advised, &unmeant).success();
    let note = "the publisher does not intend sites to set `replicas` of release `web`";
    assert!(shown.contains(note), "{shown}");
}

#[test]
fn what_is_chosen_for_a_chart_stays_until_it_is_taken_back() {
    let site = site("charts-chosen");
    let archive = install_with_schema(&site);
    site.desk
        .write("web.yaml", "{replicas: 2, greeting: from a file}");
    let flags = [
        "--chart-values",
        "web=web.yaml",
        "--chart-set",
        "web:greeting=a, b",
        "--chart-set",
        "web:auth.password=hunter2",
    ];
    let by = "given with this command";
    let expected = json!([
        {"field": "auth.password", "value": "***", "from": by},
        {"field": "greeting", "value": "a, b", "from": by},
        {"field": "replicas", "value": 2, "from": by},
    ]);
    assert_eq!(planned_release(&site, &archive, &flags)["values"], expected);
    let filed = import(
        &site,
        &archive,
        &[&flags[..], &["--plan-out", "plan.json"]].concat(),
    );
    let refused = filed.failure(2);
    assert!(
        refused.contains("`web:auth.password`, which looks like a password"),
        "{refused}"
    );
    import(&site, &archive, &flags).success();
    assert_eq!(deployed_values(&site, "prod"), "a, b 2");
    let record = site.kubectl(
        "metalk8s-solutions",
        &["get", "configmaps", "--output=yaml"],
    );
    let record = record.success();
    assert!(record.contains("shop-1.0.0") && !record.contains("hunter2"));

    assert_eq!(planned_release(&site, &archive, &[])["action"], "keep");
    let ca = crate::site::variable("SOLUTION_TEST_REGISTRY_CA");
    let values = solution(&site, &["values", "shop", "--ca-file", &ca]).success();
    for words in [
        "# Settings of shop 1.0.0",
        "  #     web:",
        "greeting: 'hello'",
    ] {
        assert!(values.contains(words), "{words}: {values}");
    }
    let mistyped = ["--chart-set", "web:replcas=3", "--dry-run"];
    let shown = import(&site, &archive, &mistyped).success();
    let note =
        "the chart of release `web` has no value `replcas` (`replcas`); did you mean `replicas`?";
    assert!(shown.contains(note), "{shown}");
    let next = pack(&site, "1.1.0", &VALUES.replace("hello", "welcome"));
    let shown = planned_release(&site, &next, &[]);
    assert_eq!(shown["values"][1]["from"], "chosen before", "{shown}");
    import(&site, &next, &["--unset", "web:greeting"]).success();
    assert_eq!(deployed_values(&site, "prod"), "welcome 2");
    let back = ["rollback", "shop", "-e", "prod", "--ca-file", &ca];
    solution(&site, &back).success();
    assert_eq!(deployed_values(&site, "prod"), "a, b 2");
    let refused = import(&site, &next, &["--chart-set", "wep:a=1"]).failure(1);
    assert!(refused.contains("did you mean `web`?"), "{refused}");
    import(&site, &next, &["--unset", "web:"]).success();
    assert_eq!(deployed_values(&site, "prod"), "welcome 1");
    assert_advice(&site);
}

/// Installs a chart with a schema, and returns its archive. Values that the schema rejects are refused with a hint, before
/// and after the installation.
fn install_with_schema(site: &Site) -> String {
    let schema = r#"{"properties": {"replicas": {"type": "integer"}}}"#;
    site.desk.write("1.0.0/web/values.schema.json", schema);
    let archive = pack(site, "1.0.0", VALUES);
    let is_refused = || {
        let before = site.snapshot();
        let refused = import(site, &archive, &["--chart-set", "web:replicas=many"]).failure(1);
        for words in [
            "error: the values of the release prod/web do not match the schema of the chart: web: - at '/replicas': got string, want integer\n",
            "hint: set other values with `--chart-set",
        ] {
            assert!(refused.contains(words), "{words}: {refused}");
        }
        assert!(!refused.contains("version of Kubernetes"), "{refused}");
        assert_eq!(site.snapshot(), before);
    };
    is_refused();
    // Helm's upgrade has additional options.
    import(site, &archive, &[]).success();
    is_refused();
    archive
}

#[test]
fn values_come_from_a_secret_that_nothing_shows() {
    let site = site("charts-from");
    let head = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\n";
    let from = "[{kind: ConfigMap, name: web}, {kind: Secret, name: web-words, key: words, targetPath: greeting}]";
    let text = format!("{head}spec: {{charts: {{shop: {{web: {{valuesFrom: {from}}}}}}}}}\n");
    site.desk.write("site.yaml", text);
    solution(&site, &["site", "set", "site.yaml"]).success();
    let archive = pack(&site, "1.0.0", VALUES);
    let refused = import(&site, &archive, &["--dry-run"]).failure(1);
    for words in [
        "ConfigMap prod/web, a source of values",
        "Secret prod/web-words, a source of values",
        "does not exist",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    let hold = |words: &str| {
        let objects = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: web, namespace: prod}}, data: {{values.yaml: 'replicas: 2'}}}}
---
{{apiVersion: v1, kind: Secret, metadata: {{name: web-words, namespace: prod}}, stringData: {{words: {words}}}}}
"
        );
        site.apply(&objects).success();
    };
    hold("hush-hush");
    let shown = import(&site, &archive, &["--dry-run", "--diff"]).success();
    assert!(!shown.contains("hush-hush"), "{shown}");
    assert!(
        shown.contains("greeting \"***\" (Secret web-words, the site's file)"),
        "{shown}"
    );
    import(&site, &archive, &[]).success();
    assert_eq!(deployed_values(&site, "prod"), "hush-hush 2");
    assert_eq!(planned_release(&site, &archive, &[])["action"], "keep");
    hold("not a word");
    assert_eq!(planned_release(&site, &archive, &[])["action"], "upgrade");
    import(&site, &archive, &[]).success();
    assert_eq!(deployed_values(&site, "prod"), "not a word 2");
    let records = site.kubectl(
        "metalk8s-solutions",
        &["get", "configmaps", "--output=yaml"],
    );
    let records = records.success();
    assert!(records.contains("shop-1.0.0"), "{records}");
    assert!(!records.contains("hush-hush") && !records.contains("not a word"));
}

#[test]
fn a_release_that_is_adopted_keeps_its_values() {
    let site = site("charts-kept-values");
    let archive = pack(&site, "1.0.0", VALUES);
    let image = crate::charts::SERVER;
    let (repository, tag) = image.rsplit_once(':').unwrap();
    // The release was installed manually, with images that no node has.
    let install = [
        "install",
        "web",
        "1.0.0/web",
        "--values",
        "1.0.0/values.yaml",
        "--no-hooks",
        "--skip-crds",
        "--set",
        &format!(
            "replicas=2,greeting=by hand,auth.password=hunter2,image.repository={repository},image.tag={tag}"
        ),
    ];
    helm(&site, &install).success();
    let adopt = ["--adopt", "objects"];
    let refused = import(&site, &archive, &adopt).failure(1);
    let accept = [&adopt[..], &["--accept", takeover_id(&refused)]].concat();
    let shown = planned_release(&site, &archive, &accept);
    let values = shown["values"].as_array().unwrap();
    let of = |field: &str| values.iter().find(|value| value["field"] == field).unwrap();
    assert_eq!(of("replicas")["from"], "of the release that is adopted");
    assert_eq!(of("auth.password")["value"], "***");
    import(&site, &archive, &accept).success();
    assert_eq!(deployed_values(&site, "prod"), "by hand 2");
    assert_eq!(planned_release(&site, &archive, &[])["action"], "keep");
    let next = pack(&site, "1.1.0", &VALUES.replace("hello", "welcome"));
    import(&site, &next, &["--chart-set", "web:replicas=1"]).success();
    assert_eq!(deployed_values(&site, "prod"), "by hand 1");
}
