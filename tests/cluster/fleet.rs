//! A fleet of real API servers: the identity and facts of each cluster, its values, and its status.

use std::ops::Deref;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::charts::{import, pack_tree, site, solution};
use crate::common::Answer;
use crate::site::{Site, eventually, variable};

/// Additional clusters besides that of the tests, by their kubeconfigs. They end with this value.
pub(crate) struct Members(Vec<String>);

impl Members {
    pub(crate) fn start(count: usize) -> Self {
        let found = members(count).success();
        Self(found.lines().map(str::to_owned).collect())
    }

    /// Kills a member, which keeps its data.
    pub(crate) fn kill(&self, at: usize) {
        assert!(at < self.len());
        let directory = variable("SOLUTION_TEST_CLUSTER_DIR");
        let file = format!("{directory}/run/member-{}.pid", at + 1);
        let pid = std::fs::read_to_string(file).unwrap();
        let kill = Command::new("kill").args(["-KILL", pid.trim()]).status();
        assert!(kill.unwrap().success());
    }

    /// Restarts the killed members.
    pub(crate) fn restart_killed(&self) {
        members(self.len()).success();
    }
}

impl Deref for Members {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        members(0);
    }
}

/// Starts this many members.
fn members(count: usize) -> Answer {
    let (program, directory) = (
        variable("SOLUTION_TEST_CLUSTER"),
        variable("SOLUTION_TEST_CLUSTER_DIR"),
    );
    Answer::from_command(Command::new(program).args(["members", &directory, &count.to_string()]))
}

/// Runs kubectl in a member.
pub(crate) fn kubectl(kubeconfig: &str, arguments: &[&str]) -> Answer {
    let mut command = Command::new("kubectl");
    command.args(["--kubeconfig", kubeconfig]).args(arguments);
    Answer::from_command(command.env("PATH", variable("PATH")))
}

/// Writes the domain of a member into its cluster.
fn set_domain(kubeconfig: &str, domain: &str) {
    let info = ["--namespace=kube-system", "configmap", "cluster-info"];
    let delete = [&["delete", "--ignore-not-found"], &info[..]].concat();
    kubectl(kubeconfig, &delete).success();
    let data = format!("--from-literal=domain={domain}");
    let create = [&["create"], &info[..], &[&data]].concat();
    kubectl(kubeconfig, &create).success();
}

const HEAD: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
spec:
  facts:
    domain: {apiVersion: v1, kind: ConfigMap, namespace: kube-system, name: cluster-info, path: /data/domain}
  groups:
    - {name: prod, selector: {matchLabels: {tier: prod}}, site: {parameters: {shop: {size: 3}}}}
  solutions: [{name: shop, version: 1.0.0, environment: prod}]
  waves: [{name: all, clusters: [CLUSTERS]}]
  site:
    parameters:
      shop: {host: 'shop.${facts.domain}', size: 1, index: '${cluster.index * 2}'}
    charts:
      shop: {net: {values: {pools: '${network.serviceCIDRs.map(it, {\"cidr\": it})}', home: '$${HOME}'}}}
";

/// Writes a fleet's file with these entries of clusters. The first word of each entry is its name.
fn write(site: &Site, clusters: &[(&str, String)]) {
    let names: Vec<&str> = clusters.iter().map(|(name, _)| *name).collect();
    let mut text = HEAD.replace("CLUSTERS", &names.join(", "));
    text.push_str("  clusters:\n");
    let entries = clusters.iter();
    let entries = entries
        .map(|(name, rest)| format!("    - name: {name}   # as it is called\n      {rest}\n"));
    text.extend(entries);
    site.desk.write("fleet.yaml", text);
}

fn values(site: &Site, more: &[&str]) -> Answer {
    let command = ["fleet", "values", "fleet.yaml", "--timeout=20"];
    solution(site, &[&command[..], more].concat())
}

