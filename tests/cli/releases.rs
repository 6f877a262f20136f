//! `init --from --as operator`: a release in the shape of an operator for MetalK8s becomes an archive that `validate`
//! accepts.

use std::path::{Path, PathBuf};

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;
use schemas::{ImageSource, OperatorScope, SolutionSource};
use serde_json::Value;

use crate::common::Desk;

/// What makes an operator of the release that follows.
const OPERATOR: [&str; 4] = ["init", "--as", "operator", "--from"];

/// A release that was written for tests.
pub(crate) fn release(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/releases");
    path.join(name).display().to_string()
}

/// Puts an image where each source is, instead of in a registry.
pub(crate) fn bring_images(desk: &Desk, directory: &str) -> SolutionSource {
    let path = format!("{directory}/solution.yaml");
    let mut text = String::from_utf8(desk.read(&path)).unwrap();
    let source = SolutionSource::from_slice(text.as_bytes()).unwrap();
    for (number, image) in source.spec.images.iter().enumerate() {
        let ImageSource::Docker(reference) = &image.source else {
            panic!("{image:?}");
        };
        assert_eq!(Some(reference), image.reference.as_ref());
        let layout = format!("images/{number}");
        let content = ImageBuilder::new()
            .file("/program", reference.as_str(), 0o755)
            .user(65532)
            .build();
        OciLayout::create(desk.path(&format!("{directory}/{layout}")))
            .and_then(|images| images.add(&Artifact::from(content), None))
            .and_then(OciLayout::finish)
            .unwrap();
        text = text.replace(
            &format!("source: \"{}\"", image.source),
            &format!("source: \"oci:{layout}\""),
        );
    }
    desk.write(&path, text);
    source
}

/// Makes a tree of a release, packs and validates it. Gives what `init` said, the tree and what `validate` found.
#[track_caller]
fn whole_way(desk: &Desk, release: &str, directory: &str) -> (Value, SolutionSource, Vec<String>) {
    let made = desk.solution(&[&OPERATOR[..], &[release, "--output", "json"]].concat());
    assert_eq!(made.code, 0, "{made:?}");
    let source = bring_images(desk, directory);
    desk.solution(&[
        "pack",
        directory,
        "-o",
        "example.iso",
        "--key",
        "publisher.key",
    ])
    .success();
    let report = desk.report(&["--key", "publisher.pub"], 0);
    let findings = report["findings"].as_array().unwrap();
    let ids = findings
        .iter()
        .map(|finding| finding["id"].as_str().unwrap().to_owned());
    (made.json(), source, ids.collect())
}

/// What the notes of this weight are about.
fn about(made: &Value, weight: &str) -> Vec<String> {
    let notes = made["notes"].as_array().unwrap().iter();
    notes
        .filter(|note| note["weight"] == weight)
        .map(|note| note["about"].as_str().unwrap().to_owned())
        .collect()
}

fn images(source: &SolutionSource) -> Vec<String> {
    let places = source.spec.images.iter();
    places.map(|image| image.place().to_string()).collect()
}

