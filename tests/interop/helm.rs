//! Helm reads the generated files for Helm.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::{Answer, Desk};

/// Returns the path of Helm 4.
pub(crate) fn helm() -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/program");
    let path = Answer::from_command(Command::new(program).args(["helm", "--path"])).success();
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
    // The command of docs/how-to/operate/registries.md, for each image.
    let docs = include_str!("../../docs/how-to/operate/registries.md");
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
    let rendered = Answer::from_command(&mut template).success();
    for image in images {
        let line = format!("- image: {}\n", image["address"].as_str().unwrap());
        assert!(rendered.contains(&line), "{rendered}");
    }
}

/// The chart resembles a service mesh, whose injector joins the parts of a sidecar's address.
#[test]
fn an_image_that_a_chart_names_in_parts_is_explained_and_added() {
    let desk = Desk::new();
    let chart = "apiVersion: v2\nname: mesh\nversion: 1.0.0\n";
    desk.write("mesh/Chart.yaml", chart);
    let values = "mesh: {global: {hub: r.test/mesh, tag: '1', sidecar: {image: sidecar}}}\noff: {image: {repository: r.test/off, tag: '2'}}\n";
    desk.write("mesh/values.yaml", values);
    let config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: injector}, data: {values: '{{ toJson .Values.mesh }}'}}\n";
    desk.write("mesh/templates/injector.yaml", config);
    desk.solution(&["init", "--chart", "./mesh", "tree"])
        .success();
    let helm = helm();
    let pack = |more: &[&str]| {
        let all = [&["pack", "tree", "--helm", &helm][..], more].concat();
        desk.solution(&all)
    };
    let said = pack(&["--check", "--why", "sidecar"]).failure(1);
    let line = "`r.test/mesh/sidecar:1` is named by `mesh/templates/injector.yaml` of the chart `mesh`, ConfigMap `injector`: /data/values (global.hub, global.sidecar.image, global.tag): the fields are its parts\n";
    assert!(said.contains(line), "{said}");
    let said = pack(&["--check", "--why", "r.test/off"]).failure(1);
    assert!(
        said.contains("`r.test/off:2` is named by the value `off.image`"),
        "{said}"
    );
    // The error names the field that accepts the image.
    let words = "if not, list it in `unusedImages` of the chart, with any tag\n";
    assert!(said.contains(words), "{said}");
    let said = pack(&["--check", "--why", "r.test/none"]).failure(1);
    assert!(said.contains("no chart names `r.test/none`\n"), "{said}");
    let added = pack(&["--add-images"]).success();
    assert_eq!(
        added,
        "added       sidecar:1 from docker://r.test/mesh/sidecar:1\n"
    );
}
