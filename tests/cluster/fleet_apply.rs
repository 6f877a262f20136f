//! `fleet apply` on real API servers: all clusters are planned before the first write, one consent covers the shown
//! plan, waves keep their budgets, and a second run completes missing changes.

use std::process::Command;

use serde_json::{Value, json};

use crate::charts::{HELM, site, solution};
use crate::common::{Answer, results};
use crate::fleet::{Members, kubectl};
use crate::releases::{pack, pack_as};
use crate::site::{Site, consent_id, variable};

/// The content of a version: a ConfigMap with the chosen values, and a ClusterRole.
pub(crate) const SETS: &str = "  parameters:
    greeting: {type: string, default: none}
    size: {type: integer, default: 1}
  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]
";

pub(crate) const CONFIG: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: shop-system}
data: {text: '$(param:greeting), $(param:size), VERSION'}
";

pub(crate) const ROLE: &str = "---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shop-nodes}
rules: [{apiGroups: [''], resources: [nodes], verbs: [get, list]}]
";

/// The names of the clusters in the fleet.
pub(crate) const NAMES: [&str; 3] = ["lab", "paris", "rome"];

/// A site, three members of a fleet, and the archive of version 1.0.0.
pub(crate) struct Fleet {
    pub(crate) site: Site,
    pub(crate) members: Members,
}

impl Fleet {
    pub(crate) fn start(name: &str) -> Self {
        let site = site(name);
        let members = Members::start(NAMES.len());
        let fleet = Self { site, members };
        fleet.pack("1.0.0");
        fleet
    }

    /// Packs a version.
    pub(crate) fn pack(&self, version: &str) {
        let carried = CONFIG.replace("VERSION", version) + ROLE;
        pack(&self.site, version, SETS, &carried);
    }

    /// Writes the fleet's file: one wave of the first cluster, and one of the others.
    pub(crate) fn write(&self, version: &str, first: &str, rest: &str) {
        let registry = self.site.registry();
        let pulls = self.site.pull_registry();
        let members = NAMES.iter().zip(self.members.iter());
        let clusters = members.map(|(name, kubeconfig)| {
            format!("    - {{name: {name}, kubeconfig: '{kubeconfig}', registry: '{registry}', pullRegistry: '{pulls}'}}\n")
        });
        let clusters: String = clusters.collect();
        let text = format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {{name: shops}}
spec:
  clusters:
{clusters}  solutions: [{{name: shop, version: {version}, archive: shop-{version}.iso, environment: prod}}]
  site: {{parameters: {{shop: {{greeting: 'hello ${{cluster.name}}', size: 3}}}}}}
  waves:
    - {{name: first, clusters: [lab]{first}}}
    - {{name: rest, clusters: [paris, rome], parallel: 2{rest}}}
"
        );
        self.site.desk.write("fleet.yaml", text);
    }

    pub(crate) fn apply(&self, more: &[&str]) -> Answer {
        Answer::from_command(&mut self.apply_command(more))
    }

    pub(crate) fn apply_command(&self, more: &[&str]) -> Command {
        let mut command = self.site.command();
        command.env("HELM", &*HELM);
        command.args(["fleet", "apply", "fleet.yaml", "--key", "publisher.pub"]);
        command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
        command.arg("--no-pull-proof").args(more);
        command
    }

    /// Applies the file with all required consents.
    pub(crate) fn apply_accepting(&self, more: &[&str]) -> Answer {
        let refused = self.apply(&["--dry-run"]).failure(1);
        let id = consent_id(&refused).to_owned();
        self.apply(&[&["--accept", &id], more].concat())
    }

    /// Returns the greeting, the size and the version in a cluster, or an empty text if it has no Solution.
    pub(crate) fn config(&self, member: usize) -> String {
        let get = [
            "--namespace=prod",
            "get",
            "configmap",
            "shop",
            "--ignore-not-found",
        ];
        let fields = "--output=jsonpath={.data.text}";
        let get = [&get[..], &[fields]].concat();
        kubectl(&self.members[member], &get).success()
    }

    pub(crate) fn configs(&self) -> [String; 3] {
        [0, 1, 2].map(|member| self.config(member))
    }
}

/// Returns the state of each cluster.
pub(crate) fn states(answer: &Value) -> Vec<(String, String)> {
    let clusters = answer["clusters"].as_array().unwrap().iter();
    let text =
        |entry: &'_ Value, field: &str| -> String { entry[field].as_str().unwrap().to_owned() };
    let states = clusters.map(|entry| (text(entry, "name"), text(entry, "state")));
    states.collect()
}

