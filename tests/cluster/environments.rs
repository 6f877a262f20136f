//! Environments as an administrator means them: no new one by a slip of the hand, nothing gone that is still used, and
//! what stands stays until he says otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::site::{Site, difference, eventually, has_row, variable};
use crate::terminal::Terminal;

#[test]
fn a_mistyped_name_makes_no_environment() {
    let site = Site::new("typo");
    site.environment("production");
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
    assert_eq!(site.snapshot(), before);
    assert_eq!(site.tag("example-1.0.0/example-operator", "1.0.0"), None);
    // Meant, it is made; what cannot be known before is said.
    let plan = ["-e", "other", "--create-environment", "--dry-run"];
    let plan = site.import("1.0.0.iso", &plan).success();
    assert!(
        plan.contains("namespace other does not exist yet")
            && plan.contains("the dry-run did not cover"),
        "{plan}"
    );
    assert_eq!(site.snapshot(), before);
}

/// The login for nodes, as an administrator types it.
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
        .at("Run `solution setup` now? [Y/n] ", "\n")
        .at("Kubeconfig context [current]: ", "\n")
        .at(
            "Registry to push images to (HOST[/PREFIX]): ",
            &line(site.registry()),
        )
        .at(
            "Certificate authority",
            &line(variable("SOLUTION_TEST_REGISTRY_CA")),
        )
        .at("[the same]: ", &line(site.pull_registry()))
        .at("that may only pull, for nodes: ", &user)
        .at("Password for ", &password)
        .at("Public key of a publisher to trust", "publisher.pub\n")
        .at("Is it the same? [y/N] ", "y\n")
        .at("[*]: ", "\n")
        .at("Name of the policy [publisher]: ", "\n")
        .at("Another public key: ", "\n")
        .at("Environment that commands use by default: ", "\n")
        .at("Write this? [Y/n] ", "\n")
        .at(
            "environment `configured` does not exist; create it?",
            "yes\n",
        )
        .ended(0);
    let secrets = "{.imagePullSecrets[*].name}";
    let account = site.field("configured", "serviceaccount/example-operator", secrets);
    assert_eq!(account, "example-registry-login");

    // All parts pass, and a plan in a file has no login.
    site.solution(&["setup", "--check"]).success();
    let pull_secret = |more: &[&str]| {
        let import = ["import", "1.1.0.iso", "--output", "json", "-e"];
        let answer = site.solution(&[&import[..], more].concat()).json();
        // Of a plan that is blocked, it is one of the fields.
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
    // The choice of the site has precedence, also where its Secret is missing.
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
    site.login("elsewhere");
    site.import("1.0.0.iso", &["-e", "stands", "--pull-secret", "login"])
        .success();
    // Neither the namespace, nor the Secret, nor the name by which nodes pull.
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
    let shown = crate::common::Answer::of(&mut upgrade).success();
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
    // The namespace's own account, to which the secret was added, too.
    assert!(plan.contains("ServiceAccount elsewhere/default"), "{plan}");
}

#[test]
fn nodes_get_a_login_of_their_own() {
    let site = Site::new("pull-login");
    site.solution(&["environment", "create", "logins"])
        .success();
    let before = site.snapshot();
    // The login that pushes, under the name by which nodes know the registry.
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
    // It stays with the next version, and goes with the last.
    let shown = site.import("1.1.0.iso", &["-e", "logins"]).success();
    assert!(
        !shown.contains("which this change does not create"),
        "{shown}"
    );
    site.solution(&["undeploy", "--yes", "example", "-e", "logins"])
        .success();
    let left = site.kubectl("logins", &["get", "secrets", "--output=name"]);
    assert_eq!(left.success(), "");
}

