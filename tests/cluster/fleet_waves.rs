//! The waves of a fleet: the conditions that delay or end one, and the state afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::charts::solution;
use crate::common::{Answer, results};
use crate::door::Door;
use crate::fleet::kubectl;
use crate::fleet_apply::{CONFIG, Fleet, NAMES, ROLE, SETS, states};
use crate::releases::pack;
use crate::running::Running;
use crate::site::{consent_id, eventually, variable};

/// A server that becomes ready only if a test sets its status.
pub(crate) const SERVER: &str = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: 'registry.example.test/example/server:1.0.0', args: [VERSION]}]}
";

/// A replacement for the controllers and nodes that these members do not have. It marks every Deployment as ready,
/// except those of a broken version.
pub(crate) struct Controllers {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Controllers {
    pub(crate) fn start(kubeconfigs: &[String], broken: &'static str) -> Self {
        let (over, kubeconfigs) = (Arc::new(AtomicBool::new(false)), kubeconfigs.to_vec());
        let is_over = Arc::clone(&over);
        let work = move || {
            while !is_over.load(Ordering::Relaxed) {
                for kubeconfig in &kubeconfigs {
                    set_ready(kubeconfig, broken);
                    remove_finalizers(kubeconfig);
                }
                thread::park_timeout(Duration::from_millis(200));
            }
        };
        Self {
            over,
            thread: Some(thread::spawn(work)),
        }
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            thread.join().unwrap();
        }
    }
}

fn set_ready(kubeconfig: &str, broken: &str) {
    let all = ["get", "deployments", "--all-namespaces", "--output=json"];
    let all = kubectl(kubeconfig, &all).json();
    for deployment in all["items"].as_array().unwrap() {
        let generation = &deployment["metadata"]["generation"];
        let version = &deployment["spec"]["template"]["spec"]["containers"][0]["args"][0];
        if deployment["status"]["observedGeneration"] == *generation || version == broken {
            continue;
        }
        let condition =
            |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason});
        let pods = &deployment["spec"]["replicas"];
        let status = json!({ "status": {
            "observedGeneration": generation,
            "replicas": pods, "updatedReplicas": pods, "readyReplicas": pods, "availableReplicas": pods,
            "conditions": [
                condition("Available", "MinimumReplicasAvailable"),
                condition("Progressing", "NewReplicaSetAvailable"),
            ],
        }});
        let text = |field: &str| deployment["metadata"][field].as_str().unwrap();
        let patch = [
            "patch",
            "deployment",
            text("name"),
            "--namespace",
            text("namespace"),
        ];
        let status = [
            "--subresource=status",
            "--type=merge",
            "--patch",
            &status.to_string(),
        ];
        // The object may already be deleted.
        kubectl(kubeconfig, &[&patch[..], &status].concat());
    }
}

/// Removes the finalizers of objects that wait for the garbage collector.
fn remove_finalizers(kubeconfig: &str) {
    let kinds = "deployments,services,configmaps";
    let all = ["get", kinds, "--all-namespaces", "--output=json"];
    let all = kubectl(kubeconfig, &all).json();
    for going in all["items"].as_array().unwrap() {
        let metadata = &going["metadata"];
        if metadata["deletionTimestamp"].is_null() {
            continue;
        }
        let text = |field: &str| metadata[field].as_str().unwrap();
        let kind = going["kind"].as_str().unwrap();
        let patch = [
            "patch",
            kind,
            text("name"),
            "--namespace",
            text("namespace"),
        ];
        let free = r#"{"metadata": {"finalizers": null}}"#;
        // The object may already be deleted.
        kubectl(
            kubeconfig,
            &[&patch[..], &["--type=merge", "--patch", free]].concat(),
        );
    }
}

pub(crate) fn named_states(what: [&str; 3]) -> Vec<(String, String)> {
    let all = NAMES.iter().zip(what);
    all.map(|(name, state)| ((*name).to_owned(), state.to_owned()))
        .collect()
}

fn fleet(fleet: &Fleet, arguments: &[&str]) -> Answer {
    solution(&fleet.site, &[&["fleet"], arguments].concat())
}

