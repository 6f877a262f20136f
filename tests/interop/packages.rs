//! The container image of the program from `make dist`, read by skopeo and tar. Packages that need cargo's tools are
//! built manually (docs/getting-started/install.md).

use std::process::Command;

use serde_json::{Value, json};

use crate::common::{Answer, Desk};

/// Builds the image from the files in `program`.
fn image(desk: &Desk, out: &str) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/dist-image");
    let mut command = Command::new(script);
    command.args(["program", "arm64", "1.2.3", "1700000000", out]);
    Answer::from_command(command.current_dir(desk.path(""))).success();
}

fn shown(desk: &Desk, program: &str, arguments: &[&str]) -> Value {
    serde_json::from_str(&desk.run(program, arguments).success()).unwrap()
}

#[test]
fn the_image_has_the_program_and_what_it_needs_and_no_other_bytes_twice() {
    let desk = Desk::new();
    desk.write("program/solution", "the program");
    desk.write("program/libexec/solution/helm", "helm");
    for notice in ["LICENSE", "THIRD-PARTY-NOTICES", "HELM-NOTICES"] {
        desk.write(&format!("program/share/doc/solution/{notice}"), notice);
    }
    image(&desk, "a.tar");
    image(&desk, "b.tar");
    assert!(desk.read("a.tar") == desk.read("b.tar"), "two images");

    let place = "oci-archive:a.tar:1.2.3";
    let inspected = shown(&desk, "skopeo", &["inspect", place]);
    assert_eq!(inspected["Architecture"], "arm64");
    assert_eq!(inspected["Created"], "2023-11-14T22:13:20Z");
    let config = shown(&desk, "skopeo", &["inspect", "--config", place]);
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"], json!(["/usr/bin/solution"]));
    desk.run("skopeo", &["copy", "--quiet", place, "dir:copied"])
        .success();
    let layer = inspected["Layers"][0].as_str().unwrap();
    let layer = format!("copied/{}", layer.strip_prefix("sha256:").unwrap());
    let files = desk
        .run("tar", &["--numeric-owner", "--utc", "-tvzf", &layer])
        .success();
    assert!(
        files
            .lines()
            .all(|line| line.contains(" 2023-11-14 22:13 ")),
        "{files}"
    );
    for (line, count) in [
        ("drwxrwxrwt 0/0 ", 1),
        ("drwx------ 65532/65532 ", 1),
        ("-rwxr-xr-x 0/0 ", 2),
    ] {
        assert_eq!(files.matches(line).count(), count, "{line}: {files}");
    }
    for (path, bytes) in [
        ("usr/bin/solution", "the program"),
        ("usr/libexec/solution/helm", "helm"),
    ] {
        let file = desk.run("tar", &["-xzOf", &layer, path]).success();
        assert_eq!(file, bytes);
    }
}
