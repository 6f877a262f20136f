//! An operator's metrics are collected with the kinds that the cluster serves, and without those that it does not
//! serve.

use serde_json::Value;

use crate::book::run;
use crate::common::Answer;
use crate::pages::{commands, pages};
use crate::site::{Site, eventually, variable};

/// The example's server as an operator that declares a metrics port.
const OPERATOR: &str = "  operator:
    image: {name: example-server, tag: 1.0.0}
    command: [example-server]
    securityContext: {runAsNonRoot: true, readOnlyRootFilesystem: true}
    metrics: {enabled: true, scheme: SCHEME, port: 8080, path: /version}
";

/// Packs 1.0.0 with such an operator.
fn pack(site: &Site, scheme: &str) -> String {
    let source = "1.0.0/solution.yaml";
    let text = String::from_utf8(site.desk.read(source)).unwrap();
    let before = text.split("  operator:\n").next().unwrap();
    let operator = OPERATOR.replace("SCHEME", scheme);
    site.desk.write(source, format!("{before}{operator}"));
    let archive = format!("{scheme}.iso");
    let arguments = ["pack", "1.0.0", "-o", &archive, "--key", "publisher.key"];
    site.desk.solution(&arguments).success();
    archive
}

fn import(site: &Site, archive: &str, more: &[&str]) -> Answer {
    let into = ["-e", "metrics", "--pull-secret", "login", "--replace"];
    site.import(archive, &[&into[..], more].concat())
}

fn monitor(site: &Site) -> Answer {
    let get = ["get", "servicemonitor", "example-operator", "--output=json"];
    site.kubectl("metrics", &get)
}

/// Returns the addresses of the Service's endpoints.
fn scraped_addresses(site: &Site) -> Option<String> {
    let selector = "--selector=kubernetes.io/service-name=example-operator-metrics";
    let slices = site.kubectl(
        "metrics",
        &["get", "endpointslices", selector, "--output=json"],
    );
    let slices: Value = serde_json::from_str(&slices.stdout).ok()?;
    let endpoint = &slices["items"][0]["endpoints"][0];
    let address = endpoint["addresses"][0].as_str()?.to_owned();
    (endpoint["conditions"]["ready"] == true).then_some(address)
}

/// Creates the CRDs of the Prometheus operator.
pub(crate) fn create_prometheus_kinds(site: &Site) {
    let definitions = format!("{}/", variable("SOLUTION_TEST_MONITORING"));
    let create = ["create", "--filename", &definitions];
    site.kubectl("default", &create).success();
    // `kubectl wait` fails for a definition without conditions.
    let get = ["get", "--filename", &definitions, "--output=json"];
    eventually("the definitions are served", || {
        let found = site.kubectl("default", &get).json();
        let established = |definition: &Value| {
            let conditions = definition["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|condition| {
                condition["type"] == "Established" && condition["status"] == "True"
            })
        };
        let mut definitions = found["items"].as_array()?.iter();
        definitions.all(established).then_some(())
    });
}

#[test]
fn metrics_are_collected_where_the_cluster_can() {
    let site = Site::new("metrics");
    site.create_environment("metrics");
    let plain = pack(&site, "http");
    let alone = import(&site, &plain, &[]).success();
    assert!(alone.contains("does not serve ServiceMonitors"), "{alone}");
    let service = "service/example-operator-metrics";
    assert_eq!(
        site.field("metrics", service, "{.spec.ports[0].name}"),
        "http"
    );
    eventually("the Service finds the operator's pod", || {
        scraped_addresses(&site)
    });

    create_prometheus_kinds(&site);
    let planned = import(&site, &plain, &["--dry-run"]).success();
    assert!(planned.contains("+ ServiceMonitor"), "{planned}");
    import(&site, &plain, &[]).success();
    let found = monitor(&site).json();
    assert_eq!(
        found["spec"]["endpoints"][0]["path"], "/version",
        "{found:#}"
    );
    assert_eq!(
        found["metadata"]["labels"]["metalk8s.scality.com/monitor"],
        ""
    );

    for page in pages("how-to/publish/monitor.md") {
        for command in commands(&page) {
            let answer = run(&site, &command);
            assert_eq!(answer.code, 0, "{command}\n{answer:?}");
        }
    }

    let role = "clusterrole/solution:metrics:metrics:example:metrics-auth";
    let tls = pack(&site, "https");
    let refused = import(&site, &tls, &["--output", "json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let effects = &refused.json()["plan"]["target"]["beyond"];
    assert!(
        effects["lines"].to_string().contains("tokenreviews"),
        "{effects:#}"
    );
    import(&site, &tls, &["--accept", effects["id"].as_str().unwrap()]).success();
    assert_eq!(
        monitor(&site).json()["spec"]["endpoints"][0]["scheme"],
        "https"
    );
    site.kubectl("default", &["get", role]).success();

    site.solution(&["undeploy", "--yes", "example", "-e", "metrics"])
        .success();
    assert!(monitor(&site).stderr.contains("NotFound"));
    for gone in [service, role] {
        assert!(
            site.kubectl("metrics", &["get", gone])
                .stderr
                .contains("NotFound")
        );
    }
}
