//! A site without a registry: nodes pull from `solution registry serve`, and an import pushes nothing.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command};

use crate::book;
use crate::common::programs;
use crate::pages::commands;
use crate::site::{Site, eventually, variable};

/// The address on the page, and that of the test cluster's node, on which everything runs.
const MACHINE: [&str; 2] = ["10.0.0.2", "10.244.0.1"];
/// The nodes' folder for certificates, and that of the test cluster's node.
const CERTIFICATES: &str = "/etc/containerd/certs.d";

/// A server with its access log in a file. Dropping it stops the server and removes the node's configuration.
struct Served {
    child: Child,
    told: String,
}

impl Served {
    /// Starts the server of a line on a page, and waits until it listens.
    fn start(site: &Site, line: &str) -> Self {
        let log = |name| File::create(site.desk.path(name)).unwrap();
        let mut words = line.split(' ');
        let child = Command::new(programs().join(words.next().unwrap()))
            .args(words)
            .arg("--access-log")
            .current_dir(site.desk.path("."))
            .stdout(log("access.log"))
            .stderr(log("errors.log"))
            .spawn()
            .unwrap();
        let served = Self {
            child,
            told: format!(
                "{}/{}:5000",
                variable("SOLUTION_TEST_NODE_HOSTS"),
                MACHINE[1]
            ),
        };
        eventually("the server listens", || {
            let said = site.desk.read("access.log");
            let said = String::from_utf8(said).unwrap();
            said.contains("listening at https://").then_some(())
        });
        served
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.told);
    }
}

/// Returns a line of the page for this site.
fn localize(command: &str) -> String {
    command
        .replace(MACHINE[0], MACHINE[1])
        .replace(CERTIFICATES, &variable("SOLUTION_TEST_NODE_HOSTS"))
}

#[test]
fn a_site_without_a_registry_can_follow_the_page() {
    let site = Site::new("served");
    book::desk(&site);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/how-to/operate/serve.md");
    let mut served = None;
    let all = commands(&page);
    for command in &all {
        let line = localize(command);
        if line.starts_with("solution registry serve") {
            served = Some(Served::start(&site, &line));
            continue;
        }
        let answer = book::run(&site, &line);
        assert_eq!(answer.code, 0, "{command}\n{answer:?}");
        if line.contains("serve://") {
            assert!(answer.stdout.contains(", 0 bytes of "), "{answer:?}");
        }
    }
    assert!(served.is_some() && all.len() >= 10, "{all:?}");
    let log = String::from_utf8(site.desk.read("access.log")).unwrap();
    for image in ["example-operator", "example-server"] {
        let pulled = format!("GET /v2/example-1.0.0/{image}/manifests/");
        assert!(log.contains(&pulled), "{image} was not pulled: {log}");
    }
    assert!(!log.contains("\"POST ") && !log.contains("\"PUT "), "{log}");
}
