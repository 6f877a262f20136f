//! What goes wrong with releases that are carried as they are: an upgrade that fails is taken back, and what failed half-way
//! or was killed completes when it is run again; and what is taken back of one is nothing of another.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::admission::Admission;
use crate::carried::{CONVERTED, OWN, import, pack, pack_as, pods, release};
use crate::common::Answer;
use crate::faults::{Share, everywhere, run};
use crate::site::{Site, consent_id, difference, eventually};

/// How long a version may take that never becomes ready.
const SHORT: [&str; 2] = ["--timeout", "16"];

/// What a later version brings beside the rest.
const MORE: &str = "
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop-more, namespace: shop-system}
data: {more: 'yes'}
";

/// The same with pods that never become ready.
fn broken(release: &str) -> String {
    release.replace("port: 8080}, periodSeconds", "port: 8081}, periodSeconds")
}

/// Everything in a namespace but for what the cluster keeps of former versions and what Jobs leave.
fn everything(site: &Site) -> BTreeMap<String, Value> {
    let mut all = site.everything("prod");
    all.retain(|name, _| !name.starts_with("ReplicaSet ") && !name.starts_with("Endpoint"));
    all
}

fn status(site: &Site) -> Value {
    site.solution(&["status", "--output", "json"]).json()
}

/// That a version runs, and that nothing is incomplete.
#[track_caller]
fn assert_runs(site: &Site, version: &str) {
    let status = status(site);
    let operator = &status["operators"][0];
    let told = [&operator["version"], &operator["condition"]];
    assert_eq!(told, [version, "ready"], "{status:#}");
    assert!(status["incomplete"].is_null(), "{status:#}");
}

/// Objects of a kind in a version that is not served any more, and of one that nobody has.
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

