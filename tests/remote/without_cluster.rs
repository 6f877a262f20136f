//! `solution registry push` and the image map with a real registry, and other programs that use the map.

use std::net::TcpListener;

use serde_json::{Value, json};

use fixtures::proxy::{Action, Proxy};

use crate::common::{Answer, Desk};
use crate::engine::Podman;
use crate::server::{Protection, Server};
use crate::setup::{REF, desk_with_two_images, image, index, pack, write_source};

/// Returns a desk with `images.iso`, which contains the index as `app-0:1` with a `ref`, and one of its images as
/// `app-1:1` without one.
fn desk() -> (Desk, Server) {
    (desk_with_two_images(REF), Server::start(&Protection::None))
}

/// Imports an archive without a cluster.
fn import(desk: &Desk, archive: &str, registry: &str, more: &[&str]) -> Answer {
    let always = ["push", archive, "--key", "publisher.pub"];
    let to = ["--registry", registry];
    desk.solution(&[&always[..], &to, more].concat())
}

/// Returns the raw document of an image, as skopeo reads it.
fn raw(desk: &Desk, address: &str) -> Answer {
    let address = format!("docker://{address}");
    desk.run(
        "skopeo",
        &["inspect", "--raw", "--tls-verify=false", &address],
    )
}

/// Pulls an image with skopeo, which compares each digest, and returns the digest of its manifest.
fn pull_digest(desk: &Desk, address: &str) -> String {
    let (from, to) = (format!("docker://{address}"), "dir:pulled");
    let flags = ["copy", "--all", "--quiet", "--src-tls-verify=false"];
    desk.run("skopeo", &[&flags[..], &[&from, to]].concat())
        .success();
    let manifest = desk.path("pulled/manifest.json");
    let hash = desk.run("sha256sum", &[manifest.to_str().unwrap()]);
    let hash = hash.success();
    format!("sha256:{}", &hash[..64])
}

#[test]
fn images_reach_the_registry_and_no_cluster_is_asked() {
    let (desk, server) = desk();
    let cluster = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = cluster.local_addr().unwrap();
    desk.write(
        "kubeconfig",
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{{name: c, cluster: {{server: 'http://{at}'}}}}]\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
        ),
    );
    let registry = format!("{}/apps", server.host());
    let flags = ["push", "images.iso", "--output", "json"];
    let mut command = desk.command();
    command.env("KUBECONFIG", "kubeconfig").args(flags);
    command.args(["--verbose", "--key", "publisher.pub"]);
    let answer = Answer::from_command(command.args(["--registry", &registry]));
    assert_eq!(answer.code, 0, "{answer:?}");
    let receipt = answer.json();
    assert_eq!(receipt["needsCluster"], serde_json::json!([]));
    assert_eq!(receipt["uploaded"]["bytes"], receipt["bytes"]);
    let requests = answer.stderr.lines().filter(|line| line.contains("http"));
    let host = format!("://{}/", server.host());
    let requests: Vec<&str> = requests.collect();
    assert!(requests.len() > 5, "{answer:?}");
    assert!(
        requests.iter().all(|request| request.contains(&host)),
        "{answer:?}"
    );
    cluster.set_nonblocking(true).unwrap();
    let nobody = cluster.accept().unwrap_err();
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);

    let map = receipt["imageMap"].as_array().unwrap();
    let digests = [
        index().descriptor().digest.clone(),
        image("amd64").descriptor().digest.clone(),
    ];
    for (image, digest) in map.iter().zip(&digests) {
        assert_eq!(image["digest"], digest.as_str());
        assert_eq!(
            pull_digest(&desk, image["address"].as_str().unwrap()),
            *digest
        );
    }
    let place = |image: &Value| format!("{} {}", image["repository"], image["tag"]);
    let places: Vec<String> = map.iter().map(place).collect();
    let expected = ["app-0", "app-1"].map(|name| format!("\"apps/shop-1.0.0/{name}\" \"1\""));
    assert_eq!(places, expected);

    // A second push only reads from the registry.
    let again = import(&desk, "images.iso", &registry, &[]).success();
    assert!(again.contains("0 bytes of"), "{again}");
    assert!(again.contains("0 blobs sent"), "{again}");
    assert!(!again.contains("was deployed"), "{again}");
}

