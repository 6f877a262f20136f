//! A user with only the permissions that `solution site rbac` prints can run the commands they were granted for, and
//! nothing else.

use std::process::Command;

use crate::charts;
use crate::common::Answer;
use crate::consent::pack;
use crate::site::{Site, eventually, variable};

/// Returns a kubeconfig of an account with the permissions that `solution site rbac` prints for these arguments.
fn create_limited_account(site: &Site, name: &str, rbac: &[&str]) -> String {
    site.kubectl("default", &["create", "serviceaccount", name])
        .success();
    let account = format!("default:{name}");
    let rbac = [&["rbac"], rbac, &["--serviceaccount", &account]].concat();
    let roles = site.desk.solution(&rbac).success();
    site.apply(&roles).success();
    site.create_account(name)
}

/// Returns whether an account has a permission.
fn has_permission(site: &Site, config: &str, what: &[&str]) -> bool {
    let ask = [&["auth", "can-i", "--kubeconfig", config], what].concat();
    site.kubectl("default", &ask).code == 0
}

fn import(site: &Site, config: &str, more: &[&str]) -> Answer {
    let mut command: Command = site.import_command("1.0.0.iso", more);
    Answer::from_command(command.env("KUBECONFIG", config))
}

#[test]
fn rights_for_one_environment_are_enough_there_and_end_there() {
    let site = Site::new("least-environment");
    site.create_environment("ours");
    site.create_environment("theirs");
    let archive = ["1.0.0.iso", "--key", "publisher.pub", "-e", "ours"];
    let verbs = ["deploy", "undeploy", "deactivate", "unimport", "status"];
    let verbs = verbs.map(|verb| ["--verb", verb]).concat();
    let user = create_limited_account(&site, "ours", &[&archive[..], &verbs].concat());
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
        assert_eq!(has_permission(&site, &user, what), allowed, "{what:?}");
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
        Answer::from_command(command.args(arguments).env("KUBECONFIG", &user))
    };
    solution(&["status"]).success();
    for undo in [
        &["undeploy", "--yes", "example", "-e", "ours"][..],
        &["deactivate", "--yes", "example"],
        &["unimport", "--yes", "example", "1.0.0"],
    ] {
        solution(undo).success();
    }
    // Removing all in one step needs no permission to write any of it.
    import(&site, &user, &into("ours")).success();
    let delete = [&archive[..], &["--verb", "delete"]].concat();
    let remover = create_limited_account(&site, "remover", &delete);
    let create = ["create", "deployments", "--namespace", "ours"];
    assert!(!has_permission(&site, &remover, &create));
    let mut command = site.command();
    command.args(["delete", "example", "--yes"]);
    Answer::from_command(command.env("KUBECONFIG", &remover)).success();
}