#[test]
fn kinds_that_the_cluster_does_not_know_are_named_before_anything_is_written() {
    let site = Site::new("carried-kinds");
    site.environment("prod");
    let archive = pack(
        &site,
        "1.0.0",
        OWN,
        &format!("{}{UNKNOWN}", release("hello", "one")),
    );
    let before = site.snapshot();
    let refused = import(&site, &archive, &[]).failure(1);
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
    site.environment("prod");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    import(&site, &first, &[]).success();
    let (before, running) = (everything(&site), pods(&site, "prod"));

    let second = format!("{}{MORE}", release("good day", "one"));
    let second = pack(&site, "2.0.0", OWN, &broken(&second));
    let failed = import(&site, &second, &SHORT);
    let words = "version 2.0.0 did not become ready and was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert!(failed.stderr.contains("Deployment prod/shop"), "{failed:?}");
    assert_runs(&site, "1.0.0");
    eventually("everything is as before", || {
        difference(&before, &everything(&site))
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

/// Refuses an object when it is really written: what a plan tries is taken.
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

fn refusing(site: &Site) -> Admission {
    let admission = Admission::of(site, REFUSES);
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

#[test]
fn an_upgrade_that_is_refused_half_way_is_told_and_completes_when_it_is_run_again() {
    let site = Site::new("carried-refused");
    site.environment("prod");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    import(&site, &first, &[]).success();
    let running = pods(&site, "prod");

    // Eight are written at a time, so that some of the first ten are there when the one behind them is refused.
    let more = |i| MORE.replace("shop-more", &format!("shop-more-{i}"));
    let [first_ten, others] = [0..10, 10..20].map(|all| all.map(more).collect::<String>());
    let text = release("good day", "one");
    let second = format!("{text}{first_ten}{MORE}{others}");
    let second = pack(&site, "2.0.0", OWN, &second);
    let policy = refusing(&site);
    let failed = import(&site, &second, &["--output", "json"]);
    assert_ne!(failed.code, 0);
    let refused = failed.stdout.contains("refused by the test");
    assert!(refused, "{failed:?}");
    let told = status(&site);
    assert_eq!(told["operators"][0]["version"], "1.0.0", "{told:#}");
    let incomplete = &told["incomplete"][0];
    assert_eq!(incomplete["verb"], "import", "{told:#}");
    // Everything that was written is known, whichever of them failed.
    let objects = incomplete["written"].as_array().unwrap();
    let listed = site.kubectl("prod", &["get", "configmaps", "--output=name"]);
    let listed = listed.success();
    let made = listed.lines().filter(|it| it.contains("/shop-more-"));
    let made: Vec<&str> = made.collect();
    assert!(made.len() >= 3 && made.len() < 20, "{made:?}");
    for made in made {
        let name = made.rsplit('/').next().unwrap();
        let name = format!("ConfigMap prod/{name}");
        assert!(objects.iter().any(|it| *it == *name), "{name}: {told:#}");
    }
    assert_eq!(pods(&site, "prod"), running);

    drop(policy);
    eventually("the object is taken", || {
        (import(&site, &second, &[]).code == 0).then_some(())
    });
    assert_runs(&site, "2.0.0");
    assert_eq!(pods(&site, "prod"), running);
}

#[test]
fn what_an_interruption_left_is_never_called_the_version_before() {
    let site = Site::new("carried-mixed");
    site.environment("prod");
    let first = pack(&site, "1.0.0", OWN, &release("hello", "one"));
    import(&site, &first, &[]).success();
    let (before, running) = (everything(&site), pods(&site, "prod"));
    let second = format!("{}{MORE}", release("good day", "one"));
    let second = pack(&site, "2.0.0", OWN, &broken(&second));
    let policy = refusing(&site);
    assert_ne!(import(&site, &second, &SHORT).code, 0);
    drop(policy);

    // The texts may be those of the new version already.
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

    // As a whole it comes back, and then it is something to go back to.
    import(&site, &first, &[]).success();
    assert_runs(&site, "1.0.0");
    eventually("everything is as before", || {
        difference(&before, &everything(&site))
            .is_empty()
            .then_some(())
    });
    eventually("only the pods that were there are", || {
        (pods(&site, "prod") == running).then_some(())
    });
    let failed = import(&site, &second, &SHORT);
    let words = "was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(words), "{failed:?}");
}

/// A webhook that would refuse pods in every namespace, and whose Service has no pods and nobody to write its certificate
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

/// That nothing refuses pods and texts.
fn is_open(site: &Site) {
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
    site.environment("prod");
    let text = release("hello", "one");
    let own = OWN;
    let unserved = pack(&site, "2.0.0", own, &format!("{text}{WEBHOOK}{MORE}"));
    let refused = import(&site, &unserved, &[]).failure(1);
    let accepted = [&["--accept", consent_id(&refused)][..], &SHORT].concat();

    // A first install has nothing to return to.
    let failed = import(&site, &unserved, &accepted);
    let words = "ValidatingWebhookConfiguration shop-judge would reject every request";
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert_eq!(webhooks(&site), "");
    is_open(&site);
    assert_eq!(status(&site)["incomplete"][0]["verb"], "import");
    // The next attempt brings it again, and takes it back.
    let failed = import(&site, &unserved, &accepted);
    assert!(failed.stderr.contains(words), "{failed:?}");
    assert_eq!(webhooks(&site), "");
    let undeploy = ["undeploy", "--yes", "shop", "-e", "prod"];
    site.solution(&undeploy).success();

    let good = pack(&site, "1.0.0", own, &text);
    import(&site, &good, &[]).success();
    let (before, running) = (everything(&site), pods(&site, "prod"));
    let failed = import(&site, &unserved, &accepted);
    assert!(failed.stderr.contains(words), "{failed:?}");
    let back = "version 2.0.0 did not become ready and was rolled back to version 1.0.0";
    assert!(failed.stderr.contains(back), "{failed:?}");
    assert_runs(&site, "1.0.0");
    assert_eq!(webhooks(&site), "");
    assert_eq!(difference(&before, &everything(&site)), "");
    assert_eq!(pods(&site, "prod"), running);
    is_open(&site);
}

#[test]
fn a_definition_is_not_changed_back_and_its_objects_lose_nothing() {
    let site = Site::new("changed-back");
    site.environment("prod");
    let text = format!("{}{CONVERTED}", release("hello", "one"));
    let first = pack(&site, "1.0.0", OWN, &text);
    let refused = import(&site, &first, &[]).failure(1);
    let accept = ["--accept", consent_id(&refused)];
    import(&site, &first, &accept).success();

    // A version with another field never becomes ready, and an object has the field by then.
    let spec =
        "type: object, properties: {spec: {type: object, properties: {localASN: {type: integer}}}}";
    let second = broken(&text).replace(
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

    // The older version, deployed again, keeps it as well, and says so.
    let plan = import(&site, &first, &["--dry-run"]).success();
    let words = "keep version 2.0.0 of CustomResourceDefinition crates.shop.test";
    assert!(plan.contains(words), "{plan}");
    import(&site, &first, &[]).success();
    assert_eq!(field(), "64512");
    let definition = "crd/crates.shop.test";
    let schema = "{.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties}";
    assert!(site.field("prod", definition, schema).contains("localASN"));
}

/// A small release that is only read.
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

/// A Job that runs once, and again when it is another one.
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

/// The sets of a release whose namespace is the environment's.
fn sets(name: &str) -> String {
    OWN.replace("shop", name)
        .replace(&format!("{name}-system"), name)
}

/// A site that has imported two versions of a small release, and an environment.
fn small(name: &str, release: &str) -> Site {
    let site = Site::new(name);
    for (version, text) in [("1.0.0", "old"), ("1.1.0", "new")] {
        let archive = release.replace("TEXT", text);
        let archive = pack_as(&site, "small", version, &sets("small"), &archive);
        site.import(&archive, &[]).success();
    }
    site.environment("faults");
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

/// A release is killed while it comes or goes, is told and completes: at every third write, since what each write leaves is
/// tried without a cluster in `crates/change`, and an upgrade is killed at each.
#[test]
fn a_release_that_is_killed_while_it_comes_or_goes_is_told_and_completes() {
    let site = small("carried-killed", SMALL);
    everywhere(&site, [&DEPLOY, &UNDEPLOY], Share { part: 0, of: 3 });
}

/// An upgrade with a Job that runs once for each version is killed anywhere. Each kill has a run behind it that completes the
/// change, so that all of them together take minutes: there is a test for each third.
fn is_upgraded(part: usize) {
    let site = small(&format!("carried-killed-upgrade-{part}"), ONCE);
    run(&site, &DEPLOY);
    everywhere(&site, [&UPGRADE, &DOWNGRADE], Share { part, of: 3 });
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_first_third() {
    is_upgraded(0);
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_second_third() {
    is_upgraded(1);
}

#[test]
fn an_upgrade_of_a_release_that_is_killed_anywhere_last_third() {
    is_upgraded(2);
}

/// What of a namespace is of a Solution, by the names of its objects.
fn of_solution(all: &BTreeMap<String, Value>, solution: &str) -> BTreeMap<String, Value> {
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
        site.environment(place);
    }
    for solution in solutions {
        let text = SMALL.replace("TEXT", "one").replace("small", solution);
        let once = ONCE.replace("TEXT", "two").replace("small", solution);
        let text = format!("{text}---{once}");
        let archive = pack_as(&site, solution, "1.0.0", &sets(solution), &text);
        for place in places {
            let into = ["-e", place, "--pull-secret", "login"];
            site.import(&archive, &into).success();
        }
    }
    let of = |place: &str, solution: &str| of_solution(&site.everything(place), solution);
    let before = places.map(|place| solutions.map(|solution| of(place, solution)));
    for its in before.iter().flatten() {
        assert!(its.len() >= 5, "{its:?}");
    }
    let stands = |place: usize, solution: usize, undone: &Answer| {
        let now = of(places[place], solutions[solution]);
        let before = &before[place][solution];
        assert_eq!(difference(before, &now), "", "{undone:?}");
    };

    // With uids: what is there is what was there.
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