pub(crate) fn names(desk: &Desk, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(desk.path(directory)).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn an_operator_that_takes_its_configuration_becomes_an_archive() {
    let desk = Desk::with_key();
    let (made, source, findings) = whole_way(&desk, &release("shop-operator.yaml"), "shop");
    assert_eq!(findings, ["practice.requests"]);
    assert_eq!(source.id().unwrap().to_string(), "shop-2.1.0");
    assert_eq!(
        images(&source),
        ["cache:v7.2.0", "operator:v2.1.0", "till:v2.1.0"]
    );
    let operator = source.spec.operator.as_ref().unwrap();
    assert_eq!(operator.image.name.as_str(), "operator");
    let program = ["/shop-operator".to_owned()];
    assert_eq!(operator.command.as_deref(), Some(&program[..]));
    assert_eq!(
        operator.args,
        [
            "--config=/etc/config/operator.yaml",
            "--till-image=$(image:till)"
        ]
    );
    let [variable] = &operator.env[..] else {
        panic!("{:?}", operator.env);
    };
    assert_eq!(variable.value, "$(image:cache)");
    assert_eq!(operator.scope, OperatorScope::Namespace);
    assert_eq!(about(&made, "decide"), ["images that programs start"]);
    assert_eq!(about(&made, "chosen"), ["scope"]);
    assert_eq!(about(&made, "lost"), ["objects"]);
    let roles = String::from_utf8(desk.read("shop/operator/deploy/role.yaml")).unwrap();
    assert!(
        roles.contains("resources: [shops, shops/status]"),
        "{roles}"
    );
    let crd = "shop/operator/deploy/crds/shops.shop.example.test_crd.yaml";
    let crd = String::from_utf8(desk.read(crd)).unwrap();
    // Numbers, comments and order are the release's own.
    let whole = std::fs::read_to_string(release("shop-operator.yaml")).unwrap();
    assert!(
        whole.contains(&crd) && crd.contains("minimum: 0.10\n"),
        "{crd}"
    );
}

#[test]
fn what_to_know_is_said_at_once() {
    let desk = Desk::new();
    let file = release("shop-operator.yaml");
    let init = [&OPERATOR[..], &[&file]].concat();
    let said = desk.solution(&init);
    for words in [
        "shop 2.1.0: 3 images",
        "chosen: scope: Namespace: ",
        "left out: objects: Service `shop-operator-metrics`: if the operator",
        "next: read shop/NOTES.md and shop/solution.yaml",
    ] {
        assert!(said.stderr.contains(words), "{said:?}");
    }
    said.success();
}

#[test]
fn what_is_no_such_operator_is_refused_with_what_to_do() {
    let desk = Desk::new();
    let hint = "hint: omit `--as operator` to package the release unchanged, or write an operator manually";
    for (file, words, hint) in [
        (
            "cert-keeper.yaml",
            "no Deployment of the release has the argument `--config`",
            hint,
        ),
        (
            "database-operator-bundle",
            "is an OLM bundle's ClusterServiceVersion",
            "hint: use the manifests that its project publishes",
        ),
    ] {
        let file = release(file);
        let init = [&OPERATOR[..], &[&file]].concat();
        let said = desk.solution(&init).failure(1);
        assert!(said.contains(words) && said.contains(hint), "{said}");
        assert_eq!(desk.names(), [""; 0], "something was written");
    }
}

#[test]
fn the_same_release_gives_the_same_tree() {
    let desk = Desk::new();
    for directory in ["one", "other"] {
        let arguments = [&release("shop-operator.yaml"), directory, "--name", "app"];
        desk.solution(&[&OPERATOR[..], &arguments].concat())
            .success();
    }
    let diff = desk.run("diff", &["--recursive", "one", "other"]);
    assert_eq!((diff.code, diff.stdout.as_str()), (0, ""));
}

#[test]
fn a_directory_is_written_only_when_it_is_empty() {
    let desk = Desk::new();
    desk.write("app/mine", "mine");
    let file = release("shop-operator.yaml");
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "app"]].concat())
        .failure(1);
    assert!(text.contains("`app` is not an empty directory"), "{text}");
    assert_eq!(names(&desk, "app"), ["mine"]);
    std::fs::create_dir(desk.path("empty")).unwrap();
    desk.solution(&[&OPERATOR[..], &[&file, "empty"]].concat())
        .success();
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "app/mine"]].concat())
        .failure(1);
    assert!(
        text.contains("`app/mine` is not an empty directory"),
        "{text}"
    );
}

#[test]
fn names_and_versions_can_be_given() {
    let desk = Desk::new();
    let file = release("shop-operator.yaml");
    let wished = ["--name", "metrics", "--version", "1.2.3-rc.1"];
    desk.solution(&[&OPERATOR[..], &[&file, "somewhere"], &wished].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("somewhere/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "metrics-1.2.3-rc.1");
    desk.solution(&[&OPERATOR[..], &[&file, "shop"]].concat())
        .success();
    let source = SolutionSource::from_slice(&desk.read("shop/solution.yaml")).unwrap();
    assert_eq!(source.id().unwrap().to_string(), "shop-2.1.0");
    desk.solution(&["init", "--name", "x", "app"]).failure(2);
    desk.solution(&["init"]).failure(2);
    let text = desk
        .solution(&[&OPERATOR[..], &[&file, "x", "--deployment", "other"]].concat())
        .failure(1);
    assert!(
        text.contains("no Deployment `other` with the argument `--config`")
            && text.contains(
                "Deployments with it: `shop-operator`\nhint: choose one with `--deployment`"
            ),
        "{text}"
    );
    let missing: PathBuf = desk.path("missing.yaml");
    let missing = missing.display().to_string();
    desk.solution(&["init", "--from", &missing]).failure(1);
}
