//! One version of a chart on all clusters of a fleet, with values from the facts of each cluster: a network with the
//! pools of the cluster, first in staging, then in production.

use serde_json::Value;

use crate::charts::{pack_tree, site, solution};
use crate::common::Answer;
use crate::fleet::{Members, kubectl};
use crate::fleet_apply::states;
use crate::site::{Site, consent_id, variable};

/// The settings of a network.
const POOLS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: '{{ .Release.Name }}-pools'}
data:
  pools: {{ .Values.pools | toJson | quote }}
  level: {{ .Values.level | quote }}
  chart: {{ .Chart.Version }}
";

/// Packs a version of the chart.
fn pack(site: &Site, version: &str) {
    let metadata = format!("apiVersion: v2\nname: net\nversion: {version}\n");
    site.desk.write("1.0.0/net/Chart.yaml", metadata);
    site.desk.write("1.0.0/net/templates/pools.yaml", POOLS);
    let values = "pools: []\nlevel: info\n";
    site.desk.write("1.0.0/net/values.yaml", values);
    pack_tree(
        site,
        version,
        "  charts: [{name: net, source: 'dir:net'}]\n",
    );
}

/// Writes the pod network of a member into its cluster.
pub(crate) fn set_network(kubeconfig: &str, network: &str) {
    let said = format!("--from-literal=ClusterConfiguration=networking: {{podSubnet: {network}}}");
    let create = [
        "create",
        "--namespace=kube-system",
        "configmap",
        "kubeadm-config",
        &said,
    ];
    kubectl(kubeconfig, &create).success();
}

fn write(site: &Site, members: &Members, version: &str) {
    let (registry, pulls) = (site.registry(), site.pull_registry());
    let clusters = [("lab", "staging"), ("paris", "prod"), ("rome", "prod")];
    let clusters = clusters.iter().zip(members.iter());
    let clusters: Vec<String> = clusters
        .map(|((name, tier), kubeconfig)| {
            format!("    - {{name: {name}, labels: {{tier: {tier}}}, kubeconfig: '{kubeconfig}', registry: '{registry}', pullRegistry: '{pulls}'}}\n")
        })
        .collect();
    let clusters = clusters.concat();
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {{name: networks}}
spec:
  clusters:
{clusters}  groups:
    - {{name: staging, selector: {{matchLabels: {{tier: staging}}}}, site: {{charts: {{shop: {{net: {{values: {{level: debug}}}}}}}}}}}}
    - {{name: prod, selector: {{matchLabels: {{tier: prod}}}}}}
  solutions: [{{name: shop, version: {version}, archive: shop-{version}.iso, environment: net}}]
  site: {{charts: {{shop: {{net: {{values: {{pools: '${{network.podCIDRs.map(it, {{\"cidr\": it}})}}'}}}}}}}}}}
  waves: [{{name: staging, groups: [staging]}}, {{name: prod, groups: [prod], parallel: 2}}]
"
    );
    site.desk.write("fleet.yaml", text);
}

fn apply(site: &Site, more: &[&str]) -> Answer {
    let ca = variable("SOLUTION_TEST_REGISTRY_CA");
    let apply = ["fleet", "apply", "fleet.yaml", "--key", "publisher.pub"];
    let with = ["--ca-file", &ca, "--no-pull-proof"];
    solution(site, &[&apply[..], &with, more].concat())
}

/// Returns the pools, the level and the version of the chart in a member, or an empty text if it is not installed.
fn settings(members: &Members, member: usize) -> String {
    let get = [
        "--namespace=net",
        "get",
        "configmap",
        "net-pools",
        "--ignore-not-found",
    ];
    let fields = "--output=jsonpath={.data.pools} {.data.level} {.data.chart}";
    kubectl(&members[member], &[&get[..], &[fields]].concat()).success()
}

#[test]
fn a_chart_has_values_of_each_cluster_and_comes_to_one_group_before_the_other() {
    let site = site("fleet-charts");
    let members = Members::start(3);
    for (kubeconfig, network) in members
        .iter()
        .zip(["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"])
    {
        set_network(kubeconfig, network);
    }
    pack(&site, "1.0.0");
    write(&site, &members, "1.0.0");
    let plan = apply(&site, &["--dry-run", "--diff"]);
    for words in [
        "10.2.0.0/16",
        "level \"debug\" (the fleet networks) [lab]\n",
    ] {
        assert!(plan.stdout.contains(words), "{words}: {plan:?}");
    }
    let accepts: Vec<String> = match plan.code {
        0 => Vec::new(),
        _ => vec![format!("--accept={}", consent_id(&plan.failure(1)))],
    };
    let accepts: Vec<&str> = accepts.iter().map(String::as_str).collect();
    apply(&site, &accepts).success();
    let expected = |version: &str, level: &str, pools: &str| {
        format!("[{{\"cidr\":\"{pools}\"}}] {level} {version}")
    };
    assert_eq!(
        settings(&members, 0),
        expected("1.0.0", "debug", "10.1.0.0/16")
    );
    assert_eq!(
        settings(&members, 1),
        expected("1.0.0", "info", "10.2.0.0/16")
    );
    assert_eq!(
        settings(&members, 2),
        expected("1.0.0", "info", "10.3.0.0/16")
    );

    // A new version is deployed to staging alone, and then to production alone.
    pack(&site, "1.1.0");
    write(&site, &members, "1.1.0");
    let staged: Value = apply(&site, &["--group=staging", "--output=json"]).json();
    assert_eq!(
        states(&staged),
        [("lab".to_owned(), "done".to_owned())],
        "{staged:#}"
    );
    assert_eq!(
        settings(&members, 0),
        expected("1.1.0", "debug", "10.1.0.0/16")
    );
    assert_eq!(
        settings(&members, 1),
        expected("1.0.0", "info", "10.2.0.0/16")
    );
    apply(&site, &["--group=prod"]).success();
    assert_eq!(
        settings(&members, 2),
        expected("1.1.0", "info", "10.3.0.0/16")
    );
}
