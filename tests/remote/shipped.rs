//! The systemd unit and the static pod in docs/how-to/operate/serve: both are valid, and the server that they start
//! works.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::common::{Desk, programs};
use crate::server::make_certificates;
use crate::serving::{REPOSITORY, Serving, desk};

const PROGRAM: &str = "/usr/local/bin/solution";
const ARCHIVES: &str = "/srv/solutions";

fn shipped(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/operate/serve");
    fs::read_to_string(folder.join(name)).unwrap()
}

/// Starts a server with the shipped arguments, with the desk's files in place of a site's, and sends it a request.
fn assert_serves(desk: &Desk, arguments: &[String], tls: &str) {
    make_certificates(&desk.path("."));
    fs::rename(desk.path("server.pem"), desk.path("tls.crt")).unwrap();
    fs::rename(desk.path("server.key"), desk.path("tls.key")).unwrap();
    fs::create_dir(desk.path("shelf")).unwrap();
    fs::rename(desk.path("shop.iso"), desk.path("shelf/shop.iso")).unwrap();
    let here = |argument: &String| {
        let argument = argument.replace(ARCHIVES, "shelf").replace(tls, "");
        argument.replace("0.0.0.0:5000", "127.0.0.1:0")
    };
    let arguments: Vec<String> = arguments.iter().map(here).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let serving = Serving::run(desk, &[&arguments[..], &["--key=publisher.pub"]].concat());
    let authority = desk.path("ca.crt");
    let trusting = ["--cacert", authority.to_str().unwrap()];
    let tags = serving.curl(&trusting, &format!("/v2/{REPOSITORY}/tags/list"));
    assert!(tags.starts_with("HTTP/1.1 200 "), "{tags}");
}

#[test]
fn the_unit_is_one_for_systemd_and_what_it_starts_serves() {
    let desk = desk();
    let unit = shipped("solution-serve.service");
    let program = programs().join("solution");
    let installed = unit.replace(PROGRAM, program.to_str().unwrap());
    desk.write("solution-serve.service", installed);
    let flags = ["verify", "--man=no", "./solution-serve.service"];
    let judged = desk.run("systemd-analyze", &flags);
    // systemd-analyze prints unknown settings without an error.
    assert_eq!((judged.code, judged.stderr.as_str()), (0, ""), "{judged:?}");
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let words: Vec<String> = line.unwrap().split(' ').map(str::to_owned).collect();
    assert_eq!(words[0], PROGRAM);
    assert_serves(&desk, &words[1..], "%d/");
}

#[test]
fn the_static_pod_is_a_pod_and_what_it_starts_serves() {
    let desk = desk();
    let value: Value = serde_saphyr::from_str(&shipped("solution-serve.yaml")).unwrap();
    let pod: Pod = serde_json::from_value(value.clone()).unwrap();
    // A field that the type `Pod` does not have would be lost.
    assert_eq!(serde_json::to_value(&pod).unwrap(), value);
    let spec = pod.spec.unwrap();
    let container = &spec.containers[0];
    let mounts = container.volume_mounts.iter().flatten();
    let mounted: Vec<&str> = mounts.map(|mount| mount.mount_path.as_str()).collect();
    for path in ["/solution", ARCHIVES, "/tls", "/etc/solution/trust.d"] {
        assert!(mounted.contains(&path), "{mounted:?}");
    }
    let volumes: Vec<&String> = spec
        .volumes
        .iter()
        .flatten()
        .map(|volume| &volume.name)
        .collect();
    for mount in container.volume_mounts.iter().flatten() {
        assert!(volumes.contains(&&mount.name), "{volumes:?}");
    }
    let command = container.command.as_ref().unwrap();
    assert_eq!(command[0], "/solution");
    assert_serves(&desk, &command[1..], "/tls/");
}
