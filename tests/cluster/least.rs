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