#[test]
fn a_full_registry_is_told_once_with_the_images_that_are_missing() {
    let (desk, _) = desk();
    let full = Proxy::start(0, |seen| {
        let head = match seen.method.as_str() {
            "POST" => "202 Accepted\r\nLocation: /v2/x/blobs/uploads/1",
            "PUT" => "507 Insufficient Storage",
            "GET" if seen.path == "/v2/" => "200 OK",
            _ => "404 Not Found",
        };
        Action::Answer(head, String::new())
    });
    let refused = import(&desk, "images.iso", &full.host(), &[]).failure(3);
    let said = format!("cannot push 2 images to {}: app-0:1, app-1:1", full.host());
    assert!(refused.contains(&said), "{refused}");
    assert_eq!(refused.matches("storage is full").count(), 1, "{refused}");
    assert!(
        refused.contains("free or add space in the registry's storage"),
        "{refused}"
    );
    assert!(!refused.contains("so the cluster"), "{refused}");
}

#[test]
fn a_dry_run_pushes_nothing() {
    let (desk, server) = desk();
    let text = import(&desk, "images.iso", &server.host(), &["--dry-run"]).success();
    assert!(text.contains("nothing was changed"), "{text}");
    assert!(text.contains("quay.example/org/app:1.2"), "{text}");
    assert_eq!(server.stored("/blobs/sha256/").len(), 0);
    assert_eq!(server.stored("/_manifests/").len(), 0);
}

#[test]
fn a_registry_that_can_only_be_read_gets_nothing() {
    let (desk, server) = desk();
    let readable = format!("serve://{}/apps", server.host());
    let refused = import(&desk, "images.iso", &readable, &[]).failure(1);
    let said = format!("{} does not serve all of shop-1.0.0", server.host());
    assert!(refused.contains(&said), "{refused}");
    assert!(
        refused.contains("with `solution registry serve`"),
        "{refused}"
    );
    assert_eq!(server.stored("/_uploads/").len(), 0);
    assert_eq!(server.stored("/_manifests/").len(), 0);

    let registry = readable.strip_prefix("serve://").unwrap();
    import(&desk, "images.iso", registry, &[]).success();
    let before = server.stored("/").len();
    let found = import(&desk, "images.iso", &readable, &[]).success();
    assert!(found.contains("0 blobs sent"), "{found}");
    assert_eq!(server.stored("/").len(), before);
}

