//! Site configurations, stored in the cluster, and their effects on running workloads.

use serde_json::{Value, json};

use crate::common::Answer;
use crate::delete::listing;
use crate::site::{Site, variable};

/// Writes a site configuration with this specification to a file.
fn write(site: &Site, file: &str, spec: &Value) {
    let document = json!({
        "apiVersion": "solutions.metalk8s.scality.com/v1alpha1",
        "kind": "Site",
        "spec": spec,
    });
    site.desk.write(file, document.to_string());
}

/// Stores a site configuration with this specification in the cluster, and returns the answer.
fn set_site(site: &Site, spec: &Value, more: &[&str]) -> Value {
    write(site, "site.yaml", spec);
    let always = ["site", "set", "site.yaml", "--output", "json"];
    site.solution(&[&always[..], more].concat()).json()
}

/// Returns the registry settings, and the Secret that every namespace of these tests has.
fn registry_settings(site: &Site) -> Value {
    json!({
        "registry": site.registry(),
        "pullRegistry": site.pull_registry(),
        "certificateAuthority": std::fs::read_to_string(variable("SOLUTION_TEST_REGISTRY_CA")).unwrap(),
        "pullSecret": "login",
    })
}

/// Returns the resource requests and limits of the operator, for a namespace that requires them.
fn resources() -> Value {
    json!({
        "requests": { "cpu": "10m", "memory": "16Mi" },
        "limits": { "cpu": "500m", "memory": "64Mi" },
    })
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let always = ["import", archive, "--key", "publisher.pub"];
    site.solution(&[&always[..], more].concat())
}

fn deployment(site: &Site, namespace: &str) -> Value {
    let get = ["get", "deployment", "example-operator", "--output=json"];
    site.kubectl(namespace, &get).json()
}

/// Asserts that a plan names each value from the site configuration, and that it writes nothing.
fn assert_plan_names_values(site: &Site) {
    let before = site.snapshot();
    let dry = ["-e", "sites", "--dry-run", "--output", "json"];
    let plan = import(site, "1.0.0.iso", &dry).json();
    assert_eq!(site.snapshot(), before);
    let chosen = plan["target"]["site"].as_array().unwrap();
    let team = chosen.iter().find(|value| value["field"] == "labels.team");
    let from = "the site's file of sites, entry for *";
    assert_eq!(
        team.unwrap(),
        &json!({ "field": "labels.team", "value": "sites", "from": from })
    );
    let defaults = plan["defaults"].as_array().unwrap();
    for flag in ["--registry", "--pull-registry", "--pull-secret"] {
        let default = defaults.iter().find(|default| default["flag"] == flag);
        assert_eq!(default.unwrap()["why"], "the site's file", "{flag}");
    }
}