#[test]
fn a_wave_that_fails_leaves_the_rest_untouched_and_running_again_completes_it() {
    let fleet = Fleet::start("fleet-fails");
    for version in ["1.1.0", "1.2.0"] {
        let release = (CONFIG.to_owned() + ROLE + SERVER).replace("VERSION", version);
        pack(&fleet.site, version, SETS, &release);
    }
    let broken = Controllers::start(&fleet.members, "1.2.0");
    fleet.write("1.1.0", "", "");
    fleet.apply_accepting(&[]).success();
    fleet.write("1.2.0", "", "");
    let ended = fleet.apply(&["--timeout=15", "--output=json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    let result: Value = ended.json();
    assert_eq!(
        states(&result),
        named_states(["failed", "untouched", "untouched"])
    );
    let stopped = result["stopped"]["message"].as_str().unwrap();
    assert_eq!(
        stopped,
        "1 cluster of wave first failed, but only 0 may fail"
    );
    // The previous version was restored.
    let before = NAMES.map(|name| format!("hello {name}, 3, 1.1.0"));
    assert_eq!(fleet.configs(), before);

    drop(broken);
    let _ready = Controllers::start(&fleet.members, "none");
    let again = fleet.apply(&["--timeout=60", "--output=json"]).json();
    assert_eq!(states(&again), named_states(["done"; 3]), "{again:#}");
    let after = NAMES.map(|name| format!("hello {name}, 3, 1.2.0"));
    assert_eq!(fleet.configs(), after);
    let status = fleet_status(&fleet);
    assert!(
        status.ends_with("3 of 3 clusters are up to date\n"),
        "{status}"
    );
    other_values_in_the_file_are_not_what_runs(&fleet);
}

fn other_values_in_the_file_are_not_what_runs(all: &Fleet) {
    let path = all.site.desk.path("fleet.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("size: 3", "size: 4")).unwrap();
    let status = read_status(all, &[]);
    assert_eq!(status.code, 1, "{status:?}");
    let words = "0 of 3 clusters are up to date; other values: lab (shop 1.2.0), paris (shop 1.2.0), rome (shop 1.2.0)\n";
    assert!(status.stdout.ends_with(words), "{status:?}");
    read_status(all, &["--quick"]).success();
}

fn fleet_status(all: &Fleet) -> String {
    read_status(all, &[]).success()
}

fn read_status(all: &Fleet, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let status = ["status", "fleet.yaml", "--ca-file", &ca];
    fleet(all, &[&status[..], more].concat())
}

/// The flags for the hub: a member, accessed with only the permissions that `solution site rbac` prints.
const HUB: [&str; 2] = ["--hub=test", "--kubeconfig=hub.kubeconfig"];
/// The flags for the hub while it is unreachable.
const AWAY: [&str; 2] = ["--hub=test", "--kubeconfig=away.kubeconfig"];

/// Makes a member the hub.
fn prepare_hub(all: &Fleet) {
    let member = &all.members[0];
    let by = ["--hub=test", "--kubeconfig", member];
    let unprepared = fleet(all, &[&["pause", "fleet.yaml"], &by[..]].concat()).failure(1);
    assert!(
        unprepared.contains("the cluster does not serve kind SolutionRollout"),
        "{unprepared}"
    );
    assert_paused_locally(all, &unprepared);
    fleet(all, &[&["init"], &by[..]].concat()).success();
    a_damaged_hub_keeps_no_pause_from_being_in_force(all, &by);
    let rbac = ["rbac", "--verb=fleet-hub", "--user=keeper"];
    let roles = solution(&all.site, &rbac).success();
    all.site.desk.write("roles.yaml", roles);
    let roles = all.site.desk.path("roles.yaml");
    let apply = ["apply", "--filename", roles.to_str().unwrap()];
    kubectl(member, &apply).success();
    let admin = std::fs::read_to_string(member).unwrap();
    let keeper = admin.replace("  user:\n", "  user:\n    as: keeper\n");
    let away = keeper.replace(":7001", ":7099");
    all.site.desk.write("hub.kubeconfig", keeper);
    all.site.desk.write("away.kubeconfig", away);
}

/// Asserts that the fleet is paused although the hub does not know it, and resumes it.
fn assert_paused_locally(all: &Fleet, refused: &str) {
    let words = "cannot update the hub: the decision is stored only in the journal next to the fleet's file";
    assert!(refused.contains(words), "{refused}");
    let journal: Value = serde_json::from_slice(&all.site.desk.read("fleet.journal.json")).unwrap();
    assert_eq!(journal["pause"]["paused"], true, "{journal}");
    fleet(all, &["resume", "fleet.yaml"]).success();
}

fn a_damaged_hub_keeps_no_pause_from_being_in_force(all: &Fleet, by: &[&str]) {
    let member = &all.members[0];
    let object = |spec: &str| {
        let kind = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionRollout";
        let text = format!("{kind}\nmetadata: {{name: shops}}\nspec: {spec}\n");
        all.site.desk.write("damaged.yaml", text);
        let path = all.site.desk.path("damaged.yaml");
        kubectl(member, &["create", "--filename", path.to_str().unwrap()])
    };
    let far = "{fleet: shops, pause: {at: 9999-01-01T00:00:00Z, paused: true, by: me}}";
    let refused = object(far).failure(1);
    assert!(refused.contains("spec.pause.at"), "{refused}");
    object("{fleet: others}").success();
    let paused = fleet(all, &[&["pause", "fleet.yaml"], by].concat()).failure(1);
    assert_paused_locally(all, &paused);
    kubectl(member, &["delete", "solutionrollout/shops"]).success();
}

/// Returns a field of the fleet's object in the hub, once a condition holds.
fn hub_field(all: &Fleet, condition: &str, field: &str) -> String {
    let (object, member) = ("solutionrollout/shops", &all.members[0]);
    let condition = format!("--for=condition={condition}");
    kubectl(member, &["wait", &condition, object, "--timeout=5s"]).success();
    let field = format!("--output=jsonpath={field}");
    kubectl(member, &["get", object, &field]).success()
}

/// Runs a command of another user with a copy of the file, who decides with the hub.
fn run_as_other_user(all: &Fleet, verb: &str, more: &[&str]) {
    let file = all.site.desk.read("fleet.yaml");
    all.site.desk.write("elsewhere/fleet.yaml", file);
    let verb = ["fleet", verb, "elsewhere/fleet.yaml"];
    solution(&all.site, &[&verb[..], more, &HUB].concat()).success();
}

#[test]
fn a_wave_waits_for_its_approval_for_time_and_while_the_fleet_is_paused() {
    let all = Fleet::start("fleet-gates");
    all.write("1.0.0", ", soak: 1s", ", approve: true");
    prepare_hub(&all);
    let ended = all.apply_accepting(&HUB);
    assert_eq!(ended.code, 3, "{ended:?}");
    let words = "wave rest waits for the approval of its plan ";
    let plan = ended.stderr.split(words).nth(1);
    let plan = plan.unwrap_or_else(|| panic!("{ended:?}"));
    let plan = plan.split_whitespace().next().unwrap().to_owned();
    let soaks = "soak time of wave first: 1 min left";
    assert!(ended.stderr.contains(soaks), "{ended:?}");
    let part = fleet(&all, &["approve", "fleet.yaml", "rest", &plan[1..]]);
    assert_eq!(part.code, 2, "{part:?}");
    let lab = "hello lab, 3, 1.0.0";
    assert_eq!(all.configs(), [lab, "", ""]);
    let counts = "{.status.wave} {.status.done} {.status.clustersAsked}";
    assert_eq!(hub_field(&all, "Stalled", counts), "first 1 3");

    // An approval is for one plan, and a pause applies to approved plans too.
    fleet(&all, &["approve", "fleet.yaml", "rest", &"0".repeat(24)]).success();
    assert_eq!(all.apply_accepting(&[]).code, 3);
    run_as_other_user(&all, "pause", &[]);
    run_as_other_user(&all, "approve", &["rest", &plan]);
    let paused = all.apply_accepting(&HUB);
    assert_eq!(paused.code, 3, "{paused:?}");
    assert!(paused.stderr.contains("the fleet is paused"), "{paused:?}");
    assert_eq!(all.configs(), [lab, "", ""]);

    run_as_other_user(&all, "resume", &[]);
    all.apply_accepting(&HUB).success();
    assert_eq!(
        all.configs(),
        NAMES.map(|name| format!("hello {name}, 3, 1.0.0"))
    );
    let clusters = "{.status.clusters[*].state}";
    assert_eq!(hub_field(&all, "Complete", clusters), "done done done");
    a_hub_that_is_away_delays_nothing_and_is_caught_up(&all);
}

fn a_hub_that_is_away_delays_nothing_and_is_caught_up(all: &Fleet) {
    all.pack("1.1.0");
    all.write("1.1.0", "", "");
    let applied = all.apply(&[&AWAY[..], &["--output=json"]].concat()).json();
    assert_eq!(states(&applied), named_states(["done"; 3]), "{applied:#}");
    let behind = applied["behind"]["message"].as_str().unwrap();
    assert!(behind.starts_with("the hub `test`: "), "{behind}");
    let paused = fleet(all, &[&["pause", "fleet.yaml"], &AWAY[..]].concat());
    assert_eq!(paused.code, 3, "{paused:?}");
    let pause = "{.spec.pause.paused} {.status.plan}";
    let before = hub_field(all, "Complete", pause);
    assert!(before.starts_with("false "), "{before}");

    let again = all.apply(&[&HUB[..], &["--output=json"]].concat()).json();
    assert_eq!(again["behind"], Value::Null, "{again:#}");
    let after = hub_field(all, "Complete", pause);
    assert!(after.starts_with("true "), "{after}");
    assert_ne!(before[5..], after[4..]);
}

#[test]
fn a_cluster_that_is_away_is_left_out_by_choice_and_one_that_is_another_is_refused() {
    let all = Fleet::start("fleet-away");
    all.write("1.0.0", "", "");
    let fleet_file = std::fs::read_to_string(all.site.desk.path("fleet.yaml")).unwrap();

    // Two entries for one cluster are not changed twice.
    let copy = std::fs::read(&all.members[1]).unwrap();
    all.site.desk.write("copy.kubeconfig", copy);
    let twice = fleet_file.replace(&all.members[2], "copy.kubeconfig");
    all.site.desk.write("fleet.yaml", &twice);
    let refused = all.apply(&[]).failure(1);
    let words = "error: rome: it is the cluster of `paris` (UID ";
    assert!(refused.contains(words), "{refused}");
    assert!(
        refused.contains("not pinned: lab, paris, rome"),
        "{refused}"
    );

    let rome = std::fs::read_to_string(&all.members[2]).unwrap();
    all.site
        .desk
        .write("away.kubeconfig", rome.replace(":7003", ":7099"));
    let away = fleet_file.replace(&all.members[2], "away.kubeconfig");
    all.site.desk.write("fleet.yaml", &away);

    let planned = all.apply(&["--dry-run"]).failure(1);
    let accept = ["--accept", consent_id(&planned)];
    let refused = all.apply(&accept);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("error: rome: cannot use the cluster"),
        "{refused:?}"
    );
    assert_eq!(all.config(0), "");
    let skipped = [&accept[..], &["--skip-unreachable", "--output=json"]].concat();
    let ended = all.apply(&skipped);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert_eq!(
        states(&ended.json()),
        named_states(["done", "done", "leftOut"])
    );
    assert_unreachable_cluster_awaited(&all, &fleet_file);

    all.site.desk.write("fleet.yaml", &twice);
    assert_name_is_one_cluster(&all);

    // The cluster is reachable again, and is pinned to a UID that it does not have.
    let uid = "uid: 00000000-0000-4000-8000-000000000001";
    let other = fleet_file.replace("{name: rome,", &format!("{{name: rome, {uid},"));
    all.site.desk.write("fleet.yaml", other);
    let refused = all.apply(&["--skip-unreachable"]).failure(1);
    assert!(refused.contains("error: rome: "), "{refused}");
}

/// Asserts that a name stands for one cluster: the entry `rome` leads to the cluster `paris`, where the fleet was
/// applied before.
fn assert_name_is_one_cluster(all: &Fleet) {
    let refused = all.apply(&[]).failure(1);
    let words = "error: rome: cannot use the cluster as `rome`: the fleet knows its UID ";
    assert!(refused.contains(words), "{refused}");
    let repin = ["check", "fleet.yaml", "--repin=rome"];
    let refused = fleet(all, &repin).failure(1);
    assert!(
        refused.contains("the new UIDs were not confirmed"),
        "{refused}"
    );

    // Without the journal, the cluster itself contains its identity.
    let journal = all.site.desk.path("fleet.journal.json");
    std::fs::remove_file(&journal).unwrap();
    let refused = all.apply(&[]).failure(1);
    let words = "error: rome: cannot use the cluster as `rome`: its environment prod is recorded for the cluster `paris` of the fleet shops";
    assert!(refused.contains(words), "{refused}");
    fleet(all, &[&repin[..], &["--yes"]].concat()).success();
    let known = std::fs::read_to_string(&journal).unwrap();
    assert!(known.contains("\"rome\""), "{known}");
}

/// Asserts that the program waits for an unreachable cluster before planning, and again before changing it in its wave.
fn assert_unreachable_cluster_awaited(all: &Fleet, fleet_file: &str) {
    let door = Door::new(7003);
    let rome = std::fs::read_to_string(&all.members[2]).unwrap();
    let rome = rome.replace(":7003", &format!(":{}", door.port));
    all.site.desk.write("door.kubeconfig", rome);
    // The soak time of the first wave leaves enough time to close the door.
    let file = fleet_file.replace(&all.members[2], "door.kubeconfig");
    let file = file.replace("clusters: [lab]", "clusters: [lab], soak: 2s");
    all.site.desk.write("fleet.yaml", file);
    door.open();
    let refused = all.apply(&["--dry-run"]).failure(1);
    door.close();
    let waits = ["--wait-for-cluster=60", "--progress=events", "--accept"];
    let waits = [&waits[..], &[consent_id(&refused)]].concat();
    let running = Running::start(all.apply_command(&waits));
    running.wait_for_message("rome: waiting for the cluster: ");
    assert_eq!(all.config(2), "");
    door.open();
    running.wait_for_message("soak time of wave first: ");
    door.close();
    let told = || results::events(&std::fs::read_to_string(all.site.desk.path("events")).unwrap());
    let of_rome = |name: &str| {
        let told = told().into_iter();
        told.filter(|event| event["cluster"] == "rome" && event["event"] == name)
            .count()
    };
    eventually("it is away again", || {
        (of_rome("clusterBegun") == 1 && of_rome("away") > 1).then_some(())
    });
    assert_eq!(all.config(2), "");
    door.open();
    running.wait_for_success();
    assert_eq!(all.config(2), "hello rome, 3, 1.0.0");
    assert_eq!(of_rome("up"), 2);
    assert!(told().iter().any(|event| event["event"] == "soaking"));
}

#[test]
fn a_secret_is_read_from_a_file_and_stands_in_no_plan() {
    let all = Fleet::start("fleet-secrets");
    let asks = SETS.replace(
        "size: {",
        "password: {type: string, sensitive: true}\n    size: {",
    );
    let login = "---
apiVersion: v1
kind: ConfigMap
metadata: {name: login, namespace: shop-system}
data: {password: '$(param:password)'}
";
    let release = CONFIG.replace("VERSION", "1.1.0") + login;
    pack(&all.site, "1.1.0", &asks, &release);
    all.write("1.1.0", "", "");
    let path = all.site.desk.path("fleet.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text.replace(
        "environment: prod}",
        "environment: prod, secrets: all.yaml}",
    );
    let text = text.replace("{name: rome,", "{name: rome, secrets: {shop: rome.yaml},");
    std::fs::write(&path, text).unwrap();
    all.site
        .desk
        .write("all.yaml", "{password: for-all-of-them}");
    all.site
        .desk
        .write("rome.yaml", "{password: for-rome-alone}");
    for more in [&["--dry-run", "--diff"][..], &["--output=json"]] {
        let answer = all.apply(more);
        assert_eq!(answer.code, 0, "{answer:?}");
        let said = format!("{answer:?}");
        assert!(
            !said.contains("for-all-of") && !said.contains("for-rome"),
            "{said}"
        );
    }
    let password = |member: usize| {
        let get = ["--namespace=prod", "get", "configmap", "login"];
        let field = ["--output=jsonpath={.data.password}"];
        kubectl(&all.members[member], &[&get[..], &field].concat()).success()
    };
    let expected = ["for-all-of-them", "for-all-of-them", "for-rome-alone"];
    assert_eq!([0, 1, 2].map(password), expected);
}

#[test]
fn a_version_comes_to_two_environments_of_one_cluster() {
    let all = Fleet::start("fleet-environments");
    let _ready = Controllers::start(&all.members[..1], "none");
    let (kubeconfig, registry) = (&all.members[0], all.site.registry());
    let pulls = all.site.pull_registry();
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {{name: shops}}
spec:
  clusters: [{{name: lab, kubeconfig: '{kubeconfig}', registry: '{registry}', pullRegistry: '{pulls}'}}]
  solutions:
    - {{name: example, version: 1.0.0, archive: 1.0.0.iso, environment: staging}}
    - {{name: example, version: 1.0.0, archive: 1.0.0.iso, environment: prod}}
  waves: [{{name: all, clusters: [lab]}}]
"
    );
    all.site.desk.write("fleet.yaml", text);
    all.apply(&[]).success();
    let status = fleet_status(&all);
    assert!(
        status.ends_with("1 of 1 cluster is up to date\n"),
        "{status}"
    );
    let again = all.apply(&["--output=json"]).json();
    for receipt in again["clusters"][0]["receipts"].as_array().unwrap() {
        assert_eq!(receipt["objects"], json!([]), "{again:#}");
    }
    assert_removed_entries_reported_and_deleted(&all);
}

/// An environment and a known cluster are removed from the file. The program reports them, and removes their
/// deployments only on request.
fn assert_removed_entries_reported_and_deleted(all: &Fleet) {
    let path = all.site.desk.path("fleet.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let staging =
        "    - {name: example, version: 1.0.0, archive: 1.0.0.iso, environment: staging}\n";
    std::fs::write(&path, text.replace(staging, "")).unwrap();
    let journal = path.with_extension("journal.json");
    let known = std::fs::read_to_string(&journal).unwrap();
    let away = r#""clusters": {"00000000-0000-4000-8000-000000000001": "paris","#;
    std::fs::write(&journal, known.replace(r#""clusters": {"#, away)).unwrap();

    let plan = all.apply(&[]).success();
    for words in [
        "example 1.0.0 in staging, 1 cluster\n  note      no longer in the file; remove it with `--prune`\n",
        "note      paris (UID 00000000-0000-4000-8000-000000000001) is no longer in the file",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    let status = read_status(all, &["--output=json"]).json();
    assert_eq!(status["clusters"][0]["unlisted"][0]["brought"], true);
    assert_eq!(status["gone"][0]["name"], "paris");

    let unconfirmed = all.apply(&["--prune"]).failure(1);
    assert!(unconfirmed.contains("was not confirmed"), "{unconfirmed}");
    let pruned = all.apply(&["--prune", "--yes", "--output=json"]).json();
    let cluster = &pruned["clusters"][0];
    assert_eq!(
        cluster["removed"][0]["deployment"],
        "example 1.0.0 in staging"
    );
    assert_eq!(cluster["receipts"][0]["objects"], json!([]), "{pruned:#}");
    let status = read_status(all, &["--output=json"]).json();
    assert_eq!(status["clusters"][0]["unlisted"], json!([]), "{status:#}");
    assert_eq!(
        (&status["gone"], &status["clusters"][0]["ready"]),
        (&json!([]), &json!(true))
    );
    let deployments = ["get", "deployments", "--namespace=staging", "--output=name"];
    assert_eq!(kubectl(&all.members[0], &deployments).success(), "");
}
