//! `solution import` killed in the middle of a blob goes on where it was, proved by the bytes that the proxy counts.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use fixtures::image::{ImageBuilder, Platform};
use fixtures::layer::Layer;
use fixtures::proxy::{Action, Proxy, Seen};

use crate::common::{Answer, Desk};
use crate::server::{Protection, Server, eventually};
use crate::setup::{pack, write_layout, write_source};

/// As the program sends large blobs.
const PART: u64 = registry::limits::PART;
/// Three parts and a bit: more than what goes in one request.
const SIZE: u64 = registry::limits::PARTS_ABOVE + PART + 5;
/// Parts that are complete when the program is killed.
const COMPLETE: u64 = 2;

/// A desk with `large.iso`, whose image has one large layer.
fn desk() -> Desk {
    let desk = Desk::with_key();
    let image = ImageBuilder::new()
        .platform(Platform::linux("amd64"))
        .layer(Layer::random(1, SIZE))
        .build();
    write_layout(&desk, "source", &image.into());
    write_source(&desk, "source", &["source: 'oci:layout:1'"]);
    desk.solution(&pack("source", "large.iso")).success();
    desk
}

fn import<'a>(registry: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let always = ["import", "large.iso", "--no-cluster", "--key"];
    let to = ["publisher.pub", "--registry", registry];
    [&always[..], &to, more].concat()
}

/// The files of remembered uploads.
fn remembered(desk: &Desk) -> Vec<PathBuf> {
    let entries = fs::read_dir(desk.path("state/solution/uploads"));
    let entries = entries.into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn answer(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    command.env("XDG_STATE_HOME", desk.path("state"));
    Answer::of(command.args(arguments))
}

#[test]
fn an_import_that_is_killed_goes_on_where_it_was() {
    let (desk, mut server) = (desk(), Server::start(&Protection::None));
    let proxy = Proxy::start(server.port, |seen: &Seen| {
        let range = seen.headers.get("content-range");
        let part = format!("{}-", COMPLETE * PART);
        if range.is_some_and(|range| range.starts_with(&part)) {
            Action::Stall(PART / 2)
        } else {
            Action::Buffer
        }
    });
    let host = proxy.host();
    let mut command = desk.command();
    command.env("XDG_STATE_HOME", desk.path("state"));
    command.args(import(&host, &[])).stdout(Stdio::null());
    let mut killed = command.stderr(Stdio::null()).spawn().unwrap();
    eventually("half of the third part", || {
        proxy.taken() >= COMPLETE * PART + PART / 2
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(remembered(&desk).len(), 1);

    server.restart();
    proxy.change(|_| Action::Buffer);
    let before = proxy.taken();
    let answer = answer(&desk, &import(&host, &["--output", "json"]));
    assert_eq!(answer.code, 0, "{answer:?}");
    let sent = proxy.taken() - before;
    let left = SIZE - COMPLETE * PART;
    let buffer = registry::limits::BUFFER as u64;
    assert!((left..left + buffer).contains(&sent), "{sent}");
    let receipt = answer.json();
    let resumed = serde_json::json!({"blobs": 1, "bytes": COMPLETE * PART});
    assert_eq!(receipt["resumed"], resumed);
    let bytes = receipt["bytes"].as_u64().unwrap();
    // What is small may have come beside the layer the first time.
    let uploaded = receipt["uploaded"]["bytes"].as_u64().unwrap();
    assert!((left..=bytes - COMPLETE * PART).contains(&uploaded));
    assert_eq!(remembered(&desk), Vec::<PathBuf>::new());

    // Every byte is there: skopeo compares each digest.
    let image = receipt["imageMap"][0]["address"].as_str().unwrap();
    let image = format!("docker://{}", image.replace(&host, &server.host()));
    let flags = ["copy", "--quiet", "--src-tls-verify=false"];
    desk.run("skopeo", &[&flags[..], &[&image, "dir:pulled"]].concat())
        .success();
}

#[test]
fn what_is_wrong_with_what_is_remembered_is_said_to_who_asks() {
    let (desk, server) = (desk(), Server::start(&Protection::None));
    fs::create_dir_all(desk.path("state/solution")).unwrap();
    desk.write("state/solution/uploads", "a file");
    let answer = answer(&desk, &import(&server.host(), &["--verbose"]));
    assert_eq!(answer.code, 0, "{answer:?}");
    let said = "state/solution/uploads`: ";
    assert!(answer.stderr.contains(said), "{answer:?}");
    // Without the flag it is nobody's concern.
    let other = Server::start(&Protection::None);
    let answer = self::answer(&desk, &import(&other.host(), &[]));
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(!answer.stderr.contains("uploads"), "{answer:?}");
}

#[test]
fn an_import_that_gives_up_says_what_is_in_place_and_what_is_not() {
    let (desk, server) = (desk(), Server::start(&Protection::None));
    let proxy = Proxy::start(server.port, |seen: &Seen| {
        if seen.method == "PATCH" {
            Action::Answer("403 Forbidden", String::new())
        } else {
            Action::Forward
        }
    });
    let flags = ["--output", "json"];
    let answer = answer(&desk, &import(&proxy.host(), &flags));
    assert_eq!(answer.code, 1, "{answer:?}");
    let push = &answer.json()["push"];
    let uploaded = push["uploaded"]["bytes"].as_u64().unwrap();
    assert!(uploaded > 0 && uploaded < SIZE, "all but the layer: {push}");
    assert_eq!(push["images"].as_array().unwrap().len(), 1, "{push}");
    let [failed] = &push["failed"].as_array().unwrap()[..] else {
        panic!("{push}")
    };
    assert_eq!(failed["what"], Layer::random(1, SIZE).digest());
    assert!(
        failed["why"].as_str().unwrap().contains("no permission"),
        "{push}"
    );
}
