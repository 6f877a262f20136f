//! Who has only the rights that `solution rbac` prints can do what he was given them for, and nothing else.

use std::process::Command;

use crate::common::Answer;
use crate::site::{Site, variable};

/// A kubeconfig of an account that has what `solution rbac` prints with these arguments.
fn limited(site: &Site, name: &str, rbac: &[&str]) -> String {
    site.kubectl("default", &["create", "serviceaccount", name])
        .success();
    let account = format!("default:{name}");
    let rbac = [&["rbac"], rbac, &["--serviceaccount", &account]].concat();
    let roles = site.desk.solution(&rbac).success();
    site.apply(&roles).success();
    site.account(name)
}

/// Whether an account may do something.
fn may(site: &Site, config: &str, what: &[&str]) -> bool {
    let ask = [&["auth", "can-i", "--kubeconfig", config], what].concat();
    site.kubectl("default", &ask).code == 0
}

fn import(site: &Site, config: &str, more: &[&str]) -> Answer {
    let mut command: Command = site.import_command("1.0.0.iso", more);
    Answer::of(command.env("KUBECONFIG", config))
}

#[test]
fn rights_for_one_environment_are_enough_there_and_end_there() {
    let site = Site::new("least-environment");
    site.environment("ours");
    site.environment("theirs");
    let archive = ["1.0.0.iso", "--key", "publisher.pub", "-e", "ours"];
    let verbs = ["deploy", "undeploy", "deactivate", "unimport", "status"];
    let verbs = verbs.map(|verb| ["--verb", verb]).concat();
    let user = limited(&site, "ours", &[&archive[..], &verbs].concat());
    for (what, allowed) in [
        (&["list", "nodes"][..], true),
        (&["patch", "crd/versionservers.example.metalk8s.test"], true),
        (&["patch", "crd"], false),
        (&["create", "namespaces"], false),
        (&["create", "deployments", "--namespace", "ours"], true),
        (&["create", "deployments", "--namespace", "theirs"], false),
        (&["get", "secrets", "--namespace", "theirs"], false),
        (
            &["get", "secrets", "--namespace", "metalk8s-solutions"],
            false,
        ),
        (&["create", "clusterroles"], false),
        (&["escalate", "roles", "--namespace", "ours"], false),
        (&["bind", "roles", "--namespace", "ours"], false),
    ] {
        assert_eq!(may(&site, &user, what), allowed, "{what:?}");
    }
    let before = site.snapshot();
    let into = |environment| ["-e", environment, "--pull-secret", "login"];
    let text = import(&site, &user, &into("theirs")).failure(1);
    assert!(
        text.contains("this user may not create deployments.apps in namespace theirs"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
    import(&site, &user, &into("ours")).success();
    let solution = |arguments: &[&str]| {
        let mut command = site.command();
        Answer::of(command.args(arguments).env("KUBECONFIG", &user))
    };
    solution(&["status"]).success();
    for undo in [
        &["undeploy", "example", "-e", "ours"][..],
        &["deactivate", "example"],
        &["unimport", "example", "1.0.0"],
    ] {
        solution(undo).success();
    }
    // Who removes all of it in one step needs no right to write any of it.
    import(&site, &user, &into("ours")).success();
    let delete = [&archive[..], &["--verb", "delete"]].concat();
    let remover = limited(&site, "remover", &delete);
    let create = ["create", "deployments", "--namespace", "ours"];
    assert!(!may(&site, &remover, &create));
    let mut command = site.command();
    command.args(["delete", "example", "--yes"]);
    Answer::of(command.env("KUBECONFIG", &remover)).success();
}

#[test]
fn who_may_nothing_is_told_all_that_is_missing_at_once() {
    let site = Site::new("least-nothing");
    site.environment("ours");
    site.kubectl("default", &["create", "serviceaccount", "nobody"])
        .success();
    let nobody = site.account("nobody");
    let before = site.snapshot();
    let text = import(&site, &nobody, &["-e", "ours"]).failure(1);
    for words in [
        "this user may not list nodes",
        "this user may not create configmaps in namespace metalk8s-solutions",
        "this user may not patch deployments.apps in namespace ours",
        "gives the operator the right to patch versionservers/status.example.metalk8s.test",
        "solution rbac",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert_eq!(site.snapshot(), before);
}

#[test]
fn each_verb_needs_no_more_than_the_rights_that_are_printed_for_it() {
    let site = Site::new("least-verbs");
    let only = |verb: &str| {
        let archive = ["1.0.0.iso", "--key", "publisher.pub"];
        limited(&site, verb, &[&archive[..], &["--verb", verb]].concat())
    };
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let run = |user: &str, arguments: &[&str]| {
        let mut command = site.command();
        command.args(arguments).env("KUBECONFIG", user);
        Answer::of(&mut command).success()
    };
    import(&site, &only("import"), &[]).success();
    let environment = only("environment");
    run(&environment, &["environment", "create", "each"]);
    site.login("each");
    let activate = ["activate", "example", "--ca-file", &ca];
    run(&only("activate"), &activate);
    let into = ["-e", "each", "--pull-secret", "login"];
    let deploy = ["deploy", "example", "--ca-file", &ca];
    run(&only("deploy"), &[&deploy[..], &into].concat());
    run(&only("status"), &["status"]);
    run(&only("undeploy"), &["undeploy", "example", "-e", "each"]);
    run(&only("deactivate"), &["deactivate", "example"]);
    run(&only("unimport"), &["unimport", "example", "1.0.0"]);
    run(&environment, &["environment", "delete", "each"]);
    let status = site.solution(&["status", "--output", "json"]).json();
    for what in ["versions", "environments", "operators"] {
        assert_eq!(status[what], serde_json::json!([]), "{status:#}");
    }
}

#[test]
fn an_administrator_of_one_namespace_sees_it_and_is_told_at_once_what_stays_unseen() {
    let site = Site::new("least-status");
    for environment in ["ours", "theirs"] {
        site.environment(environment);
        let into = ["-e", environment, "--pull-secret", "login"];
        site.import("1.0.0.iso", &into).success();
    }
    let archive = ["1.0.0.iso", "--key", "publisher.pub"];
    let rbac = [&archive[..], &["--verb", "status", "-e", "ours"]].concat();
    let user = limited(&site, "seer", &rbac);
    for what in ["namespaces", "nodes", "crd", "configmaps"] {
        assert!(!may(&site, &user, &["list", what]), "{what}");
    }
    let status = |more: &[&str]| {
        let mut command = site.command();
        Answer::of(command.arg("status").args(more).env("KUBECONFIG", &user))
    };
    let seen = status(&["-n", "ours", "--output", "json"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let seen = seen.json();
    assert_eq!(seen["operators"][0]["condition"], "ready", "{seen:#}");
    assert_eq!(
        seen["versions"][0]["record"]["version"], "1.0.0",
        "{seen:#}"
    );
    assert_eq!(seen["notes"], serde_json::json!([]), "{seen:#}");
    let unseen = serde_json::json!([
        {
            "what": "other versions and environments",
            "right": "list configmaps in namespace metalk8s-solutions",
        },
        {
            "what": "which versions are active",
            "right": "list customresourcedefinitions.apiextensions.k8s.io",
        },
    ]);
    assert_eq!(seen["unseen"], unseen, "{seen:#}");
    assert!(!seen.to_string().contains("theirs"), "{seen:#}");
    // What decides is hidden: that is no yes, and no reason to stop at the first refusal.
    for (more, hidden) in [
        (
            &[][..],
            "imported versions and environments (list configmaps",
        ),
        (
            &["-n", "theirs"],
            "what is deployed in namespace theirs (get configmaps namespace-theirs",
        ),
    ] {
        let text = status(more).failure(3);
        for words in [hidden, "which versions are active (list", "solution rbac"] {
            assert!(text.contains(words), "`{words}` is not in: {text}");
        }
    }
    let scale = ["scale", "deployment/example-operator", "--replicas=0"];
    site.kubectl("ours", &scale).success();
    let text = status(&["-n", "ours"]).failure(1);
    assert!(text.contains("scaled to zero pods"), "{text}");
}

#[test]
fn nobody_bound_gives_no_binding_and_the_list_is_taken_as_it_is() {
    let site = Site::new("least-list");
    let answer = site.desk.solution(&["rbac", "--output", "json"]);
    let list = answer.json();
    let items = list["items"].as_array().unwrap();
    let kinds = items.iter().map(|item| item["kind"].as_str().unwrap());
    let kinds: Vec<&str> = kinds.collect();
    assert_eq!(kinds, ["Namespace", "ClusterRole", "Role"]);
    let applied = site.apply(&answer.stdout).success();
    assert_eq!(applied.lines().count(), 3, "{applied}");
}

/// The kubeconfig of an account that is bound to Kubernetes' own role `admin` in a namespace, and has nothing else.
fn administrator(site: &Site, name: &str, namespace: &str) -> String {
    site.kubectl("default", &["create", "serviceaccount", name])
        .success();
    let account = format!("--serviceaccount=default:{name}");
    let bind = [
        "create",
        "rolebinding",
        name,
        "--clusterrole=admin",
        &account,
    ];
    site.kubectl(namespace, &bind).success();
    site.account(name)
}

/// Gives an account what `solution rbac` prints for it.
fn also(site: &Site, name: &str, rbac: &[&str]) {
    let account = format!("default:{name}");
    let rbac = [&["rbac"], rbac, &["--serviceaccount", &account]].concat();
    let roles = site.desk.solution(&rbac).success();
    site.apply(&roles).success();
}

#[test]
fn who_administers_one_namespace_runs_an_imported_version_there_without_any_right_in_the_cluster() {
    let site = Site::new("least-alone");
    site.environment("ours");
    site.environment("theirs");
    site.import("1.0.0.iso", &[]).success();
    site.import("1.1.0.iso", &[]).success();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&["activate", "example", "1.1.0", "--ca-file", &ca])
        .success();
    let user = administrator(&site, "owner", "ours");
    let run = |arguments: &[&str]| {
        let mut command = site.command();
        Answer::of(command.args(arguments).env("KUBECONFIG", &user))
    };
    let deploy = |version: &str, more: &[&str]| {
        let deploy = ["deploy", "example", version, "-n", "ours", "--ca-file", &ca];
        run(&[&deploy[..], &["--pull-secret", "login"], more].concat())
    };
    // Without the record nobody knows which archive it is: that is said with everything else that is missing.
    let before = site.snapshot();
    let text = deploy("1.0.0", &[]).failure(1);
    let missing =
        "this user may not get configmaps solution-example-1.0.0 in namespace metalk8s-solutions";
    assert!(text.contains(missing), "{text}");
    assert_eq!(site.snapshot(), before);
    for version in ["1.0.0", "1.1.0"] {
        let archive = format!("{version}.iso");
        also(
            &site,
            "owner",
            &[&archive, "--key", "publisher.pub", "-n", "ours"],
        );
    }
    for what in ["nodes", "crd", "configmaps", "clusterroles"] {
        assert!(!may(&site, &user, &["list", what]), "{what}");
    }
    let before = site.snapshot();
    let planned = deploy("1.0.0", &["--dry-run", "--output", "json"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    let unseen = planned.json()["unseen"].clone();
    let unseen = unseen.as_array().unwrap().iter();
    let unseen: Vec<&str> = unseen.map(|it| it["what"].as_str().unwrap()).collect();
    let expected = [
        "other versions and environments",
        "which versions are active",
        "what the site's file of ours chooses",
        "which platforms the nodes have",
    ];
    assert_eq!(unseen, expected);
    assert_eq!(site.snapshot(), before);
    let records = || {
        site.kubectl(
            "metalk8s-solutions",
            &["get", "configmaps", "--output=yaml"],
        )
    };
    let recorded = records().success();
    deploy("1.0.0", &[]).success();
    let status = run(&["status", "-n", "ours", "--output", "json"]);
    assert_eq!(status.code, 0, "{status:?}");
    let status = status.json();
    assert_eq!(status["operators"][0]["condition"], "ready", "{status:#}");
    assert_eq!(status["operators"][0]["version"], "1.0.0", "{status:#}");
    // An upgrade, and then nothing is left of it.
    deploy("1.1.0", &[]).success();
    let label = r"{.metadata.labels.app\.kubernetes\.io/version}";
    let operator = "deployment/example-operator";
    assert_eq!(site.field("ours", operator, label), "1.1.0");
    run(&["undeploy", "example", "-n", "ours", "--dry-run"]).success();
    assert_eq!(site.field("ours", operator, label), "1.1.0");
    run(&["undeploy", "example", "-n", "ours"]).success();
    assert_eq!(site.snapshot(), before);
    // The records of the cluster are as they were: they were never written.
    assert_eq!(records().success(), recorded);
    // What the cluster's administrators deploy is theirs.
    let into = ["-e", "ours", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    for refused in [
        deploy("1.1.0", &[]),
        run(&["undeploy", "example", "-n", "ours"]),
    ] {
        let text = refused.failure(1);
        let words = "example was not deployed in namespace `ours` by the administrator";
        assert!(text.contains(words), "{text}");
    }
}
