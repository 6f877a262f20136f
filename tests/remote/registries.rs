//! The source `docker://`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::common::{Answer, Desk};
use crate::server::{PASSWORD, Protection, Server, USER, eventually};
use crate::setup::{image, index, large, pack, push, validate, write_layout, write_source};
use fixtures::proxy::{Action, Proxy, find};

/// Returns a desk with a key and the layout `source/layout` of this image, and a registry without protection that has
/// it as `team/app:1`.
fn desk(artifact: &fixtures::image::Artifact) -> (Desk, Server) {
    let desk = Desk::with_key();
    write_layout(&desk, "source", artifact);
    let server = Server::start(&Protection::None);
    push(&server, &desk.path("source/layout"), "team/app");
    (desk, server)
}

/// Returns the requested blobs, with their ranges.
fn blobs(proxy: &Proxy) -> Vec<(String, String)> {
    let seen = proxy.seen();
    let blobs = seen.iter().filter(|seen| seen.is("GET", "/blobs/"));
    blobs
        .map(|seen| {
            let (_, digest) = seen.path.rsplit_once('/').unwrap();
            let range = seen.headers.get("range").cloned().unwrap_or_default();
            (digest.to_owned(), range)
        })
        .collect()
}

#[test]
fn an_image_is_the_same_from_a_registry_and_from_a_layout() {
    let index = index();
    let (desk, server) = desk(&index);
    let reference = format!("ref: {}/team/app:1", server.host());
    let image = |source: &str| format!("source: '{source}', {reference}");
    write_source(&desk, "source", &[&image("oci:layout:1")]);
    desk.solution(&pack("source", "layout.iso")).success();
    for (name, at) in [
        ("tag", format!("docker://{}/team/app:1", server.host())),
        (
            "digest",
            format!(
                "docker://{}/team/app@{}",
                server.host(),
                index.descriptor().digest
            ),
        ),
    ] {
        write_source(&desk, name, &[&image(&at)]);
        let archive = format!("{name}.iso");
        let mut arguments = pack(name, &archive);
        arguments.extend(["--output", "json"]);
        let answer = desk.solution(&arguments);
        assert_eq!(answer.code, 0, "{answer:?}");
        let pinned = &answer.json()["pinned"][0];
        assert_eq!(pinned["image"], "app-0:1");
        assert_eq!(pinned["source"], at.as_str());
        assert_eq!(pinned["digest"], index.descriptor().digest.as_str());
        validate(&desk, &archive);
        assert!(
            desk.read("layout.iso") == desk.read(&archive),
            "{name}: the bytes differ"
        );
    }
    // The source is also the `ref` for workloads, unless another one is set.
    write_source(
        &desk,
        "plain",
        &[&format!("source: 'docker://{}/team/app:1'", server.host())],
    );
    let text = desk.solution(&pack("plain", "plain.iso")).success();
    assert!(desk.read("layout.iso") == desk.read("plain.iso"));
    let line = format!("{}/team/app:1@{}", server.host(), index.descriptor().digest);
    assert!(text.contains(&line), "{text}");
}

#[test]
fn one_platform_of_an_image_downloads_that_one_only() {
    let (desk, server) = desk(&index());
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let source = format!(
        "source: 'docker://{}/team/app:1', platforms: [linux/arm64]",
        proxy.host()
    );
    write_source(&desk, "one", &[&source]);
    desk.solution(&pack("one", "one.iso")).success();
    validate(&desk, "one.iso");
    let manifest: Value = serde_json::from_slice(image("arm64").manifest()).unwrap();
    let layers = manifest["layers"].as_array().unwrap().iter();
    let wanted = layers.chain([&manifest["config"]]);
    let wanted: BTreeSet<_> = wanted
        .map(|blob| blob["digest"].as_str().unwrap().to_owned())
        .collect();
    let asked: BTreeSet<_> = blobs(&proxy)
        .into_iter()
        .map(|(digest, _)| digest)
        .collect();
    assert_eq!(asked, wanted);
}

