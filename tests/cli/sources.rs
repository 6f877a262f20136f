//! `pack` from every source that is a file, the output of `--check`, and the cache for the next run.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use fixtures::artifact;
use fixtures::image::{ImageBuilder, Platform};
use fixtures::layout::OciLayout;
use fixtures::saved::{self, Names, Saved};
use serde_json::{Value, json};

use crate::common::Desk;

/// Returns a desk with a saved image, an artifact of each kind, and two of three platforms of an index.
fn desk() -> Desk {
    let desk = Desk::with_key();
    fs::create_dir(desk.path("source")).unwrap();
    let saved = Saved {
        tags: vec!["r.test/app:1".to_owned()],
        layers: vec![saved::layer("app", &b"layer ".repeat(100_000))],
        comment: String::new(),
    };
    saved::docker_archive(&desk.path("source/app.tar"), &[saved], Names::Directories).unwrap();
    let image = |architecture: &str| {
        let image = ImageBuilder::new().platform(Platform::linux(architecture));
        image.file("/app", architecture, 0o755).build()
    };
    let layout = OciLayout::create(desk.path("source/layout")).unwrap();
    let documents = [
        (artifact::dashboards(), "dashboards"),
        (artifact::policy(), "policy"),
        (
            artifact::attested(&["amd64", "arm64", "s390x"].map(image)),
            "multi",
        ),
    ];
    let layout = documents.iter().fold(layout, |layout, (document, tag)| {
        layout.add_document(document, Some(tag)).unwrap()
    });
    layout.finish().unwrap();
    saved::tar_of_directory(&desk.path("source/layout.tar"), &desk.path("source/layout")).unwrap();
    desk.write(
        "source/solution.yaml",
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {name: demo}
spec:
  version: 1.0.0
  images:
  - {name: app, tag: '1', source: 'docker-archive:app.tar'}
  - {name: dashboards, tag: '1', source: 'oci:layout:dashboards'}
  - {name: multi, tag: '1', source: 'oci-archive:layout.tar:multi', platforms: [linux/amd64, linux/s390x]}
  - {name: policy, tag: '1', source: 'oci-archive:layout.tar:policy'}
",
    );
    desk
}

const PACK: [&str; 6] = [
    "pack",
    "source",
    "-o",
    "example.iso",
    "--key",
    "publisher.key",
];

