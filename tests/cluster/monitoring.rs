//! Monitoring objects of archives with a real Prometheus: an operator's metrics, rules and dashboards in two
//! environments, and the alerts about Solutions.

use std::collections::BTreeSet;
use std::thread;

use fixtures::layout::OciLayout;
use serde_json::Value;

use crate::common::Answer;
use crate::console_solution::program_image;
use crate::metrics::create_prometheus_kinds;
use crate::prometheus::Prometheus;
use crate::site::{Site, eventually};

/// The page whose rules and dashboard are used.
const PAGE: &str = include_str!("../../docs/how-to/publish/monitor.md");

/// The source tree of the alerts about Solutions.
const ALERTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/solutions/alerts");

/// Packs a Solution with the page's manifest sets, rules and dashboard. Its operator is the example's server.
fn pack(site: &Site, sets: &str) {
    let source = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: shop, annotations: {{solutions.metalk8s.scality.com/display-name: Shop}}}}
spec:
  version: 1.0.0
  expires: 2099-01-01T00:00:00Z
  images: [{{name: example-server, tag: 1.0.0, source: 'oci:images/example-server:1.0.0'}}]
  operator:
    image: {{name: example-server, tag: 1.0.0}}
    command: [example-server]
    securityContext: {{runAsNonRoot: true, readOnlyRootFilesystem: true}}
    metrics: {{enabled: true, scheme: http}}
    template: {{spec: {{containers: [{{resources: {{requests: {{cpu: 10m}}}}, readinessProbe: {{httpGet: {{path: /healthz, port: 8080}}, periodSeconds: 1}}}}]}}}}
{sets}"
    );
    site.desk.write("1.0.0/solution.yaml", source);
    // The server's counter has another name.
    let object = |kind: &str| block(kind).replace("shop_requests_total", "example_requests_total");
    site.desk
        .write("1.0.0/rules.yaml", object("kind: PrometheusRule"));
    site.desk
        .write("1.0.0/dashboard.yaml", object("kind: ConfigMap"));
    let arguments = ["pack", "1.0.0", "-o", "shop.iso", "--force"];
    let arguments = [&arguments[..], &["--key", "publisher.key"]].concat();
    let packed = site.desk.solution(&arguments);
    assert!(!packed.stderr.contains("warning["), "{packed:?}");
    packed.success();
}

/// Returns the block of the page with these words.
fn block(words: &str) -> &'static str {
    let mut blocks = PAGE.split("```yaml\n").skip(1);
    let block = blocks.find(|block| block.split("```").next().unwrap().contains(words));
    block.unwrap().split("```").next().unwrap()
}

fn import(site: &Site, archive: &str, environment: &str, more: &[&str]) -> Answer {
    let into = ["-e", environment, "--pull-secret", "login"];
    site.import(archive, &[&into[..], more].concat())
}

/// Packs the alerts with the program itself.
fn pack_alerts(site: &Site) {
    site.desk.run("cp", &["-r", ALERTS, "alerts"]).success();
    let layout = OciLayout::create(site.desk.path("alerts/images/solution")).unwrap();
    let image = program_image(site).into();
    let layout = layout.add(&image, Some("1.0.0")).unwrap();
    layout.finish().unwrap();
    let arguments = [
        "pack",
        "alerts",
        "-o",
        "alerts.iso",
        "--key",
        "publisher.key",
    ];
    site.desk.solution(&arguments).success();
}

/// Runs every query of a namespace's dashboard, and returns the values of a label in the results.
fn ask_dashboard(
    site: &Site,
    prometheus: &Prometheus,
    namespace: &str,
    map: &str,
    label: &str,
) -> BTreeSet<String> {
    let map = site.kubectl(namespace, &["get", "configmap", map, "--output=json"]);
    let map = map.json();
    let folder = &map["metadata"]["annotations"]["metalk8s.scality.com/grafana-folder-name"];
    assert!(folder.as_str().unwrap().contains(namespace), "{folder}");
    assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
    let (_, text) = map["data"].as_object().unwrap().iter().next().unwrap();
    let dashboard: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
    assert!(dashboard["uid"].as_str().unwrap().ends_with(namespace));
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let found = targets.flat_map(|target| {
        let query = target["expr"].as_str().unwrap();
        eventually(query, || {
            Some(prometheus.query(query)).filter(|found| !found.is_empty())
        })
    });
    let labels = found.filter_map(|result| Some(result["metric"][label].as_str()?.to_owned()));
    labels.collect()
}

