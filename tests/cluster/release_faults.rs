//! Failures of releases that are packaged as they are. A failed upgrade is rolled back. A change that failed or was
//! killed completes when the command runs again. A rollback of one release affects no other one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::admission::Admission;
use crate::common::Answer;
use crate::faults::{Share, kill_everywhere, run};
use crate::releases::{CONVERTED, OWN, import, pack, pack_as, pods, release};
use crate::site::{Site, consent_id, difference, eventually};

/// The timeout for a version that never becomes ready.
const SHORT: [&str; 2] = ["--timeout", "16"];

/// An additional object of a later version.
const MORE: &str = "
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-more, namespace: shop-system}
data: {more: 'yes'}
";

/// Returns the release with pods that never become ready.
fn with_broken_pods(release: &str) -> String {
    release.replace("port: 8080}, periodSeconds", "port: 8081}, periodSeconds")
}

/// Returns all objects in a namespace, except the cluster's history of former versions and the results of Jobs.
fn objects_in_namespace(site: &Site) -> BTreeMap<String, Value> {
    let mut all = site.objects_in("prod");
    all.retain(|name, _| !name.starts_with("ReplicaSet ") && !name.starts_with("Endpoint"));
    all
}

fn status(site: &Site) -> Value {
    site.solution(&["status", "--output", "json"]).json()
}

/// Asserts that a version runs, and that no change is incomplete.
#[track_caller]
fn assert_runs(site: &Site, version: &str) {
    let status = status(site);
    let operator = &status["operators"][0];
    let told = [&operator["version"], &operator["condition"]];
    assert_eq!(told, [version, "ready"], "{status:#}");
    assert!(status["incomplete"].is_null(), "{status:#}");
}

/// Objects of a kind in a version that is no longer served, and of an unknown kind.
const UNKNOWN: &str = "
---
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: shop, namespace: shop-system}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: shop}}}
---
apiVersion: nowhere.example.test/v1
kind: Widget
metadata: {name: shop, namespace: shop-system}
";

/// Kinds that the cluster does not know are named before anything is written.
fn assert_unknown_kinds_are_named(site: &Site) {
    let archive = pack(
        site,
        "0.9.0",
        OWN,
        &format!("{}{UNKNOWN}", release("hello", "one")),
    );
    let before = site.snapshot();
    let refused = import(site, &archive, &[]).failure(1);
    for words in [
        "cannot create PodDisruptionBudget prod/shop: the cluster does not serve kind PodDisruptionBudget in policy/v1beta1; the cluster serves it in policy/v1",
        "cannot create Widget prod/shop: the cluster does not serve kind Widget in nowhere.example.test/v1, and neither the cluster nor the archive has a CRD for it",
    ] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert_eq!(site.snapshot(), before);
}

#[test]
fn an_upgrade_that_never_becomes_ready_is_taken_back_and_unchanged_pods_stay() {
    let site = Site::new("carried-back");
    site.create_environment("prod");
    assert_unknown_kinds_are_named(&site);
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    import(&site, &first, &[]).success();
    let (before, running) = (objects_in_namespace(&site), pods(&site, "prod"));

    let second = format!("{}{MORE}", release("good day", "one"));
    let second = pack(&site, "2.0.0", OWN, &with_broken_pods(&second));
    let failed = import(&site, &second, &SHORT);
    let words = "version 2.0.0 did not become ready and was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert!(failed.stderr.contains("Deployment prod/shop"), "{failed:?}");
    assert_runs(&site, "1.0.0");
    eventually("everything is as before", || {
        difference(&before, &objects_in_namespace(&site))
            .is_empty()
            .then_some(())
    });
    eventually("only the pods that were there are", || {
        (pods(&site, "prod") == running).then_some(())
    });
    let history = site.solution(&["history", "shop"]).success();
    assert!(history.contains("rolled back"), "{history}");
    let again = import(&site, &first, &["--output", "json"]).json();
    assert_eq!(again["objects"], serde_json::json!([]), "{again}");

    let third = format!("{}{MORE}", release("good day", "one"));
    let third = pack(&site, "2.0.1", OWN, &third);
    import(&site, &third, &[]).success();
    assert_runs(&site, "2.0.1");
    assert_eq!(pods(&site, "prod"), running);
    assert_eq!(
        site.field("prod", "configmap/shop-more", "{.data.more}"),
        "yes"
    );
}

/// A policy that rejects an object only when it is written: the plan's dry run succeeds.
const REFUSES: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: refuses}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - {apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  validations:
    - expression: object.metadata.name != 'shop-more' || (has(request.dryRun) && request.dryRun)
      message: refused by the test
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: refuses}
spec: {policyName: refuses, validationActions: [Deny]}
";

