//! `init --chart`: trees with a chart, which `pack` accepts without changes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;

use schemas::Digest;
use sha2::{Digest as _, Sha256};

use crate::common::Desk;

const CHART: &str = "apiVersion: v2\nname: web-shop\nversion: v1.2.3+b\n";

/// Returns a desk with the directory of a chart, and values.
fn desk() -> Desk {
    let desk = Desk::with_key();
    std::fs::create_dir_all(desk.path("chart/templates")).unwrap();
    desk.write("chart/Chart.yaml", CHART);
    desk.write("chart/templates/a.yaml", "{{ .Values.image }}");
    desk.write("one.yaml", "image: a\n");
    desk.write("two.yaml", "image: b\n");
    desk
}

fn pack(desk: &Desk, directory: &str) -> crate::common::Answer {
    let packed = ["pack", directory, "-o", "out.iso", "--key", "publisher.key"];
    desk.solution(&[&packed[..], &["--force", "--no-render"]].concat())
}

#[test]
fn a_chart_in_the_way_of_its_tree_is_not_to_be_emptied() {
    let desk = desk();
    std::fs::rename(desk.path("chart"), desk.path("web-shop")).unwrap();
    let refused = desk.solution(&["init", "--chart", "./web-shop"]);
    let said = refused.failure(1);
    assert!(!said.contains("empty it"), "{said}");
    let hint = "hint: name another directory for the source tree: `solution init DIR`";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn a_chart_of_this_disk_is_copied_into_a_tree_that_can_be_packed() {
    let desk = desk();
    let values = ["--values", "one.yaml", "--values", "two.yaml"];
    let made = desk.solution(&[&["init", "--chart", "chart"][..], &values].concat());
    let next = "next: read web-shop/NOTES.md and web-shop/solution.yaml, list the images with `solution pack web-shop --add-images`";
    assert!(made.stderr.contains(next), "{made:?}");
    assert_eq!(
        made.success(),
        "web-shop/NOTES.md
web-shop/charts/web-shop-v1.2.3+b.tgz
web-shop/solution.yaml
web-shop/values-1.yaml
web-shop/values-2.yaml
"
    );
    pack(&desk, "web-shop").success();
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    assert!(
        shown.contains("chart       web-shop  web-shop v1.2.3+b\n"),
        "{shown}"
    );
    let values = ["cat", "out.iso", "charts/web-shop/values.yaml"];
    assert_eq!(desk.solution(&values).success(), "image: 'b'\n");
    // The packaged chart gives the same archive under another name.
    let file = "web-shop/charts/web-shop-v1.2.3+b.tgz";
    let named = [
        "init",
        "--chart",
        file,
        "shop",
        "--version",
        "2.0.0",
        "--output",
        "json",
    ];
    // The provenance file of the chart is copied too.
    desk.write(&format!("{file}.prov"), "signed");
    let made = desk.solution(&named).json();
    let signed = "shop/charts/web-shop-v1.2.3+b.tgz.prov";
    assert_eq!(desk.read(signed), b"signed");
    assert_eq!(made["solution"], "shop");
    assert_eq!(made["version"], "2.0.0");
    assert_eq!(made["chartVersion"], "v1.2.3+b");
    assert_eq!(made["source"], "file:charts/web-shop-v1.2.3+b.tgz");
    assert!(desk.read(file) == desk.read("shop/charts/web-shop-v1.2.3+b.tgz"));
    pack(&desk, "shop").success();
}

/// Serves a repository with this chart, and returns its address.
pub(crate) fn repository(chart: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let digest = Digest::new(Sha256::digest(&chart).into()).hex();
    let index = format!(
        "entries: {{web-shop: [{{version: v1.2.3+b, urls: [a.tgz], digest: '{digest}'}}]}}"
    );
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut asked = BufReader::new(connection.try_clone().unwrap()).lines();
            while let Some(Ok(line)) = asked.next() {
                let (status, body) = match line.split(' ').nth(1) {
                    Some("/index.yaml") => ("200 OK", index.as_bytes()),
                    Some("/a.tgz") => ("200 OK", &chart[..]),
                    _ => ("404 Not Found", &b""[..]),
                };
                for _ in asked
                    .by_ref()
                    .map_while(Result::ok)
                    .take_while(|header| !header.is_empty())
                {}
                let length = body.len();
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
                let sent = connection.write_all(head.as_bytes());
                if sent.and_then(|()| connection.write_all(body)).is_err() {
                    break;
                }
            }
        }
    });
    format!("http://{host}")
}

