//! `pack` writes an archive that `validate` accepts, or nothing: however it ends, it leaves no partial file.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fixtures::example::{Programs, Release};
use serde_json::{Value, json};

use crate::common::Desk;

const PACK: [&str; 6] = ["pack", "source", "-o", "out.iso", "--key", "publisher.key"];
const CRD: &str = "source/operator/deploy/crds/versionservers_crd.yaml";

fn desk() -> Desk {
    let desk = Desk::with_key();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    desk
}

fn edit(desk: &Desk, path: &str, from: &str, to: &str) {
    let text = String::from_utf8(desk.read(path)).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    desk.write(path, text.replacen(from, to, 1));
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let desk = Desk::with_archive();
    let elsewhere = Desk::new();
    elsewhere.write_example(&Programs::placeholders(), Release::V1_0_0, "another/place");
    let key = desk.path("publisher.key");
    let arguments = ["another/place", "--key", key.to_str().unwrap()];
    let pack = |name: &'static str| [&["pack", "-o", name], &arguments[..]].concat();
    elsewhere.solution(&pack("again.iso")).success();
    assert!(
        desk.read("example.iso") == elsewhere.read("again.iso"),
        "the bytes differ"
    );
    let dated = elsewhere
        .command()
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .args(pack("dated.iso"))
        .stdout(Stdio::null())
        .status();
    assert!(dated.unwrap().success());
    assert!(
        desk.read("example.iso") != elsewhere.read("dated.iso"),
        "the time is not in the image"
    );
    let mut wrong = elsewhere.command();
    wrong
        .env("SOURCE_DATE_EPOCH", "yesterday")
        .args(pack("wrong.iso"));
    let text = crate::common::Answer::from_command(&mut wrong).failure(2);
    assert!(text.contains("`yesterday`"), "{text}");
}

#[test]
fn an_archive_is_a_file_like_any_other() {
    let desk = Desk::with_archive();
    let mode = |name: &str| {
        std::fs::metadata(desk.path(name))
            .unwrap()
            .permissions()
            .mode()
    };
    // The umask determines the mode, as the plain file shows.
    desk.write("plain", "");
    assert_eq!(mode("example.iso"), mode("plain"));
}

#[test]
fn an_archive_is_replaced_only_when_told() {
    let desk = Desk::with_archive();
    let again = [
        "pack",
        "source",
        "-o",
        "example.iso",
        "--key",
        "publisher.key",
    ];
    let before = (desk.names(), desk.read("example.iso"));
    edit(&desk, "source/solution.yaml", "Example", "Another");
    let text = desk.solution(&again).failure(1);
    assert!(
        text.contains("`example.iso` already exists") && text.contains("--force"),
        "{text}"
    );
    assert!(
        (desk.names(), desk.read("example.iso")) == before,
        "it was touched"
    );
    desk.solution(&[&again[..], &["--force"]].concat())
        .success();
    assert!(desk.names() == before.0 && desk.read("example.iso") != before.1);
}

#[test]
fn only_files_are_replaced() {
    let desk = desk();
    std::fs::create_dir(desk.path("directory")).unwrap();
    std::os::unix::fs::symlink("directory", desk.path("link")).unwrap();
    for name in ["directory", "link", "/dev/null"] {
        let pack = ["pack", "source", "-o", name, "--unsigned", "--force"];
        let text = desk.solution(&pack).failure(1);
        assert!(text.contains(&format!("`{name}` is not a file")), "{text}");
    }
}

#[test]
fn damaged_layers_are_named() {
    let desk = desk();
    let before = desk.names();
    let blobs = desk.path("source/images/example-server/blobs/sha256");
    let entries = std::fs::read_dir(blobs)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let layer = entries
        .max_by_key(|path| std::fs::metadata(path).unwrap().len())
        .unwrap();
    let mut bytes = std::fs::read(&layer).unwrap();
    bytes[0] ^= 1;
    std::fs::write(&layer, bytes).unwrap();
    let text = desk.solution(&PACK).failure(1);
    assert!(
        text.contains(layer.file_name().unwrap().to_str().unwrap()),
        "{text}"
    );
    assert_eq!(desk.names(), before, "something was left");
}