/// Returns the value at a pointer, of the only deployment in a cluster.
fn value<'a>(all: &'a Value, cluster: &str, pointer: &str) -> &'a Value {
    let clusters = all["clusters"].as_array().unwrap().iter();
    let mut values = clusters
        .filter(|entry| entry["name"] == cluster)
        .flat_map(|entry| entry["deployments"][0]["values"].as_array().unwrap());
    let found = values.find(|value| value["pointer"] == pointer);
    &found.unwrap_or_else(|| panic!("{cluster} has no {pointer}: {all:#}"))["value"]
}

/// Values are shown as site configurations, and with their origin on request.
fn assert_equal_values_are_one_document(site: &Site) {
    let shown = values(site, &[]).success();
    let documents: Vec<&str> = shown.split("---\n").skip(1).collect();
    assert_eq!(documents.len(), 2, "{shown}");
    let head = "# shop 1.0.0 in prod on paris\napiVersion: 'solutions.metalk8s.scality.com/v1alpha1'\nkind: 'Site'\nspec:\n";
    assert!(documents[0].starts_with(head), "{shown}");
    assert!(documents[1].contains("host: 'shop.rome.test'\n"), "{shown}");
    let shown = values(site, &["--explain", "--cluster", "par*"]).success();
    for words in [
        "paris\n  shop 1.0.0 in prod\n",
        "/parameters/shop/host \"shop.paris.test\" (fleet, line 13: shop.${facts.domain})\n",
        "/parameters/shop/size 3 (group prod, line 8)\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("rome"), "{shown}");
}

#[test]
fn each_cluster_gets_values_of_its_own_and_one_that_fails_hides_no_other() {
    let site = site("fleet-values");
    let kubeconfigs = Members::start(3);
    for (kubeconfig, domain) in kubeconfigs.iter().zip(["paris.test", "rome.test"]) {
        set_domain(kubeconfig, domain);
    }
    kubectl(
        &kubeconfigs[2],
        &[
            "delete",
            "--namespace=kube-system",
            "--ignore-not-found",
            "configmap/cluster-info",
        ],
    )
    .success();
    let away = String::from_utf8(std::fs::read(&kubeconfigs[0]).unwrap()).unwrap();
    site.desk
        .write("away.kubeconfig", away.replace(":7001", ":7099"));
    let at = |number: usize, tier: &str| {
        let kubeconfig = &kubeconfigs[number];
        format!("kubeconfig: {kubeconfig}\n      labels: {{tier: {tier}}}")
    };
    let fleet = [("paris", at(0, "prod")), ("rome", at(1, "test"))];
    write(&site, &fleet);
    let found = values(&site, &["--output", "json"]).json();
    assert_eq!(
        value(&found, "paris", "/parameters/shop/host"),
        "shop.paris.test"
    );
    assert_eq!(
        value(&found, "rome", "/parameters/shop/host"),
        "shop.rome.test"
    );
    assert_eq!(value(&found, "paris", "/parameters/shop/size"), 3);
    assert_eq!(value(&found, "rome", "/parameters/shop/size"), 1);
    assert_eq!(value(&found, "rome", "/parameters/shop/index"), 2);
    let pools = "/charts/shop/net/values/pools/0/cidr";
    assert_eq!(value(&found, "paris", pools), "10.97.0.0/24");
    assert_eq!(value(&found, "rome", pools), "10.98.0.0/24");
    assert_eq!(
        value(&found, "rome", "/charts/shop/net/values/home"),
        "${HOME}"
    );
    assert_equal_values_are_one_document(&site);

    let mut more = fleet.to_vec();
    more.push(("oslo", format!("kubeconfig: {}", kubeconfigs[2])));
    more.push(("away", "kubeconfig: away.kubeconfig".to_owned()));
    write(&site, &more);
    let answer = values(&site, &[]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let words = "fleet.yaml, line 13, cluster oslo: `shop.${facts.domain}` needs `facts.domain`, which is not known for this cluster";
    assert!(answer.stderr.contains(words), "{answer:?}");
    assert!(answer.stdout.contains("shop.rome.test"), "{answer:?}");
    assert!(
        answer
            .stderr
            .contains("error: away: cannot use the cluster"),
        "{answer:?}"
    );
    let reachable = values(&site, &["--cluster=away", "--cluster=rome"]);
    assert_eq!(reachable.code, 3, "{reachable:?}");
}

/// The part of Cluster API's `Cluster` definition that a fleet needs.
const CLUSTER_API: &str = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
metadata: {name: clusters.cluster.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}, \
spec: {group: cluster.x-k8s.io, scope: Namespaced, names: {kind: Cluster, plural: clusters, singular: cluster, listKind: ClusterList}, \
versions: [{name: v1beta2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}";

/// Two entries for one cluster are not pinned, and the file is not changed.
fn assert_one_cluster_is_pinned_once(site: &Site, kubeconfig: &str) {
    let copy = std::fs::read(kubeconfig).unwrap();
    site.desk.write("copy.kubeconfig", copy);
    let by = |path: &str| format!("kubeconfig: {path}");
    write(
        site,
        &[("paris", by(kubeconfig)), ("again", by("copy.kubeconfig"))],
    );
    let before = site.desk.read("fleet.yaml");
    let pin = ["fleet", "check", "fleet.yaml", "--pin", "--timeout=20"];
    let refused = solution(site, &pin).failure(1);
    assert!(refused.contains("nothing was pinned"), "{refused}");
    assert_eq!(site.desk.read("fleet.yaml"), before);
}

#[test]
fn a_cluster_is_pinned_by_its_uid_and_another_one_is_not_touched() {
    let site = site("fleet-pin");
    let kubeconfigs = Members::start(2);
    set_domain(&kubeconfigs[0], "paris.test");
    set_domain(&kubeconfigs[1], "rome.test");
    site.apply(CLUSTER_API).success();
    let wait = [
        "wait",
        "--for=condition=Established",
        "crd/clusters.cluster.x-k8s.io",
    ];
    site.kubectl("default", &wait).success();
    let kubeconfig = std::fs::read(&kubeconfigs[1]).unwrap();
    site.apply(&format!(
        "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: rome, namespace: prod}}}}
---
{{apiVersion: v1, kind: Secret, metadata: {{name: rome-kubeconfig, namespace: prod}}, data: {{value: {}}}}}
",
        STANDARD.encode(kubeconfig)
    ))
    .success();
    assert_one_cluster_is_pinned_once(&site, &kubeconfigs[0]);
    let paris = |number: usize| format!("kubeconfig: {}", kubeconfigs[number]);
    let rome = "clusterApi: {namespace: prod, name: rome}".to_owned();
    write(&site, &[("paris", paris(0)), ("rome", rome)]);
    let pin = ["fleet", "check", "fleet.yaml", "--pin", "--timeout=20"];
    let said = solution(&site, &pin).success();
    let uid = "{.metadata.uid}";
    let output = format!("--output=jsonpath={uid}");
    let of_paris = kubectl(
        &kubeconfigs[0],
        &["get", "namespace", "kube-system", &output],
    )
    .success();
    let of_rome = site.field("prod", "clusters.cluster.x-k8s.io/rome", uid);
    assert!(
        said.contains(&format!(
            "pinned paris to {of_paris}\npinned rome to {of_rome}\n"
        )),
        "{said}"
    );
    let text = String::from_utf8(site.desk.read("fleet.yaml")).unwrap();
    let line =
        format!("    - name: paris   # as it is called\n      uid: {of_paris}\n      kubeconfig:");
    assert!(text.contains(&line), "{text}");
    let said = solution(&site, &pin).success();
    assert!(
        said.contains("rome is already pinned to this cluster\n"),
        "{said}"
    );
    let found = values(&site, &["--output", "json"]).json();
    assert_eq!(
        value(&found, "rome", "/parameters/shop/host"),
        "shop.rome.test"
    );

    // The name is the same, and leads to another cluster.
    site.desk
        .write("fleet.yaml", text.replace(&kubeconfigs[0], &kubeconfigs[1]));
    let answer = values(&site, &[]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let words = format!("but the fleet's file pins {of_paris}");
    assert!(
        answer.stderr.contains("error: paris: ") && answer.stderr.contains(&words),
        "{answer:?}"
    );
    assert!(
        answer.stdout.contains("# shop 1.0.0 in prod on rome\n"),
        "{answer:?}"
    );
}

/// Writes a fleet with this deployment: the site's own cluster, one without any version, and an unreachable one. The
/// order of the waves differs from that of the clusters.
fn deploy(site: &Site, empty: &str, deployment: &str) {
    let authority = std::fs::read_to_string(variable("SOLUTION_TEST_REGISTRY_CA")).unwrap();
    let authority = format!("certificateAuthority: {}", json!(authority));
    site.desk.write(
        "fleet.yaml",
        format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {{name: shops}}
spec:
  solutions: [{{{deployment}}}]
  clusters:
    - {{name: paris, kubeconfig: {}, {authority}}}
    - {{name: oslo, kubeconfig: {empty}, {authority}}}
    - {{name: away, kubeconfig: away.kubeconfig}}
  waves: [{{name: canary, clusters: [oslo]}}, {{name: rest, clusters: [paris, away]}}]
",
            site.kubeconfig()
        ),
    );
}

fn status(site: &Site, more: &[&str]) -> Answer {
    let command = ["fleet", "status", "fleet.yaml", "--timeout=20"];
    solution(site, &[&command[..], more].concat())
}

/// Returns the result of the only deployment in a cluster, or null if it was not requested.
fn in_cluster(site: &Site, name: &str) -> Value {
    let cluster = format!("--cluster={name}");
    let answer = status(site, &[&cluster, "--output=json"]).json();
    let found = &answer["clusters"][0];
    assert_eq!(found["name"], name, "{answer:#}");
    found["deployments"][0].clone()
}

/// Returns the result of the only deployment in the site's own cluster.
fn in_paris(site: &Site) -> Value {
    in_cluster(site, "paris")
}

#[test]
fn each_cluster_tells_how_far_it_is_as_the_file_says() {
    let site = site("fleet-status");
    let kubeconfigs = Members::start(1);
    let oslo = kubeconfigs[0].as_str();
    let away = String::from_utf8(std::fs::read(oslo).unwrap()).unwrap();
    site.desk
        .write("away.kubeconfig", away.replace(":7001", ":7099"));
    let into = ["-e", "prod", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();

    deploy(
        &site,
        oslo,
        "name: example, version: 1.0.0, environment: prod",
    );
    let answer = status(&site, &[]);
    assert_eq!(answer.code, 1, "{answer:?}");
    let expected = "CLUSTER  WAVE    STATE
oslo     canary  0 of 1 ready
  example 1.0.0 in prod: absent
paris    rest    ready
away     rest    not reached
1 of 3 clusters is up to date; absent: oslo (example 1.0.0); not reached: away
";
    assert_eq!(answer.stdout, expected);
    let words = "error: away: cannot use the cluster";
    assert!(answer.stderr.contains(words), "{answer:?}");
    let paris = ["--cluster=paris", "--cluster=away"];
    assert_eq!(status(&site, &paris).code, 3);
    let shown = status(&site, &paris[..1]).success();
    assert_eq!(shown.lines().count(), 3, "{shown}");

    for (version, state) in [("1.1.0", "behind"), ("0.9.0", "ahead")] {
        let wanted = format!("name: example, version: {version}, environment: prod");
        deploy(&site, oslo, &wanted);
        let shown = status(&site, &paris[..1]);
        assert_eq!(shown.code, 1, "{shown:?}");
        for words in [
            format!("  example {version} in prod: {state}, 1.0.0 is deployed\n"),
            format!("; {state}: paris (example 1.0.0 instead of {version})\n"),
        ] {
            assert!(shown.stdout.contains(&words), "{words}: {shown:?}");
        }
    }
    deploy(
        &site,
        oslo,
        "name: example, version: 1.0.0, environment: test",
    );
    let shown = status(&site, &paris[..1]);
    assert_eq!(shown.code, 1, "{shown:?}");
    let words = "  example 1.0.0 in test: absent\n  not in the file: example 1.0.0 in prod\n";
    assert!(shown.stdout.contains(words), "{shown:?}");
    assert_broken_operators_reported(&site, oslo);
}

/// Reports an operator that was stopped, and one that is partly deleted.
fn assert_broken_operators_reported(site: &Site, oslo: &str) {
    deploy(
        site,
        oslo,
        "name: example, version: 1.0.0, environment: prod",
    );
    let operator = "deployment/example-operator";
    site.kubectl("prod", &["scale", operator, "--replicas=0"])
        .success();
    let stopped = eventually("the operator is told to be stopped", || {
        let found = in_paris(site);
        (found["why"] == "its Deployment is scaled to zero pods").then_some(found)
    });
    assert_eq!(stopped["state"], "notReady", "{stopped:#}");
    assert!(stopped["hint"].as_str().unwrap().contains("kubectl scale"));

    let finalizers = |list: &str| {
        let patch = format!(r#"--patch={{"metadata": {{"finalizers": {list}}}}}"#);
        site.kubectl("prod", &["patch", operator, "--type=merge", &patch])
            .success();
    };
    finalizers(r#"["example.test/stays"]"#);
    let undeploy = ["undeploy", "--yes", "example", "-e", "prod"];
    let failed = solution(site, &[&undeploy[..], &["--timeout", "2"]].concat());
    let incomplete = in_paris(site);
    // The namespace must be deletable after any result.
    finalizers("null");
    assert_eq!(failed.code, 3, "{failed:?}");
    assert_eq!(incomplete["state"], "incomplete", "{incomplete:#}");
    let why = incomplete["why"].as_str().unwrap();
    assert!(why.contains(": undeploy example 1.0.0 in prod, "), "{why}");
    solution(site, &undeploy).success();
    let gone = in_paris(site);
    assert_eq!(gone["state"], "absent", "{gone:#}");
    assert!(gone["runs"].is_null(), "{gone:#}");
}

#[test]
fn a_solution_without_an_operator_is_told_by_what_it_carries() {
    let site = site("fleet-carried");
    let settings =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: red}}";
    site.desk.write("1.0.0/settings.yaml", settings);
    let spec = "  manifests: [{name: settings, files: [settings.yaml]}]\n";
    import(&site, &pack_tree(&site, "1.0.0", spec), &[]).success();
    deploy(
        &site,
        "oslo.kubeconfig",
        "name: shop, version: 1.0.0, environment: prod",
    );
    let found = in_paris(&site);
    assert_eq!(found["state"], "ready", "{found:#}");
    assert_eq!(found["drift"], json!([]), "{found:#}");
    assert_changes_by_others_reported(&site);
    let delete = ["delete", "configmap/settings"];
    site.kubectl("prod", &delete).success();
    let found = in_paris(&site);
    assert_eq!(found["state"], "notReady", "{found:#}");
    assert_eq!(found["why"], "ConfigMap prod/settings is gone", "{found:#}");
}

fn assert_changes_by_others_reported(site: &Site) {
    let patch = r#"--patch={"data": {"color": "blue"}}"#;
    let patch = ["patch", "configmap/settings", "--type=merge", patch];
    site.kubectl("prod", &patch).success();
    let paris = "--cluster=paris";
    let shown = status(site, &[paris]);
    assert_eq!(shown.code, 1, "{shown:?}");
    let words = "  shop 1.0.0 in prod: drifted\n    reason: ConfigMap prod/settings differs from the deployed version\n";
    assert!(shown.stdout.contains(words), "{shown:?}");
    let last = "0 of 1 cluster is up to date; drifted: paris (shop 1.0.0)\n";
    assert!(shown.stdout.ends_with(last), "{shown:?}");
    let drift = &in_paris(site)["drift"];
    let fields = [
        &drift[0]["object"],
        &drift[0]["action"],
        &drift[0]["changes"],
    ];
    let expected = [
        &json!("ConfigMap prod/settings"),
        &json!("change"),
        &json!([".data.color"]),
    ];
    assert_eq!(fields, expected, "{drift:#}");
    for less in ["--live=false", "--quick"] {
        status(site, &[paris, less]).success();
    }
    let read = |verb: &str| solution(site, &["fleet", verb, "fleet.yaml", paris]);
    let diff = read("diff");
    assert_eq!(diff.code, 1, "{diff:?}");
    for words in [
        "shop 1.0.0 in prod, 1 cluster\n  1 object differs\n",
        "diff      change ConfigMap prod/settings\n",
        "1 of 1 cluster differs from the file: paris\n",
    ] {
        assert!(diff.stdout.contains(words), "{words}: {diff:?}");
    }
    let rendered = read("render").success();
    let source = "---\n# Source: paris, shop 1.0.0 in prod, set settings\n";
    assert!(rendered.contains(source), "{rendered}");
    assert!(rendered.contains("color: 'red'"), "{rendered}");
}

#[test]
fn who_may_read_a_status_may_read_that_of_a_fleet_and_less_is_not_called_absent() {
    let site = site("fleet-rights");
    let into = ["-e", "prod", "--pull-secret", "login"];
    site.import("1.0.0.iso", &into).success();
    let wanted = "name: example, version: 1.0.0, environment: prod";
    let becomes = |state: &str| {
        eventually("the rights hold", || {
            (in_cluster(&site, "oslo")["state"] == state).then_some(())
        });
        status(&site, &["--cluster=oslo"])
    };
    let without_objects = ["--cluster=oslo", "--live=false"];

    let create = ["create", "serviceaccount", "reader"];
    site.kubectl("default", &create).success();
    let rbac = [
        "rbac",
        "--verb=status",
        "--serviceaccount",
        "default:reader",
    ];
    let roles = site.desk.solution(&rbac).success();
    site.apply(&roles).success();
    deploy(&site, &site.create_account("reader"), wanted);
    let last = "1 of 1 cluster is up to date\n";
    eventually("the rights hold", || {
        let shown = status(&site, &without_objects);
        (shown.code == 0 && shown.stdout.ends_with(last)).then_some(())
    });
    // Objects are dry-run, which needs the permissions to deploy.
    let shown = status(&site, &without_objects[..1]);
    assert_eq!(shown.code, 3, "{shown:?}");
    let words = "  example 1.0.0 in prod: unknown\n    reason: cannot compare its objects: ";
    assert!(shown.stdout.contains(words), "{shown:?}");

    // This user may only read the identity of the cluster.
    let granted = json!([{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}]);
    deploy(
        &site,
        &site.create_account_with_rules("stranger", &granted),
        wanted,
    );
    let shown = becomes("unseen");
    assert_eq!(shown.code, 3, "{shown:?}");
    for words in [
        "oslo     canary  0 of 1 ready\n  example 1.0.0 in prod: unknown\n    reason: this user may not see imported versions",
        "    hint: ask the cluster administrator for the roles that `solution site rbac --verb status` prints",
        "\n0 of 1 cluster is up to date; unknown: oslo (example 1.0.0)\n",
    ] {
        assert!(shown.stdout.contains(words), "{words}: {shown:?}");
    }
}
