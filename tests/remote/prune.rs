//! `solution registry prune`: a real registry with versions that share images, and the remaining versions, which stay
//! complete.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use fixtures::image::{Artifact, Format, Image, ImageBuilder, Index, Platform};
use fixtures::proxy::{Action, Proxy};
use schemas::Digest;
use schemas::limits::INDEX_DEPTH;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::common::{Answer, Desk};
use crate::server::{Protection, Server};
use crate::setup::{image, pack, push, write_layout};

const KEY: [&str; 2] = ["--key", "publisher.pub"];

/// Returns an image for another architecture than that of [`image`].
fn other(content: &str) -> Image {
    let image = ImageBuilder::new().platform(Platform::linux("arm64"));
    image.file("/app", content, 0o755).build()
}

fn index(content: &str) -> Artifact {
    Index::new(Format::Oci, vec![image("amd64"), other(content)]).into()
}

/// Writes the archive `VERSION.iso` of `shop`. It contains an index as `app-0` and an image. One image of the index,
/// and the single image, are the same in all versions.
fn write_archive(desk: &Desk, version: &str) {
    write_layout(desk, version, &index(version));
    write_layout(desk, &format!("{version}/same"), &other("same").into());
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionSource
metadata: {{name: shop}}
spec:
  version: {version}
  images:
    - {{name: app-0, tag: '1', source: 'oci:layout:1', ref: 'quay.example/org/app:{version}'}}
    - {{name: app-1, tag: '1', source: 'oci:same/layout:1', ref: 'quay.example/org/same:1'}}
"
    );
    desk.write(&format!("{version}/solution.yaml"), text);
    let archive = format!("{version}.iso");
    desk.solution(&pack(version, &archive)).success();
}

fn import(desk: &Desk, version: &str, registry: &str) {
    let archive = format!("{version}.iso");
    let to = ["--registry", registry];
    let all = [&["push", &archive][..], &KEY, &to].concat();
    desk.solution(&all).success();
}

/// Returns a desk with two versions, and the prefix of a registry that has both.
fn desk(server: &Server) -> (Desk, String) {
    let desk = Desk::with_key();
    let registry = format!("{}/apps", server.host());
    for version in ["1.0.0", "1.1.0"] {
        write_archive(&desk, version);
        import(&desk, version, &registry);
    }
    (desk, registry)
}

fn prune(desk: &Desk, registry: &str, more: &[&str]) -> Answer {
    let verb = ["registry", "prune"];
    let at = ["--no-cluster", "--registry", registry];
    desk.solution(&[&verb[..], more, &at].concat())
}

const OLD: [&str; 3] = ["shop", "1.0.0", "--yes"];
const AS_JSON: [&str; 2] = ["--output", "json"];

/// Returns whether the registry has every byte of a version.
fn is_whole(desk: &Desk, registry: &str, version: &str) -> bool {
    let verify = [
        "registry",
        "verify",
        "shop",
        version,
        "--registry",
        registry,
    ];
    desk.solution(&[&verify[..], &KEY].concat()).code == 0
}

fn ids(versions: &Value) -> Vec<&str> {
    let versions = versions.as_array().unwrap().iter();
    versions
        .map(|version| version["solution"].as_str().unwrap())
        .collect()
}

#[test]
fn what_is_kept_is_listed_and_nothing_is_deleted() {
    let server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    // Other prefixes do not count, nor do repositories that only look like versions.
    import(&desk, "1.0.0", &server.host());
    push(&server, &desk.path("1.0.0/layout"), "apps/shop-7.0.0");
    let text = prune(&desk, &registry, &[]).success();
    for words in [
        "has 2 versions",
        "shop-1.0.0: need not checked: no cluster was queried",
        "not shared with other versions",
        &format!(
            "delete it with `solution registry prune shop 1.1.0 --no-cluster --registry {registry}`"
        ),
    ] {
        assert!(text.contains(words), "`{words}`: {text}");
    }
    let listed = prune(&desk, &registry, &AS_JSON).json();
    assert_eq!(ids(&listed["versions"]), ["shop-1.0.0", "shop-1.1.0"]);
    let own = listed["versions"][0]["ownBytes"].as_u64().unwrap();
    // Both versions contain the large layer.
    assert!((1..crate::setup::LARGE).contains(&own), "{listed:#}");
    assert_eq!(
        (&listed["deleted"], &listed["freed"]),
        (&json!([]), &json!([]))
    );
    // No user confirms.
    let plan = prune(&desk, &registry, &OLD[..2]);
    assert_eq!(plan.code, 1, "{plan:?}");
    assert!(plan.stdout.contains("delete    shop-1.0.0"), "{plan:?}");
    assert!(plan.stderr.contains("was not confirmed"), "{plan:?}");
    prune(&desk, &registry, &[&OLD[..2], &["--dry-run"]].concat()).success();
    assert!(is_whole(&desk, &registry, "1.0.0"));
    for (arguments, words) in [
        (&["shop"][..], "`shop` has no version: name each version"),
        (&["shop", "latest"], "latest"),
        (&["--all-unneeded"], "--no-cluster"),
    ] {
        let text = prune(&desk, &registry, arguments).failure(2);
        assert!(text.contains(words), "{text}");
    }
    let text = prune(&desk, &registry, &["shop", "3.0.0", "--yes"]).failure(1);
    assert!(text.contains("has no archive of shop-3.0.0"), "{text}");
}

