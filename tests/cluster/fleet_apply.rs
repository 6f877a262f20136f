//! A fleet of real API servers is changed: all of it is planned before anything is written, one consent covers what is
//! shown, waves keep their budgets, and running again completes what is missing.

use std::process::Command;

use serde_json::{Value, json};

use crate::carried::{pack, pack_as};
use crate::charts::{HELM, site, solution};
use crate::common::{Answer, results};
use crate::fleet::{Members, kubectl};
use crate::site::{Site, consent_id, variable};

/// What a version carries: a ConfigMap with the values that were chosen, and a role in the whole cluster.
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

/// The clusters of a fleet, each with its name.
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
        Answer::of(&mut self.apply_command(more))
    }

    pub(crate) fn apply_command(&self, more: &[&str]) -> Command {
        let mut command = self.site.command();
        command.env("HELM", &*HELM);
        command.args(["fleet", "apply", "fleet.yaml", "--key", "publisher.pub"]);
        command.args(["--ca-file", &variable("SOLUTION_TEST_REGISTRY_CA")]);
        command.arg("--no-pull-proof").args(more);
        command
    }

    /// Applies the file with consent to all that it asks for.
    pub(crate) fn apply_accepting(&self, more: &[&str]) -> Answer {
        let refused = self.apply(&["--dry-run"]).failure(1);
        let id = consent_id(&refused).to_owned();
        self.apply(&[&["--accept", &id], more].concat())
    }

    /// The greeting, the size and the version in a cluster; nothing where there is no Solution.
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

/// What became of each cluster.
pub(crate) fn states(answer: &Value) -> Vec<(String, String)> {
    let clusters = answer["clusters"].as_array().unwrap().iter();
    let text = |it: &'_ Value, field: &str| -> String { it[field].as_str().unwrap().to_owned() };
    let states = clusters.map(|it| (text(it, "name"), text(it, "state")));
    states.collect()
}

#[test]
fn a_fleet_is_planned_whole_accepted_once_and_completed_by_running_again() {
    let fleet = Fleet::start("fleet-apply");
    fleet.write("1.0.0", "", "");

    // What differs is told beside it, and what is equal once.
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

    // What one deployment would accept by itself accepts nothing here.
    let planned = fleet.apply(&["--dry-run", "--output=json"]).json();
    let alone = &planned["plan"]["clusters"][0]["deployments"][0]["plan"]["target"]["beyond"]["id"];
    let refused = fleet
        .apply(&["--accept", alone.as_str().unwrap()])
        .failure(1);
    assert!(refused.contains("have not been accepted"), "{refused}");
    assert!(!plan.contains(alone.as_str().unwrap()), "{plan}");
    assert_eq!(fleet.configs(), ["", "", ""]);

    // The last cluster has something in the way, and no other is changed.
    let rome = &fleet.members[2];
    kubectl(rome, &["create", "namespace", "prod"]).success();
    let refused = fleet.apply_accepting(&[]).failure(1);
    let words = "error: rome, shop 1.0.0 in prod: namespace `prod`";
    assert!(refused.contains(words), "{refused}");
    assert_eq!(fleet.configs(), ["", "", ""]);
    let all = ["get", "namespaces", "--output=name"];
    let lab = kubectl(&fleet.members[0], &all).success();
    assert!(!lab.contains("/prod"), "{lab}");
    two_solutions_come_to_one_new_environment(&fleet);
}

/// Rights that are dangerous only where another Solution runs.
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