/// Writes a source tree of the image behind a proxy. The first request gets this many bytes of the large layer and then
/// nothing more.
fn write_stalled_source(desk: &Desk, server: &Server, came: usize) -> Proxy {
    let calls = AtomicU32::new(0);
    let proxy = Proxy::start(server.port, move |seen| {
        let first = seen.is("GET", &large()) && calls.fetch_add(1, Ordering::SeqCst) == 0;
        if first {
            Action::Hold(came)
        } else {
            Action::Forward
        }
    });
    let source = format!("source: 'docker://{}/team/app:1'", proxy.host());
    write_source(desk, "pull", &[&source]);
    proxy
}

#[test]
fn a_killed_download_goes_on_in_the_next_run_and_what_is_here_is_not_asked_for() {
    const CAME: usize = 3 * 1024 * 1024 + 5;
    let (desk, server) = desk(&index());
    let proxy = write_stalled_source(&desk, &server, CAME);
    let mut child = desk
        .command()
        .args(pack("pull", "out.iso"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let hex = large().replacen("sha256:", "", 1);
    let partial = desk.path(&format!(".cache/solution/partial/{hex}.0"));
    let whole = desk.path(".cache/solution/contents");
    eventually("the beginning of the layer, and all else", || {
        fs::metadata(&partial).is_ok_and(|file| file.len() == CAME as u64)
            && fs::read_dir(&whole).is_ok_and(|entries| entries.count() == 4)
    });
    // SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!desk.path("out.iso").exists());
    let before = blobs(&proxy).len();
    desk.solution(&pack("pull", "out.iso")).success();
    validate(&desk, "out.iso");
    let rest: Vec<_> = blobs(&proxy).split_off(before);
    let of_large: Vec<_> = rest
        .iter()
        .filter(|(digest, _)| *digest == large())
        .collect();
    assert_eq!(of_large, [&(large(), format!("bytes={CAME}-"))]);
    let asked: BTreeSet<_> = blobs(&proxy)
        .into_iter()
        .map(|(digest, _)| digest)
        .collect();
    assert_eq!(
        asked.len() + 1,
        blobs(&proxy).len(),
        "each blob once, the large one twice"
    );

    // The third run uses the cache alone; the fourth run uses no cache.
    let before = blobs(&proxy).len();
    desk.solution(&pack("pull", "again.iso")).success();
    assert_eq!(blobs(&proxy).len(), before);
    let mut without = pack("pull", "without.iso");
    without.push("--no-cache");
    desk.solution(&without).success();
    assert_eq!(blobs(&proxy).len(), before + asked.len());
    assert!(desk.read("out.iso") == desk.read("again.iso"));
    assert!(desk.read("out.iso") == desk.read("without.iso"));
}

#[test]
fn other_bytes_than_the_digest_says_never_come_into_an_archive() {
    fn flip(mut answer: Vec<u8>) -> Vec<u8> {
        let last = answer.len() - 1;
        if last > find(&answer, b"\r\n\r\n") + 4 {
            answer[last] ^= 1;
        }
        answer
    }
    let (desk, server) = desk(&index());
    for (times, code) in [(1, 0), (u32::MAX, 1)] {
        let calls = AtomicU32::new(0);
        let proxy = Proxy::start(server.port, move |seen| {
            if seen.is("GET", &large()) && calls.fetch_add(1, Ordering::SeqCst) < times {
                Action::Rewrite(flip)
            } else {
                Action::Forward
            }
        });
        write_source(
            &desk,
            "pull",
            &[&format!("source: 'docker://{}/team/app:1'", proxy.host())],
        );
        let mut arguments = pack("pull", "out.iso");
        arguments.extend(["--no-cache", "--force"]);
        let answer = desk.solution(&arguments);
        assert_eq!(answer.code, code, "{answer:?}");
        let of_large = blobs(&proxy)
            .into_iter()
            .filter(|(digest, _)| *digest == large());
        assert_eq!(of_large.count(), 2);
        if code == 0 {
            validate(&desk, "out.iso");
            fs::remove_file(desk.path("out.iso")).unwrap();
            continue;
        }
        let text = answer.failure(1);
        assert!(
            text.contains("image `app-0:1`") && text.contains(&large()),
            "{text}"
        );
        assert!(!desk.path("out.iso").exists());
    }
    let left: Vec<String> = desk
        .names()
        .into_iter()
        .filter(|name| name.contains(".solution-"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn what_a_registry_says_of_its_documents_is_compared() {
    let (desk, server) = desk(&index());
    for (part, what) in [
        ("/manifests/1", "content"),
        ("/manifests/sha256:", "content"),
        ("/manifests/1", "header"),
    ] {
        let proxy = Proxy::start(server.port, move |seen| {
            if !seen.is("GET", part) {
                return Action::Forward;
            }
            if what == "header" {
                return Action::Replace(
                    "docker-content-digest",
                    "sha256:0000000000000000000000000000000000000000000000000000000000000000",
                );
            }
            Action::Rewrite(|mut answer| {
                let last = answer.len() - 1;
                answer[last] = b' ';
                answer
            })
        });
        write_source(
            &desk,
            "pull",
            &[&format!("source: 'docker://{}/team/app:1'", proxy.host())],
        );
        let text = desk.solution(&pack("pull", "out.iso")).failure(1);
        assert!(text.contains("instead of sha256:"), "{part} {what}: {text}");
        assert!(!desk.path("out.iso").exists());
    }
}

/// Returns a desk for an `auth.json`, and a registry with TLS and a login that has `team/app:1`. The tree `pull` packs
/// it.
pub(crate) fn protected_desk() -> (Desk, Server) {
    let (desk, server) = packing_desk(&Protection::TlsAndLogin);
    push(&server, &desk.path("source/layout"), "team/app");
    (desk, server)
}

/// Returns the same for another protection, without the image.
pub(crate) fn packing_desk(protection: &Protection) -> (Desk, Server) {
    let desk = Desk::with_key();
    write_layout(&desk, "source", &image("amd64").into());
    let server = Server::start(protection);
    desk.write("ca.pem", server.ca());
    let source = format!("source: 'docker://{}/team/app:1'", server.host());
    write_source(&desk, "pull", &[&source]);
    (desk, server)
}

/// Packs `pull` with a variable and with the programs in `bin`.
fn run_with(desk: &Desk, (variable, value): (&str, &str), archive: &str) -> Answer {
    let mut command = desk.command();
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    command.env("PATH", path).env(variable, value);
    command
        .args(pack("pull", archive))
        .args(["--ca-file", "ca.pem", "--no-cache"]);
    Answer::from_command(&mut command)
}

fn login(user: &str) -> String {
    STANDARD.encode(format!("{user}:{PASSWORD}"))
}

const AUTH_FILE: (&str, &str) = ("REGISTRY_AUTH_FILE", "auth.json");

#[test]
fn logins_and_authorities_are_those_of_docker_and_podman() {
    let (desk, server) = protected_desk();
    let text = desk.solution(&pack("pull", "out.iso")).failure(1);
    assert!(
        text.contains("certificate is not trusted") && text.contains("--ca-file"),
        "{text}"
    );
    let with_ca = [&pack("pull", "out.iso")[..], &["--ca-file", "ca.pem"]].concat();
    let text = desk.solution(&with_ca).failure(1);
    assert!(
        text.contains("requires a login") && text.contains("podman login"),
        "{text}"
    );

    let host = server.host();
    // The longest key counts: the login for the whole registry is wrong.
    let (wrong, right) = (login("nobody"), login(USER));
    desk.write(
        "auth.json",
        format!(
            r#"{{"auths":{{"{host}":{{"auth":"{wrong}"}},"{host}/team/app":{{"auth":"{right}"}}}}}}"#
        ),
    );
    run_with(&desk, AUTH_FILE, "out.iso").success();
    validate(&desk, "out.iso");

    let wrong = format!(r#"{{"auths":{{"{host}":{{"auth":"{wrong}"}}}}}}"#);
    desk.write("auth.json", wrong);
    let text = run_with(&desk, AUTH_FILE, "refused.iso").failure(1);
    assert!(text.contains("credentials were rejected"), "{text}");
    desk.write("auth.json", "{");
    let text = run_with(&desk, AUTH_FILE, "refused.iso").failure(1);
    assert!(text.contains("`auth.json`"), "{text}");
    assert!(!text.contains(PASSWORD), "{text}");
}

#[test]
fn a_credential_helper_is_asked_once_for_all_images_of_its_registry() {
    let (desk, server) = protected_desk();
    let host = server.host();
    desk.write(
        "docker/config.json",
        format!(r#"{{"credHelpers":{{"{host}":"desk"}}}}"#),
    );
    let helper = format!(
        "#!/bin/sh\necho asked >> asked\nread -r key\ntest \"$1 $key\" = 'get {host}' || exit 1\necho '{{\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'\n"
    );
    desk.write_script("bin/docker-credential-desk", &helper);
    let image =
        |number: u8| format!("source: 'docker://{host}/team/app:1', ref: 'r.example/app:{number}'");
    write_source(&desk, "pull", &[&image(1), &image(2)]);
    run_with(&desk, ("DOCKER_CONFIG", "docker"), "out.iso").success();
    validate(&desk, "out.iso");
    assert_eq!(desk.read("asked"), b"asked\n");
}

#[test]
fn what_cannot_be_had_says_which_image_and_what_to_do() {
    let (desk, server) = desk(&image("amd64").into());
    let closed = crate::server::FreePort::new();
    let closed = closed.number;
    let cases = [
        (
            format!("{}/team/app:2", server.host()),
            1,
            "does not have it",
            "check the image's `source` (name and tag)",
        ),
        (
            format!("{}/team/other:1", server.host()),
            1,
            "does not have it",
            "check the image's `source` (name and tag)",
        ),
        (
            format!("127.0.0.1:{closed}/team/app:1"),
            3,
            "no connection",
            "check the host name",
        ),
        (
            "registry.invalid/team/app:1".to_owned(),
            3,
            "no connection",
            "check the host name",
        ),
    ];
    for (at, code, words, hint) in cases {
        write_source(&desk, "pull", &[&format!("source: 'docker://{at}'")]);
        let text = desk.solution(&pack("pull", "out.iso")).failure(code);
        assert!(
            !text.contains("trying again"),
            "nobody waits for what never was: {text}"
        );
        for part in [
            format!("image `app-0:1` from `docker://{at}`").as_str(),
            words,
            hint,
        ] {
            assert!(text.contains(part), "`{part}` is not in {text}");
        }
    }
    assert!(!desk.path("out.iso").exists());
}

#[test]
fn ending_a_download_keeps_what_came_and_leaves_no_draft() {
    const CAME: usize = 1024 * 1024;
    let (desk, server) = desk(&image("amd64").into());
    let proxy = write_stalled_source(&desk, &server, CAME);
    let before = desk.names();
    let child = desk
        .command()
        .args(pack("pull", "out.iso"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let hex = large().replacen("sha256:", "", 1);
    let partial = desk.path(&format!(".cache/solution/partial/{hex}.0"));
    eventually("the beginning of the layer", || {
        fs::metadata(&partial).is_ok_and(|file| file.len() == CAME as u64)
    });
    Answer::from_command(
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]),
    )
    .success();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    let mut after = desk.names();
    after.retain(|name| name != ".cache");
    assert_eq!(after, before);
    let asked = blobs(&proxy)
        .into_iter()
        .filter(|(digest, _)| *digest == large());
    assert_eq!(
        asked.count(),
        1,
        "it did not go on until something else ended it"
    );
    desk.solution(&pack("pull", "out.iso")).success();
    let of_large = blobs(&proxy)
        .into_iter()
        .filter(|(digest, _)| *digest == large());
    let of_large: Vec<_> = of_large.map(|(_, range)| range).collect();
    assert_eq!(of_large, [String::new(), format!("bytes={CAME}-")]);
}

#[test]
fn a_layer_of_several_images_is_downloaded_once() {
    let (desk, server) = desk(&image("amd64").into());
    write_layout(&desk, "other", &image("arm64").into());
    push(&server, &desk.path("other/layout"), "team/other");
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let images =
        ["app", "other"].map(|name| format!("source: 'docker://{}/team/{name}:1'", proxy.host()));
    write_source(&desk, "pull", &[&images[0], &images[1]]);
    desk.solution(&pack("pull", "out.iso")).success();
    validate(&desk, "out.iso");
    let asked = blobs(&proxy);
    assert_eq!(
        asked
            .iter()
            .filter(|(digest, _)| *digest == large())
            .count(),
        1
    );
    assert_eq!(
        asked.len(),
        5,
        "a layer of both, and a layer and a configuration of each"
    );
}

#[test]
fn a_damaged_copy_in_the_cache_is_downloaded_anew() {
    let (desk, server) = desk(&image("amd64").into());
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    write_source(
        &desk,
        "pull",
        &[&format!("source: 'docker://{}/team/app:1'", proxy.host())],
    );
    desk.solution(&pack("pull", "out.iso")).success();
    let hex = large().replacen("sha256:", "", 1);
    let kept = desk.path(&format!(".cache/solution/contents/{hex}"));
    let mut bytes = fs::read(&kept).unwrap();
    bytes[12345] ^= 1;
    fs::write(&kept, bytes).unwrap();
    desk.solution(&pack("pull", "again.iso")).success();
    assert!(desk.read("out.iso") == desk.read("again.iso"));
    assert_eq!(
        blobs(&proxy)
            .iter()
            .filter(|(digest, _)| *digest == large())
            .count(),
        2
    );
}

#[test]
fn a_single_image_is_asked_for_its_platform_before_its_layers() {
    let (desk, server) = desk(&image("amd64").into());
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    let source = |platform: &str| {
        let at = format!("{}/team/app:1", proxy.host());
        format!("source: 'docker://{at}', platforms: [{platform}]")
    };
    write_source(&desk, "other", &[&source("linux/s390x")]);
    let text = desk.solution(&pack("other", "out.iso")).failure(1);
    assert!(
        text.contains("has no platform `linux/s390x`; it has: `linux/amd64`"),
        "{text}"
    );
    assert_eq!(blobs(&proxy).len(), 1, "the configuration only");
    write_source(&desk, "right", &[&source("linux/amd64")]);
    desk.solution(&pack("right", "out.iso")).success();
    validate(&desk, "out.iso");
    assert_eq!(blobs(&proxy).len(), 3, "and now the layers");
}

#[test]
fn a_check_downloads_configurations_and_no_layers() {
    let (desk, server) = desk(&index());
    let proxy = Proxy::start(server.port, |_| Action::Forward);
    write_source(
        &desk,
        "pull",
        &[&format!("source: 'docker://{}/team/app:1'", proxy.host())],
    );
    let check = ["pack", "pull", "--check", "--output", "json"];
    let answer = desk.solution(&check);
    assert_eq!(answer.code, 0, "{answer:?}");
    let checked = answer.json();
    let digest = index().descriptor().digest.clone();
    assert_eq!(checked["images"][0]["digest"], digest.as_str());
    assert_eq!(
        checked["images"][0]["platforms"],
        serde_json::json!(["linux/amd64", "linux/arm64"])
    );
    assert_eq!(blobs(&proxy).len(), 2, "one configuration of each platform");
    // The packed archive equals the report.
    desk.solution(&pack("pull", "out.iso")).success();
    assert_eq!(checked["size"], desk.read("out.iso").len());
    assert_eq!(blobs(&proxy).len(), 5);
}