fn create_refusing_policy(site: &Site) -> Admission {
    let admission = Admission::create(site, REFUSES);
    eventually("the object is refused", || {
        let create = ["create", "configmap", "shop-more"];
        let made = site.kubectl("default", &create).code == 0;
        if made {
            let delete = ["delete", "configmap", "shop-more"];
            site.kubectl("default", &delete).success();
        }
        (!made).then_some(())
    });
    admission
}

/// Upgrades from 1.0.0. The API server rejects an object half-way, and accepts it when the command runs again.
fn assert_refused_upgrade_completes(site: &Site) {
    let running = pods(site, "prod");

    // Eight objects are written at a time, so some of the first ten exist when the rejected one fails.
    let more = |i| MORE.replace("shop-more", &format!("shop-more-{i}"));
    let [first_ten, others] = [0..10, 10..20].map(|all| all.map(more).collect::<String>());
    let text = release("good day", "one");
    let second = format!("{text}{first_ten}{MORE}{others}");
    let second = pack(site, "2.1.0", OWN, &second);
    let policy = create_refusing_policy(site);
    let failed = import(site, &second, &["--output", "json"]);
    assert_ne!(failed.code, 0);
    let refused = failed.stdout.contains("refused by the test");
    assert!(refused, "{failed:?}");
    let told = status(site);
    assert_eq!(told["operators"][0]["version"], "1.0.0", "{told:#}");
    let incomplete = &told["incomplete"][0];
    assert_eq!(incomplete["verb"], "import", "{told:#}");
    // Every written object is recorded, whichever object failed.
    let objects = incomplete["written"].as_array().unwrap();
    let listed = site.kubectl("prod", &["get", "configmaps", "--output=name"]);
    let listed = listed.success();
    let made = listed.lines().filter(|line| line.contains("/shop-more-"));
    let made: Vec<&str> = made.collect();
    assert!(made.len() >= 3 && made.len() < 20, "{made:?}");
    for made in made {
        let name = made.rsplit('/').next().unwrap();
        let name = format!("ConfigMap prod/{name}");
        assert!(
            objects.iter().any(|object| *object == *name),
            "{name}: {told:#}"
        );
    }
    assert_eq!(pods(site, "prod"), running);

    drop(policy);
    eventually("the object is taken", || {
        (import(site, &second, &[]).code == 0).then_some(())
    });
    assert_runs(site, "2.1.0");
    assert_eq!(pods(site, "prod"), running);
}

#[test]
fn an_upgrade_that_is_refused_half_way_is_told_and_completes_when_it_is_run_again() {
    let site = Site::new("carried-mixed");
    site.create_environment("prod");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    import(&site, &first, &[]).success();
    let (before, running) = (objects_in_namespace(&site), pods(&site, "prod"));
    let second = format!("{}{MORE}", release("good day", "one"));
    let second = pack(&site, "2.0.0", OWN, &with_broken_pods(&second));
    let policy = create_refusing_policy(&site);
    assert_ne!(import(&site, &second, &SHORT).code, 0);
    drop(policy);

    // The ConfigMaps may already be those of the new version.
    let mut failed = import(&site, &second, &SHORT);
    eventually("the object is taken", || {
        let refused = failed.stderr.contains("refused by the test");
        if refused {
            failed = import(&site, &second, &SHORT);
        }
        (!refused).then_some(())
    });
    let words =
        "was not rolled back to version 1.0.0: an earlier change to version 2.0.0 was interrupted";
    assert!(failed.stderr.contains(words), "{failed:?}");
    let hint = "run `solution deploy NAME 1.0.0 --environment ENV` to restore version 1.0.0";
    assert!(failed.stderr.contains(hint), "{failed:?}");
    assert!(!failed.stderr.contains("was rolled back to"), "{failed:?}");
    let told = status(&site);
    assert_eq!(told["incomplete"][0]["verb"], "import", "{told:#}");

    // It is restored completely, and later changes can be rolled back to it.
    import(&site, &first, &[]).success();
    assert_runs(&site, "1.0.0");
    eventually("everything is as before", || {
        difference(&before, &objects_in_namespace(&site))
            .is_empty()
            .then_some(())
    });
    let await_former_pods = || {
        eventually("only the pods that were there are", || {
            (pods(&site, "prod") == running).then_some(())
        });
    };
    await_former_pods();
    let failed = import(&site, &second, &SHORT);
    let words = "was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(words), "{failed:?}");
    await_former_pods();
    assert_refused_upgrade_completes(&site);
}

/// A webhook that would reject pods in every namespace. Its Service has no pods, and nothing writes its certificate
/// authority.
const WEBHOOK: &str = "
---
apiVersion: v1
kind: Service
metadata: {name: judge, namespace: shop-system}
spec: {selector: {app: judge}, ports: [{port: 443}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: shop-judge}
webhooks:
  - name: pods.shop.test
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    timeoutSeconds: 1
    clientConfig: {service: {name: judge, namespace: shop-system, port: 443}}
    rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods, configmaps], operations: [CREATE]}]