fn json(desk: &Desk, arguments: &[&str]) -> Value {
    let answer = desk.solution(&[arguments, &["--output", "json"]].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.json()
}

#[test]
fn images_and_artifacts_from_files_are_packed_and_accepted() {
    let desk = desk();
    desk.solution(&PACK).success();
    desk.report(&["--key", "publisher.pub"], 0);
    let inspected = json(&desk, &["inspect", "example.iso"]);
    let kinds: Vec<(&Value, &Value)> = inspected["images"]
        .as_array()
        .unwrap()
        .iter()
        .map(|image| (&image["artifactType"], &image["platforms"]))
        .collect();
    assert_eq!(
        kinds,
        [
            (&Value::Null, &Value::Null),
            (
                &json!("application/vnd.example.dashboards.config.v1+json"),
                &Value::Null
            ),
            (&Value::Null, &json!(["linux/amd64", "linux/s390x"])),
            (&json!("application/vnd.example.policy.v1"), &Value::Null),
        ]
    );
    let text = desk.solution(&["inspect", "example.iso"]).success();
    assert!(
        text.contains("image       policy:1  application/vnd.example.policy.v1\n"),
        "{text}"
    );
    assert!(
        text.contains("image       multi:1  linux/amd64, linux/s390x\n"),
        "{text}"
    );
}

#[test]
fn a_check_tells_what_packing_makes_and_writes_nothing() {
    let desk = desk();
    let before = desk.names();
    let checked = json(&desk, &["pack", "source", "--check", "--files"]);
    assert_eq!(desk.names(), before);
    assert_eq!(checked["verdict"], "accepted");
    let app = &checked["images"][0];
    assert_eq!(
        (&app["ref"], &app["platforms"]),
        (&json!("r.test/app:1"), &json!(["linux/amd64"]))
    );
    assert_eq!(app["source"], "docker-archive:app.tar");
    assert_eq!(
        checked["images"][1]["artifactType"],
        "application/vnd.example.dashboards.config.v1+json"
    );
    assert_eq!(
        checked["images"][2]["platforms"],
        json!(["linux/amd64", "linux/s390x"])
    );
    let packed = json(&desk, &PACK);
    assert_eq!(packed["size"], checked["size"]);
    assert_eq!(packed["blobs"], checked["blobs"]);
    let inspected = json(&desk, &["inspect", "example.iso", "--files"]);
    let digests = |of: &Value| -> Vec<Value> {
        of["images"]
            .as_array()
            .unwrap()
            .iter()
            .map(|image| image["digest"].clone())
            .collect()
    };
    assert_eq!(digests(&inspected), digests(&checked));
    for file in checked["files"].as_array().unwrap() {
        assert!(
            inspected["files"].as_array().unwrap().contains(file),
            "{file}"
        );
    }
    let text = desk.solution(&["pack", "source", "--check"]).success();
    assert!(
        text.contains("image       app:1  ")
            && text.contains("  from      docker-archive:app.tar  sha256:"),
        "{text}"
    );
    assert!(text.contains("  ref       r.test/app:1\n"), "{text}");
}

#[test]
fn a_check_refuses_what_packing_would() {
    let desk = desk();
    desk.write("example.iso", "there");
    let there = ["pack", "source", "--check", "-o", "example.iso"];
    let text = desk.solution(&there).failure(1);
    assert!(text.contains("--force"), "{text}");
    desk.solution(&[&there[..], &["--force"]].concat())
        .success();
    assert_eq!(desk.read("example.iso"), b"there");
    // Only `validate` detects this: a configuration with another number of layers.
    let (layer, config) = (
        b"x".to_vec(),
        br#"{"os":"linux","architecture":"amd64","rootfs":{"diff_ids":[]}}"#.to_vec(),
    );
    let sum = |bytes: &[u8]| {
        use sha2::{Digest as _, Sha256};
        let hex: Vec<String> = Sha256::digest(bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        hex.concat()
    };
    let descriptor = |kind: &str, bytes: &[u8]| {
        format!(
            r#"{{"mediaType":"application/vnd.oci.image.{kind}","digest":"sha256:{}","size":{}}}"#,
            sum(bytes),
            bytes.len()
        )
    };
    let (config_is, layer_is) = (
        descriptor("config.v1+json", &config),
        descriptor("layer.v1.tar", &layer),
    );
    let bytes =
        format!(r#"{{"schemaVersion":2,"config":{config_is},"layers":[{layer_is}]}}"#).into_bytes();
    let document = artifact::Document {
        media_type: "application/vnd.oci.image.manifest.v1+json",
        bytes,
        contents: vec![layer, config],
    };
    let layout = OciLayout::create(desk.path("source/layout")).unwrap();
    layout
        .add_document(&document, Some("policy"))
        .unwrap()
        .finish()
        .unwrap();
    saved::tar_of_directory(&desk.path("source/layout.tar"), &desk.path("source/layout")).unwrap();
    let edit = |from: &str, to: &str| {
        let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
        assert!(text.contains(from), "{text}");
        desk.write("source/solution.yaml", text.replace(from, to));
    };
    edit(
        "  - {name: multi, tag: '1', source: 'oci-archive:layout.tar:multi', platforms: [linux/amd64, linux/s390x]}\n",
        "",
    );
    edit(
        "  - {name: dashboards, tag: '1', source: 'oci:layout:dashboards'}\n",
        "",
    );
    let answer = desk
        .solution(&["pack", "source", "--check", "--output", "json"])
        .failure(1);
    assert!(answer.contains(r#""id":"images.config""#), "{answer}");
    let text = desk.solution(&["pack", "source", "--check"]).failure(1);
    assert!(
        text.contains("refused: `solution pack` would not write an archive"),
        "{text}"
    );
}

#[test]
fn what_was_compressed_is_kept_and_never_believed() {
    let desk = desk();
    let pack =
        |more: &[&'static str]| [&PACK[..], &["--force", "--compression", "gzip"], more].concat();
    let later = json(
        &desk,
        &[
            "pack",
            "source",
            "--check",
            "--compression",
            "gzip",
            "--cache-dir",
            "cache",
        ],
    );
    assert!(later["toCompress"].as_u64().unwrap() > 600_000, "{later}");
    let first = json(&desk, &pack(&["--cache-dir", "cache"]));
    let bytes = desk.read("example.iso");
    let plain = json(&desk, &[&PACK[..], &["--force"]].concat());
    assert!(first["size"].as_u64() < plain["size"].as_u64());
    let known = json(
        &desk,
        &[
            "pack",
            "source",
            "--check",
            "--compression",
            "gzip",
            "--cache-dir",
            "cache",
        ],
    );
    assert_eq!(
        (&known["toCompress"], &known["size"]),
        (&json!(0), &first["size"])
    );
    // A damaged content is collected again in the same run.
    let contents = desk.path("cache/contents");
    let entry = fs::read_dir(contents)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut damaged = fs::read(&entry).unwrap();
    damaged[300] ^= 1;
    fs::write(&entry, damaged).unwrap();
    let text = desk.solution(&pack(&["--cache-dir", "cache"])).failure(0);
    assert!(
        text.contains("in the cache was damaged and is removed; packing starts again"),
        "{text}"
    );
    assert!(desk.read("example.iso") == bytes, "the bytes differ");
    // Without a cache the archive is the same, and no other file is left.
    let before = desk.names();
    desk.solution(&pack(&["--no-cache"])).success();
    assert!(desk.read("example.iso") == bytes, "the bytes differ");
    assert_eq!(desk.names(), before);
}

/// A registry with a few contents.
pub(crate) struct SmallRegistry {
    pub(crate) host: String,
    /// The requested paths.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

/// Serves a registry with these contents, by the suffixes of their paths.
pub(crate) fn registry(contents: BTreeMap<String, Vec<u8>>) -> SmallRegistry {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (told, contents) = (Arc::clone(&asked), Arc::new(contents));
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let (told, contents) = (Arc::clone(&told), Arc::clone(&contents));
            // A client may open a connection before it has a request for it.
            std::thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n")
                    && connection.read(&mut byte).is_ok_and(|n| n == 1)
                {
                    head.extend(byte);
                }
                // A client may try TLS first.
                let head = String::from_utf8_lossy(&head).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let mut found = contents.iter();
                let found = found.find(|(end, _)| path.ends_with(end.as_str()));
                let status = found.map_or("404 Not Found", |_| "200 OK");
                let body = found.map_or(&[][..], |(_, body)| body);
                let size = body.len();
                let kind = "application/vnd.oci.image.manifest.v1+json";
                let answer = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n"
                );
                told.lock().unwrap().push(path.to_owned());
                let _ = connection.write_all(answer.as_bytes());
                if !head.starts_with("HEAD") {
                    let _ = connection.write_all(body);
                }
            });
        }
    });
    SmallRegistry { host, asked }
}

#[test]
fn every_image_that_a_registry_does_not_have_is_a_finding_with_its_line() {
    let desk = Desk::with_key();
    let SmallRegistry { host, .. } = registry(BTreeMap::new());
    let image = |name: &str| {
        format!("    - {{name: {name}, tag: '1', source: 'docker://{host}/{name}:1'}}\n")
    };
    fs::create_dir_all(desk.path("gone")).unwrap();
    desk.write(
        "gone/solution.yaml",
        format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: gone}}\nspec:\n  version: 1.0.0\n  images:\n{}{}",
            image("a"),
            image("b")
        ),
    );
    let check = ["pack", "gone", "--check", "--plain-http", "--output=sarif"];
    let answer = desk.solution(&check);
    assert_eq!(answer.code, 1, "{answer:?}");
    let log: Value = serde_json::from_str(&answer.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let lines = results.iter().map(|result| {
        assert_eq!(result["ruleId"], "source.image-source");
        let place = &result["locations"][0]["physicalLocation"];
        place["region"]["startLine"].as_u64().unwrap()
    });
    assert_eq!(lines.collect::<Vec<_>>(), [7, 8]);
}