#[test]
fn a_tag_of_another_image_is_moved_only_when_that_is_said() {
    let (desk, server) = desk();
    crate::setup::push(&server, &desk.path("source/one/layout"), "shop-1.0.0/app-0");
    let refused = import(&desk, "images.iso", &server.host(), &["--output", "json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    let blocker = refused.json()["obstacles"][0].clone();
    let words = "shop-1.0.0/app-0:1 already exists with a different digest";
    assert!(blocker["message"].as_str().unwrap().contains(words));
    assert!(blocker["fix"].as_str().unwrap().contains("--replace"));
    let tag = format!("{}/shop-1.0.0/app-0:1", server.host());
    let data = &blocker["obstacle"];
    assert_eq!(
        (&data["id"], &data["tag"]),
        (&json!("other-tag"), &json!(tag))
    );
    let at = format!("{}/shop-1.0.0/app-0:1", server.host());
    let before = raw(&desk, &at).success();
    import(&desk, "images.iso", &server.host(), &["--replace"]).success();
    assert_ne!(raw(&desk, &at).success(), before);
}

#[test]
fn an_archive_that_is_not_trusted_brings_nothing() {
    let (desk, server) = desk();
    desk.solution(&["keygen", "other"]).success();
    let registry = server.host();
    let flags = ["push", "images.iso", "--registry", &registry];
    let text = desk
        .solution(&[&flags[..], &["--key", "other.pub"]].concat())
        .failure(1);
    assert!(text.contains("nothing was pushed"), "{text}");
    let text = desk.solution(&flags).failure(2);
    assert!(text.contains("no public key is given"), "{text}");
    assert_eq!(server.stored("/_manifests/").len(), 0);
}

#[test]
fn by_their_refs_images_lie_where_mirrors_have_them() {
    let (desk, server) = desk();
    let registry = format!("{}/site", server.host());
    let layout = ["--repository-layout", "ref"];
    let flags = [&layout[..], &["--output", "json"]].concat();
    let receipt = import(&desk, "images.iso", &registry, &flags);
    assert_eq!(receipt.code, 0, "{receipt:?}");
    let receipt = receipt.json();
    let map = receipt["imageMap"].as_array().unwrap();
    assert_eq!(map[0]["repository"], "site/org/app");
    assert_eq!(map[0]["tag"], "1.2");
    assert_eq!(map[1]["repository"], "site/shop-1.0.0/app-1");
    let mut repositories = server.stored("/_manifests/tags/");
    repositories.retain(|path| path.ends_with("current/link"));
    assert_eq!(repositories.len(), 2, "{repositories:?}");

    // A program that knows only the mirror finds the image by its original name.
    let flags = ["mirrors", "--archive", "images.iso", "--format", "crio"];
    let trust = ["--key", "publisher.pub", "--registry", &registry];
    let told = desk.solution(&[&flags[..], &trust, &layout].concat());
    desk.write("registries.conf", told.success());
    let mut pull = Podman::command(&desk);
    pull.env("CONTAINERS_REGISTRIES_CONF", desk.path("registries.conf"));
    Answer::from_command(pull.args(["pull", "--quiet", "quay.example/org/app:1.2"])).success();
    let mut inspect = Podman::command(&desk);
    inspect.args(["image", "inspect", "--format", "{{.RepoDigests}}"]);
    let known = Answer::from_command(inspect.arg("quay.example/org/app:1.2")).success();
    let digest = index().descriptor().digest.clone();
    assert!(known.contains(digest.as_str()), "{known}");
}

#[test]
fn mirrors_are_left_out_where_that_is_said_and_what_was_mirrored_is_still_deleted() {
    let (desk, server) = desk();
    let registry = server.host();
    let mirrored = || {
        raw(
            &desk,
            &format!("{registry}/mirror/quay.example/org/app:1.2"),
        )
        .code
            == 0
    };
    let run = |words: &[&str]| desk.solution(&[words, &["--registry", &registry]].concat());
    let is_whole = || {
        let of = [&["images.iso"][..], &["shop", "1.0.0"]];
        let trust = ["--key", "publisher.pub"];
        of.iter()
            .all(|what| run(&[&["registry", "verify"][..], what, &trust].concat()).code == 0)
    };
    import(&desk, "images.iso", &registry, &["--no-mirrors"]).success();
    assert!(!mirrored() && is_whole());
    let export = [
        "export",
        "shop",
        "1.0.0",
        "--key",
        "publisher.pub",
        "-o",
        "again.iso",
    ];
    run(&export).success();
    assert_eq!(desk.read("again.iso"), desk.read("images.iso"));
    let json = ["--no-mirrors", "--output", "json"];
    let again = import(&desk, "images.iso", &registry, &json).json();
    let sent = (&again["mirrors"], &again["bytesToPush"]);
    assert_eq!(sent, (&json!("skip"), &json!(0)), "{again:#}");

    // Mirrors that were created later are known until they are deleted.
    import(&desk, "images.iso", &registry, &[]).success();
    assert!(mirrored() && is_whole());
    import(&desk, "images.iso", &registry, &["--no-mirrors"]).success();
    assert!(mirrored() && is_whole());
    let prune = [
        "registry",
        "prune",
        "shop",
        "1.0.0",
        "--no-cluster",
        "--yes",
    ];
    run(&prune).success();
    assert!(!mirrored() && !is_whole());
}

/// Asserts that without the record, the layout is detected from the existing images.
fn assert_works_without_head(server: &Server, registry: &str, run: &dyn Fn(&[&str]) -> Answer) {
    let head = server.stored("/site/shop-1.0.0/_manifests/tags/");
    let head = head
        .iter()
        .find(|path| path.ends_with("current/link"))
        .unwrap();
    let digest = std::fs::read_to_string(head).unwrap();
    let (repository, digest) = ("site/shop-1.0.0".parse(), digest.trim().parse());
    server.delete_manifest(&repository.unwrap(), &digest.unwrap());
    let verify = ["registry", "verify", "images.iso", "--key", "publisher.pub"];
    let lost = run(&[&verify[..], &["--output", "json"]].concat());
    assert_eq!(lost.code, 1, "{lost:?}");
    let lost = lost.json();
    let faults = lost["faults"].as_array().unwrap().iter();
    let repositories = faults.map(|fault| fault["repository"].as_str().unwrap());
    assert_eq!(
        repositories.collect::<Vec<_>>(),
        [format!("{registry}/shop-1.0.0")],
        "{lost:#}"
    );
    run(&[&verify[..], &["--repair"]].concat()).success();
}

/// Asserts that a program that knows the mirror finds the image by its original name.
fn assert_found_by_mirror(desk: &Desk, run: &dyn Fn(&[&str]) -> Answer) {
    let mirrors = [
        "mirrors",
        "--archive",
        "images.iso",
        "--key",
        "publisher.pub",
    ];
    let told = |format| {
        run(&[
            &mirrors[..],
            &["--repository-layout", "flat", "--format", format],
        ]
        .concat())
    };
    let refused = told("containerd").failure(1);
    assert!(refused.contains("quay.example/org/app"), "{refused}");
    desk.write("registries.conf", told("crio").success());
    let mut pull = Podman::command(desk);
    pull.env("CONTAINERS_REGISTRIES_CONF", desk.path("registries.conf"));
    Answer::from_command(pull.args(["pull", "--quiet", "quay.example/org/app:1.2"])).success();
}

#[test]
fn in_a_flat_layout_images_lie_directly_below_the_prefix_and_every_verb_finds_them() {
    let (desk, server) = desk();
    let registry = format!("{}/site", server.host());
    let flat = ["--repository-layout", "flat"];
    let run = |words: &[&str]| desk.solution(&[words, &["--registry", &registry]].concat());
    let json = [&flat[..], &["--output", "json"]].concat();
    let receipt = import(&desk, "images.iso", &registry, &json);
    assert_eq!(receipt.code, 0, "{receipt:?}");
    let receipt = receipt.json();
    for path in server.stored("/_manifests/") {
        let path = path.to_str().unwrap();
        let repository = path.split("/_manifests/").next().unwrap();
        let below = repository.split_once("/site/").unwrap().1;
        assert!(!below.contains('/'), "{path}");
    }
    let map = receipt["imageMap"].as_array().unwrap();
    for image in map {
        let [address, repository, digest] =
            ["address", "repository", "digest"].map(|field| image[field].as_str().unwrap());
        assert!(repository.starts_with("site/shop-1.0.0_app-"), "{image:#}");
        assert_eq!(pull_digest(&desk, address), digest);
    }

    // The registry records the layout, so later commands need no flag.
    let trust = ["--key", "publisher.pub"];
    for what in [&["images.iso"][..], &["shop", "1.0.0"]] {
        let verify = [&["registry", "verify"][..], what, &trust].concat();
        run(&verify).success();
    }
    assert_works_without_head(&server, &registry, &run);
    let export = [
        "export",
        "shop",
        "1.0.0",
        "--key",
        "publisher.pub",
        "-o",
        "again.iso",
    ];
    run(&export).success();
    assert_eq!(desk.read("again.iso"), desk.read("images.iso"));
    let other = import(&desk, "images.iso", &registry, &[]).failure(1);
    let said = "has the images of shop-1.0.0 in the layout `flat`, not `solution`";
    assert!(other.contains(said), "{other}");
    assert!(other.contains("`--repository-layout flat`"), "{other}");

    assert_found_by_mirror(&desk, &run);
    let prune = [
        "registry",
        "prune",
        "shop",
        "1.0.0",
        "--no-cluster",
        "--yes",
    ];
    run(&prune).success();
    for image in map {
        assert_ne!(raw(&desk, image["address"].as_str().unwrap()).code, 0);
    }
    // Deleted content can be pushed in another layout.
    import(&desk, "images.iso", &registry, &[]).success();
}

#[test]
fn an_operator_is_not_pushed_in_a_layout_in_which_it_finds_no_image() {
    let desk = Desk::with_archive();
    let server = Server::start(&Protection::None);
    let flat = ["--repository-layout", "flat"];
    let refused = import(&desk, "example.iso", &server.host(), &flat).failure(1);
    assert!(refused.contains("finds images by their paths"), "{refused}");
    assert_eq!(server.stored("/_manifests/").len(), 0);
}

#[test]
fn what_waits_for_a_cluster_is_said_beside_what_other_tools_read() {
    let desk = Desk::with_archive();
    let server = Server::start(&Protection::None);
    let registry = server.host();
    let first = import(&desk, "example.iso", &registry, &[]).success();
    let words = "nothing was deployed; these parts need a cluster: CRDs, operator";
    assert!(first.contains(words), "{first}");
    let list = ["--image-map", "kustomize"];
    let again = import(&desk, "example.iso", &registry, &list);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.stdout.starts_with("images:\n- digest:"), "{again:?}");
    let beside = [
        words,
        "0 blobs sent",
        "--environment ENV",
        "without pushing again",
    ];
    for said in beside {
        assert!(again.stderr.contains(said), "{again:?}");
        assert!(!again.stdout.contains(said), "{again:?}");
    }
    let inspect = ["inspect", "example.iso", "--registry", &registry];
    let before = desk.solution(&[&inspect[..], &list].concat());
    assert_eq!(before.success(), again.stdout);
}

#[test]
fn two_refs_of_one_path_are_refused_before_a_byte_is_pushed() {
    let (desk, server) = desk();
    let refs = ["quay.example/org/app:1", "ghcr.example/org/app:2"];
    let images = refs.map(|asked| format!("source: 'oci:layout:1', ref: '{asked}'"));
    write_source(&desk, "source", &images.each_ref().map(String::as_str));
    desk.solution(&pack("source", "both.iso")).success();
    let registry = server.host();
    let text = import(
        &desk,
        "both.iso",
        &registry,
        &["--repository-layout", "ref"],
    )
    .failure(1);
    for words in [refs[0], refs[1], "--repository-layout solution"] {
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(server.stored("/_manifests/").len(), 0);
    import(&desk, "both.iso", &registry, &[]).success();
}