#[test]
fn a_fleet_is_planned_whole_accepted_once_and_completed_by_running_again() {
    let fleet = Fleet::start("fleet-apply");
    fleet.write("1.0.0", "", "");

    // Differences are shown next to each cluster, and equal parts once.
    let refused = fleet.apply(&["--dry-run", "--diff"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let plan = &refused.stdout;
    for words in [
        "shop 1.0.0 in prod, 3 clusters\n",
        "  parameter greeting \"hello paris\" (the fleet shops) [paris]\n",
        "  parameter size 3 (the fleet shops)\n",
        "+  text: 'hello rome, 3, 1.0.0'\n",
    ] {
        assert!(plan.contains(words), "{words}: {plan}");
    }
    assert_eq!(
        plan.matches("may get and list all Nodes").count(),
        1,
        "{plan}"
    );
    assert_eq!(fleet.configs(), ["", "", ""]);

    // The consent to a single deployment does not apply to the fleet.
    let planned = fleet.apply(&["--dry-run", "--output=json"]).json();
    let alone = &planned["plan"]["clusters"][0]["deployments"][0]["plan"]["target"]["beyond"]["id"];
    let refused = fleet
        .apply(&["--accept", alone.as_str().unwrap()])
        .failure(1);
    assert!(refused.contains("have not been accepted"), "{refused}");
    assert!(!plan.contains(alone.as_str().unwrap()), "{plan}");
    assert_eq!(fleet.configs(), ["", "", ""]);

    // The last cluster is blocked, and no other one is changed.
    let rome = &fleet.members[2];
    kubectl(rome, &["create", "namespace", "prod"]).success();
    let refused = fleet.apply_accepting(&[]).failure(1);
    let words = "error: rome, shop 1.0.0 in prod: namespace `prod`";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(fleet.configs(), ["", "", ""]);
    let all = ["get", "namespaces", "--output=name"];
    let lab = kubectl(&fleet.members[0], &all).success();
    assert!(!lab.contains("/prod"), "{lab}");
    assert_two_solutions_share_a_new_environment(&fleet);
}

/// Permissions that are dangerous only if another Solution runs.
const RIGHTS: &str = "---
apiVersion: v1
kind: ServiceAccount
metadata: {name: board, namespace: shop-system}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: board, namespace: shop-system}
rules: [{apiGroups: [apps], resources: [deployments], verbs: [create]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: board, namespace: shop-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: board}
subjects: [{kind: ServiceAccount, name: board, namespace: shop-system}]
";

/// Applies two Solutions to an environment that the run itself creates: the plan of the second one expects the objects
/// of the first one. In one cluster the first one is deployed before the plan is applied, as after an interrupted run.
fn assert_two_solutions_share_a_new_environment(fleet: &Fleet) {
    let board = CONFIG.replace("name: shop,", "name: board,") + RIGHTS;
    pack_as(&fleet.site, "board", "1.0.0", SETS, &board);
    let path = fleet.site.desk.path("fleet.yaml");
    let file = std::fs::read_to_string(&path).unwrap();
    let shop = file.replace("environment: prod}]", "environment: both}]");
    let both = "environment: both}, {name: board, version: 1.0.0, archive: board-1.0.0.iso, environment: both}]";
    let both = file.replace("environment: prod}]", both);
    let accepting = |more: &[&str]| {
        let planned = fleet.apply(&[more, &["--dry-run"]].concat());
        let danger = "run programs as any ServiceAccount there";
        let has_board = planned.stdout.contains("board");
        assert_eq!(planned.stdout.contains(danger), has_board, "{planned:?}");
        let accept = ["--accept", consent_id(&planned.stderr)];
        fleet.apply(&[more, &accept[..]].concat()).success();
    };
    fleet.site.desk.write("fleet.yaml", &both);
    accepting(&["--plan-out=both.json"]);
    fleet.site.desk.write("fleet.yaml", &shop);
    accepting(&["--cluster=lab"]);
    fleet.site.desk.write("fleet.yaml", &both);
    fleet.apply(&["--plan=both.json"]).success();
    for kubeconfig in fleet.members.iter() {
        let get = ["--namespace=both", "get", "configmap", "shop", "board"];
        kubectl(kubeconfig, &get).success();
    }
    fleet.apply(&[]).success();
}

/// Lets another user approve the plan file, and applies it.
fn apply_as_approved(fleet: &Fleet) -> Value {
    let refused = fleet.apply(&["--plan-out=plan.json"]).failure(1);
    let accepts = ["--accept", consent_id(&refused)];
    let written = [&accepts[..], &["--plan-out=plan.json"]].concat();
    fleet.apply(&written).success();
    let unsigned = ["--plan=plan.json", "--approved-by=publisher.pub"];
    let refused = fleet.apply(&unsigned).failure(1);
    assert!(refused.contains("is not signed"), "{refused}");
    let shown = solution(&fleet.site, &["sign", "plan.json", "--key=publisher.key"]).success();
    for words in [
        "shop 1.0.0 in prod, 3 clusters\n",
        "  parameter greeting \"hello paris\" (the fleet shops) [paris]\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(fleet.configs(), ["", "", ""]);
    let inspected = ["inspect", "plan.json", "--output=json"];
    let inspected = solution(&fleet.site, &inspected).json();
    assert_eq!(inspected["fleet"], "shops", "{inspected:#}");
    let told = ["--output=json", "--progress=events"];
    fleet.apply(&[&unsigned[..], &told].concat()).json()
}

/// Each line names its cluster, and the events of a cluster are complete.
fn assert_events_name_their_cluster(fleet: &Fleet) {
    let told = std::fs::read_to_string(fleet.site.desk.path("events")).unwrap();
    let told = results::events(&told);
    let begun =
        json!({"schemaVersion": "1", "event": "waveBegun", "wave": "all", "clusters": NAMES});
    assert_eq!(told[0], begun);
    let mut pushed = 0;
    for name in NAMES {
        let of: Vec<&Value> = told
            .iter()
            .filter(|event| event["cluster"] == name)
            .collect();
        let ends = [of[0], of[of.len() - 1]].map(|event| event["event"].as_str().unwrap());
        assert_eq!(ends, ["clusterBegun", "clusterEnded"], "{of:#?}");
        assert_eq!(of[of.len() - 1]["state"], "done");
        let mut of = of.iter();
        let push = of.find(|event| event["event"] == "done").unwrap();
        pushed += u8::from(push["bytesTotal"] != 0);
        let object =
            of.find(|event| event["event"] == "object" && event["object"] == "Namespace prod");
        assert_eq!(object.unwrap()["applied"], "created");
    }
    assert_eq!(pushed, 1);
    assert!(
        told[1..].iter().all(|event| event["cluster"].is_string()),
        "{told:#?}"
    );
}

#[test]
fn values_stay_with_the_member_and_each_blob_is_pushed_once() {
    let fleet = Fleet::start("fleet-waves");
    fleet.write("1.0.0", "", "");
    // All clusters at a time.
    let one = std::fs::read_to_string(fleet.site.desk.path("fleet.yaml")).unwrap();
    let (before, _) = one.split_once("  waves:").unwrap();
    let all = "  waves: [{name: all, clusters: [lab, paris, rome], parallel: 3}]\n";
    fleet
        .site
        .desk
        .write("fleet.yaml", format!("{before}{all}"));
    let applied = apply_as_approved(&fleet);
    let pushed = applied["clusters"].as_array().unwrap().iter();
    let pushed = pushed.filter(|cluster| cluster["receipts"][0]["uploaded"]["blobs"] != 0);
    assert_eq!(pushed.count(), 1, "{applied:#}");
    let done = NAMES.map(|name| (name.to_owned(), "done".to_owned()));
    assert_eq!(states(&applied), done, "{applied:#}");
    assert_events_name_their_cluster(&fleet);
    let configs = NAMES.map(|name| format!("hello {name}, 3, 1.0.0"));
    assert_eq!(fleet.configs(), configs);

    // No change is left, and no confirmation is needed.
    let again = fleet.apply(&["--output", "json"]).json();
    assert_eq!(states(&again), done);
    for cluster in again["clusters"].as_array().unwrap() {
        assert_eq!(cluster["receipts"][0]["objects"], json!([]), "{again:#}");
        assert_eq!(cluster["receipts"][0]["uploaded"]["blobs"], 0, "{again:#}");
    }

    // A deployment in a single member keeps the fleet's values.
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let paris = ["--kubeconfig", &fleet.members[1], "--ca-file", &ca];
    let deploy = ["deploy", "shop", "1.0.0", "-e", "prod", "--set", "size=2"];
    let deployed = solution(&fleet.site, &[&deploy[..], &paris].concat()).success();
    assert!(deployed.contains("fleet shops"), "{deployed}");
    assert_eq!(fleet.config(1), "hello paris, 2, 1.0.0");
    // The approved plan differs from the current one.
    let stale = fleet.apply(&["--plan", "plan.json"]).failure(1);
    let words = "error: paris, shop 1.0.0 in prod: ";
    assert!(stale.contains(words), "{stale}");
    assert!(!stale.contains("error: lab"), "{stale}");
    // The fleet's next run shows the values that were set in the member, and does not use them.
    let plan = fleet.apply(&["--dry-run"]).success();
    assert!(plan.contains("[paris]"), "{plan}");
    fleet.apply(&[]).success();
    assert_eq!(fleet.configs(), configs);
}
