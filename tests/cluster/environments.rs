//! Environments: a typing error creates no environment, nothing in use is deleted, and settings are kept until an
//! administrator changes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::site::{Site, difference, eventually, has_row, variable};
use crate::terminal::Terminal;

#[test]
fn a_mistyped_name_makes_and_deletes_no_environment() {
    let site = Site::new("typo");
    site.create_environment("production");
    let before = site.snapshot();
    let into = ["-e", "produciton"];
    let text = site.import("1.0.0.iso", &into).failure(1);
    for words in [
        "environment `produciton` does not exist",
        "did you mean `production`?",
        "--create-environment",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
    let delete = ["environment", "delete", "--yes", "produciton"];
    let text = site.solution(&delete).failure(1);
    let words = "environment `produciton` does not exist";
    assert!(text.contains(words), "{text}");
    assert_eq!(site.snapshot(), before);
    assert_eq!(site.tag("example-1.0.0/example-operator", "1.0.0"), None);
    // The flag creates it. The plan names the effects that it cannot compute in advance.
    let plan = ["-e", "other", "--create-environment", "--dry-run"];
    let plan = site.import("1.0.0.iso", &plan).success();
    assert!(
        plan.contains("namespace other does not exist yet")
            && plan.contains("the dry-run did not cover"),
        "{plan}"
    );
    assert_eq!(site.snapshot(), before);
}

/// Returns the nodes' login, as an administrator types it.
fn typed_login() -> (String, String) {
    let login = std::fs::read(variable("SOLUTION_TEST_PULL_SECRET")).unwrap();
    let login: Value = serde_json::from_slice(&login).unwrap();
    let auths = login["auths"].as_object().unwrap();
    let auth = auths.values().next().unwrap()["auth"].as_str().unwrap();
    let pair = String::from_utf8(STANDARD.decode(auth).unwrap()).unwrap();
    let (user, password) = pair.split_once(':').unwrap();
    (format!("{user}\n"), format!("{password}\n"))
}

#[test]
fn an_import_offers_to_set_up_what_is_missing_and_then_needs_no_flag() {
    let site = Site::new("configured");
    let login = "REGISTRY_AUTH_FILE";
    let variables = [
        ("KUBECONFIG", site.kubeconfig().to_owned()),
        (login, variable(login)),
    ];
    let line = |typed: String| typed + "\n";
    let (user, password) = typed_login();
    let import = "solution import 1.0.0.iso -e configured";
    Terminal::run(&site.desk, import, &variables)
        .answer("Run `solution setup` now? [Y/n] ", "\n")
        .answer("Kubeconfig context [current]: ", "\n")
        .answer(
            "Registry to push images to (HOST[/PREFIX]): ",
            &line(site.registry()),
        )
        .answer(
            "Certificate authority",
            &line(variable("SOLUTION_TEST_REGISTRY_CA")),
        )
        .answer("[the same]: ", &line(site.pull_registry()))
        .answer("for nodes, or the path of a login file: ", &user)
        .answer("Password for ", &password)
        .answer("Public key of a publisher to trust", "publisher.pub\n")
        .answer("Is it the same? [y/N] ", "y\n")
        .answer("[*]: ", "\n")
        .answer("Name of the policy [publisher]: ", "\n")
        .answer("Another public key: ", "\n")
        .answer("Environment that commands use by default: ", "\n")
        .answer("Write this? [Y/n] ", "\n")
        .answer(
            "environment `configured` does not exist; create it?",
            "yes\n",
        )
        .wait_for_exit(0);
    let secrets = "{.imagePullSecrets[*].name}";
    let account = site.field("configured", "serviceaccount/example-operator", secrets);
    assert_eq!(account, "example-registry-login");

    // All checks pass, and a plan file contains no login.
    site.solution(&["setup", "--check"]).success();
    let pull_secret = |more: &[&str]| {
        let import = ["import", "1.1.0.iso", "--output", "json", "-e"];
        let answer = site.solution(&[&import[..], more].concat()).json();
        // A blocked plan is a field of the answer.
        let plan = answer.get("plan").unwrap_or(&answer);
        let defaults = plan["defaults"].as_array();
        let mut defaults = defaults.unwrap_or_else(|| panic!("{answer}")).iter();
        let found = defaults.find(|found| found["flag"] == "--pull-secret");
        let found = found.unwrap_or_else(|| panic!("{plan}"));
        [&found["value"], &found["why"]].map(|text| text.as_str().unwrap().to_owned())
    };
    let planned = pull_secret(&["configured", "--plan-out", "plan.json"]);
    assert_eq!(planned, ["example-registry-login", "unchanged"]);
    assert!(site.desk.path("plan.json").exists());
    let planned = pull_secret(&["other", "--create-environment", "--dry-run"]);
    let configured = ["example-registry-login", "from the configured pull login"];
    assert_eq!(planned, configured);
    // The site's setting has precedence, even if its Secret does not exist.
    let kind = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: Site\n";
    let text = format!("{kind}spec: {{pullSecret: login}}\n");
    site.desk.write("site.yaml", text);
    site.solution(&["site", "set", "site.yaml"]).success();
    let planned = pull_secret(&["configured", "--dry-run"]);
    assert_eq!(planned[0], "login");
}

#[test]
fn what_stands_in_an_environment_stays() {
    let site = Site::new("stands");
    site.solution(&[
        "environment",
        "create",
        "stands",
        "--namespace",
        "elsewhere",
    ])
    .success();
    site.create_login("elsewhere");
    site.import("1.0.0.iso", &["-e", "stands", "--pull-secret", "login"])
        .success();
    // The namespace, the Secret and the name of the nodes' registry are all omitted.
    let mut upgrade = site.command();
    let registry = site.registry();
    upgrade.args([
        "import",
        "1.1.0.iso",
        "--key",
        "publisher.pub",
        "--registry",
        &registry,
    ]);
    upgrade.args([
        "--ca-file",
        &variable("SOLUTION_TEST_REGISTRY_CA"),
        "-e",
        "stands",
        "--details",
    ]);
    let shown = crate::common::Answer::from_command(&mut upgrade).success();
    for words in [
        format!("nodes pull from {}", site.pull_registry()),
        "--pull-registry: ".to_owned(),
        "--pull-secret login (unchanged)".to_owned(),
        "--namespace: the namespace of the environment".to_owned(),
    ] {
        assert!(shown.contains(&words), "`{words}` is not in: {shown}");
    }
    let secrets = "{.imagePullSecrets[*].name}";
    let account = site.field("elsewhere", "serviceaccount/example-operator", secrets);
    assert_eq!(account, "login");
    let plan = site
        .import(
            "1.1.0.iso",
            &["-e", "stands", "--no-pull-secret", "--dry-run", "--details"],
        )
        .success();
    assert!(plan.contains("imagePullSecrets"), "{plan}");
    // The plan also names the namespace's own account, to which the secret was added.
    assert!(plan.contains("ServiceAccount elsewhere/default"), "{plan}");
}

#[test]
fn nodes_get_a_login_of_their_own() {
    let site = Site::new("pull-login");
    site.solution(&["environment", "create", "logins"])
        .success();
    let before = site.snapshot();
    // The login for pushing, under the nodes' name of the registry.
    let pushes = std::fs::read_to_string(variable("REGISTRY_AUTH_FILE")).unwrap();
    let host = |name: &str| variable(name);
    let (push, pull) = (
        host("SOLUTION_TEST_PUSH_REGISTRY"),
        host("SOLUTION_TEST_PULL_REGISTRY"),
    );
    site.desk.write("pushes.json", pushes.replace(&push, &pull));
    let text = site
        .import(
            "1.0.0.iso",
            &["-e", "logins", "--pull-login", "pushes.json"],
        )
        .failure(1);
    assert!(text.contains("is the login that pushes"), "{text}");
    assert_eq!(site.snapshot(), before);
    let nodes = variable("SOLUTION_TEST_PULL_SECRET");
    site.import("1.0.0.iso", &["-e", "logins", "--pull-login", &nodes])
        .success();
    let login = "secret/example-registry-login";
    assert_eq!(
        site.field("logins", login, "{.type}"),
        "kubernetes.io/dockerconfigjson"
    );
    // The next version keeps it, and the last removal deletes it.
    let shown = site.import("1.1.0.iso", &["-e", "logins"]).success();
    assert!(
        !shown.contains("which this change does not create"),
        "{shown}"
    );
    assert_undeploy_is_shown(&site);
    let left = site.kubectl("logins", &["get", "secrets", "--output=name"]);
    assert_eq!(left.success(), "");
    assert_other_removals_are_shown(&site);
}

/// Undeploys the example after a dry run.
fn assert_undeploy_is_shown(site: &Site) {
    let before = site.snapshot();
    let undeploy = ["undeploy", "--yes", "example", "-e", "logins"];
    let shown = site
        .solution(&[&undeploy[..], &["--dry-run"]].concat())
        .success();
    assert!(
        shown.contains("    - Deployment logins/example-operator\n"),
        "{shown}"
    );
    assert_eq!(site.snapshot(), before);
    site.solution(&undeploy).success();
}

/// Removes everything else, each after a dry run.
fn assert_other_removals_are_shown(site: &Site) {
    for verb in [
        &["deactivate", "--yes", "example"][..],
        &["unimport", "--yes", "example", "1.0.0"],
        &["environment", "delete", "--yes", "logins"],
    ] {
        let before = site.snapshot();
        let shown = site.solution(&[verb, &["--dry-run"]].concat()).success();
        assert!(
            shown.contains("0 to create, 0 to change, "),
            "{verb:?}: {shown}"
        );
        assert_eq!(site.snapshot(), before, "{verb:?}");
        site.solution(verb).success();
    }
}

/// Creates an environment `shown` with its own namespace, in which 1.0.0 runs, and an adopted one, `before`.
fn create_shown_environments(site: &Site) {
    let create = ["environment", "create", "shown"];
    let described = ["--description", "for all to see"];
    site.solution(&[&create[..], &described].concat()).success();
    let kubectl = |arguments: &[&str]| site.kubectl("shown", arguments).success();
    kubectl(&["create", "namespace", "before"]);
    let adopt = ["--namespace", "before", "--adopt", "namespace"];
    site.solution(&[&create[..], &adopt].concat()).success();
    let level = "pod-security.kubernetes.io/enforce=baseline";
    kubectl(&["label", "namespace", "shown", level]);
    kubectl(&["create", "quota", "few", "--hard=pods=9"]);
    site.create_login("shown");
    import_adopting_definitions(site);
}

/// Imports 1.0.0 while its CRDs belong to others. A separate flag adopts them; the one for namespaces does not.
fn import_adopting_definitions(site: &Site) {
    let crds = site.desk.path("1.0.0/operator/deploy/crds");
    let create = ["create", "--filename", crds.to_str().unwrap()];
    site.kubectl("default", &create).success();
    let into = ["-e", "shown", "--namespace", "shown"];
    let login = ["--pull-secret", "login"];
    let adopt = |what| [&into[..], &login, &["--adopt", what]].concat();
    let text = site.import("1.0.0.iso", &adopt("namespace")).failure(1);
    assert!(text.contains("--adopt crds"), "{text}");
    site.import("1.0.0.iso", &adopt("crds")).success();
}

#[test]
fn an_environment_is_described_as_it_is() {
    let site = Site::new("describe");
    create_shown_environments(&site);
    assert_recorded_state_is_described(&site);
    assert_changed_state_is_described(&site);
}

fn assert_recorded_state_is_described(site: &Site) {
    let before = site.snapshot();
    let describe = ["environment", "describe", "shown", "--output", "json"];
    let answer = site.solution(&describe);
    assert_eq!((answer.code, site.snapshot()), (0, before), "{answer:?}");
    let shown = answer.json();
    assert_eq!(shown["notes"], json!([]), "{shown:#}");
    let [adopted, space] = [0, 1].map(|at| &shown["namespaces"][at]);
    let uid = site.field("default", "namespace/shown", "{.metadata.uid}");
    let operator = &space["operators"][0];
    for (object, field, value) in [
        (adopted, "origin", "adopted"),
        (space, "origin", "created"),
        (space, "uid", uid.as_str()),
        (space, "identity", "recorded"),
        (space, "description", "for all to see"),
        (space, "podSecurity", "baseline"),
        (&space["quotas"][0]["hard"], "pods", "9"),
        (operator, "version", "1.0.0"),
        (operator, "condition", "ready"),
        (operator, "pullSecret", "login"),
    ] {
        assert_eq!(object[field], value, "{shown:#}");
    }
    let absent = ["environment", "describe", "other"];
    let text = site.solution(&absent).failure(1);
    assert!(
        text.contains("environment `other` does not exist"),
        "{text}"
    );
}

/// Other users scale the operator, recreate a namespace and label another one.
fn assert_changed_state_is_described(site: &Site) {
    let kubectl = |arguments: &[&str]| site.kubectl("shown", arguments).success();
    kubectl(&["scale", "deployment", "example-operator", "--replicas=0"]);
    kubectl(&["delete", "namespace", "before"]);
    kubectl(&["create", "namespace", "before"]);
    kubectl(&["create", "namespace", "claims"]);
    let label = "solutions.metalk8s.scality.com/environment=shown";
    kubectl(&["label", "namespace", "claims", label]);
    let describe = ["environment", "describe", "shown"];
    let text = eventually("the operator's last pod is gone", || {
        let text = site.solution(&describe).failure(1);
        let words = "its Deployment is scaled to zero pods";
        text.contains(words).then_some(text)
    });
    for words in [
        "hint: scale it up again with `kubectl scale`",
        "namespace before  adopted, was deleted and created again by another user",
        "namespace claims is labelled as environment `shown`, but does not belong to an environment",
        "quota         few: pods ",
        "pull secret login",
    ] {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}

#[test]
fn a_second_namespace_has_a_version_of_its_own_and_goes_with_its_environment() {
    let site = Site::new("wide");
    site.create_environment("wide");
    let create = ["environment", "create", "wide", "--namespace", "annex"];
    site.solution(&create).success();
    site.create_login("annex");
    let login = ["-e", "wide", "--pull-secret", "login"];
    // The program does not guess which of the two is right.
    let before = site.snapshot();
    let text = site.import("1.0.0.iso", &login).failure(1);
    assert!(text.contains("--namespace"), "{text}");
    let text = site
        .import("1.0.0.iso", &[&login[..], &["-n", "elsewhere"]].concat())
        .failure(1);
    assert!(text.contains("elsewhere"), "{text}");
    assert_eq!(site.snapshot(), before);
    for (archive, namespace) in [("1.0.0.iso", "wide"), ("1.1.0.iso", "annex")] {
        let into = [&login[..], &["--namespace", namespace]].concat();
        site.import(archive, &into).success();
    }
    let status = site.solution(&["status", "--output", "json"]).json();
    for (at, namespace, version) in [(0, "annex", "1.1.0"), (1, "wide", "1.0.0")] {
        let operator = &status["operators"][at];
        let shown = ["environment", "namespace", "version", "condition"];
        let shown = shown.map(|field| operator[field].as_str().unwrap());
        assert_eq!(shown, ["wide", namespace, version, "ready"]);
    }
    let selected = |words: &[&str]| {
        let words = [&["status", "-o", "json"], words].concat();
        let status = site.solution(&words).json();
        let counted = ["versions", "environments", "operators"];
        counted.map(|field| status[field].as_array().unwrap().len())
    };
    assert_eq!(selected(&["example", "-e", "wide"]), [2, 2, 2]);
    assert_eq!(selected(&["-A"]), selected(&[]));
    assert_eq!(selected(&["-e", "nowhere"]), [0, 0, 0]);
    let unknown = site.solution(&["status", "nothing"]).failure(1);
    assert!(
        unknown.contains("no version of `nothing` is imported"),
        "{unknown}"
    );
    let first = site.objects_in("wide");
    let undeploy = ["undeploy", "--yes", "example", "-e", "wide"];
    let there = [&undeploy[..], &["-n", "annex"]].concat();
    site.solution(&there).success();
    assert_eq!(difference(&first, &site.objects_in("wide")), "");
    let delete = ["environment", "delete", "--yes", "wide"];
    let text = site.solution(&delete).failure(1);
    assert!(text.contains("undeploy example"), "{text}");
    assert_eq!(difference(&first, &site.objects_in("wide")), "");
    site.solution(&undeploy).success();
    site.solution(&delete).success();
    for namespace in ["wide", "annex"] {
        let gone = site.kubectl("default", &["get", "namespace", namespace]);
        assert!(gone.stderr.contains("NotFound"), "{gone:?}");
    }
}

/// Upstream's list of environments becomes invalid while one of their namespaces is deleted.
#[test]
fn a_namespace_that_does_not_go_holds_up_no_other_environment() {
    let site = Site::new("stuck");
    for environment in ["stuck", "free"] {
        site.create_environment(environment);
    }
    let into = ["--pull-secret", "login", "-e"];
    let import = |archive, environment| site.import(archive, &[&into[..], &[environment]].concat());
    import("1.0.0.iso", "free").success();
    let kubectl = |arguments: &[&str]| site.kubectl("stuck", arguments).success();
    kubectl(&["create", "configmap", "stays"]);
    let finalizers = |list: &str| {
        let patch = format!(r#"--patch={{"metadata": {{"finalizers": {list}}}}}"#);
        kubectl(&["patch", "configmap", "stays", "--type=merge", &patch]);
    };
    finalizers(r#"["example.test/stays"]"#);
    kubectl(&["delete", "namespace", "stuck", "--wait=false"]);
    let before = site.snapshot();
    let refused = import("1.0.0.iso", "stuck");
    let listed = site.solution(&["environment", "list"]);
    let told = [&["environment", "list"][..], &["status"]]
        .map(|verb| site.solution(&[verb, &["--output", "json"]].concat()));
    let described = site.solution(&["environment", "describe", "stuck"]);
    let after = site.snapshot();
    let upgraded = import("1.1.0.iso", "free");
    let status = site.solution(&["status"]);
    let create = || site.solution(&["environment", "create", "stuck"]);
    let created = create();
    let delete = ["environment", "delete", "--yes", "stuck"];
    let deleted = site.solution(&[&delete[..], &["--timeout", "2"]].concat());
    // The namespace must be deletable after any result.
    finalizers("null");
    let going = "namespace `stuck` is being deleted";
    for refused in [refused, created] {
        assert!(refused.stderr.contains(going), "{refused:?}");
        assert_eq!(refused.code, 1, "{refused:?}");
    }
    assert_eq!(after, before);
    let listed = listed.success();
    let titles = "ENVIRONMENT/NAMESPACE/STATUS/SOLUTIONS/DESCRIPTION";
    let (free, stuck) = (
        "free/free/active/example 1.0.0/-",
        "stuck/stuck/being deleted/-/-",
    );
    for row in [titles, free, stuck] {
        let cells: Vec<&str> = row.split('/').collect();
        assert!(has_row(&listed, &cells), "{row}: {listed}");
    }
    for told in told {
        let told = told.json();
        let spaces = told["environments"].as_array().unwrap().iter();
        let going: Vec<_> = spaces
            .map(|space| [&space["namespace"], &space["going"]])
            .collect();
        let (free, stuck) = (json!("free"), json!("stuck"));
        let expected = [[&free, &Value::Null], [&stuck, &json!(true)]];
        assert_eq!(going, expected, "{told:#}");
    }
    let described = described.success();
    assert!(described.contains("is being deleted"), "{described}");
    upgraded.success();
    let status = status.success();
    assert!(status.starts_with("ENVIRONMENT  SOLUTION  VERSION  PODS  STATUS\n"));
    for cells in [
        ["free", "example", "1.1.0", "1/1", "ready"],
        ["stuck", "-", "-", "-", "namespace is being deleted"],
    ] {
        assert!(has_row(&status, &cells), "{status}");
    }
    let deleted = deleted.failure(3);
    assert!(deleted.contains("not deleted after 2 s: Namespace stuck"));
    site.solution(&delete).success();
    create().success();
}

/// Returns the number of requests of a cluster status, for a cluster administrator.
fn count_requests(site: &Site) -> usize {
    let all = variable("KUBECONFIG");
    let answer = site.solution(&["status", "-v", "--kubeconfig", &all]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let lines = answer.stderr.lines();
    lines.filter(|line| line.ends_with(" ms")).count()
}

#[test]
fn the_status_of_more_environments_takes_no_more_requests() {
    let site = Site::new("many");
    let deploy = |environment: &str| {
        site.create_environment(environment);
        let into = ["-e", environment, "--pull-secret", "login"];
        site.import("1.0.0.iso", &into).success();
    };
    deploy("one");
    let of_one = count_requests(&site);
    for environment in ["two", "three"] {
        deploy(environment);
    }
    assert_eq!(count_requests(&site), of_one);
    // A namespace without its label is found by its name.
    let label = "solutions.metalk8s.scality.com/solution-";
    let unlabel = ["label", "deployment", "example-operator", label];
    site.kubectl("two", &unlabel).success();
    assert_eq!(count_requests(&site), of_one + 1);
}