#[test]
fn what_another_version_shares_stays_whole() {
    let mut server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    // Another user's tag for an image that the deleted version has under the same name.
    let layout = desk.path("1.0.0/layout");
    push(&server, &layout, "apps/mirror/quay.example/org/app");
    let done = prune(&desk, &registry, &[&OLD[..], &AS_JSON].concat());
    assert_eq!(done.code, 0, "{done:?}");
    let done = done.json();
    assert_eq!(done["deleted"], json!(["shop-1.0.0"]));
    let freed: Vec<&str> = done["freed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    // Its own index with both images, its own single image, and the head. The other version needs the content of the
    // mirror.
    assert_eq!(freed.len(), 5, "{done:#}");
    assert!(
        freed.iter().all(|name| name.contains("/apps/shop-1.0.0")),
        "{done:#}"
    );
    server.collect_garbage();
    server.restart();
    assert!(is_whole(&desk, &registry, "1.1.0"));
    let export = [
        "export",
        "shop",
        "1.1.0",
        "-o",
        "again.iso",
        "--registry",
        &registry,
    ];
    desk.solution(&[&export[..], &KEY].concat()).success();
    assert!(desk.read("1.1.0.iso") == desk.read("again.iso"));
    let listed = prune(&desk, &registry, &AS_JSON).json();
    assert_eq!(ids(&listed["versions"]), ["shop-1.1.0"]);
    // Deleting the last version deletes the rest, except the other user's tag.
    prune(&desk, &registry, &["shop", "1.1.0", "--yes"]).success();
    server.collect_garbage();
    let manifests = server.stored("_manifests/tags").into_iter();
    let tags: Vec<PathBuf> = manifests
        .filter(|path| path.ends_with("current/link"))
        .collect();
    assert_eq!(tags.len(), 2, "{tags:?}");
    assert!(tags.iter().all(|path| {
        path.to_string_lossy()
            .contains("mirror/quay.example/org/app")
    }));
}

/// Pushes an index around a manifest or index, with the tag `outer`, and returns its descriptor.
fn wrap(desk: &Desk, server: &Server, repository: &str, inner: &Value) -> Value {
    let media_type = "application/vnd.oci.image.index.v1+json";
    let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": [inner]});
    let bytes = index.to_string();
    let digest = Digest::new(Sha256::digest(&bytes).into());
    let url = format!("http://{}/v2/{repository}/manifests/outer", server.host());
    let header = format!("Content-Type: {media_type}");
    desk.write("wrapped.json", &bytes);
    let put = ["-sf", "-X", "PUT", "-H", &header];
    let data = ["--data-binary", "@wrapped.json", &url];
    desk.run("curl", &[&put[..], &data].concat()).success();
    json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
}

#[test]
fn what_lies_too_deep_to_be_found_is_not_guessed_at() {
    let server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    let repository = "apps/mirror/quay.example/org/app";
    // Another user wraps an image of the version, and may need it.
    let mut inner = serde_json::to_value(index("1.0.0").descriptor()).unwrap();
    for _ in 0..=INDEX_DEPTH {
        inner = wrap(&desk, &server, repository, &inner);
    }
    let text = prune(&desk, &registry, &OLD).failure(1);
    let words = format!("has more than {INDEX_DEPTH} levels of indexes in an image");
    assert!(text.contains(&words), "{text}");
    assert!(text.contains("nothing is deleted"), "{text}");
    assert!(is_whole(&desk, &registry, "1.0.0"));
}

#[test]
fn images_in_a_mirror_go_with_the_last_version_that_needs_them() {
    let server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    let done = prune(&desk, &registry, &[&OLD[..], &AS_JSON].concat()).json();
    // The index of this version is deleted from the mirror with its one image. The other version has the remaining
    // images, too.
    let mirror = format!("{registry}/mirror/quay.example/org/");
    let freed = done["freed"].as_array().unwrap().iter();
    let freed: Vec<&str> = freed
        .filter_map(|name| name.as_str()?.strip_prefix(&mirror))
        .collect();
    let [one, two] = [
        other("1.0.0").descriptor().digest.clone(),
        index("1.0.0").descriptor().digest.clone(),
    ];
    let expected = [one, two].map(|digest| format!("app@{digest}"));
    assert_eq!(freed, expected, "{done:#}");
    assert!(is_whole(&desk, &registry, "1.1.0"));
    let both = ["shop", "1.1.0", "--yes"];
    prune(&desk, &registry, &both).success();
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

#[test]
fn a_registry_that_deletes_nothing_or_lists_nothing_is_told_with_what_to_do() {
    let mut server = Server::start_without_deleting();
    let (desk, registry) = desk(&server);
    let text = prune(&desk, &registry, &OLD).failure(1);
    for words in [
        "the registry still has",
        "the registry does not allow deleting",
        "storage.delete.enabled",
    ] {
        assert!(text.contains(words), "`{words}`: {text}");
    }
    assert!(!text.contains("--images"), "{text}");
    assert!(is_whole(&desk, &registry, "1.0.0"));
    server.allow_deleting();
    let proxy = Proxy::start(server.port, |seen| {
        if seen.path.contains("_catalog") {
            return Action::Answer("404 Not Found", String::new());
        }
        Action::Forward
    });
    let through = format!("{}/apps", proxy.host());
    let text = prune(&desk, &through, &OLD).failure(1);
    for words in ["it does not provide its catalog", "/v2/_catalog"] {
        assert!(text.contains(words), "`{words}`: {text}");
    }
    assert_eq!(proxy.count("DELETE", "/"), 0);
    prune(&desk, &registry, &OLD).success();
    assert!(is_whole(&desk, &registry, "1.1.0"));
}

#[test]
fn what_was_interrupted_is_completed_by_running_it_again() {
    let server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    let deletions = AtomicUsize::new(0);
    let proxy = Proxy::start(server.port, move |seen| {
        let is_late = seen.method == "DELETE" && deletions.fetch_add(1, Ordering::Relaxed) >= 3;
        if is_late {
            return Action::Answer("403 Forbidden", String::new());
        }
        Action::Forward
    });
    let through = format!("{}/apps", proxy.host());
    let text = prune(&desk, &through, &OLD).failure(1);
    assert!(text.contains("right to delete"), "{text}");
    let listed = prune(&desk, &registry, &AS_JSON).json();
    assert_eq!(ids(&listed["versions"]), ["shop-1.0.0", "shop-1.1.0"]);
    let done = prune(&desk, &registry, &[&OLD[..], &AS_JSON].concat()).json();
    // The two in the mirror, and the five of its own.
    assert_eq!(
        done["freed"].as_array().map(Vec::len),
        Some(7 - 3),
        "{done:#}"
    );
    assert!(is_whole(&desk, &registry, "1.1.0"));
    prune(&desk, &registry, &["shop", "1.1.0", "--yes"]).success();
    server.collect_garbage();
    assert!(server.stored("blobs/sha256").is_empty());
}

#[test]
fn nothing_is_deleted_as_long_as_a_head_cannot_be_read() {
    let mut server = Server::start(&Protection::None);
    let (desk, registry) = desk(&server);
    let listed = prune(&desk, &registry, &AS_JSON).json();
    let id = listed["versions"][1]["archives"][0].as_str().unwrap();
    let tag = format!(
        "/archive-{}/current/link",
        id.strip_prefix("sha256:").unwrap()
    );
    let link = server.stored(&tag).into_iter().next().unwrap();
    let manifest = fs::read_to_string(link).unwrap();
    let manifest: Value =
        serde_json::from_slice(&fs::read(server.blob(&manifest).unwrap()).unwrap()).unwrap();
    let head = manifest["layers"][0]["digest"].as_str().unwrap();
    let head = server.blob(head).unwrap();
    let whole = fs::read(&head).unwrap();
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 1;
    fs::write(&head, damaged).unwrap();
    server.restart();
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let through = format!("{}/apps", proxy.host());
    let refused = prune(&desk, &through, &OLD);
    assert_eq!(refused.code, 1, "{refused:?}");
    for words in [
        "cannot determine the content of shop-1.1.0 in the registry",
        "registry verify ARCHIVE --repair",
    ] {
        assert!(refused.stderr.contains(words), "`{words}`: {refused:?}");
    }
    let answer = prune(&desk, &through, &[&OLD[..], &AS_JSON].concat()).json();
    assert_eq!(
        answer["obstacles"].as_array().map(Vec::len),
        Some(1),
        "{answer:#}"
    );
    assert_eq!(proxy.count("DELETE", "/"), 0);
    // The head of another version, which is complete, but belongs to the wrong version.
    fs::write(&head, whole).unwrap();
    server.restart();
    let hex = id.strip_prefix("sha256:").unwrap();
    let [from, to] =
        ["shop-1.1.0", "shop-1.2.0"].map(|id| format!("docker://{registry}/{id}:archive-{hex}"));
    let flags = [
        "copy",
        "--preserve-digests",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
    ];
    desk.run("skopeo", &[&flags[..], &[&from, &to]].concat())
        .success();
    let refused = prune(&desk, &through, &OLD);
    let words = "cannot determine the content of shop-1.2.0 in the registry: its head is that of shop-1.1.0";
    assert!(refused.stderr.contains(words), "{refused:?}");
    assert_eq!(
        (refused.code, proxy.count("DELETE", "/")),
        (1, 0),
        "{refused:?}"
    );
    for version in ["1.0.0", "1.1.0"] {
        assert!(is_whole(&desk, &registry, version));
    }
}