/// Applies two Solutions to an environment that the run itself creates: what the first one creates is no change by others
/// to the plan of the second. In one cluster the first one was deployed before the plan was carried out, as if a run had
/// been interrupted then.
fn two_solutions_come_to_one_new_environment(fleet: &Fleet) {
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

/// Has somebody else approve the plan of the file, and carries that out.
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

/// Each line names its cluster, and tells it from its beginning to its end.
fn programs_are_told_what_happens_where(fleet: &Fleet) {
    let told = std::fs::read_to_string(fleet.site.desk.path("events")).unwrap();
    let told = results::events(&told);
    let begun =
        json!({"schemaVersion": "1", "event": "waveBegun", "wave": "all", "clusters": NAMES});
    assert_eq!(told[0], begun);
    let mut pushed = 0;
    for name in NAMES {
        let of: Vec<&Value> = told.iter().filter(|it| it["cluster"] == name).collect();
        let ends = [of[0], of[of.len() - 1]].map(|it| it["event"].as_str().unwrap());
        assert_eq!(ends, ["clusterBegun", "clusterEnded"], "{of:#?}");
        assert_eq!(of[of.len() - 1]["state"], "done");
        let mut of = of.iter();
        let push = of.find(|it| it["event"] == "done").unwrap();
        pushed += u8::from(push["bytesTotal"] != 0);
        let object = of.find(|it| it["event"] == "object" && it["object"] == "Namespace prod");
        assert_eq!(object.unwrap()["applied"], "created");
    }
    assert_eq!(pushed, 1);
    assert!(
        told[1..].iter().all(|it| it["cluster"].is_string()),
        "{told:#?}"
    );
}

#[test]
fn values_stay_with_the_member_and_each_blob_is_pushed_once() {
    let fleet = Fleet::start("fleet-waves");
    fleet.write("1.0.0", "", "");
    // All at a time.
    let one = std::fs::read_to_string(fleet.site.desk.path("fleet.yaml")).unwrap();
    let (before, _) = one.split_once("  waves:").unwrap();
    let all = "  waves: [{name: all, clusters: [lab, paris, rome], parallel: 3}]\n";
    fleet
        .site
        .desk
        .write("fleet.yaml", format!("{before}{all}"));
    let applied = apply_as_approved(&fleet);
    let pushed = applied["clusters"].as_array().unwrap().iter();
    let pushed = pushed.filter(|it| it["receipts"][0]["uploaded"]["blobs"] != 0);
    assert_eq!(pushed.count(), 1, "{applied:#}");
    let done = NAMES.map(|name| (name.to_owned(), "done".to_owned()));
    assert_eq!(states(&applied), done, "{applied:#}");
    programs_are_told_what_happens_where(&fleet);
    let configs = NAMES.map(|name| format!("hello {name}, 3, 1.0.0"));
    assert_eq!(fleet.configs(), configs);

    // Nothing is left to do, and nobody is asked.
    let again = fleet.apply(&["--output", "json"]).json();
    assert_eq!(states(&again), done);
    for cluster in again["clusters"].as_array().unwrap() {
        assert_eq!(cluster["receipts"][0]["objects"], json!([]), "{again:#}");
        assert_eq!(cluster["receipts"][0]["uploaded"]["blobs"], 0, "{again:#}");
    }

    // Whoever deploys in a member alone keeps what the fleet chose.
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let paris = ["--kubeconfig", &fleet.members[1], "--ca-file", &ca];
    let deploy = ["deploy", "shop", "1.0.0", "-e", "prod", "--set", "size=2"];
    let deployed = solution(&fleet.site, &[&deploy[..], &paris].concat()).success();
    assert!(deployed.contains("fleet shops"), "{deployed}");
    assert_eq!(fleet.config(1), "hello paris, 2, 1.0.0");
    // What was approved is not what would be done now.
    let stale = fleet.apply(&["--plan", "plan.json"]).failure(1);
    let words = "error: paris, shop 1.0.0 in prod: ";
    assert!(stale.contains(words), "{stale}");
    assert!(!stale.contains("error: lab"), "{stale}");
    // The fleet's next run shows what was chosen there, and does not use it.
    let plan = fleet.apply(&["--dry-run"]).success();
    assert!(plan.contains("[paris]"), "{plan}");
    fleet.apply(&[]).success();
    assert_eq!(fleet.configs(), configs);
}
