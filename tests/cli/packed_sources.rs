//! `pack SOURCE`: one command packs a chart or a release to the same bytes as the separate steps.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;
use serde_json::Value;

use crate::common::{Answer, Desk};
use crate::sources::{SmallRegistry, registry};

/// Returns the contents of a registry with the image of each name, in version 1.0.0.
fn images(desk: &Desk, names: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for name in names {
        let image = ImageBuilder::new().file("/program", *name, 0o755).build();
        let layout = desk.path(&format!("layouts/{name}"));
        OciLayout::create(&layout)
            .and_then(|images| images.add(&Artifact::from(image), None))
            .and_then(OciLayout::finish)
            .unwrap();
        for entry in fs::read_dir(layout.join("blobs/sha256")).unwrap() {
            let path = entry.unwrap().path();
            let hex = path.file_name().unwrap().to_str().unwrap().to_owned();
            contents.insert(format!("blobs/sha256:{hex}"), fs::read(&path).unwrap());
        }
        let index = fs::read(layout.join("index.json")).unwrap();
        let index: Value = serde_json::from_slice(&index).unwrap();
        let digest = index["manifests"][0]["digest"].as_str().unwrap();
        let manifest = contents[&format!("blobs/{digest}")].clone();
        contents.insert(format!("{name}/manifests/{digest}"), manifest.clone());
        contents.insert(format!("{name}/manifests/1.0.0"), manifest);
    }
    contents
}

/// Returns a release of one Deployment with the image `shop` of this registry.
fn release(host: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: shop
  labels: {{app.kubernetes.io/name: shop, app.kubernetes.io/version: 1.0.0}}
spec:
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec: {{containers: [{{name: shop, image: '{host}/shop:1.0.0'}}]}}
"
    )
}

/// Returns a desk with a key, a release, and a registry that has its image.
fn desk() -> Desk {
    let desk = Desk::with_key();
    let SmallRegistry { host, .. } = registry(images(&desk, &["shop"]));
    desk.write("release.yaml", release(&host));
    desk
}

/// Packs with a key, and with a directory for temporary files that must be empty afterwards.
#[track_caller]
fn pack(desk: &Desk, arguments: &[&str]) -> Answer {
    fs::create_dir_all(desk.path("tmp")).unwrap();
    let mut command = desk.command();
    command.env("TMPDIR", desk.path("tmp"));
    command.arg("pack").args(arguments);
    let answer = Answer::from_command(command.args(["--key", "publisher.key"]));
    let left = fs::read_dir(desk.path("tmp")).into_iter().flatten();
    assert_eq!(left.count(), 0, "{answer:?}");
    answer
}

#[test]
fn a_release_is_packed_in_one_command_to_the_archive_of_the_single_steps() {
    let desk = desk();
    desk.solution(&["init", "--from", "release.yaml", "tree", "--name", "shop"])
        .success();
    desk.solution(&["pack", "tree", "--add-images"]).success();
    pack(&desk, &["tree", "-o", "steps.iso"]).success();

    let packed = pack(&desk, &["release.yaml"]);
    assert_eq!(packed.code, 0, "{packed:?}");
    assert!(desk.read("shop-1.0.0.iso") == desk.read("steps.iso"));
    for line in [
        "source      manifests release.yaml\n",
        "solution    shop 1.0.0 (name and version from the release)\n",
        "namespace   shop\n",
        "packed      shop-1.0.0.iso (",
        "image       shop:1.0.0 from docker://127.0.0.1:",
        "  named by  Deployment `shop`\n",
        "archive id  sha256:",
    ] {
        assert!(packed.stdout.contains(line), "{line}: {packed:?}");
    }
    let next = "next: run `solution validate shop-1.0.0.iso --key publisher.pub`; to change the source tree, run the same command with `--save-source DIR`\n";
    assert!(packed.stderr.ends_with(next), "{packed:?}");

    // The archive is not replaced, and the kept tree gives the same archive.
    let said = pack(&desk, &["release.yaml"]).failure(1);
    assert!(said.contains("`shop-1.0.0.iso` already exists"), "{said}");
    let keep = ["release.yaml", "--save-source", "kept", "--force"];
    pack(&desk, &keep).success();
    pack(&desk, &["kept", "-o", "kept.iso"]).success();
    assert!(desk.read("kept.iso") == desk.read("steps.iso"));
    let said = pack(&desk, &keep).failure(1);
    assert!(
        said.contains("name another directory with `--save-source`"),
        "{said}"
    );
}

#[test]
fn a_program_gets_the_decisions_about_a_source() {
    let desk = desk();
    let arguments = ["release.yaml", "--name", "store", "--output", "json"];
    let packed = pack(&desk, &arguments).json();
    assert_eq!(packed["archive"], "store-1.0.0.iso");
    let source = &packed["source"];
    assert_eq!(source["kind"], "manifests");
    assert_eq!(source["from"], "release.yaml");
    assert_eq!(
        (&source["nameFrom"], &source["versionFrom"]),
        (&"flag".into(), &"source".into())
    );
    assert_eq!(source["namespaces"][0]["name"], "shop");
    assert_eq!(source["images"][0]["image"], "shop:1.0.0");
    assert_eq!(source["images"][0]["namedBy"][0], "Deployment `shop`");
    // `--check` makes the same decisions, and writes nothing.
    let checked = pack(&desk, &[&arguments[..], &["--check"]].concat()).json();
    assert_eq!(checked["source"]["solution"], "store");
    assert_eq!(checked["solution"], "store-1.0.0");
}