#[test]
fn a_chart_of_a_repository_is_named_and_packed_from_there() {
    let desk = desk();
    desk.solution(&["init", "--chart", "chart", "copied"])
        .success();
    let chart = desk.read("copied/charts/web-shop-v1.2.3+b.tgz");
    let url = repository(chart.clone());
    let source = format!("{url}#web-shop@v1.2.3+b");
    let made = desk.solution(&["init", "--chart", &source]);
    assert_eq!(
        made.success(),
        "web-shop/NOTES.md\nweb-shop/solution.yaml\n"
    );
    pack(&desk, "web-shop").success();
    let listed = crate::stages::list(&desk.path("out.iso"));
    let packed = listed.contents().get("charts/web-shop/chart.tgz").unwrap();
    assert_eq!(packed.digest, Digest::new(Sha256::digest(&chart).into()));
    // These versions were removed from the repository, or never existed.
    let other = format!("{url}#web-shop@v1.2.4");
    let said = desk.solution(&["init", "--chart", &other, "x"]).failure(1);
    let words = "does not list the chart `web-shop` in version v1.2.4";
    assert!(said.contains(words), "{said}");
    // The repository serves another chart than the requested one.
    let url = repository(chart_of(&desk, "version: 9.9.9"));
    let source = format!("{url}#web-shop@v1.2.3+b");
    let said = desk.solution(&["init", "--chart", &source, "x"]).failure(1);
    assert!(
        said.contains("contains the chart `web-shop` in version 9.9.9"),
        "{said}"
    );
    assert!(!desk.path("x").exists());
}

/// Returns the archive of the chart with another version.
fn chart_of(desk: &Desk, version: &str) -> Vec<u8> {
    desk.write(
        "chart/Chart.yaml",
        CHART.replace("version: v1.2.3+b", version),
    );
    desk.solution(&["init", "--chart", "chart", "other"])
        .success();
    desk.read("other/charts/web-shop-9.9.9.tgz")
}

#[test]
fn what_is_no_chart_makes_no_tree() {
    let desk = desk();
    desk.write("bad.yaml", "[a]");
    for (arguments, code, words) in [
        (&["--chart", "none.tgz"][..], 1, "cannot read `none.tgz`"),
        (
            &["--chart", "one.yaml"],
            1,
            "cannot package the chart `one.yaml`",
        ),
        (
            &["--chart", "chart", "--values", "bad.yaml"],
            1,
            "`bad.yaml` does not contain values",
        ),
        (
            &["--chart", "chart", "--values", "none.yaml"],
            1,
            "none.yaml",
        ),
        (&["--chart", "oci://r.test/web"], 2, "expected"),
        (&["--chart", "https://r.test/web"], 2, "expected"),
        (&["--chart", "http://r.test#web@1.0.0"], 1, "plain HTTP"),
        (
            &["--chart", "chart", "--from", "x"],
            2,
            "cannot be used with",
        ),
        (&["--values", "one.yaml", "x"], 2, "--chart"),
        (&["--plain-http", "x"], 2, "require a chart with `--chart`"),
    ] {
        let said = desk
            .solution(&[&["init"], arguments].concat())
            .failure(code);
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
    assert!(!desk.path("web-shop").exists() && !desk.path("x").exists());
}
