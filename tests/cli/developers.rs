//! Every command of docs/how-to/publish that needs no cluster, executed in the order of the pages.

use std::process::Command;

use fixtures::image::{Artifact, ImageBuilder};
use fixtures::layout::OciLayout;

use crate::common::{Answer, Desk, programs};
use crate::pages::{commands, pages};

/// Builds the operator's images of both versions at the paths in solution.yaml.
fn build(desk: &Desk) {
    let image = |version: &str| {
        let builder = ImageBuilder::new().file("/bin/shop-operator", version, 0o755);
        Artifact::from(builder.user(65532).build())
    };
    let layout = desk.path("shop/images/shop-operator");
    OciLayout::create(layout)
        .and_then(|layout| layout.add(&image("0.1.0"), Some("0.1.0")))
        .and_then(|layout| layout.add(&image("0.2.0"), Some("0.2.0")))
        .and_then(OciLayout::finish)
        .unwrap();
}

#[test]
fn a_publisher_can_follow_the_pages() {
    let desk = Desk::new();
    let path = format!("{}:/usr/bin:/bin", programs().display());
    let run = |line: &str| {
        let mut shell = Command::new("bash");
        let shell = shell.args(["-c", line]).current_dir(desk.path("."));
        let shell = shell.env_clear().env("HOME", desk.path("."));
        Answer::from_command(shell.env("PATH", &path))
    };
    let hermetic = pages("how-to/publish/").into_iter();
    for page in hermetic.filter(|page| !page.ends_with("monitor.md")) {
        for command in commands(&page) {
            let answer = run(&command);
            assert_eq!(answer.code, 0, "{}: {command}\n{answer:?}", page.display());
        }
        if page.ends_with("build.md") {
            build(&desk);
        }
    }
    for made in ["shop-0.1.0.iso", "shop-0.2.0.iso", "report.json"] {
        assert!(desk.path(made).exists(), "{made}");
    }
}
