//! The alerts about Solutions, checked with Prometheus' own tool.

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;
use serde_json::Value;

use crate::common::Desk;
use crate::tools::run_tool;

/// The source tree of the alerts.
const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/solutions/alerts");

#[test]
fn the_alerts_about_solutions_fire_when_they_should() {
    let desk = Desk::with_key();
    desk.run("cp", &["-r", TREE, "alerts"]).success();
    let image = ImageBuilder::new().file("/bin/solution", "here it would be", 0o755);
    let image = Artifact::from(image.user(65532).build());
    let layout = OciLayout::create(desk.path("alerts/images/solution")).unwrap();
    layout.add(&image, Some("1.0.0")).unwrap().finish().unwrap();
    let pack = [
        "pack",
        "alerts",
        "-o",
        "alerts.iso",
        "--key",
        "publisher.key",
    ];
    desk.solution(&pack).success();
    let validate = ["validate", "alerts.iso", "--key", "publisher.pub"];
    let validate = [&validate[..], &["--output", "json"]].concat();
    let report = desk.solution(&validate).json();
    assert_eq!(report["findings"], serde_json::json!([]), "{report:#}");

    let render = ["render", "alerts.iso", "--key", "publisher.pub"];
    let place = ["-e", "alerts", "--registry", "registry.example"];
    let site = ["--no-cluster", "--kube-version", "1.36", "--output", "json"];
    let apis = ["PrometheusRule", "ServiceMonitor"]
        .map(|kind| format!("--api-versions=monitoring.coreos.com/v1/{kind}"));
    let apis = apis.each_ref().map(String::as_str);
    let rendered = desk.solution(&[&render[..], &place, &site, &apis].concat());
    let rendered = rendered.json();
    let mut objects = rendered["manifests"].as_array().unwrap().iter();
    let rules = objects.find_map(|manifest| {
        let object = &manifest["object"];
        (object["kind"] == "PrometheusRule").then(|| object["spec"].clone())
    });
    let rules: Value = rules.unwrap_or_else(|| panic!("{rendered:#}"));
    desk.write("rules.json", rules.to_string());
    desk.write("alerts.yaml", include_str!("alerts.yaml"));
    for arguments in [
        ["check", "rules", "rules.json"],
        ["test", "rules", "alerts.yaml"],
    ] {
        run_tool(&desk.path(""), "promtool", &arguments);
    }
}
