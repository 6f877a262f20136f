//! `pack --include-helm`: a program that is packaged for sites without it, and that runs only on request.

use progress::Cancel;
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
    "v4.3.1=helm",
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

/// Returns a source tree with a chart, and a program for another processor than this machine's.
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

/// Returns the path of the program in an archive.
fn file(desk: &Desk) -> String {
    let hex = files::digest(&desk.read("helm")).hex();
    format!("images/programs/helm/v4.3.1/{hex}")
}

#[test]
fn a_program_is_packed_checked_and_shown() {
    let desk = desk();
    let (architecture, path) = (OTHER.0, file(&desk));
    let packed = desk.solution(&[&PACK[..], &["--output", "json"]].concat());
    let programs = &packed.json()["programs"];
    let digest = files::digest(&desk.read("helm"));
    let program = json!({
        "name": "helm",
        "version": "v4.3.1",
        "architecture": architecture,
        "digest": digest,
    });
    assert_eq!(*programs, json!([program]));
    let check = [
        "pack",
        "source",
        "--check",
        "--no-render",
        "--output",
        "json",
    ];
    let include = ["--include-helm", "v4.3.1=helm"];
    let checked = desk.solution(&[&check[..], &include].concat()).json();
    assert_eq!(checked["programs"], *programs);
    assert_eq!(checked["size"], packed.json()["size"]);
    let image = &checked["images"][1];
    assert_eq!(image["image"], "programs/helm:v4.3.1");
    assert_eq!(image["platforms"], json!([format!("linux/{architecture}")]));
    let shown = desk.solution(&PACK).success();
    let words = format!("program     helm v4.3.1 for {architecture}, {digest}\n");
    assert!(shown.contains(&words), "{shown}");

    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["charts-1.0.0", "programs-1.0.0"]);
    // The head does not contain it, because a site keeps a head for each version.
    let head = listed.head(Cancel::never()).unwrap().size();
    assert!(listed.plan().extent_of(&path).unwrap().offset >= head);
    assert_eq!(listed.read(&path, 10_000).unwrap(), desk.read("helm"));
    let readme = listed.read("README.txt", 100_000).unwrap();
    let readme = String::from_utf8(readme).unwrap();
    let lines = format!("  helm v4.3.1, for {architecture}:\n    cp /mnt/{path} helm\n");
    assert!(readme.contains(&lines), "{readme}");

    let trust = ["--key", "publisher.pub", "--output", "json"];
    let validate = desk.solution(&[&["validate", "out.iso"][..], &trust].concat());
    assert_eq!(validate.json()["findings"], json!([]));
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    let line = format!("program     helm v4.3.1 for linux/{architecture}, 10.0 kB: {path}\n");
    assert!(shown.contains(&line), "{shown}");
    assert!(
        shown.contains("helm at the site (included: yes)"),
        "{shown}"
    );
    let inspect = ["inspect", "out.iso", "--output", "json"];
    let shown = desk.solution(&inspect).json();
    assert_eq!(shown["programs"][0]["path"], path.as_str());
}

/// The program for this machine reports its own version, which the other program must share.
#[test]
fn this_program_is_included_as_the_readme_says() {
    let desk = desk();
    // The program is stripped as in packages: with the symbols of a test build it exceeds the limit of an archive.
    let strip = ["-o", "solution", env!("CARGO_BIN_EXE_solution")];
    desk.run("strip", &strip).success();
    let own = desk.read("solution");
    let include = ["--include-tool", "solution", "--include-tool", "helm"];
    let command = [&PACK[..], &include].concat();
    let packed = desk.solution(&[&command[..], &["--output", "json"]].concat());
    let packed = packed.json();
    let tools = packed["programs"].as_array().unwrap().iter();
    let tools: Vec<_> = tools.filter(|tool| tool["name"] == "solution").collect();
    assert_eq!(tools.len(), 2);
    for tool in &tools {
        assert_eq!(tool["version"], env!("CARGO_PKG_VERSION"));
    }
    let listed = stages::list(&desk.path("out.iso"));
    let version = env!("CARGO_PKG_VERSION");
    let hex = files::digest(&own).hex();
    let path = format!("images/programs/solution/{version}/{hex}");
    assert!(listed.read(&path, 1 << 30).unwrap() == own);

    let wrong = format!("--include-tool=9.9.9={}", "solution");
    let refused = desk.solution(&[&PACK[..], &[&wrong]].concat()).failure(1);
    let words = format!("`solution` is version {version}, not 9.9.9");
    assert!(refused.contains(&words), "{refused}");
    // The two programs have different versions.
    let other = ["--include-tool", "solution", "--include-tool", "9.9.9=helm"];
    let refused = desk.solution(&[&PACK[..], &other].concat()).failure(1);
    assert!(refused.contains("not"), "{refused}");
}