#[test]
fn a_removal_can_be_shown_first() {
    let site = Site::new("dry");
    site.environment("dry");
    site.import("1.0.0.iso", &["-e", "dry", "--pull-secret", "login"])
        .success();
    let before = site.snapshot();
    let undeploy = ["undeploy", "--yes", "example", "-e", "dry"];
    let shown = site
        .solution(&[&undeploy[..], &["--dry-run"]].concat())
        .success();
    assert!(
        shown.contains("    - Deployment dry/example-operator\n"),
        "{shown}"
    );
    assert_eq!(site.snapshot(), before);
    site.solution(&undeploy).success();
    for verb in [
        &["deactivate", "--yes", "example"][..],
        &["unimport", "--yes", "example", "1.0.0"],
        &["environment", "delete", "--yes", "dry"],
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

/// CRDs that are there are taken over by their own word, and not by the one for namespaces.
#[test]
fn definitions_are_adopted_by_their_own_word() {
    let site = Site::new("adopt-crds");
    site.environment("words");
    let crds = site.desk.path("1.0.0/operator/deploy/crds");
    let create = ["create", "--filename", crds.to_str().unwrap()];
    site.kubectl("default", &create).success();
    let into = ["-e", "words", "--pull-secret", "login"];
    let adopt = |what| [&into[..], &["--adopt", what]].concat();
    let text = site.import("1.0.0.iso", &adopt("namespace")).failure(1);
    assert!(text.contains("--adopt crds"), "{text}");
    site.import("1.0.0.iso", &adopt("crds")).success();
}

/// An environment `shown` with a namespace that was made for it, in which 1.0.0 runs, and an adopted one, `before`.
fn shown(site: &Site) {
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
    site.login("shown");
    let into = ["-e", "shown", "--namespace", "shown"];
    let login = ["--pull-secret", "login"];
    site.import("1.0.0.iso", &[&into[..], &login].concat())
        .success();
}

#[test]
fn an_environment_is_described_as_it_is() {
    let site = Site::new("describe");
    shown(&site);
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

#[test]
fn what_is_not_as_recorded_is_described() {
    let site = Site::new("undescribed");
    shown(&site);
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
    site.environment("wide");
    let create = ["environment", "create", "wide", "--namespace", "annex"];
    site.solution(&create).success();
    site.login("annex");
    let login = ["-e", "wide", "--pull-secret", "login"];
    // Which of the two is not guessed.
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
    let first = site.everything("wide");
    let undeploy = ["undeploy", "--yes", "example", "-e", "wide"];
    let there = [&undeploy[..], &["-n", "annex"]].concat();
    site.solution(&there).success();
    assert_eq!(difference(&first, &site.everything("wide")), "");
    let delete = ["environment", "delete", "--yes", "wide"];
    let text = site.solution(&delete).failure(1);
    assert!(text.contains("undeploy example"), "{text}");
    assert_eq!(difference(&first, &site.everything("wide")), "");
    site.solution(&undeploy).success();
    site.solution(&delete).success();
    for namespace in ["wide", "annex"] {
        let gone = site.kubectl("default", &["get", "namespace", namespace]);
        assert!(gone.stderr.contains("NotFound"), "{gone:?}");
    }
}

#[test]
fn an_environment_that_is_not_there_is_not_deleted() {
    let site = Site::new("absent");
    site.environment("there");
    let before = site.snapshot();
    let text = site
        .solution(&["environment", "delete", "--yes", "their"])
        .failure(1);
    assert!(
        text.contains("environment `their` does not exist"),
        "{text}"
    );
    assert_eq!(site.snapshot(), before);
}

/// Upstream's list of environments breaks while one of their namespaces goes.
#[test]
fn a_namespace_that_does_not_go_holds_up_no_other_environment() {
    let site = Site::new("stuck");
    for environment in ["stuck", "free"] {
        site.environment(environment);
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
    // Whatever the answers are, the namespace must be able to go.
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
        let going: Vec<_> = spaces.map(|it| (&it["namespace"], &it["going"])).collect();
        let expected = [
            (&json!("free"), &Value::Null),
            (&json!("stuck"), &json!(true)),
        ];
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

/// How many requests the status of the cluster takes an administrator of all of it.
fn requests(site: &Site) -> usize {
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
        site.environment(environment);
        let into = ["-e", environment, "--pull-secret", "login"];
        site.import("1.0.0.iso", &into).success();
    };
    deploy("one");
    let of_one = requests(&site);
    for environment in ["two", "three"] {
        deploy(environment);
    }
    assert_eq!(requests(&site), of_one);
    // One that lost its label is looked for by its name.
    let label = "solutions.metalk8s.scality.com/solution-";
    let unlabel = ["label", "deployment", "example-operator", label];
    site.kubectl("two", &unlabel).success();
    assert_eq!(requests(&site), of_one + 1);
}