/// Without `--check`, no registry is contacted: the images are added from the tree.
#[test]
fn images_are_added_without_a_registry_and_with_a_check_all_of_them_are_asked_for() {
    let desk = Desk::with_key();
    let SmallRegistry { host, asked } = registry(BTreeMap::new());
    fs::create_dir_all(desk.path("gone")).unwrap();
    let solution = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: gone}}\nspec:\n  version: 1.0.0\n  images:\n    - {{name: a, tag: '1', source: 'docker://{host}/a:1'}}\n  manifests: [{{name: web, files: [web.yaml]}}]\n"
    );
    desk.write("gone/solution.yaml", &solution);
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: [{{name: web, image: '{host}/b:1'}}]}}}}"
    );
    desk.write("gone/web.yaml", pod);
    let add = [
        "pack",
        "gone",
        "--add-images",
        "--plain-http",
        "--output=json",
    ];
    let check = [&add[..], &["--check"]].concat();
    let added = desk.solution(&add).json();
    assert_eq!(added["added"][0]["name"], "b");
    assert!(asked.lock().unwrap().is_empty());

    let [again, at_once] = [None, Some(solution)].map(|before| {
        if let Some(before) = before {
            desk.write("gone/solution.yaml", before);
        }
        let answer = desk.solution(&check);
        assert_eq!(answer.code, 1, "{answer:?}");
        let result: Value = serde_json::from_str(&answer.stdout).unwrap();
        let findings = result["findings"].as_array().unwrap().iter();
        let missing = findings.filter(|finding| finding["id"] == "source.image-source");
        let lines = missing.map(|finding| finding["source"]["line"].as_u64().unwrap());
        let added = result["added"].as_array().unwrap().len();
        (added, lines.collect::<Vec<_>>())
    });
    assert_eq!(again, (0, vec![7, 8]));
    assert_eq!(at_once, (1, vec![7, 8]));
}