#[test]
fn what_validate_would_refuse_is_not_written() {
    let desk = desk();
    edit(&desk, CRD, "storage: true", "storage: false");
    let before = desk.names();
    let answer = desk.solution(&PACK);
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{answer:?}");
    let finding = "error[operator.crd-versions]: operator/deploy/crds/versionservers_crd.yaml";
    assert!(answer.stderr.starts_with(finding), "{answer:?}");
    for words in [
        "hint: set `storage: true` for one version",
        "refused: `out.iso` was not written",
    ] {
        assert!(answer.stderr.contains(words), "{answer:?}");
    }
    assert_eq!(desk.names(), before, "something was left");
    let answer = desk.solution(&[&PACK[..], &["--output", "json"]].concat());
    assert_eq!((answer.code, answer.stderr.as_str()), (1, ""), "{answer:?}");
    assert_eq!(answer.json()["verdict"], "refused");
    assert_eq!(answer.json()["archive"], "out.iso");
    assert_eq!(answer.json()["findings"][0]["id"], "operator.crd-versions");
}

#[test]
fn a_refused_archive_replaces_nothing() {
    let desk = Desk::with_archive();
    let before = desk.read("example.iso");
    edit(&desk, CRD, "scope: Namespaced", "scope: Somewhere");
    let replace = [
        "pack",
        "source",
        "-o",
        "example.iso",
        "--key",
        "publisher.key",
        "--force",
    ];
    let text = desk.solution(&replace).failure(1);
    assert!(text.contains("error[operator.crd-shape]"), "{text}");
    assert!(desk.read("example.iso") == before, "it was replaced");
}

#[test]
fn warnings_are_shown_and_do_not_refuse() {
    let desk = desk();
    edit(
        &desk,
        "source/operator/deploy/role.yaml",
        "verbs: [",
        "verbs: ['*', ",
    );
    let answer = desk.solution(&PACK);
    assert!(
        answer.stderr.starts_with("warning[operator.wildcard]"),
        "{answer:?}"
    );
    assert!(!answer.stderr.contains("signature."), "{answer:?}");
    answer.success();
    let answer = desk.solution(&[&PACK[..], &["--force", "--output", "json"]].concat());
    assert_eq!(
        answer.json()["findings"][0]["id"],
        "operator.wildcard",
        "{answer:?}"
    );
}

#[test]
fn what_cannot_be_written_is_no_answer() {
    let desk = desk();
    let nowhere = ["pack", "source", "-o", "nowhere/out.iso", "--unsigned"];
    let text = desk.solution(&nowhere).failure(3);
    assert!(text.contains("cannot write `nowhere/out.iso`"), "{text}");
    assert!(!text.contains(".solution-"), "{text}");
}

#[test]
fn keys_to_sign_with() {
    let desk = desk();
    let before = desk.names();
    let pack =
        |keys: &[&str]| desk.solution(&[&["pack", "source", "-o", "out.iso"], keys].concat());
    let text = pack(&["--key", "publisher.key", "--key", "publisher.key"]).failure(1);
    assert!(
        text.contains("cannot sign") && text.contains("caused by"),
        "{text}"
    );
    let text = pack(&["--key", "publisher.pub"]).failure(1);
    assert!(text.contains("a secret key is needed"), "{text}");
    pack(&["--key", "nobody.key"]).failure(3);
    pack(&["--key", "publisher.key", "--unsigned"]).failure(2);
    pack(&[]).failure(2);
    assert_eq!(desk.names(), before, "something was left");
}

/// A layer of a gigabyte is being read when the program is stopped.
#[test]
fn ending_it_leaves_nothing() {
    let desk = desk();
    add_large_image(&desk);
    let before = desk.names();
    let mut command = desk.command();
    let mut child = command
        .args(PACK)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_mins(1);
    while !desk.names().iter().any(|name| name.contains(".part")) {
        assert!(
            Instant::now() < deadline && child.try_wait().unwrap().is_none(),
            "nothing is written"
        );
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(143), "{text}");
    assert!(text.contains("interrupted"), "{text}");
    assert_eq!(desk.names(), before, "something was left");
}

/// Returns a desk with the example, and a release in a manifest set.
fn desk_with_release(release: &str) -> Desk {
    let desk = desk();
    desk.write("source/release.yaml", release);
    let text = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    let set = "  manifests:\n    - {name: web, files: [release.yaml], namespaces: [{name: web}]}\n";
    desk.write("source/solution.yaml", format!("{text}{set}"));
    desk
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - {name: web, image: 'registry.example.test/example/server:1.0.0', args: [--proxy=registry.example.test/proxy:1]}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: web}, spec: {selector: {app: web}, ports: [{port: 80}]}}
";