#[test]
fn what_is_no_program_or_has_nothing_to_install_is_refused() {
    let desk = desk();
    let twice = [&PACK[..], &["--include-helm", "v4.3.1=helm"]].concat();
    let words = format!("cannot include two programs `helm` for {}", OTHER.0);
    let refused = desk.solution(&twice).failure(1);
    assert!(refused.contains(&words), "{refused}");
    let unsaid = PACK.map(|argument| argument.strip_prefix("v4.3.1=").unwrap_or(argument));
    let refused = desk.solution(&unsaid).failure(1);
    assert!(
        refused.contains("cannot determine the version of"),
        "{refused}"
    );
    assert!(refused.contains("VERSION=FILE"), "{refused}");
    let image = "images: [{name: web, tag: '1', source: 'oci:web'}]";
    let without = SOLUTION.replace("images: []", image);
    desk.write("source/solution.yaml", without);
    let refused = desk.solution(&PACK).failure(1);
    assert!(
        refused.contains("cannot include `helm`: the Solution has no charts"),
        "{refused}"
    );
    desk.write("helm", "#!/bin/sh\necho v4.3.1\n");
    let refused = desk.solution(&PACK).failure(1);
    let words = "helm`: it is not an executable for Linux on amd64 or arm64";
    assert!(refused.contains(words), "{refused}");
    assert!(!desk.path("out.iso").exists());
}

/// The program is the publisher's code: only this flag runs it, and never in addition to another program.
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

/// A page of documentation.
const PAGE: &str = "<!DOCTYPE html>\n<title>the book</title>\n";

#[test]
fn the_documentation_is_packed_as_an_ordinary_image_and_extracted() {
    let desk = desk();
    desk.write("book.html", PAGE);
    let with = |more: &[&str]| desk.solution(&[&PACK[..7], more].concat());
    let packed = with(&["--include-docs=book.html", "--output", "json"]).json();
    // The second image is the artifact of the chart.
    assert_eq!(packed["images"], 2, "{packed:#}");
    let place = concat!("solution-docs:", env!("CARGO_PKG_VERSION"));
    let report = desk.solution(&["validate", "out.iso", "--key", "publisher.pub"]);
    assert!(report.success().contains("\nvalid: shop 1.0.0 (2 images"));
    let inspected = desk
        .solution(&["inspect", "out.iso", "--output", "json"])
        .json();
    assert_eq!(inspected["images"][1]["image"], place, "{inspected:#}");
    let listed = stages::list(&desk.path("out.iso"));
    let requires = &listed.statement().predicate.requires;
    let requires: Vec<&str> = requires.iter().map(Capability::as_str).collect();
    assert_eq!(requires, ["charts-1.0.0"], "no capability of its own");

    let readme = desk
        .solution(&["archive", "cat", "out.iso", "README.txt"])
        .success();
    let line = readme.lines().find(|line| line.ends_with(" solution.html"));
    let path = line.unwrap().split_whitespace().nth(1).unwrap();
    let path = path.strip_prefix("/mnt/").unwrap();
    let page = desk
        .solution(&["archive", "cat", "out.iso", path])
        .success();
    assert_eq!(page, PAGE);
}

#[test]
fn documentation_that_is_missing_or_no_html_is_refused() {
    let desk = desk();
    let pack = |docs: &str| {
        desk.solution(&[
            "pack",
            "source",
            "-o",
            "out.iso",
            "--unsigned",
            "--no-render",
            docs,
        ])
    };
    let missing = pack("--include-docs").failure(1);
    let words = "cannot include the documentation: `share/doc/solution/solution.html` not found";
    assert!(missing.contains(words), "{missing}");
    assert!(missing.contains("`make book`"), "{missing}");
    desk.write("page", "the book");
    let words = "cannot include the documentation: `page` is not an HTML page";
    let refused = pack("--include-docs=page").failure(1);
    assert!(refused.contains(words), "{refused}");
}
