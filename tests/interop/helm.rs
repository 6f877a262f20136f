//! Helm reads what is written for it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Desk};

/// The program, version 4.
fn helm() -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/program");
    let path = Answer::of(Command::new(program).args(["helm", "--path"])).success();
    path.trim().to_owned()
}

#[test]
fn a_chart_finds_each_image_in_the_map() {
    let desk = Desk::with_archive();
    let inspect = ["inspect", "example.iso", "--registry", "registry.site/apps"];
    let values = desk.solution(&[&inspect[..], &["--image-map", "helm"]].concat());
    desk.write("values.yaml", values.success());
    let said = desk.solution(&[&inspect[..], &["--output", "json"]].concat());
    let said = said.json();
    let images = said["imageMap"].as_array().unwrap();
    assert!(images.len() > 1, "{said:#}");
    desk.write(
        "chart/Chart.yaml",
        "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    );
    // The line of docs/registries.md, for each image.
    let docs = include_str!("../../docs/registries.md");
    let line = docs.lines().find(|line| line.starts_with("image: {{"));
    let named = |image: &Value| {
        let (name, _) = image["image"].as_str().unwrap().rsplit_once(':').unwrap();
        format!(
            "- {}\n",
            line.unwrap().replace("\"app\"", &format!("\"{name}\""))
        )
    };
    let template: String = images.iter().map(named).collect();
    desk.write(
        "chart/templates/images.yaml",
        format!("images:\n{template}"),
    );
    let mut template = Command::new(helm());
    template.args(["template", "chart", "--values", "values.yaml"]);
    template
        .current_dir(desk.path("."))
        .env("HOME", desk.path("."));
    let rendered = Answer::of(&mut template).success();
    for image in images {
        let line = format!("- image: {}\n", image["address"].as_str().unwrap());
        assert!(rendered.contains(&line), "{rendered}");
    }
}