#[test]
fn who_may_nothing_is_told_all_that_is_missing_at_once() {
    let site = Site::new("least-nothing");
    site.create_environment("ours");
    site.kubectl("default", &["create", "serviceaccount", "nobody"])
        .success();
    let nobody = site.create_account("nobody");
    let before = site.snapshot();
    let roles = site.desk.path("missing.yaml").display().to_string();
    let into = ["-e", "ours", "--pull-secret", "login"];
    let dry = [&into[..], &["--dry-run", "--missing-rights", &roles]].concat();
    let text = import(&site, &nobody, &dry).failure(1);
    for words in [
        "this user may not list nodes",
        "this user may not create configmaps in namespace metalk8s-solutions",
        "this user may not patch deployments.apps in namespace ours",
        "gives the operator the right to patch versionservers/status.example.metalk8s.test",
        "solution site rbac",
        " rights are missing",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert_eq!(site.snapshot(), before);
    // An untrusted registry hides none of them.
    let mut command = site.command();
    let registry = site.registry();
    command.args([
        "import",
        "1.0.0.iso",
        "--key",
        "publisher.pub",
        "-e",
        "ours",
    ]);
    command
        .args(["--registry", &registry])
        .env("KUBECONFIG", &nobody);
    let told = Answer::from_command(&mut command);
    assert_ne!(told.code, 0, "{told:?}");
    for words in [
        "also: this user may not list nodes",
        "--ca-file",
        "solution site rbac",
    ] {
        assert!(told.stderr.contains(words), "`{words}` is not in: {told:?}");
    }
    // The written role is sufficient, and names the user as the server does.
    let written = site.desk.read("missing.yaml");
    site.apply(&String::from_utf8(written).unwrap()).success();
    eventually("the rights hold", || {
        has_permission(&site, &nobody, &["list", "nodes"]).then_some(())
    });
    let again = import(&site, &nobody, &into);
    assert_eq!(again.code, 0, "{again:?}");
}

#[test]
fn what_charts_render_to_is_among_the_rights_and_is_enough() {
    let site = charts::site("least-charts");
    let archive = charts::pack(&site, "1.0.0", charts::VALUES);
    site.kubectl("default", &["create", "serviceaccount", "charts"])
        .success();
    let rbac = ["rbac", &archive, "--key", "publisher.pub", "-e", "prod"];
    let verbs = ["--verb", "deploy", "--verb", "undeploy", "--verb", "status"];
    let to = ["--serviceaccount", "default:charts"];
    let roles = charts::solution(&site, &[&rbac[..], &verbs, &to].concat()).success();
    site.apply(&roles).success();
    let user = site.create_account("charts");
    for (what, allowed) in [
        (&["patch", "job/web-setup", "--namespace", "prod"][..], true),
        (&["patch", "job/other", "--namespace", "prod"], false),
        (&["create", "secrets", "--namespace", "prod"], true),
        (&["create", "secrets", "--namespace", "default"], false),
    ] {
        assert_eq!(has_permission(&site, &user, what), allowed, "{what:?}");
    }
    let as_user = ["--kubeconfig", &user];
    charts::import(&site, &archive, &as_user).success();
    charts::solution(&site, &[&["status"][..], &as_user].concat()).success();
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    charts::solution(&site, &[&undeploy[..], &as_user].concat()).success();
}

#[test]
fn each_verb_needs_no_more_than_the_rights_that_are_printed_for_it() {
    let site = Site::new("least-verbs");
    let only = |verb: &str| {
        let archive = ["1.0.0.iso", "--key", "publisher.pub"];
        create_limited_account(&site, verb, &[&archive[..], &["--verb", verb]].concat())
    };
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let run = |user: &str, arguments: &[&str]| {
        let mut command = site.command();
        command.args(arguments).env("KUBECONFIG", user);
        Answer::from_command(&mut command).success()
    };
    import(&site, &only("import"), &[]).success();
    let environment = only("environment");
    run(&environment, &["environment", "create", "each"]);
    site.create_login("each");
    let activate = ["activate", "example", "--ca-file", &ca];
    run(&only("activate"), &activate);
    let into = ["-e", "each", "--pull-secret", "login"];
    let deploy = ["deploy", "example", "--ca-file", &ca];
    run(&only("deploy"), &[&deploy[..], &into].concat());
    run(&only("status"), &["status"]);
    run(
        &only("undeploy"),
        &["undeploy", "--yes", "example", "-e", "each"],
    );
    run(&only("deactivate"), &["deactivate", "--yes", "example"]);
    run(
        &only("unimport"),
        &["unimport", "--yes", "example", "1.0.0"],
    );
    run(&environment, &["environment", "delete", "--yes", "each"]);
    let status = site.solution(&["status", "--output", "json"]).json();
    for what in ["versions", "environments", "operators"] {
        assert_eq!(status[what], serde_json::json!([]), "{status:#}");
    }
}

#[test]
fn an_administrator_of_one_namespace_sees_it_and_is_told_at_once_what_stays_unseen() {
    let site = Site::new("least-status");
    for environment in ["ours", "theirs"] {
        site.create_environment(environment);
        let into = ["-e", environment, "--pull-secret", "login"];
        site.import("1.0.0.iso", &into).success();
    }
    let archive = ["1.0.0.iso", "--key", "publisher.pub"];
    let rbac = [&archive[..], &["--verb", "status", "-e", "ours"]].concat();
    let user = create_limited_account(&site, "seer", &rbac);
    for what in ["namespaces", "nodes", "crd", "configmaps"] {
        assert!(!has_permission(&site, &user, &["list", what]), "{what}");
    }
    let status = |more: &[&str]| {
        let mut command = site.command();
        Answer::from_command(command.arg("status").args(more).env("KUBECONFIG", &user))
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
            "what": "the active versions",
            "right": "list customresourcedefinitions.apiextensions.k8s.io",
        },
    ]);
    assert_eq!(seen["unseen"], unseen, "{seen:#}");
    assert!(!seen.to_string().contains("theirs"), "{seen:#}");
    // The deciding objects are hidden: this is not an approval, and no reason to stop at the first refusal.
    for (more, hidden) in [
        (
            &[][..],
            "imported versions and environments (list configmaps",
        ),
        (
            &["-n", "theirs"],
            "the Solutions that are deployed in namespace theirs (get configmaps namespace-theirs",
        ),
    ] {
        let text = status(more).failure(3);
        for words in [hidden, "the active versions (list", "solution site rbac"] {
            assert!(text.contains(words), "`{words}` is not in: {text}");
        }
    }
    assert_missing_rights_to_undo_are_named(&site);
    let scale = ["scale", "deployment/example-operator", "--replicas=0"];
    site.kubectl("ours", &scale).success();
    eventually("the cluster has observed that", || {
        let text = status(&["-n", "ours"]).failure(1);
        text.contains("scaled to zero pods").then_some(())
    });
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