#[test]
fn a_release_is_packed_as_it_is_and_shown() {
    let desk = desk_with_release(DEPLOYMENT);
    let text = desk.solution(&PACK);
    assert_eq!(text.code, 0, "{text:?}");
    let warning = "warning[manifests.image-mentioned]: release.yaml:11: /spec/template/spec/containers/0/args/0 names `registry.example.test/proxy:1`, which is not an image of the Solution";
    assert!(text.stderr.contains(warning), "{text:?}");
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    assert!(
        shown.contains("set         web  2 objects: 1 Deployment, 1 Service\n  namespace web\n"),
        "{shown}"
    );
    let shown = desk
        .solution(&["inspect", "out.iso", "--output", "json"])
        .json();
    let objects = json!([{"name": "web", "objects": {"Deployment": 1, "Service": 1}}]);
    assert_eq!(shown["sets"], objects);
    assert_eq!(shown["manifest"]["spec"]["manifests"][0]["name"], "web");
    let object = desk.solution(&["cat", "out.iso", "manifests/web/0001-deployment-web.yaml"]);
    let object = object.success();
    assert!(
        object.contains("image: '$(image:example-server)'"),
        "{object}"
    );
    assert!(object.contains("namespace: '$(namespace:web)'"), "{object}");
}

#[test]
fn images_that_objects_run_are_missed_before_packing_and_added_on_demand() {
    let other = DEPLOYMENT.replace("example/server:1.0.0", "example/other:2.0");
    let desk = desk_with_release(&other);
    let before = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    let line = "- {name: \"other\", tag: \"2.0\", source: \"docker://registry.example.test/example/other:2.0\"}";
    for arguments in [&PACK[..], &["pack", "source", "--check"]] {
        let said = desk.solution(arguments).failure(1);
        for words in [
            "error[source.image]: release.yaml:",
            ": /spec/template/spec/containers/0/image is `registry.example.test/example/other:2.0`, which spec.images does not list\n",
            "`solution pack --add-images`",
            &format!("  |     {line}"),
        ] {
            assert!(said.contains(words), "{words} is not in {said}");
        }
    }
    assert!(!desk.path("out.iso").exists());
    let added = desk
        .solution(&["pack", "source", "--add-images", "--output", "json"])
        .json();
    let image = json!({"name": "other", "tag": "2.0", "source": "docker://registry.example.test/example/other:2.0"});
    assert_eq!(added["added"], json!([image]));
    let after = String::from_utf8(desk.read("source/solution.yaml")).unwrap();
    assert_eq!(after.replace(&format!("    {line}\n"), ""), before);
    let said = desk
        .solution(&["pack", "source", "--add-images"])
        .failure(0);
    assert!(said.contains("nothing to add"), "{said}");
    assert_eq!(desk.read("source/solution.yaml"), after.as_bytes());
    // The other problem is reported too, with its position.
    let known = DEPLOYMENT.replace("example/server:1.0.0", "example/third:3.0");
    let (web, broken) = (known, "{apiVersion: v1, kind: ConfigMap, metadata: {}}\n");
    desk.write("source/release.yaml", format!("{web}---\n{broken}"));
    let said = desk
        .solution(&["pack", "source", "--add-images"])
        .failure(0);
    assert!(said.contains("[manifests.object]: release.yaml:"), "{said}");
    desk.write("source/release.yaml", &other);
    // From here on, only the registry is missing.
    let said = desk.solution(&PACK).failure(3);
    assert!(said.contains("registry.example.test"), "{said}");
}

