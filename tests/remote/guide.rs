//! The commands of `docs/how-to/publish/releases.md`, executed as a user with only the program would. The test only
//! replaces the release's address, the operator's name and the registry.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use fixtures::image::{Artifact, Format, ImageBuilder, Index, Platform};
use fixtures::layout::OciLayout;

use crate::common::{Answer, Desk, programs};
use crate::server::{Protection, Server};
use crate::setup::push;

/// Returns the commands of a guide: its blocks marked `sh`, as one script.
fn commands(guide: &str) -> String {
    let mut script = String::from("set -euo pipefail\n");
    let mut inside = false;
    for line in guide.lines() {
        match line {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside => writeln!(script, "{line}").unwrap(),
            _ => {}
        }
    }
    script
}

/// Pushes an image for two architectures to the registry, under the tag `1`, and with skopeo under its own.
fn serve(desk: &Desk, server: &Server, repository: &str) {
    let image = |architecture| {
        ImageBuilder::new()
            .platform(Platform::linux(architecture))
            .file(
                "/program",
                format!("{repository} for {architecture}"),
                0o755,
            )
            .user(65532)
            .build()
    };
    let index = Index::new(Format::Oci, vec![image("amd64"), image("arm64")]);
    let layout = desk.path(&format!("layouts/{repository}"));
    OciLayout::create(&layout)
        .and_then(|layout| layout.add(&Artifact::from(index), Some("1")))
        .and_then(OciLayout::finish)
        .unwrap();
    push(server, &layout, repository);
}

#[test]
fn the_guide_leads_from_a_release_to_a_valid_archive() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let desk = Desk::new();
    let server = Server::start(&Protection::None);
    let release = std::fs::read_to_string(root.join("fixtures/releases/metrics-operator.yaml"));
    let mut release = release.unwrap();
    for name in ["metrics-operator", "metrics-config-reloader"] {
        let repository = format!("example/{name}");
        serve(&desk, &server, &repository);
        release = release.replace(
            &format!("quay.io/{repository}:v0.77.1"),
            &format!("{}/{repository}:1", server.host()),
        );
    }
    desk.write("published/bundle.yaml", &release);

    let guide = std::fs::read_to_string(root.join("docs/how-to/publish/releases.md")).unwrap();
    let script = commands(&guide);
    let address = script
        .lines()
        .find_map(|line| line.strip_prefix("RELEASE="))
        .expect("the guide says where the release is");
    let published = format!("file://{}", desk.path("published/bundle.yaml").display());
    let script = script
        .replace(address, &published)
        .replace("prometheus-operator", "metrics-operator");

    let path = format!("{}:/usr/bin:/bin", programs().display());
    let mut shell = Command::new("bash");
    shell
        .args(["-x", "-c", &script])
        .current_dir(desk.path(""))
        .env_clear()
        .env("PATH", path)
        .env("HOME", desk.path(""));
    let said = Answer::from_command(&mut shell).success();
    let words = "valid: metrics-operator 0.77.1 (2 images";
    assert!(said.contains(words), "`{words}` is not in: {said}");
    let files = desk
        .solution(&["inspect", "metrics-operator-0.77.1.iso", "--files"])
        .success();
    for file in [
        "images/metrics-config-reloader/1/manifest.json",
        "operator/deploy/crds/probes.monitoring.example.test_crd.yaml",
        "manifests/metrics-operator/0001-",
    ] {
        assert!(files.contains(file), "{file} is not in: {files}");
    }
}
