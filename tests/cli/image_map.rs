//! The image addresses of a site, as `inspect` shows them without a registry, and the flags that need no cluster.

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::Desk;

const REGISTRY: [&str; 2] = ["--registry", "r.test:5000/apps"];

/// Runs `inspect` on the example with these flags.
fn inspect(desk: &Desk, more: &[&str]) -> crate::common::Answer {
    desk.solution(&[&["inspect", "example.iso"], &REGISTRY[..], more].concat())
}

#[test]
fn an_archive_says_where_its_images_will_lie() {
    let desk = Desk::with_archive();
    let plain = desk.solution(&["inspect", "example.iso"]).success();
    assert!(!plain.contains("ADDRESS"), "{plain}");
    let told = inspect(&desk, &[]).success();
    let table = inspect(&desk, &["--image-map", "table"]).success();
    assert_eq!(told, format!("{plain}{table}"));
    let map = inspect(&desk, &["--output", "json"]).json()["imageMap"].clone();
    let images = map.as_array().unwrap();
    assert_eq!(table.lines().count(), 1 + images.len(), "{table}");
    let server = images
        .iter()
        .find(|entry| entry["image"] == "example-server:1.0.0");
    let server = server.unwrap();
    let digest = server["digest"].as_str().unwrap();
    let repository = "apps/example-1.0.0/example-server";
    let expected = json!({
        "image": "example-server:1.0.0",
        "ref": "registry.example.test/example/server:1.0.0",
        "address": format!("r.test:5000/{repository}@{digest}"),
        "registry": "r.test:5000",
        "repository": repository,
        "tag": "1.0.0",
        "digest": digest,
    });
    assert_eq!(*server, expected);
    let by_ref = inspect(&desk, &["--repository-layout", "ref", "--output", "json"]).json();
    let places = by_ref["imageMap"].as_array().unwrap().iter();
    let places: Vec<&Value> = places.map(|image| &image["repository"]).collect();
    assert!(
        places.contains(&&json!("apps/example/server")),
        "{places:?}"
    );
}

#[test]
fn other_tools_get_their_form_and_nothing_else() {
    let desk = Desk::with_archive();
    for (format, first) in [
        ("kustomize", "images:"),
        ("helm", "images:"),
        (
            "containerd",
            "# /etc/containerd/certs.d/registry.example.test/hosts.toml",
        ),
    ] {
        let flags = ["--image-map", format];
        let text = inspect(&desk, &flags).success();
        assert_eq!(text.lines().next(), Some(first), "{text}");
        let json = inspect(&desk, &[&flags[..], &["--output", "json"]].concat()).json();
        let files = json["imageMapFiles"].as_array().unwrap();
        assert!(text.ends_with(files[0]["text"].as_str().unwrap()), "{text}");
    }
    // The rule for nodes is that of `solution registry mirrors`.
    let flags = [
        "mirrors",
        "--archive",
        "example.iso",
        "--key",
        "publisher.pub",
    ];
    for layout in ["solution", "ref"] {
        let layout = ["--repository-layout", layout];
        let told = desk.solution(&[&flags[..], &REGISTRY, &layout].concat());
        let map = inspect(
            &desk,
            &[&["--image-map", "containerd"], &layout[..]].concat(),
        );
        assert_eq!(told.success(), map.success());
    }
}

#[test]
fn what_is_for_a_cluster_is_refused_without_one() {
    let desk = Desk::new();
    let always = ["import", "a.iso", "--no-cluster"];
    for flags in [
        &["--environment", "prod"][..],
        &["--namespace", "prod"],
        &["--create-environment"],
        &["--pull-secret", "login"],
        &["--pull-login", "login.json"],
        &["--no-pull-secret"],
        &["--no-pull-proof"],
        &["--set", "a=b"],
        &["--values", "values.yaml"],
        &["--unset", "a"],
        &["--adopt", "crds"],
        &["--recreate", "StatefulSet/db"],
        &["--accept", "0123456789abcdef"],
        &["--forget-signers"],
        &["--passphrase-file", "p"],
        &["--change-signers"],
        &["--plan-out", "plan.json"],
        &["--diff"],
        &["--force-conflicts"],
        &["--kubeconfig", "c"],
        &["--context", "c"],
        &["--wait"],
        &["--timeout", "9"],
        &["--receipt-key", "k"],
        &["--allow-downgrade"],
    ] {
        let text = desk.solution(&[&always[..], &REGISTRY, flags].concat());
        let text = text.failure(2);
        assert!(text.contains(flags[0]), "{flags:?}: {text}");
    }
    // The site configuration, which may name a registry, is in a cluster.
    let text = desk.solution(&always).failure(2);
    assert!(text.contains("--registry"), "{text}");
    // Operators and ownership records refer to images by their Solution.
    let layout = ["import", "a.iso", "--repository-layout", "ref"];
    let text = desk.solution(&[&layout[..], &REGISTRY].concat()).failure(2);
    assert!(text.contains("'--repository-layout <LAYOUT>'"), "{text}");
}

#[test]
fn kustomize_gets_no_list_that_would_give_one_image_for_another() {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let path = "source/solution.yaml";
    let text = String::from_utf8(desk.read(path)).unwrap();
    let text = text.replace("example/operator:", "example/server:0.");
    desk.write(path, text);
    let pack = [
        "pack",
        "source",
        "-o",
        "example.iso",
        "--key",
        "publisher.key",
    ];
    desk.solution(&pack).success();
    let refused = inspect(&desk, &["--image-map", "kustomize"]).failure(1);
    for words in [
        "`registry.example.test/example/server`",
        "--image-map table",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
}