";

/// Asserts that pods and ConfigMaps are accepted.
fn assert_no_webhook(site: &Site) {
    let run = ["run", "free", "--image=none", "--restart=Never"];
    site.kubectl("prod", &run).success();
    site.kubectl("prod", &["create", "configmap", "free"])
        .success();
    let delete = [
        "delete",
        "pod/free",
        "configmap/free",
        "--grace-period=0",
        "--force",
    ];
    site.kubectl("prod", &delete).success();
}

fn webhooks(site: &Site) -> String {
    let listed = ["get", "validatingwebhookconfigurations", "--output=name"];
    site.kubectl("default", &listed).success()
}

#[test]
fn webhooks_that_are_never_served_lock_nothing_and_an_upgrade_to_them_is_taken_back() {
    let site = Site::new("carried-unserved");
    site.create_environment("prod");
    let text = release("hello", "one");
    let own = OWN;
    let unserved = pack(&site, "2.0.0", own, &format!("{text}{WEBHOOK}{MORE}"));
    let refused = import(&site, &unserved, &[]).failure(1);
    let accepted = [&["--accept", consent_id(&refused)][..], &SHORT].concat();

    // A first installation has no previous version.
    let failed = import(&site, &unserved, &accepted);
    let words = "ValidatingWebhookConfiguration shop-judge would reject every request";
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert_eq!(webhooks(&site), "");
    assert_no_webhook(&site);
    assert_eq!(status(&site)["incomplete"][0]["verb"], "import");
    // The next attempt creates the webhook again, and removes it again.
    let failed = import(&site, &unserved, &accepted);
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert_eq!(webhooks(&site), "");
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    site.solution(&undeploy).success();

    let good = pack(&site, "1.0.0", own, &text);
    import(&site, &good, &[]).success();
    let (before, running) = (objects_in_namespace(&site), pods(&site, "prod"));
    let failed = import(&site, &unserved, &accepted);
    assert!(failed.stderr.contains(words), "{failed:?}");
    let back = "version 2.0.0 did not become ready and was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(back), "{failed:?}");
    assert_runs(&site, "1.0.0");
    assert_eq!(webhooks(&site), "");
    assert_eq!(difference(&before, &objects_in_namespace(&site)), "");
    assert_eq!(pods(&site, "prod"), running);
    assert_no_webhook(&site);
}

#[test]
fn a_definition_is_not_changed_back_and_its_objects_lose_nothing() {
    let site = Site::new("changed-back");
    site.create_environment("prod");
    let text = format!("{}{CONVERTED}", release("hello", "one"));
    let first = pack(&site, "1.0.0", OWN, &text);
    let refused = import(&site, &first, &[]).failure(1);
    let accept = ["--accept", consent_id(&refused)];
    import(&site, &first, &accept).success();

    // A version with another field never becomes ready, and an object uses the field by then.
    let spec =
        "type: object, properties: {spec: {type: object, properties: {localASN: {type: integer}}}}";
    let second = with_broken_pods(&text).replace(
        "{openAPIV3Schema: {type: object}}",
        &format!("{{openAPIV3Schema: {{{spec}}}}}"),
    );
    let second = pack(&site, "2.0.0", OWN, &second);
    let failed = import(&site, &second, &SHORT);
    assert!(
        failed.stderr.contains("was rolled back to version 1.0.0"),
        "{failed:?}"
    );
    let peer = "{apiVersion: shop.test/v1, kind: Crate, metadata: {name: peer, namespace: prod}, spec: {localASN: 64512}}";
    site.apply(peer).success();
    let field = || site.field("prod", "crate/peer", "{.spec.localASN}");
    assert_eq!(field(), "64512");

    // Deploying the older version again keeps the field as well, and reports it.
    let plan = import(&site, &first, &["--dry-run"]).success();
    let words = "keep version 2.0.0 of CustomResourceDefinition crates.shop.test";
    assert!(plan.contains(words), "{plan}");
    import(&site, &first, &[]).success();
    assert_eq!(field(), "64512");
    let definition = "crd/crates.shop.test";
    let schema = "{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties}";
    assert!(site.field("prod", definition, schema).contains("localASN"));
}

/// A small release without controllers.
const SMALL: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: small, namespace: small}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: small, namespace: small}
data: {text: TEXT}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: small-TEXT, namespace: small}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: small, namespace: small}
rules: [{apiGroups: [''], resources: [configmaps], verbs: [get]}]
";