#[test]
fn a_chart_is_downloaded_once_and_packed_to_the_archive_of_the_single_steps() {
    let desk = Desk::with_key();
    desk.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3\n",
    );
    desk.write("web/templates/a.yaml", "a: {{ .Values.a }}");
    desk.write("values.yaml", "a: b\n");
    let values = ["--values", "values.yaml", "--no-render"];
    desk.solution(&[
        "init",
        "--chart",
        "web",
        "--values",
        "values.yaml",
        "tree",
        "--name",
        "web",
    ])
    .success();
    let chart = "tree/charts/web-1.2.3.tgz";
    pack(&desk, &["tree", "--no-render", "-o", "steps.iso"]).success();
    let digest = files::digest(&desk.read(chart)).hex();
    let index =
        format!("entries: {{web: [{{version: 1.2.3, urls: [a.tgz], digest: '{digest}'}}]}}");
    let SmallRegistry { host, asked } = registry(BTreeMap::from([
        ("/index.yaml".to_owned(), index.into_bytes()),
        ("/a.tgz".to_owned(), desk.read(chart)),
    ]));
    let remote = format!("http://{host}#web@1.2.3");
    for source in ["web", "./web", chart, &remote] {
        let packed = pack(
            &desk,
            &[&[source, "--no-cache", "--force"], &values[..]].concat(),
        );
        let said = packed.success();
        assert!(
            desk.read("web-1.2.3.iso") == desk.read("steps.iso"),
            "{source}"
        );
        for line in [
            format!("source      chart {source}\n"),
            "solution    web 1.2.3 (name and version from the chart)\n".to_owned(),
            "release     web in the environment's namespace\n".to_owned(),
        ] {
            assert!(said.contains(&line), "{said}");
        }
    }
    let asked = asked.lock().unwrap();
    assert_eq!(
        asked.iter().filter(|path| path.ends_with("/a.tgz")).count(),
        1
    );
}

#[test]
fn a_source_that_cannot_be_packed_tells_how_to_continue() {
    let desk = Desk::with_key();
    let SmallRegistry { host, .. } = registry(BTreeMap::new());
    desk.write("release.yaml", release(&host));
    let said = pack(&desk, &["release.yaml"]).failure(1);
    assert!(
        said.contains("error[source.image-source]: solution.yaml:"),
        "{said}"
    );
    let next = "next: run the same command with `--save-source DIR`, edit DIR/solution.yaml, then run `solution pack DIR`\n";
    assert!(said.ends_with(next), "{said}");
    let said = pack(&desk, &["release.yaml", "--save-source", "kept"]).failure(1);
    let next = "next: the source tree is in `kept`: edit `kept/solution.yaml`, then run `solution pack kept`\n";
    assert!(said.ends_with(next), "{said}");
    assert!(desk.path("kept/solution.yaml").exists());
    assert!(!desk.path("shop-1.0.0.iso").exists());
    // A flag sets what the source leaves open, before anything is written.
    desk.write(
        "nameless.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
    );
    let said = pack(&desk, &["nameless.yaml", "--save-source", "none"]).failure(1);
    assert!(said.contains("hint: set one with `--"), "{said}");
    assert!(!desk.path("none").exists());
}

#[test]
fn flags_that_do_not_apply_to_a_tree_or_a_source_are_refused() {
    let desk = Desk::with_key();
    let chart = "apiVersion: v2\nname: web\nversion: 1.2.3\n";
    desk.write("web/Chart.yaml", chart);
    desk.write("release.yaml", release("r.test"));
    // A chart with a solution.yaml is a source tree.
    desk.write("both/Chart.yaml", chart);
    desk.write("both/solution.yaml", "");
    for (arguments, code, words) in [
        (
            &["both", "--name", "x"][..],
            2,
            "cannot use `--name` with a source tree",
        ),
        (
            &["both", "--values", "x"],
            2,
            "edit `both/solution.yaml` instead",
        ),
        (
            &["--save-source", "x"],
            2,
            "cannot use `--save-source` with a source tree",
        ),
        (
            &["web", "--check", "--sarif", "x"],
            2,
            "keep the source tree with `--save-source DIR`",
        ),
        (
            &["release.yaml", "--values", "x"],
            2,
            "it applies to a chart",
        ),
        (
            &["none"],
            1,
            "hint: name a Helm chart (a directory, a `.tgz` file, `oci://",
        ),
        (&["oci://r.test/web"], 2, "expected"),
        (&["keys"], 1, "`keys` has no `solution.yaml`"),
    ] {
        fs::create_dir_all(desk.path("keys")).unwrap();
        let said = pack(&desk, arguments).failure(code);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    let said = desk.solution(&["pack", "web", "--add-images"]).failure(2);
    assert!(said.contains("packing a chart adds its images"), "{said}");
    assert!(!Path::new(&desk.path("x")).exists());
}

#[test]
fn init_recognizes_a_chart_as_pack_does() {
    let desk = Desk::new();
    desk.write(
        "web/Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3\n",
    );
    let said = desk.solution(&["init", "--from", "web", "tree", "--output", "json"]);
    assert_eq!(said.json()["chart"], "web");
    let packed = "tree/charts/web-1.2.3.tgz";
    let said = desk.solution(&["init", "--from", packed, "again", "--update"]);
    let said = said.failure(2);
    assert!(
        said.contains("with a chart: it applies to manifests"),
        "{said}"
    );
}
