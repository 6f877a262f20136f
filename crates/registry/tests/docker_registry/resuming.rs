//! Uploads that outlive the process that began them, verified by the bytes that the proxy counts. For the registry,
//! dropping the future of a push equals killing the process; `tests/remote/resuming.rs` kills the program.

use std::fs::{self, Permissions};
use std::num::NonZeroU64;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use fixtures::proxy::{Action, Proxy, Seen};
use registry::{Client, ClientOptions, Event, PartSizes, PushReport, UploadJournal, limits, push};
use tempfile::TempDir;

use crate::images::{Job, MIB, digest_of, noise, repository};
use crate::server::{Protection, Server, eventually, options};

const PART: u64 = 4 * MIB as u64;
/// Five parts and a remainder.
const SIZE: usize = 21 * MIB + 7;

/// A registry and the journal of uploads to it.
struct Scene {
    server: Server,
    state: TempDir,
    layer: Bytes,
}

/// The result of a push.
struct Pushed {
    report: PushReport,
    /// The number of bytes that the registry received.
    taken: u64,
    ignored: Vec<String>,
    resumed: Vec<u64>,
}

impl Scene {
    fn new() -> Self {
        Self {
            server: Server::start(&Protection::None),
            state: TempDir::new().unwrap(),
            layer: noise(1, SIZE),
        }
    }

    fn uploads(&self) -> PathBuf {
        self.state.path().join("solution/uploads")
    }

    /// Returns the journal files.
    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.uploads()).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn client(&self, proxy: &Proxy) -> Client {
        self.client_at(proxy, now())
    }

    fn client_at(&self, proxy: &Proxy, now: SystemTime) -> Client {
        let user = rustix::process::geteuid().as_raw();
        let options = ClientOptions {
            parts: PartSizes {
                above: PART,
                bytes: NonZeroU64::new(PART).unwrap(),
            },
            journal: Some(Arc::new(UploadJournal::new(self.uploads(), user, now))),
            ..options()
        };
        Client::new(&proxy.host().parse().unwrap(), options).unwrap()
    }

    fn job(&self) -> Job {
        let mut job = Job::default();
        job.image(
            &repository("app"),
            Some("1"),
            std::slice::from_ref(&self.layer),
        );
        job
    }

    /// Pushes until this number of parts is complete and the next one is half sent.
    async fn cut_off(&self, parts: u64) -> Proxy {
        let proxy = Proxy::start(self.server.port, |_| Action::Buffer);
        self.cut_off_by(&proxy, parts).await;
        proxy
    }

    async fn cut_off_by(&self, proxy: &Proxy, parts: u64) {
        proxy.change(move |seen| {
            if start_of(seen) == Some(parts * PART) {
                Action::Stall(PART / 2)
            } else {
                Action::Buffer
            }
        });
        let (job, client) = (self.job(), self.client(proxy));
        let before = proxy.taken();
        let pushing = tokio::spawn(async move { push(&client, job.job, &|_| ()).await });
        eventually("half of the next part", || {
            proxy.taken() - before >= parts * PART + PART / 2
        });
        pushing.abort();
        assert!(pushing.await.unwrap_err().is_cancelled());
    }

    /// Pushes through a proxy that now follows another rule. The name of the registry is the same.
    async fn push_by(
        &self,
        client: &Client,
        proxy: &Proxy,
        rule: impl Fn(&Seen) -> Action + Send + Sync + 'static,
    ) -> Pushed {
        proxy.change(rule);
        let taken = proxy.taken();
        let (ignored, resumed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let tell = |event| match event {
            Event::JournalIgnored { reason } => ignored.lock().unwrap().push(reason),
            Event::BlobResumed { from, .. } => resumed.lock().unwrap().push(from),
            _ => {}
        };
        let report = push(client, self.job().job, &tell).await;
        Pushed {
            report,
            taken: proxy.taken() - taken,
            ignored: ignored.into_inner().unwrap(),
            resumed: resumed.into_inner().unwrap(),
        }
    }

    async fn push_again(&self, proxy: &Proxy) -> Pushed {
        let client = self.client(proxy);
        self.push_by(&client, proxy, |_| Action::Buffer).await
    }

    fn assert_complete(&self, pushed: &Pushed) {
        assert!(pushed.report.is_complete(), "{:?}", pushed.report);
        let file = self.server.blob(&digest_of(&self.layer).hex());
        assert!(fs::read(file.unwrap()).unwrap() == self.layer);
    }

    /// Asserts that the upload was resumed from this offset and no byte before it was sent again.
    fn assert_resumed(&self, pushed: &Pushed, from: u64) {
        self.assert_complete(pushed);
        assert_eq!(pushed.resumed, [from]);
        let resumed = pushed.report.resumed;
        assert_eq!((resumed.count, resumed.bytes), (1, from));
        let least = SIZE as u64 - from;
        let most = least + limits::BUFFER as u64;
        assert!((least..most).contains(&pushed.taken), "{}", pushed.taken);
        let nothing = Vec::<PathBuf>::new();
        assert_eq!(self.files(), nothing, "nothing is left to resume");
    }

    /// Asserts that the blob was sent from its beginning.
    fn assert_anew(&self, pushed: &Pushed) {
        self.assert_complete(pushed);
        assert_eq!(pushed.report.resumed.count, 0);
        assert!(pushed.taken >= SIZE as u64, "{}", pushed.taken);
    }

    /// Changes the journal file of the only upload.
    fn change(&self, change: impl Fn(&str) -> String) {
        let [file] = &self.files()[..] else {
            panic!("one upload is remembered")
        };
        let text = fs::read_to_string(file).unwrap();
        fs::write(file, change(&text)).unwrap();
    }
}