/// A Job that runs once, and again when it changes.
const ONCE: &str = "
apiVersion: batch/v1
kind: Job
metadata: {name: small, namespace: small}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: setup, image: 'registry.example.test/example/server:1.0.0', args: [--version], env: [{name: STEP, value: TEXT}]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: small-TEXT, namespace: small}
";

/// Returns the manifest sets of a release in the environment's namespace.
fn manifest_sets(name: &str) -> String {
    OWN.replace("shop", name)
        .replace(&format!("{name}-system"), name)
}

/// Returns a site with an environment that has imported two versions of a small release.
fn site_with_small_release(name: &str, release: &str) -> Site {
    let site = Site::new(name);
    for (version, text) in [("1.0.0", "old"), ("1.1.0", "new")] {
        let archive = release.replace("TEXT", text);
        let archive = pack_as(&site, "small", version, &manifest_sets("small"), &archive);
        site.import(&archive, &[]).success();
    }
    site.create_environment("faults");
    site
}

const DEPLOY: [&str; 7] = [
    "deploy",
    "small",
    "1.0.0",
    "-e",
    "faults",
    "--pull-secret",
    "login",
];
const UPGRADE: [&str; 5] = ["deploy", "small", "1.1.0", "-e", "faults"];
const DOWNGRADE: [&str; 6] = [
    "deploy",
    "small",
    "1.0.0",
    "-e",
    "faults",
    "--allow-downgrade",
];
const UNDEPLOY: [&str; 5] = ["undeploy", "--yes", "small", "-e", "faults"];

/// A release is killed during its installation or removal, is reported as incomplete, and completes. The test kills at
/// every third write. `crates/planner` covers every write without a cluster, and an upgrade is killed at each write.
#[test]
fn a_release_that_is_killed_while_it_comes_or_goes_is_told_and_completes() {
    let site = site_with_small_release("carried-killed", SMALL);
    kill_everywhere(&site, [&DEPLOY, &UNDEPLOY], Share { part: 0, of: 3 });
}

/// Kills an upgrade at every write, with a Job that runs once for each version. Each kill is followed by a run that
/// completes the change, which takes minutes in total, so there is one test for each third.
fn kill_upgrade(part: usize) {
    let site = site_with_small_release(&format!("carried-killed-upgrade-{part}"), ONCE);
    run(&site, &DEPLOY);
    kill_everywhere(&site, [&UPGRADE, &DOWNGRADE], Share { part, of: 3 });
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_first_third() {
    kill_upgrade(0);
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_second_third() {
    kill_upgrade(1);
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_last_third() {
    kill_upgrade(2);
}

/// Selects the objects of a Solution from a namespace, by their names.
fn objects_of_solution(all: &BTreeMap<String, Value>, solution: &str) -> BTreeMap<String, Value> {
    let is_its = |object: &Value| {
        object["metadata"]["labels"]["solutions.metalk8s.scality.com/solution"] == solution
    };
    let of_it = all.iter().filter(|(_, object)| is_its(object));
    of_it
        .map(|(name, object)| (name.clone(), object.clone()))
        .collect()
}

#[test]
fn what_is_taken_back_of_one_release_is_nothing_of_another_in_any_environment() {
    let site = Site::new("carried-neighbours");
    let places = ["prod", "prod-2"];
    let solutions = ["small", "small-2"];
    for place in places {
        site.create_environment(place);
    }
    for solution in solutions {
        let text = SMALL.replace("TEXT", "one").replace("small", solution);
        let once = ONCE.replace("TEXT", "two").replace("small", solution);
        let text = format!("{text}---{once}");
        let archive = pack_as(&site, solution, "1.0.0", &manifest_sets(solution), &text);
        for place in places {
            let into = ["-e", place, "--pull-secret", "login"];
            site.import(&archive, &into).success();
        }
    }
    let of = |place: &str, solution: &str| objects_of_solution(&site.objects_in(place), solution);
    let before = places.map(|place| solutions.map(|solution| of(place, solution)));
    for its in before.iter().flatten() {
        assert!(its.len() >= 5, "{its:?}");
    }
    let stands = |place: usize, solution: usize, undone: &Answer| {
        let now = of(places[place], solutions[solution]);
        let before = &before[place][solution];
        assert_eq!(difference(before, &now), "", "{undone:?}");
    };

    // The uids show that the objects were not recreated.
    let undone = site.solution(&["undeploy", "--yes", "small", "-e", "prod"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(of("prod", "small"), BTreeMap::new());
    for (place, solution) in [(0, 1), (1, 0), (1, 1)] {
        stands(place, solution, &undone);
    }
    let undone = site.solution(&["undeploy", "--yes", "small-2", "-e", "prod-2"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(of("prod-2", "small-2"), BTreeMap::new());
    for (place, solution) in [(0, 1), (1, 0)] {
        stands(place, solution, &undone);
    }
}