#[test]
fn all_that_is_wrong_with_a_tree_is_said_at_once() {
    let desk = desk_with_release(&DEPLOYMENT.replace("kind: Service", "kind: [Service]"));
    edit(
        &desk,
        CRD,
        "kind: CustomResourceDefinition",
        "kind: Definition",
    );
    for arguments in [&PACK[..], &["pack", "source", "--check"]] {
        let answer = desk.solution(&[arguments, &["--output", "json"]].concat());
        assert_eq!(answer.code, 1, "{answer:?}");
        let refused = answer.json();
        assert_eq!(refused["verdict"], "refused");
        let findings = refused["findings"].as_array().unwrap().iter();
        let findings: Vec<_> = findings
            .map(|finding| json!([finding["id"], finding["source"]]))
            .collect();
        assert_eq!(
            findings,
            [
                json!(["operator.crd-kind", {"file": "operator/deploy/crds/versionservers_crd.yaml", "line": 2}]),
                json!(["manifests.object", {"file": "release.yaml", "line": 13}]),
            ],
            "{refused:#}"
        );
    }
    let said = desk.solution(&PACK).failure(1);
    let words = "error[operator.crd-kind]: operator/deploy/crds/versionservers_crd.yaml:2: holds ";
    assert!(said.contains(words), "{said}");
    let end = "refused: `out.iso` was not written, because the source tree has errors\n";
    assert!(said.ends_with(end), "{said}");
    assert!(!desk.path("out.iso").exists());
}

#[test]
fn five_thousand_objects_are_packed_and_judged() {
    let object = |number: usize| {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}, namespace: web}}, data: {{a: b}}}}\n"
        )
    };
    let desk = desk_with_release(&(0..5000).map(object).collect::<String>());
    desk.solution(&PACK).success();
    let shown = desk.solution(&["inspect", "out.iso"]).success();
    assert!(shown.contains("5000 objects: 5000 ConfigMap"), "{shown}");
}

#[test]
fn a_mirror_is_asked_for_images_of_the_registry_that_it_is_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mirror = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let _ = connection.read(&mut asked);
            let answer =
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}";
            let _ = connection.write_all(answer);
        }
    });
    let desk = Desk::new();
    desk.write_example(&Programs::placeholders(), Release::V1_0_0, "source");
    let image = "  images:\n    - {name: redis, tag: '8', source: 'docker://redis:8'}\n";
    edit(&desk, "source/solution.yaml", "  images:\n", image);
    let pack = |mirrors: &[&str]| {
        let mut arguments = vec!["pack", "source", "--check"];
        arguments.extend(
            mirrors
                .iter()
                .flat_map(|mirror| ["--registry-mirror", *mirror]),
        );
        desk.solution(&arguments)
    };
    let text = pack(&[&format!("docker.io={mirror}/hub")]).failure(1);
    for words in [
        "cannot take image `redis:8` from `docker://redis:8`",
        &format!("from {mirror}/hub/library/redis: the registry does not have it"),
    ] {
        assert!(text.contains(words), "{text}");
    }
    for (mirrors, words) in [
        (
            &["docker.io=a.test", "index.docker.io=b.test"][..],
            "`--registry-mirror` sets two mirrors of the registry `docker.io`",
        ),
        (
            &["docker.io/library=a.test"],
            "a mirror is for a whole registry",
        ),
        (&["a.test"], "expected HOST=MIRROR[/PREFIX]"),
        (&["docker.io=https://a.test"], "a.test"),
    ] {
        let text = pack(mirrors).failure(2);
        assert!(text.contains(words), "{mirrors:?}: {text}");
    }
}

/// Adds the server's image a second time, with a layer of one gigabyte of zeros.
fn add_large_image(desk: &Desk) {
    let blobs = "source/images/example-server/blobs/sha256";
    let index = json_of(desk, "source/images/example-server/index.json");
    let hex = |digest: &Value| digest.as_str().unwrap().replace("sha256:", "");
    let manifest = hex(&index["manifests"][0]["digest"]);
    let mut manifest = json_of(desk, &format!("{blobs}/{manifest}"));
    let config = hex(&manifest["config"]["digest"]);
    desk.write(
        &format!("source/large/{config}"),
        desk.read(&format!("{blobs}/{config}")),
    );
    let layer = "0".repeat(64);
    manifest["layers"][0]["digest"] = json!(format!("sha256:{layer}"));
    manifest["layers"][0]["size"] = json!(1 << 30);
    desk.write("source/large/manifest.json", manifest.to_string());
    desk.write("source/large/version", "Directory Transport Version: 1.1\n");
    let file = std::fs::File::create(desk.path(&format!("source/large/{layer}"))).unwrap();
    file.set_len(1 << 30).unwrap();
    let large = "  images:\n    - {name: large, tag: 1.0.0, source: dir:large}\n";
    edit(desk, "source/solution.yaml", "  images:\n", large);
}

fn json_of(desk: &Desk, path: &str) -> Value {
    serde_json::from_slice(&desk.read(path)).unwrap()
}