/// A user with Kubernetes' own role `admin` in the namespace `ours`, and only the permissions that `solution site rbac`
/// prints for it.
struct Owner<'a> {
    site: &'a Site,
    config: String,
    authority: String,
}

impl<'a> Owner<'a> {
    fn new(site: &'a Site) -> Self {
        site.kubectl("default", &["create", "serviceaccount", "owner"])
            .success();
        let owner = Self {
            site,
            config: site.create_account("owner"),
            authority: variable("SOLUTION_TEST_REGISTRY_CA"),
        };
        owner.bind_admin("ours");
        owner
    }

    fn bind_admin(&self, namespace: &str) {
        let account = "--serviceaccount=default:owner";
        let bind = [
            "create",
            "rolebinding",
            "owner",
            "--clusterrole=admin",
            account,
        ];
        self.site.kubectl(namespace, &bind).success();
    }

    /// Grants the printed permissions for an imported version.
    fn grant_deploy(&self, version: &str) {
        let of = ["rbac", "example", version, "--ca-file", &self.authority];
        let whose = ["-n", "ours", "--serviceaccount", "default:owner"];
        let roles = self.site.solution(&[&of[..], &whose].concat()).success();
        self.site.apply(&roles).success();
    }

    fn run(&self, arguments: &[&str]) -> Answer {
        let mut command = self.site.command();
        Answer::from_command(command.args(arguments).env("KUBECONFIG", &self.config))
    }

    fn deploy(&self, version: &str, namespace: &str, more: &[&str]) -> Answer {
        let deploy = ["deploy", "example", version, "-n", namespace];
        let how = ["--ca-file", &self.authority, "--pull-secret", "login"];
        self.run(&[&deploy[..], &how, more].concat())
    }

    fn undeploy(&self, more: &[&str]) -> Answer {
        self.run(&[&["undeploy", "--yes", "example", "-n", "ours"], more].concat())
    }
}

/// Returns a site with the environment `ours`, and both versions imported and active.
fn active(name: &str) -> Site {
    let site = Site::new(name);
    site.create_environment("ours");
    site.import("1.0.0.iso", &[]).success();
    site.import("1.1.0.iso", &[]).success();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    site.solution(&["activate", "example", "1.1.0", "--ca-file", &ca])
        .success();
    site
}