/// The policy needs only the small documents.
#[test]
fn what_is_refused_is_refused_before_layers_are_downloaded() {
    let desk = Desk::with_key();
    let image = ImageBuilder::new().platform(Platform::linux("amd64"));
    let image = image.file("/app", "app", 0o755).build();
    let manifest: Value = serde_json::from_slice(image.manifest()).unwrap();
    let [configuration, layer] =
        ["/config", "/layers/0"].map(|pointer| manifest.pointer(pointer).unwrap());
    let [configuration_bytes, layer_bytes] = [configuration, layer].map(|descriptor| {
        let mut contents = image.contents().into_iter();
        let size = descriptor["size"].as_u64().unwrap();
        contents.find(|bytes| bytes.len() as u64 == size).unwrap()
    });
    let [configuration, layer] =
        [configuration, layer].map(|descriptor| descriptor["digest"].as_str().unwrap());
    let registry = registry(BTreeMap::from([
        ("/manifests/1".to_owned(), image.manifest().to_vec()),
        (
            format!("/manifests/{}", image.descriptor().digest),
            image.manifest().to_vec(),
        ),
        (format!("/blobs/{configuration}"), configuration_bytes),
        (format!("/blobs/{layer}"), layer_bytes),
    ]));
    let host = &registry.host;
    fs::create_dir_all(desk.path("small")).unwrap();
    desk.write(
        "small/solution.yaml",
        format!(
            "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata: {{name: small}}\nspec:\n  version: 1.0.0\n  images: [{{name: a, tag: '1', source: 'docker://{host}/a:1'}}]\n"
        ),
    );
    let policy = "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: FindingsPolicy\nspec:\n  severities: {practice.display-name: error}\n";
    desk.write("small/solution.policy.yaml", policy);
    let pack = [
        "pack",
        "small",
        "-o",
        "a.iso",
        "--key",
        "publisher.key",
        "--plain-http",
        "--no-cache",
    ];
    let refused = desk.solution(&pack).failure(1);
    assert!(refused.contains("practice.display-name"), "{refused}");
    let is_layer = |path: &String| path.ends_with(layer);
    let asked = || registry.asked.lock().unwrap().clone();
    assert!(!asked().iter().any(is_layer), "{:?}", asked());
    fs::remove_file(desk.path("small/solution.policy.yaml")).unwrap();
    desk.solution(&pack).success();
    assert!(asked().iter().any(is_layer), "{:?}", asked());
}
