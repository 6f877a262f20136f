//! `solution import` that is killed in the middle of a blob resumes its upload, as the number of bytes at the proxy
//! shows.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fixtures::image::{ImageBuilder, Platform};
use fixtures::layer::Layer;
use fixtures::proxy::{Action, Proxy, Seen};
use serde_json::Value;

use crate::common::{Answer, Desk, results};
use crate::server::{Protection, Server, eventually};
use crate::setup::{pack, write_layout, write_source};

/// The size of a part of a large upload.
const PART: u64 = registry::limits::PART;
/// Three parts and some bytes: more than a single request.
const SIZE: u64 = registry::limits::PARTS_ABOVE + PART + 5;
/// The number of parts that are complete when the program is killed.
const COMPLETE: u64 = 2;

/// Returns a desk with `large.iso`, whose image has one large layer.
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
    let always = ["push", "large.iso", "--key"];
    let to = ["publisher.pub", "--registry", registry];
    [&always[..], &to, more].concat()
}

/// Returns the files of resumable uploads.
fn upload_files(desk: &Desk) -> Vec<PathBuf> {
    let entries = fs::read_dir(desk.path("state/solution/uploads"));
    let entries = entries.into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn answer(desk: &Desk, arguments: &[&str]) -> Answer {
    let mut command = desk.command();
    command.env("XDG_STATE_HOME", desk.path("state"));
    Answer::from_command(command.args(arguments))
}

/// Returns the events of a push in a file.
#[track_caller]
fn read_events(desk: &Desk, file: &str) -> Vec<Value> {
    results::push_events(&fs::read_to_string(desk.path(file)).unwrap())
}

#[test]
fn a_push_tells_programs_each_step_and_how_long_it_will_take() {
    let (desk, server) = (desk(), Server::start(&Protection::None));
    let proxy = Proxy::start(server.port, |seen: &Seen| {
        if seen.method == "PATCH" {
            Action::Think(Duration::from_millis(700))
        } else {
            Action::Forward
        }
    });
    let began = Instant::now();
    let flags = ["--output", "json", "--progress", "events"];
    let answer = answer(&desk, &import(&proxy.host(), &flags));
    assert_eq!(answer.code, 0, "{answer:?}");
    // The result on standard output is still a single document.
    let receipt = answer.json();
    let events = read_events(&desk, "events");
    let of = |kind: &'static str| events.iter().filter(move |event| event["event"] == kind);
    let [planned] = &of("planned").collect::<Vec<_>>()[..] else {
        panic!("{events:?}")
    };
    assert_eq!(planned["bytesTotal"], receipt["bytesToPush"]);
    assert_eq!(planned["solution"], "shop-1.0.0");
    assert_eq!(planned["bytesPerSecond"], Value::Null);
    let kinds = ["uploaded", "mounted", "present"];
    let blobs = kinds.map(|kind| receipt[kind]["blobs"].as_u64().unwrap());
    assert_eq!(of("blobInPlace").count() as u64, blobs.iter().sum::<u64>());
    assert!(of("manifestInPlace").count() > 1);
    assert!(of("sent").count() as u64 <= began.elapsed().as_secs() * 4 + 5);
    // The last part begins when the speed is known.
    let last = of("sent").next_back().unwrap();
    let speed = last["bytesPerSecond"].as_u64().unwrap();
    let left = last["bytesTotal"].as_u64().unwrap() - last["bytesDone"].as_u64().unwrap();
    assert_eq!(last["secondsLeft"], left.div_ceil(speed));
    let last = events.last().unwrap();
    assert_eq!(last["event"], "done");
    assert_eq!(last["complete"], true);
    assert_eq!(last["bytesDone"], last["bytesTotal"]);

    // The program does not write to an existing file. Another push prints its events on standard error.
    let size = desk.path("large.iso").metadata().unwrap().len();
    let refused = self::answer(&desk, &import(&proxy.host(), &["--progress", "large.iso"]));
    assert!(refused.failure(1).contains("is not empty"));
    assert_eq!(desk.path("large.iso").metadata().unwrap().len(), size);
    let again = self::answer(&desk, &import(&proxy.host(), &["--progress", "-"]));
    assert_eq!(again.code, 0, "{again:?}");
    let lines = again.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<&str> = lines.collect();
    let events = results::push_events(&lines.join("\n"));
    assert_eq!(events.last().unwrap()["complete"], true);
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
    command.args(import(&host, &["--progress", "killed"]));
    command.stdout(Stdio::null());
    let mut killed = command.stderr(Stdio::null()).spawn().unwrap();
    eventually("half of the third part", || {
        proxy.taken() >= COMPLETE * PART + PART / 2
    });
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(upload_files(&desk).len(), 1);

    server.restart();
    proxy.change(|_| Action::Buffer);
    let before = proxy.taken();
    let flags = ["--output", "json", "--progress", "events"];
    let answer = answer(&desk, &import(&host, &flags));
    assert_eq!(answer.code, 0, "{answer:?}");
    let sent = proxy.taken() - before;
    let left = SIZE - COMPLETE * PART;
    let buffer = registry::limits::BUFFER as u64;
    assert!((left..left + buffer).contains(&sent), "{sent}");
    let receipt = answer.json();
    let resumed = serde_json::json!({"blobs": 1, "bytes": COMPLETE * PART});
    assert_eq!(receipt["resumed"], resumed);
    let has = |file: &str, name: &str, field: &str, value: &Value| {
        let mut events = read_events(&desk, file).into_iter();
        events.any(|event| event["event"] == name && event[field] == *value)
    };
    assert!(has("events", "resumed", "from", &(COMPLETE * PART).into()));
    let arrival = "resumed".into();
    assert!(has("events", "blobInPlace", "arrival", &arrival));
    assert!(has("events", "done", "complete", &true.into()));
    assert!(
        !read_events(&desk, "killed")
            .iter()
            .any(|event| event["event"] == "done")
    );
    let bytes = receipt["bytes"].as_u64().unwrap();
    // Small blobs may have been uploaded in parallel with the layer the first time.
    let uploaded = receipt["uploaded"]["bytes"].as_u64().unwrap();
    assert!((left..=bytes - COMPLETE * PART).contains(&uploaded));
    assert_eq!(upload_files(&desk), Vec::<PathBuf>::new());

    // Every byte arrived: skopeo compares each digest.
    let image = receipt["imageMap"][0]["address"].as_str().unwrap();
    let image = format!("docker://{}", image.replace(&host, &server.host()));
    let flags = ["copy", "--quiet", "--src-tls-verify=false"];
    desk.run("skopeo", &[&flags[..], &[&image, "dir:pulled"]].concat())
        .success();
}

/// Starts an import whose second part has begun to arrive at a proxy.
fn start_import(desk: &Desk, proxy: &Proxy) -> Child {
    let mut command = desk.command();
    command.env("XDG_STATE_HOME", desk.path("state"));
    command.args(import(&proxy.host(), &[]));
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = child.spawn().unwrap();
    eventually("some of the second part", || {
        proxy.taken() > PART + PART / 4
    });
    child
}

/// Returns whether a request uploads the second part.
fn is_second_part(seen: &Seen) -> bool {
    let range = seen.headers.get("content-range");
    range.is_some_and(|range| range.starts_with(&format!("{PART}-")))
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    Answer::from_command(Command::new("kill").args(["-INT", &pid])).success();
}

#[test]
fn an_import_that_is_interrupted_finishes_its_part_and_goes_on_behind_it() {
    let (desk, server) = (desk(), Server::start(&Protection::None));
    let noticed = Arc::new(OnceLock::new());
    let proxy = Proxy::start(server.port, {
        let noticed = Arc::clone(&noticed);
        move |seen: &Seen| {
            if is_second_part(seen) {
                Action::Wait(Arc::clone(&noticed))
            } else {
                Action::Buffer
            }
        }
    });
    let mut child = start_import(&desk, &proxy);
    interrupt(&child);
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut stderr = String::new();
    while !stderr.contains("finishing the current operation") {
        let read = lines.read_line(&mut stderr).unwrap();
        assert_ne!(read, 0, "{stderr}");
    }
    noticed.set(()).unwrap();
    lines.read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{stderr}");
    for words in [
        "error: interrupted while pushing shop-1.0.0: ",
        "run the same command again to resume",
    ] {
        assert!(stderr.contains(words), "{stderr}");
    }
    // The program waited for the answer to the part, and began no other part.
    let [file] = &upload_files(&desk)[..] else {
        panic!("{:?}", upload_files(&desk))
    };
    let text = fs::read_to_string(file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["acknowledged"], 2 * PART);
    assert_eq!(proxy.count("PATCH", ""), 2);

    proxy.change(|_| Action::Buffer);
    let before = proxy.taken();
    let answer = answer(&desk, &import(&proxy.host(), &["--output", "json"]));
    assert_eq!(answer.code, 0, "{answer:?}");
    let (sent, left) = (proxy.taken() - before, SIZE - 2 * PART);
    let small = answer.json()["bytes"].as_u64().unwrap() - SIZE + registry::limits::BUFFER as u64;
    assert!((left..=left + small).contains(&sent), "{sent}");
    let resumed = serde_json::json!({"blobs": 1, "bytes": 2 * PART});
    assert_eq!(answer.json()["resumed"], resumed);
}

#[test]
fn a_line_that_is_dead_holds_nobody_who_asks_for_an_end() {
    let (desk, server) = (desk(), Server::start(&Protection::None));
    let stalled = |seen: &Seen| {
        if is_second_part(seen) {
            Action::Stall(PART / 2)
        } else {
            Action::Buffer
        }
    };
    let proxy = Proxy::start(server.port, stalled);
    let child = start_import(&desk, &proxy);
    let began = Instant::now();
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted while pushing"), "{stderr}");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(upload_files(&desk).len(), 1);

    let proxy = Proxy::start(server.port, stalled);
    let mut child = start_import(&desk, &proxy);
    interrupt(&child);
    let stderr = child.stderr.take().unwrap();
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("a second signal")));
    let began = Instant::now();
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < Duration::from_secs(4));
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
    // Without the flag it does not matter.
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
    let flags = ["--output", "json", "--progress", "events"];
    let answer = answer(&desk, &import(&proxy.host(), &flags));
    assert_eq!(answer.code, 1, "{answer:?}");
    let events = read_events(&desk, "events");
    let mut failed = events.iter().filter(|event| event["event"] == "failed");
    let failed = failed.next().unwrap();
    assert_eq!(failed["what"], Layer::random(1, SIZE).digest());
    assert!(failed["why"].to_string().contains("permission denied"));
    let last = events.last().unwrap();
    assert_eq!(last["event"], "done");
    assert_eq!(last["complete"], false);
    let push = &answer.json()["push"];
    let uploaded = push["uploaded"]["bytes"].as_u64().unwrap();
    assert!(uploaded > 0 && uploaded < SIZE, "all but the layer: {push}");
    assert_eq!(push["images"].as_array().unwrap().len(), 1, "{push}");
    let [failed] = &push["failed"].as_array().unwrap()[..] else {
        panic!("{push}")
    };
    assert_eq!(failed["what"], Layer::random(1, SIZE).digest());
    assert!(
        failed["why"]
            .as_str()
            .unwrap()
            .contains("permission denied"),
        "{push}"
    );
}
