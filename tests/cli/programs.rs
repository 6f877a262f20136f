//! `pack --include-helm`: a program that is carried for sites that have none, and that nobody runs unless they are asked.

use schemas::Capability;
use serde_json::json;

use crate::common::Desk;
use crate::stages;

const PACK: [&str; 10] = [
    "pack",
    "source",
    "-o",
    "out.iso",
    "--key",
    "publisher.key",
    "--no-render",
    "--include-helm",
    "helm",
    "--force",
];
const SOLUTION: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: shop, annotations: {solutions.metalk8s.scality.com/display-name: Shop}}
spec:
  version: 1.0.0
  images: []
";

/// A processor that this machine does not have, and its number in ELF.
const OTHER: (&str, u8) = if cfg!(target_arch = "aarch64") {
    ("amd64", 62)
} else {
    ("arm64", 183)
};

/// A source tree with a chart, and a program for another processor than this machine's.
fn desk() -> Desk {
    let desk = Desk::with_key();
    std::fs::create_dir_all(desk.path("source/web")).unwrap();
    let charts = "  charts: [{name: web, source: 'dir:web'}]\n";
    desk.write("source/solution.yaml", format!("{SOLUTION}{charts}"));
    let chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    desk.write("source/web/Chart.yaml", chart);
    let mut program = b"\x7fELF\x02\x01\x01\x00".to_vec();
    program.extend([0; 8]);
    program.extend([2, 0, OTHER.1, 0, 1]);
    program.resize(10_000, 7);
    desk.write("helm", program);
    desk
}

#[test]
fn a_program_is_packed_checked_and_shown() {
    let desk = desk();
    let packed = desk.solution(&[&PACK[..], &["--output", "json"]].concat());
    assert_eq!(packed.json()["helm"], json!([{"architecture": OTHER.0}]));
    let check = [
        "pack",
        "source",
        "--check",
        "--no-render",
        "--output",
        "json",
    ];
    let include = ["--include-helm", "helm"];
    let checked = desk.solution(&[&check[..], &include].concat()).json();
    assert_eq!(checked["helm"], packed.json()["helm"]);
    assert_eq!(checked["size"], packed.json()["size"]);
    let shown = desk.solution(&PACK).success();
    let words = format!("helm        for {} (its version was not asked:", OTHER.0);
    assert!(shown.contains(&words), "{shown}");

    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["charts-0.1.0", "programs-0.1.0"]);
    // In the head, so that a site keeps it.
    let path = format!("bin/helm-linux-{}", OTHER.0);
    let program = listed.plan().extent_of(&path).unwrap().offset;
    let blobs = listed.contents().entries().iter();
    let mut blobs = blobs.filter(|it| it.path.as_str().starts_with("blobs/"));
    let behind = |path: &str| listed.plan().extent_of(path).unwrap().offset > program;
    assert!(blobs.any(|it| behind(it.path.as_str())));

    let trust = ["--key", "publisher.pub", "--output", "json"];
    let validate = desk.solution(&[&["validate", "out.iso"][..], &trust].concat());
    assert_eq!(validate.json()["findings"], json!([]));
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let line = format!("program     {path}  10.0 kB\n");
    assert!(shown.contains(&line), "{shown}");
    let inspect = ["inspect", "out.iso", "--output", "json"];
    let shown = desk.solution(&inspect).json();
    assert_eq!(shown["programs"][0]["path"], path.as_str());
    assert_eq!(listed.read(&path, 10_000).unwrap(), desk.read("helm"));
}

#[test]
fn what_is_no_program_or_has_nothing_to_install_is_refused() {
    let desk = desk();
    let twice = [&PACK[..], &["--include-helm", "helm"]].concat();
    let words = format!("there are two programs to include for {}", OTHER.0);
    let refused = desk.solution(&twice).failure(1);
    assert!(refused.contains(&words), "{refused}");
    let image = "images: [{name: web, tag: '1', source: 'oci:web'}]";
    let without = SOLUTION.replace("images: []", image);
    desk.write("source/solution.yaml", without);
    let refused = desk.solution(&PACK).failure(1);
    assert!(
        refused.contains("no charts that an included `helm`"),
        "{refused}"
    );
    desk.write("helm", "#!/bin/sh\necho v4.3.1\n");
    let refused = desk.solution(&PACK).failure(1);
    let words = "`helm` is no executable for Linux on amd64 or arm64";
    assert!(refused.contains(words), "{refused}");
    assert!(!desk.path("out.iso").exists());
}

/// It is the publisher's code: nothing but this flag has it run, and never together with another program.
#[test]
fn the_flag_excludes_another_program_and_needs_a_place_for_charts() {
    let desk = desk();
    let import = [
        "import",
        "out.iso",
        "--registry",
        "r.test",
        "--use-included-helm",
    ];
    let refused = desk.solution(&import).failure(2);
    assert!(refused.contains("--environment"), "{refused}");
    let both = [&import[..], &["-e", "prod", "--helm", "helm"]].concat();
    let refused = desk.solution(&both).failure(2);
    assert!(refused.contains("'--helm <FILE>'"), "{refused}");
    let apply = ["apply", "-f", "solutions.yaml", "--use-included-helm"];
    desk.solution(&apply).failure(2);
    for verb in ["undeploy", "unimport"] {
        let refused = desk.solution(&[verb, "shop", "--use-included-helm"]);
        assert!(refused.failure(2).contains("unexpected argument"));
    }
}