#[test]
fn what_a_site_chooses_reaches_the_operator_and_is_shown_before() {
    let site = Site::new("sites");
    site.create_environment("sites");
    let class = ["create", "priorityclass", "infra", "--value=7"];
    site.kubectl("default", &class);
    let mut spec = registry_settings(&site);
    spec["workloads"] = json!([
        { "set": { "labels": { "team": "all" }, "env": { "LOG_LEVEL": "debug" } } },
        { "solutions": "example", "workload": "operator", "set": {
            "resources": resources(),
            "nodeSelector": { "kubernetes.io/os": "linux" },
            "tolerations": [{ "key": "infra", "operator": "Exists", "effect": "NoSchedule" }],
            "priorityClassName": "infra",
            "proxy": { "https": "http://proxy.invalid:3128", "no": ".site" },
        } },
    ]);
    assert_eq!(set_site(&site, &spec, &[])["problems"], json!([]));
    let own = json!({ "workloads": [{ "set": { "labels": { "team": "sites" } } }] });
    set_site(&site, &own, &["--environment", "sites"]);

    assert_plan_names_values(&site);
    import(&site, "1.0.0.iso", &["-e", "sites"]).success();
    let deployment = deployment(&site, "sites");
    let pod = &deployment["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    assert_eq!(deployment["metadata"]["labels"]["team"], "sites");
    assert_eq!(
        deployment["spec"]["template"]["metadata"]["labels"]["team"],
        "sites"
    );
    assert_eq!(container["resources"], resources());
    assert_eq!(pod["nodeSelector"], json!({ "kubernetes.io/os": "linux" }));
    assert_eq!(pod["tolerations"][0]["key"], "infra");
    assert_eq!(pod["priorityClassName"], "infra");
    let env = container["env"].as_array().unwrap();
    for (name, value) in [
        ("LOG_LEVEL", "debug"),
        ("https_proxy", "http://proxy.invalid:3128"),
        ("NO_PROXY", ".site,$(KUBERNETES_SERVICE_HOST)"),
    ] {
        assert!(
            env.contains(&json!({ "name": name, "value": value })),
            "{name}: {env:?}"
        );
    }

    // A removed setting takes effect with the next deployment.
    set_site(&site, &json!({}), &["--environment", "sites"]);
    let deploy = ["deploy", "example", "-e", "sites"];
    let diff = site.solution(&[&deploy[..], &["--dry-run", "--diff"]].concat());
    let diff = diff.success();
    assert!(
        diff.contains("-    team: sites") || diff.contains("-    team: 'sites'"),
        "{diff}"
    );
    site.solution(&deploy).success();
    let label = "{.metadata.labels.team}";
    assert_eq!(
        site.field("sites", "deployment/example-operator", label),
        "all"
    );
    site.kubectl("default", &["delete", "priorityclass", "infra"]);
}

#[test]
fn namespaces_with_a_quota_and_restricted_pods_take_an_operator_that_fits() {
    let site = Site::new("sites-strict");
    // This operator does not set `runAsNonRoot`.
    let text = String::from_utf8(site.desk.read("1.0.0/solution.yaml")).unwrap();
    let text = text.replace("runAsNonRoot: true", "runAsNonRoot: false");
    site.desk.write("1.0.0/solution.yaml", text);
    let pack = ["pack", "1.0.0", "-o", "plain.iso", "--key", "publisher.key"];
    site.desk.solution(&pack).success();
    site.create_environment("strict");
    let level = "pod-security.kubernetes.io/enforce=restricted";
    let label = ["label", "namespace", "strict", level];
    site.kubectl("default", &label).success();
    let hard = "--hard=limits.cpu=1,limits.memory=128Mi";
    let quota = ["create", "quota", "limits", hard];
    site.kubectl("strict", &quota).success();

    set_site(&site, &registry_settings(&site), &[]);
    let before = site.snapshot();
    let refused = import(&site, "plain.iso", &["-e", "strict"]);
    assert_eq!((refused.code, site.snapshot()), (1, before), "{refused:?}");
    assert!(refused.stderr.contains("site configuration"), "{refused:?}");

    let set_for_strict = json!({ "workloads": [{ "set": {
        "resources": resources(),
        "securityContext": { "runAsNonRoot": true, "runAsUser": 65532 },
    } }] });
    set_site(&site, &set_for_strict, &["--environment", "strict"]);
    import(&site, "plain.iso", &["-e", "strict"]).success();
    let container = "{.spec.template.spec.containers[0].securityContext.runAsUser}";
    assert_eq!(
        site.field("strict", "deployment/example-operator", container),
        "65532"
    );
}

#[test]
fn a_file_that_cannot_hold_changes_nothing() {
    let site = Site::new("sites-refused");
    site.create_environment("refused");
    let before = site.snapshot();
    for (spec, environment, words) in [
        (
            json!({ "workloads": [{ "set": { "env": { "WATCH_NAMESPACE": "" } } }] }),
            None,
            "WATCH_NAMESPACE",
        ),
        (
            json!({ "registry": "r.test" }),
            Some("refused"),
            "default file",
        ),
        (
            json!({}),
            Some("nowhere"),
            "environment `nowhere` does not exist",
        ),
    ] {
        write(&site, "wrong.yaml", &spec);
        let mut set = vec!["site", "set", "wrong.yaml"];
        set.extend(environment.into_iter().flat_map(|name| ["-e", name]));
        let refused = site.solution(&set).failure(1);
        assert!(refused.contains(words), "{refused}");
    }
    // The referenced objects need not exist when the file is stored, and are checked on request.
    let names = json!({ "pullSecret": "absent", "workloads": [{ "set": {
        "priorityClassName": "absent", "nodeSelector": { "disk": "none" }, "replicas": 2 } }] });
    write(&site, "names.yaml", &names);
    let dry = site.solution(&["site", "set", "names.yaml", "--dry-run"]);
    assert_eq!((dry.code, site.snapshot()), (0, before), "{dry:?}");
    set_site(&site, &names, &[]);
    let note = "replicas apply to operators only (the site's file, entry for *)";
    let text = site.solution(&["site", "check"]).failure(1);
    assert!(text.starts_with(&format!("note: {note}")), "{text}");
    assert!(text.ends_with("\n3 blockers found\n"), "{text}");
    let problems = site.solution(&["site", "check", "--output", "json"]);
    assert_eq!(problems.code, 1, "{problems:?}");
    let problems = problems.json();
    let notes = problems["plan"]["notes"].as_array().unwrap();
    let told = notes[0].as_str().unwrap().starts_with(note);
    assert!(told && notes.len() == 1, "{problems:#}");
    let problems = problems["obstacles"].as_array().unwrap();
    let said: Vec<&str> = problems
        .iter()
        .map(|entry| entry["message"].as_str().unwrap())
        .collect();
    let expected = [
        "Secret `absent` does not exist in namespace `refused`",
        "PriorityClass `absent`, which the site's file names, does not exist",
        "no node has all labels that the site's file requires: disk=none",
    ];
    assert_eq!(said, expected);
    let labels = &problems[2]["obstacle"];
    let file = "the site's file";
    assert_eq!(
        labels,
        &json!({ "id": "no-node", "labels": ["disk=none"], "file": file })
    );
}

#[test]
fn the_file_of_an_environment_goes_with_it_and_the_default_stays() {
    let site = Site::new("sites-gone");
    set_site(
        &site,
        &json!({ "workloads": [{ "set": { "replicas": 1 } }] }),
        &[],
    );
    let before = listing(&site);
    site.create_environment("gone");
    set_site(
        &site,
        &json!({ "workloads": [{ "set": { "replicas": 2 } }] }),
        &["-e", "gone"],
    );
    let file = "ConfigMap metalk8s-solutions/site-gone";
    assert!(listing(&site).contains(file));

    let shown = site.snapshot();
    let delete = ["environment", "delete", "--yes", "gone"];
    let text = site.solution(&[&delete[..], &["--dry-run"]].concat());
    let words = format!("    - {file} (site configuration of the environment)\n");
    let text = text.success();
    assert!(text.contains(&words), "{text}");
    assert_eq!(site.snapshot(), shown);
    let json = [&delete[..], &["--output", "json"]].concat();
    let done = site.solution(&json).json();
    assert_eq!(done["siteFile"], file, "{done:#}");
    assert_eq!(listing(&site), before);
}
