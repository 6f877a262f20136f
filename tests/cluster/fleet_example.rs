//! The example of docs/how-to/operate/fleets.md on four real API servers, as a reader runs it.

use std::fs;

use crate::book::{replace_names, run};
use crate::charts::site;
use crate::fleet::{Members, kubectl};
use crate::fleet_charts::set_network;
use crate::fleet_waves::Controllers;
use crate::releases::pack;
use crate::site::{Site, variable};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/how-to/operate/fleets.md");

const CLUSTERS: [&str; 4] = ["berlin", "madrid", "paris", "rome"];

/// The parameters on the page.
const SETS: &str = "  parameters:
    replicas: {type: integer, default: 1}
    host: {type: string}
    trustedNetworks: {type: string, default: ''}
  manifests: [{name: shop, files: [release.yaml], namespaces: [{name: shop-system, fixed: false}]}]
";

const RELEASE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: shop, namespace: shop-system}
data: {text: '$(param:host) $(param:trustedNetworks) VERSION'}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: shop-system}
spec:
  replicas: $(param:replicas)
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: 'registry.example.test/example/server:1.0.0', args: [VERSION]}]}
";

/// A block of the example.
enum Block {
    File(String),
    Commands(Vec<String>),
    /// A part of the last command's output.
    Shown(String),
}

/// Returns the blocks of the example, in their order.
fn example() -> Vec<Block> {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, section) = page.split_once("\n## Example\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let blocks = section.split("```").skip(1).step_by(2);
    let blocks = blocks.map(|block| {
        let (language, text) = block.split_once('\n').unwrap();
        match language {
            "yaml" => Block::File(text.to_owned()),
            "console" => {
                let lines = text.lines().map(|line| line.strip_prefix("$ ").unwrap());
                Block::Commands(lines.map(str::to_owned).collect())
            }
            "" => Block::Shown(text.to_owned()),
            other => panic!("a block of {other}"),
        }
    });
    blocks.collect()
}

/// Runs a command of the page. The members have no nodes, so no image can be pulled.
fn run_here(site: &Site, command: &str) -> String {
    let with = "--ca-file site-ca.pem";
    let changing = ["solution fleet apply", "solution fleet rollback"];
    let line = if changing.iter().any(|verb| command.starts_with(verb)) {
        command.replace(with, &format!("{with} --no-pull-proof --timeout 20"))
    } else {
        command.to_owned()
    };
    let answer = run(site, &line);
    let expected = i32::from(command.ends_with("# ends with 1"));
    assert_eq!(answer.code, expected, "{command}\n{answer:?}");
    answer.stdout
}

/// Returns the host, the networks and the version in each cluster, and its number of pods.
fn deployed(members: &Members) -> Vec<String> {
    let get = |member: &String, object: &str, field: &str| {
        let field = format!("--output=jsonpath={field}");
        let get = ["--namespace=shop", "get", object, "shop", &field];
        kubectl(member, &get).success()
    };
    let of = |member| {
        let pods = get(member, "deployment", "{.spec.replicas}");
        format!("{} {pods}", get(member, "configmap", "{.data.text}"))
    };
    members.iter().map(of).collect()
}

#[test]
fn the_example_of_the_page_stops_in_staging_and_rolls_back() {
    let site = site("fleet-example");
    let members = Members::start(CLUSTERS.len());
    for (number, (name, member)) in CLUSTERS.iter().zip(members.iter()).enumerate() {
        set_network(member, &format!("10.{}.0.0/16", number + 1));
        let kubeconfig = fs::read(member).unwrap();
        site.desk.write(&format!("{name}.kubeconfig"), kubeconfig);
    }
    let authority = fs::read(variable("SOLUTION_TEST_REGISTRY_CA")).unwrap();
    site.desk.write("site-ca.pem", authority);
    site.desk
        .write("password", variable("SOLUTION_TEST_REGISTRY_PASSWORD"));
    for version in ["1.0.0", "1.1.0"] {
        pack(&site, version, SETS, &RELEASE.replace("VERSION", version));
    }
    let others = [&members[..1], &members[2..]].concat();
    let _ready = Controllers::start(&others, "none");
    let _broken = Controllers::start(&members[1..2], "1.1.0");
    let mut shown = String::new();
    for block in example() {
        match block {
            Block::File(text) => site.desk.write("fleet.yaml", replace_names(&site, &text)),
            Block::Commands(commands) => {
                for command in commands {
                    shown = run_here(&site, &command);
                }
            }
            Block::Shown(text) => assert!(shown.contains(&text), "{text}\n{shown}"),
        }
    }
    assert_eq!(
        deployed(&members),
        [
            "shop.berlin.example 10.1.0.0/16 1.0.0 1",
            "shop.madrid.example 10.2.0.0/16 1.0.0 1",
            "shop.paris.example 10.3.0.0/16 1.0.0 3",
            "shop.rome.example 10.4.0.0/16 1.0.0 5",
        ]
    );
}