/// Waits until an alerting rule of a namespace's object has this state.
fn await_alert(prometheus: &Prometheus, namespace: &str, name: &str, state: &str) {
    eventually(&format!("{name} is {state} in {namespace}"), || {
        let now = prometheus.alert(namespace, name)?;
        (now == state).then_some(())
    });
}

/// Deploys the alerts about Solutions.
fn deploy_alerts(site: &Site) {
    let account = "alerts:solution-alerts";
    let rbac = ["rbac", "--verb", "status", "--serviceaccount", account];
    let roles = site.desk.solution(&rbac).success();
    let roles = roles.replace("solution-user:status", "site:alerts-status");
    site.apply(&roles).success();
    import(site, "alerts.iso", "alerts", &[]).success();
}

/// Asserts that both environments run, by their own rules and by the alerts.
fn assert_both_run(site: &Site, prometheus: &Prometheus) {
    for environment in ["blue", "green"] {
        let up = format!(r#"up{{namespace="{environment}", job="shop-operator-metrics"}} == 1"#);
        eventually(&up, || (prometheus.query(&up).len() == 1).then_some(()));
        let labels = ask_dashboard(site, prometheus, environment, "shop", "namespace");
        assert_eq!(labels, BTreeSet::from([environment.to_owned()]));
        await_alert(prometheus, environment, "ShopOperatorDown", "inactive");
    }
    let labels = ask_dashboard(site, prometheus, "alerts", "solution-alerts", "environment");
    // The alerts' own environment may not have existed at the first scrape.
    let both = BTreeSet::from(["blue", "green"].map(str::to_owned));
    assert!(labels.is_superset(&both), "{labels:?}");
}

/// Stops the operator of one environment, and asserts that only this one is reported.
fn assert_one_stopped(site: &Site, prometheus: &Prometheus) {
    let stop = ["scale", "deployment/shop-operator", "--replicas=0"];
    site.kubectl("blue", &stop).success();
    await_alert(prometheus, "blue", "ShopOperatorDown", "pending");
    await_alert(prometheus, "green", "ShopOperatorDown", "inactive");
    let pending = |environment: &str| {
        let alert = r#"alertname="SolutionNotReady", alertstate="pending""#;
        let query = format!(r#"ALERTS{{{alert}, environment="{environment}"}}"#);
        (!prometheus.query(&query).is_empty()).then_some(())
    };
    eventually("the one is not ready", || pending("blue"));
    assert_eq!(pending("green"), None);
    for quiet in [
        "SolutionDrifted",
        "SolutionExpired",
        "SolutionStatusUnseen",
        "SolutionStatusUnknown",
    ] {
        await_alert(prometheus, "alerts", quiet, "inactive");
    }
}

#[test]
fn each_environment_is_monitored_by_itself_and_solutions_are_watched() {
    let site = Site::new("monitoring");
    for environment in ["blue", "green", "alerts"] {
        site.create_environment(environment);
    }
    let sets = block("  manifests:");
    // Without the condition, the plan names the missing kind.
    pack(&site, &sets.replace("      when:", "      #"));
    let plan = ["--dry-run", "--output", "json"];
    let refused = import(&site, "shop.iso", "blue", &plan);
    let refused = refused.json().to_string();
    assert!(refused.contains(r#""id":"no-kind""#), "{refused}");
    assert!(refused.contains("PrometheusRule"), "{refused}");

    create_prometheus_kinds(&site);
    pack(&site, sets);
    thread::scope(|scope| {
        scope.spawn(|| pack_alerts(&site));
        for environment in ["blue", "green"] {
            scope.spawn(|| import(&site, "shop.iso", environment, &[]).success());
        }
    });
    deploy_alerts(&site);
    let prometheus = Prometheus::start(&site);
    assert_both_run(&site, &prometheus);
    assert_one_stopped(&site, &prometheus);

    let people = site.solution(&["status"]);
    let until = " 2099-01-01T00:00:00Z  ";
    assert!(people.stdout.contains(until), "{people:?}");
    // The metrics file has the same content, in Prometheus' format.
    let text = site.solution(&["status", "--output", "metrics"]).success();
    let ready = r#"solution_ready{solution="shop",version="1.0.0",environment="green",namespace="green"} 1"#;
    assert!(text.contains(ready), "{text}");
    let expires = r#"expires_timestamp_seconds{solution="shop",version="1.0.0",environment="green",namespace="green"} 4070908800"#;
    assert!(text.contains(expires), "{text}");
    site.desk.write("solutions.prom", &text);
    let check = ["-c", "promtool check metrics < solutions.prom"];
    site.desk.run("bash", &check).success();
}