/// Returns the offset of a part.
fn start_of(seen: &Seen) -> Option<u64> {
    let range = seen.headers.get("content-range")?;
    range.split_once('-')?.0.parse().ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_on_where_another_process_was_ended() {
    let scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    let [file] = &scene.files()[..] else {
        panic!("one upload is remembered")
    };
    for (path, expected) in [(&scene.uploads(), 0o700), (file, 0o600)] {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, expected);
    }
    let pushed = scene.push_again(&proxy).await;
    scene.assert_resumed(&pushed, 3 * PART);
    assert_eq!(pushed.ignored, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_goes_on_after_the_registry_was_killed_too() {
    let mut scene = Scene::new();
    let proxy = scene.cut_off(4).await;
    scene.server.restart();
    let pushed = scene.push_again(&proxy).await;
    scene.assert_resumed(&pushed, 4 * PART);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_that_gives_up_leaves_its_upload_to_the_next() {
    let scene = Scene::new();
    let proxy = Proxy::start(scene.server.port, |_| Action::Buffer);
    let refused = |seen: &Seen| {
        if start_of(seen) == Some(2 * PART) {
            Action::Answer("503 Service Unavailable", String::new())
        } else {
            Action::Buffer
        }
    };
    let pushed = scene.push_by(&scene.client(&proxy), &proxy, refused).await;
    assert_eq!(pushed.report.failed_blobs.len(), 1);
    let pushed = scene.push_again(&proxy).await;
    scene.assert_resumed(&pushed, 2 * PART);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_the_registry_does_not_know_begins_again() {
    let mut scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    scene.server.forget_uploads();
    let pushed = scene.push_again(&proxy).await;
    scene.assert_anew(&pushed);
    assert_eq!(scene.files(), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_claims_what_nobody_sent_gets_everything_anew() {
    let scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    let lie = |seen: &Seen| {
        if seen.is("GET", "/uploads/") {
            // One byte beyond the part that was under way.
            let head = format!("204 No Content\r\nRange: 0-{}", 4 * PART);
            Action::Answer(head.leak(), String::new())
        } else {
            Action::Buffer
        }
    };
    let pushed = scene.push_by(&scene.client(&proxy), &proxy, lie).await;
    assert_eq!(pushed.resumed, Vec::<u64>::new());
    scene.assert_anew(&pushed);
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_of_another_content_are_found_by_the_registry_and_sent_anew() {
    let mut scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    let right = fs::read_to_string(&scene.files()[0]).unwrap();
    let file = scene.files()[0].clone();
    let layer = std::mem::replace(&mut scene.layer, noise(2, SIZE));
    scene.cut_off_by(&proxy, 3).await;
    scene.layer = layer;
    let wrong = scene
        .files()
        .into_iter()
        .find(|path| *path != file)
        .unwrap();
    let mine = location_of(&right);
    let theirs = location_of(&fs::read_to_string(&wrong).unwrap());
    fs::write(&file, right.replace(&mine, &theirs)).unwrap();
    let pushed = scene.push_again(&proxy).await;
    assert_eq!(pushed.resumed, [3 * PART]);
    scene.assert_anew(&pushed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_takes_nothing_more_is_given_up_for_a_new_one() {
    let scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    let path = path_of(&fs::read_to_string(&scene.files()[0]).unwrap());
    let stuck = move |seen: &Seen| {
        if seen.method == "PATCH" && seen.path.starts_with(&path) {
            Action::Answer("500 Internal Server Error", String::new())
        } else {
            Action::Buffer
        }
    };
    let pushed = scene.push_by(&scene.client(&proxy), &proxy, stuck).await;
    assert_eq!(pushed.resumed, [3 * PART]);
    scene.assert_anew(&pushed);
    assert_eq!(scene.files(), Vec::<PathBuf>::new());
}

/// Returns the path of the location in the last record, without its query.
fn path_of(text: &str) -> String {
    let location = location_of(text);
    let (_, path) = location.split_once("/v2/").unwrap();
    format!("/v2/{}", path.split_once('?').unwrap().0)
}

/// Returns the location in the last record.
fn location_of(text: &str) -> String {
    let line = text.lines().last().unwrap();
    let record: serde_json::Value = serde_json::from_str(line).unwrap();
    record["location"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_kill_left_of_a_record_does_not_count() {
    let scene = Scene::new();
    let proxy = scene.cut_off(3).await;
    scene.change(|text| {
        let last = text.lines().last().unwrap();
        format!("{text}{}", &last[..last.len() / 2])
    });
    let pushed = scene.push_again(&proxy).await;
    scene.assert_resumed(&pushed, 3 * PART);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_damaged_or_about_something_else_is_ignored() {
    let elsewhere = Proxy::start(9, |_| Action::Answer("500 No", String::new()));
    let there = elsewhere.host();
    let changes: [&dyn Fn(&str) -> String; 5] = [
        &|_| "no record\n".to_owned(),
        &|text| "x".repeat(text.len()),
        &|text| text.replace("127.0.0.1", "localhost"),
        // At another origin, although the record is about this registry.
        &|text| {
            let (before, after) = text.split_once("\"location\":\"http://").unwrap();
            let (_, path) = after.split_once('/').unwrap();
            let line = format!("{before}\"location\":\"http://{there}/{path}");
            format!("{}\n", line.lines().next().unwrap())
        },
        &|text| text.replace("\"handed\":", "\"handed\":9"),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let scene = Scene::new();
        let proxy = scene.cut_off(2).await;
        scene.change(change);
        let pushed = scene.push_again(&proxy).await;
        scene.assert_anew(&pushed);
        assert_eq!(pushed.ignored.len(), 1, "{number}: {:?}", pushed.ignored);
        assert_eq!(scene.files(), Vec::<PathBuf>::new());
    }
    assert_eq!(elsewhere.seen().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_can_read_or_write_is_not_used() {
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let changes: [&dyn Fn(&Path); 4] = [
        &|file| mode(file, 0o640),
        &|file| mode(file.parent().unwrap(), 0o777),
        &|file| {
            let moved = file.with_extension("moved");
            fs::rename(file, &moved).unwrap();
            std::os::unix::fs::symlink(moved, file).unwrap();
        },
        &|file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
    ];
    for change in changes {
        let scene = Scene::new();
        let proxy = scene.cut_off(1).await;
        change(&scene.files()[0]);
        let pushed = scene.push_again(&proxy).await;
        scene.assert_anew(&pushed);
        assert_eq!(pushed.ignored.len(), 1, "{:?}", pushed.ignored);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pushes_of_one_blob_have_an_upload_each() {
    let scene = Scene::new();
    let proxy = Proxy::start(scene.server.port, |seen| {
        if start_of(seen) == Some(PART) {
            Action::Stall(1)
        } else {
            Action::Buffer
        }
    });
    let (job, client) = (scene.job(), scene.client(&proxy));
    let first = tokio::spawn(async move { push(&client, job.job, &|_| ()).await });
    eventually("the second part", || proxy.taken() > PART);
    let pushed = scene.push_again(&proxy).await;
    assert!(pushed.report.is_complete(), "{:?}", pushed.report);
    assert_eq!(pushed.report.resumed.count, 0);
    let [busy] = &pushed.ignored[..] else {
        panic!("{:?}", pushed.ignored)
    };
    assert!(busy.contains("in use by another process"), "{busy}");
    first.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_old_is_forgotten() {
    let scene = Scene::new();
    let proxy = scene.cut_off(2).await;
    let later = now() + limits::JOURNAL_AGE + Duration::from_mins(1);
    let client = scene.client_at(&proxy, later);
    let pushed = scene.push_by(&client, &proxy, |_| Action::Buffer).await;
    scene.assert_anew(&pushed);
    assert_eq!(pushed.ignored, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_the_oldest_are_forgotten() {
    let scene = Scene::new();
    fs::create_dir_all(scene.uploads()).unwrap();
    fs::set_permissions(scene.uploads(), Permissions::from_mode(0o700)).unwrap();
    let named = |number: usize| scene.uploads().join(format!("{number:03}"));
    for number in 0..limits::JOURNAL_FILES + 5 {
        fs::write(named(number), "{}\n").unwrap();
        fs::set_permissions(named(number), Permissions::from_mode(0o600)).unwrap();
        let changed = now() - Duration::from_hours(1) + Duration::from_secs(number as u64);
        let file = fs::File::options().write(true).open(named(number));
        file.unwrap().set_modified(changed).unwrap();
    }
    let proxy = Proxy::start(scene.server.port, |_| Action::Buffer);
    let pushed = scene.push_again(&proxy).await;
    scene.assert_anew(&pushed);
    assert_eq!(scene.files().len(), limits::JOURNAL_FILES);
    assert!(!named(4).exists() && named(5).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn registries_that_take_no_parts_get_the_whole() {
    for (refused, status) in [
        (0, "405 Method Not Allowed"),
        (0, "400 Bad Request"),
        (PART, "416 Range Not Satisfiable"),
    ] {
        let scene = Scene::new();
        let proxy = Proxy::start(scene.server.port, |_| Action::Forward);
        let client = scene.client(&proxy);
        let rule = move |seen: &Seen| {
            if start_of(seen) == Some(refused) {
                Action::Answer(status, String::new())
            } else {
                Action::Forward
            }
        };
        let pushed = scene.push_by(&client, &proxy, rule).await;
        scene.assert_anew(&pushed);
        assert_eq!(scene.files(), Vec::<PathBuf>::new());
        let whole = |seen: &&Seen| seen.method == "PUT" && seen.length() == SIZE as u64;
        assert_eq!(proxy.seen().iter().filter(whole).count(), 1, "{status}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is a program of its own")]
fn now() -> SystemTime {
    SystemTime::now()
}