#[test]
fn the_rights_for_an_imported_version_are_those_for_its_archive() {
    let site = Site::new("least-imported");
    site.import("1.0.0.iso", &[]).success();
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    for place in [&["-n", "ours"][..], &["-e", "ours"]] {
        let archive = [&["rbac", "1.0.0.iso", "--key", "publisher.pub"], place].concat();
        let imported = [&["rbac", "example", "1.0.0", "--ca-file", &ca], place].concat();
        let imported = site.solution(&imported).success();
        assert!(imported.contains("versionservers"), "{imported}");
        assert_eq!(imported, site.desk.solution(&archive).success());
    }
    let absent = ["rbac", "example", "9.9.9", "--ca-file", &ca];
    let text = site.solution(&absent).failure(1);
    assert!(text.contains("example 9.9.9 is not imported"), "{text}");
}

/// A user that may remove nothing is told all missing permissions at once.
fn assert_missing_rights_to_undo_are_named(site: &Site) {
    let seer = create_limited_account(site, "reader", &["--verb", "status"]);
    site.kubectl("default", &["create", "serviceaccount", "nobody"])
        .success();
    let nobody = site.create_account("nobody");
    let before = site.snapshot();
    let refused = |user: &str, undo: &[&str], missing: &[&str]| {
        let mut command = site.command();
        let text = Answer::from_command(command.args(undo).env("KUBECONFIG", user)).failure(1);
        for right in missing {
            let words = format!("this user may not {right}");
            assert!(text.contains(&words), "`{words}` is not in: {text}");
        }
        assert!(text.contains("nothing was changed"), "{text}");
    };
    let writes = [
        "create leases.coordination.k8s.io in namespace metalk8s-solutions",
        "patch configmaps in namespace metalk8s-solutions",
    ];
    let of = |more: &[&'static str]| [&writes[..], more].concat();
    let undeploy = ["undeploy", "--yes", "example", "-e", "ours", "-n", "ours"];
    let here = of(&[
        "delete deployments.apps in namespace ours",
        "list clusterroles.rbac.authorization.k8s.io",
        "patch serviceaccounts in namespace ours",
    ]);
    refused(&seer, &undeploy, &here);
    let crd = "delete customresourcedefinitions.apiextensions.k8s.io versionservers.example.metalk8s.test";
    let looks = of(&[
        "list versionservers.example.metalk8s.test",
        "list replicationcontrollers",
    ]);
    let deactivate = ["deactivate", "--yes", "example"];
    refused(&seer, &deactivate, &[&looks[..], &[crd]].concat());
    let record = "delete configmaps in namespace metalk8s-solutions";
    let unimport = ["unimport", "--yes", "example", "1.0.0"];
    refused(&seer, &unimport, &[&looks[..], &[record]].concat());
    let end = of(&[
        "delete namespaces in namespace ours",
        "list persistentvolumeclaims in namespace ours",
        "list versionservers.example.metalk8s.test in namespace ours",
        record,
    ]);
    refused(&seer, &["environment", "delete", "--yes", "ours"], &end);
    // If nothing can be read, the statically known permissions are named.
    let blind = of(&["list configmaps in namespace metalk8s-solutions"]);
    refused(
        &nobody,
        &undeploy,
        &[&blind[..], &["patch serviceaccounts in namespace ours"]].concat(),
    );
    refused(&nobody, &deactivate, &[&blind[..], &["list pods"]].concat());
    refused(
        &nobody,
        &["environment", "delete", "--yes", "ours"],
        &[&blind[..], &[record]].concat(),
    );
    assert_eq!(site.snapshot(), before);
}

#[test]
fn who_administers_one_namespace_runs_an_imported_version_there_without_any_right_in_the_cluster() {
    let site = active("least-alone");
    let owner = Owner::new(&site);
    assert_missing_record_is_named(&owner);
    for version in ["1.0.0", "1.1.0"] {
        owner.grant_deploy(version);
    }
    for what in ["nodes", "crd", "configmaps", "clusterroles"] {
        assert!(
            !has_permission(&site, &owner.config, &["list", what]),
            "{what}"
        );
    }
    let before = site.snapshot();
    let planned = owner.deploy("1.0.0", "ours", &["--dry-run", "--output", "json"]);
    assert_eq!(planned.code, 0, "{planned:?}");
    let unseen = planned.json()["unseen"].clone();
    let unseen = unseen.as_array().unwrap().iter();
    let unseen: Vec<&str> = unseen
        .map(|entry| entry["what"].as_str().unwrap())
        .collect();
    let expected = [
        "other versions and environments",
        "the active versions",
        "the site configuration of ours",
        "the platforms of the nodes",
    ];
    assert_eq!(unseen, expected);
    assert_eq!(site.snapshot(), before);
    let get = ["get", "configmaps,leases", "--output=yaml"];
    let records = || site.kubectl("metalk8s-solutions", &get).success();
    let recorded = records();
    owner.deploy("1.0.0", "ours", &[]).success();
    let status = owner.run(&["status", "-n", "ours", "--output", "json"]);
    assert_eq!(status.code, 0, "{status:?}");
    let status = status.json();
    assert_eq!(status["operators"][0]["condition"], "ready", "{status:#}");
    assert_eq!(status["operators"][0]["version"], "1.0.0", "{status:#}");
    // Upgrade, then remove everything.
    owner.deploy("1.1.0", "ours", &[]).success();
    let label = r"{.metadata.labels.app\.kubernetes\.io/version}";
    let version = || site.field("ours", "deployment/example-operator", label);
    assert_eq!(version(), "1.1.0");
    owner.undeploy(&["--dry-run"]).success();
    assert_eq!(version(), "1.1.0");
    owner.undeploy(&[]).success();
    assert_eq!(site.snapshot(), before);
    assert_eq!(records(), recorded);
    assert_administrators_deployment_replaces_own(&owner);
}

/// Without the record the archive is unknown. This is reported together with all other missing permissions.
fn assert_missing_record_is_named(owner: &Owner<'_>) {
    let before = owner.site.snapshot();
    let text = owner.deploy("1.0.0", "ours", &[]).failure(1);
    let missing =
        "this user may not get configmaps solution-example-1.0.0 in namespace metalk8s-solutions";
    assert!(text.contains(missing), "{text}");
    assert_eq!(owner.site.snapshot(), before);
}

/// The cluster's administrator deploys what the namespace's administrator has deployed. From then on it is theirs.
fn assert_administrators_deployment_replaces_own(owner: &Owner<'_>) {
    let site = owner.site;
    owner.deploy("1.0.0", "ours", &[]).success();
    // Commands that would remove the version's record or its CRDs report that it is in use.
    for undo in [
        &["unimport", "--yes", "example", "1.0.0"][..],
        &["deactivate", "--yes", "example"],
    ] {
        let text = site.solution(undo).failure(1);
        assert!(text.contains("Deployment ours/example-operator"), "{text}");
    }
    let own = ["get", "configmap", "example-operator-deployed"];
    site.kubectl("ours", &own).success();
    let into = ["-e", "ours", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    assert_eq!(site.kubectl("ours", &own).code, 1);
    for refused in [owner.deploy("1.0.0", "ours", &[]), owner.undeploy(&[])] {
        let text = refused.failure(1);
        let words = "example was not deployed in namespace `ours` by the namespace administrator";
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn what_reaches_beyond_a_namespace_is_refused_to_who_administers_only_it() {
    let site = Site::new("least-beyond");
    site.create_environment("ours");
    pack(&site, "configmaps", "", "Namespace", "wide.iso");
    site.import("1.0.0.iso", &[]).success();
    let owner = Owner::new(&site);
    owner.grant_deploy("1.0.0");
    site.import("wide.iso", &["--replace"]).success();
    let namespaces = |verb: &str| {
        let namespace = [verb, "namespace", "plain"];
        site.kubectl("default", &namespace).success();
    };
    let before = site.snapshot();
    let text = owner.deploy("1.0.0", "ours", &[]).failure(1);
    for words in [
        "ClusterRole solution:ours:ours:example:more is cluster-scoped",
        "CRD `versionservers.example.metalk8s.test` is not active",
        "`solution crds activate NAME VERSION`",
        "ask the cluster administrator to deploy it",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    namespaces("create");
    owner.bind_admin("plain");
    let text = owner.deploy("1.0.0", "plain", &[]).failure(1);
    let words = "namespace `plain` does not belong to an environment";
    assert!(text.contains(words), "{text}");
    namespaces("delete");
    assert_eq!(site.snapshot(), before);
}
